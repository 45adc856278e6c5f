//! Texts that come in pieces: deltas of a message, lines of a stream.
//!
//! A secret may be cut anywhere. [`Flow`] holds back the end of a piece while it may be the beginning
//! of one, and never more than [`LONGEST`]; [`Lines`] remembers that a private key has begun.

use super::key::OpenKey;
use super::{FORMS, Redactor, key, render};
use std::borrow::Cow;

/// No token is longer; a longer word is passed on as far as it has come.
const LONGEST: usize = 4096;

/// So much of the line that was passed on already is looked at again, for the name before a value.
const CONTEXT: usize = 256;

/// A quoted value with spaces in it is waited for so long.
const LONGEST_QUOTED: usize = 300;

const PRIVATE_KEY: &str = "private-key";

/// What stands for the beginning of a secret whose end did not come in time.
const CUT: &str = "cut-token";

/// What may follow: enough of every alphabet that forms are written in.
const ENDINGS: [&str; 3] = [
    "4a7b0c9d2e5f8a1b4c7d0e3f6a9b2c5d8e1f4a7b0c9d2e5f8a1b4c7d0e3f6a9b2c5d8e1f",
    "Q2W7E4R3T6Y5U2I7O3P4A5S6D7F2G3H4J5K6L7Z2X3C4V5B6N7M2Q3W4E5R6T7Y2U3I4O5P6",
    "q2W7e4R9t6Y1u8I3o0P5a2S7d4F9g6H1j8K3l0Z5x2C7v4B9n6M1q8W3e0R5t2Y7u4I9o6P1",
];

/// What some forms end with.
const CLOSERS: [&str; 4] = ["", "'", "\"", "@host"];

/// Redacts a text that comes in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// The end of what was passed on, as it came, within the present line.
    context: String,
    held: String,
    key: OpenKey,
    /// The key that is being left out has its marker.
    marked: bool,
}

impl Flow {
    /// Takes a piece; gives what can be shown by now.
    pub fn push(&mut self, redactor: &Redactor, piece: &str) -> String {
        let mut out = String::new();
        self.held.push_str(piece);
        while let Some(at) = self.held.find('\n') {
            if redactor.knows_lines() && self.held.len() <= LONGEST {
                // A known value may have this newline in it.
                let text = [self.context.as_str(), self.held.as_str()].concat();
                let newline = self.context.len() + at;
                if redactor.begun(&text) >= text.len() - newline {
                    break;
                }
                let spans = redactor.spans(&text);
                let mut over = spans.iter().filter(|it| it.start <= newline && newline < it.end);
                if let Some(span) = over.next() {
                    let value: String = self.held.drain(..span.end - self.context.len()).collect();
                    self.say(redactor, &value, &mut out);
                    continue;
                }
            }
            let line: String = self.held.drain(..=at).collect();
            self.end_line(redactor, &line, &mut out);
        }
        let waits = if self.key.is_open() && self.context.is_empty() {
            self.held.len()
        } else {
            self.suspicious_end(redactor)
        };
        if waits > LONGEST && self.key.is_open() && key::is_line(&self.held) {
            // A body without newlines: none of it is shown.
            out.push_str(&self.let_go(redactor, true));
            return out;
        }
        let waits = if waits > LONGEST { 0 } else { waits };
        let ready: String = self.held.drain(..self.held.len() - waits).collect();
        self.say(redactor, &ready, &mut out);
        out
    }

