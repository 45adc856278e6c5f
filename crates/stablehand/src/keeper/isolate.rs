//! What the keeper does to itself before it starts the agent: it lets go of everything that it
//! inherited, leaves the terminal, becomes the parent of orphans, and learns to survive signals.
//!
//! Nothing here knows about the agent or the protocol.

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::SigSet;
use nix::unistd::{close, dup2_stderr, dup2_stdin, dup2_stdout};
use signal_hook::consts::signal;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How many descriptors are closed blindly where the system does not list the open ones.
const BLIND_DESCRIPTORS: RawFd = 1024;

/// The highest signal number on any system that we know.
const LAST_SIGNAL: i32 = 64;

/// Signals that get no handler: the two that cannot have one, those that the processor raises,
/// which must not be survived, and the end of a child, which has its own.
const NOT_HANDLED: [i32; 10] = [
    signal::SIGKILL,
    signal::SIGSTOP,
    signal::SIGILL,
    signal::SIGFPE,
    signal::SIGSEGV,
    signal::SIGBUS,
    signal::SIGTRAP,
    signal::SIGABRT,
    signal::SIGSYS,
    signal::SIGCHLD,
];

/// Installs handlers and empties the signal mask. The returned stream becomes readable when a
/// child ends.
///
/// These are handlers that do nothing, and not `SIG_IGN`, because an ignored signal would stay
/// ignored in the agent.
pub(super) fn handle_signals() -> io::Result<UnixStream> {
    let (readable, writable) = UnixStream::pair()?;
    readable.set_nonblocking(true)?;
    writable.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal::SIGCHLD, writable)?;

    let nobody_looks = Arc::new(AtomicBool::new(false));
    for number in (1..=LAST_SIGNAL).filter(|number| !NOT_HANDLED.contains(number)) {
        // Some numbers are the C library's own or do not exist here.
        let _refused = signal_hook::flag::register(number, Arc::clone(&nobody_looks));
    }
    // After the handlers, since a blocked signal may be pending.
    SigSet::empty().thread_set_mask()?;
    Ok(readable)
}

/// Takes the socket from standard input and points all three standard streams at `/dev/null`.
pub(super) fn take_socket() -> io::Result<UnixStream> {
    let raw = fcntl(io::stdin(), FcntlArg::F_DUPFD_CLOEXEC(3))?;
    let socket = own(raw);
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(UnixStream::from(socket))
}

#[expect(unsafe_code, reason = "a duplicated file descriptor is only a number")]
fn own(raw: RawFd) -> OwnedFd {
    // SAFETY: `fcntl` has just made this descriptor for us, so nobody else owns it.
    unsafe { OwnedFd::from_raw_fd(raw) }
}

/// Closes every descriptor above the standard three.
///
/// Our parent's parent may have left some open without knowing; held here or in the agent they
/// would keep other people's pipes from ending. Must run before anything is opened.
pub(super) fn close_inherited() {
    #[cfg(target_os = "linux")]
    const LISTING: &str = "/proc/self/fd";
    #[cfg(not(target_os = "linux"))]
    const LISTING: &str = "/dev/fd";

    let open: Vec<RawFd> = match std::fs::read_dir(LISTING) {
        Ok(entries) => entries
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect(),
        Err(_) => (0..BLIND_DESCRIPTORS).collect(),
    };
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // The listing's own descriptor is in the list and is closed already.
        let _not_open = close(descriptor);
    }
}

/// Leaves the supervisor's session and with it the terminal, and becomes the parent of every
/// orphan below.
pub(super) fn own_the_tree() -> nix::Result<()> {
    nix::unistd::setsid()?;
    #[cfg(target_os = "linux")]
    {
        nix::sys::prctl::set_child_subreaper(true)?;
        // A stopped keeper cannot see that the supervisor died. The kernel then continues it, and its
        // loop finds the socket closed. The signal does nothing to a keeper that runs, so it may also
        // come when only the thread that started us ends.
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGCONT)?;
        // A keeper that a debugger holds sees nothing. So the agent, which has the same user, may not
        // attach one; who may trace everything (root) still can.
        nix::sys::prctl::set_dumpable(false)?;
        // Only for people who read `ps`; the kernel keeps 15 bytes.
        let _not_renamed = nix::sys::prctl::set_name(c"stablehand-keep");
    }
    Ok(())
}
