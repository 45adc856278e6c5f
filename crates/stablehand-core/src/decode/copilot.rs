//! GitHub Copilot CLI's `--output-format json`.
//!
//! Owned here: which line is which and how a turn ends. Lines are `{type,data,…}` in families
//! (`session.`, `assistant.`, `tool.`, …), most of them about the program itself (`asides`). Only the
//! last line, `result`, has no `data`, names the session, and is missing after an interrupt. Tools are
//! in `tools`, texts, which come in pieces and then whole, in `text`.

mod asides;
mod dialect;
mod report;
mod text;
mod tools;

use super::Depth;
use super::kit::{self, About, Objects, Stream};
use crate::event::{
    EventKind, FailureKind, Item, ItemBody, NoticeLevel, Outcome, TextRole, Tokens, TurnEnd, Usage,
};
use crate::json::{Object, Value};
use crate::line::Line;
use asides::Aside;
use serde::{Deserialize, Serialize};
use text::Streamed;

pub(super) use dialect::CopilotDialect;
pub(super) use report::Report;

/// Reads Copilot CLI's stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CopilotDecoder {
    stream: Stream,
    message: Streamed,
    reasoning: Streamed,
    /// The model that answers, as its calls name it, as it stands on the line; the line that names
    /// the session does not name it.
    #[serde(with = "crate::saved::bytes")]
    model: Vec<u8>,
    /// The last error of the turn: the result has only an exit code.
    error: Option<TurnEnd>,
    /// How often the answer was tried again.
    retries: u64,
    /// What the turn used so far, where the program says so.
    used: Option<Tokens>,
}

impl Objects for CopilotDecoder {
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
        let data = kit::member(object, line, "data").unwrap_or(Value::new(b"{}"));
        let kind = object.get("type").and_then(Value::raw_str).unwrap_or_default();
        self.stream.last_type.join(kind, b"");
        match kind {
            b"assistant.message_delta" => {
                self.piece(TextRole::Message, data, "messageId", depth, out);
            }
            b"assistant.reasoning_delta" => {
                self.piece(TextRole::Reasoning, data, "reasoningId", depth, out);
            }
            b"assistant.message" => self.whole(TextRole::Message, data, "messageId", depth, out),
            b"assistant.reasoning" => {
                self.whole(TextRole::Reasoning, data, "reasoningId", depth, out);
            }
            b"tool.shell_output" => self.tool_output(data, depth, out),
            b"user_input.requested" | b"elicitation.requested" | b"exit_plan_mode.requested" => {
                let plan = data.get("planContent").and_then(Value::string);
                if let Some(text) = plan.map(|text| Some(text).filter(|_| depth == Depth::Full)) {
                    let body = ItemBody::Plan { todos: Vec::new(), text };
                    let item = Item { id: self.stream.ids.next(), body };
                    out.push(EventKind::ItemCompleted { item });
                }
                out.push(asides::question(data));
            }
            b"user_input.completed" | b"elicitation.completed" | b"exit_plan_mode.completed" => {
                out.push(asides::answer(data));
            }
            b"tool.execution_start" => match tools::begin(data) {
                Some(tool) => self.stream.call(tool, out),
                None => kit::bad_shape(line, out),
            },
            b"tool.execution_complete" => self.tool_complete(data, line, depth, out),
            b"user.message" => {
                self.error = None;
                self.retries = 0;
                self.stream.prompt(data.get("content"), depth, out);
            }
            b"assistant.turn_start" => self.stream.model_acts(out),
            b"assistant.turn_end" => self.stream.close_texts(out),
            b"model.call_start" => self.model_named(data),
            b"assistant.turn_retry" => {
                self.retries += 1;
                let detail = data.get("reason").and_then(Value::string);
                out.push(EventKind::RetryScheduled { attempt: self.retries, detail });
            }
            b"assistant.usage" => self.usage(data, out),
            b"session.start" | b"session.resume" => self.session_start(data, out),
            b"session.error" => self.session_error(data, out),
            b"session.warning" => self.says(NoticeLevel::Warning, data, out),
            // The retry itself is told by `assistant.turn_retry`.
            b"session.info" if is(data, "infoType", "model_retry") => {}
            b"session.info" => self.says(NoticeLevel::Info, data, out),
            b"permission.requested" => tools::permission_requested(data, out),
            b"permission.completed" => tools::permission_completed(data, out),
            b"agent.interrupted" => self.interrupted(data, out),
            b"assistant.idle" if data.get("aborted").and_then(Value::bool) == Some(true) => {
                self.end_turn(TurnEnd::Cancelled, None, out);
            }
            b"result" => self.result(object, out),
            _ => match asides::read(kind, data) {
                Aside::Nothing => {}
                Aside::Notice(level, text) => {
                    self.stream.close_texts(out);
                    self.stream.notice(level, text, out);
                }
                Aside::Unknown => self.stream.unknown(kind, line, out),
            },
        }
    }
}

impl CopilotDecoder {
    fn piece(
        &mut self,
        role: TextRole,
        data: Value<'_>,
        id: &str,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        if let Some(text) = data.get("deltaContent") {
            let streamed = match role {
                TextRole::Reasoning => &mut self.reasoning,
                _ => &mut self.message,
            };
            let text = streamed.piece(data.get(id), text);
            if !text.is_empty() {
                let text = match depth {
                    Depth::Skim => String::new(),
                    Depth::Full => text.into_owned(),
                };
                self.stream.piece_by(role, text, depth, out);
            }
        }
    }

