//! The Agent Client Protocol, version 1: what an agent writes. JSON-RPC, one message a line.
//!
//! Owned here: which line is which, and where a turn begins and ends. An answer is known by its
//! shape, since only the agent's side is seen, except that the ids of our own requests say what they
//! were about ([`speak`]): where one fails without which there is no turn, the turn has. What comes
//! before there is a session is the past of one that is loaded, told again; it is no news.
//! `calls` reads tool calls, `content` what they show, `question` what the agent asks, `serve` what
//! it wants done for it.

mod calls;
mod content;
mod dialect;
mod draft;
mod question;
mod relay;
mod request;
mod serve;
mod speak;

use super::Depth;
use super::copilot::Report;
use super::kit::{self, Objects, Stream, failed, first};
use crate::event::{EventKind, FailureKind, NoticeLevel, TextRole, Todo, Tokens, TurnEnd, Usage};
use crate::json::{Object, Value};
use crate::line::Line;
use calls::Calls;
use question::id_text;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

pub use relay::{AcpRelay, ClientWord};
pub use request::{AcpQuestion, AcpRequest};
pub use speak::AcpSpeaker;

pub(super) use dialect::AcpDialect;

/// The code of an error that says: log in first.
const AUTH_REQUIRED: i64 = -32000;

/// Reads what an agent writes that speaks ACP.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AcpDecoder {
    stream: Stream,
    calls: Calls,
    /// The agent's name and version, from its first answer.
    agent: String,
    version: Option<String>,
    model: Option<String>,
    /// The answer came that begins or continues a session: what is told now is news.
    is_live: bool,
    /// What the session has cost so far, and what it had at the end of the last turn.
    cost: Option<f64>,
    cost_before: f64,
    /// The most tokens that the context held in this turn.
    context: u64,
    /// Any answer came: what is told before the first one is of a session that is on already.
    has_answer: bool,
    /// The agent's id of the message that was told last in pieces.
    #[serde(with = "crate::saved::bytes")]
    chunked: Vec<u8>,
    /// The last prompt of ours that was answered.
    answered: u64,
    /// How the turn ends where nothing comes after the program's last report.
    trouble: Option<TurnEnd>,
    /// What a client of the agent's asked, where we hear it, and has no answer to.
    overheard: VecDeque<(String, Wish)>,
}

/// So many requests of a client are remembered.
const MOST_OVERHEARD: usize = 1024;

/// What a client wants of the agent, as far as the answer does not say it.
#[derive(Debug, Serialize, Deserialize)]
enum Wish {
    /// A turn, of the session with this digest.
    Turn(u64),
    /// To go on with this session.
    Continue(String),
    Other,
}

impl Objects for AcpDecoder {
    fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    fn last_type(&self) -> &str {
        self.stream.last_type.as_str()
    }

    fn overhear(&mut self, object: &Object<'_>) {
        let id = object.get("id").filter(|id| !id.is_null());
        let (Some(id), Some(method)) = (id, object.get("method").and_then(Value::string)) else {
            return;
        };
        let session = || first(object.get("params")?, &["sessionId"]);
        let wish = match (method.as_str(), session()) {
            ("session/prompt", _) => {
                let params = object.get("params");
                Wish::Turn(calls::digest_of_session(params.and_then(|it| it.get("sessionId"))))
            }
            ("session/load" | "session/resume", Some(session)) => Wish::Continue(session),
            _ => Wish::Other,
        };
        if self.overheard.len() == MOST_OVERHEARD {
            self.overheard.pop_front();
        }
        self.overheard.push_back((relay::key(id), wish));
    }

    fn object(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let get = |key: &str| kit::member(object, line, key);
        let id = get("id").filter(|id| !id.is_null());
        let params = get("params").unwrap_or(Value::new(b"{}"));
        if let Some(method) = get("method").and_then(Value::raw_str) {
            return match id {
                Some(id) => self.request(method, id, params, depth, line, out),
                None => self.notification(method, params, depth, line, out),
            };
        }
        self.has_answer = true;
        if let Some(error) = get("error") {
            self.stream.last_type.set("error");
            return self.error(id, error, depth, out);
        }
        match get("result") {
            // A prompt that is answered once more: nobody waits for it, and no turn is on.
            Some(result) if result.get("stopReason").is_some() && self.is_answered(id) => {
                self.stream.last_type.set("result");
            }
            Some(result) => {
                self.stream.last_type.set("result");
                self.answer(id, result, depth, out);
            }
            None => self.stream.unknown(b"", line, out),
        }
    }
}

