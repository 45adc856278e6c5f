//! From what was typed to what will be done; nothing is touched yet.

use super::RunArgs;
use crate::ask::{self, Attendant};
use crate::env::Env;
use crate::failure::Failure;
use crate::input::RunPrompt;
use crate::output;
use stablehand::agent::{self, Agent, ToolsSeen};
use stablehand::config::Config;
use stablehand::driver::{RunSpec, TerminalRun};
use stablehand::keeper::Transport;
use stablehand::redact::Redaction;
use stablehand::session::SessionSpec;
use stablehand_core::text::safe_json;
use stablehand_core::time::human;
use stablehand_policy::settings::variable::shown;
use std::path::{Path, PathBuf};

/// What will be done.
#[derive(Debug)]
pub(super) struct Plan {
    agent: Agent,
    /// The session.
    pub(super) spec: SessionSpec,
    /// Where its log goes.
    pub(super) log_dir: PathBuf,
    /// Who answers the agent's permission requests.
    pub(super) attendant: Option<Attendant>,
    /// Whether the agent gets a terminal.
    pub(super) has_terminal: bool,
    /// What the files say.
    settings: Config,
}

impl Plan {
    pub(super) fn new(args: &RunArgs, env: &Env, prompt: &RunPrompt) -> Result<Self, Failure> {
        let choice = &args.choice;
        let agent = choice.agent()?;
        let log_dir = choice.log_dir(env)?;
        let settings = choice.config(env)?;
        let gate = choice.gate(agent, &settings)?;
        let form = args.terminal.form(choice.speaks_acp(agent), gate.is_some() && !choice.hooks)?;
        let asks = gate.is_some() || form.listens() || choice.hooks;
        args.asks.check_asks(asks, agent.name())?;
        let attendant = args.asks.attendant(gate, env)?;
        let terminal = args.terminal.wanted(env)?;
        let mut around = choice.surroundings(env);
        if terminal.is_some() && !choice.keep_env {
            around.non_interactive = env.at_terminal();
        }
        let spec = choice
            .spec(env, agent, &settings, &args.again)?
            .surroundings(around)
            .log_dir(&log_dir)
            .durability(args.log_sync)
            .log_required(args.log_required)
            .form(form)
            .terminal(terminal)
            .policy(attendant.policy(choice.force))
            .patience(attendant.session_patience())
            .observe_only(args.observe_only)
            .actor(ask::actor(env))
            .prompt_bytes(prompt.bytes.clone());
        let has_terminal = terminal.is_some();
        let attendant = Some(attendant).filter(|_| asks);
        Ok(Plan { agent, spec, log_dir, attendant, has_terminal, settings })
    }

    /// `--dry-run`: the plan as JSON, for people and programs alike.
    pub(super) fn print(self, redaction: Option<&Redaction>) -> Result<u8, Failure> {
        let spec = self.spec.dry_run()?;
        print(&spec, self.agent, &self.log_dir, &self.settings, redaction)
    }
}

fn print(
    spec: &RunSpec,
    agent: Agent,
    log_dir: &Path,
    settings: &Config,
    redaction: Option<&Redaction>,
) -> Result<u8, Failure> {
    let limits = &spec.limits;
    let env: serde_json::Map<String, serde_json::Value> = spec
        .launch
        .env
        .iter()
        .map(|(name, value)| {
            let name = name.to_string_lossy().into_owned();
            let value =
                value.as_ref().map(|value| shown(&name, &value.to_string_lossy()).to_owned());
            (name, value.into())
        })
        .collect();
    let argv = agent::redacted(&spec.launch);
    let exit_codes: serde_json::Map<String, serde_json::Value> = spec
        .exit_codes
        .iter()
        .map(|meaning| (meaning.code.to_string(), meaning.text.into()))
        .collect();
    let (transport, size) = match spec.launch.transport {
        Transport::Pipe if spec.talk.is_some() => ("two-way", None),
        Transport::Pipe | Transport::Together => ("pipe", None),
        Transport::Pty { size } => ("pty", Some(size.to_string())),
    };
    let bytes = spec.prompt.len();
    let stdin = match spec.terminal {
        None if spec.talk.is_some() => format!("the prompt, {bytes} bytes, in a conversation"),
        None => format!("the prompt, {bytes} bytes, then closed"),
        Some(TerminalRun { type_prompt: None, .. }) => "the terminal".to_owned(),
        Some(_) => format!("the terminal; the prompt, {bytes} bytes, is typed"),
    };
    let mut text = serde_json::json!({
        "agent": spec.agent,
        "program": argv.first(),
        "args": argv.get(1..),
        "env": env,
        "cwd": spec.launch.cwd.as_ref().map(|folder| folder.to_string_lossy()),
        "tools_seen": match agent.row().tools {
            ToolsSeen::BeginningAndEnd => "when they begin and when they end",
            ToolsSeen::AfterTheFact => "only when they are over",
        },
        "interrupted_by": if spec.talk.is_some() { "a message, then signals" } else { "signals" },
        "exit_codes": exit_codes,
        "transport": transport,
        "size": size,
        "exit_when_quiet": spec.terminal.and_then(|terminal| terminal.exit_when_quiet).map(human),
        "stdin": stdin,
        "dialect": spec.dialect.name(),
        "resume": spec.resumed_from,
        "log_dir": log_dir.to_string_lossy(),
        "observe_only": spec.observe_only,
        "settings": settings.describe(agent),
        "limits": {
            "startup": human(limits.startup),
            "first_response": human(limits.first_response),
            "idle": human(limits.idle),
            "tool_grace": human(limits.tool_grace),
            "exit_grace": human(limits.exit_grace),
            "no_progress": human(limits.no_progress),
            "max_wall": limits.wall.map(human),
            "max_turns": limits.max_turns,
            "max_tool_calls": limits.max_tool_calls,
            "max_tokens": limits.max_tokens,
            "max_cost_usd": limits.max_cost_usd,
        },
    });
    if let Some(redaction) = redaction {
        redaction.redactor.redact_json(&mut text);
    }
    let pretty = serde_json::to_string_pretty(&text).unwrap_or_default();
    output::print(&format!("{}\n", safe_json(&pretty)))
}
