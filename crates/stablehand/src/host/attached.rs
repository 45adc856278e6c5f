//! A session that another process runs: its log as it grows, and its control socket.

use super::{catalog, socket};
use crate::control::{Always, AnswerError, Refused};
use crate::frames::Feed;
use crate::log::{LogSource, Writer};
use crate::redact::Redaction;
use socket::{Call, Reply};
use stablehand_core::actor::Actor;
use stablehand_core::id::{SessionKey, TurnId};
use stablehand_core::size::MaxOutput;
use stablehand_core::speak::{Answer, Prompt};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the log is looked at for more.
const LOOK: Duration = Duration::from_millis(25);

/// So many looks lie between two at who writes the log.
const LOOKS_PER_CHECK: u32 = 20;

/// The other process, as far as it can be spoken to.
#[derive(Debug)]
pub(super) struct Attached {
    socket: PathBuf,
    /// Set when the host no longer wants it; the thread that follows the log ends then.
    dropped: Arc<AtomicBool>,
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

impl Attached {
    /// Reads the logs of a session, the last of which is being written, and follows that one.
    pub(super) fn to(
        folder: &Path,
        key: SessionKey,
        logs: &[PathBuf],
        shaping: (Option<&Redaction>, MaxOutput),
    ) -> io::Result<(Arc<Feed>, Attached)> {
        let Some((current, past)) = logs.split_last() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let read = catalog::one(current, shaping);
        let live =
            read.ok_or_else(|| io::Error::other("its first record does not say what it is"))?;
        let source = live.log.clone();
        let feed = Feed::new(live.log, live.how, catalog::past(past, shaping));
        let dropped = Arc::new(AtomicBool::new(false));
        let mine = Arc::clone(&dropped);
        let follow = move || follow(&source, &mine);
        std::thread::Builder::new().name("attached".into()).spawn(follow)?;
        Ok((feed, Attached { socket: socket::path(folder, key), dropped }))
    }

    pub(super) fn prompt(&self, prompt: Prompt, by: Actor) -> Result<TurnId, Refused> {
        match self.call(&Call::Prompt { prompt, by })? {
            Reply::Turn(turn) => Ok(turn),
            Reply::Refused(why) => Err(why),
            _ => Err(Refused::Over),
        }
    }

    pub(super) fn cancel(&self, turn: Option<TurnId>, by: Actor) -> Result<(), Refused> {
        self.call(&Call::Cancel { turn, by }).map(drop)
    }

    pub(super) fn answer(&self, id: &str, answer: Answer, by: Actor) -> Result<(), AnswerError> {
        let not_waiting = || AnswerError::NotWaiting { id: id.to_owned() };
        let call = Call::Answer { id: id.to_owned(), answer, by };
        match self.call(&call).map_err(|_| not_waiting())? {
            Reply::Done => Ok(()),
            Reply::AlreadyAnswered(by) => {
                Err(AnswerError::AlreadyAnswered { id: id.to_owned(), by })
            }
            Reply::NoRule(why) => Err(AnswerError::NoRule { id: id.to_owned(), why }),
            _ => Err(not_waiting()),
        }
    }

    pub(super) fn always(&self, id: &str) -> Option<Always> {
        match self.call(&Call::Always { id: id.to_owned() }) {
            Ok(Reply::Always(always)) => Some(always),
            _ => None,
        }
    }

    pub(super) fn finish(&self) -> Result<(), Refused> {
        self.call(&Call::Finish).map(drop)
    }

    pub(super) fn stop(&self, by: Actor) -> Result<(), Refused> {
        self.call(&Call::Stop { by }).map(drop)
    }

    /// A process that does not answer is gone, and the session with it.
    fn call(&self, call: &Call) -> Result<Reply, Refused> {
        socket::call(&self.socket, call).map_err(|_| Refused::Over)
    }
}

/// Takes in what the other process writes, until that or the host is gone.
fn follow(source: &LogSource, dropped: &AtomicBool) {
    let mut looks = 0;
    while !dropped.load(Ordering::Relaxed) {
        // Who writes is asked before the last look, so that nothing can come in between.
        looks = (looks + 1) % LOOKS_PER_CHECK;
        let is_gone = looks == 0 && source.writer() != Writer::There;
        match source.look() {
            Ok(true) => {}
            Ok(false) if is_gone => break,
            Ok(false) => std::thread::sleep(LOOK),
            Err(_) => break,
        }
    }
    source.finish();
}