    /// Whether something is held back.
    pub fn holds_some(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns true if what follows is redacted as if it were the beginning of the text: the last
    /// line is complete, and no private key is open. It holds for every redactor alike.
    pub fn is_fresh(&self) -> bool {
        self.context.is_empty() && self.held.is_empty() && !self.key.is_open() && !self.marked
    }

    /// Gives what was held back, although more may follow; what follows is still seen beside it. What
    /// would be a secret with more behind it has a marker.
    pub fn release(&mut self, redactor: &Redactor) -> String {
        self.let_go(redactor, true)
    }

    /// Gives what was held back; nothing follows.
    pub fn finish(&mut self, redactor: &Redactor) -> String {
        let out = self.let_go(redactor, false);
        *self = Flow::default();
        out
    }

    fn let_go(&mut self, redactor: &Redactor, more_may_follow: bool) -> String {
        let mut out = String::new();
        let rest = std::mem::take(&mut self.held);
        if self.key.is_open() && self.context.is_empty() && key::is_line(&rest) {
            if !std::mem::replace(&mut self.marked, true) {
                out.push_str(&redactor.marker(PRIVATE_KEY, rest.trim()));
            }
            return out;
        }
        let begun = if more_may_follow { begun_secret(redactor, &self.context, &rest) } else { 0 };
        let (plain, begun) = rest.split_at(rest.len() - begun);
        self.say(redactor, plain, &mut out);
        if !begun.is_empty() {
            out.push_str(&redactor.marker(CUT, begun));
            self.say(redactor, begun, &mut String::new());
        }
        out
    }

    fn end_line(&mut self, redactor: &Redactor, line: &str, out: &mut String) {
        if self.context.is_empty() && self.key.takes(line) {
            if !std::mem::replace(&mut self.marked, true) {
                out.push_str(&redactor.marker(PRIVATE_KEY, line.trim()));
                out.push('\n');
            }
            return;
        }
        let is_continued = !self.context.is_empty();
        self.say(redactor, line, out);
        if is_continued {
            self.key.passes(&self.context);
        }
        self.marked &= self.key.is_open();
        self.context.clear();
    }

    fn say(&mut self, redactor: &Redactor, ready: &str, out: &mut String) {
        if ready.is_empty() {
            return;
        }
        let known = self.context.len();
        self.context.push_str(ready);
        render(&self.context, &redactor.spans(&self.context), known, out);
        let mut cut = self.context.len().saturating_sub(CONTEXT);
        while !self.context.is_char_boundary(cut) {
            cut += 1;
        }
        self.context.drain(..cut);
    }

    /// How much of what is held may be the beginning of a secret: the last word, if it does not look
    /// like a word or if the line names a secret; a quoted value; the beginning of a known value.
    fn suspicious_end(&self, redactor: &Redactor) -> usize {
        let whole;
        let text = if self.context.is_empty() {
            self.held.as_str()
        } else {
            whole = [self.context.as_str(), self.held.as_str()].concat();
            whole.as_str()
        };
        let is_gap = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
        let word = text.rsplit(is_gap).next().unwrap_or_default();
        let letters = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        let is_plain = letters.chars().skip(1).all(char::is_lowercase);
        let is_named = || FORMS.is_mentioned(text);
        let by_word = if is_plain && (word.is_empty() || !is_named()) { 0 } else { word.len() };
        let by_quote = text
            .rfind(['"', '\''])
            .map(|at| text.len() - at - 1)
            .filter(|length| *length > by_word && *length <= LONGEST_QUOTED && is_quote_open(text));
        let by_quote = by_quote.filter(|_| is_named()).unwrap_or(0);
        by_word.max(by_quote).max(redactor.begun(text)).min(self.held.len())
    }
}

/// Whether the last quote of a text opens something: there is an odd number of its sort.
fn is_quote_open(text: &str) -> bool {
    let last = text.bytes().rev().find(|b| matches!(b, b'"' | b'\''));
    last.is_some_and(|quote| text.bytes().filter(|b| *b == quote).count() % 2 == 1)
}

/// How much of the end of `rest` would be a secret if more of it came.
fn begun_secret(redactor: &Redactor, context: &str, rest: &str) -> usize {
    let mut length = redactor.begun(rest);
    let endings =
        ENDINGS.iter().flat_map(|ending| CLOSERS.iter().map(move |close| (ending, close)));
    for (ending, close) in endings {
        let text = [context, rest, ending, close].concat();
        let end = context.len() + rest.len();
        for span in redactor.spans(&text) {
            if span.start < end && span.end > end {
                length = length.max((end - span.start).min(rest.len()));
            }
        }
    }
    length
}

/// Redacts line after line, each for itself, but for private keys, which have many.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    key: OpenKey,
}

impl Lines {
    /// Takes a line; its newline may be there or not.
    pub fn line<'t>(&mut self, redactor: &Redactor, line: &'t str) -> Cow<'t, str> {
        if self.key.takes(line) {
            let end = line.get(line.trim_end().len()..).unwrap_or_default();
            return Cow::Owned(redactor.marker(PRIVATE_KEY, line.trim()) + end);
        }
        redactor.redact(line)
    }

    /// Takes a line; returns true if it is one of a private key's body.
    pub fn hides(&mut self, line: &str) -> bool {
        self.key.takes(line)
    }

    /// Returns true if no private key is open.
    pub fn is_fresh(&self) -> bool {
        !self.key.is_open()
    }

    /// The same for bytes, of which some may be no text.
    pub fn bytes<'t>(&mut self, redactor: &Redactor, line: &'t [u8]) -> Cow<'t, [u8]> {
        match std::str::from_utf8(line) {
            Ok(text) => match self.line(redactor, text) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            Err(_) => redactor.redact_bytes(line),
        }
    }
}
