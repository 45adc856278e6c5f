//! Durations as Go writes them: `90s`, `500ms`, `1m30s`, `1.5h`; where it makes sense also with days
//! and weeks.
//!
//! `jiff` reads durations as well, but not these: it takes no fraction but in the last unit
//! (`1.5h30m`), none of days (`1.5d`), and takes `1m 30s` and `90 seconds`, which Go refuses.

use std::time::Duration;

/// The units of Go, with their seconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Units for ages.
const LONG_UNITS: [(&str, f64); 2] = [("d", 86_400.0), ("w", 604_800.0)];

/// Reads a duration; the error is for the person who typed it.
pub fn parse(text: &str) -> Result<Duration, String> {
    read(text, &UNITS)
        .ok_or_else(|| format!("`{text}` is not a duration; write it like 90s, 500ms or 1m30s"))
}

/// Like [`parse`], for limits that must be more than nothing.
pub fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err(format!("`{text}` is no time at all; the limit must be positive")),
        duration => Ok(duration),
    }
}

/// Like [`parse`], also with days and weeks: `2w`, `3d`, `1d12h`, `90m`.
pub fn parse_long(text: &str) -> Result<Duration, String> {
    read(text, &[LONG_UNITS.as_slice(), &UNITS].concat())
        .ok_or_else(|| format!("`{text}` is not a duration; write it like 7d, 2w, 36h or 90m"))
}

fn read(text: &str, units: &[(&str, f64)]) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    let mut total = 0f64;
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let next = after.trim_start_matches(char::is_alphabetic);
        let number: f64 = rest.strip_suffix(after)?.parse().ok()?;
        let unit = after.strip_suffix(next)?;
        let (_, seconds) = units.iter().find(|(name, _)| *name == unit)?;
        total += number * seconds;
        rest = next;
    }
    Duration::try_from_secs_f64(total).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations() {
        let ms = |text| parse(text).map(|d| d.as_millis());
        assert_eq!(ms("90s"), Ok(90_000));
        assert_eq!(ms("500ms"), Ok(500));
        assert_eq!(ms("1m30s"), Ok(90_000));
        assert_eq!(ms("1.5h"), Ok(5_400_000));
        assert_eq!(ms("2h45m30.5s"), Ok(9_930_500));
        assert_eq!(ms("0"), Ok(0));
        for wrong in
            ["", "90", "s", "1x", "-5s", "1m 30s", "1..5s", "9e9h", "99999999999999999999h"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse_positive("0s").is_err());
    }
}
