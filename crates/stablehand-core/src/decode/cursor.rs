//! Cursor's `--output-format stream-json`, from 2025 to 2026.10.
//!
//! Owned here: which line is which, pairing tool calls, and the turn. What is text and what is its
//! repetition is in `text`; tools in `tools` and `outcome`; questions in `question`. The format has
//! no version: everything is read by what is there, and what is not is left out. Lines may come in
//! an envelope (`payload`) and behind a `stdout:` prefix, as some wrappers write them.

mod calls;
mod dialect;
mod fields;
mod hook;
mod outcome;
mod question;
mod quick;
mod table;
mod text;
mod tools;

use super::failure::failure_of;
use super::kit::{self, LineType};
use super::{Decode, Depth};
use crate::event::{
    EventKind, FailureKind, Item, ItemBody, NoticeLevel, TextRole, Tokens, TurnEnd, Unrecognized,
    Usage,
};
use crate::id::{CallId, SessionId, digest64};
use crate::json::{self, Object, Scan, Value};
use crate::line::{Line, Part};
use crate::text::{excerpt, plain};
use calls::Calls;
use fields::Fields;
use hook::CursorHooks;
use quick::{Piece, Quick};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use text::{Ids, Messages, OpenText};

pub(super) use dialect::CursorDialect;

/// How many characters of a line that was not understood are shown.
const EXCERPT: usize = 200;

/// How large the buffer for the text of one line may stay.
const SCRATCH: usize = 256 << 10;

/// Reads Cursor's stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CursorDecoder {
    ids: Ids,
    messages: Messages,
    reasoning: OpenText,
    calls: Calls,
    /// The session id as it stands on the line, to compare without unescaping.
    #[serde(with = "crate::saved::bytes")]
    session: Vec<u8>,
    quick: Quick,
    in_turn: bool,
    #[serde(skip)]
    last_type: LineType,
    /// Text of the line at hand; kept to be used again.
    #[serde(skip)]
    scratch: Vec<u8>,
    /// Digest of the last plan that was told, since it comes both as a question and as a tool.
    last_plan: u64,
}

impl Decode for CursorDecoder {
    #[inline]
    fn line(&mut self, line: &Line<'_>, scan: &Scan<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        match (line.part, scan) {
            (Part::Whole, Scan::Object(object)) => match self.quick.piece(object, line) {
                Some(Piece::Thinking(text)) => {
                    self.last_type.set("thinking/delta");
                    self.thinking(Value::new(text), depth, out);
                }
                Some(Piece::Message(text)) => {
                    self.last_type.set("assistant");
                    self.scratch.clear();
                    Value::new(text).append_to(&mut self.scratch);
                    self.assistant(/* piece */ true, depth, out);
                }
                None => self.object(object, line, depth, out),
            },
            (Part::Whole, Scan::Scalar) => {
                self.last_type.set("");
                unrecognized(Unrecognized::NotAnObject, line.bytes, out);
            }
            (Part::Whole, Scan::Text | Scan::Binary) => self.plain_text(line, depth, out),
            (Part::First, _) => match json::scan_prefix(line.bytes) {
                Some(object) => self.object(&object, line, depth, out),
                None => self.oversized(line.bytes, out),
            },
            (Part::Middle | Part::Last, _) => {}
        }
    }

    fn finish(&mut self, _depth: Depth, out: &mut Vec<EventKind>) {
        self.reasoning.close(TextRole::Reasoning, out);
        self.messages.end(out);
    }

    fn last_type(&self) -> &str {
        self.last_type.as_str()
    }

    fn save(&self) -> Option<Box<RawValue>> {
        to_raw_value(self).ok()
    }
}

