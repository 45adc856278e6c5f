//! Between a client and an agent that speak ACP with each other: what is open, and our own words.
//!
//! Owns which requests of either side wait for an answer, so that whoever stands between them knows
//! when the agent is at work, when it waits for the client, and whom it owes an answer when it is
//! gone. Passes nothing on itself, judges nothing, and never changes a word of either side.

use super::super::kit::{first, member};
use super::question::id_text;
use crate::json::{Object, Value};
use crate::line::Line;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::VecDeque;

/// So many requests of one side are remembered; one that asks without end pushes out its oldest.
const MOST: usize = 4096;

/// A request that waits for its answer.
#[derive(Debug)]
struct Open {
    key: String,
    /// The id as it was written: a number stays one.
    id: Box<RawValue>,
    method: String,
    session: Option<String>,
}

/// What a line of the client means for whoever watches the agent.
#[derive(Debug, PartialEq, Eq)]
pub enum ClientWord {
    /// It wants the agent to do something.
    Request,
    /// A prompt, as far as it is text.
    Prompt(String),
    /// It has answered a request of the agent.
    Answer {
        /// Of which id.
        id: String,
        /// Which option it chose, where it was asked for one.
        choice: Option<String>,
    },
    /// Anything else.
    Other,
}

/// What is open between a client and an agent.
#[derive(Debug, Default)]
pub struct AcpRelay {
    /// By the client, of the agent.
    asked: VecDeque<Open>,
    /// By the agent, of the client.
    wanted: VecDeque<Open>,
    /// The client shows notices.
    notices: bool,
}

impl AcpRelay {
    /// Returns a prompt in a line of the client, as text to be held against rules: with the files that
    /// it brings along. Nothing is made of the line yet.
    pub fn prompt_in(object: &Object<'_>, line: &Line<'_>) -> Option<String> {
        let word = Word::read(object, line);
        let is_prompt = word.method.as_deref() == Some("session/prompt");
        (is_prompt && word.id.is_some()).then(|| whole_prompt(word.params))
    }

    /// Words to the client, whose prompt the agent does not get.
    pub fn refuse_prompt(object: &Object<'_>, line: &Line<'_>, why: &str, out: &mut Vec<u8>) {
        let id = Word::read(object, line).id.map_or(&b"null"[..], Value::raw);
        if let Ok(id) = serde_json::from_slice::<Box<RawValue>>(id) {
            answer(&id, "error", &json!({ "code": -32602, "message": why }), out);
        }
    }

    /// The client said this. Of a line that is too long, the beginning.
    pub fn client_said(&mut self, object: &Object<'_>, line: &Line<'_>) -> ClientWord {
        let word = Word::read(object, line);
        match (word.method, word.id) {
            (Some(method), Some(id)) => {
                if method == "initialize" {
                    let can = word.params.get("clientCapabilities");
                    let notices = can.and_then(|can| can.get("session")?.get("notices"));
                    self.notices = notices.is_some_and(Value::is_object);
                }
                let prompt = (method == "session/prompt").then(|| prompt_text(word.params));
                remember(&mut self.asked, id, method, word.params);
                prompt.map_or(ClientWord::Request, ClientWord::Prompt)
            }
            (_, None) => ClientWord::Other,
            (None, Some(id)) => {
                let key = key(id);
                let known = take(&mut self.wanted, &key);
                let is_choice = known.is_some_and(|it| it.method == "session/request_permission");
                let chosen = || {
                    let outcome = object.get("result")?.get("outcome")?;
                    first(outcome, &["optionId", "outcome"])
                };
                let choice = is_choice.then(|| chosen().unwrap_or_else(|| "failed".to_owned()));
                ClientWord::Answer { id: id_text(Some(id)), choice }
            }
        }
    }

    /// The agent said this, and it is passed on.
    pub fn agent_said(&mut self, object: &Object<'_>, line: &Line<'_>) {
        let word = Word::read(object, line);
        match (word.method, word.id) {
            (Some(method), Some(id)) => remember(&mut self.wanted, id, method, word.params),
            (Some(method), None) if method == "$/cancel_request" => {
                if let Some(id) = word.params.get("requestId") {
                    take(&mut self.wanted, &key(id));
                }
            }
            (None, Some(id)) => {
                take(&mut self.asked, &key(id));
            }
            _ => {}
        }
    }

    /// Whether the agent has something to do that it can be late with. A login may take as long as
    /// a person takes, and what extensions are for nobody knows.
    pub fn is_busy(&self) -> bool {
        self.asked.iter().any(|it| it.method == "initialize" || it.method.starts_with("session/"))
    }

