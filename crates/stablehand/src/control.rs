//! How a person, or a signal, speaks to a running driver.
//!
//! A [`Control`] can be cloned and used from any thread; the driver holds the one receiving end,
//! whose descriptor it polls. What is sent is never lost and never blocks the sender.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::{pipe, read, write};
use stablehand_core::terminal::TerminalSize;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// What somebody wants of a running driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Stop the run, beginning with an interrupt; a second one kills at once. Carries the signal
    /// number that our own exit status should show.
    Stop {
        /// 2 for Ctrl-C, 15 for SIGTERM, 1 for SIGHUP.
        signal: i32,
    },
    /// Write down what is going on, and go on.
    Dump,
    /// Whoever read our output is gone.
    ReaderGone,
    /// Our own terminal has another size; an agent at a terminal that follows ours gets it too.
    Resize(TerminalSize),
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Control {
    queue: Arc<Mutex<VecDeque<Request>>>,
    wake: Arc<OwnedFd>,
}

/// The receiving end.
#[derive(Debug)]
pub struct Requests {
    queue: Arc<Mutex<VecDeque<Request>>>,
    wake: OwnedFd,
}

/// A pair of ends.
pub fn control() -> std::io::Result<(Control, Requests)> {
    let (reader, writer) = pipe()?;
    for end in [&reader, &writer] {
        fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        fcntl(end, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
    }
    let queue = Arc::new(Mutex::new(VecDeque::new()));
    Ok((
        Control { queue: Arc::clone(&queue), wake: Arc::new(writer) },
        Requests { queue, wake: reader },
    ))
}

impl Control {
    /// Sends a request.
    pub fn send(&self, request: Request) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(request);
        // A full pipe has already woken the driver.
        let _woken = write(&*self.wake, b"x");
    }
}

impl Requests {
    /// Readable when a request waits.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// The next request, if any.
    pub fn next(&self) -> Option<Request> {
        let mut drain = [0; 64];
        while matches!(read(&self.wake, &mut drain), Ok(1..)) {}
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
