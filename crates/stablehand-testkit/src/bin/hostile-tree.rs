//! Processes that are hard to kill, for the tests of the keeper.
//!
//! - `family FOLDER [exit]` starts one descendant of each kind below, waits until each has written
//!   its pid to a file of its kind's name in FOLDER, prints `ready`, and then sleeps or exits.
//! - `hop MICROSECONDS` forks, starts a session and ends in the parent, again and again, so that its
//!   pid is never the one that was just read.
//! - `hydra` is a pair of processes, each of which starts the other again when it dies.
//!
//! All ignore what can be ignored and end by themselves after 30 seconds.

use nix::sys::signal::{SigHandler, Signal, raise, signal};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, close, fork, setpgid, setsid};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

const LIFETIME: Duration = Duration::from_secs(30);

/// What a descendant does to get away.
const KINDS: [&str; 8] =
    ["plain", "group", "session", "daemon", "clean-daemon", "closed", "stubborn", "stopped"];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["family", folder, rest @ ..] => family(Path::new(folder), rest.contains(&"exit")),
        ["member", kind, file] => member(kind, Path::new(file)),
        ["hop", micros] => say_ready().map(|()| hop(micros.parse().unwrap_or(0))),
        ["hydra"] => say_ready().map(|()| hydra()),
        _ => return ExitCode::from(64),
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn say_ready() -> io::Result<()> {
    ignore_polite_signals();
    let mut out = io::stdout();
    out.write_all(b"ready\n")?;
    out.flush()
}

fn family(folder: &Path, exits: bool) -> io::Result<()> {
    let program = std::env::current_exe()?;
    for kind in KINDS {
        let file = folder.join(kind);
        let mut child = Command::new(&program).arg("member").arg(kind).arg(&file).spawn()?;
        if kind.ends_with("daemon") {
            child.wait()?;
        }
        while std::fs::metadata(&file).map_or(0, |about| about.len()) == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    say_ready()?;
    if !exits {
        std::thread::sleep(LIFETIME);
    }
    Ok(())
}

fn member(kind: &str, file: &Path) -> io::Result<()> {
    match kind {
        "group" => setpgid(Pid::from_raw(0), Pid::from_raw(0))?,
        "session" => drop(setsid()?),
        "daemon" | "clean-daemon" => {
            if let Some(ForkResult::Parent { .. }) = split() {
                return Ok(());
            }
            setsid()?;
            if let Some(ForkResult::Parent { .. }) = split() {
                return Ok(());
            }
            if kind == "clean-daemon" {
                let program = std::env::current_exe()?;
                let mut closed = Command::new(program);
                closed.args(["member", "closed"]).arg(file).env_clear().current_dir("/");
                return Err(closed.exec());
            }
        }
        "stubborn" => {
            ignore_polite_signals();
            setsid()?;
        }
        _ => {}
    }
    std::fs::write(file, std::process::id().to_string())?;
    if kind == "closed" {
        for descriptor in 0..64 {
            let _not_open = close(descriptor);
        }
    }
    if kind == "stopped" {
        raise(Signal::SIGSTOP)?;
    }
    std::thread::sleep(LIFETIME);
    Ok(())
}

#[expect(unsafe_code, reason = "dispositions are process-wide state")]
fn ignore_polite_signals() {
    for number in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        // SAFETY: ignoring runs no code of ours.
        let _refused = unsafe { signal(number, SigHandler::SigIgn) };
    }
}

/// Parent or child.
#[expect(unsafe_code, reason = "the whole point is to fork")]
fn split() -> Option<ForkResult> {
    // SAFETY: this program has one thread.
    unsafe { fork() }.ok()
}

fn hop(micros: u64) {
    let end = Instant::now() + LIFETIME;
    while Instant::now() < end {
        match split() {
            Some(ForkResult::Parent { .. }) => return,
            Some(ForkResult::Child) => {
                let _leader_already = setsid();
            }
            None => {}
        }
        if micros > 0 {
            std::thread::sleep(Duration::from_micros(micros));
        }
    }
}

/// Both heads watch each other: the parent by waiting, the child by its parent's pid.
fn hydra() {
    let end = Instant::now() + LIFETIME;
    while Instant::now() < end {
        let parent = Pid::this();
        match split() {
            Some(ForkResult::Parent { child }) => {
                let _ended = waitpid(child, None);
            }
            Some(ForkResult::Child) => {
                let _leader_already = setsid();
                // When the parent is gone, this one becomes a parent in its place.
                while nix::unistd::getppid() == parent {
                    if Instant::now() >= end {
                        return;
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
