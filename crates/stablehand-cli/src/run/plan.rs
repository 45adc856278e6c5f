//! From what was typed to what will be done; nothing is touched yet.

use super::RunArgs;
use super::terminal::Wanted;
use crate::ask::Attendant;
use crate::env::Env;
use crate::failure::Failure;
use stablehand::agent::{self, Agent, Form, PlanRequest, ToolsSeen};
use stablehand::driver::{Approvals, RunSpec, Stages, TalkSpec, TerminalRun};
use stablehand::keeper::Transport;
use stablehand::lease::Lease;
use stablehand_core::id::SessionId;
use stablehand_core::monitor::Limits;
use stablehand_core::time::human;
use std::io::Write;
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
    terminal: Option<Wanted>,
}

impl RunPlan {
    pub(super) fn new(args: &RunArgs, env: &Env) -> Result<RunPlan, Failure> {
        let choice = &args.choice;
        let agent = choice.agent()?;
        let log_dir = choice.log_dir(env)?;
        let gate = choice.gate(agent, env)?;
        let form = args.terminal.form(gate.is_some())?;
        let asks = gate.is_some() || form == Form::TwoWay;
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
                asks_always: gate.is_some(),
                mode: choice.mode,
                form,
                model: choice.model.clone(),
                workspace: choice.workspace.clone(),
                partial_output: true,
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
            terminal: args.terminal.wanted(env)?,
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
        let request =
            PlanRequest { resume: resume.clone(), continue_latest, ..self.request.clone() };
        let (mut plan, terminal) = self.launch(&request, prompt)?;
        if !self.keep_env {
            plan.launch.env.extend(match terminal {
                None => self.env.non_interactive(),
                Some(_) => self.env.at_terminal(),
            });
        }
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
                approvals: self.approvals.clone(),
            }),
            exit_codes: self.agent.row().exit_codes,
            limits: self.limits.clone(),
            stages: self.stages,
            observe_only: self.observe_only,
            resumed_from: resume,
            leases: Some(self.leases.clone()),
            verify: self.verify,
            terminal,
        })
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
pub(super) fn print(spec: &RunSpec, plan: &RunPlan) -> Result<u8, Failure> {
    let limits = &spec.limits;
    let env: serde_json::Map<String, serde_json::Value> = spec
        .launch
        .env
        .iter()
        .map(|(name, value)| {
            let value = value.as_ref().map(|value| value.to_string_lossy().into_owned());
            (name.to_string_lossy().into_owned(), value.into())
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
        Transport::Pipe => ("pipe", None),
        Transport::Pty { size } => ("pty", Some(size.to_string())),
    };
    let bytes = spec.prompt.len();
    let stdin = match spec.terminal {
        None if spec.talk.is_some() => format!("the prompt, {bytes} bytes, in a conversation"),
        None => format!("the prompt, {bytes} bytes, then closed"),
        Some(TerminalRun { type_prompt: None, .. }) => "the terminal".to_owned(),
        Some(_) => format!("the terminal; the prompt, {bytes} bytes, is typed"),
    };
    let text = serde_json::json!({
        "agent": spec.agent,
        "program": argv.first(),
        "args": argv.get(1..),
        "env": env,
        "cwd": spec.launch.cwd,
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
        "log_dir": plan.log_dir,
        "observe_only": spec.observe_only,
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
    let pretty = serde_json::to_string_pretty(&text).unwrap_or_default();
    writeln!(std::io::stdout(), "{pretty}")
        .map_err(|e| Failure::new(format!("failed to print the plan: {e}")))?;
    Ok(0)
}