    /// A whole text: what of it has not come in pieces is new.
    fn whole(
        &mut self,
        role: TextRole,
        data: Value<'_>,
        id: &str,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let (content, named) = text::content(data, id);
        let streamed = match role {
            TextRole::Reasoning => &mut self.reasoning,
            _ => &mut self.message,
        };
        let new = streamed.beyond(named, content);
        if let Some(new) = new {
            self.stream.piece_by(role, new, depth, out);
        }
        self.stream.close_texts(out);
    }

    /// Output of a command as it runs.
    fn tool_output(&mut self, data: Value<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        let call = data.get("toolCallId").and_then(Value::str).unwrap_or_default();
        let Some(id) = self.stream.calls.item(&call) else {
            return;
        };
        let text = match depth {
            Depth::Skim => String::new(),
            Depth::Full => data.get("text").and_then(Value::string).unwrap_or_default(),
        };
        out.push(EventKind::ItemDelta { id, role: TextRole::ToolOutput, text });
    }

    fn tool_complete(
        &mut self,
        data: Value<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let ending = tools::Ending::read(data);
        let id = ending.call_id();
        if id.is_empty() {
            return kit::bad_shape(line, out);
        }
        self.stream.model_acts(out);
        self.stream.close_texts(out);
        let stream = &mut self.stream;
        let begin = || tools::unseen(id.clone());
        let (item, mut tool) = stream.calls.take_or_begin(&id, &mut stream.ids, out, begin);
        ending.end(&mut tool, depth);
        stream.call_ended(item, tool, out);
    }

    fn model_named(&mut self, data: Value<'_>) {
        if let Some(model) = data.get("model") {
            self.model.clear();
            self.model.extend_from_slice(model.raw());
        }
    }

    fn usage(&mut self, data: Value<'_>, out: &mut Vec<EventKind>) {
        let used = self.used.get_or_insert_default();
        for (key, value) in data.members() {
            let n = value.u64().unwrap_or(0);
            let slot = match key {
                b"inputTokens" => &mut used.input,
                b"outputTokens" => &mut used.output,
                b"cacheReadTokens" => &mut used.cache_read,
                b"cacheWriteTokens" => &mut used.cache_write,
                b"reasoningTokens" => &mut used.reasoning,
                _ => continue,
            };
            *slot = slot.saturating_add(n);
        }
        out.push(EventKind::UsageUpdated { usage: Usage::Turn(*used) });
    }

    fn session_start(&mut self, data: Value<'_>, out: &mut Vec<EventKind>) {
        if let Some(id) = data.get("sessionId") {
            let about = About {
                version: data.get("copilotVersion"),
                model: data.get("selectedModel"),
                cwd: data.get("context").and_then(|context| context.get("cwd")),
            };
            self.stream.name_session("copilot", id, &about, out);
        }
    }

    fn session_error(&mut self, data: Value<'_>, out: &mut Vec<EventKind>) {
        let message = data.get("message").and_then(Value::string).unwrap_or_default();
        let status = data.get("statusCode").and_then(Value::u64);
        let end = match data.get("errorType").and_then(Value::raw_str).unwrap_or_default() {
            b"authentication" => failed(FailureKind::Auth, &message),
            b"rate_limit" => failed(FailureKind::RateLimit, &message),
            b"quota" => failed(FailureKind::Quota, &message),
            b"context_limit" => failed(FailureKind::ContextLength, &message),
            _ => kit::failed(status, message.clone()),
        };
        self.error = Some(end);
        self.stream.close_texts(out);
        self.stream.notice(NoticeLevel::Error, message, out);
    }

    fn says(&mut self, level: NoticeLevel, data: Value<'_>, out: &mut Vec<EventKind>) {
        if let Some(text) = data.get("message").and_then(Value::string) {
            self.stream.close_texts(out);
            self.stream.notice(level, text, out);
        }
    }

    /// The calls that an interrupt ended.
    fn interrupted(&mut self, data: Value<'_>, out: &mut Vec<EventKind>) {
        let calls = data.get("toolCallIds").into_iter().flat_map(Value::elements);
        for call in calls.filter_map(Value::string) {
            if let Some((item, mut tool)) = self.stream.calls.take(&call) {
                let message = Some("interrupted".to_owned());
                tool.outcome = Some(Outcome::Failure { exit_code: None, message });
                self.stream.call_ended(item, tool, out);
            }
        }
    }

    fn result(&mut self, object: &Object<'_>, out: &mut Vec<EventKind>) {
        if let Some(id) = object.get("sessionId") {
            let about = About { model: Some(Value::new(&self.model)), ..About::default() };
            self.stream.name_session("copilot", id, &about, out);
        }
        let end = match object.get("exitCode").and_then(Value::i64) {
            Some(0) => TurnEnd::Done,
            code => self.error.take().unwrap_or_else(|| {
                let code = code.map_or_else(|| "unknown".to_owned(), |code| code.to_string());
                failed(FailureKind::Internal, &format!("exit code {code}"))
            }),
        };
        let duration = object.get("usage").and_then(|usage| usage.get("sessionDurationMs")?.u64());
        self.end_turn(end, duration, out);
    }

    fn end_turn(&mut self, end: TurnEnd, duration_ms: Option<u64>, out: &mut Vec<EventKind>) {
        self.error = None;
        let usage = self.used.take().map(Usage::Turn);
        self.stream.end_turn(end, usage, duration_ms, out);
    }
}

fn failed(failure: FailureKind, message: &str) -> TurnEnd {
    TurnEnd::Failed { failure, message: kit::cut(message.to_owned()) }
}

fn is(data: Value<'_>, key: &str, word: &str) -> bool {
    data.get(key).is_some_and(|value| value.is_str(word))
}

#[cfg(test)]
mod tests;