impl CursorDecoder {
    fn object(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let fields = Fields::read(object, line.part == Part::First);
        self.name_session(&fields, out);
        let kind = fields.kind.and_then(Value::raw_str).unwrap_or_default();
        let subtype = fields.subtype.and_then(Value::raw_str).unwrap_or_default();
        match (kind, subtype) {
            (b"thinking", b"completed") => {
                self.last_type.set("thinking/completed");
                self.reasoning.close(TextRole::Reasoning, out);
            }
            (b"thinking", _) => {
                if !matches!(subtype, b"delta" | b"") {
                    kit::unknown_value("subtype", subtype, line, out);
                }
                self.last_type.set("thinking/delta");
                if let Some(text) = fields.text.or_else(|| fields.get("content")) {
                    self.thinking(text, depth, out);
                }
            }
            (b"assistant" | b"text", _) => {
                self.last_type.set(if kind == b"text" { "text" } else { "assistant" });
                self.scratch.clear();
                fields.message_text(&mut self.scratch);
                // Pieces have a time and no model call; a line that is cut shows neither.
                let piece = fields.stamped && fields.step.is_none();
                self.assistant(piece, depth, out);
            }
            (b"tool_call", _) => self.tool_call(&fields, subtype, line, depth, out),
            (b"system", b"init") => self.last_type.set("system/init"),
            (b"system", b"task_notification" | b"background_shell_timeout") => {
                self.system_notice(&fields, subtype, out);
            }
            (b"user", _) => {
                self.last_type.set("user");
                self.user(&fields, depth, out);
            }
            (b"interaction_query", _) => self.interaction(&fields, subtype, line, depth, out),
            (b"connection", _) => {
                self.last_type.join(b"connection", subtype);
                self.messages.retry();
                out.push(EventKind::ConnectionChanged {
                    state: String::from_utf8_lossy(subtype).into_owned(),
                    attempt: fields.get("attempt").and_then(Value::u64),
                });
            }
            (b"retry", _) => {
                self.last_type.join(b"retry", subtype);
                self.retry(&fields, subtype, out);
            }
            (b"result" | b"result.error", _) => {
                self.last_type.join(b"result", subtype);
                if !is_known_end(subtype) {
                    kit::unknown_value("subtype", subtype, line, out);
                }
                self.result(&fields, kind == b"result", subtype, depth, out);
            }
            (b"error", _) => {
                self.last_type.set("error");
                let text = words(&fields).unwrap_or_else(|| excerpt(line.bytes, EXCERPT));
                self.notice(NoticeLevel::Error, text, out);
            }
            _ => {
                self.last_type.join(kind, subtype);
                let why = match line.part {
                    Part::Whole => Unrecognized::UnknownType,
                    Part::First | Part::Middle | Part::Last => Unrecognized::Oversized,
                };
                unrecognized(why, line.bytes, out);
            }
        }
    }

    /// Emits `session.started` where the id is new.
    #[inline]
    fn name_session(&mut self, fields: &Fields<'_, '_>, out: &mut Vec<EventKind>) {
        let Some(raw) = fields.session.and_then(Value::raw_str) else {
            return;
        };
        if raw == self.session || raw.is_empty() {
            return;
        }
        self.session.clear();
        self.session.extend_from_slice(raw);
        self.quick.session(raw);
        let native_id = fields.session.and_then(Value::string).unwrap_or_default();
        let said = |key| {
            let text = fields.get(key).and_then(Value::string);
            text.filter(|text| !text.is_empty())
        };
        out.push(EventKind::SessionStarted {
            agent: "cursor".to_owned(),
            agent_version: None,
            native_id: SessionId(native_id),
            model: said("model"),
            cwd: said("cwd"),
            resumed_from: None,
        });
    }

    /// The model does something: a turn is on, even where no prompt was echoed.
    #[inline]
    fn model_acts(&mut self, out: &mut Vec<EventKind>) {
        if !self.in_turn {
            self.in_turn = true;
            out.push(EventKind::TurnStarted { prompt: None, by: None });
        }
    }

    fn user(&mut self, fields: &Fields<'_, '_>, depth: Depth, out: &mut Vec<EventKind>) {
        self.reasoning.close(TextRole::Reasoning, out);
        self.messages.end(out);
        self.in_turn = true;
        let prompt = match depth {
            Depth::Skim => None,
            Depth::Full => {
                self.scratch.clear();
                fields.message_text(&mut self.scratch);
                Some(json::text(&self.scratch))
            }
        };
        out.push(EventKind::TurnStarted { prompt, by: None });
    }

    #[inline]
    fn thinking(&mut self, text: Value<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        if text.raw() == b"\"\"" {
            return;
        }
        self.model_acts(out);
        self.scratch.clear();
        if depth == Depth::Full && !text.append_to(&mut self.scratch) {
            // A cut string still says something.
            let cut = text.cut_str().unwrap_or_default();
            self.scratch.extend_from_slice(cut.as_bytes());
        }
        let role = TextRole::Reasoning;
        self.reasoning.grow(&self.scratch, role, depth, &mut self.ids, out);
    }

    /// Takes the text in `scratch`.
    #[inline]
    fn assistant(&mut self, piece: bool, depth: Depth, out: &mut Vec<EventKind>) {
        self.model_acts(out);
        self.reasoning.close(TextRole::Reasoning, out);
        if piece {
            self.messages.delta(&self.scratch, depth, &mut self.ids, out);
        } else {
            self.messages.whole(&self.scratch, depth, &mut self.ids, out);
            // One long message must not leave a large buffer behind for ever.
            self.scratch.clear();
            self.scratch.shrink_to(SCRATCH);
        }
    }

