//! `cursor-wrap`: the drop-in of that name.
//!
//! Its flags, log records and exit codes are a contract with those who already use a wrapper of
//! this name; all code behind them is shared with `stablehand run`.

mod args;
mod talk;

pub use args::WrapArgs;

use crate::ask;
use crate::env::Env;
use crate::failure::{CANNOT_CREATE, Failure};
use crate::input;
use crate::redact::RedactArgs;
use crate::shell::{Ended, Results, Setup, Shell};
use stablehand::agent::{Agent, Form};
use stablehand::log::Durability;
use stablehand::session::{Policy, Session, SessionSpec};
use stablehand::surroundings::Surroundings;
use stablehand_core::event::SessionEnd;
use stablehand_core::monitor::Limits;
use stablehand_core::record::Level;

/// The name in messages and in the log.
pub const PROGRAM: &str = "cursor-wrap";

/// Runs it; the exit status. A log that cannot be made is a failure like any other here.
pub fn main(args: &WrapArgs) -> Result<u8, Failure> {
    run(args).map_err(|failure| match failure.code() {
        CANNOT_CREATE => failure.with_code(1),
        _ => failure,
    })
}

fn run(args: &WrapArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let once = if args.print { Some(input::only_prompt(&args.prompt, &env)?) } else { None };
    let log_dir = match &args.log_dir {
        Some(folder) => folder.clone(),
        None => env.wrap_logs()?,
    };
    let setup = Setup {
        format: args.format(),
        level: args.log_level.unwrap_or(if args.print { Level::Info } else { Level::Warn }),
        // In a conversation a hang is announced among the output.
        told_by_face: if args.print {
            &["run_ended", "spawn_failed"]
        } else {
            &["run_ended", "spawn_failed", "hang_detected"]
        },
        redaction: RedactArgs::default().redaction(&args.extra),
        index: !env.no_index,
        // Its text is a contract: the agent's messages.
        results: Results::Lonely,
        conversation: once.is_none(),
        ..Setup::new(PROGRAM, log_dir)
    };
    let spec = spec(&env, args)?;
    let Some(prompt) = once else { return talk::talk(&env, spec, &setup, args) };
    let mut shell = Shell::start(&env, spec.prompt(prompt), &setup)?;
    let ended = shell.wait()?;
    complain(&shell, &ended);
    Ok(shell.close(&ended, ended.exit_code()))
}

/// The session that was asked for, but for its prompt.
fn spec(env: &Env, args: &WrapArgs) -> Result<SessionSpec, Failure> {
    let agent = Agent::Cursor;
    let program = match &args.agent_bin {
        Some(program) => program.clone(),
        None => agent.find(env.path.as_deref(), Form::OneTurn)?,
    };
    let mut around = Surroundings::default();
    around.state = env.state().ok();
    around.non_interactive = env.non_interactive();
    let mut spec = Session::builder(agent)
        .surroundings(around)
        .program(program)
        .keeper(env.keeper())
        .form(Form::OneTurn)
        .partial_output(false)
        .limits(Limits::cursor_wrap(args.idle_timeout, args.tool_grace, args.tick_interval))
        .policy(Policy::Deny)
        .durability(if args.log_sync { Durability::Always } else { Durability::Group })
        .stream_warnings(true)
        .force(args.force)
        .args(args.extra.iter().cloned())
        .actor(ask::actor(env));
    if let Some(model) = &args.model {
        spec = spec.model(model);
    }
    if let Some(folder) = &args.workspace {
        spec = spec.workspace(folder);
    }
    if let Some(session) = &args.resume {
        spec = spec.resume(session);
    }
    Ok(spec)
}

/// Says on standard error why a run failed, once, whatever the level.
fn complain(shell: &Shell, ended: &Ended) {
    match ended.outcome.end() {
        SessionEnd::AgentError
        | SessionEnd::NoResult
        | SessionEnd::Truncated
        | SessionEnd::SpawnFailed => shell.tell(&ended.failure("")),
        SessionEnd::Success
        | SessionEnd::Hung
        | SessionEnd::LimitReached
        | SessionEnd::Interrupted
        | SessionEnd::ReaderGone
        | SessionEnd::Internal => {}
    }
}
