//! The server's side of `codex app-server`: requests of the client and its answers.
//!
//! JSON-RPC without its version: a request has an id and a method, a notification a method alone,
//! an answer an id and a result. Requests before `initialize` are refused, as the real one does.

use super::{News, Prompted, Protocol, Rpc, Verdict, id_text};
use crate::dialect::{self, Said};
use crate::json::{Json, NULL, list, object};
use crate::voice::Voice;
use serde_json::{Value, json};

/// The code of an error for a request that cannot be served.
const INVALID: i32 = -32600;

#[derive(Debug, Default)]
pub(super) struct CodexApp {
    is_initialized: bool,
}

impl Protocol for CodexApp {
    fn take(&mut self, line: &str, busy: bool, voice: &mut Voice, said: &mut Said) -> Option<News> {
        // A line that is no message is logged there, and nothing else.
        let value: Value = serde_json::from_str(line).ok()?;
        match Rpc::of(&value) {
            Rpc::Request { id, method, params } => {
                self.request(method, id, params, busy, voice, said)
            }
            Rpc::Answer { id } => Some(answer(id, &value)),
            Rpc::Notification { .. } | Rpc::Nothing => None,
        }
    }
}

impl CodexApp {
    fn request(
        &mut self,
        method: &str,
        id: &Value,
        params: &Value,
        busy: bool,
        voice: &mut Voice,
        said: &mut Said,
    ) -> Option<News> {
        let word = |key: &str| params.get(key).and_then(Value::as_str);
        if method == "initialize" {
            self.is_initialized = true;
            let client = params.pointer("/clientInfo/name").and_then(Value::as_str);
            let result = dialect::initialized(client.unwrap_or("client"), voice);
            said.line(object! { "id": id, "result": result });
            let status = json!({ "status": "disabled", "environmentId": null });
            said.line(dialect::notification("remoteControl/status/changed", status.into(), voice));
            return None;
        }
        if !self.is_initialized {
            refuse(id, "Not initialized", said);
            return None;
        }
        match method {
            "thread/start" | "thread/resume" => {
                if let Some(thread) = word("threadId") {
                    thread.clone_into(&mut voice.id.session);
                    voice.id.resumed = true;
                }
                if let Some(cwd) = word("cwd") {
                    cwd.clone_into(&mut voice.id.cwd);
                }
                if let Some(model) = word("model") {
                    voice.id.model = Some(model.to_owned());
                }
                thread(id, params, method == "thread/start", voice, said);
                None
            }
            "turn/start" if busy => {
                refuse(id, "a turn is already in progress", said);
                None
            }
            "turn/start" => {
                if word("threadId") != Some(voice.id.session.as_str()) || !voice.announced {
                    let thread = word("threadId").unwrap_or_default();
                    refuse(id, &format!("thread not found: {thread}"), said);
                    return None;
                }
                voice.turn = None;
                let turn = dialect::turn(voice, list![], "inProgress", None);
                let turn = turn.with("startedAt", NULL).with("completedAt", NULL);
                let turn = turn.with("durationMs", NULL);
                said.line(object! { "id": id, "result": object! { "turn": turn } });
                Some(News::Turn(prompt(params)))
            }
            "turn/interrupt" if busy => {
                said.line(object! { "id": id, "result": object! {} });
                Some(News::Interrupt)
            }
            "turn/interrupt" => {
                refuse(id, "no active turn to interrupt", said);
                None
            }
            _ => {
                refuse(id, &format!("Invalid request: unknown variant `{method}`"), said);
                None
            }
        }
    }
}

fn refuse(id: &Value, message: &str, said: &mut Said) {
    let error = object! { "code": INVALID, "message": message };
    said.line(object! { "error": error, "id": id });
}

/// A thread begins or goes on: the answer has its settings beside it.
fn thread(id: &Value, params: &Value, is_new: bool, voice: &mut Voice, said: &mut Said) {
    let thread = dialect::thread(voice);
    let model = voice.id.model.as_deref().unwrap_or("gpt-5.5").to_owned();
    let policy = params.get("approvalPolicy").cloned().unwrap_or_else(|| json!("never"));
    let result = object! {
        "thread": thread.clone(), "model": model, "modelProvider": "fake", "serviceTier": NULL,
        "cwd": &voice.id.cwd, "approvalPolicy": policy, "approvalsReviewer": "user",
        "sandbox": sandbox(params), "reasoningEffort": NULL,
    };
    said.line(object! { "id": id, "result": result });
    if is_new {
        let params = object! { "thread": thread };
        said.line(dialect::notification("thread/started", params, voice));
    }
    voice.announced = true;
}

