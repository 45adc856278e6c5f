//! Gemini CLI's `--output-format stream-json`.
//!
//! Owned here: which line is which, the turn and how it ends. What tools are given is in `tools`,
//! how they end in `outcome`. Text comes in pieces only and is never repeated; a message ends where
//! something else begins. Thinking is not shown and retries are not told.

mod dialect;
mod fields;
mod hook;
mod outcome;
mod tools;
mod transcript;

use super::Depth;
use super::kit::{self, About, Objects, Stream};
use crate::event::{EventKind, FailureKind, NoticeLevel, TextRole, Tokens, TurnEnd, Usage};
use crate::json::{Object, Value};
use crate::line::{Line, Part};
use fields::Fields;
use hook::GeminiHooks;
use serde::{Deserialize, Serialize};
use transcript::GeminiTranscript;

pub(super) use dialect::GeminiDialect;

/// Reads Gemini CLI's stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct GeminiDecoder {
    stream: Stream,
    /// The last error of the turn: a failed result may leave the words to it.
    error: Option<String>,
    /// The agent stopped the turn by a limit of its own, which its result calls a success.
    limited: bool,
    /// Which answer of the model it is, by our count: calls that are announced before any of them
    /// has ended come from one answer.
    answer: u64,
    /// A call has ended since the last one was announced.
    answered: bool,
}

impl Objects for GeminiDecoder {
    fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    fn last_type(&self) -> &str {
        self.stream.last_type.as_str()
    }

    #[inline]
    fn object(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let mut fields = Fields::default();
        fields.read(object, line.part == Part::First);
        if let Some(id) = fields.session {
            let about = About { version: fields.version, model: fields.model, cwd: fields.cwd };
            self.stream.name_session("gemini", id, &about, out);
        }
        match fields.kind.and_then(Value::raw_str).unwrap_or_default() {
            b"message" => self.message(&fields, line, depth, out),
            b"tool_use" => self.tool_use(&fields, line, out),
            b"tool_result" => self.tool_result(&fields, line, depth, out),
            b"init" => self.stream.last_type.set("init"),
            b"error" => self.error(&fields, line, out),
            b"result" => self.result(&fields, line, out),
            kind => self.stream.unknown(kind, line, out),
        }
    }
}

impl GeminiDecoder {
    #[inline]
    fn message(
        &mut self,
        fields: &Fields<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let role = fields.role.and_then(Value::raw_str).unwrap_or_default();
        let content = fields.content.unwrap_or(Value::new(b"\"\""));
        match role {
            b"user" => {
                self.stream.last_type.set("message/user");
                self.error = None;
                self.limited = false;
                self.stream.prompt(Some(content), depth, out);
            }
            b"thought" | b"thinking" | b"reasoning" => {
                self.stream.last_type.set("message/thought");
                self.stream.piece(TextRole::Reasoning, content, depth, out);
            }
            b"system" | b"info" => {
                self.stream.last_type.join(b"message", role);
                if let Some(text) = content.cut_str().filter(|text| !text.is_empty()) {
                    self.stream.close_texts(out);
                    self.stream.notice(NoticeLevel::Info, text, out);
                }
            }
            _ => {
                if !matches!(role, b"assistant" | b"model" | b"") {
                    kit::unknown_value("role", role, line, out);
                }
                self.stream.last_type.set("message/assistant");
                let is_piece = fields.delta.and_then(Value::bool) == Some(true);
                if !is_piece {
                    self.stream.close_texts(out);
                }
                self.stream.piece(TextRole::Message, content, depth, out);
                if !is_piece {
                    self.stream.close_texts(out);
                }
            }
        }
    }

    fn tool_use(&mut self, fields: &Fields<'_>, line: &Line<'_>, out: &mut Vec<EventKind>) {
        self.stream.last_type.set("tool_use");
        let id = fields.tool_id.and_then(Value::string).unwrap_or_default();
        let name = fields.tool_name.and_then(Value::str).unwrap_or_default();
        if id.is_empty() && name.is_empty() {
            return kit::bad_shape(line, out);
        }
        if self.answered || self.answer == 0 {
            self.answered = false;
            self.answer += 1;
        }
        let mut tool = tools::call(id, &name, fields.parameters);
        tool.step = Some(self.answer.to_string());
        self.stream.call(tool, out);
    }

