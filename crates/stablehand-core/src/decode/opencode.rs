//! OpenCode's `run --format json`.
//!
//! Owned here: which line is which, and where a turn begins and ends, which the stream does not
//! say: a turn begins with the first step, or with an error before it; it ends with a step whose
//! reason is not another step. Texts come whole and tools when they are over; `tools` reads those.

mod dialect;
mod tools;
mod transcript;

use super::Depth;
use super::kit::{self, About, Objects, Stream};
use crate::event::{EventKind, FailureKind, Outcome, TextRole, Tokens, TurnEnd, Usage};
use crate::id::digest64;
use crate::json::{Object, Value};
use crate::line::Line;
use crate::text::excerpt;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tools::Part as ToolPart;
use transcript::OpenCodeTranscript;

pub(super) use dialect::OpenCodeDialect;

/// So many parts are remembered, in case one is told again.
const PARTS: usize = 64;

/// Reads OpenCode's stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct OpenCodeDecoder {
    stream: Stream,
    /// Digests of the ids of the last parts that were told.
    told: VecDeque<u64>,
    /// What the steps of the turn used so far.
    used: Option<Tokens>,
    /// A step is on.
    in_step: bool,
    /// How often the step was begun again.
    retries: u64,
    /// Why a call of the step was refused: then no other step follows.
    refused: Option<String>,
    /// The words of the error that ended the turn; the same may come twice.
    failed: Option<String>,
}

impl Objects for OpenCodeDecoder {
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
        let get = |key: &str| kit::member(object, line, key);
        if let Some(id) = get("sessionID") {
            self.stream.name_session("opencode", id, &About::default(), out);
        }
        let kind = get("type").and_then(Value::raw_str).unwrap_or_default();
        match (kind, get("part")) {
            (b"text", Some(part)) => {
                self.stream.last_type.set("text");
                self.text(TextRole::Message, part, depth, out);
            }
            (b"reasoning", Some(part)) => {
                self.stream.last_type.set("reasoning");
                self.text(TextRole::Reasoning, part, depth, out);
            }
            (b"tool_use", Some(part)) => self.tool_use(part, line, depth, out),
            (b"step_start", _) => self.step_start(out),
            (b"step_finish", Some(part)) => self.step_finish(part, out),
            (b"error", _) => self.error(get("error"), line, out),
            (b"done", _) => self.done(get("rejected"), out),
            (b"text" | b"reasoning" | b"tool_use" | b"step_finish", None) => {
                self.stream.last_type.join(kind, b"");
                kit::bad_shape(line, out);
            }
            _ => self.stream.unknown(kind, line, out),
        }
    }
}

impl OpenCodeDecoder {
    /// Whether a part comes for the first time. Calls of one part are told apart by their own ids.
    fn is_new(&mut self, id: Option<Value<'_>>, call: &str) -> bool {
        let Some(id) = id.and_then(Value::raw_str).filter(|id| !id.is_empty()) else {
            return true;
        };
        let id = kit::mix(digest64(id), digest64(call.as_bytes()));
        if self.told.contains(&id) {
            return false;
        }
        if self.told.len() >= PARTS {
            self.told.pop_front();
        }
        self.told.push_back(id);
        true
    }

    fn acts(&mut self, out: &mut Vec<EventKind>) {
        self.failed = None;
        self.stream.model_acts(out);
    }

    /// A whole text.
    fn text(&mut self, role: TextRole, part: Value<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        let mut id = None;
        let mut text = None;
        let mut members = part.members();
        while let Some(key) = members.key() {
            match key {
                b"id" => id = members.value(),
                // A text that is cut off still says something.
                b"text" => text = members.value().or_else(|| members.rest()),
                _ => {
                    members.value();
                }
            }
        }
        let Some(text) = text.filter(|_| self.is_new(id, "")) else {
            return;
        };
        self.failed = None;
        self.stream.close_texts(out);
        self.stream.piece(role, text, depth, out);
        self.stream.close_texts(out);
    }

    fn tool_use(
        &mut self,
        part: Value<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let part = ToolPart::read(part);
        self.stream.last_type.join(b"tool_use", part.status());
        let id = part.call_id();
        if id.is_empty() && part.name().is_empty() {
            return kit::bad_shape(line, out);
        }
        let is_over = !matches!(part.status(), b"pending" | b"running");
        if is_over && !self.is_new(part.id, &id) {
            return;
        }
        self.acts(out);
        self.stream.close_texts(out);
        if !is_over {
            return self.stream.call(part.begin(id), out);
        }
        let stream = &mut self.stream;
        let begin = || part.begin(id.clone());
        let (item, mut tool) = stream.calls.take_or_begin(&id, &mut stream.ids, out, begin);
        if tool.call.0.is_empty() {
            tool.call.0 = format!("item-{}", item.0);
        }
        part.end(&mut tool, depth);
        if let Some(Outcome::Rejected { reason }) = &tool.outcome {
            self.refused = Some(reason.clone());
        }
        stream.call_ended(item, tool, out);
    }

    /// A step that begins while one is on was begun again: the only sign of a retry.
    fn step_start(&mut self, out: &mut Vec<EventKind>) {
        self.stream.last_type.set("step_start");
        self.acts(out);
        if self.in_step {
            self.retries += 1;
            let detail = Some("the step was begun again".to_owned());
            out.push(EventKind::RetryScheduled { attempt: self.retries, detail });
        } else {
            self.retries = 0;
        }
        self.in_step = true;
        self.refused = None;
    }