impl AcpDecoder {
    fn notification(
        &mut self,
        method: &[u8],
        params: Value<'_>,
        depth: Depth,
        line: &Line<'_>,
        out: &mut Vec<EventKind>,
    ) {
        match method {
            b"session/update" => self.update(params, depth, line, out),
            b"$/cancel_request" => {
                // The agent does not want to know any more.
                self.stream.last_type.set("$/cancel_request");
                let id = params.get("requestId").or_else(|| params.get("id"));
                out.push(EventKind::resolved(id_text(id), "withdrawn", "agent"));
            }
            // A question that was put elsewhere is settled.
            b"elicitation/complete" | b"auth/status_update" => {
                self.stream.last_type.join(method, b"");
            }
            // Extensions have names of their own, and what they say is nobody's business but theirs.
            _ if method.starts_with(b"_") => self.stream.last_type.join(method, b""),
            _ => self.stream.unknown(method, line, out),
        }
    }

    fn update(
        &mut self,
        params: Value<'_>,
        depth: Depth,
        line: &Line<'_>,
        out: &mut Vec<EventKind>,
    ) {
        let Some((session, update)) = of_session(params) else {
            self.stream.last_type.set("session/update");
            return kit::bad_shape(line, out);
        };
        let kind = calls::word(update, "sessionUpdate");
        self.stream.last_type.join(b"session/update", kind);
        if !self.is_live && !self.has_answer {
            // The recording begins in the middle of a session.
            self.is_live = true;
            self.name_session(session.and_then(Value::string), out);
        }
        if !self.is_live {
            // Of whoever loads a session for himself we see no answer that names it.
            let is_plain = matches!(
                kind,
                b"available_commands_update" | b"config_option_update" | b"session_info_update"
            );
            if is_plain {
                self.name_session(session.and_then(Value::string), out);
            }
            return self.settings(kind, update);
        }
        match kind {
            b"agent_message_chunk" => self.chunk(TextRole::Message, update, depth, out),
            b"agent_thought_chunk" => self.chunk(TextRole::Reasoning, update, depth, out),
            b"agent_message" => self.whole(TextRole::Message, update, depth, out),
            b"agent_thought" => self.whole(TextRole::Reasoning, update, depth, out),
            b"tool_call" | b"tool_call_update" => {
                self.trouble = None;
                self.stream.model_acts(out);
                self.stream.close_texts(out);
                self.calls.of_session(session);
                self.calls.told(update, &mut self.stream.ids, depth, line, out);
            }
            b"tool_call_content_chunk" => {
                self.calls.of_session(session);
                self.calls.chunk(update, depth, out);
            }
            b"plan" => self.plan(todos(update), None, depth, out),
            b"plan_update" => self.plan_update(update, depth, line, out),
            b"plan_removed" => {
                self.stream.notice(NoticeLevel::Info, "a plan was removed".to_owned(), out);
            }
            b"state_update" => self.state(update, depth, line, out),
            b"usage_update" => self.used(update, out),
            b"notice" => {
                let level = match calls::word(update, "severity") {
                    b"error" => NoticeLevel::Error,
                    b"warning" | b"warn" => NoticeLevel::Warning,
                    b"info" | b"" => NoticeLevel::Info,
                    other => {
                        kit::unknown_value("severity", other, line, out);
                        NoticeLevel::Warning
                    }
                };
                let mut text = first(update, &["message", "text", "title"]).unwrap_or_default();
                if let Some(more) = first(update, &["description"]) {
                    text = format!("{text}: {more}");
                }
                self.stream.notice(level, text, out);
            }
            b"compaction" | b"compaction_update" => {
                let word = calls::word(update, "status");
                let error = first(update, &["error"]).map(|error| format!(": {error}"));
                let (level, how) = match word {
                    b"failed" => (NoticeLevel::Warning, "failed"),
                    b"cancelled" => (NoticeLevel::Warning, "was cancelled"),
                    b"completed" => (NoticeLevel::Info, "is complete"),
                    _ => (NoticeLevel::Info, "began"),
                };
                if !matches!(word, b"" | b"in_progress" | b"failed" | b"cancelled" | b"completed") {
                    kit::unknown_value("status", word, line, out);
                }
                let text = format!("compaction of the context {how}{}", error.unwrap_or_default());
                self.stream.notice(level, text, out);
            }
            // What was asked comes back; whoever asked knows it.
            b"user_message_chunk"
            | b"user_message"
            | b"available_commands_update"
            | b"compaction_summary_chunk"
            | b"terminal_update"
            | b"terminal_output_chunk" => {}
            b"current_mode_update" | b"config_option_update" | b"session_info_update" => {
                self.settings(kind, update);
            }
            kind if kind.starts_with(b"_") => {}
            _ => self.stream.unknown(kind, line, out),
        }
    }

