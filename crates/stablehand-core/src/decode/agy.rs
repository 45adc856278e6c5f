//! Antigravity CLI's `--output-format stream-json`.
//!
//! Owned here: which line is which, the steps, and how a turn ends. A line has its body under a key
//! named like its event, or is flat. A turn consists of numbered steps, which count on when a
//! conversation is resumed. A result may say `SUCCESS` of a turn that was none: with denied actions,
//! after an error, without an answer, or while a command still ran. Tools are in `tools`.

mod dialect;
mod tools;

use super::Depth;
use super::kit::{self, About, Objects, Stream};
use crate::event::{
    EventKind, FailureKind, NoticeLevel, Outcome, TextRole, Tokens, ToolKind, TurnEnd,
    Unrecognized, Usage,
};
use crate::json::{Object, Value};
use crate::line::Line;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub(super) use dialect::AgyDialect;

/// Reads Antigravity CLI's stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AgyDecoder {
    stream: Stream,
    /// The conversation: steps are numbered within it.
    conversation: String,
    /// The calls that are open, by id, with the name of their tool and whether it is a command.
    open: Vec<(String, String, bool)>,
    /// The names of the tools of which a call was denied in this turn.
    denied: Vec<String>,
    /// The turn has had a step that tells of an error, without saying which.
    has_error: bool,
    /// The turn has had a text.
    has_text: bool,
    /// What the answers of the turn used.
    used: Tokens,
    /// What the process has used, and for how long, when its last turn ended: results count from the
    /// start of the process.
    before: Counted,
}

/// The counts of a result.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Counted {
    tokens: Tokens,
    duration_ms: u64,
}

/// Open calls beyond this are forgotten, as in [`kit::Calls`].
const MOST_OPEN: usize = 1024;

/// A line: what it is, its body, and what stands around that.
#[derive(Clone, Copy)]
struct Body<'a, 'l> {
    inner: Option<Value<'a>>,
    outer: &'l Object<'a>,
    line: &'l Line<'a>,
}

impl<'a> Body<'a, '_> {
    fn get(&self, key: &str) -> Option<Value<'a>> {
        let inner = self.inner.and_then(|body| body.get(key));
        inner.or_else(|| kit::member(self.outer, self.line, key))
    }

    fn string(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Value::string).filter(|text| !text.is_empty())
    }

    fn word(&self, key: &str) -> &'a [u8] {
        self.get(key).and_then(Value::raw_str).unwrap_or_default()
    }

    fn unknown(&self, out: &mut Vec<EventKind>) {
        kit::unrecognized(Unrecognized::UnknownType, self.line.bytes, out);
    }
}

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Done,
    Error,
}

impl Objects for AgyDecoder {
    fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    fn last_type(&self) -> &str {
        self.stream.last_type.as_str()
    }

    fn object(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let event = object.get("event").and_then(Value::raw_str).unwrap_or_default();
        self.stream.last_type.join(event, b"");
        let inner = std::str::from_utf8(event).ok().and_then(|key| kit::member(object, line, key));
        let body = Body { inner: inner.filter(|body| body.is_object()), outer: object, line };
        match event {
            b"init" => self.init(&body, out),
            b"step_update" => self.step(&body, depth, out),
            b"result" => self.result(&body, depth, out),
            _ => self.stream.unknown(event, line, out),
        }
    }
}

impl AgyDecoder {
    fn converse(&mut self, body: &Body<'_, '_>, out: &mut Vec<EventKind>) {
        let Some(id) = body.get("conversation_id") else { return };
        let about =
            About { version: body.get("version"), model: body.get("model"), cwd: body.get("cwd") };
        self.stream.name_session("agy", id, &about, out);
        if let Some(id) = id.string().filter(|id| !id.is_empty()) {
            self.conversation = id;
        }
    }

    fn init(&mut self, body: &Body<'_, '_>, out: &mut Vec<EventKind>) {
        self.converse(body, out);
    }

    fn step(&mut self, body: &Body<'_, '_>, depth: Depth, out: &mut Vec<EventKind>) {
        self.converse(body, out);
        let kind = body.word("step_type");
        self.stream.last_type.join(b"step_update", kind);
        let state = match body.word("state") {
            b"ACTIVE" => State::Active,
            b"DONE" => State::Done,
            b"ERROR" => State::Error,
            _ => return body.unknown(out),
        };
        match kind {
            b"agent_response" => self.response(body, state, depth, out),
            b"tool" => self.tool(body, state, depth, out),
            b"subagent" => self.call(body, tools::SUBAGENT, state, depth, out),
            b"user_input" => {
                if !self.stream.in_turn {
                    self.stream.prompt(body.get("text"), depth, out);
                }
            }
            b"system_message" => self.says(body, NoticeLevel::Info, None, state, out),
            b"checkpoint" => {
                let words = "the conversation was compacted";
                self.says(body, NoticeLevel::Info, Some(words), state, out);
            }
            b"error_message" => {
                self.has_error = true;
                let words = "the agent reports an error without a text";
                self.says(body, NoticeLevel::Error, Some(words), state, out);
            }
            _ => body.unknown(out),
        }
    }

