//! Children of the fake agent: the kinds of process that a supervisor loses.
//!
//! Owns how each kind comes to be. A child is this same binary started again with [`FLAG`]; it
//! changes its session or its signals itself, after exec, which needs no `unsafe`. The agent goes on
//! only when the child has noted its process id, so a script's next step finds it in its final state.

use super::record::{self, Record};
use super::signals::ignore;
use super::{LONGEST_LIFE, end_after};
use crate::pid;
use crate::script::{ChildKind, ChildPlan};
use nix::unistd;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// What stands before the arguments of a child.
pub const FLAG: &str = "--fake-child";

/// How long one process of a hopping child lives.
const HOP: Duration = Duration::from_millis(15);

/// Starts a child, waits until it is what it should be and gives back its process id. `words` are
/// what our own binary wants before the flag.
pub(super) fn spawn(
    plan: &ChildPlan,
    record: &Record,
    number: u32,
    words: &[OsString],
) -> io::Result<Option<i32>> {
    if plan.kind == ChildKind::Hopper && !record.is_kept() {
        return Err(io::Error::other("a hopping child needs a record folder for its process ids"));
    }
    let pid_file = record.child_pid_file(number);
    let mut command = command(words, plan.kind, &pid_file, plan.lives)?;
    if plan.holds_stdout {
        command.stdout(Stdio::inherit());
    }
    if plan.holds_stderr {
        command.stderr(Stdio::inherit());
    }
    match plan.kind {
        ChildKind::Pgrp => {
            command.process_group(0);
        }
        ChildKind::CleanDaemon => {
            command.env_clear().current_dir("/");
        }
        _ => {}
    }
    let mut child = command.spawn()?;
    if matches!(plan.kind, ChildKind::Daemon | ChildKind::CleanDaemon) {
        child.wait()?;
    }
    let start = Instant::now();
    while !pid_file.exists() {
        if start.elapsed() > Duration::from_secs(10) {
            return Err(io::Error::other("the child did not note its process id"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let text = std::fs::read_to_string(&pid_file)?;
    if !record.is_kept() {
        std::fs::remove_file(&pid_file)?;
    }
    Ok(text.split(' ').next().and_then(|pid| pid.parse().ok()))
}

fn command(
    words: &[OsString],
    kind: ChildKind,
    pid_file: &Path,
    lives: Duration,
) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(words)
        .args([FLAG, kind.word()])
        .arg(pid_file)
        .arg(lives.min(LONGEST_LIFE).as_millis().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}

/// Runs a child where the command line asks for one: `[WORDS…] --fake-child KIND PID_FILE
/// MILLISECONDS`. A binary that plays scripts calls this first.
pub fn main() -> Option<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let at = arguments.iter().take(2).position(|argument| argument == FLAG)?;
    end_after(LONGEST_LIFE);
    let (words, rest) = arguments.split_at(at);
    let [_, kind, pid_file, lives] = rest else {
        return Some(ExitCode::FAILURE);
    };
    let kind = ChildKind::from_word(&kind.to_string_lossy());
    let lives = Duration::from_millis(lives.to_string_lossy().parse().unwrap_or(0));
    Some(match kind.map(|kind| live(words, kind, Path::new(pid_file), lives)) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn live(words: &[OsString], kind: ChildKind, pid_file: &Path, lives: Duration) -> io::Result<()> {
    match kind {
        ChildKind::Plain | ChildKind::Pgrp => {}
        ChildKind::Setsid => {
            unistd::setsid()?;
        }
        ChildKind::IgnTerm => {
            unistd::setsid()?;
            for signal in [SIGTERM, SIGINT, SIGHUP] {
                ignore(signal)?;
            }
        }
        ChildKind::Daemon => {
            unistd::setsid()?;
            return second_fork(words, pid_file, lives, Stdio::inherit);
        }
        ChildKind::CleanDaemon => {
            unistd::setsid()?;
            return second_fork(words, pid_file, lives, Stdio::null);
        }
        ChildKind::Hopper => {
            // Fails from the second process on, which already is in that session.
            let _ = unistd::setsid();
            record::append(pid_file, &pid::own_line());
            std::thread::sleep(HOP);
            if let Some(left) = lives.checked_sub(HOP) {
                command(words, kind, pid_file, left)?.spawn()?;
            }
            return Ok(());
        }
    }
    record::write_whole(pid_file, pid::own_line().as_bytes());
    std::thread::sleep(lives);
    Ok(())
}

/// The process in the middle ends at once, so its child belongs to whoever reaps orphans.
fn second_fork(
    words: &[OsString],
    pid_file: &Path,
    lives: Duration,
    stream: fn() -> Stdio,
) -> io::Result<()> {
    command(words, ChildKind::Plain, pid_file, lives)?.stdout(stream()).stderr(stream()).spawn()?;
    Ok(())
}
