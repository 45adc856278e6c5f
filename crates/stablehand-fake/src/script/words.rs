//! The words of a line: names, numbers, durations, signals and escaped texts.

use nix::sys::signal::Signal;
use std::str::FromStr;
use std::time::Duration;

/// A line cut into words from the left.
#[derive(Debug)]
pub(super) struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Words(line)
    }

    pub(super) fn next(&mut self) -> Result<&'a str, &'static str> {
        self.optional().ok_or("something is missing")
    }

    pub(super) fn optional(&mut self) -> Option<&'a str> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    pub(super) fn rest(&self) -> &'a str {
        self.0
    }
}

/// A text with its escapes undone.
pub(super) fn text(escaped: &str) -> Result<String, &'static str> {
    String::from_utf8(unescape(escaped)?).map_err(|_| "not UTF-8; use `raw`")
}

pub(super) fn unescape(escaped: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'0') => 0,
            Some(b'\\') => b'\\',
            Some(b'x') => {
                let digits = [rest.next().unwrap_or(b'?'), rest.next().unwrap_or(b'?')];
                let digits = std::str::from_utf8(&digits).map_err(|_| "bad `\\x`")?;
                u8::from_str_radix(digits, 16).map_err(|_| "bad `\\x`")?
            }
            _ => return Err("unknown escape"),
        });
    }
    Ok(bytes)
}

pub(super) fn signal(name: &str) -> Result<Signal, &'static str> {
    Signal::from_str(&format!("SIG{name}")).map_err(|_| "unknown signal")
}

pub(super) fn number<T: FromStr>(word: &str) -> Result<T, &'static str> {
    word.parse().map_err(|_| "not a number")
}

pub(super) fn duration(word: &str) -> Result<Duration, &'static str> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let count: u64 = number(digits)?;
    match word.strip_prefix(digits) {
        Some("ms") => Ok(Duration::from_millis(count)),
        Some("s") => Ok(Duration::from_secs(count)),
        Some("m") => Ok(Duration::from_secs(count.saturating_mul(60))),
        _ => Err("a duration without `ms`, `s` or `m`"),
    }
}

/// A duration, or `none`.
pub(super) fn timeout(word: &str) -> Result<Option<Duration>, &'static str> {
    if word == "none" { Ok(None) } else { duration(word).map(Some) }
}
