//! The pseudo-terminal between an agent and us, where it wants one instead of pipes.
//!
//! Made and prepared here; who reads and writes it is the driver's business, what is drawn on it
//! core's. Both of the agent's outputs are the one terminal, so there is no standard error of its
//! own. Reading our side fails with `EIO` once nobody has the other side open: that is its end.

use super::pipes::{AgentPipes, set_nonblocking};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{OpenptyResult, Winsize, openpty};
use stablehand_core::terminal::TerminalSize;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Makes the terminal: our side of it, as a writer and a reader, and the agent's three times.
pub(super) fn make(size: TerminalSize) -> io::Result<(AgentPipes, [OwnedFd; 3])> {
    let OpenptyResult { master, slave } = openpty(&winsize(size), None)?;
    // There is no way to open both sides close-on-exec from the start. A process that another
    // thread starts at this very moment holds the terminal open until it ends; the drain after the
    // exit is bounded, so nothing waits for it.
    for side in [&master, &slave] {
        fcntl(side, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    expect_utf8(&slave);
    set_nonblocking(&master)?;
    let agents = [slave.try_clone()?, slave.try_clone()?, slave];
    // Standard error: a pipe that nobody can write to, so that it ends at once.
    let (stderr, _closed) = io::pipe()?;
    let ours = AgentPipes { stdin: master.try_clone()?, stdout: master, stderr: stderr.into() };
    Ok((ours, agents))
}

/// Gives the terminal another size; whoever is in its foreground is told with `SIGWINCH`.
#[expect(unsafe_code, reason = "there is no safe wrapper for this request")]
pub(crate) fn set_size(terminal: impl AsFd, size: TerminalSize) -> io::Result<()> {
    let size = winsize(size);
    let terminal = terminal.as_fd().as_raw_fd();
    // SAFETY: TIOCSWINSZ reads one `winsize` through the pointer, which is valid for the call.
    let status = unsafe { nix::libc::ioctl(terminal, nix::libc::TIOCSWINSZ, &raw const size) };
    nix::errno::Errno::result(status)?;
    Ok(())
}

fn winsize(size: TerminalSize) -> Winsize {
    Winsize { ws_row: size.rows(), ws_col: size.cols(), ws_xpixel: 0, ws_ypixel: 0 }
}

/// Deleting a character in the line editor of the kernel then deletes all its bytes.
#[cfg(target_os = "linux")]
fn expect_utf8(slave: &OwnedFd) {
    use nix::sys::termios::{InputFlags, SetArg, tcgetattr, tcsetattr};
    if let Ok(mut settings) = tcgetattr(slave) {
        settings.input_flags |= InputFlags::IUTF8;
        let _a_comfort = tcsetattr(slave, SetArg::TCSANOW, &settings);
    }
}

#[cfg(not(target_os = "linux"))]
fn expect_utf8(_slave: &OwnedFd) {}