    fn step_finish(&mut self, part: Value<'_>, out: &mut Vec<EventKind>) {
        let mut reason: &[u8] = b"";
        for (key, value) in part.members() {
            match key {
                b"reason" => reason = value.raw_str().unwrap_or_default(),
                b"tokens" => self.add_tokens(value),
                b"cost" => self.add_cost(value),
                _ => {}
            }
        }
        self.stream.last_type.join(b"step_finish", reason);
        self.acts(out);
        self.in_step = false;
        let end = match (reason, self.refused.take()) {
            (_, Some(reason)) => {
                TurnEnd::Failed { failure: FailureKind::Approval, message: kit::cut(reason) }
            }
            (b"tool-calls" | b"unknown" | b"", None) => {
                self.stream.close_texts(out);
                if let Some(used) = self.used {
                    out.push(EventKind::UsageUpdated { usage: Usage::Turn(used) });
                }
                return;
            }
            (b"length", None) => TurnEnd::Limit,
            (b"content-filter", None) => TurnEnd::Refused,
            (b"error", None) => kit::failed(None, "the model's answer broke off".to_owned()),
            (b"stop" | b"other", None) => TurnEnd::Done,
            (other, None) => {
                kit::failed(None, format!("the turn stopped: {}", String::from_utf8_lossy(other)))
            }
        };
        self.end_turn(end, out);
    }

    /// Steps state what each of them used; a turn is their sum. Thinking is stated beside the
    /// output, and is output.
    fn add_tokens(&mut self, tokens: Value<'_>) {
        let mut step = Tokens::default();
        for (key, value) in tokens.members() {
            let n = value.u64().unwrap_or(0);
            match key {
                b"input" => step.input = n,
                b"output" => step.output = step.output.saturating_add(n),
                b"reasoning" => {
                    step.reasoning = n;
                    step.output = step.output.saturating_add(n);
                }
                b"cache" => {
                    let cached = |key| value.get(key).and_then(Value::u64).unwrap_or(0);
                    step.cache_read = cached("read");
                    step.cache_write = cached("write");
                }
                _ => {}
            }
        }
        let used = self.used.get_or_insert_default();
        used.input = used.input.saturating_add(step.input);
        used.output = used.output.saturating_add(step.output);
        used.reasoning = used.reasoning.saturating_add(step.reasoning);
        used.cache_read = used.cache_read.saturating_add(step.cache_read);
        used.cache_write = used.cache_write.saturating_add(step.cache_write);
    }

    fn add_cost(&mut self, cost: Value<'_>) {
        if let Some(cost) = cost.f64().filter(|cost| cost.is_finite()) {
            let used = self.used.get_or_insert_default();
            used.cost_usd = Some(used.cost_usd.unwrap_or(0.0) + cost);
        }
    }

    /// An error ends the turn; OpenCode may tell the same one twice.
    fn error(&mut self, error: Option<Value<'_>>, line: &Line<'_>, out: &mut Vec<EventKind>) {
        let name = error.and_then(|error| error.get("name")?.str()).unwrap_or_default();
        self.stream.last_type.join(b"error", name.as_bytes());
        let data = error.and_then(|error| error.get("data"));
        let said = |value: Option<Value<'_>>| {
            value.and_then(|value| value.get("message")?.string()).filter(|text| !text.is_empty())
        };
        let message = said(data)
            .or_else(|| said(error))
            .or_else(|| error.and_then(Value::string))
            .unwrap_or_else(|| match &*name {
                "" => excerpt(line.bytes, 200),
                name => name.to_owned(),
            });
        if self.failed.as_ref() == Some(&message) {
            return;
        }
        let failure = |failure| TurnEnd::Failed { failure, message: kit::cut(message.clone()) };
        let end = match &*name {
            "MessageAbortedError" => TurnEnd::Cancelled,
            "MessageOutputLengthError" => TurnEnd::Limit,
            "ContentFilterError" => TurnEnd::Refused,
            "ProviderAuthError" => failure(FailureKind::Auth),
            "ContextOverflowError" => failure(FailureKind::ContextLength),
            "ProviderModelNotFoundError" => failure(FailureKind::BadModel),
            _ => {
                let status = data.and_then(|data| data.get("statusCode")?.u64());
                kit::failed(status, message.clone())
            }
        };
        if self.failed.is_none() {
            self.stream.model_acts(out);
        }
        self.end_turn(end, out);
        self.failed = Some(message);
    }

    /// Newer versions say that they are done, also where the last step did not.
    fn done(&mut self, rejected: Option<Value<'_>>, out: &mut Vec<EventKind>) {
        self.stream.last_type.set("done");
        if !self.stream.in_turn {
            return;
        }
        let rejected: Vec<String> =
            rejected.into_iter().flat_map(Value::elements).filter_map(Value::string).collect();
        let end = if rejected.is_empty() {
            TurnEnd::Done
        } else {
            let message = format!("permission was not given: {}", rejected.join(", "));
            TurnEnd::Failed { failure: FailureKind::Approval, message: kit::cut(message) }
        };
        self.end_turn(end, out);
    }

    fn end_turn(&mut self, end: TurnEnd, out: &mut Vec<EventKind>) {
        self.in_step = false;
        self.refused = None;
        let usage = self.used.take().map(Usage::Turn);
        self.stream.end_turn(end, usage, None, out);
    }
}

#[cfg(test)]
mod tests;