    fn tool_call(
        &mut self,
        fields: &Fields<'_, '_>,
        subtype: &[u8],
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        match subtype {
            b"started" => {
                self.last_type.set("tool_call/started");
                self.model_acts(out);
                self.reasoning.close(TextRole::Reasoning, out);
                self.messages.boundary(out);
                if !self.calls.started(fields, &mut self.ids, out) {
                    unrecognized(Unrecognized::BadShape, line.bytes, out);
                }
            }
            b"completed" | b"failed" | b"error" | b"cancelled" | b"rejected" => {
                self.last_type.join(b"tool_call", subtype);
                self.model_acts(out);
                self.messages.boundary(out);
                if !self.calls.completed(fields, depth, &mut self.ids, out) {
                    unrecognized(Unrecognized::BadShape, line.bytes, out);
                }
                if let Some(plan) = self.calls.plan.take() {
                    self.plan(plan, depth, out);
                }
            }
            _ => {
                self.last_type.join(b"tool_call", subtype);
                unrecognized(Unrecognized::UnknownType, line.bytes, out);
            }
        }
    }

    fn interaction(
        &mut self,
        fields: &Fields<'_, '_>,
        subtype: &[u8],
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        self.last_type.join(b"interaction_query", subtype);
        self.model_acts(out);
        self.reasoning.close(TextRole::Reasoning, out);
        self.messages.boundary(out);
        match (subtype, fields.get("query"), fields.get("response")) {
            (b"request", Some(query), _) => {
                let kind = fields.get("query_type").and_then(Value::str);
                let question = question::request(&kind.unwrap_or_default(), query);
                if let Some(args) = question.plan {
                    self.plan(calls::plan_of(args), depth, out);
                }
                out.push(EventKind::ApprovalRequested {
                    id: question.id,
                    call: question.call.map(CallId),
                    what: question.what,
                    options: question.options,
                    tool: None,
                    why: None,
                    waits: false,
                });
            }
            (b"response", _, Some(response)) => {
                let (id, choice) = question::response(response);
                out.push(EventKind::resolved(id, choice, "agent"));
            }
            _ => unrecognized(Unrecognized::BadShape, line.bytes, out),
        }
    }

    /// Tells a plan, unless it was the last one told.
    fn plan(&mut self, plan: ItemBody, depth: Depth, out: &mut Vec<EventKind>) {
        let ItemBody::Plan { todos, text } = plan else {
            return;
        };
        if let Some(text) = &text {
            let digest = digest64(text.as_bytes());
            if digest == self.last_plan {
                return;
            }
            self.last_plan = digest;
        }
        let text = text.filter(|_| depth == Depth::Full);
        let item = Item { id: self.ids.next(), body: ItemBody::Plan { todos, text } };
        out.push(EventKind::ItemCompleted { item });
    }

    fn retry(&mut self, fields: &Fields<'_, '_>, subtype: &[u8], out: &mut Vec<EventKind>) {
        self.messages.retry();
        let mut detail = String::from_utf8_lossy(subtype).into_owned();
        if fields.get("is_resume").and_then(Value::bool) == Some(true) {
            detail.push_str(", resumes the turn");
        }
        if let Some(n) = fields.get("checkpoint_turn_count").and_then(Value::u64) {
            detail.push_str(", checkpoint ");
            detail.push_str(&n.to_string());
        }
        out.push(EventKind::RetryScheduled {
            attempt: fields.get("attempt").and_then(Value::u64).unwrap_or(0),
            detail: Some(detail).filter(|detail| !detail.is_empty()),
        });
    }

    fn result(
        &mut self,
        fields: &Fields<'_, '_>,
        known: bool,
        subtype: &[u8],
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        self.reasoning.close(TextRole::Reasoning, out);
        self.messages.end(out);
        self.in_turn = false;
        let failed = fields.get("is_error").and_then(Value::bool) == Some(true);
        let end = match subtype {
            b"success" | b"" if known && !failed => TurnEnd::Done,
            b"cancelled" | b"canceled" | b"aborted" | b"interrupted" => TurnEnd::Cancelled,
            b"refusal" | b"refused" => TurnEnd::Refused,
            b"error_max_turns" | b"max_turns" => TurnEnd::Limit,
            _ => {
                let said = fields.get("result").and_then(Value::string);
                let message = words(fields)
                    .or(said.filter(|said| !said.is_empty()))
                    .unwrap_or_else(|| String::from_utf8_lossy(subtype).into_owned());
                TurnEnd::Failed {
                    failure: failure_of(&message).unwrap_or(FailureKind::Internal),
                    message: outcome::cut(message),
                }
            }
        };
        let text = match depth {
            Depth::Skim => None,
            Depth::Full => fields.get("result").and_then(Value::string),
        };
        out.push(EventKind::TurnEnded {
            end,
            text,
            usage: fields.get("usage").and_then(|used| usage(used, fields)),
            duration_ms: fields.get("duration_ms").and_then(Value::u64),
        });
    }

