//! A native command on the person's own terminal: a login.
//!
//! It has our three streams and no limit. Ctrl-C and Ctrl-\ reach it from the terminal itself, so
//! we only keep from dying before it; other signals are passed on.

use crate::env::Env;
use crate::failure::{Failure, spawn_hint};
use crate::output::say;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use stablehand::agent::{Agent, redacted};
use stablehand::keeper::{Launch, SpawnError};
use stablehand_core::text;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often we look whether it has ended. A person does not notice.
const RHYTHM: Duration = Duration::from_millis(30);

/// Runs it; 0 when it says that all is well.
pub(super) fn run(agent: Agent, launch: &Launch, env: &Env) -> Result<u8, Failure> {
    let shown = text::plain(&redacted(launch).join(" "));
    say(&format!("running {shown}"));
    let mut command = Command::new(&launch.program);
    command.args(&launch.args);
    for (name, value) in &launch.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // Before it starts, so that no Ctrl-C can end us and leave it alone.
    let signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])
        .map_err(|e| Failure::new(format!("failed to watch for signals: {e}")))?;
    let child = command.spawn().map_err(|source| could_not_start(agent, launch, source))?;
    let status = wait(child, signals, env.stdin_is_terminal)
        .map_err(|e| Failure::new(format!("failed to wait for `{shown}`: {e}")))?;
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(0),
        // Its own way to say that a signal ended it: the person changed their mind.
        (Some(code @ (129 | 130 | 143)), _) => Ok(u8::try_from(code).unwrap_or(1)),
        (Some(code), _) => Err(Failure::new(format!("`{shown}` ended with exit code {code}"))),
        (None, Some(signal)) => Ok(128u8.saturating_add(u8::try_from(signal).unwrap_or(2))),
        (None, None) => Err(Failure::new(format!("`{shown}` exited with unknown status"))),
    }
}

fn could_not_start(agent: Agent, launch: &Launch, source: io::Error) -> Failure {
    let program = launch.program.clone();
    let error = match source.kind() {
        io::ErrorKind::NotFound => SpawnError::NotFound { program },
        io::ErrorKind::PermissionDenied => SpawnError::NotExecutable { program, source },
        _ => SpawnError::Failed { program, source },
    };
    let failure = Failure::new(stablehand::error_chain(&error));
    match spawn_hint(&error, Some(agent)) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn wait(child: Child, mut signals: Signals, terminal: bool) -> io::Result<ExitStatus> {
    // Under the lock the child is either there or reaped, so no stranger is ever signalled.
    let child = Arc::new(Mutex::new(Some(child)));
    let addressee = Arc::clone(&child);
    let handle = signals.handle();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in &mut signals {
            let typed = terminal && matches!(signal, SIGINT | SIGQUIT);
            let child = addressee.lock().unwrap_or_else(PoisonError::into_inner);
            let pid = child.as_ref().and_then(|child| i32::try_from(child.id()).ok());
            if let (Some(pid), Ok(signal), false) = (pid, Signal::try_from(signal), typed) {
                let _already_gone = kill(Pid::from_raw(pid), signal);
            }
        }
    })?;
    let status = loop {
        {
            let mut held = child.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(running) = held.as_mut() else { break Err(io::ErrorKind::NotFound.into()) };
            if let Some(status) = running.try_wait()? {
                *held = None;
                break Ok(status);
            }
        }
        std::thread::sleep(RHYTHM);
    };
    handle.close();
    status
}
