//! Known values, in every form in which they are looked for.

use super::check::SHORTEST_VALUE;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::fmt::Write as _;

/// A shorter piece of base64 may be found by chance.
const SHORTEST_PIECE: usize = 8;

/// Texts that come in pieces end with so many characters of some value all the time.
const SHORTEST_BEGINNING: usize = 2;

/// A shorter beginning gives nothing away.
const SHORTEST_CUT: usize = 4;

pub(super) struct Exact {
    automaton: AhoCorasick,
    /// Which value each pattern is a form of.
    owners: Vec<usize>,
    patterns: Vec<String>,
    values: Vec<String>,
}

impl Exact {
    /// Nothing where no value is worth looking for.
    pub(super) fn new(values: Vec<String>) -> Option<Exact> {
        let mut kept: Vec<String> = Vec::new();
        for value in values {
            let value = value.trim();
            if value.len() >= SHORTEST_VALUE && !kept.iter().any(|known| known == value) {
                kept.push(value.to_owned());
            }
        }
        let mut patterns: Vec<String> = Vec::new();
        let mut owners = Vec::new();
        for (index, value) in kept.iter().enumerate() {
            for form in forms(value) {
                if !patterns.contains(&form) {
                    patterns.push(form);
                    owners.push(index);
                }
            }
        }
        if patterns.is_empty() {
            return None;
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&patterns)
            .ok()?;
        Some(Exact { automaton, owners, patterns, values: kept })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether a value has more than one line.
    pub(super) fn has_lines(&self) -> bool {
        self.values.iter().any(|value| value.contains('\n'))
    }

    /// Whether a value is in the text, in any of its forms.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.automaton.is_match(text)
    }

    /// Returns how much of the end of this text may be the beginning of a value, in any of its forms.
    pub(super) fn begun_at_end(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let begun = |pattern: &String| {
            let pattern = pattern.as_bytes();
            let first = *pattern.first()?;
            let from = bytes.len().saturating_sub(pattern.len() - 1);
            let tail = bytes.get(from..)?;
            let mut starts = memchr::memchr_iter(first, tail);
            let at =
                starts.find(|at| tail.get(*at..).is_some_and(|end| pattern.starts_with(end)))?;
            Some(tail.len() - at).filter(|length| *length >= SHORTEST_BEGINNING)
        };
        self.patterns.iter().filter_map(begun).max().unwrap_or(0)
    }

    /// Calls `found` with start, end and value of everything that is known.
    pub(super) fn find(&self, text: &str, found: &mut dyn FnMut(usize, usize, &str)) {
        for hit in self.automaton.find_iter(text) {
            let owner = self.owners.get(hit.pattern().as_usize());
            let value = owner.and_then(|owner| self.values.get(*owner));
            found(hit.start(), hit.end(), value.map_or("", String::as_str));
        }
        // What was cut short for showing has lost its end.
        for (cut, _) in text.match_indices('…') {
            let Some(before) = text.get(..cut) else { continue };
            let beginning = |value: &str| {
                let mut ends = value.char_indices().map(|(at, _)| at).rev();
                ends.find(|end| {
                    *end >= SHORTEST_CUT
                        && value.get(..*end).is_some_and(|part| before.ends_with(part))
                })
            };
            for value in &self.values {
                if let Some(length) = beginning(value) {
                    found(cut - length, cut, value);
                }
            }
        }
    }
}

/// All forms of a value.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned(), escaped(value), url(value, false), url(value, true)];
    for ahead in 0..3 {
        forms.extend(in_base64(value, ahead));
    }
    forms
}

/// As it stands in a JSON string, without the quotes.
fn escaped(value: &str) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    json.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
}

fn url(value: &str, lower: bool) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        let _infallible = match (is_plain, lower) {
            (true, _) => write!(out, "{}", char::from(byte)),
            (false, false) => write!(out, "%{byte:02X}"),
            (false, true) => write!(out, "%{byte:02x}"),
        };
    }
    out
}

/// What of the value is the same in the base64 of any text that holds it behind a multiple of three
/// bytes and `ahead` more. The characters at both ends also depend on the neighbours.
fn in_base64(value: &str, ahead: usize) -> Vec<String> {
    let mut bytes = vec![0; ahead];
    bytes.extend_from_slice(value.as_bytes());
    let first = [0, 2, 3].get(ahead).copied().unwrap_or(0);
    let last = bytes.len() * 8 / 6;
    let cut = |text: String| text.get(first..last).map(str::to_owned);
    let both = [cut(STANDARD_NO_PAD.encode(&bytes)), cut(URL_SAFE_NO_PAD.encode(&bytes))];
    both.into_iter().flatten().filter(|piece| piece.len() >= SHORTEST_PIECE).collect()
}