    fn tool_result(
        &mut self,
        fields: &Fields<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        self.stream.last_type.set("tool_result");
        let id = fields.tool_id.and_then(Value::string).unwrap_or_default();
        if id.is_empty() {
            return kit::bad_shape(line, out);
        }
        let status = fields.status.and_then(Value::raw_str).unwrap_or_default();
        tell_unknown_status(status, line, out);
        self.answered = true;
        self.stream.model_acts(out);
        self.stream.close_texts(out);
        let begin = || tools::call(id.clone(), "", None);
        let stream = &mut self.stream;
        let (item, mut tool) = stream.calls.take_or_begin(&id, &mut stream.ids, out, begin);
        outcome::end(&mut tool, fields);
        if depth == Depth::Full {
            tool.output = fields.output.and_then(Value::string).filter(|text| !text.is_empty());
        }
        stream.call_ended(item, tool, out);
    }

    /// An error that does not end the turn by itself; its result follows.
    fn error(&mut self, fields: &Fields<'_>, line: &Line<'_>, out: &mut Vec<EventKind>) {
        let severity = fields.severity.and_then(Value::raw_str).unwrap_or_default();
        self.stream.last_type.join(b"error", severity);
        let text = fields.words().unwrap_or_else(|| "the agent reports an error".to_owned());
        self.limited |= is_limit(&text);
        let level = match severity {
            b"warning" => NoticeLevel::Warning,
            b"info" => NoticeLevel::Info,
            _ => {
                if !matches!(severity, b"error" | b"") {
                    kit::unknown_value("severity", severity, line, out);
                }
                self.error = Some(text.clone());
                NoticeLevel::Error
            }
        };
        self.stream.close_texts(out);
        self.stream.notice(level, text, out);
    }

    fn result(&mut self, fields: &Fields<'_>, line: &Line<'_>, out: &mut Vec<EventKind>) {
        let status = fields.status.and_then(Value::raw_str).unwrap_or_default();
        self.stream.last_type.join(b"result", status);
        tell_unknown_status(status, line, out);
        let error = self.error.take();
        let limited = std::mem::take(&mut self.limited);
        let end = match status {
            b"cancelled" | b"canceled" | b"aborted" => TurnEnd::Cancelled,
            _ if limited => TurnEnd::Limit,
            b"success" | b"" if fields.error.is_none_or(Value::is_null) => TurnEnd::Done,
            _ => {
                let kind = fields.error.and_then(|error| error.get("type")?.string());
                let message = fields.words().or(error);
                failure(&kind.unwrap_or_default(), message.unwrap_or_else(|| "error".to_owned()))
            }
        };
        let duration_ms = fields.stats.and_then(|stats| stats.get("duration_ms")?.u64());
        self.stream.end_turn(end, fields.stats.and_then(usage), duration_ms, out);
    }
}

fn tell_unknown_status(status: &[u8], line: &Line<'_>, out: &mut Vec<EventKind>) {
    if !matches!(status, b"success" | b"error" | b"cancelled" | b"canceled" | b"aborted" | b"") {
        kit::unknown_value("status", status, line, out);
    }
}

/// Whether an error says that the agent stops by a limit of its own.
fn is_limit(text: &str) -> bool {
    text.starts_with("Loop detected") || text.starts_with("Maximum session turns")
}

/// How a turn failed: by the agent's class of error, its words, or the status within them.
fn failure(kind: &str, message: String) -> TurnEnd {
    let failure = match kind {
        "FatalCancellationError" => return TurnEnd::Cancelled,
        "FatalTurnLimitedError" => return TurnEnd::Limit,
        "FatalAuthenticationError" => FailureKind::Auth,
        "FatalInputError" | "FatalConfigError" => FailureKind::BadRequest,
        "FatalToolExecutionError" => FailureKind::Tool,
        "FatalUntrustedWorkspaceError" => FailureKind::Approval,
        _ => return kit::failed(status_in(&message), message),
    };
    TurnEnd::Failed { failure, message: kit::cut(message) }
}

/// The status in an answer of the service that is quoted as JSON.
fn status_in(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("\"code\":")?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// What this process used, which is one turn.
fn usage(stats: Value<'_>) -> Option<Usage> {
    if !stats.is_object() {
        return None;
    }
    let mut tokens = Tokens::default();
    let mut all_input = 0;
    let mut fresh_input = None;
    for (key, value) in stats.members() {
        match key {
            b"input_tokens" => all_input = value.u64().unwrap_or(0),
            b"input" => fresh_input = value.u64(),
            b"output_tokens" => tokens.output = value.u64().unwrap_or(0),
            b"cached" => tokens.cache_read = value.u64().unwrap_or(0),
            b"thoughts" | b"thoughts_tokens" => tokens.reasoning = value.u64().unwrap_or(0),
            _ => {}
        }
    }
    tokens.input = fresh_input.unwrap_or_else(|| all_input.saturating_sub(tokens.cache_read));
    Some(Usage::Turn(tokens))
}

#[cfg(test)]
mod tests;
