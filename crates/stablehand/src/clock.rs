//! The clocks: the one place that asks what time it is.

use nix::time::{ClockId, clock_gettime};
use stablehand_core::time::{Moment, UnixMillis};
use std::time::{Duration, Instant, SystemTime};

/// Wall-clock time now.
pub fn unix_now() -> UnixMillis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The clock of one run: monotonic, from zero, and able to notice that the machine slept.
#[derive(Debug)]
pub struct RunClock {
    start: Instant,
    asleep: Duration,
}

impl RunClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        RunClock { start: Instant::now(), asleep: asleep() }
    }

    /// The time since the start; it stands still while the machine is suspended.
    pub fn now(&self) -> Moment {
        Moment(self.start.elapsed())
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
