//! Sizes in bytes, as people write and read them, and the most of a tool's output that faces show.

use std::str::FromStr;

const KIB: f64 = 1024.0;

/// Reads a size: `500000`, `500MB`, `2GiB`, `2G`. Returns nothing where it is none.
pub fn parse(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits).unwrap_or_default().to_ascii_lowercase();
    let number: f64 = digits.trim().parse().ok()?;
    let factor: f64 = match unit.as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => KIB,
        "m" | "mib" => KIB * KIB,
        "g" | "gib" => KIB * KIB * KIB,
        "t" | "tib" => KIB * KIB * KIB * KIB,
        _ => return None,
    };
    let bytes = number * factor;
    (bytes.is_finite() && (0.0..1e18).contains(&bytes)).then_some(bytes as u64)
}

/// Writes a size: `812 B`, `34.5 KiB`, `1.2 GiB`.
pub fn human(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut amount = count as f64 / KIB;
    let mut unit = 0;
    while amount >= 1023.95 && unit + 1 < UNITS.len() {
        amount /= KIB;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS.get(unit).unwrap_or(&"TiB"))
}

/// The most of one tool's output that faces show, in bytes; none for all of it. The log has all of it
/// in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxOutput(pub Option<u64>);

impl Default for MaxOutput {
    /// 50 KiB: more than a person reads, and little enough for a client that keeps every event.
    fn default() -> Self {
        MaxOutput(Some(50 << 10))
    }
}

impl FromStr for MaxOutput {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(MaxOutput(None));
        }
        let wrong = || format!("`{text}` is no size; write it like 50KiB or 1MB, or none");
        parse(text).map(|most| MaxOutput(Some(most))).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_type_them() {
        let table = [("0", 0), ("12", 12), ("1kb", 1000), ("1.5KiB", 1536), ("2GiB", 2 << 30)];
        for (text, bytes) in table {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for wrong in ["", "GiB", "2x", "-1", "1e300GB", "nan"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!("1MB".parse(), Ok(MaxOutput(Some(1_000_000))));
        assert_eq!("none".parse(), Ok(MaxOutput(None)));
        assert!("much".parse::<MaxOutput>().is_err());
    }

    #[test]
    fn sizes_as_people_read_them() {
        let sizes = [0, 1023, 1024, 35_000, 5 << 30].map(human);
        assert_eq!(sizes, ["0 B", "1023 B", "1.0 KiB", "34.2 KiB", "5.0 GiB"]);
    }
}
