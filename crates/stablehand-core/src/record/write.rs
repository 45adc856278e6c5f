//! Writing records into a buffer. The pass-through path runs through [`push_line`].

use super::{ClientLine, DecisionRecord, Level, Stream, TEXT_PART};
use crate::event::EventKind;
use crate::json::Scan;
use crate::line::{Line, Part};
use crate::time::UnixMillis;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// A time, and what every record of that millisecond begins with. Formatting it once a chunk
/// instead of once a line is a third of the cost of a record.
#[derive(Debug)]
pub struct Stamp {
    at: UnixMillis,
    head: Vec<u8>,
    raw_head: Vec<u8>,
}

impl Stamp {
    /// The stamp of a moment.
    pub fn new(at: UnixMillis) -> Self {
        let head = format!(r#"{{"time":"{}","level":""#, at.rfc3339()).into_bytes();
        let tail = format!(r#"DEBUG","msg":"raw_event","recv_ts":{},"raw":"#, at.0);
        let raw_head = [head.as_slice(), tail.as_bytes()].concat();
        Stamp { at, head, raw_head }
    }

    /// Moves the stamp on, where time has.
    pub fn set(&mut self, at: UnixMillis) {
        if at != self.at {
            *self = Stamp::new(at);
        }
    }

    /// The length of what every record begins with, up to the value of its level.
    pub fn head_len(&self) -> usize {
        // The opening quote belongs to the value.
        self.head.len().saturating_sub(1)
    }

    /// The moment.
    pub fn at(&self) -> UnixMillis {
        self.at
    }
}

/// Appends what the agent wrote: a whole line, or a part of one.
#[inline]
pub fn push_line(
    out: &mut Vec<u8>,
    stamp: &Stamp,
    stream: Stream,
    line: &Line<'_>,
    scan: &Scan<'_>,
) {
    if is_verbatim(stream, line, scan) {
        out.reserve(stamp.raw_head.len() + line.bytes.len() + 32);
        push_verbatim_head(out, stamp, line);
        out.extend_from_slice(line.bytes);
        out.extend_from_slice(VERBATIM_TAIL);
        return;
    }
    push_text(out, stamp, stream, line);
}

/// What ends the record of a verbatim line.
pub const VERBATIM_TAIL: &[u8] = b"}\n";

/// Whether a line can stand in the log as it is.
#[inline]
pub fn is_verbatim(stream: Stream, line: &Line<'_>, scan: &Scan<'_>) -> bool {
    stream == Stream::Stdout
        && line.part == Part::Whole
        && matches!(scan, Scan::Object(_) | Scan::Scalar)
}

/// What comes before a verbatim line; [`VERBATIM_TAIL`] comes behind it.
#[inline]
pub fn push_verbatim_head(out: &mut Vec<u8>, stamp: &Stamp, line: &Line<'_>) {
    if line.newline {
        out.extend_from_slice(&stamp.raw_head);
    } else {
        let head = stamp.raw_head.strip_suffix(br#""raw":"#).unwrap_or(&stamp.raw_head);
        out.extend_from_slice(head);
        out.extend_from_slice(br#""eol":false,"raw":"#);
    }
}

/// A line that cannot stand in the log as it is. Long ones are cut into parts, each a record.
fn push_text(out: &mut Vec<u8>, stamp: &Stamp, stream: Stream, line: &Line<'_>) {
    let whole = line.part == Part::Whole && line.bytes.len() <= TEXT_PART;
    let ends_line = matches!(line.part, Part::Whole | Part::Last);
    let mut rest = line.bytes;
    loop {
        let (piece, after) = rest.split_at(boundary(rest));
        rest = after;
        let last = ends_line && rest.is_empty();
        push_piece(out, stamp, stream, piece, whole, last, line.newline);
        if rest.is_empty() {
            return;
        }
    }
}

/// Where to cut the next piece: not inside a character.
fn boundary(rest: &[u8]) -> usize {
    if rest.len() <= TEXT_PART {
        return rest.len();
    }
    let back = (0..4).find(|back| rest.get(TEXT_PART - back).is_some_and(|b| b & 0xc0 != 0x80));
    TEXT_PART - back.unwrap_or(0)
}

fn push_piece(
    out: &mut Vec<u8>,
    stamp: &Stamp,
    stream: Stream,
    piece: &[u8],
    whole: bool,
    last: bool,
    newline: bool,
) {
    out.extend_from_slice(&stamp.head);
    out.extend_from_slice(br#"DEBUG","msg":""#);
    out.extend_from_slice(stream.message(whole).as_bytes());
    out.extend_from_slice(br#"","recv_ts":"#);
    out.extend_from_slice(stamp.at.0.to_string().as_bytes());
    if !whole && last {
        out.extend_from_slice(br#","last":true"#);
    }
    if last && !newline {
        out.extend_from_slice(br#","eol":false"#);
    }
    out.extend_from_slice(b",\"");
    out.extend_from_slice(stream.field().as_bytes());
    if let Ok(text) = std::str::from_utf8(piece) {
        if stream == Stream::Stdout {
            out.extend_from_slice(b"_text");
        }
        out.extend_from_slice(b"\":");
        push_json(out, text);
    } else {
        out.extend_from_slice(b"_b64\":\"");
        out.extend_from_slice(STANDARD.encode(piece).as_bytes());
        out.push(b'"');
    }
    out.extend_from_slice(b"}\n");
}

/// Appends a decision, with what faces are told of it.
pub fn push_decision(
    out: &mut Vec<u8>,
    stamp: &Stamp,
    record: &DecisionRecord,
    event: Option<&EventKind>,
) {
    push_record(out, stamp, record.level(), record, event);
}

/// Appends a line of a client, or a part of one: [`DecisionRecord::ClientSaid`] without a copy.
pub fn push_client_line(out: &mut Vec<u8>, stamp: &Stamp, line: &ClientLine<'_>) {
    #[derive(Serialize)]
    #[serde(tag = "msg", rename_all = "snake_case")]
    enum Borrowed<'a> {
        ClientSaid(&'a ClientLine<'a>),
    }
    push_record(out, stamp, Level::Debug, &Borrowed::ClientSaid(line), None);
}

fn push_record<T: Serialize>(
    out: &mut Vec<u8>,
    stamp: &Stamp,
    level: Level,
    record: &T,
    event: Option<&EventKind>,
) {
    out.extend_from_slice(&stamp.head);
    out.extend_from_slice(level.name().as_bytes());
    out.push(b'"');
    let from = out.len();
    push_json(out, record);
    // `{"msg":"…"}` goes on with the object that has begun.
    match out.get_mut(from) {
        Some(open) if *open == b'{' => {
            *open = b',';
            out.pop();
        }
        _ => out.truncate(from),
    }
    out.extend_from_slice(br#","ts":"#);
    out.extend_from_slice(stamp.at.0.to_string().as_bytes());
    if let Some(event) = event {
        out.extend_from_slice(br#","event":"#);
        push_json(out, event);
    }
    out.extend_from_slice(b"}\n");
}

/// The line of a decision without its newline, for those who make logs by hand.
pub fn decision_line(at: UnixMillis, record: impl Into<DecisionRecord>) -> String {
    let mut line = Vec::new();
    push_decision(&mut line, &Stamp::new(at), &record.into(), None);
    String::from_utf8_lossy(line.trim_ascii_end()).into_owned()
}

/// Serialises into the buffer; what cannot be serialised is `null`, so the record stays JSON.
fn push_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let from = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(from);
        out.extend_from_slice(b"null");
    }
}