fn sandbox(params: &Value) -> Json {
    match params.get("sandbox").and_then(Value::as_str) {
        Some("read-only") => json!({ "type": "readOnly", "networkAccess": false }).into(),
        Some("workspace-write") => json!({ "type": "workspaceWrite" }).into(),
        _ => json!({ "type": "dangerFullAccess" }).into(),
    }
}

/// The texts of a prompt, and the images that came as a whole in their addresses.
fn prompt(params: &Value) -> Prompted {
    let parts = params.get("input").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.clone().filter_map(|part| part.get("text")?.as_str()).collect();
    let images = parts.filter_map(|part| {
        let word = |key: &str| part.get(key).and_then(Value::as_str);
        let url = word("url").filter(|_| word("type") == Some("image"))?;
        url.strip_prefix("data:")?.split_once(";base64,")
    });
    Prompted::new(texts.join("\n"), images)
}

fn answer(id: &Value, value: &Value) -> News {
    let to = id_text(id);
    let decision = value.pointer("/result/decision");
    let word = decision.and_then(Value::as_str);
    let is_yes = matches!(word, Some("accept" | "acceptForSession"))
        || decision.is_some_and(Value::is_object);
    if word == Some("cancel") {
        // A no that ends the turn too.
        return News::Interrupt;
    }
    let verdict = if is_yes {
        Verdict::Allow { command: None }
    } else {
        Verdict::Deny(word.unwrap_or("declined").to_owned())
    };
    News::Answer { to, verdict }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voice::{Clock, Identity};

    #[test]
    fn a_thread_comes_before_a_turn_and_initialize_before_both() {
        let mut voice = Voice::new(Identity::invented(), Clock::Invented);
        let mut server = CodexApp::default();
        let mut take = |line: &str, busy: bool| {
            let mut said = Said::default();
            let news = server.take(line, busy, &mut voice, &mut said);
            (news, said.lines)
        };
        let (_, early) = take(r#"{"id":1,"method":"thread/start","params":{}}"#, false);
        assert!(early[0].contains("Not initialized"), "{early:?}");
        let (_, hello) = take(
            r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"probe"}}}"#,
            false,
        );
        assert!(hello[0].starts_with(r#"{"id":1,"result":{"userAgent":"probe/"#), "{hello:?}");
        assert_eq!(take(r#"{"method":"initialized"}"#, false), (None, vec![]));
        let turn = r#"{"id":3,"method":"turn/start","params":{"threadId":"t","input":[{"type":"text","text":"feed"}]}}"#;
        assert!(take(turn, false).1[0].contains("thread not found"));
        let (_, lines) =
            take(r#"{"id":2,"method":"thread/resume","params":{"threadId":"t"}}"#, false);
        assert!(lines.len() == 1 && lines[0].contains(r#""thread":{"id":"t""#), "{lines:?}");
        assert_eq!(
            take(turn, false).0,
            Some(News::Turn(Prompted { text: "feed".into(), images: vec![] }))
        );
        assert!(take(turn, true).1[0].contains("already in progress"));
        let stop = r#"{"id":4,"method":"turn/interrupt","params":{}}"#;
        assert_eq!(
            take(stop, true),
            (Some(News::Interrupt), vec![r#"{"id":4,"result":{}}"#.into()])
        );
    }

    #[test]
    fn a_decision_is_yes_no_or_the_end_of_the_turn() {
        let news = |decision: Value| {
            let value = json!({ "id": 0, "result": { "decision": decision } });
            answer(&value["id"], &value)
        };
        let yes =
            |to: &str| News::Answer { to: to.into(), verdict: Verdict::Allow { command: None } };
        assert_eq!(news(json!("accept")), yes("0"));
        assert_eq!(news(json!({ "acceptWithExecpolicyAmendment": {} })), yes("0"));
        assert_eq!(news(json!("cancel")), News::Interrupt);
        let no = News::Answer { to: "0".into(), verdict: Verdict::Deny("decline".into()) };
        assert_eq!(news(json!("decline")), no);
    }
}
