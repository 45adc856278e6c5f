//! From what was typed to what will be done; nothing is touched yet.

use super::RunArgs;
use super::terminal::Wanted;
use crate::ask::Attendant;
use crate::env::Env;
use crate::failure::Failure;
use crate::manage;
use crate::settings::Held;
use stablehand::agent::{self, Agent, PlanRequest, ToolsSeen};
use stablehand::continuation::Continuations;
use stablehand::driver::{Approvals, RunSpec, Stages, TalkSpec, TerminalRun};
use stablehand::hooks::{HookRun, HookWish, MOST_CONTEXT};
use stablehand::keeper::Transport;
use stablehand::lease::Lease;
use stablehand::recovery::Tries;
use stablehand::redact::Redaction;
use stablehand_core::id::SessionId;
use stablehand_core::monitor::Limits;
use stablehand_core::time::human;
use stablehand_policy::settings::context::before;
use stablehand_policy::settings::variable::shown;
use std::path::PathBuf;

/// What will be done.
#[derive(Debug)]
pub(super) struct RunPlan {
    pub(super) agent: Agent,
    pub(super) resume: Option<SessionId>,
    pub(super) log_dir: PathBuf,
    leases: PathBuf,
    program: PathBuf,
    request: PlanRequest,
    limits: Limits,
    approvals: Approvals,
    /// Who answers what the agent asks.
    pub(super) attendant: Option<Attendant>,
    stages: Stages,
    env: Env,
    keep_env: bool,
    observe_only: bool,
    verify: bool,
    hooks: bool,
    terminal: Option<Wanted>,
    /// What the files say.
    pub(super) settings: Held,
    /// What a new session is told first.
    context: Option<String>,
    continuations: Continuations,
}

impl RunPlan {
    pub(super) fn new(args: &RunArgs, env: &Env) -> Result<RunPlan, Failure> {
        let choice = &args.choice;
        let agent = choice.agent()?;
        let log_dir = choice.log_dir(env)?;
        let settings = choice.settings(env)?;
        let gate = choice.gate(agent, &settings, env)?;
        let form = args.terminal.form(choice.speaks_acp(agent), gate.is_some() && !choice.hooks)?;
        let asks = gate.is_some() || form.listens() || choice.hooks;
        args.asks.check_asks(asks, agent.name())?;
        let attendant = args.asks.attendant(gate.clone(), env)?;
        // Leases are shared by all runs of a user, wherever they log to.
        let leases = env.state().unwrap_or_else(|_| log_dir.clone()).join("leases");
        Ok(RunPlan {
            agent,
            resume: choice.resume.clone().map(SessionId),
            log_dir,
            leases,
            program: choice.program(agent, env)?,
            request: PlanRequest {
                resume: None,
                continue_latest: choice.continue_latest,
                force: choice.force,
                asks_always: gate.is_some() && !choice.hooks,
                mode: choice.mode,
                form,
                login: choice.login(agent),
                model: choice.model.clone(),
                workspace: choice.workspace.clone(),
                partial_output: true,
                mcp: Vec::new(),
                extra: choice.extra.clone(),
            },
            limits: choice.limits(agent),
            approvals: match (gate, choice.force) {
                (Some(gate), _) => Approvals::Policy { gate, attendance: attendant.attendance() },
                (None, true) => Approvals::Allow,
                (None, false) if attendant.is_there() => {
                    Approvals::Ask { patience: attendant.patience }
                }
                (None, false) => Approvals::Deny,
            },
            attendant: Some(attendant).filter(|_| asks),
            stages: choice.stages(),
            env: env.clone(),
            keep_env: choice.keep_env,
            observe_only: args.observe_only,
            verify: args.verify,
            hooks: choice.hooks,
            terminal: args.terminal.wanted(env)?,
            context: settings.context.text.clone(),
            continuations: settings.continuations(agent),
            settings,
        })
    }

