//! Reading records back, from any version, whole or torn.

use super::{DecisionKind, DecisionRecord};
use crate::event::EventKind;
use crate::json::{self, Object, Scan, Value};
use crate::time::UnixMillis;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;
use std::cell::OnceCell;

/// A record is one level deeper than the line in it, and events are deeper still.
const RECORD_DEPTH: u32 = 120;

/// Which of the agent's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

impl Stream {
    pub(super) fn message(self, whole: bool) -> &'static str {
        match (self, whole) {
            (Stream::Stdout, true) => "raw_event",
            (Stream::Stdout, false) => "raw_part",
            (Stream::Stderr, true) => "stderr",
            (Stream::Stderr, false) => "stderr_part",
        }
    }

    pub(super) fn field(self) -> &'static str {
        match self {
            Stream::Stdout => "raw",
            Stream::Stderr => "line",
        }
    }
}

/// One line of a log.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it lives on the stack, one at a time")]
pub enum Record<'a> {
    /// What the agent wrote.
    Raw {
        /// To which stream.
        stream: Stream,
        /// When it came.
        at: UnixMillis,
        /// The bytes, exactly, without the newline.
        bytes: Cow<'a, [u8]>,
        /// Whether this is a part of a longer line.
        part: bool,
        /// Whether the line ends here.
        last: bool,
        /// Whether a newline follows the bytes.
        newline: bool,
    },
    /// What we did.
    Decision(LoggedDecision<'a>),
    /// JSON, but no record of ours.
    Foreign(&'a [u8]),
    /// Not JSON: a torn write, or somebody else's text.
    Broken(&'a [u8]),
}

/// A decision in a log. Its fields are read when they are first asked for, and once.
#[derive(Debug)]
pub struct LoggedDecision<'a> {
    at: UnixMillis,
    name: Cow<'a, str>,
    kind: Option<DecisionKind>,
    fields: Object<'a>,
    record: OnceCell<DecisionRecord>,
}

impl<'a> LoggedDecision<'a> {
    /// When it was made.
    pub fn at(&self) -> UnixMillis {
        self.at
    }

    /// The name of it, also of one that this version does not know.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which decision it is; `None` where a newer version wrote one that is not known here.
    pub fn kind(&self) -> Option<DecisionKind> {
        self.kind
    }

    /// All members of its record.
    pub fn fields(&self) -> &Object<'a> {
        &self.fields
    }

    /// What was decided, where it is known here.
    pub fn record(&self) -> Option<&DecisionRecord> {
        let kind = self.kind?;
        Some(self.record.get_or_init(|| DecisionRecord::read(kind, &self.fields)))
    }

    /// What people are told of it; empty where it has no words.
    pub fn text(&self) -> String {
        self.fields.get("text").and_then(Value::string).unwrap_or_default()
    }

    /// The event that faces are told with it, where it has one that we know.
    pub fn event(&self) -> Option<EventKind> {
        serde_json::from_slice(self.fields.get("event")?.raw()).ok()
    }
}

