//! From what was typed to what will be done; nothing is touched yet.

use super::RunArgs;
use super::terminal::Wanted;
use crate::env::Env;
use crate::failure::Failure;
use stablehand::agent::{self, AGENTS, Agent, PlanRequest};
use stablehand::driver::{RunSpec, Stages, TerminalRun};
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
    pub(super) agent: &'static Agent,
    pub(super) resume: Option<SessionId>,
    pub(super) log_dir: PathBuf,
    leases: PathBuf,
    program: PathBuf,
    request: PlanRequest,
    limits: Limits,
    stages: Stages,
    env: Env,
    keep_env: bool,
    observe_only: bool,
    verify: bool,
    terminal: Option<Wanted>,
}

impl RunPlan {
    pub(super) fn new(args: &RunArgs, env: &Env) -> Result<RunPlan, Failure> {
        let agent = Agent::by_name(&args.agent).ok_or_else(|| {
            let known: Vec<_> = AGENTS.iter().map(|agent| agent.name).collect();
            Failure::usage(format!("no agent is called `{}`", args.agent))
                .hint(format!("choose one of: {}", known.join(", ")))
        })?;
        let program = match &args.agent_bin {
            Some(program) => program.clone(),
            // An agent without a program of its own is built into ours.
            None if agent.programs.is_empty() => env.program.clone(),
            None => agent.find(env.path.as_deref())?,
        };
        let stages = args
            .stop_grace
            .map_or_else(Stages::default, |grace| Stages { interrupt: grace, terminate: grace });
        let state = env.state();
        let log_dir = match &args.log_dir {
            Some(folder) => folder.clone(),
            None => state.as_ref().map_err(no_state)?.join("logs"),
        };
        // Leases are shared by all runs of a user, wherever they log to.
        let leases = state.unwrap_or_else(|_| log_dir.clone()).join("leases");
        Ok(RunPlan {
            agent,
            resume: args.resume.clone().map(SessionId),
            log_dir,
            leases,
            program,
            request: PlanRequest {
                resume: None,
                force: args.force,
                model: args.model.clone(),
                workspace: args.workspace.clone(),
                partial_output: true,
                extra: args.extra.clone(),
            },
            limits: match &args.model {
                Some(model) => args.limits.limits().for_model(model),
                None => args.limits.limits(),
            },
            stages,
            env: env.clone(),
            keep_env: args.keep_env,
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
        let request = PlanRequest { resume: resume.clone(), ..self.request.clone() };
        let (mut plan, terminal) = self.launch(&request, prompt)?;
        if !self.keep_env {
            plan.launch.env.extend(match terminal {
                None => self.env.non_interactive(),
                Some(_) => self.env.at_terminal(),
            });
        }
        Ok(RunSpec {
            run: stablehand::new_run_id(),
            agent: self.agent.name.to_owned(),
            dialect: plan.dialect,
            launch: plan.launch,
            keeper: self.env.keeper(),
            prompt: prompt.to_vec(),
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
            drop(Lease::take(&self.leases, self.agent.name, session)?);
        }
        Ok(())
    }
}

fn no_state(_: &Failure) -> Failure {
    Failure::new("HOME is not set, so there is no place for logs")
        .hint("set HOME or STABLEHAND_HOME, or give --log-dir")
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
    let (transport, size) = match spec.launch.transport {
        Transport::Pipe => ("pipe", None),
        Transport::Pty { size } => ("pty", Some(size.to_string())),
    };
    let bytes = spec.prompt.len();
    let stdin = match spec.terminal {
        None => format!("the prompt, {bytes} bytes, then closed"),
        Some(TerminalRun { type_prompt: None, .. }) => "the terminal".to_owned(),
        Some(_) => format!("the terminal; the prompt, {bytes} bytes, is typed"),
    };
    let text = serde_json::json!({
        "agent": spec.agent,
        "program": argv.first(),
        "args": argv.get(1..),
        "env": env,
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
