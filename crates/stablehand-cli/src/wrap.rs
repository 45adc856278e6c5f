//! `cursor-wrap`: the drop-in of that name.
//!
//! Its flags, log records and exit codes are a contract with those who already use a wrapper of
//! this name; all code behind them is shared with `stablehand run`.

mod args;
mod talk;

pub use args::WrapArgs;

use crate::env::Env;
use crate::failure::{self, Failure};
use crate::input;
use crate::redact::RedactArgs;
use crate::supervise::{Format, House, Results, Settled, Setup};
use stablehand::agent::{Agent, Form, Plan, PlanRequest};
use stablehand::continuation::Continuations;
use stablehand::driver::{self, Approvals, RunReport, RunSpec, Stages};
use stablehand::log::Durability;
use stablehand::recovery::Tries;
use stablehand_core::event::SessionEnd;
use stablehand_core::id::SessionId;
use stablehand_core::monitor::Limits;
use stablehand_core::record::Level;
use std::path::PathBuf;

/// The name in messages and in the log.
pub const PROGRAM: &str = "cursor-wrap";

/// What was typed, with everything filled in.
#[derive(Debug)]
pub(crate) struct Wrap {
    env: Env,
    agent: Agent,
    program: PathBuf,
    request: PlanRequest,
    limits: Limits,
    format: Format,
    prompt_after_hang: Option<String>,
    max_hang_retries: u32,
}

/// Runs it; the exit status.
pub fn main(args: WrapArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let once = if args.print { Some(input::only_prompt(&args.prompt, &env)?) } else { None };
    let log_dir = match &args.log_dir {
        Some(folder) => folder.clone(),
        None => env.wrap_logs()?,
    };
    let format = args.format();
    let setup = Setup {
        program: PROGRAM,
        log_dir,
        format,
        level: args.log_level.unwrap_or(if args.print { Level::Info } else { Level::Warn }),
        log_required: false,
        durability: Durability::Group,
        verify: false,
        told_by_face: if args.print {
            &["run_ended", "spawn_failed"]
        } else {
            &["run_ended", "spawn_failed", "hang_detected"]
        },
        dialect: stablehand_core::Dialect::Cursor,
        status: false,
        redaction: RedactArgs::default().redaction(&args.extra),
        attendant: None,
        index: !env.no_index,
        // Its text is a contract: the agent's messages.
        results: Results::Lonely,
        client: false,
    };
    let first = args.prompt.join(" ");
    let wrap = Wrap::new(env, args)?;
    let mut house = House::open(&wrap.env, &setup)?;
    let code = match once {
        Some(prompt) => wrap.once(&mut house, &prompt),
        None => talk::talk(&wrap, &mut house, &first),
    };
    house.close(code)
}

impl Wrap {
    fn new(env: Env, args: WrapArgs) -> Result<Wrap, Failure> {
        let agent = Agent::Cursor;
        let format = args.format();
        let program = match args.agent_bin {
            Some(program) => program,
            None => agent.find(env.path.as_deref(), Form::OneTurn)?,
        };
        let request = PlanRequest {
            resume: args.resume.map(SessionId),
            force: args.force,
            model: args.model,
            workspace: args.workspace,
            extra: args.extra,
            ..PlanRequest::default()
        };
        agent.plan(program.clone(), &request)?;
        Ok(Wrap {
            env,
            agent,
            program,
            request,
            limits: Limits::cursor_wrap(args.idle_timeout, args.tool_grace, args.tick_interval),
            format,
            prompt_after_hang: args.prompt_after_hang,
            max_hang_retries: args.max_hang_retries,
        })
    }

    /// One turn: plan, run, and say what went wrong.
    fn turn(
        &self,
        house: &mut House,
        prompt: &str,
        resume: Option<&SessionId>,
    ) -> Result<(RunReport, Settled), Failure> {
        let mut request = self.request.clone();
        if let Some(session) = resume {
            request.resume = Some(session.clone());
        }
        let Plan { mut launch, dialect, .. } = self.agent.plan(self.program.clone(), &request)?;
        launch.env.extend(self.env.non_interactive());
        let spec = RunSpec {
            run: stablehand::new_run_id(),
            agent: self.agent.name().to_owned(),
            dialect,
            launch,
            keeper: self.env.keeper(),
            prompt: prompt.as_bytes().to_vec(),
            talk: None,
            approvals: Approvals::Deny,
            hooks: None,
            exit_codes: self.agent.row().exit_codes,
            limits: self.limits.clone(),
            stages: Stages::default(),
            observe_only: false,
            resumed_from: request.resume,
            leases: None,
            verify: false,
            terminal: None,
            continuations: Continuations::default(),
            tries: Tries::default(),
        };
        let (report, settled) = house.run(&spec);
        complain(house, &report);
        Ok((report, settled))
    }

    fn once(&self, house: &mut House, prompt: &str) -> Result<u8, Failure> {
        let (report, settled) = self.turn(house, prompt, None)?;
        Ok(match settled {
            Settled::Interrupted(signal) => 128u8.saturating_add(u8::try_from(signal).unwrap_or(2)),
            Settled::Everything => driver::exit_code(report.end),
        })
    }
}

/// Says on standard error why a run failed, once, whatever the level.
pub(crate) fn complain(house: &House, report: &RunReport) {
    let text = match report.end.end {
        SessionEnd::AgentError
        | SessionEnd::NoResult
        | SessionEnd::Truncated
        | SessionEnd::SpawnFailed => report.summary(),
        SessionEnd::Success
        | SessionEnd::Hung
        | SessionEnd::LimitReached
        | SessionEnd::Interrupted
        | SessionEnd::ReaderGone
        | SessionEnd::Internal => return,
    };
    let hint = report.failure.as_ref().and_then(failure::spawn_hint);
    let failure = Failure::new(text);
    let failure = match hint {
        Some(hint) => failure.hint(hint),
        None => failure.hint(failure::log_hint(&house.log.path())),
    };
    house.screen.err(failure.message(PROGRAM).as_bytes());
}