impl<'a> Record<'a> {
    /// Reads one line of a log; it never fails.
    ///
    /// What a crash or an editor puts around a record is no part of it: the zeros of a block that
    /// was never written, a carriage return, the mark of an encoding. A record *within* a broken
    /// line is not looked for, since an agent could have written it there.
    pub fn read(line: &'a [u8]) -> Record<'a> {
        let line = bare(line);
        let fields = match json::scan_within(line, RECORD_DEPTH) {
            Scan::Object(fields) => fields,
            Scan::Scalar => return Record::Foreign(line),
            Scan::Text | Scan::Binary => return Record::Broken(line),
        };
        let Some(message) = fields.get("msg").and_then(Value::str) else {
            return Record::Foreign(line);
        };
        let raw = |stream: Stream, part: bool| raw_record(&fields, stream, part);
        let found = match message.as_ref() {
            "raw_event" => raw(Stream::Stdout, false),
            "raw_part" => raw(Stream::Stdout, true),
            "stderr" => raw(Stream::Stderr, false),
            "stderr_part" => raw(Stream::Stderr, true),
            _ => {
                let at = UnixMillis(fields.get("ts").and_then(Value::i64).unwrap_or(0));
                return Record::Decision(LoggedDecision {
                    at,
                    kind: DecisionKind::by_name(&message),
                    name: message,
                    fields,
                    record: OnceCell::new(),
                });
            }
        };
        found.unwrap_or(Record::Foreign(line))
    }

    /// When it was received or decided; `None` where the line is no record.
    pub fn at(&self) -> Option<UnixMillis> {
        match self {
            Record::Raw { at, .. } => Some(*at),
            Record::Decision(decision) => Some(decision.at),
            Record::Foreign(_) | Record::Broken(_) => None,
        }
    }

    /// The decision that it holds, where it is one that this version knows.
    pub fn decision(&self) -> Option<&DecisionRecord> {
        match self {
            Record::Decision(decision) => decision.record(),
            _ => None,
        }
    }
}

/// A line without what does not belong to it. Every record ends with its brace.
fn bare(line: &[u8]) -> &[u8] {
    if let [b'{', .., b'}'] = line {
        return line;
    }
    let foreign = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let from = line.iter().position(|byte| !foreign(byte)).unwrap_or(line.len());
    let to = line.iter().rposition(|byte| !foreign(byte)).map_or(from, |last| last + 1);
    let line = line.get(from..to).unwrap_or_default();
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

/// The line in a record that was written verbatim, and whether a newline follows it, without a look
/// at the line itself: that was validated when it was written. Only for a log of our own; `None`
/// means that [`Record::read`] has to look.
pub fn verbatim(record: &[u8]) -> Option<(&[u8], bool)> {
    let rest = record.strip_prefix(br#"{"time":""#)?;
    let rest = rest.get(memchr::memchr(b'"', rest.get(..64).unwrap_or(rest))?..)?;
    let rest = rest.strip_prefix(br#"","level":"DEBUG","msg":"raw_event","recv_ts":"#)?;
    let rest = rest.get(memchr::memchr(b',', rest.get(..32).unwrap_or(rest))?..)?;
    let (rest, newline) = match rest.strip_prefix(br#","eol":false"#) {
        Some(rest) => (rest, false),
        None => (rest, true),
    };
    let line = rest.strip_prefix(br#","raw":"#)?.strip_suffix(b"}")?;
    Some((line, newline))
}

fn raw_record<'a>(fields: &Object<'a>, stream: Stream, part: bool) -> Option<Record<'a>> {
    let flag = |name: &str| fields.get(name).and_then(Value::bool);
    let (text, b64) = match stream {
        Stream::Stdout => ("raw_text", "raw_b64"),
        Stream::Stderr => ("line", "line_b64"),
    };
    // A log that went through another tool may have its members in another order; then the value is
    // all that there is.
    let exact = || fields.exact_tail("raw").or_else(|| Some(fields.get("raw")?.raw()));
    let verbatim = if stream == Stream::Stdout { exact() } else { None };
    let bytes: Cow<'a, [u8]> = if let Some(bytes) = verbatim {
        Cow::Borrowed(bytes)
    } else if let Some(text) = fields.get(text).and_then(Value::str) {
        match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }
    } else {
        let encoded = fields.get(b64)?.raw_str()?;
        Cow::Owned(STANDARD.decode(encoded).ok()?)
    };
    let at = UnixMillis(fields.get("recv_ts").and_then(Value::i64).unwrap_or(0));
    let last = !part || flag("last").unwrap_or(false);
    let newline = last && flag("eol").unwrap_or(true);
    Some(Record::Raw { stream, at, bytes, part, last, newline })
}

/// Puts the agent's lines together again from a log that is fed line by line.
///
/// It is what a face reads by: whole lines as the agent wrote them, and decisions in between. Lines
/// in parts are joined up to a limit; a longer one is given as its beginning, marked oversized.
#[derive(Debug, Default)]
pub struct Reader {
    parts: Vec<u8>,
    overflow: bool,
}

impl Reader {
    /// Gives up a line whose end never came: the log is damaged there, and what follows is another.
    pub fn forget(&mut self) {
        self.parts.clear();
        self.overflow = false;
    }

    /// Returns true if no line is left unfinished.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && !self.overflow
    }

    /// Takes a part; gives the line when it is complete, with whether it had to be cut at `limit`.
    pub fn join(&mut self, bytes: &[u8], last: bool, limit: usize) -> Option<(Vec<u8>, bool)> {
        let room = limit.saturating_sub(self.parts.len());
        self.parts.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.overflow |= bytes.len() > room;
        if !last {
            return None;
        }
        let overflow = std::mem::take(&mut self.overflow);
        Some((std::mem::take(&mut self.parts), overflow))
    }
}
