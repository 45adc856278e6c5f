//! What dialects have in common: ids, texts, the words of a line, what tools are given; for the
//! plainer ones also one session, one turn at a time.
//!
//! Owned here: ids, when a turn begins and ends, what a line is that is not JSON. Nothing in here
//! knows an agent; a dialect reads its own lines and says what they mean in these words.

mod calls;
pub(super) mod diff;
pub(super) mod hook;
mod input;
mod name;
mod text;

pub(super) use calls::{Calls, tool};
pub(super) use input::{
    Given, Reads, Row, call, cut, digest_of, first, given, input_of, mix, row, row_of,
    says_nothing, todo_status, usual_row,
};
pub(super) use name::LineType;
pub(super) use text::{Ids, OpenText, body, skimmed, skimmed_value};

use super::failure::failure_of;
use super::{Decode, Depth};
use crate::event::{
    EventKind, FailureKind, Item, ItemBody, NoticeLevel, Outcome, TextRole, Tool, ToolInput,
    TurnEnd, Unrecognized, Usage,
};
use crate::id::{ItemId, SessionId};
use crate::json::{self, Object, Scan, Value};
use crate::line::{Line, Part};
use crate::text::{excerpt, plain};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// How many characters of a line that was not understood are shown.
const EXCERPT: usize = 200;

/// How much of a line of plain text is looked at and shown.
const NOISE: usize = 4096;

/// The state of one stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Stream {
    pub(super) ids: Ids,
    pub(super) message: OpenText,
    pub(super) reasoning: OpenText,
    pub(super) calls: Calls,
    /// The session id as it stands on the line, to compare without unescaping.
    #[serde(with = "crate::saved::bytes")]
    session: Vec<u8>,
    pub(super) in_turn: bool,
    #[serde(skip)]
    pub(super) last_type: LineType,
}

/// A dialect of objects that are told in the words of a [`Stream`]: what a line is that is no object,
/// or too long for one, is the same for all of these.
pub(super) trait Objects {
    /// The state of the stream.
    fn stream(&mut self) -> &mut Stream;

    /// The agent's name of the last line's type.
    fn last_type(&self) -> &str;

    /// See [`Decode::overhear`].
    fn overhear(&mut self, _object: &Object<'_>) {}

    /// A line that is an object, or the beginning of one.
    fn object(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    );
}

impl<D: Objects + Serialize + Send> Decode for D {
    #[inline]
    fn line(&mut self, line: &Line<'_>, scan: &Scan<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        match (line.part, scan) {
            (Part::Whole, Scan::Object(object)) => self.object(object, line, depth, out),
            (Part::Whole, Scan::Scalar) => self.stream().scalar(line, out),
            (Part::Whole, Scan::Text | Scan::Binary) => self.stream().plain_text(line, out),
            (Part::First, _) => match json::scan_prefix(line.bytes) {
                Some(object) => self.object(&object, line, depth, out),
                None => self.stream().oversized(line, out),
            },
            (Part::Middle | Part::Last, _) => {}
        }
    }

    fn finish(&mut self, _depth: Depth, out: &mut Vec<EventKind>) {
        self.stream().close_texts(out);
    }

    fn last_type(&self) -> &str {
        Objects::last_type(self)
    }

    fn overhear(&mut self, object: &Object<'_>) {
        Objects::overhear(self, object);
    }

    fn save(&self) -> Option<Box<RawValue>> {
        to_raw_value(self).ok()
    }
}

/// What a line says about its session, beside the id.
#[derive(Debug, Default)]
pub(super) struct About<'a> {
    pub(super) version: Option<Value<'a>>,
    pub(super) model: Option<Value<'a>>,
    pub(super) cwd: Option<Value<'a>>,
}

