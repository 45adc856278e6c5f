//! Time as values. Core never asks what time it is; whoever calls says so.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A point on the monotonic clock of one run, as the time since the run began.
///
/// It is not an `Instant`, so that a recorded run can be judged again with the times of its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub Duration);

impl Moment {
    /// The beginning of the run.
    pub const START: Moment = Moment(Duration::ZERO);

    /// A moment so many milliseconds into the run.
    pub const fn from_millis(ms: u64) -> Self {
        Moment(Duration::from_millis(ms))
    }

    /// How long it is from `earlier` to `self`; zero where it is not later.
    pub fn since(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// This moment moved on by `by`; it never overflows.
    #[must_use]
    pub fn plus(self, by: Duration) -> Moment {
        Moment(self.0.saturating_add(by))
    }
}

/// Wall-clock time in milliseconds since 1970, UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// `2026-11-16T13:44:06.123Z`; a time that no calendar holds becomes the epoch.
    pub fn rfc3339(self) -> String {
        let stamp =
            jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        format!("{stamp:.3}")
    }

    /// `2026-11-16 13:44:06 UTC`, for people. Logs know no other zone.
    pub fn readable(self) -> String {
        let text = self.rfc3339();
        match (text.get(..10), text.get(11..19)) {
            (Some(day), Some(time)) => format!("{day} {time} UTC"),
            _ => text,
        }
    }

    /// `13:44:06`: the time of day in UTC.
    pub fn time_of_day(self) -> String {
        self.rfc3339().get(11..19).unwrap_or_default().to_owned()
    }

    /// Reads what [`UnixMillis::rfc3339`] wrote.
    pub fn from_rfc3339(text: &str) -> Option<UnixMillis> {
        let stamp: jiff::Timestamp = text.parse().ok()?;
        Some(UnixMillis(stamp.as_millisecond()))
    }

    /// How long it is from `earlier` to this; nothing where clocks went backwards.
    pub fn since(self, earlier: UnixMillis) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// `20261116T134406.123Z`, for file names.
    pub fn compact(self) -> String {
        self.rfc3339().chars().filter(|c| *c != '-' && *c != ':').collect()
    }
}

/// Times in JSON as text, for `#[serde(with)]`.
pub mod as_rfc3339 {
    use super::UnixMillis;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;

    /// Writes `2026-11-16T13:44:06.123Z`.
    pub fn serialize<S: Serializer>(time: &UnixMillis, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&time.rfc3339())
    }

    /// Reads any time of RFC 3339.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UnixMillis, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        UnixMillis::from_rfc3339(&text).ok_or_else(|| D::Error::custom("not an RFC 3339 time"))
    }
}

/// A duration as whole milliseconds, for records.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A duration as a person would say it: `850ms`, `5.4s`, `2m 05s`, `1h 03m`.
pub fn human(duration: Duration) -> String {
    let ms = millis(duration);
    let s = ms / 1000;
    match s {
        0 => format!("{ms}ms"),
        1..60 => format!("{}.{}s", s, ms % 1000 / 100),
        60..3600 => format!("{}m {:02}s", s / 60, s % 60),
        _ => format!("{}h {:02}m", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_fixed_width() {
        assert_eq!(UnixMillis(0).rfc3339(), "1970-01-01T00:00:00.000Z");
        assert_eq!(UnixMillis(1_790_994_297_441).rfc3339(), "2026-10-03T02:24:57.441Z");
        assert_eq!(UnixMillis(1_790_994_297_441).compact(), "20261003T022457.441Z");
        assert_eq!(UnixMillis(1_790_994_297_441).readable(), "2026-10-03 02:24:57 UTC");
        assert_eq!(UnixMillis(1_790_994_297_441).time_of_day(), "02:24:57");
        assert_eq!(UnixMillis(i64::MAX).rfc3339(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(human(Duration::from_millis(850)), "850ms");
        assert_eq!(human(Duration::from_millis(5_432)), "5.4s");
        assert_eq!(human(Duration::from_secs(125)), "2m 05s");
        assert_eq!(human(Duration::from_mins(63)), "1h 03m");
    }
}