    fn chunk(&mut self, role: TextRole, update: Value<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        let Some(content) = update.get("content") else { return };
        if let Some(id) = update.get("messageId") {
            self.chunked.clear();
            self.chunked.extend_from_slice(id.raw());
        }
        if let Some(text) = content.get("text") {
            // One tells as a message what came of our wish for a mode, before anything was asked.
            if !self.stream.in_turn && text.raw().starts_with(b"\"[MODE_UPDATE]") {
                let text = text.string().unwrap_or_default();
                return self.stream.notice(NoticeLevel::Info, text, out);
            }
            let report = Report::read(&self.agent, text).filter(|_| role == TextRole::Message);
            self.trouble = report.as_ref().and_then(Report::end);
            if let Some(Report { level, text }) = report {
                self.stream.close_texts(out);
                return self.stream.notice(level, text, out);
            }
            return self.stream.piece(role, text, depth, out);
        }
        // An image, a sound, a link: named, since it cannot be shown.
        let named = content::named(content);
        self.stream.piece_by(role, named, depth, out);
    }

    /// What the settings of a session are by now.
    fn settings(&mut self, kind: &[u8], update: Value<'_>) {
        if kind == b"config_option_update"
            && let Some(model) = model_of(update)
        {
            self.model = Some(model);
        }
    }

    /// What the session costs so far, and how many tokens its context holds. Each request sends the
    /// context, so the turn used at least that many; the end of the turn tells the sum.
    fn used(&mut self, update: Value<'_>, out: &mut Vec<EventKind>) {
        let cost = update.get("cost");
        let in_dollars =
            cost.and_then(|cost| cost.get("currency")).is_none_or(|it| it.is_str("USD"));
        let amount = cost.and_then(|cost| cost.get("amount")).and_then(Value::f64);
        self.cost = amount.filter(|amount| amount.is_finite() && in_dollars).or(self.cost);
        let held = update.get("used").and_then(Value::u64).unwrap_or(0);
        self.context = self.context.max(held);
        let cost_usd = self.cost.map(|cost| cost - self.cost_before);
        if self.context > 0 || cost_usd.is_some() {
            let tokens = Tokens { input: self.context, cost_usd, ..Tokens::default() };
            out.push(EventKind::UsageUpdated { usage: Usage::Turn(tokens) });
        }
    }

    fn request(
        &mut self,
        method: &[u8],
        id: Value<'_>,
        params: Value<'_>,
        depth: Depth,
        line: &Line<'_>,
        out: &mut Vec<EventKind>,
    ) {
        self.stream.last_type.join(method, b"");
        match method {
            b"session/request_permission" => {
                self.stream.model_acts(out);
                self.stream.close_texts(out);
                let about = params.get("toolCall").unwrap_or(Value::new(b"{}"));
                self.calls.of_session(params.get("sessionId"));
                let tool = self.calls.asked(about, &mut self.stream.ids, depth, line, out);
                out.push(question::permission(id, params, tool));
            }
            b"elicitation/create" => out.push(question::elicitation(id, params)),
            _ if method.starts_with(b"fs/") || method.starts_with(b"terminal/") => {
                if let Some(Ok(want)) = serve::wanted(method, params) {
                    self.stream.model_acts(out);
                    self.calls.of_session(params.get("sessionId"));
                    self.calls.served(&id_text(Some(id)), &want, &mut self.stream.ids, out);
                }
            }
            _ if method.starts_with(b"_") => {}
            _ => self.stream.unknown(method, line, out),
        }
    }

