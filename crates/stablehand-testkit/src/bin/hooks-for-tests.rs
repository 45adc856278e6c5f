//! Hooks in a settings file as a run has them, in a process that a test can kill.
//!
//! `hooks-for-tests cycle ROOT STATE` puts them in and takes them out; with `traced` behind it the
//! process first stops, to be looked at by whoever started it. `hold` waits in between for a line on
//! standard input. `supervise ROOT STATE PROGRAM ARG…` starts PROGRAM by a keeper that knows of the
//! installation, prints the keeper's pid, and waits for a line. Nothing here decides anything.

use nix::sys::signal::{Signal, raise};
use stablehand::Agent;
use stablehand::hooks::{Answers, HookPlan, Installation, Target};
use stablehand::keeper::{Keeper, KeeperProgram, Launch, Transport, serve};
use stablehand_core::hook::{HookEvent, Role};
use std::error::Error;
use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const EVENTS: &[HookEvent] = &[
    HookEvent { name: "sessionStart", role: Role::SessionStart, headless: true },
    HookEvent { name: "preToolUse", role: Role::Permission, headless: true },
];

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let mode = args.next().unwrap_or_default();
    if mode == "__keeper" {
        return ExitCode::from(u8::try_from(serve()).unwrap_or(u8::MAX));
    }
    match act(mode.to_str().unwrap_or_default(), args.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _nobody_there = writeln!(std::io::stderr(), "{error}: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn act(mode: &str, args: Vec<OsString>) -> Result<(), Box<dyn Error>> {
    let mut args = args.into_iter();
    let root = PathBuf::from(args.next().unwrap_or_default());
    let state = PathBuf::from(args.next().unwrap_or_default());
    let rest: Vec<OsString> = args.collect();
    let program = std::env::current_exe()?;
    let form = Agent::Cursor.row().hooks.ok_or("no hooks")?;
    let plan = HookPlan::new(
        "cursor",
        form,
        EVENTS,
        &program,
        Answers::ForRun(std::path::Path::new("/run/none")),
    )?;
    let target = Target::new(&root, ".cursor", "hooks.json");
    if rest.first().is_some_and(|word| word == "traced") {
        #[cfg(target_os = "linux")]
        nix::sys::ptrace::traceme()?;
        raise(Signal::SIGSTOP)?;
    }
    let installation = Installation::begin(&target, &plan, &state)?;
    match mode {
        "cycle" => {}
        "hold" => {
            say("held")?;
            wait()?;
        }
        "supervise" => {
            let mut command = rest.into_iter();
            let launch = Launch {
                program: PathBuf::from(command.next().unwrap_or_default()),
                args: command.collect(),
                env: Vec::new(),
                cwd: None,
                transport: Transport::Pipe,
                release: installation.release(),
            };
            let keeper = KeeperProgram { program, args: vec!["__keeper".into()] };
            let (keeper, _pipes) = Keeper::start(&keeper, &launch)?;
            say(&keeper.pid().to_string())?;
            wait()?;
            drop(keeper);
            // The keeper is gone, and the file is ours still.
            say("keeper gone")?;
            wait()?;
        }
        _ => return Err("no such mode".into()),
    }
    installation.end()?;
    say("ended")?;
    Ok(())
}

fn say(word: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{word}")?;
    out.flush()
}

fn wait() -> std::io::Result<()> {
    std::io::stdin().lock().read_line(&mut String::new()).map(|_| ())
}
