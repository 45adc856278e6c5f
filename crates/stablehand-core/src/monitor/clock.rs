//! The clock that limits run on: the caller's clock without the time that does not count.
//!
//! Owns the translation between the two. Time does not count while the clock is held (our own
//! reader blocks us, or a person is asked) and while our own loop was asleep. Every moment that the
//! monitor keeps is on this clock, so that moving every deadline is one addition.

use crate::time::Moment;
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// Time that did not count so far.
    uncounted: Duration,
    /// Where the clock stands while it is held.
    held: Option<Moment>,
}

impl Clock {
    /// The caller's `now` on this clock.
    pub(super) fn at(&self, now: Moment) -> Moment {
        match self.held {
            Some(held) => held,
            None => Moment(now.0.saturating_sub(self.uncounted)),
        }
    }

    /// A moment of this clock on the caller's; only of use while the clock runs.
    pub(super) fn outside(&self, moment: Moment) -> Moment {
        moment.plus(self.uncounted)
    }

    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Stops or starts the clock. It goes on where it stood.
    pub(super) fn hold(&mut self, stop: bool, now: Moment) {
        match (stop, self.held) {
            (true, None) => self.held = Some(self.at(now)),
            (false, Some(stood)) => {
                self.uncounted = now.since(stood);
                self.held = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Leaves `gap` out. The clock goes back by it; what lies in its future then counts as now.
    pub(super) fn skip(&mut self, gap: Duration, now: Moment) {
        if self.held.is_none() {
            // It never goes back behind the beginning, so that a senseless gap stays bounded.
            self.uncounted = self.uncounted.saturating_add(gap).min(now.0);
        }
    }
}
