//! Following a log as events, on a thread of its own, for faces that show more than bytes.
//!
//! A follower may be as slow as its reader: the driver does not know it exists. It sees exactly
//! what a replay of the same log would show.

use crate::log::{Fill, Tail};
use stablehand_core::record::Record;
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect, Event};
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a follower sleeps at the most between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// Somebody who is shown events; an error means that nobody is there any more.
pub trait Show: Send + 'static {
    /// One event.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Everything that is in the log so far was shown: a good moment to flush.
    fn pause(&mut self) -> io::Result<()>;
}

/// A face that follows a log.
#[derive(Debug)]
pub struct Follower {
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    shown: u64,
    over: bool,
}

impl Follower {
    /// Follows from where `tail` stands. `gone` is called once if the face has nobody to show to.
    pub fn start(
        tail: Tail,
        dialect: Dialect,
        show: impl Show,
        gone: impl FnOnce() + Send + 'static,
    ) -> io::Result<Follower> {
        let shared = Arc::new(Shared::default());
        let mine = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("follower".into()).spawn(move || {
            if follow(tail, dialect, show, &mine).is_err() {
                gone();
            }
            mine.set(|state| state.over = true);
        })?;
        Ok(Follower { thread: Some(thread), shared })
    }

    /// Waits until everything up to `position` was shown or nobody is there; false when `bound` has
    /// passed before.
    pub fn wait_for(&self, position: u64, bound: Duration) -> bool {
        let until = Instant::now() + bound;
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.shown < position && !state.over {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.moved.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Whether the thread has come to its end.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Shared {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.moved.notify_all();
    }
}

fn follow(
    mut tail: Tail,
    dialect: Dialect,
    mut show: impl Show,
    shared: &Shared,
) -> io::Result<()> {
    let mut reader = EventReader::new(dialect, Depth::Full);
    let mut events = Vec::new();
    loop {
        match tail.fill()? {
            Fill::Grew => {
                while let Some(line) = tail.next() {
                    reader.record(&Record::read(line.bytes), &mut events);
                    for event in events.drain(..) {
                        show.event(&event)?;
                    }
                }
            }
            // Events may be missing; the run says so, and its exit status too.
            Fill::Lost(bytes) => tail.count_missed(bytes),
            Fill::UpToDate => {
                show.pause()?;
                shared.set(|state| state.shown = tail.position());
                tail.wait(LOOK);
            }
            Fill::Finished => {
                show.pause()?;
                shared.set(|state| state.shown = tail.position());
                return Ok(());
            }
        }
    }
}
