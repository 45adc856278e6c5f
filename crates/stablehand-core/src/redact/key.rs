//! The bodies of private keys: many lines of base64 between two lines that say what it is.
//!
//! The head is left where it is, so that one can see what was there.

use std::ops::Range;

/// So many characters of base64 in a row are a line of a key.
const KEY_LINE: usize = 24;

/// The body that begins behind a head which ends at `from`.
pub(super) fn body(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = skip_space(bytes, from);
    let (mut at, mut end) = (start, start);
    loop {
        let run = bytes.get(at..).unwrap_or_default().iter().take_while(|b| is_base64(**b)).count();
        let next = skip_space(bytes, at + run);
        let rest = bytes.get(next..).unwrap_or_default();
        let closes = rest.is_empty() || rest.starts_with(b"-----");
        if run >= KEY_LINE || (run > 0 && end > start && closes) {
            end = at + run;
        } else if let Some(length) = header(bytes, at) {
            // `Proc-Type: 4,ENCRYPTED` and its like stand before the base64.
            at = skip_space(bytes, at + length);
            continue;
        } else {
            break;
        }
        at = next;
    }
    // What is left may be behind headers only; there is nothing secret in those.
    (end > start).then_some(start..end)
}

/// Whether a line is one of a key's body, once its head has been seen. Something may stand before the
/// base64: a time, a number of the line, a sign of quotation.
pub(super) fn is_line(line: &str) -> bool {
    let line = line.trim();
    let is_long = |run: &[u8]| run.len() >= KEY_LINE;
    !line.is_empty() && line.bytes().all(is_base64)
        || header(line.as_bytes(), 0) == Some(line.len())
        || line.as_bytes().split(|b| !is_base64(*b)).any(is_long)
}

/// So many lines that are none of the body may stand between two that are: a log has other writers.
const MOST_OTHERS: u8 = 8;

/// Whether the lines that come are those of a private key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenKey(Option<u8>);

impl OpenKey {
    pub(super) fn is_open(self) -> bool {
        self.0.is_some()
    }

    /// Takes a line; true if it is one of the body.
    pub(super) fn takes(&mut self, line: &str) -> bool {
        if self.is_open() && is_line(line) && !line.contains("-----") {
            self.0 = Some(0);
            return true;
        }
        self.passes(line);
        false
    }

    /// Takes a line that is none of the body.
    pub(super) fn passes(&mut self, line: &str) {
        self.0 = match self.0 {
            _ if is_opened_by(line) => Some(0),
            Some(others) if others < MOST_OTHERS && !line.contains("-----END ") => Some(others + 1),
            _ => None,
        };
    }
}

/// Whether the text ends with a head, so that the body is to come.
pub(super) fn is_opened_by(text: &str) -> bool {
    let line = text.trim_end().trim_end_matches(['"', '\'']);
    let Some(rest) = line.strip_suffix("-----") else { return false };
    let head = rest.rsplit("-----").next().unwrap_or_default();
    head.starts_with("BEGIN ")
        && (head.ends_with("PRIVATE KEY") || head.ends_with("PRIVATE KEY BLOCK"))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The length of a line such as `DEK-Info: AES-128-CBC,00`.
fn header(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let line = rest.iter().position(|b| matches!(b, b'\n' | b'\r' | b'\\')).unwrap_or(rest.len());
    let colon = rest.get(..line)?.iter().position(|b| *b == b':')?;
    let name = rest.get(..colon)?;
    let is_name =
        (2..=24).contains(&colon) && name.iter().all(|b| b.is_ascii_alphabetic() || *b == b'-');
    (is_name && rest.get(colon + 1) == Some(&b' ') && line < 200).then_some(line)
}

/// Past white space, also where it is written as an escape.
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at..).unwrap_or_default() {
            [b, ..] if b.is_ascii_whitespace() => at += 1,
            [b'\\', b'n' | b'r' | b't', ..] => at += 2,
            [b'\\', b'\\', ..] => at += 1,
            _ => return at,
        }
    }
}
