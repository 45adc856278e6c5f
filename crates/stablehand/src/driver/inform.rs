//! Telling the monitor what it cannot know from the agent's output.
//!
//! Owns the promise that a log can be judged again: whatever a decision depends on is on record
//! before its consequences, at the very moment that the monitor was given. What the agent wrote is
//! in the log anyway; ticks follow from what they bring about.

use super::{Driver, notes};
use stablehand_core::Moment;
use stablehand_core::monitor::Input;
use std::time::Duration;

/// A piece of a line on standard error is a sign of life no more often than this: dots that are
/// drawn one by one would fill the log.
const MUTTER: Duration = Duration::from_millis(250);

impl Driver<'_> {
    /// What is put down from here on happened at this moment.
    pub(super) fn stamp(&mut self, now: Moment) {
        self.log.set_time(self.clock.wall(now));
    }

    /// The same for the present moment.
    pub(super) fn stamp_now(&mut self) {
        self.stamp(self.clock.now());
    }

    /// Tells the monitor something, and carries out what follows before anything else happens.
    pub(super) fn tell(&mut self, input: Input<'_>, now: Moment) {
        self.act_at(now);
        self.stamp(now);
        if let Some(told) = notes::told(input) {
            self.log.decide(told, None);
        }
        if matches!(input, Input::Prompted) {
            self.facts.prompted();
        }
        self.monitor.handle(input, now, &mut self.actions);
        self.act_at(now);
    }

    /// Tells the monitor that bytes came which do not complete a line.
    pub(super) fn mutters(&mut self, now: Moment) {
        if self.muttered.is_none_or(|last| now.since(last) >= MUTTER) {
            self.muttered = Some(now);
            self.tell(Input::Heard, now);
        }
    }

    /// Follows the wall clock, where that was set.
    pub(super) fn follow_wall_clock(&mut self) {
        if let Some(by_ms) = self.clock.take_step(self.mark) {
            // Still by the old time, so that whoever reads in order can follow.
            self.log.decide(notes::stepped(by_ms), None);
        }
    }
}

/// Without what is shorter than a millisecond, which no record has.
pub(super) fn whole(duration: Duration) -> Duration {
    Duration::new(duration.as_secs(), duration.subsec_millis() * 1_000_000)
}
