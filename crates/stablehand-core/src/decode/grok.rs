//! Grok CLI's `--output-format streaming-json`.
//!
//! Owned here: which line is which, and how a turn ends. There is no line at the start, and the
//! session is named by the last line only (`end`); an `error` is the last line of a failed run.
//! What tools are given and how they end is in `tools`, texts that come twice are in `answer`.

mod answer;
mod dialect;
mod tools;

use super::Depth;
use super::kit::{self, About, Objects, Stream};
use crate::event::{
    EventKind, FailureKind, Item, ItemBody, NoticeLevel, Outcome, TextRole, Todo, Tokens, TurnEnd,
    Unrecognized, Usage,
};
use crate::json::{Object, Value};
use crate::line::Line;
use answer::{Answer, Heard};
use serde::{Deserialize, Serialize};
use tools::{Status, Update};

pub(super) use dialect::GrokDialect;

/// Reads Grok CLI's stream.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct GrokDecoder {
    stream: Stream,
    /// The texts of the answer that is being given.
    answer: Answer,
    /// How many answers the model has completed: calls of one answer share a step.
    answers: u64,
    /// What the turn used so far.
    used: Tokens,
    /// Why a call of this turn was not run, in Grok's words.
    refused: Option<String>,
    /// The program stopped the turn because of `--max-turns`, which its `end` calls cancelled.
    limited: bool,
    /// The turn has failed; an `end` behind its `error` says no more about it.
    failed: bool,
    /// How much output of the open commands was told.
    shown: Vec<(String, u64)>,
}

/// So many commands with output are remembered; the output of others is told when they end.
const MOST_SHOWN: usize = 64;

impl Objects for GrokDecoder {
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
        let kind = object.get("type").and_then(Value::raw_str).unwrap_or_default();
        self.stream.last_type.join(kind, b"");
        match kind {
            b"text" => self.piece(TextRole::Message, object, line, depth, out),
            b"thought" => self.piece(TextRole::Reasoning, object, line, depth, out),
            b"tool_call" => self.tool_call(object, line, depth, out),
            b"tool_call_update" => self.tool_update(object, line, depth, out),
            b"usage" => self.usage(object, depth, out),
            b"plan" => self.plan(object, line, depth, out),
            b"end" => self.end(object, line, depth, out),
            b"error" => self.error(object, out),
            b"max_turns_reached" => self.limited = true,
            b"auto_compact_started" | b"auto_compact_completed" | b"auto_compact_cancelled" => {
                self.compacted(kind, NoticeLevel::Info, depth, out);
            }
            b"auto_compact_failed" => self.compacted(kind, NoticeLevel::Warning, depth, out),
            // Lists of tools and commands, again and again.
            b"available_commands" => {}
            _ => self.stream.unknown(kind, line, out),
        }
    }
}

impl GrokDecoder {
    fn piece(
        &mut self,
        role: TextRole,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let Some(text) = kit::member(object, line, "data").and_then(Value::cut_str) else {
            return kit::bad_shape(line, out);
        };
        let heard = self.answer.piece(role, &text);
        self.tell(heard, depth, out);
    }

    fn tell(&mut self, heard: Heard, depth: Depth, out: &mut Vec<EventKind>) {
        let Heard { again, texts } = heard;
        if let Some(attempt) = again {
            let detail = Some("the model's stream broke off; the answer begins again".to_owned());
            out.push(EventKind::RetryScheduled { attempt, detail });
        }
        for (role, text) in texts {
            let text = if depth == Depth::Full { text } else { String::new() };
            self.stream.piece_by(role, text, depth, out);
        }
    }

    /// The model's answer is complete.
    fn end_answer(&mut self, depth: Depth, out: &mut Vec<EventKind>) {
        let texts = self.answer.end();
        self.tell(Heard { again: None, texts }, depth, out);
        self.stream.close_texts(out);
    }

    fn tool_call(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let arguments = kit::member(object, line, "rawInput");
        let Some(mut tool) = tools::begin(object, arguments) else {
            return kit::bad_shape(line, out);
        };
        self.end_answer(depth, out);
        self.failed = false;
        tool.step = Some(self.answers.to_string());
        self.stream.call(tool, out);
        if !tools::is_known_call(object) {
            kit::unrecognized(Unrecognized::UnknownType, line.bytes, out);
        }
    }

    fn tool_update(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let update = Update::read(object, line);
        let Some(id) = update.call() else {
            return kit::bad_shape(line, out);
        };
        match update.status() {
            Status::Announced => {}
            Status::Running => self.tool_output(id, &update, depth, out),
            Status::Over => self.tool_ended(&id, &update, depth, out),
            Status::Unknown => {
                return kit::unrecognized(Unrecognized::UnknownType, line.bytes, out);
            }
        }
        if !update.is_known() {
            kit::unrecognized(Unrecognized::UnknownType, line.bytes, out);
        }
    }

