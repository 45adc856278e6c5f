//! The agent's side of the Agent Client Protocol: requests of the client and its answers.
//!
//! JSON-RPC. Requests before `initialize` are refused, and prompts before there is a session, as the
//! real ones do. So is a prompt that comes while another is being answered.

use super::{News, Prompted, Protocol, Rpc, Verdict, id_text};
use crate::dialect::Said;
use crate::json::{Json, list, object};
use crate::voice::Voice;
use serde_json::{Value, json};

const INVALID_REQUEST: i32 = -32600;
const NO_SUCH_METHOD: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const PARSE_ERROR: i32 = -32700;
const NO_SUCH_SESSION: i32 = -32002;

/// The modes of a session, and those of an agent that can keep from changing anything.
const MODES: &[&str] = &["default", "yolo"];
const MODES_AND_PLAN: &[&str] = &["default", "plan", "yolo"];

#[derive(Debug, Default)]
pub(super) struct Acp {
    is_initialized: bool,
}

impl Protocol for Acp {
    fn take(&mut self, line: &str, busy: bool, voice: &mut Voice, said: &mut Said) -> Option<News> {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            refuse(&Value::Null, PARSE_ERROR, "Parse error", said);
            return None;
        };
        match Rpc::of(&value) {
            Rpc::Request { id, method, params } => {
                self.request(method, id, params, busy, voice, said)
            }
            Rpc::Notification { method: "session/cancel" } if busy => Some(News::Interrupt),
            Rpc::Answer { id } => Some(answer(id, &value)),
            Rpc::Notification { .. } | Rpc::Nothing => None,
        }
    }
}

impl Acp {
    fn request(
        &mut self,
        method: &str,
        id: &Value,
        params: &Value,
        busy: bool,
        voice: &mut Voice,
        said: &mut Said,
    ) -> Option<News> {
        if method == "initialize" {
            self.is_initialized = true;
            answer_to(id, hello(voice), said);
            return None;
        }
        if !self.is_initialized {
            let text = format!("initialize comes before `{method}`");
            refuse(id, INVALID_REQUEST, &text, said);
            return None;
        }
        match method {
            "authenticate" => answer_to(id, object! {}, said),
            "session/new" | "session/load" | "session/resume" => {
                if params.get("mcpServers").is_none() {
                    refuse(id, INVALID_PARAMS, "missing field `mcpServers`", said);
                    return None;
                }
                session(method, id, params, voice, said);
            }
            "session/set_mode" => {
                let mode = params.get("modeId").and_then(Value::as_str).unwrap_or_default();
                if modes(voice).contains(&mode) {
                    voice.mode = Some(mode.to_owned());
                    answer_to(id, object! {}, said);
                } else {
                    refuse(id, INVALID_PARAMS, &format!("Invalid mode: {mode}"), said);
                }
            }
            "session/set_config_option" => {
                if let Some(value) = params.get("value").and_then(Value::as_str) {
                    voice.id.model = Some(value.to_owned());
                }
                answer_to(id, object! {}, said);
            }
            "session/prompt" if busy => {
                refuse(id, INVALID_REQUEST, "another prompt is being answered", said);
            }
            "session/prompt" => return prompt(id, params, voice, said),
            _ => refuse(id, NO_SUCH_METHOD, &format!("Method not found: {method}"), said),
        }
        None
    }
}

fn prompt(id: &Value, params: &Value, voice: &mut Voice, said: &mut Said) -> Option<News> {
    let session = params.get("sessionId").and_then(Value::as_str).unwrap_or_default();
    if session != voice.id.session || !voice.announced {
        refuse(id, NO_SUCH_SESSION, &format!("Session not found: {session}"), said);
        return None;
    }
    voice.turn = Some(id.to_string());
    let parts = params.get("prompt").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.clone().filter_map(|part| part.get("text")?.as_str()).collect();
    let image = |part: &Value| part.get("type").and_then(Value::as_str) == Some("image");
    let mut images = parts.filter(|part| image(part)).peekable();
    if images.peek().is_some() && !voice.id.sees {
        refuse(id, INVALID_PARAMS, "images are not supported", said);
        return None;
    }
    let images = images.map(|part| {
        let word = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
        (word("mimeType"), word("data"))
    });
    Some(News::Turn(Prompted::new(texts.join("\n"), images)))
}

fn modes(voice: &Voice) -> &'static [&'static str] {
    if voice.id.plans { MODES_AND_PLAN } else { MODES }
}

fn hello(voice: &Voice) -> Json {
    let session = object! { "resume": object! {}, "list": object! {}, "close": object! {} };
    let prompts = object! { "image": voice.id.sees, "audio": false, "embeddedContext": true };
    object! {
        "protocolVersion": 1,
        "agentCapabilities": object! {
            "loadSession": true, "promptCapabilities": prompts, "sessionCapabilities": session,
        },
        "agentInfo": object! { "name": "fake-agent", "title": "Fake agent", "version": "1.0.0" },
        "authMethods": list![],
    }
}