    /// A piece of an answer; the last one comes with the end of the step.
    fn response(
        &mut self,
        body: &Body<'_, '_>,
        state: State,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        if let Some(text) = body.get("text_delta") {
            self.has_text |= text.raw_str().is_some_and(|text| !text.is_empty());
            self.stream.piece(TextRole::Message, text, depth, out);
        }
        if state == State::Active {
            return;
        }
        self.stream.close_texts(out);
        if let Some(used) = body.get("usage").and_then(tokens) {
            self.used = self.used.plus(&used);
            out.push(EventKind::UsageUpdated { usage: Usage::Turn(self.used) });
        }
        if state == State::Error {
            self.has_error = true;
        }
    }

    fn tool(&mut self, body: &Body<'_, '_>, state: State, depth: Depth, out: &mut Vec<EventKind>) {
        let info = body.get("tool_info");
        let name = body.string("tool_name").or_else(|| info?.get("name")?.string());
        match name {
            Some(name) => self.call(body, &name, state, depth, out),
            None => kit::bad_shape(body.line, out),
        }
    }

    fn call(
        &mut self,
        body: &Body<'_, '_>,
        name: &str,
        state: State,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let Some(index) = body.get("step_index").and_then(Value::u64) else {
            return kit::bad_shape(body.line, out);
        };
        let id = format!("{}:{index}", self.conversation);
        let info = body.get("tool_info");
        let begin = || tools::begin(id.clone(), name, info);
        if state == State::Active {
            if self.stream.calls.item(&id).is_none() {
                let tool = begin();
                let is_command = tool.tool_kind == ToolKind::Execute;
                self.open.truncate(MOST_OPEN - 1);
                self.open.push((id, name.to_owned(), is_command));
                self.stream.call(tool, out);
            }
            return;
        }
        self.stream.model_acts(out);
        self.stream.close_texts(out);
        self.open.retain(|(open, ..)| *open != id);
        let stream = &mut self.stream;
        let (item, mut tool) = stream.calls.take_or_begin(&id, &mut stream.ids, out, begin);
        tools::end(&mut tool, info, state == State::Error, depth);
        if matches!(tool.outcome, Some(Outcome::Denied { .. })) {
            self.denied.push(name.to_owned());
        }
        stream.call_ended(item, tool, out);
    }

    /// A step for a person; only its end is told.
    fn says(
        &mut self,
        body: &Body<'_, '_>,
        level: NoticeLevel,
        otherwise: Option<&str>,
        state: State,
        out: &mut Vec<EventKind>,
    ) {
        let said = ["text", "text_delta", "message"].iter().find_map(|key| body.string(key));
        let text = said.or_else(|| otherwise.map(str::to_owned));
        if let Some(text) = text.filter(|_| state != State::Active) {
            self.stream.close_texts(out);
            self.stream.notice(level, text, out);
        }
    }

    fn result(&mut self, body: &Body<'_, '_>, depth: Depth, out: &mut Vec<EventKind>) {
        self.converse(body, out);
        self.stream.last_type.join(b"result", body.word("status"));
        let denied = self.deny(body, out);
        let response = body.get("response").filter(|text| text.raw_str().is_some());
        if let Some(text) = response.filter(|_| !self.has_text) {
            self.has_text = text.raw_str().is_some_and(|text| !text.is_empty());
            self.stream.piece(TextRole::Message, text, depth, out);
        }
        let end = self.end(body, response, &denied, out);
        let counted = Counted {
            tokens: body.get("usage").and_then(tokens).unwrap_or(self.before.tokens),
            duration_ms: body.get("duration_seconds").and_then(millis).unwrap_or(0),
        };
        let usage =
            body.get("usage").map(|_| Usage::Turn(minus(&counted.tokens, &self.before.tokens)));
        let duration = counted.duration_ms.checked_sub(self.before.duration_ms);
        self.before = counted;
        self.open.clear();
        self.denied.clear();
        (self.has_error, self.has_text) = (false, false);
        self.used = Tokens::default();
        self.stream.end_turn(end, usage, duration.filter(|ms| *ms > 0), out);
    }