    /// Output of a command that runs; every line has all of it.
    fn tool_output(
        &mut self,
        call: String,
        update: &Update<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let (Some(id), Some(total)) = (self.stream.calls.item(&call), update.total_bytes()) else {
            return;
        };
        let mut before = 0;
        if let Some((_, bytes)) = self.shown.iter_mut().find(|(shown, _)| *shown == call) {
            before = std::mem::replace(bytes, total.max(*bytes));
        } else if self.shown.len() < MOST_SHOWN {
            self.shown.push((call, total));
        } else {
            return;
        }
        if total <= before {
            return;
        }
        let text = match depth {
            Depth::Skim => String::new(),
            Depth::Full => update.last_bytes(total - before),
        };
        out.push(EventKind::ItemDelta { id, role: TextRole::ToolOutput, text });
    }

    fn tool_ended(
        &mut self,
        call: &str,
        update: &Update<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        self.stream.model_acts(out);
        self.end_answer(depth, out);
        self.shown.retain(|(shown, _)| shown != call);
        let stream = &mut self.stream;
        let begin = || tools::unseen(call.to_owned());
        let (item, mut tool) = stream.calls.take_or_begin(call, &mut stream.ids, out, begin);
        update.end(&mut tool, depth);
        if let Some(Outcome::Rejected { reason } | Outcome::Denied { reason }) = &tool.outcome {
            self.refused = Some(reason.clone());
        }
        stream.call_ended(item, tool, out);
    }

    /// The end of an answer, with what it used.
    fn usage(&mut self, object: &Object<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        self.end_answer(depth, out);
        self.answers += 1;
        if let Some(tokens) = object.get("usage").and_then(tokens) {
            self.used = self.used.plus(&tokens);
            out.push(EventKind::UsageUpdated { usage: Usage::Turn(self.used) });
        }
    }

    fn plan(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let Some(entries) = object.get("entries") else {
            return kit::bad_shape(line, out);
        };
        let todo = |entry: Value<'_>| Todo {
            text: kit::first(entry, &["content"]).unwrap_or_default(),
            status: kit::todo_status(entry),
        };
        let body = ItemBody::Plan { todos: entries.elements().map(todo).collect(), text: None };
        self.stream.model_acts(out);
        self.end_answer(depth, out);
        out.push(EventKind::ItemCompleted { item: Item { id: self.stream.ids.next(), body } });
    }

    fn compacted(
        &mut self,
        kind: &[u8],
        level: NoticeLevel,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        self.end_answer(depth, out);
        let how = kind.strip_prefix(b"auto_compact_").unwrap_or_default();
        let how = String::from_utf8_lossy(how);
        self.stream.notice(level, format!("compaction of the conversation {how}"), out);
    }

    fn end(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        self.end_answer(depth, out);
        if let Some(id) = object.get("sessionId") {
            let model = object.get("modelUsage").and_then(|models| models.members().key());
            let model = model.map(|name| [b"\"", name, b"\""].concat()).unwrap_or_default();
            let about = About { model: Some(Value::new(&model)), ..About::default() };
            self.stream.name_session("grok", id, &about, out);
        }
        if std::mem::take(&mut self.failed) {
            return;
        }
        let reason = object.get("stopReason").and_then(Value::raw_str).unwrap_or_default();
        let end = match (reason, self.refused.take()) {
            (b"cancelled", _) if self.limited => TurnEnd::Limit,
            (b"end_turn" | b"cancelled", Some(words)) => failed(FailureKind::Approval, words),
            (b"end_turn", None) => TurnEnd::Done,
            (b"cancelled", None) => TurnEnd::Cancelled,
            (b"max_tokens" | b"max_turn_requests", _) => TurnEnd::Limit,
            (b"refusal", _) => TurnEnd::Refused,
            (other, _) => {
                kit::unrecognized(Unrecognized::UnknownType, line.bytes, out);
                let other = String::from_utf8_lossy(other);
                failed(FailureKind::Internal, format!("the agent stopped: `{other}`"))
            }
        };
        let usage = object.get("usage").and_then(tokens).map(Usage::Turn);
        self.end_turn(end, usage, out);
    }

    /// The last line of a run that failed; there is no `end` then.
    fn error(&mut self, object: &Object<'_>, out: &mut Vec<EventKind>) {
        let message = object.get("message").and_then(Value::string).unwrap_or_default();
        let end = kit::failed(http_status(&message), message);
        self.stream.model_acts(out);
        let usage = Some(self.used).filter(|used| used.total() > 0).map(Usage::Turn);
        self.end_turn(end, usage, out);
        self.failed = true;
    }

    fn end_turn(&mut self, end: TurnEnd, usage: Option<Usage>, out: &mut Vec<EventKind>) {
        self.answer.clear();
        self.used = Tokens::default();
        self.refused = None;
        self.limited = false;
        self.shown.clear();
        self.stream.end_turn(end, usage, None, out);
    }
}

fn failed(failure: FailureKind, message: String) -> TurnEnd {
    TurnEnd::Failed { failure, message: kit::cut(message) }
}

/// The status in an answer of the model's service that is quoted as JSON.
fn http_status(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("\"http_status\":")?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Token counts; those of the input are without cached ones.
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
            b"cache_read_input_tokens" => tokens.cache_read = count,
            b"cache_creation_input_tokens" => tokens.cache_write = count,
            b"reasoning_tokens" => tokens.reasoning = count,
            b"cost_usd" | b"total_cost_usd" => tokens.cost_usd = value.f64(),
            _ => {}
        }
    }
    Some(tokens)
}

#[cfg(test)]
mod tests;