    /// An answer to a request of ours, or of whoever else speaks to this agent.
    fn answer(
        &mut self,
        id: Option<Value<'_>>,
        result: Value<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        if id.is_some_and(speak::is_hello) {
            self.answered = 0;
        }
        let wish = self.wish_of(id);
        let mut session = None;
        let mut stop = None;
        let mut usage = None;
        for (key, value) in result.members() {
            match key {
                b"agentInfo" => {
                    self.agent = first(value, &["name"]).unwrap_or_default();
                    self.version = first(value, &["version"]);
                }
                b"sessionId" => session = Some(value),
                b"stopReason" => stop = value.raw_str(),
                b"usage" => usage = Some(value),
                b"_meta" => {
                    let quota = value.get("quota").and_then(|quota| quota.get("token_count"));
                    usage = usage.or(quota);
                }
                b"configOptions" | b"models" => {
                    self.model = model_of(result).or_else(|| self.model.take());
                }
                _ => {}
            }
        }
        if let Some(session) = session {
            self.is_live = true;
            self.name_session(session.string(), out);
        } else if let Some(Wish::Continue(session)) = &wish {
            self.is_live = true;
            self.name_session(Some(session.clone()), out);
        } else if let Some(session) = id.and_then(speak::continued) {
            self.is_live = true;
            self.name_session(Some(session), out);
        }
        if let Some(stop) = stop {
            self.is_live = true;
            let end = match (end_of(stop), self.trouble.take()) {
                (TurnEnd::Done, Some(trouble)) => trouble,
                (end, _) => end,
            };
            if self.overheard.iter().any(|(_, wish)| matches!(wish, Wish::Turn(_))) {
                // A client may have turns of several sessions on; they are one until the last ends.
                if let Some(Wish::Turn(session)) = wish {
                    self.calls.abandon_of(session, depth, out);
                }
                let word = String::from_utf8_lossy(stop);
                let text = format!("a turn of one of several sessions ended: {word}");
                return self.stream.notice(NoticeLevel::Info, text, out);
            }
            self.end_turn(end, usage.map(tokens), depth, out);
        }
    }

    /// What a client wanted by the request of that id, where we heard it.
    fn wish_of(&mut self, id: Option<Value<'_>>) -> Option<Wish> {
        let key = relay::key(id?);
        let place = self.overheard.iter().position(|(open, _)| *open == key)?;
        self.overheard.remove(place).map(|(_, wish)| wish)
    }

    fn error(
        &mut self,
        id: Option<Value<'_>>,
        error: Value<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let mut message = first(error, &["message"]).unwrap_or_default();
        let data = error.get("data").filter(|data| !data.is_null());
        if let Some(details) = data.and_then(details)
            && !message.contains(&details)
        {
            message = if message.is_empty() { details } else { format!("{message}: {details}") };
        }
        let code = error.get("code").and_then(Value::i64);
        let about = id.map_or(speak::About::Unknown, speak::about);
        let wish = self.wish_of(id);
        let others = self.overheard.iter().any(|(_, wish)| matches!(wish, Wish::Turn(_)));
        let ends_turn = match (about, wish) {
            (_, Some(Wish::Turn(_))) => !others,
            (_, Some(_)) | (speak::About::Other, None) => false,
            (speak::About::Needed, None) => true,
            (speak::About::Unknown, None) => self.stream.in_turn,
        };
        if ends_turn && self.is_answered(id) {
            return; // Nobody waits for it.
        }
        if !ends_turn {
            let text = format!("a request failed: {message}");
            return self.stream.notice(NoticeLevel::Error, text, out);
        }
        let end = match code {
            Some(AUTH_REQUIRED) => {
                TurnEnd::Failed { failure: FailureKind::Auth, message: kit::cut(message) }
            }
            _ => failed(None, message),
        };
        self.end_turn(end, None, depth, out);
    }

