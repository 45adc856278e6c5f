//! The newest frames of a session, and the thread that makes them.

use super::reader::{FrameReader, How};
use super::{Cursor, Frame};
use crate::control::{Control, Request};
use crate::log::{Fill, LogSource};
use stablehand_core::id::LogId;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// So many frames are kept for subscribers that keep up; the others read the log.
const RING: usize = 1024;

/// How long the thread sleeps at the most between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// The frames of one session.
#[derive(Debug)]
pub(crate) struct Feed {
    how: How,
    /// The log that is being written.
    log: LogSource,
    /// Logs of the session from before, oldest first.
    pub(super) past: Vec<Past>,
    state: Mutex<Ring>,
    changed: Condvar,
    /// The thread has read everything that there was.
    caught_up: Condvar,
    /// The leading subscriber has taken some.
    room: Condvar,
    /// Whether the thread could be started.
    started: OnceLock<bool>,
    /// Whom to tell of output that was cut, so that it is put on record.
    recorder: OnceLock<Control>,
}

/// A log of the session that is complete.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) how: How,
    pub(crate) log: LogSource,
}

/// What subscribers share.
#[derive(Debug)]
pub(super) struct Ring {
    frames: VecDeque<Arc<Frame>>,
    /// The ring has every frame behind this position; `None` is the beginning of the log.
    since: Option<Cursor>,
    /// How many frames it had before the first one that is kept.
    dropped: u64,
    /// How far the log was read.
    read: u64,
    /// The number of the frame that the leading subscriber wants next, where there is one.
    leader: Option<u64>,
    /// No frame comes any more.
    pub(super) ended: bool,
    wakers: HashMap<u64, Waker>,
    subscribers: u64,
}

impl Past {
    /// Reads what comes after a cursor; from the beginning where it is of another log, or none.
    pub(super) fn reader(&self, after: Option<Cursor>) -> FrameReader {
        FrameReader::new(&self.log, &self.how, self.how.offset(after))
    }
}

impl Feed {
    /// The first subscriber starts the reading.
    pub(crate) fn new(log: LogSource, how: How, past: Vec<Past>) -> Arc<Feed> {
        let state = Ring {
            frames: VecDeque::new(),
            since: None,
            dropped: 0,
            read: 0,
            leader: None,
            ended: false,
            wakers: HashMap::new(),
            subscribers: 0,
        };
        Arc::new(Feed {
            how,
            log,
            past,
            state: Mutex::new(state),
            changed: Condvar::new(),
            caught_up: Condvar::new(),
            room: Condvar::new(),
            started: OnceLock::new(),
            recorder: OnceLock::new(),
        })
    }

    /// Puts on record from now on that output of a tool was cut.
    pub(crate) fn record_cuts(&self, control: Control) {
        let _recorded_already = self.recorder.set(control);
    }

    pub(super) fn ring(&self) -> MutexGuard<'_, Ring> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the ring has a frame of this number, or has ended, but no longer than `bound`.
    pub(super) fn wait(&self, number: u64, bound: Duration) {
        let is_quiet = |ring: &mut Ring| ring.count() <= number && !ring.ended;
        drop(self.changed.wait_timeout_while(self.ring(), bound, is_quiet));
    }

    /// Reads what comes after a cursor in the log that is being written.
    pub(super) fn reader(&self, after: Option<Cursor>) -> FrameReader {
        FrameReader::new(&self.log, &self.how, self.how.offset(after))
    }

    /// The subscriber at whose pace frames are made wants this one next; none where it is gone.
    pub(super) fn lead(&self, next: Option<u64>) {
        self.ring().leader = next;
        self.room.notify_all();
    }

    /// Returns true if the session has that log.
    pub(crate) fn has_log(&self, log: LogId) -> bool {
        self.how.log == log || self.past.iter().any(|past| past.how.log == log)
    }

    /// Returns true if nothing is added to the log any more.
    pub(crate) fn is_complete(&self) -> bool {
        self.log.is_finished()
    }

    /// The position behind everything that has happened.
    pub(super) fn now(&self) -> Cursor {
        let offset = self.log.end().saturating_sub(1);
        Cursor { log: self.how.log, offset, nth: u32::MAX }
    }

    /// Waits until the thread has read the log up to `position`, where there is one, but no longer
    /// than `bound`.
    pub(crate) fn wait_until_read(&self, position: u64, bound: Duration) {
        if self.started.get() == Some(&true) {
            let is_behind = |ring: &mut Ring| ring.read < position && !ring.ended;
            let _late = self.caught_up.wait_timeout_while(self.ring(), bound, is_behind);
        }
    }