impl Stream {
    /// Emits `session.started` where the id is new.
    #[inline]
    pub(super) fn name_session(
        &mut self,
        agent: &str,
        id: Value<'_>,
        about: &About<'_>,
        out: &mut Vec<EventKind>,
    ) {
        let Some(raw) = id.raw_str() else {
            return;
        };
        if raw == self.session || raw.is_empty() {
            return;
        }
        self.session.clear();
        self.session.extend_from_slice(raw);
        let said = |value: Option<Value<'_>>| {
            value.and_then(Value::string).filter(|text| !text.is_empty())
        };
        out.push(EventKind::SessionStarted {
            agent: agent.to_owned(),
            agent_version: said(about.version),
            native_id: SessionId(id.string().unwrap_or_default()),
            model: said(about.model),
            cwd: said(about.cwd),
            resumed_from: None,
        });
    }

    /// The same for a dialect whose session is named otherwise than on the line.
    pub(super) fn name_session_as(
        &mut self,
        agent: &str,
        id: String,
        version: Option<String>,
        model: Option<String>,
        out: &mut Vec<EventKind>,
    ) {
        if id.as_bytes() == self.session || id.is_empty() {
            return;
        }
        self.session = id.clone().into_bytes();
        out.push(EventKind::SessionStarted {
            agent: agent.to_owned(),
            agent_version: version,
            native_id: SessionId(id),
            model,
            cwd: None,
            resumed_from: None,
        });
    }

    /// A prompt was taken up.
    pub(super) fn prompt(
        &mut self,
        text: Option<Value<'_>>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        self.close_texts(out);
        self.in_turn = true;
        let prompt = match depth {
            Depth::Skim => None,
            Depth::Full => text.and_then(Value::cut_str),
        };
        out.push(EventKind::TurnStarted { prompt, by: None });
    }

    /// The model does something: a turn is on, even where no prompt was echoed.
    #[inline]
    pub(super) fn model_acts(&mut self, out: &mut Vec<EventKind>) {
        if !self.in_turn {
            self.in_turn = true;
            out.push(EventKind::TurnStarted { prompt: None, by: None });
        }
    }

    /// A piece of text for the user, or of thinking.
    #[inline]
    pub(super) fn piece(
        &mut self,
        role: TextRole,
        text: Value<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        if text.raw() == b"\"\"" || text.raw().first() != Some(&b'"') {
            return;
        }
        self.model_acts(out);
        if role == TextRole::Reasoning {
            self.message.close(TextRole::Message, out);
            self.reasoning.grow(text, role, depth, &mut self.ids, out);
        } else {
            self.reasoning.close(TextRole::Reasoning, out);
            self.message.grow(text, role, depth, &mut self.ids, out);
        }
    }

    /// Like [`piece`](Self::piece), of text that is already unescaped.
    pub(super) fn piece_by(
        &mut self,
        role: TextRole,
        text: String,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        self.model_acts(out);
        if role == TextRole::Reasoning {
            self.message.close(TextRole::Message, out);
            self.reasoning.grow_by(text, role, depth, &mut self.ids, out);
        } else {
            self.reasoning.close(TextRole::Reasoning, out);
            self.message.grow_by(text, role, depth, &mut self.ids, out);
        }
    }

    /// Something else begins: what was being said is complete.
    #[inline]
    pub(super) fn close_texts(&mut self, out: &mut Vec<EventKind>) {
        self.reasoning.close(TextRole::Reasoning, out);
        self.message.close(TextRole::Message, out);
    }

    /// Opens a call.
    pub(super) fn call(&mut self, tool: Tool, out: &mut Vec<EventKind>) {
        self.model_acts(out);
        self.close_texts(out);
        self.calls.started(tool, &mut self.ids, out);
    }

    /// Completes a call. A list of things to do that it wrote is told as the plan it is.
    pub(super) fn call_ended(&mut self, item: ItemId, tool: Box<Tool>, out: &mut Vec<EventKind>) {
        let plan = match (&tool.input, &tool.outcome) {
            (ToolInput::Todos { todos }, Some(Outcome::Success)) if !todos.is_empty() => {
                Some(todos.clone())
            }
            _ => None,
        };
        let body = ItemBody::Tool(tool);
        out.push(EventKind::ItemCompleted { item: Item { id: item, body } });
        if let Some(todos) = plan {
            let body = ItemBody::Plan { todos, text: None };
            out.push(EventKind::ItemCompleted { item: Item { id: self.ids.next(), body } });
        }
    }

    /// The turn is over, and with it whatever was still open: its end will not be told any more.
    pub(super) fn end_turn(
        &mut self,
        end: TurnEnd,
        usage: Option<Usage>,
        duration_ms: Option<u64>,
        out: &mut Vec<EventKind>,
    ) {
        self.close_texts(out);
        self.calls.abandon(out);
        self.in_turn = false;
        out.push(EventKind::TurnEnded { end, text: None, usage, duration_ms });
    }

    /// Something that the agent wants known.
    pub(super) fn notice(&mut self, level: NoticeLevel, text: String, out: &mut Vec<EventKind>) {
        let body = ItemBody::Notice { level, text: cut(text) };
        out.push(EventKind::ItemCompleted { item: Item { id: self.ids.next(), body } });
    }

    /// Valid JSON that is no object.
    pub(super) fn scalar(&mut self, line: &Line<'_>, out: &mut Vec<EventKind>) {
        self.last_type.set("");
        unrecognized(Unrecognized::NotAnObject, line.bytes, out);
    }

    /// A line that is not JSON: cut off, or words; words about a failure have a meaning.
    pub(super) fn plain_text(&mut self, line: &Line<'_>, out: &mut Vec<EventKind>) {
        let bytes = line.bytes.trim_ascii();
        if bytes.is_empty() {
            return;
        }
        self.last_type.set("");
        if !line.newline && bytes.first() == Some(&b'{') {
            return unrecognized(Unrecognized::Torn, line.bytes, out);
        }
        unrecognized(Unrecognized::Noise, line.bytes, out);
        let text = String::from_utf8_lossy(bytes.get(..NOISE).unwrap_or(bytes));
        if failure_of(&text).is_some() {
            self.notice(NoticeLevel::Error, plain(&text), out);
        }
    }

    /// The beginning of a line too long to be held of which not one member could be read.
    pub(super) fn oversized(&mut self, line: &Line<'_>, out: &mut Vec<EventKind>) {
        self.last_type.set("");
        let why = match line.bytes.trim_ascii_start().first() {
            Some(b'{') => Unrecognized::Oversized,
            _ => Unrecognized::Noise,
        };
        unrecognized(why, line.bytes, out);
    }

    /// An object of a type that the dialect does not know.
    pub(super) fn unknown(&mut self, kind: &[u8], line: &Line<'_>, out: &mut Vec<EventKind>) {
        self.last_type.join(kind, b"");
        let why = match line.part {
            Part::Whole => Unrecognized::UnknownType,
            Part::First | Part::Middle | Part::Last => Unrecognized::Oversized,
        };
        unrecognized(why, line.bytes, out);
    }
}

