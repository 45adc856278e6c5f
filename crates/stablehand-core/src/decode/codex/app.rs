//! The server's side of `codex app-server`: JSON lines with `method`, `params`, `id`, `result`.
//!
//! Owned here: which line is which. Only what the server writes is seen, so an answer is known by
//! its shape and not by its question, except that the ids of our own requests tell which of them
//! make a turn: where such a one fails, the turn has. Other
//! agents that work for this one speak on the same stream under other thread ids: their calls and
//! questions are told, their words and turns are not.

use super::super::kit::{member, unknown_value};
use super::super::{Decode, Depth};
use super::asides::{self, Aside};
use super::question;
use super::speak::{THREAD, TURN};
use super::text::Part as TextPart;
use super::thread::{Phase, Thread, todos, usage};
use super::trouble;
use super::wire::{Wire, said};
use super::{not_an_object, oversized, unknown, unrecognized, words};
use crate::event::{EventKind, NoticeLevel, TextRole, TurnEnd, Unrecognized, Usage};
use crate::json::{self, Object, Scan, Value};
use crate::line::{Line, Part};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// Reads what `codex app-server` writes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CodexAppDecoder {
    thread: Thread,
    #[serde(skip)]
    last_type: String,
    /// The version, from the answer to `initialize`.
    version: Option<String>,
    /// What the thread has used so far.
    used: Option<Usage>,
}

impl Decode for CodexAppDecoder {
    fn line(&mut self, line: &Line<'_>, scan: &Scan<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        if matches!(line.part, Part::Middle | Part::Last) {
            return;
        }
        self.last_type.clear();
        match (line.part, scan) {
            (Part::Whole, Scan::Object(object)) => self.object(object, line, depth, out),
            (Part::Whole, _) => not_an_object(&mut self.thread, line, scan, out),
            _ => match json::scan_prefix(line.bytes) {
                Some(object) => self.object(&object, line, depth, out),
                None => oversized(line.bytes, out),
            },
        }
    }

    fn finish(&mut self, depth: Depth, out: &mut Vec<EventKind>) {
        self.thread.texts.close_all(depth, out);
    }

    fn last_type(&self) -> &str {
        &self.last_type
    }

    fn save(&self) -> Option<Box<RawValue>> {
        to_raw_value(self).ok()
    }
}

/// The members of `params` that most notifications have.
#[derive(Debug, Default)]
struct Params<'a> {
    thread_id: Option<Value<'a>>,
    item_id: &'a [u8],
    item: Option<Value<'a>>,
    delta: Option<Value<'a>>,
    /// Which part of a text a piece is of.
    part: TextPart,
}

impl<'a> Params<'a> {
    fn read(params: Value<'a>) -> Self {
        let mut read = Params::default();
        let mut members = params.members();
        while let Some(key) = members.key() {
            let Some(value) = members.value().or_else(|| members.rest()) else {
                break;
            };
            match key {
                b"threadId" => read.thread_id = Some(value),
                b"itemId" => read.item_id = value.raw_str().unwrap_or_default(),
                b"item" => read.item = Some(value),
                b"delta" => read.delta = Some(value),
                b"summaryIndex" => read.part = (false, value.u64().unwrap_or(0)),
                b"contentIndex" => read.part = (true, value.u64().unwrap_or(0)),
                _ => {}
            }
        }
        read
    }
}

impl CodexAppDecoder {
    fn object(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let params = member(object, line, "params").unwrap_or(Value::new(b"{}"));
        if let Some(method) = object.get("method").and_then(Value::raw_str) {
            self.last_type.push_str(words(method));
            if let Some(id) = object.get("id").filter(|id| !id.is_null()) {
                return self.request(id, params, out);
            }
            return self.notification(method, params, line, depth, out);
        }
        if let Some(error) = object.get("error") {
            self.last_type.push_str("error");
            if is_turn(object.get("id")) {
                return self.thread.turn_ended(
                    trouble::end(Some(error)),
                    None,
                    self.used,
                    None,
                    depth,
                    out,
                );
            }
            let message = said(error.get("message")).unwrap_or_default();
            let text = format!("a request failed: {}", trouble::unpacked(message));
            return self.thread.notice(NoticeLevel::Error, text, out);
        }
        match member(object, line, "result") {
            Some(result) => {
                self.last_type.push_str("result");
                self.answer(result, out);
            }
            None => unknown(line, out),
        }
    }

