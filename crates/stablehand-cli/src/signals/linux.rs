//! Takes signals from a descriptor, so that a signal stays visible to the driver until it is taken.
//!
//! A handler would run on any thread, and between the moment in which the kernel hands it the signal
//! and its first instruction the driver could allow a tool.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use stablehand::control::Alarm;
use std::os::fd::AsFd;
use std::sync::Arc;

/// The signals that ask for a stop.
const STOPS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Blocks the signals in this thread and those that it starts, and returns them as they come.
pub(super) fn open(alarm: Arc<Alarm>) -> std::io::Result<impl Iterator<Item = i32>> {
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    let stops = SigSet::from_iter(STOPS);
    let all: SigSet = STOPS.into_iter().chain([Signal::SIGQUIT, Signal::SIGWINCH]).collect();
    all.thread_block()?;
    alarm.watch(SignalFd::with_flags(&stops, flags)?.as_fd().try_clone_to_owned()?);
    let source = SignalFd::with_flags(&all, flags)?;
    Ok(std::iter::from_fn(move || next(&source, &alarm)))
}

fn next(source: &SignalFd, alarm: &Alarm) -> Option<i32> {
    loop {
        let mut fds = [PollFd::new(source.as_fd(), PollFlags::POLLIN)];
        let _interrupted = poll(&mut fds, PollTimeout::NONE);
        alarm.raise_if_pending();
        match source.read_signal() {
            Ok(Some(signal)) => return i32::try_from(signal.ssi_signo).ok(),
            Ok(None) | Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}