/// A member of a line; of one that is too long, also the member at which it was cut.
pub(super) fn member<'a>(object: &Object<'a>, line: &Line<'a>, key: &str) -> Option<Value<'a>> {
    object.get(key).or_else(|| {
        let (found, value) = object.cut_member().filter(|_| line.part == Part::First)?;
        (found == key.as_bytes()).then_some(value)
    })
}

/// A known type without what makes it one.
pub(super) fn bad_shape(line: &Line<'_>, out: &mut Vec<EventKind>) {
    unrecognized(Unrecognized::BadShape, line.bytes, out);
}

/// Something that was not understood, with its beginning.
pub(super) fn unrecognized(why: Unrecognized, bytes: &[u8], out: &mut Vec<EventKind>) {
    out.push(EventKind::Unrecognized { why, excerpt: excerpt(bytes, EXCERPT) });
}

/// A word in a known line that the dialect does not know; `what` says what it stands for. The rest of
/// the line is read as far as it can be.
#[cold]
pub(super) fn unknown_value(what: &str, word: &[u8], line: &Line<'_>, out: &mut Vec<EventKind>) {
    let word = excerpt(word, EXCERPT);
    let excerpt = format!("{what} `{word}` in {}", excerpt(line.bytes, EXCERPT));
    out.push(EventKind::Unrecognized { why: Unrecognized::UnknownValue, excerpt });
}

/// A failed turn, by the agent's words and the HTTP status where one is known. Words come first:
/// a status of 400 may be a bad key, a bad model or too long a prompt.
pub(super) fn failed(status: Option<u64>, message: String) -> TurnEnd {
    let failure = failure_of(&message)
        .or_else(|| status.and_then(failure_of_status))
        .unwrap_or(FailureKind::Internal);
    TurnEnd::Failed { failure, message: cut(message) }
}

/// What the HTTP status of a model's service means.
fn failure_of_status(status: u64) -> Option<FailureKind> {
    match status {
        401 | 403 => Some(FailureKind::Auth),
        402 => Some(FailureKind::Quota),
        // The one thing that such a service may not find is the model.
        404 => Some(FailureKind::BadModel),
        408 | 502 | 504 => Some(FailureKind::Network),
        413 => Some(FailureKind::ContextLength),
        429 => Some(FailureKind::RateLimit),
        503 | 529 => Some(FailureKind::Overloaded),
        400..=499 => Some(FailureKind::BadRequest),
        500..=599 => Some(FailureKind::Internal),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod testing;