    fn notification(
        &mut self,
        method: &[u8],
        params: Value<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        match method {
            b"item/agentMessage/delta" => self.piece(TextRole::Message, params, depth, out),
            b"item/reasoning/summaryTextDelta" | b"item/reasoning/textDelta" => {
                self.piece(TextRole::Reasoning, params, depth, out);
            }
            b"item/commandExecution/outputDelta" | b"item/fileChange/outputDelta" => {
                self.piece(TextRole::ToolOutput, params, depth, out);
            }
            b"item/mcpToolCall/progress" => {
                let read = Params::read(params);
                if let Some(message) = params.get("message") {
                    self.thread.calls.output(read.item_id, message, depth, out);
                }
            }
            b"item/started" => self.item(Phase::Started, params, line, depth, out),
            b"item/updated" => self.item(Phase::Updated, params, line, depth, out),
            b"item/completed" => self.item(Phase::Completed, params, line, depth, out),
            b"thread/started" => {
                let thread = params.get("thread").filter(|_| !self.thread.is_named());
                if let Some(thread) = thread
                    && said(thread.get("parentThreadId")).is_none()
                {
                    self.name_thread(thread, thread, out);
                }
            }
            b"turn/started" => {
                let id = params.get("threadId");
                if !self.thread.is_foreign(id) {
                    self.thread.named(id, self.version.clone(), None, None, out);
                    self.thread.turn_announced();
                }
            }
            b"turn/completed" => self.turn_completed(params, line, depth, out),
            b"turn/plan/updated" => {
                if !self.thread.is_foreign(params.get("threadId")) {
                    let text = said(params.get("explanation"));
                    self.thread.plan(todos(params.get("plan")), text, depth, out);
                }
            }
            b"thread/tokenUsage/updated" => {
                let total = params.get("tokenUsage").and_then(|used| used.get("total"));
                if let Some(used) = total.and_then(usage)
                    && !self.thread.is_foreign(params.get("threadId"))
                {
                    self.used = Some(used);
                    out.push(EventKind::UsageUpdated { usage: used });
                }
            }
            b"serverRequest/resolved" => {
                // The decision itself went the other way; what came of it, the item tells.
                let id = question::id_text(params.get("requestId"));
                out.push(EventKind::resolved(id, "answered", "client"));
            }
            b"error" => self.error(params, out),
            b"warning"
            | b"guardianWarning"
            | b"configWarning"
            | b"deprecationNotice"
            | b"windows/worldWritableWarning" => self.warning(params, out),
            b"model/rerouted" => {
                let word = |key| said(params.get(key)).unwrap_or_default();
                let text = format!("the model was changed to {}", word("toModel"));
                self.thread.notice(NoticeLevel::Warning, text, out);
            }
            b"mcpServer/startupStatus/updated" => {
                let word = |key| said(params.get(key)).unwrap_or_default();
                match params.get("status").and_then(Value::raw_str).unwrap_or_default() {
                    b"failed" => {
                        let text = format!("{} did not start: {}", word("name"), word("error"));
                        self.thread.notice(NoticeLevel::Warning, text, out);
                    }
                    b"" | b"starting" | b"ready" | b"cancelled" => {}
                    other => unknown_value("status of an MCP server", other, line, out),
                }
            }
            _ => match asides::read(method, params) {
                Some(Aside::Nothing) => {}
                Some(Aside::Session) => self.configured(params, out),
                Some(Aside::Notice(level, text)) => self.thread.notice(level, text, out),
                None => unknown(line, out),
            },
        }
    }

    fn piece(&mut self, role: TextRole, params: Value<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        let read = Params::read(params);
        let Some(delta) = read.delta else {
            return;
        };
        if role == TextRole::ToolOutput || !self.thread.is_foreign(read.thread_id) {
            self.thread.piece(read.item_id, role, read.part, delta, depth, out);
        }
    }

    fn item(
        &mut self,
        phase: Phase,
        params: Value<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let read = Params::read(params);
        let Some(item) = read.item.filter(|item| item.is_object()) else {
            return unrecognized(Unrecognized::BadShape, line.bytes, out);
        };
        let mut wire = Wire::default();
        wire.read(item);
        self.last_type.push('/');
        self.last_type.push_str(words(wire.word));
        wire.tell_unknown(line, out);
        let is_foreign = self.thread.is_foreign(read.thread_id);
        self.thread.item(phase, &wire, is_foreign, depth, out);
    }

