//! The keeper as a program of its own, so that tests of the library need no command line.
//!
//! `keeper-for-tests __keeper` is the keeper. `keeper-for-tests supervise PROGRAM ARG…` is a
//! supervisor that starts PROGRAM through it, prints the pids of keeper and agent, and then waits
//! to be killed, for a minute at most.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use stablehand::keeper::{Keeper, KeeperProgram, Launch, Transport, serve};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let mode = args.next().unwrap_or_default();
    match mode.to_str() {
        Some("__keeper") => ExitCode::from(u8::try_from(serve()).unwrap_or(u8::MAX)),
        Some("supervise") => match supervise(args.collect()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        _ => ExitCode::from(64),
    }
}

fn supervise(command: Vec<OsString>) -> Result<(), Box<dyn std::error::Error>> {
    let mut command = command.into_iter();
    let keeper = KeeperProgram { program: std::env::current_exe()?, args: vec!["__keeper".into()] };
    let launch = Launch {
        program: PathBuf::from(command.next().unwrap_or_default()),
        args: command.collect(),
        env: Vec::new(),
        cwd: None,
        transport: Transport::Pipe,
        release: None,
    };
    let (keeper, pipes) = Keeper::start(&keeper, &launch)?;
    // The agent's first line says that its tree stands; pass it on behind the pids.
    fcntl(&pipes.stdout, FcntlArg::F_SETFL(OFlag::empty()))?;
    let mut line = [0_u8; 64];
    let len = nix::unistd::read(&pipes.stdout, &mut line)?;
    let mut out = std::io::stdout();
    write!(out, "{} {} ", keeper.pid(), keeper.agent_pid())?;
    out.write_all(line.get(..len).unwrap_or_default())?;
    out.flush()?;
    std::thread::sleep(Duration::from_mins(1));
    Ok(())
}
