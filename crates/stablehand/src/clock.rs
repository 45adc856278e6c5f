//! The clocks: the one place that asks what time it is.

use nix::time::{ClockId, clock_gettime};
use stablehand_core::time::{Moment, UnixMillis};
use std::time::{Duration, Instant, SystemTime};

/// The wall clock is looked at so often.
const LOOK: Duration = Duration::from_secs(1);

/// A difference that is not worth a record: clocks that are kept right by others drift this much.
const DRIFT_MS: i64 = 100;

/// A look at two clocks that took longer than this compares nothing.
const GLANCE: Duration = Duration::from_millis(10);

/// Wall-clock time now.
pub fn unix_now() -> UnixMillis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The clock of one run: monotonic, from zero, and able to notice that the machine slept.
///
/// It counts whole milliseconds, and the times of the run's records are made of it. So the log has
/// the very moments that decisions were made at, and whoever judges it again decides the same.
#[derive(Debug)]
pub struct RunClock {
    start: Instant,
    asleep: Duration,
    /// The wall-clock time of the start, as if nobody had set that clock since.
    began: UnixMillis,
    /// When the wall clock was last looked at.
    looked: Moment,
}

impl RunClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        RunClock {
            start: Instant::now(),
            asleep: asleep(),
            began: unix_now(),
            looked: Moment::START,
        }
    }

    /// The time since the start; it stands still while the machine is suspended.
    pub fn now(&self) -> Moment {
        let passed = self.start.elapsed();
        Moment(Duration::new(passed.as_secs(), passed.subsec_millis() * 1_000_000))
    }

    /// A moment of this clock as wall-clock time, for records.
    pub fn wall(&self, moment: Moment) -> UnixMillis {
        let ms = moment.0.as_secs() * 1000 + u64::from(moment.0.subsec_millis());
        UnixMillis(self.began.0.saturating_add_unsigned(ms))
    }

    /// By how many milliseconds the wall clock has moved against this one since the last call that
    /// said so. From then on, [`RunClock::wall`] goes by it. It is looked at once a second.
    pub fn take_step(&mut self, now: Moment) -> Option<i64> {
        if now.since(self.looked) < LOOK {
            return None;
        }
        let before = self.now();
        let wall = unix_now();
        if self.now().since(before) > GLANCE {
            return None; // We did not run in between.
        }
        self.looked = before;
        let step = wall.0.saturating_sub(self.wall(before).0);
        if step.abs() < DRIFT_MS {
            return None;
        }
        self.began = UnixMillis(self.began.0.saturating_add(step));
        Some(step)
    }

    /// How long the machine was suspended since this was last asked.
    pub fn take_suspension(&mut self) -> Duration {
        let asleep = asleep();
        let slept = asleep.saturating_sub(self.asleep);
        self.asleep = asleep;
        slept
    }
}

/// The difference of the clock that counts suspension and the one that does not.
#[cfg(target_os = "linux")]
fn asleep() -> Duration {
    let read = |id| clock_gettime(id).map(Duration::from).unwrap_or_default();
    read(ClockId::CLOCK_BOOTTIME).saturating_sub(read(ClockId::CLOCK_MONOTONIC))
}

#[cfg(not(target_os = "linux"))]
fn asleep() -> Duration {
    let _ = clock_gettime(ClockId::CLOCK_MONOTONIC);
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_followed_once() {
        let mut clock = RunClock::start();
        assert_eq!(clock.take_step(clock.now()), None, "too soon for a look");
        // An hour too early, as if somebody had set the wall clock since.
        clock.began.0 -= 3_600_000;
        clock.start -= 2 * LOOK;
        let step = clock.take_step(clock.now()).expect("a step");
        assert!((step - 3_598_000).abs() < 1000, "{step}");
        assert_eq!(clock.take_step(clock.now()), None);
        let off = unix_now().0 - clock.wall(clock.now()).0;
        assert!(off.abs() < 1000, "{off}");
    }
}