    /// Whether the agent waits for the client.
    pub fn waits_for_client(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// How many requests of the client have no answer.
    pub fn unanswered(&self) -> usize {
        self.asked.len()
    }

    /// Whether a prompt has no answer yet.
    pub fn has_prompt(&self) -> bool {
        self.prompts().any(|it| it.session.is_some())
    }

    fn prompts(&self) -> impl Iterator<Item = &Open> {
        self.asked.iter().filter(|it| it.method == "session/prompt")
    }

    /// The sessions in which a prompt has no answer, each once.
    pub fn prompted_sessions(&self) -> Vec<String> {
        let mut sessions = Vec::new();
        for open in self.prompts() {
            if let Some(session) = open.session.as_ref().filter(|it| !sessions.contains(*it)) {
                sessions.push(session.clone());
            }
        }
        sessions
    }

    /// Words to the agent: every turn that is on is to end.
    pub fn cancel(&self, out: &mut Vec<u8>) {
        for session in self.prompted_sessions() {
            super::speak::cancel(&session, out);
        }
    }

    /// Words to the client, in every session in which it waits for a turn: what was seen and done.
    pub fn explain(&self, text: &str, about: &serde_json::Value, out: &mut Vec<u8>) {
        for session in self.prompted_sessions() {
            let meta = json!({ "stablehand": about });
            let update = if self.notices {
                json!({
                    "sessionUpdate": "notice", "severity": "warning", "title": text, "_meta": meta,
                })
            } else {
                let content = json!({ "type": "text", "text": format!("{text}\n") });
                json!({ "sessionUpdate": "agent_thought_chunk", "content": content, "_meta": meta })
            };
            let params = json!({ "sessionId": session, "update": update });
            let notice = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
            super::speak::line(&notice, out);
        }
    }

    /// Words to the client for an agent that cannot answer any more: one error for each request.
    pub fn answer_all(&mut self, message: &str, about: &serde_json::Value, out: &mut Vec<u8>) {
        for open in std::mem::take(&mut self.asked) {
            let data = json!({ "stablehand": about });
            let error = json!({ "code": -32603, "message": message, "data": data });
            answer(&open.id, "error", &error, out);
        }
    }
}

/// An answer to a request of that id, which is given back as it was written.
pub(super) fn answer(id: &RawValue, how: &str, what: &serde_json::Value, out: &mut Vec<u8>) {
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{how}\":{what}}}\n");
    out.extend_from_slice(line.as_bytes());
}

/// The parts of a message.
struct Word<'a> {
    method: Option<String>,
    id: Option<Value<'a>>,
    params: Value<'a>,
}

impl<'a> Word<'a> {
    fn read(object: &Object<'a>, line: &Line<'a>) -> Word<'a> {
        let get = |key: &str| member(object, line, key);
        Word {
            method: get("method").and_then(Value::string),
            id: get("id").filter(|id| !id.is_null()),
            params: get("params").unwrap_or(Value::new(b"{}")),
        }
    }
}

/// An id by which a request and its answer are known as a pair, however either was written.
pub(super) fn key(id: Value<'_>) -> String {
    match (id.string(), id.i64()) {
        (Some(text), _) => format!("\"{text}"),
        (None, Some(number)) => number.to_string(),
        (None, None) => String::from_utf8_lossy(id.raw()).into_owned(),
    }
}

fn remember(open: &mut VecDeque<Open>, id: Value<'_>, method: String, params: Value<'_>) {
    let Ok(raw) = serde_json::from_slice::<Box<RawValue>>(id.raw()) else { return };
    if open.len() == MOST {
        open.pop_front();
    }
    let session = first(params, &["sessionId"]);
    open.push_back(Open { key: key(id), id: raw, method, session });
}

fn take(open: &mut VecDeque<Open>, key: &str) -> Option<Open> {
    let place = open.iter().position(|it| it.key == key)?;
    open.remove(place)
}

/// The text of a prompt.
fn prompt_text(params: Value<'_>) -> String {
    let blocks = params.get("prompt").into_iter().flat_map(Value::elements);
    let texts: Vec<String> = blocks.filter_map(|block| first(block, &["text"])).collect();
    texts.join("\n")
}

