//! Durations as Go writes them: `90s`, `500ms`, `1m30s`, `1.5h`.

use std::time::Duration;

/// Reads a duration; the error is for the person who typed it.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write it like 90s, 500ms or 1m30s");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = 0f64;
    while !rest.is_empty() {
        let digits =
            rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (number, after) = rest.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let letters = after.len() - after.trim_start_matches(|c: char| c.is_alphabetic()).len();
        let (unit, next) = after.split_at(letters);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        total += number * seconds;
        rest = next;
    }
    Duration::try_from_secs_f64(total).map_err(|_| wrong())
}

/// Like [`parse`], for limits that must be more than nothing.
pub fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err(format!("`{text}` is no time at all; the limit must be positive")),
        duration => Ok(duration),
    }
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
