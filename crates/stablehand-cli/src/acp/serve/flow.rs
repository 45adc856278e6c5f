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

/// Whether a frame is one of those that are counted when they are sent: what we tell and ask of our own
/// accord. Answers are as many as there are requests.
pub(super) fn is_counted(line: &str) -> bool {
    let head = line.as_bytes().get(..HEAD).unwrap_or(line.as_bytes());
    head.windows(METHOD.len()).any(|part| part == METHOD)
}

/// What a counted frame begins with, and how far in that is looked for.
const METHOD: &[u8] = br#""method":"session/"#;
const HEAD: usize = 128;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_say_of_our_own_accord_is_counted_and_answers_are_not() {
        let update = r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#;
        let asked = r#"{"jsonrpc":"2.0","id":"0a6f","method":"session/request_permission"}"#;
        let answer = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;
        assert_eq!([update, asked, answer].map(is_counted), [true, true, false]);
    }

    #[test]
    fn whoever_brings_events_waits_for_the_editor() {
        let flow = std::sync::Arc::new(Flow::default());
        for _ in 0..ROOM {
            assert!(flow.wait_for_room());
            flow.sent();
        }
        let waiting = std::sync::Arc::clone(&flow);
        let thread = std::thread::spawn(move || waiting.wait_for_room());
        std::thread::sleep(Duration::from_millis(20));
        assert!(!thread.is_finished());
        flow.taken();
        assert!(thread.join().unwrap());
        flow.close();
        assert!(!flow.wait_for_room());
    }
}
