//! Writing to a descriptor that we did not open, without ever blocking.
//!
//! Standard output is often shared: with the shell, with the other side of a terminal. Setting
//! `O_NONBLOCK` on it would change it for everybody who has it. Linux lets us open the same pipe or
//! terminal once more, with flags of our own. Where that is refused (a socket, a pipe of another
//! user, another system) a thread writes for us, fed by a pipe that is ours.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::{pipe, read, write};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Output {
    fd: OwnedFd,
    is_pipe: bool,
    /// Bytes that our thread has written, where there is one.
    relay: Option<Arc<AtomicU64>>,
    handed: u64,
}

impl Output {
    pub(super) fn new(target: OwnedFd) -> io::Result<Output> {
        let kind = SFlag::from_bits_truncate(fstat(&target)?.st_mode & SFlag::S_IFMT.bits());
        // A regular file never makes us wait, and a second description would have an offset of
        // its own and overwrite what others wrote through the first.
        if kind == SFlag::S_IFREG {
            return Ok(Output { fd: target, is_pipe: false, relay: None, handed: 0 });
        }
        if kind == SFlag::S_IFIFO {
            enlarge(&target);
        }
        match reopen(&target) {
            Ok(fd) => Ok(Output { fd, is_pipe: kind == SFlag::S_IFIFO, relay: None, handed: 0 }),
            Err(Errno::ENXIO) if kind == SFlag::S_IFIFO => {
                // The reader of the pipe is gone already; the first write will say so.
                nonblocking(&target)?;
                Ok(Output { fd: target, is_pipe: true, relay: None, handed: 0 })
            }
            Err(_) => Self::relayed(target),
        }
    }

    fn relayed(target: OwnedFd) -> io::Result<Output> {
        let (reader, writer) = pipe()?;
        fcntl(&writer, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
        fcntl(&reader, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
        nonblocking(&writer)?;
        let done = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&done);
        std::thread::Builder::new()
            .name("relay".into())
            .spawn(move || relay(&reader, &target, &count))?;
        Ok(Output { fd: writer, is_pipe: true, relay: Some(done), handed: 0 })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Whether a poll for nothing tells when the other side closes: so with pipes, not with
    /// terminals and files.
    pub(super) fn shows_lost_reader(&self) -> bool {
        self.is_pipe
    }

    /// Writes as much as can be written now.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            match write(&self.fd, rest) {
                Ok(n) => done += n,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Err(e) => return Err(e.into()),
            }
        }
        self.handed += done as u64;
        Ok(done)
    }

    /// Whether everything that was written has really left us.
    pub(super) fn is_drained(&self) -> bool {
        self.relay.as_ref().is_none_or(|done| done.load(Ordering::Acquire) >= self.handed)
    }

    pub(super) fn wait_writable(&self, bound: Duration) {
        let mut fds = [PollFd::new(self.fd.as_fd(), PollFlags::POLLOUT)];
        let bound = PollTimeout::try_from(bound.as_millis()).unwrap_or(PollTimeout::MAX);
        let _timeout_or_signal = poll(&mut fds, bound);
    }
}

/// Room for a whole chunk: every time that a pipe is full costs a wait and a wake-up on both sides.
const PIPE: i32 = 1 << 20;

/// Makes a pipe larger where that is allowed. Its other users notice nothing but fewer waits.
#[cfg(target_os = "linux")]
fn enlarge(pipe: &OwnedFd) {
    if fcntl(pipe, FcntlArg::F_GETPIPE_SZ).is_ok_and(|size| size < PIPE) {
        let _not_allowed_is_fine = fcntl(pipe, FcntlArg::F_SETPIPE_SZ(PIPE));
    }
}

#[cfg(not(target_os = "linux"))]
fn enlarge(_: &OwnedFd) {}

/// The same pipe or terminal, opened again with flags of our own.
fn reopen(target: &OwnedFd) -> nix::Result<OwnedFd> {
    if cfg!(not(target_os = "linux")) {
        return Err(Errno::ENOTSUP); // Elsewhere /dev/fd duplicates instead of opening.
    }
    let path = format!("/proc/self/fd/{}", target.as_raw_fd());
    let flags = OFlag::O_WRONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    open(path.as_str(), flags, Mode::empty())
}

fn nonblocking(fd: &OwnedFd) -> nix::Result<()> {
    fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map(drop)
}

/// Copies until either side ends. A reader that is gone shows as a broken pipe on our side, since
/// the reading end is dropped with this thread.
fn relay(from: &OwnedFd, to: &OwnedFd, done: &AtomicU64) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = match read(from, &mut buffer) {
            Ok(0) => return,
            Ok(n) => n,
            Err(Errno::EINTR) => continue,
            Err(_) => return,
        };
        let mut rest = buffer.get(..n).unwrap_or_default();
        while !rest.is_empty() {
            match write(to, rest) {
                Ok(n) => {
                    rest = rest.get(n..).unwrap_or_default();
                    done.fetch_add(n as u64, Ordering::Release);
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    let mut fds = [PollFd::new(to.as_fd(), PollFlags::POLLOUT)];
                    let _woken = poll(&mut fds, PollTimeout::NONE);
                }
                Err(_) => return,
            }
        }
    }
}
