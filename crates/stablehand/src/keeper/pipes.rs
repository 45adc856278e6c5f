//! The three pipes between an agent and us.
//!
//! Made and prepared here; who reads and writes them is the driver's business.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Sizes that we ask for the agent's output, first to last. Several agents lose what does not fit
/// into the pipe while their reader is busy, so more is better; but a user has a budget, and once
/// it is used up each new pipe is tiny, so a refusal is fine.
#[cfg(target_os = "linux")]
const OUTPUT_SIZES: [i32; 3] = [1 << 20, 512 << 10, 256 << 10];

/// Our ends of the agent's pipes: close-on-exec and non-blocking. Of a terminal, the first two are
/// the same, and the third has ended.
#[derive(Debug)]
pub struct AgentPipes {
    /// What we write, the agent reads.
    pub stdin: OwnedFd,
    /// The agent's output, in a pipe as large as the system allows, up to 1 MiB.
    pub stdout: OwnedFd,
    /// The agent's diagnostics, in a pipe of ordinary size.
    pub stderr: OwnedFd,
}

/// Makes the pipes: our ends, and the agent's in the order of the standard streams.
pub(super) fn make() -> io::Result<(AgentPipes, [OwnedFd; 3])> {
    // The standard library makes them close-on-exec from the start, so that no process which
    // another thread starts at this moment can inherit them.
    let (agent_stdin, stdin) = io::pipe()?;
    let (stdout, agent_stdout) = io::pipe()?;
    let (stderr, agent_stderr) = io::pipe()?;
    let ours = AgentPipes { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() };
    for end in [&ours.stdin, &ours.stdout, &ours.stderr] {
        // The other end is an open file of its own and keeps blocking, as agents expect.
        set_nonblocking(end)?;
    }
    enlarge(&ours.stdout);
    Ok((ours, [agent_stdin.into(), agent_stdout.into(), agent_stderr.into()]))
}

/// The same for a command that is given nothing and whose two outputs are one: our ends of its input
/// and of its standard error have ended.
pub(super) fn make_together() -> io::Result<(AgentPipes, [OwnedFd; 3])> {
    let (agent_stdin, stdin) = io::pipe()?;
    let (stdout, agent_stdout) = io::pipe()?;
    let (stderr, _closed) = io::pipe()?;
    let ours = AgentPipes { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() };
    set_nonblocking(&ours.stdout)?;
    let both = OwnedFd::from(agent_stdout);
    Ok((ours, [agent_stdin.into(), both.try_clone()?, both]))
}

pub(super) fn set_nonblocking(end: &OwnedFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(end, FcntlArg::F_GETFL)?);
    fcntl(end, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn enlarge(pipe: impl AsFd) {
    for size in OUTPUT_SIZES {
        if fcntl(pipe.as_fd(), FcntlArg::F_SETPIPE_SZ(size)).is_ok() {
            return;
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn enlarge(_pipe: impl AsFd) {}