    /// Starts the thread with the first subscriber, which wants what comes after a cursor. Others that
    /// want more read the log. A log that is complete needs no thread: its subscribers read it.
    pub(super) fn start(self: &Arc<Self>, after: Option<Cursor>) -> u64 {
        let is_started = *self.started.get_or_init(|| {
            if self.is_complete() {
                return false;
            }
            let feed = Arc::clone(self);
            let reader = self.reader(after);
            self.ring().since = reader.since();
            let thread = std::thread::Builder::new().name("frames".into());
            thread.spawn(move || feed.run(reader)).is_ok()
        });
        let mut ring = self.ring();
        if !is_started && !ring.ended {
            // Without a thread there is nothing to wait for; what is in the log can still be read.
            ring.ended = true;
            ring.since = Some(Cursor { log: self.how.log, offset: u64::MAX, nth: u32::MAX });
        }
        ring.subscribers += 1;
        ring.subscribers
    }

    fn run(&self, mut reader: FrameReader) {
        let mut made = Vec::new();
        loop {
            let filled = reader.fill(&mut made);
            if let (Some(cut), Some(recorder)) = (reader.take_cut(), self.recorder.get()) {
                recorder.send(Request::Note(Box::new(cut.into())));
            }
            if !made.is_empty() {
                self.push(&mut made);
            }
            if let Ok(Fill::UpToDate) = filled {
                self.ring().read = reader.tail().position();
                self.caught_up.notify_all();
            }
            match filled {
                Ok(Fill::Grew) => {}
                Ok(Fill::Lost(bytes)) => reader.tail().count_missed(bytes),
                Ok(Fill::UpToDate) => reader.tail().wait(LOOK),
                Ok(Fill::Finished) | Err(_) => break,
            }
        }
        let mut ring = self.ring();
        ring.ended = true;
        self.caught_up.notify_all();
        self.notify(&mut ring);
    }

    fn push(&self, made: &mut Vec<Arc<Frame>>) {
        let mut made = made.drain(..);
        let mut ring = self.ring();
        while made.len() > 0 {
            let waited = self.room.wait_while(ring, |ring| ring.room() == 0);
            ring = waited.unwrap_or_else(PoisonError::into_inner);
            let room = ring.room();
            ring.frames.extend(made.by_ref().take(room));
            let excess = ring.frames.len().saturating_sub(RING);
            let last = ring.frames.drain(..excess).next_back();
            ring.since = last.map(|frame| frame.cursor).or(ring.since);
            ring.dropped += excess as u64;
            self.notify(&mut ring);
        }
    }

    fn notify(&self, ring: &mut Ring) {
        for (_, waker) in ring.wakers.drain() {
            waker.wake();
        }
        self.changed.notify_all();
    }
}

impl Ring {
    /// How many frames may come before the leading subscriber has taken some.
    fn room(&self) -> usize {
        let ahead = self.leader.map_or(0, |next| self.count().saturating_sub(next));
        RING.saturating_sub(usize::try_from(ahead).unwrap_or(RING))
    }

    /// How many frames there were so far.
    fn count(&self) -> u64 {
        self.dropped + self.frames.len() as u64
    }

    /// The number of the first frame that comes after `cursor`, where the ring still has it.
    pub(super) fn after(&self, cursor: Option<Cursor>) -> Option<u64> {
        if self.since > cursor {
            return None;
        }
        let at = self.frames.partition_point(|frame| Some(frame.cursor) <= cursor);
        Some(self.dropped + at as u64)
    }

    /// Some frames from this number on; none where the ring no longer has it.
    pub(super) fn take(&self, from: u64, most: usize) -> Option<Vec<Arc<Frame>>> {
        let at = usize::try_from(from.checked_sub(self.dropped)?).ok()?.min(self.frames.len());
        Some(self.frames.range(at..).take(most).cloned().collect())
    }

    /// Wakes this task with the next change.
    pub(super) fn wake(&mut self, subscriber: u64, waker: Option<&Waker>) {
        if let Some(waker) = waker {
            self.wakers.insert(subscriber, waker.clone());
        }
    }

    /// A subscriber is gone.
    pub(super) fn forget(&mut self, subscriber: u64) {
        self.wakers.remove(&subscriber);
    }
}
