//! Texts that come in pieces: deltas of a message, lines of a stream.
//!
//! A secret may be cut anywhere. [`Flow`] holds back the end of a piece while it may be the beginning
//! of one, and never more than [`LONGEST`]; [`Lines`] remembers that a private key has begun.

use super::{Redactor, key, render};
use std::borrow::Cow;

/// No token is longer; a longer word is passed on as far as it has come.
const LONGEST: usize = 4096;

/// So much of the line that was passed on already is looked at again, for the name before a value.
const CONTEXT: usize = 256;

/// Shorter beginnings of words are passed on at once: they give nothing away.
const HARMLESS: usize = 8;

const PRIVATE_KEY: &str = "private-key";

/// Redacts a text that comes in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// The end of what was passed on, as it came, within the present line.
    context: String,
    held: String,
    in_key: bool,
    /// The key that is being left out has its marker.
    marked: bool,
}

impl Flow {
    /// Takes a piece; gives what can be shown by now.
    pub fn push(&mut self, redactor: &Redactor, piece: &str) -> String {
        let mut out = String::new();
        self.held.push_str(piece);
        while let Some(at) = self.held.find('\n') {
            let line: String = self.held.drain(..=at).collect();
            self.end_line(redactor, &line, &mut out);
        }
        let waits = if self.in_key && (self.held.is_empty() || key::is_line(&self.held)) {
            self.held.len()
        } else {
            suspicious_end(redactor, &self.held)
        };
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
        self.context.is_empty() && self.held.is_empty() && !self.in_key && !self.marked
    }

    /// Gives what was held back, although more may follow; what follows is still seen beside it.
    pub fn release(&mut self, redactor: &Redactor) -> String {
        let mut out = String::new();
        let rest = std::mem::take(&mut self.held);
        if self.in_key && self.context.is_empty() && key::is_line(&rest) {
            if !std::mem::replace(&mut self.marked, true) {
                out.push_str(&redactor.marker(PRIVATE_KEY, rest.trim()));
            }
        } else {
            self.say(redactor, &rest, &mut out);
        }
        out
    }

    /// Gives what was held back; nothing follows.
    pub fn finish(&mut self, redactor: &Redactor) -> String {
        let out = self.release(redactor);
        *self = Flow::default();
        out
    }

    fn end_line(&mut self, redactor: &Redactor, line: &str, out: &mut String) {
        if self.in_key && self.context.is_empty() && key::is_line(line) {
            if !std::mem::replace(&mut self.marked, true) {
                out.push_str(&redactor.marker(PRIVATE_KEY, line.trim()));
                out.push('\n');
            }
            return;
        }
        self.say(redactor, line, out);
        self.in_key = key::is_opened_by(&self.context);
        self.marked = false;
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
}

/// How much of the end may be the beginning of a secret: the last word, if it does not look like a word.
fn suspicious_end(redactor: &Redactor, text: &str) -> usize {
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
    let from = text.rfind(is_gap).map_or(0, |at| {
        at + text.get(at..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8)
    });
    let word = text.get(from..).unwrap_or_default();
    let letters = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
    let is_plain = letters.chars().skip(1).all(char::is_lowercase);
    let may_be_known = || redactor.exact.as_ref().is_some_and(|exact| exact.may_begin_in(word));
    if (word.len() >= HARMLESS && !is_plain) || may_be_known() { word.len() } else { 0 }
}

/// Redacts line after line, each for itself, but for private keys, which have many.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    in_key: bool,
}

impl Lines {
    /// Takes a line; its newline may be there or not.
    pub fn line<'t>(&mut self, redactor: &Redactor, line: &'t str) -> Cow<'t, str> {
        if self.in_key && key::is_line(line) {
            let end = line.get(line.trim_end().len()..).unwrap_or_default();
            return Cow::Owned(redactor.marker(PRIVATE_KEY, line.trim()) + end);
        }
        self.in_key = key::is_opened_by(line);
        redactor.redact(line)
    }

    /// Returns true if no private key is open.
    pub fn is_fresh(&self) -> bool {
        !self.in_key
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
