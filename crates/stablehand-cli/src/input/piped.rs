//! Standard input as a part of a prompt: `git diff | stablehand run "review this"`.
//!
//! Owns when standard input is read and how long it is waited for. A program that starts us may leave
//! a pipe open on which nothing ever comes, so a prompt that is complete without it waits for a first
//! byte only for a moment. Nothing that was read is ever left out: what is too long or does not end
//! is an error.

use crate::failure::Failure;
use crate::output::say;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::read;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// So long a first byte is waited for where the prompt is complete without one. Commands that ask the
/// network before they print need a second or two.
const FIRST_BYTE: Duration = Duration::from_secs(5);

/// So long an input that has begun may be silent, unless it was asked for with `-`.
const SILENCE: Duration = Duration::from_mins(10);

/// After so long we say what we wait for.
const NOTICE: Duration = Duration::from_secs(3);

/// The longest input. No model takes more, and it has to fit into memory a few times.
const MOST_BYTES: usize = 10 << 20;

/// How long standard input is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Only while something comes.
    Bounded,
    /// To its end.
    Endless,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piped {
    /// Everything, which may be nothing.
    Bytes(Vec<u8>),
    /// It is open, and nothing came in time.
    Idle,
}

/// Returns true if standard input is something that a command was redirected to: a pipe, a file or a
/// socket. Terminals, `/dev/null` and other devices are not.
pub(super) fn is_redirected() -> bool {
    let Ok(stat) = fstat(std::io::stdin()) else { return false };
    let kind = SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits());
    [SFlag::S_IFIFO, SFlag::S_IFREG, SFlag::S_IFSOCK].contains(&kind)
}

/// Returns true if there is something to read at once.
pub(super) fn is_readable() -> bool {
    wait(Duration::ZERO).is_some_and(|events| events.contains(PollFlags::POLLIN))
}

/// Reads standard input to its end.
pub(super) fn read_all(patience: Patience) -> Result<Piped, Failure> {
    let mut bytes = Vec::new();
    let mut block = vec![0; 64 << 10];
    let mut heard = Instant::now();
    let mut has_said = false;
    loop {
        let quiet = heard.elapsed();
        if patience == Patience::Bounded {
            if bytes.is_empty() && quiet >= FIRST_BYTE {
                return Ok(Piped::Idle);
            }
            if quiet >= SILENCE {
                return Err(endless(bytes.len()));
            }
        }
        let has_to_come = patience == Patience::Endless || !bytes.is_empty();
        if quiet >= NOTICE && has_to_come && !std::mem::replace(&mut has_said, true) {
            say("waiting for the end of standard input");
        }
        if wait(Duration::from_millis(500)).is_none() {
            continue;
        }
        match read(std::io::stdin(), &mut block) {
            Ok(0) => return Ok(Piped::Bytes(bytes)),
            Ok(count) => bytes.extend_from_slice(block.get(..count).unwrap_or_default()),
            Err(Errno::EINTR | Errno::EAGAIN) => continue,
            Err(error) => {
                let why = error.desc();
                return Err(Failure::new(format!("failed to read standard input: {why}")));
            }
        }
        heard = Instant::now();
        if bytes.len() > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(Failure::new(format!("standard input is longer than {most} MiB"))
                .hint("save it to a file, and name the file in the prompt"));
        }
    }
}

fn endless(bytes: usize) -> Failure {
    let minutes = SILENCE.as_secs() / 60;
    Failure::new(format!(
        "standard input sent {bytes} bytes, then nothing for {minutes} minutes, and has not ended"
    ))
    .hint("end it; or add `-` after the prompt to wait as long as it takes")
}

/// What standard input has for us, within that time.
fn wait(bound: Duration) -> Option<PollFlags> {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    let bound = PollTimeout::try_from(bound.as_millis()).unwrap_or(PollTimeout::MAX);
    let _interrupted = poll(&mut fds, bound);
    fds.first().and_then(PollFd::revents).filter(|events| !events.is_empty())
}
