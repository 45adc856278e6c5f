//! One subscriber's way through the events of a session.

use super::feed::{Feed, Past};
use super::reader::FrameReader;
use super::{Cursor, Frame};
use crate::log::Fill;
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// So many frames are taken from the ring at once.
const BATCH: usize = 64;

/// How long the iterator sleeps at the most between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// Where a subscription begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// With the first event of the session.
    Start,
    /// With the next event that happens.
    Now,
    /// With the first event after this one.
    After(Cursor),
}

/// The events of one session, in order and without a gap: a blocking iterator, or a
/// [`Stream`](futures_core::Stream) for any executor. It ends when the session has.
///
/// A subscriber may be as slow as it likes. It has no thread of its own.
#[derive(Debug)]
pub struct Subscription {
    feed: Arc<Feed>,
    number: u64,
    place: Place,
    /// Frames that were taken and not given yet.
    ready: VecDeque<Arc<Frame>>,
    /// Events up to this one were given before.
    after: Option<Cursor>,
    /// Whether the frames are made at its pace.
    leads: bool,
}

/// Where the next frame comes from.
#[derive(Debug)]
enum Place {
    /// A log of before, by its index; not opened yet where there is no reader.
    Past(usize, Option<Box<FrameReader>>),
    /// The log that is being written, because the ring no longer has the next frame.
    Log(Box<FrameReader>),
    /// The ring, from this number on.
    Ring(u64),
}

/// What a look gave.
enum Look {
    Found,
    /// Look again.
    Again,
    Nothing,
    Over,
}

impl Subscription {
    pub(crate) fn new(feed: Arc<Feed>, from: From) -> Subscription {
        let after = match from {
            From::Start => None,
            From::Now => Some(feed.now()),
            From::After(cursor) => Some(cursor),
        };
        let number = feed.start(after);
        let is_wanted = |past: &Past| Some(past.how.log) >= after.map(|after| after.log);
        let past = feed.past.iter().position(is_wanted).unwrap_or(feed.past.len());
        let place = Place::Past(past, None);
        Subscription { feed, number, place, ready: VecDeque::new(), after, leads: false }
    }

    /// Has the frames made at the pace of this subscriber, which then never reads the log a second
    /// time, and misses nothing while the disk is full. For the one view that a session is for:
    /// other subscribers of this process get no frame before it does.
    #[must_use]
    pub fn leading(mut self) -> Subscription {
        self.leads = true;
        self.feed.lead(Some(0));
        self
    }

    /// The next frame, where one is there already.
    pub fn try_next(&mut self) -> Option<Arc<Frame>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            match self.look(None) {
                Look::Found | Look::Again => {}
                Look::Nothing | Look::Over => return None,
            }
        }
    }

    /// Waits for the next frame, but no longer than `bound`. Returns `Disconnected` when the session
    /// has ended and every frame was given.
    pub fn next_timeout(&mut self, bound: Duration) -> Result<Arc<Frame>, RecvTimeoutError> {
        let began = Instant::now();
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(frame);
            }
            match self.look(None) {
                Look::Found | Look::Again => {}
                Look::Over => return Err(RecvTimeoutError::Disconnected),
                Look::Nothing => {
                    let left = bound.saturating_sub(began.elapsed());
                    if left.is_zero() {
                        return Err(RecvTimeoutError::Timeout);
                    }
                    match &self.place {
                        Place::Past(..) => {}
                        Place::Log(reader) => reader.tail().wait(left),
                        Place::Ring(next) => self.feed.wait(*next, left),
                    }
                }
            }
        }
    }

    /// Looks for frames where the next one is, and goes to the next place when that is exhausted.
    fn look(&mut self, waker: Option<&Waker>) -> Look {
        match &mut self.place {
            Place::Past(at, reader) => {
                let Some(past) = self.feed.past.get(*at) else {
                    self.place = self.enter();
                    return Look::Again;
                };
                let open = reader.get_or_insert_with(|| Box::new(past.reader(self.after)));
                let mut read = Vec::new();
                if !matches!(open.fill(&mut read), Ok(Fill::Grew | Fill::Lost(_))) {
                    self.place = Place::Past(*at + 1, None);
                }
                self.keep(read);
                Look::Again
            }
            Place::Log(reader) => {
                let mut read = Vec::new();
                let filled = reader.fill(&mut read);
                self.keep(read);
                let mut ring = self.feed.ring();
                // From there on the ring has them, and the same ones.
                if let Some(number) = ring.after(self.after) {
                    drop(ring);
                    self.place = Place::Ring(number);
                    return Look::Again;
                }
                match filled {
                    // The end brings what redaction held back.
                    _ if !self.ready.is_empty() => Look::Found,
                    Ok(Fill::Grew | Fill::Lost(_)) => Look::Again,
                    Ok(Fill::Finished) | Err(_) => Look::Over,
                    Ok(Fill::UpToDate) => {
                        ring.wake(self.number, waker);
                        Look::Nothing
                    }
                }
            }
            Place::Ring(next) => {
                if self.leads {
                    // Everything before it was taken.
                    self.feed.lead(Some(*next));
                }
                let mut ring = self.feed.ring();
                let Some(taken) = ring.take(*next, BATCH) else {
                    drop(ring);
                    self.place = self.behind();
                    return Look::Again;
                };
                if taken.is_empty() {
                    if ring.ended {
                        return Look::Over;
                    }
                    ring.wake(self.number, waker);
                    return Look::Nothing;
                }
                drop(ring);
                *next += taken.len() as u64;
                self.keep(taken);
                Look::Found
            }
        }
    }

    /// Where the log that is being written is entered: by the ring where it has what is wanted.
    fn enter(&self) -> Place {
        let number = self.feed.ring().after(self.after);
        number.map_or_else(|| self.behind(), Place::Ring)
    }

    /// The ring no longer has what is wanted: the log has.
    fn behind(&self) -> Place {
        Place::Log(Box::new(self.feed.reader(self.after)))
    }

    /// Keeps frames for the subscriber, but for those that it had.
    fn keep(&mut self, read: impl IntoIterator<Item = Arc<Frame>>) {
        let after = self.after;
        let is_new = |frame: &Arc<Frame>| after.is_none_or(|after| frame.cursor > after);
        self.ready.extend(read.into_iter().filter(is_new));
        if let Some(last) = self.ready.back() {
            self.after = Some(last.cursor);
        }
    }
}

impl Iterator for Subscription {
    type Item = Arc<Frame>;

    fn next(&mut self) -> Option<Arc<Frame>> {
        loop {
            match self.next_timeout(LOOK) {
                Ok(frame) => return Some(frame),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

impl Stream for Subscription {
    type Item = Arc<Frame>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Arc<Frame>>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Poll::Ready(Some(frame));
            }
            match self.look(Some(context.waker())) {
                Look::Found | Look::Again => {}
                Look::Nothing => return Poll::Pending,
                Look::Over => return Poll::Ready(None),
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.feed.ring().forget(self.number);
        if self.leads {
            self.feed.lead(None);
        }
    }
}