    /// Tells the calls that were denied, and returns the names of their tools. Of a call that had no
    /// step nothing but that name is known.
    fn deny(&mut self, body: &Body<'_, '_>, out: &mut Vec<EventKind>) -> Vec<String> {
        let mut told = std::mem::take(&mut self.denied);
        let mut names = Vec::new();
        let actions = body.get("denied_actions").into_iter().flat_map(Value::elements);
        for (number, action) in (1..).zip(actions) {
            let name = kit::first(action, &["display_name", "action"]).unwrap_or_default();
            let reason = "the agent had no permission for it".to_owned();
            let of_name = |tool: &str| tools::is_of(&name, tool);
            if let Some(at) = self.open.iter().position(|(_, tool, _)| of_name(tool)) {
                let (id, ..) = self.open.remove(at);
                if let Some((item, mut tool)) = self.stream.calls.take(&id) {
                    tool.outcome = Some(Outcome::Denied { reason });
                    self.stream.call_ended(item, tool, out);
                }
            } else if let Some(at) = told.iter().position(|tool| of_name(tool)) {
                told.remove(at);
            } else {
                let id = format!("{}:denied-{number}", self.conversation);
                let mut tool = tools::begin(id, &name, None);
                self.stream.call(tool.clone(), out);
                if let Some((item, _)) = self.stream.calls.take(&tool.call.0) {
                    tool.outcome = Some(Outcome::Denied { reason });
                    self.stream.call_ended(item, Box::new(tool), out);
                }
            }
            names.push(name);
        }
        names
    }

    fn end(
        &self,
        body: &Body<'_, '_>,
        response: Option<Value<'_>>,
        denied: &[String],
        out: &mut Vec<EventKind>,
    ) -> TurnEnd {
        let error = body.get("error").filter(|error| !error.is_null());
        let words = error.and_then(|it| it.string().or_else(|| kit::first(it, &["message"])));
        let or = |words: Option<String>, otherwise: &str| {
            words.filter(|it| !it.is_empty()).unwrap_or_else(|| otherwise.to_owned())
        };
        match body.word("status") {
            b"SUCCESS" if error.is_some() => {
                kit::failed(None, or(words, "an error without a text"))
            }
            b"SUCCESS" if !denied.is_empty() => {
                failed(FailureKind::Approval, format!("not permitted: {}", denied.join(", ")))
            }
            b"SUCCESS" => self.success(response),
            b"ERROR" => kit::failed(None, or(words, "the agent reports an error without a text")),
            b"CANCELED" | b"CANCELLED" | b"INTERRUPTED" => TurnEnd::Cancelled,
            b"INVALID" => failed(FailureKind::BadRequest, or(words, "an invalid request")),
            b"WAITING" => {
                failed(FailureKind::Approval, or(words, "the agent waits for a permission"))
            }
            b"RUNNING" => {
                failed(FailureKind::NoResult, or(words, "the agent ended while it was at work"))
            }
            other => {
                body.unknown(out);
                let other = String::from_utf8_lossy(other);
                failed(FailureKind::Internal, format!("the agent ended with `{other}`"))
            }
        }
    }

    /// Whether what is called a success is one.
    fn success(&self, response: Option<Value<'_>>) -> TurnEnd {
        let running = self.open.iter().find(|(.., is_command)| *is_command);
        let is_empty = response.is_some_and(|text| text.raw_str() == Some(b""));
        if self.has_error {
            failed(FailureKind::Internal, "a step of the turn reports an error".to_owned())
        } else if let Some((_, name, _)) = running {
            let message = format!("the turn ended while a command of `{name}` was still running");
            failed(FailureKind::Tool, message)
        } else if is_empty || !self.has_text {
            failed(FailureKind::NoResult, "the agent gave an empty answer".to_owned())
        } else {
            TurnEnd::Done
        }
    }
}

fn failed(failure: FailureKind, message: String) -> TurnEnd {
    TurnEnd::Failed { failure, message: kit::cut(message) }
}

fn millis(seconds: Value<'_>) -> Option<u64> {
    let seconds = Duration::try_from_secs_f64(seconds.f64()?).ok()?;
    Some(crate::time::millis(seconds))
}

/// Token counts.
fn tokens(usage: Value<'_>) -> Option<Tokens> {
    if !usage.is_object() {
        return None;
    }
    let mut tokens = Tokens::default();
    for (key, value) in usage.members() {
        let count = value.u64().unwrap_or(0);
        match key {
            b"input_tokens" => tokens.input = count,
            b"output_tokens" => tokens.output = count,
            b"thinking_tokens" => tokens.reasoning = count,
            b"cache_read_tokens" => tokens.cache_read = count,
            _ => {}
        }
    }
    Some(tokens)
}

/// What came after some counts were taken. Counts that are smaller than before are of a new process.
fn minus(all: &Tokens, before: &Tokens) -> Tokens {
    if all.input < before.input || all.output < before.output {
        return *all;
    }
    Tokens {
        input: all.input - before.input,
        output: all.output - before.output,
        cache_read: all.cache_read.saturating_sub(before.cache_read),
        cache_write: 0,
        reasoning: all.reasoning.saturating_sub(before.reasoning),
        cost_usd: None,
    }
}

#[cfg(test)]
mod tests;
