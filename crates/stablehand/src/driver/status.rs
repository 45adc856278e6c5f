//! What a status line can show, kept where a face can look at it any time.

use super::Driver;
use stablehand_core::Moment;
use stablehand_core::event::Health;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the picture is brought up to date at the most.
const RHYTHM: Duration = Duration::from_millis(100);

/// A place for the newest status.
pub type StatusCell = Arc<StatusSlot>;

/// See [`StatusCell`].
#[derive(Debug, Default)]
pub struct StatusSlot(Mutex<Option<StatusLine>>);

impl StatusSlot {
    /// The newest status, once there is one.
    pub fn get(&self) -> Option<StatusLine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// No run is on.
    pub(crate) fn clear(&self) {
        self.set(None);
    }

    fn set(&self, line: Option<StatusLine>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }
}

/// What the agent is doing, and since when.
#[derive(Clone, Debug)]
pub struct StatusLine {
    /// What we believe.
    pub health: Health,
    /// The oldest open call, and how many there are.
    pub tool: Option<(String, usize)>,
    /// Since when.
    pub since: Instant,
    /// When it was last heard.
    pub heard: Instant,
    /// When the run began.
    pub began: Instant,
    /// Tool calls so far.
    pub tool_calls: u64,
    /// Tokens so far, where stated.
    pub tokens: u64,
}

/// When the picture was last brought up to date.
#[derive(Debug, Default)]
pub(super) struct Shown {
    at: Option<Moment>,
    /// Something may have changed since, too soon to be shown.
    is_stale: bool,
}

impl Shown {
    /// When the picture has to be brought up to date, though nothing else happens.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.at.filter(|_| self.is_stale).map(|at| at.plus(RHYTHM))
    }
}

impl Driver<'_> {
    pub(super) fn show_status(&mut self) {
        let Some(cell) = &self.faces.status else { return };
        let now = self.clock.now();
        if self.shown.at.is_some_and(|at| now.since(at) < RHYTHM) {
            self.shown.is_stale = true;
            return;
        }
        self.shown = Shown { at: Some(now), is_stale: false };
        let status = self.monitor.status(now);
        let here = Instant::now();
        let ago = |duration: Duration| here.checked_sub(duration).unwrap_or(here);
        let tool = status.open.first().map(|tool| (tool.command.clone(), status.open.len()));
        let longest = status.open.first().map(|tool| Duration::from_millis(tool.elapsed_ms));
        cell.set(Some(StatusLine {
            health: status.health,
            tool,
            since: ago(longest.unwrap_or(status.since)),
            heard: ago(status.quiet),
            began: ago(now.0),
            tool_calls: status.tool_calls,
            tokens: status.tokens,
        }));
    }
}
