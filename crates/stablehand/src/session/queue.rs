//! Events on their way from the follower of a log to whoever reads them.
//!
//! A short queue with two ends: the follower waits while it is full, the reader while it is empty,
//! blocking or as a stream. Nothing is lost by a slow reader: what is not in the queue yet is in
//! the log, and the agent never waits for either.

use crate::follow::Show;
use futures_core::Stream;
use stablehand_core::Event;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// So many events wait for the reader at the most.
const ROOM: usize = 256;

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    /// No event comes any more.
    ended: bool,
    /// Nobody reads any more.
    unread: bool,
    waker: Option<Waker>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self, state: &mut State) {
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        self.changed.notify_all();
    }
}

/// The writing end: a face for the follower.
#[derive(Debug)]
pub(super) struct Writer(Arc<Shared>);

/// The events of a session, as they come: an iterator that waits for the next one, and ends when
/// the session has.
#[derive(Debug)]
pub struct Events(Arc<Shared>);

/// The events of a session as an asynchronous stream, for any runtime.
#[derive(Debug)]
pub struct EventStream(Events);

pub(super) fn queue() -> (Writer, Events) {
    let shared = Arc::new(Shared::default());
    (Writer(Arc::clone(&shared)), Events(shared))
}

impl Show for Writer {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let mut state = self.0.lock();
        while state.events.len() >= ROOM && !state.unread {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.unread {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        state.events.push_back(event.clone());
        self.0.notify(&mut state);
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ended = true;
        self.0.notify(&mut state);
    }
}

impl Events {
    /// The same as an asynchronous stream.
    pub fn into_stream(self) -> EventStream {
        EventStream(self)
    }

    /// An event that is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        let mut state = self.0.lock();
        let event = state.events.pop_front();
        self.0.changed.notify_all();
        event
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut state = self.0.lock();
        loop {
            if let Some(event) = state.events.pop_front() {
                self.0.changed.notify_all();
                return Some(event);
            }
            if state.ended {
                return None;
            }
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Stream for EventStream {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let shared = &self.0.0;
        let mut state = shared.lock();
        if let Some(event) = state.events.pop_front() {
            shared.changed.notify_all();
            return Poll::Ready(Some(event));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.unread = true;
        state.events.clear();
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_core::event::{EventKind, Origin};
    use stablehand_core::id::{RunId, Seq};
    use stablehand_core::time::UnixMillis;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Wake;

    fn event(n: u64) -> Event {
        let kind = EventKind::ProcessStderr { text: n.to_string() };
        let run = RunId("r".into());
        Event::stamp(Seq(n), UnixMillis(0), None, run, Origin::Agent, kind)
    }

    #[test]
    fn a_writer_waits_for_a_slow_reader_and_nothing_is_lost() {
        let (mut writer, events) = queue();
        let thread = std::thread::spawn(move || {
            for n in 0..10 * ROOM as u64 {
                writer.event(&event(n)).unwrap();
            }
        });
        let seen: Vec<u64> = events.map(|event| event.seq.0).collect();
        thread.join().unwrap();
        assert_eq!(seen, (0..10 * ROOM as u64).collect::<Vec<_>>());
    }

    #[test]
    fn a_writer_whose_reader_is_gone_is_told_so() {
        let (mut writer, events) = queue();
        let thread = std::thread::spawn(move || {
            (0..2 * ROOM as u64).map(|n| writer.event(&event(n))).find_map(Result::err)
        });
        drop(events);
        assert!(thread.join().unwrap().is_some());
    }

    #[test]
    fn a_stream_is_woken() {
        struct Flag(AtomicBool);
        impl Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        let waker = Arc::clone(&flag).into();
        let mut context = Context::from_waker(&waker);
        let (mut writer, events) = queue();
        let mut stream = Box::pin(events.into_stream());
        assert!(stream.as_mut().poll_next(&mut context).is_pending());
        writer.event(&event(1)).unwrap();
        assert!(flag.0.load(Ordering::SeqCst));
        assert!(matches!(stream.as_mut().poll_next(&mut context), Poll::Ready(Some(_))));
        drop(writer);
        assert!(matches!(stream.as_mut().poll_next(&mut context), Poll::Ready(None)));
    }
}