    fn system_notice(&mut self, fields: &Fields<'_, '_>, subtype: &[u8], out: &mut Vec<EventKind>) {
        self.last_type.join(b"system", subtype);
        let (level, about) = match subtype {
            b"background_shell_timeout" => {
                (NoticeLevel::Warning, "the agent stopped waiting for a background shell")
            }
            _ => (NoticeLevel::Info, "a background task reported"),
        };
        // The shapes of these two are not published; whatever reads like a sentence is one.
        let text = match words(fields) {
            Some(words) => format!("{about}: {words}"),
            None => about.to_owned(),
        };
        self.notice(level, text, out);
    }

    fn notice(&mut self, level: NoticeLevel, text: String, out: &mut Vec<EventKind>) {
        let item = Item {
            id: self.ids.next(),
            body: ItemBody::Notice { level, text: outcome::cut(text) },
        };
        out.push(EventKind::ItemCompleted { item });
    }

    /// A line that is not JSON: behind a prefix it may still be; an error has a meaning.
    fn plain_text(&mut self, line: &Line<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        let bytes = line.bytes.trim_ascii();
        if bytes.is_empty() {
            return;
        }
        let inner = without_prefix(bytes);
        if inner.len() < bytes.len()
            && inner.first() == Some(&b'{')
            && let Scan::Object(object) = json::scan(inner)
        {
            return self.object(&object, line, depth, out);
        }
        self.last_type.set("");
        if !line.newline && inner.first() == Some(&b'{') {
            return unrecognized(Unrecognized::Torn, line.bytes, out);
        }
        unrecognized(Unrecognized::Noise, line.bytes, out);
        let text = String::from_utf8_lossy(bytes.get(..4096).unwrap_or(bytes));
        if failure_of(&text).is_some() {
            self.notice(NoticeLevel::Error, plain(&text), out);
        }
    }

    fn oversized(&mut self, bytes: &[u8], out: &mut Vec<EventKind>) {
        self.last_type.set("");
        let why = match bytes.trim_ascii_start().first() {
            Some(b'{') => Unrecognized::Oversized,
            _ => Unrecognized::Noise,
        };
        unrecognized(why, bytes, out);
    }
}

fn is_known_end(subtype: &[u8]) -> bool {
    const KNOWN: &[&[u8]] = &[
        b"success",
        b"error",
        b"",
        b"cancelled",
        b"canceled",
        b"aborted",
        b"interrupted",
        b"refusal",
        b"refused",
        b"error_max_turns",
        b"max_turns",
        b"error_during_execution",
    ];
    KNOWN.contains(&subtype)
}

/// `^(stdout|stderr)\s*[:=]?\s*`, which some wrappers put before each line.
fn without_prefix(bytes: &[u8]) -> &[u8] {
    let (Some(word), Some(rest)) = (bytes.get(..6), bytes.get(6..)) else {
        return bytes;
    };
    if !word.eq_ignore_ascii_case(b"stdout") && !word.eq_ignore_ascii_case(b"stderr") {
        return bytes;
    }
    let rest = rest.trim_ascii_start();
    match rest {
        [b':' | b'=', rest @ ..] => rest.trim_ascii_start(),
        _ => rest,
    }
}

fn unrecognized(why: Unrecognized, bytes: &[u8], out: &mut Vec<EventKind>) {
    let excerpt = excerpt(bytes, EXCERPT);
    out.push(EventKind::Unrecognized { why, excerpt });
}

/// Whatever a line says in words, where its shape is not known.
fn words(fields: &Fields<'_, '_>) -> Option<String> {
    const KEYS: &[&str] =
        &["message", "error", "text", "description", "summary", "title", "status", "command"];
    KEYS.iter().find_map(|key| {
        let value = fields.get(key)?;
        let text = value.string().or_else(|| value.get("message").and_then(Value::string));
        text.filter(|text| !text.is_empty())
    })
}

fn usage(used: Value<'_>, fields: &Fields<'_, '_>) -> Option<Usage> {
    if !used.is_object() {
        return None;
    }
    let mut tokens = Tokens::default();
    for (key, value) in used.members() {
        let n = value.u64().unwrap_or(0);
        match key {
            b"inputTokens" | b"input_tokens" => tokens.input = n,
            b"outputTokens" | b"output_tokens" => tokens.output = n,
            b"cacheReadTokens" | b"cache_read_tokens" => tokens.cache_read = n,
            b"cacheWriteTokens" | b"cache_write_tokens" => tokens.cache_write = n,
            b"reasoningTokens" | b"reasoning_tokens" => tokens.reasoning = n,
            _ => {}
        }
    }
    tokens.cost_usd =
        fields.get("total_cost_usd").or_else(|| fields.get("cost_usd")).and_then(Value::f64);
    Some(Usage::Turn(tokens))
}

#[cfg(test)]
mod tests;