    fn turn_completed(
        &mut self,
        params: Value<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        if self.thread.is_foreign(params.get("threadId")) {
            return;
        }
        let turn = params.get("turn").unwrap_or(params);
        let status = turn.get("status").and_then(Value::raw_str).unwrap_or_default();
        let end = match status {
            b"completed" => TurnEnd::Done,
            b"interrupted" | b"cancelled" | b"aborted" => TurnEnd::Cancelled,
            _ => trouble::end(turn.get("error").filter(|error| !error.is_null())),
        };
        if !matches!(status, b"completed" | b"interrupted" | b"cancelled" | b"aborted" | b"failed")
        {
            unknown_value("status of the turn", status, line, out);
        }
        for item in turn.get("items").into_iter().flat_map(Value::elements) {
            let mut wire = Wire::default();
            wire.read(item);
            wire.tell_unknown(line, out);
        }
        let text = match depth {
            Depth::Skim => None,
            Depth::Full => turn.get("items").and_then(last_message),
        };
        let duration = turn.get("durationMs").and_then(Value::u64);
        self.thread.turn_ended(end, text, self.used, duration, depth, out);
    }

    /// `{error:{message,codexErrorInfo,additionalDetails},willRetry}`
    fn error(&mut self, params: Value<'_>, out: &mut Vec<EventKind>) {
        let error = params.get("error").unwrap_or(params);
        let mut message = said(error.get("message")).unwrap_or_default();
        if let Some(details) = said(error.get("additionalDetails"))
            && !message.contains(&details)
        {
            message = format!("{message} ({details})");
        }
        let will_retry = params.get("willRetry").and_then(Value::bool) == Some(true);
        self.thread.trouble(NoticeLevel::Error, message, will_retry, out);
    }

    fn warning(&mut self, params: Value<'_>, out: &mut Vec<EventKind>) {
        let text = said(params.get("message")).or_else(|| said(params.get("summary")));
        let details = said(params.get("details")).map(|details| format!(": {details}"));
        let text = text.unwrap_or_default() + &details.unwrap_or_default();
        let text = if text.is_empty() { self.last_type.clone() } else { text };
        self.thread.notice(NoticeLevel::Warning, text, out);
    }

    /// The server asks us something.
    fn request(&mut self, id: Value<'_>, params: Value<'_>, out: &mut Vec<EventKind>) {
        let item = params.get("itemId").or_else(|| params.get("callId"));
        let item = item.and_then(Value::raw_str).unwrap_or_default();
        let about = self.thread.calls.headline(item);
        out.push(question::asked(&self.last_type, Some(id), params, about));
    }

    /// The server answers us. Only the answers that begin or continue a thread say something new:
    /// they have its settings beside it.
    fn answer(&mut self, result: Value<'_>, out: &mut Vec<EventKind>) {
        if let Some(agent) = result.get("userAgent").and_then(Value::string) {
            let version = agent.split_once('/').map(|(_, rest)| rest);
            let version = version.and_then(|rest| rest.split_whitespace().next());
            self.version = version.map(ToOwned::to_owned);
        }
        if let Some(thread) = result.get("thread")
            && result.get("approvalPolicy").is_some()
        {
            self.name_thread(thread, result, out);
        }
    }

    /// `sessionConfigured` of older versions: the thread and its model.
    fn configured(&mut self, params: Value<'_>, out: &mut Vec<EventKind>) {
        let (version, model) = (self.version.clone(), said(params.get("model")));
        let id = params.get("sessionId").filter(|_| !self.thread.is_named());
        self.thread.named(id, version, model, said(params.get("cwd")), out);
    }

    /// Takes a thread for the one that we work in.
    fn name_thread(&mut self, thread: Value<'_>, settings: Value<'_>, out: &mut Vec<EventKind>) {
        let version = said(thread.get("cliVersion")).or_else(|| self.version.clone());
        let either = |key| said(settings.get(key)).or_else(|| said(thread.get(key)));
        self.thread.named(thread.get("id"), version, either("model"), either("cwd"), out);
    }
}

/// Whether an answer is to a request of ours without which there is no turn.
fn is_turn(id: Option<Value<'_>>) -> bool {
    let id = id.and_then(Value::raw_str).unwrap_or_default();
    id == THREAD.as_bytes() || id.starts_with(TURN.as_bytes())
}

/// The text of the last message among the items of a turn.
fn last_message(items: Value<'_>) -> Option<String> {
    let is_message = |item: &Value<'_>| item.get("type").is_some_and(|t| t.is_str("agentMessage"));
    said(items.elements().filter(is_message).last()?.get("text"))
}