/// Everything in a prompt that the agent reads: texts, and files with their names.
fn whole_prompt(params: Value<'_>) -> String {
    let mut parts = Vec::new();
    for block in params.get("prompt").into_iter().flat_map(Value::elements) {
        for holder in [Some(block), block.get("resource")].into_iter().flatten() {
            parts.extend(["uri", "text"].iter().filter_map(|key| first(holder, &[*key])));
        }
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Scan, scan};
    use crate::line::Part;

    fn with<T>(text: &str, look: impl FnOnce(&Object<'_>, &Line<'_>) -> T) -> T {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        match scan(line.bytes) {
            Scan::Object(object) => look(&object, &line),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn client(relay: &mut AcpRelay, text: &str) -> ClientWord {
        with(text, |object, line| relay.client_said(object, line))
    }

    fn agent(relay: &mut AcpRelay, text: &str) {
        with(text, |object, line| relay.agent_said(object, line));
    }

    const PROMPT: &str = r#"{"id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hay"}]}}"#;

    #[test]
    fn a_prompt_is_open_until_its_answer_however_the_id_is_written() {
        let mut relay = AcpRelay::default();
        assert_eq!(client(&mut relay, PROMPT), ClientWord::Prompt("hay".into()));
        assert!(relay.is_busy());
        agent(&mut relay, r#"{"id":"7","result":{}}"#);
        assert!(relay.is_busy(), "a string is no number");
        agent(&mut relay, r#"{"result":{"stopReason":"end_turn"}, "id": 7 }"#);
        assert!(!relay.is_busy());
        assert_eq!(relay.unanswered(), 0);
    }

    #[test]
    fn a_prompt_is_judged_with_the_files_that_it_brings_and_refused_by_its_id() {
        let text = r#"{"id":"p1","method":"session/prompt","params":{"prompt":[
            {"type":"text","text":"read this"},
            {"type":"resource","resource":{"uri":"file:///w/keys","text":"oats"}},
            {"type":"resource_link","uri":"file:///w/hay"}]}}"#
            .replace('\n', "");
        let prompt = with(&text, AcpRelay::prompt_in);
        assert_eq!(prompt.as_deref(), Some("read this\nfile:///w/keys\noats\nfile:///w/hay"));
        assert_eq!(with(r#"{"id":1,"method":"session/new"}"#, AcpRelay::prompt_in), None);
        let mut out = Vec::new();
        with(&text, |object, line| AcpRelay::refuse_prompt(object, line, "no \"keys\"", &mut out));
        let answer: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(answer["id"], "p1");
        assert_eq!(answer["error"], json!({ "code": -32602, "message": "no \"keys\"" }));
    }

    #[test]
    fn logins_and_extensions_may_take_their_time() {
        let mut relay = AcpRelay::default();
        client(&mut relay, r#"{"id":1,"method":"authenticate","params":{}}"#);
        client(&mut relay, r#"{"id":2,"method":"_poll","params":{}}"#);
        assert!(!relay.is_busy());
        assert_eq!(relay.unanswered(), 2);
    }

    #[test]
    fn a_choice_of_the_client_is_known() {
        let mut relay = AcpRelay::default();
        agent(&mut relay, r#"{"id":0,"method":"session/request_permission","params":{}}"#);
        assert!(relay.waits_for_client());
        let said = r#"{"id":0,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}"#;
        let choice = Some("yes".to_owned());
        assert_eq!(client(&mut relay, said), ClientWord::Answer { id: "0".into(), choice });
        assert!(!relay.waits_for_client());
    }

    #[test]
    fn whoever_waits_gets_one_error_and_no_second_one() {
        let mut relay = AcpRelay::default();
        client(&mut relay, PROMPT);
        let mut out = Vec::new();
        relay.explain("why", &json!({ "a": 1 }), &mut out);
        relay.cancel(&mut out);
        relay.answer_all("gone", &json!({}), &mut out);
        relay.answer_all("gone", &json!({}), &mut out);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains("agent_thought_chunk") && lines[0].contains("\"s\""));
        assert!(lines[1].contains("session/cancel"));
        assert!(lines[2].contains(r#""id":7"#) && lines[2].contains("-32603"));
    }

    #[test]
    fn a_client_that_shows_notices_gets_them() {
        let mut relay = AcpRelay::default();
        client(
            &mut relay,
            r#"{"id":1,"method":"initialize","params":{"clientCapabilities":{"session":{"notices":{}}}}}"#,
        );
        client(&mut relay, PROMPT);
        let mut out = Vec::new();
        relay.explain("why", &json!({}), &mut out);
        assert!(String::from_utf8(out).unwrap().contains(r#""sessionUpdate":"notice""#));
    }
}