/// A session begins, or goes on.
fn session(method: &str, id: &Value, params: &Value, voice: &mut Voice, said: &mut Said) {
    let word = |key: &str| params.get(key).and_then(Value::as_str);
    if let Some(session) = word("sessionId") {
        session.clone_into(&mut voice.id.session);
        voice.id.resumed = true;
    }
    if let Some(cwd) = word("cwd") {
        cwd.clone_into(&mut voice.id.cwd);
    }
    voice.announced = true;
    if method == "session/load" {
        // What was said before is told again, before the answer.
        let content = json!({ "type": "text", "text": "what was said before" });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        let params = json!({ "sessionId": voice.id.session, "update": update });
        said.line(object! { "jsonrpc": "2.0", "method": "session/update", "params": params });
    }
    let modes: Vec<Json> =
        modes(voice).iter().map(|id| object! { "id": *id, "name": *id }).collect();
    let ways = object! { "currentModeId": "default", "availableModes": modes };
    let chosen = voice.id.model.as_deref().unwrap_or("fake-model").to_owned();
    let choice = object! {
        "id": "model", "name": "Model", "category": "model", "type": "select",
        "currentValue": &chosen, "options": list![object! { "value": &chosen, "name": &chosen }],
    };
    let settings = object! { "modes": ways, "configOptions": list![choice] };
    let result = if method == "session/new" {
        object! { "sessionId": &voice.id.session }.joined(&settings)
    } else {
        settings
    };
    answer_to(id, result, said);
}

fn answer_to(id: &Value, result: Json, said: &mut Said) {
    said.line(object! { "jsonrpc": "2.0", "id": id, "result": result });
}

fn refuse(id: &Value, code: i32, message: &str, said: &mut Said) {
    let error = object! { "code": code, "message": message };
    said.line(object! { "jsonrpc": "2.0", "id": id, "error": error });
}

fn answer(id: &Value, value: &Value) -> News {
    let to = id_text(id);
    let option = value.pointer("/result/outcome/optionId").and_then(Value::as_str);
    let verdict = match option {
        Some("once" | "always") => Verdict::Allow { command: None },
        _ => Verdict::Deny(option.unwrap_or("cancelled").to_owned()),
    };
    News::Answer { to, verdict }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voice::{Clock, Identity};

    #[test]
    fn a_session_comes_before_a_prompt_and_initialize_before_both() {
        let mut voice = Voice::new(Identity::invented(), Clock::Invented);
        let mut agent = Acp::default();
        let mut take = |line: &str, busy: bool| {
            let mut said = Said::default();
            let news = agent.take(line, busy, &mut voice, &mut said);
            (news, said.lines)
        };
        assert!(take("what", false).1[0].contains("-32700"));
        let new = r#"{"id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#;
        assert!(take(new, false).1[0].contains("-32600"));
        let hello = r#"{"id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
        assert!(take(hello, false).1[0].contains(r#""protocolVersion":1"#));
        let prompt = r#"{"id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"feed"}]}}"#;
        assert!(take(prompt, false).1[0].contains("Session not found"));
        assert!(take(r#"{"id":2,"method":"session/new","params":{}}"#, false).1[0].contains("mcp"));
        let resume = r#"{"id":2,"method":"session/resume","params":{"sessionId":"s","cwd":"/w","mcpServers":[]}}"#;
        let (_, lines) = take(resume, false);
        assert!(lines.len() == 1 && !lines[0].contains("sessionId"), "{lines:?}");
        assert_eq!(
            take(prompt, false).0,
            Some(News::Turn(Prompted { text: "feed".into(), images: vec![] }))
        );
        let cancel = r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#;
        assert_eq!(take(cancel, true), (Some(News::Interrupt), vec![]));
        assert_eq!(take(cancel, false), (None, vec![]));
    }

    #[test]
    fn an_option_is_yes_or_no() {
        let news = |outcome: Value| {
            let value = json!({ "id": 0, "result": { "outcome": outcome } });
            answer(&value["id"], &value)
        };
        let yes = News::Answer { to: "0".into(), verdict: Verdict::Allow { command: None } };
        assert_eq!(news(json!({ "outcome": "selected", "optionId": "once" })), yes);
        let no = |word: &str| News::Answer { to: "0".into(), verdict: Verdict::Deny(word.into()) };
        assert_eq!(news(json!({ "outcome": "selected", "optionId": "reject" })), no("reject"));
        assert_eq!(news(json!({ "outcome": "cancelled" })), no("cancelled"));
    }
}
