//! The two lines that make up nearly all of a stream, recognised as they stand.
//!
//! Pieces of reasoning and of messages come by the hundred thousand, and the CLI always writes them
//! alike. Where a line is, byte for byte, in that one form, its text is cut out without looking up
//! members. Everything else, and every doubt, goes the general way; both ways say the same.

use crate::json::Object;
use crate::line::Line;
use serde::{Deserialize, Serialize};

const THINKING: &[u8] = br#"{"type":"thinking","subtype":"delta","text":"#;
const ASSISTANT: &[u8] =
    br#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"#;

/// What was recognised; the text as it stands, with its quotes.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    Thinking(&'a [u8]),
    Message(&'a [u8]),
}

/// How the pieces of one session end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Quick {
    /// `,"session_id":"…","timestamp_ms":`, as all pieces of this session have it.
    #[serde(with = "crate::saved::bytes")]
    tail: Vec<u8>,
}

impl Quick {
    /// From now on the pieces are of this session; the id as it stands on the line.
    pub(super) fn session(&mut self, raw: &[u8]) {
        self.tail.clear();
        self.tail.extend_from_slice(br#","session_id":""#);
        self.tail.extend_from_slice(raw);
        self.tail.extend_from_slice(br#"","timestamp_ms":"#);
    }

    /// The piece that a line is. The count of members proves that nothing else is on it.
    #[inline]
    pub(super) fn piece<'a>(&self, object: &Object<'a>, line: &Line<'a>) -> Option<Piece<'a>> {
        if self.tail.is_empty() {
            return None;
        }
        match object.len() {
            5 if line.bytes.starts_with(THINKING) => {
                let text = object.nth_value(2)?.raw();
                let end = THINKING.len() + text.len();
                self.ends(line, end).then_some(Piece::Thinking(text))
            }
            4 if line.bytes.starts_with(ASSISTANT) => {
                let message = object.nth_value(1)?.raw();
                // The message ends with the one part, the list and itself: no more can be in it,
                // because the only way to these three after the text is the end of its string.
                let text = line.bytes.get(ASSISTANT.len()..MESSAGE_AT + message.len())?;
                let text = text.strip_suffix(b"}]}")?;
                let end = MESSAGE_AT + message.len();
                (is_one_string(text) && self.ends(line, end)).then_some(Piece::Message(text))
            }
            _ => None,
        }
    }

    #[inline]
    fn ends(&self, line: &Line<'_>, at: usize) -> bool {
        let rest = line.bytes.get(at..).unwrap_or_default();
        rest.starts_with(&self.tail) && rest.get(self.tail.len()).is_some_and(u8::is_ascii_digit)
    }
}

/// Where the message begins on an `assistant` line.
const MESSAGE_AT: usize = br#"{"type":"assistant","message":"#.len();

/// Whether these bytes, which begin with a quote, are one string and nothing behind it.
#[inline]
fn is_one_string(bytes: &[u8]) -> bool {
    let [b'"', inner @ .., b'"'] = bytes else {
        return false;
    };
    let mut rest = inner;
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        if rest.get(at) == Some(&b'"') {
            return false;
        }
        let Some(behind) = rest.get(at + 2..) else {
            return false;
        };
        rest = behind;
    }
    true
}