    /// One run of the plan.
    pub(super) fn spec(
        &self,
        prompt: &[u8],
        resume: Option<SessionId>,
    ) -> Result<RunSpec, Failure> {
        // What is resumed by name is no longer the latest.
        let continue_latest = self.request.continue_latest && resume.is_none();
        let mut request =
            PlanRequest { resume: resume.clone(), continue_latest, ..self.request.clone() };
        // A session that is resumed has been told already.
        let new = request.resume.is_none() && !continue_latest;
        let context = self.context.as_deref().filter(|_| new);
        // A hook tells it where there is one, if it can tell so much.
        let (by_hook, by_prompt) = match context {
            Some(context) if self.hooks && context.len() <= MOST_CONTEXT => (Some(context), None),
            context => (None, context),
        };
        let hooks = self.hooks.then(|| self.hook_run(by_hook)).transpose()?;
        if let Some(hooks) = &hooks {
            request.extra.extend(hooks.args.iter().cloned());
            // We decide, and nobody else.
            request.force |= hooks.needs_force && self.approvals.judge();
        }
        let behind_context =
            by_prompt.map(|context| before(context, &String::from_utf8_lossy(prompt)).into_bytes());
        let prompt = behind_context.as_deref().unwrap_or(prompt);
        let (mut plan, terminal) = self.launch(&request, prompt)?;
        if !self.keep_env {
            plan.launch.env.extend(match terminal {
                None => self.env.non_interactive(),
                Some(_) => self.env.at_terminal(),
            });
        }
        plan.launch.env.extend(self.settings.variables());
        Ok(RunSpec {
            run: stablehand::new_run_id(),
            agent: self.agent.name().to_owned(),
            dialect: plan.dialect,
            launch: plan.launch,
            keeper: self.env.keeper(),
            prompt: prompt.to_vec(),
            talk: plan.opening.map(|opening| TalkSpec {
                opening,
                stays: false,
                images: Vec::new(),
                context: None,
                acts_unasked: self.request.form.acts_unasked(),
            }),
            approvals: self.approvals.clone(),
            hooks: hooks.map(|hooks| hooks.spec),
            exit_codes: self.agent.row().exit_codes,
            limits: self.limits.clone(),
            stages: self.stages,
            observe_only: self.observe_only,
            resumed_from: resume,
            leases: Some(self.leases.clone()),
            verify: self.verify,
            terminal,
            continuations: self.continuations.clone(),
            tries: Tries::default(),
        })
    }

    /// What the agent needs so that its hooks call us.
    fn hook_run(&self, context: Option<&str>) -> Result<HookRun, Failure> {
        let state = self.env.state()?;
        let here = self.request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        let wish = HookWish {
            agent: self.agent,
            program: &self.env.hook_program(),
            places: &self.env.socket_places(),
            state: &state,
            workspace: &here,
            context: context.map(str::to_owned),
            env: Vec::new(),
        };
        Ok(wish.plan()?)
    }

    /// How it is started: with pipes, or at a terminal.
    fn launch(
        &self,
        request: &PlanRequest,
        prompt: &[u8],
    ) -> Result<(agent::Plan, Option<TerminalRun>), Failure> {
        let Some(wanted) = self.terminal else {
            return Ok((self.agent.plan(self.program.clone(), request)?, None));
        };
        let prompt = String::from_utf8_lossy(prompt);
        let program = self.program.clone();
        let (plan, run) = self.agent.plan_at_terminal(program, request, &prompt, wanted.size)?;
        let run = TerminalRun {
            exit_when_quiet: wanted.exit_when_quiet,
            follow_size: wanted.follow_size,
            ..run
        };
        Ok((plan, Some(run)))
    }

    /// Refuses early where another run has the session; the driver takes the lease itself.
    pub(super) fn check_lease(&self) -> Result<(), Failure> {
        if let Some(session) = &self.resume {
            drop(Lease::take(&self.leases, self.agent.name(), session)?);
        }
        Ok(())
    }
}

/// `--dry-run`: the plan as JSON, for people and programs alike.
pub(super) fn print(
    spec: &RunSpec,
    plan: &RunPlan,
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
        "tools_seen": match plan.agent.row().tools {
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
        "log_dir": plan.log_dir.to_string_lossy(),
        "observe_only": spec.observe_only,
        "settings": plan.settings.describe(plan.agent),
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
    manage::print(&(pretty + "\n"))
}
