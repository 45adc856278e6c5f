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
use crate::supervise::{self, Format, House, Results, Setup};
use stablehand::agent::{Agent, Form, PlanRequest};
use stablehand::driver::RunReport;
use stablehand::log::Durability;
use stablehand::recovery::Tries;
use stablehand::session::{AgentStart, AllRuns, Asked, RunPlan, Runs, Start};
use stablehand_core::event::SessionEnd;
use stablehand_core::id::SessionId;
use stablehand_core::monitor::Limits;
use stablehand_core::record::Level;

/// The name in messages and in the log.
pub const PROGRAM: &str = "cursor-wrap";

/// What was typed, with everything filled in.
#[derive(Debug)]
pub(crate) struct Wrap {
    env: Env,
    plan: RunPlan,
    /// The session of the first turn.
    resume: Option<SessionId>,
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
        Some(prompt) => Ok(wrap.once(&mut house, &prompt)),
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
            force: args.force,
            model: args.model,
            workspace: args.workspace,
            extra: args.extra,
            ..PlanRequest::default()
        };
        let start = AgentStart { agent, program, request, terminal: None };
        let limits = Limits::cursor_wrap(args.idle_timeout, args.tool_grace, args.tick_interval);
        let plan = RunPlan {
            env: env.non_interactive(),
            ..RunPlan::new(Start::Agent(Box::new(start)), env.keeper(), limits)
        };
        let resume = args.resume.map(SessionId);
        // Refused now rather than after the log was made.
        plan.spec(&[], &[], resume.clone(), Tries::default())?;
        Ok(Wrap {
            env,
            plan,
            resume,
            format,
            prompt_after_hang: args.prompt_after_hang,
            max_hang_retries: args.max_hang_retries,
        })
    }

    /// One turn: plan, run, and say what went wrong.
    fn turn(&self, house: &mut House, prompt: &str, resume: Option<&SessionId>) -> AllRuns {
        let asked = Asked { bytes: prompt.as_bytes().to_vec(), images: Vec::new() };
        let runs = Runs {
            resume: resume.or(self.resume.as_ref()).cloned(),
            ..Runs::new(self.plan.clone(), Some(asked))
        };
        let ended = house.run(runs);
        complain(house, &ended.report);
        ended
    }

    fn once(&self, house: &mut House, prompt: &str) -> u8 {
        supervise::exit_code(&self.turn(house, prompt, None))
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