    /// Whether that is an answer to a prompt of ours that has one already; it has from now on.
    fn is_answered(&mut self, id: Option<Value<'_>>) -> bool {
        let Some(turn) = id.and_then(speak::turn) else { return false };
        let is_answered = turn <= self.answered;
        self.answered = self.answered.max(turn);
        is_answered
    }

    fn end_turn(
        &mut self,
        end: TurnEnd,
        tokens: Option<Tokens>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let cost = self.cost.map(|cost| cost - self.cost_before);
        self.cost_before = self.cost.unwrap_or(self.cost_before);
        let context = std::mem::take(&mut self.context);
        let sent = Some(Tokens { input: context, ..Tokens::default() }).filter(|_| context > 0);
        let tokens = match (tokens.or(sent), cost) {
            (None, None) => None,
            (tokens, cost) => Some(Tokens { cost_usd: cost, ..tokens.unwrap_or_default() }),
        };
        self.stream.model_acts(out);
        self.stream.close_texts(out);
        self.calls.abandon(depth, out);
        self.stream.end_turn(end, tokens.map(Usage::Turn), None, out);
    }

    fn name_session(&mut self, id: Option<String>, out: &mut Vec<EventKind>) {
        let agent = if self.agent.is_empty() { "acp" } else { &self.agent };
        let (version, model) = (self.version.clone(), self.model.clone());
        self.stream.name_session_as(agent, id.unwrap_or_default(), version, model, out);
    }
}

/// What the protocol's word for the end of a turn means.
fn end_of(stop: &[u8]) -> TurnEnd {
    match stop {
        b"end_turn" => TurnEnd::Done,
        b"max_tokens" | b"max_turn_requests" => TurnEnd::Limit,
        b"refusal" => TurnEnd::Refused,
        b"cancelled" => TurnEnd::Cancelled,
        other => failed(None, format!("the turn stopped: {}", String::from_utf8_lossy(other))),
    }
}

/// The session that an update is of, and the update.
fn of_session(params: Value<'_>) -> Option<(Option<Value<'_>>, Value<'_>)> {
    let (mut session, mut update) = (None, None);
    let mut members = params.members();
    while let Some(key) = members.key() {
        match key {
            b"sessionId" => session = members.value(),
            // One that is cut off still says something.
            b"update" => update = members.value().or_else(|| members.rest()),
            _ => {
                members.value();
            }
        }
    }
    update.map(|update| (session, update))
}

/// The model that is in use: an option of that category, or the older list of models.
fn model_of(holder: Value<'_>) -> Option<String> {
    let options = holder.get("configOptions").into_iter().flat_map(Value::elements);
    let mut chosen = options.filter(|it| it.get("category").is_some_and(|it| it.is_str("model")));
    let of_option = chosen.find_map(|it| it.get("currentValue")?.string());
    of_option.or_else(|| holder.get("models")?.get("currentModelId")?.string())
}

/// What a turn used: in the words of the protocol, or of those who were earlier.
fn tokens(usage: Value<'_>) -> Tokens {
    let mut tokens = Tokens::default();
    for (key, value) in usage.members() {
        let n = value.u64().unwrap_or(0);
        match key {
            b"inputTokens" | b"input_tokens" => tokens.input = n,
            b"outputTokens" | b"output_tokens" => tokens.output = n,
            b"cachedReadTokens" | b"cachedInputTokens" | b"cached_tokens" => tokens.cache_read = n,
            b"cachedWriteTokens" => tokens.cache_write = n,
            b"thoughtTokens" | b"reasoningOutputTokens" | b"thought_tokens" => tokens.reasoning = n,
            _ => {}
        }
    }
    tokens
}

fn todos(update: Value<'_>) -> Vec<Todo> {
    let entries = update.get("entries").into_iter().flat_map(Value::elements);
    let todo = |entry: Value<'_>| Todo {
        text: first(entry, &["content"]).unwrap_or_default(),
        status: kit::todo_status(entry),
    };
    entries.map(todo).collect()
}

/// What the data of an error says, for people.
fn details(data: Value<'_>) -> Option<String> {
    let said = data.string().or_else(|| first(data, &["details", "message", "reason", "error"]));
    said.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
