//! How far an editor is behind, so that one that does not read costs no memory.
//!
//! Events wait in the log, not here: whoever brings them waits until the editor has taken what was
//! sent. Nobody who serves the editor ever waits.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// So many frames may be on their way to an editor.
const ROOM: u64 = 1024;

/// One wait, between two looks whether anybody is still there.
const LOOK: Duration = Duration::from_millis(500);

/// Counts what was sent and what was taken.
#[derive(Debug, Default)]
pub(super) struct Flow {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    sent: u64,
    taken: u64,
    closed: bool,
}

impl Flow {
    /// Waits until there is room; false where the editor is gone.
    pub(super) fn wait_for_room(&self) -> bool {
        let mut state = self.state();
        while state.sent.saturating_sub(state.taken) >= ROOM && !state.closed {
            let waited = self.moved.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        !state.closed
    }

    /// One more is on its way.
    pub(super) fn sent(&self) {
        self.state().sent += 1;
    }

    /// The editor took one.
    pub(super) fn taken(&self) {
        self.state().taken += 1;
        self.moved.notify_all();
    }

    /// Nobody reads any more.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.moved.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
