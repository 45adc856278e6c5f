//! Starts the agent from inside the keeper.
//!
//! The supervisor may be large and have many threads, so it never forks by itself; the keeper is
//! small and has one thread, so here `pre_exec` is cheap and safe. This file starts; it watches
//! and kills nothing.

use super::cgroup::Cgroup;
use super::wire::FailedStage;
use crate::keeper::{Launch, Transport};
use nix::errno::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why the agent does not run.
#[derive(Debug)]
pub(super) struct SpawnFailure {
    pub(super) stage: FailedStage,
    pub(super) errno: i32,
}

impl SpawnFailure {
    pub(super) fn new(stage: FailedStage, error: &io::Error) -> SpawnFailure {
        // Without a number, the standard library has refused a name with a zero byte in it.
        let errno = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
        SpawnFailure { stage, errno }
    }
}

/// Starts the agent in a process group of its own and returns its pid.
///
/// The keeper enters the agent's working directory itself, because `exec` and `chdir` fail with
/// the same numbers and only so can they be told apart; it does not stay there.
pub(super) fn spawn(
    launch: &Launch,
    pipes: [OwnedFd; 3],
    cgroup: Option<&Cgroup>,
) -> Result<u32, SpawnFailure> {
    let program = program_path(&launch.program)
        .map_err(|error| SpawnFailure::new(FailedStage::Program, &error))?;
    if let Some(cwd) = &launch.cwd {
        std::env::set_current_dir(cwd)
            .map_err(|error| SpawnFailure::new(FailedStage::WorkingDirectory, &error))?;
    }
    let spawned = execute(&program, launch, pipes, cgroup).map_err(|error| {
        let missing = error.raw_os_error() == Some(Errno::ENOENT as i32);
        let stage = if missing && exists(&program, launch) {
            FailedStage::Interpreter
        } else {
            FailedStage::Program
        };
        SpawnFailure::new(stage, &error)
    });
    // Staying would keep the agent's file system from being unmounted; failing to leave is harmless.
    let _stayed = std::env::set_current_dir("/");
    spawned
}

#[expect(unsafe_code, reason = "only code between fork and exec can do this for the child")]
fn execute(
    program: &Path,
    launch: &Launch,
    pipes: [OwnedFd; 3],
    cgroup: Option<&Cgroup>,
) -> io::Result<u32> {
    let [stdin, stdout, stderr] = pipes;
    let entrance = cgroup.map(|cgroup| cgroup.entrance().as_raw_fd());
    let keeper = std::process::id();
    let mut command = Command::new(program);
    command
        .args(&launch.args)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    let at_terminal = match launch.transport {
        Transport::Pipe | Transport::Together => {
            command.process_group(0);
            false
        }
        // Whoever leads a group cannot begin a session, which makes a group as well.
        Transport::Pty { .. } => true,
    };
    for (name, value) in &launch.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // SAFETY: the closure only makes system calls that are allowed between fork and exec, and
    // allocates nothing.
    unsafe { command.pre_exec(move || prepare_agent(entrance, keeper, at_terminal)) };
    // Dropping the handle neither waits nor kills; the keeper reaps all its children alike.
    command.spawn().map(|child| child.id())
}

/// Runs in the child, between fork and exec.
fn prepare_agent(entrance: Option<RawFd>, keeper: u32, at_terminal: bool) -> io::Result<()> {
    // The keeper may not be traced; what the agent is allowed is its own matter.
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_dumpable(true)?;
    reset_signals();
    if at_terminal {
        take_terminal()?;
    }
    if let Some(entrance) = entrance {
        enter_cgroup(entrance);
    }
    die_with(keeper)
}

/// Begins a session whose terminal is the one on standard input. Its id, and that of the group in
/// the terminal's foreground, is the agent's own, as orders to the agent's group expect.
#[expect(unsafe_code, reason = "there is no safe wrapper for this request")]
fn take_terminal() -> io::Result<()> {
    nix::unistd::setsid()?;
    // SAFETY: the request takes an integer, and standard input is open.
    let status = unsafe { nix::libc::ioctl(0, nix::libc::TIOCSCTTY as _, 0) };
    Errno::result(status)?;
    Ok(())
}

/// Undoes what somebody before us may have ignored: exec resets handlers, but not `SIG_IGN`.
#[expect(unsafe_code, reason = "dispositions are process-wide state of the C library")]
fn reset_signals() {
    for number in 1..=64 {
        // SAFETY: the default disposition is valid for every signal, and the numbers that do not
        // exist or cannot be changed are refused by the call.
        unsafe { nix::libc::signal(number, nix::libc::SIG_DFL) };
    }
}

#[expect(unsafe_code, reason = "the descriptor must be named by number after the fork")]
fn enter_cgroup(entrance: RawFd) {
    // SAFETY: the keeper holds the file open until after the agent was started.
    let entrance = unsafe { BorrowedFd::borrow_raw(entrance) };
    // Without the cgroup, the keeper's own loop has to do.
    let _refused = nix::unistd::write(entrance, b"0");
}

/// A second belt, should somebody kill the keeper: the agent then dies with it. It does not reach
/// the agent's own children, which is why it is not the first.
#[cfg(target_os = "linux")]
fn die_with(keeper: u32) -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    // The keeper may have died before the call.
    if u32::try_from(nix::unistd::getppid().as_raw()) == Ok(keeper) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(Errno::ESRCH as i32))
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as on Linux")]
fn die_with(_keeper: u32) -> io::Result<()> {
    Ok(())
}

/// A path with a slash means the same before and after the change of directory.
fn program_path(program: &Path) -> io::Result<PathBuf> {
    if has_slash(program) && program.is_relative() {
        std::path::absolute(program)
    } else {
        Ok(program.to_owned())
    }
}

fn has_slash(program: &Path) -> bool {
    program.as_os_str().as_bytes().contains(&b'/')
}

/// Whether the file is there, so that `not found` must be about its interpreter or loader.
fn exists(program: &Path, launch: &Launch) -> bool {
    if program.as_os_str().is_empty() || has_slash(program) {
        return program.exists();
    }
    let inherited = std::env::var_os("PATH");
    let path = launch
        .env
        .iter()
        .rev()
        .find(|(name, _)| name == OsStr::new("PATH"))
        .map_or(inherited.as_ref(), |(_, value)| value.as_ref());
    path.is_some_and(|path| std::env::split_paths(path).any(|folder| folder.join(program).exists()))
}
