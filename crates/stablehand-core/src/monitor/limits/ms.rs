//! Durations of limits as records have them: milliseconds, with a fraction where there is one; null
//! is no limit.

use serde::{Deserialize, Deserializer, Serializer};
use std::time::Duration;

/// As many whole milliseconds as a number in JSON holds exactly.
const EXACT: u128 = 1 << 53;

pub(super) fn serialize<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let whole = duration.as_millis();
    if whole >= EXACT {
        return serializer.serialize_none();
    }
    match u64::try_from(whole) {
        Ok(ms) if duration.subsec_nanos().is_multiple_of(1_000_000) => serializer.serialize_u64(ms),
        _ => serializer.serialize_f64(duration.as_secs_f64() * 1e3),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    Ok(or_none::deserialize(deserializer)?.unwrap_or(Duration::MAX))
}

/// The same for a limit that need not be there.
pub(super) mod or_none {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(in super::super) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => super::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let Some(ms) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
        // Nanoseconds, rounded: a fraction in binary is hardly ever exact. A cast never overflows.
        let nanos = Duration::from_nanos((ms.fract() * 1e6).round() as u64);
        Ok(Some(Duration::from_millis(ms.trunc() as u64).saturating_add(nanos)))
    }
}

#[cfg(test)]
mod tests {
    use crate::monitor::Limits;
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        #[test]
        fn limits_come_back_as_they_were(
            idle in 0u64..10_000_000_000_000,
            fine in 0u64..100_000_000_000,
            wall in prop::option::of(1u64..1_000_000_000),
            off in any::<bool>(),
        ) {
            let mut limits = Limits::modern();
            limits.idle = Duration::from_millis(idle);
            limits.tool_grace = Duration::from_nanos(fine);
            limits.wall = wall.map(Duration::from_millis);
            if off {
                limits.no_progress = Duration::MAX;
            }
            let json = serde_json::to_string(&limits).expect("JSON");
            let back: Limits = serde_json::from_str(&json).expect("limits");
            prop_assert_eq!(back, limits, "{}", json);
        }
    }

    #[test]
    fn whole_milliseconds_are_whole_numbers() {
        let json = serde_json::to_value(Limits::modern()).expect("JSON");
        assert_eq!(json["idle_ms"], 300_000);
        assert_eq!(json["class"]["local_ms"], 120_000);
        assert_eq!(json["wall_ms"], serde_json::Value::Null);
        assert_eq!(json["tool_without_timeout"], "by_class");
    }
}
