//! What we say to `codex app-server`: the handshake, turns, interrupts, answers.
//!
//! JSON-RPC without its version member. A turn needs the id of the thread, an interrupt the ids of
//! thread and turn, and both come in answers to us: what is said before they are known waits. The
//! ids of our requests say what they were about, so that whoever reads the answers alone, live or
//! years later, can tell ([`THREAD`], [`TURN`]).

use super::super::questions::Questions;
use super::question::id_text;
use crate::json::{Object, Value};
use crate::speak::{Access, Answer, Image, Opening, Prompt, Speak, Unanswerable};
use serde_json::json;
use serde_json::value::RawValue;

/// The id of the request that begins or continues the thread.
pub(super) const THREAD: &str = "stablehand-thread";

/// How the ids of requests that begin a turn begin.
pub(super) const TURN: &str = "stablehand-turn-";

/// Speaks to the app server.
#[derive(Debug)]
pub struct CodexAppSpeaker {
    opening: Opening,
    thread: Option<String>,
    turn: Option<String>,
    /// Prompts that wait for the thread.
    waiting: Vec<Prompt>,
    /// Somebody wanted an interrupt before the turn had an id.
    interrupt_wanted: bool,
    /// Turns that were asked for and have not ended.
    turns: u64,
    requests: u64,
    open: Questions<Question>,
}

/// A question that waits.
#[derive(Debug)]
struct Question {
    /// The id as the server wrote it: a number stays one.
    id: Box<RawValue>,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// `{decision: accept | acceptForSession | decline | cancel}`
    Decision,
    /// The older `{decision: approved | approved_for_session | denied | abort}`
    Review,
    /// `{action: accept | decline | cancel}`
    Elicitation,
    /// `{answers: {question: {answers: [label]}}}`, with the ids of the questions
    UserInput(Vec<String>),
    /// Something that we cannot do.
    Unknown,
}

impl CodexAppSpeaker {
    /// For a conversation that begins so.
    pub fn new(opening: Opening) -> Self {
        CodexAppSpeaker {
            opening,
            thread: None,
            turn: None,
            waiting: Vec::new(),
            interrupt_wanted: false,
            turns: 0,
            requests: 0,
            open: Questions::default(),
        }
    }

    fn settings(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut params = serde_json::Map::new();
        let mut set = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                params.insert(key.to_owned(), value.into());
            }
        };
        set("cwd", self.opening.cwd.as_deref());
        set("model", self.opening.model.as_deref());
        let (approval, sandbox) = match self.opening.access {
            Access::Asked => ("untrusted", None),
            Access::ReadOnly => ("untrusted", Some("read-only")),
            Access::Workspace => ("on-request", Some("workspace-write")),
            Access::Everything => ("never", Some("danger-full-access")),
        };
        set("approvalPolicy", Some(approval));
        set("sandbox", sandbox);
        params
    }

    fn begin_turn(&mut self, thread: &str, prompt: &Prompt, out: &mut Vec<u8>) {
        self.requests += 1;
        let id = format!("{TURN}{}", self.requests);
        let image = |image: &Image| {
            let url = format!("data:{};base64,{}", image.mime, image.data);
            json!({ "type": "image", "url": url })
        };
        let mut input = vec![json!({ "type": "text", "text": prompt.text })];
        input.extend(prompt.images.iter().map(image));
        let params = json!({ "threadId": thread, "input": input });
        line(&json!({ "id": id, "method": "turn/start", "params": params }), out);
    }

    fn interrupt_turn(&mut self, out: &mut Vec<u8>) -> bool {
        let (Some(thread), Some(turn)) = (&self.thread, &self.turn) else { return false };
        self.requests += 1;
        let id = format!("stablehand-interrupt-{}", self.requests);
        let params = json!({ "threadId": thread, "turnId": turn });
        line(&json!({ "id": id, "method": "turn/interrupt", "params": params }), out);
        true
    }
}

impl Speak for CodexAppSpeaker {
    fn open(&mut self, out: &mut Vec<u8>) {
        let info = json!({
            "name": "stablehand", "title": "Stablehand", "version": env!("CARGO_PKG_VERSION"),
        });
        let params = json!({ "clientInfo": info });
        line(&json!({ "id": "stablehand-hello", "method": "initialize", "params": params }), out);
        line(&json!({ "method": "initialized" }), out);
        let mut params = self.settings();
        let method = match &self.opening.resume {
            Some(session) => {
                params.insert("threadId".to_owned(), session.0.clone().into());
                "thread/resume"
            }
            None => "thread/start",
        };
        line(&json!({ "id": THREAD, "method": method, "params": params }), out);
    }

    fn put(&mut self, prompt: &Prompt, out: &mut Vec<u8>) {
        self.turns += 1;
        match self.thread.clone() {
            Some(thread) => self.begin_turn(&thread, prompt, out),
            None => self.waiting.push(prompt.clone()),
        }
    }

    fn interrupt(&mut self, out: &mut Vec<u8>) -> bool {
        if self.turns == 0 {
            return false;
        }
        if !self.interrupt_turn(out) {
            self.interrupt_wanted = true;
        }
        true
    }

    fn answer(&mut self, id: &str, answer: &Answer, out: &mut Vec<u8>) -> Result<(), Unanswerable> {
        let question = self.open.get(id)?;
        let raw = question.id.clone();
        let reply = match question.kind.reply(answer) {
            Some(result) => json!({ "id": raw, "result": result }),
            None if answer.is_denial() => {
                // There is no other way to decline what we do not know.
                let error = json!({ "code": -32601, "message": "not supported" });
                json!({ "id": raw, "error": error })
            }
            None => {
                let (id, answer) = (id.to_owned(), answer.word().to_owned());
                return Err(Unanswerable::NoSuchAnswer { id, answer });
            }
        };
        self.open.close(id);
        line(&reply, out);
        Ok(())
    }

    fn heard(&mut self, object: &Object<'_>, out: &mut Vec<u8>) {
        match (object.get("id").filter(|id| !id.is_null()), object.get("method")) {
            (Some(id), Some(method)) => {
                let kind = Kind::of(method.raw_str().unwrap_or_default(), object.get("params"));
                if let Ok(raw) = serde_json::from_slice(id.raw()) {
                    self.open.ask(id_text(Some(id)), Question { id: raw, kind });
                }
            }
            (Some(id), None) => self.answered(id, object, out),
            (None, Some(method)) => self.told(method, object, out),
            (None, None) => {}
        }
    }

    fn is_open(&self, id: &str) -> bool {
        self.open.get(id).is_ok()
    }
}

impl CodexAppSpeaker {
    fn answered(&mut self, id: Value<'_>, object: &Object<'_>, out: &mut Vec<u8>) {
        let failed = object.get("error").is_some();
        let raw = id.raw_str().unwrap_or_default();
        if raw == THREAD.as_bytes() {
            let thread = object.get("result").and_then(|result| result.get("thread"));
            self.thread = thread.and_then(|thread| thread.get("id")).and_then(Value::string);
            let waiting = std::mem::take(&mut self.waiting);
            match self.thread.clone() {
                Some(thread) => {
                    for text in &waiting {
                        self.begin_turn(&thread, text, out);
                    }
                }
                None => self.turns = 0,
            }
        } else if raw.starts_with(TURN.as_bytes()) && failed {
            self.turns = self.turns.saturating_sub(1);
        }
    }

    fn told(&mut self, method: Value<'_>, object: &Object<'_>, out: &mut Vec<u8>) {
        let method = method.raw_str().unwrap_or_default();
        let params = object.get("params");
        let get = |key| params.and_then(|params| params.get(key));
        // Agents that work for this one have turns of their own in the same stream.
        let ours = get("threadId").and_then(Value::str).as_deref() == self.thread.as_deref();
        match method {
            b"turn/started" if ours => {
                self.turn = get("turn").and_then(|turn| turn.get("id")).and_then(Value::string);
                if std::mem::take(&mut self.interrupt_wanted) {
                    self.interrupt_turn(out);
                }
            }
            b"turn/completed" if ours => {
                self.turn = None;
                self.interrupt_wanted = false;
                self.turns = self.turns.saturating_sub(1);
            }
            b"serverRequest/resolved" => self.open.close(&id_text(get("requestId"))),
            _ => {}
        }
    }
}

impl Kind {
    fn of(method: &[u8], params: Option<Value<'_>>) -> Kind {
        match method {
            b"item/permissions/requestApproval" => Kind::Unknown,
            b"execCommandApproval" | b"applyPatchApproval" => Kind::Review,
            b"mcpServer/elicitation/request" => Kind::Elicitation,
            b"item/tool/requestUserInput" => {
                let questions = params.and_then(|params| params.get("questions"));
                let questions = questions.into_iter().flat_map(Value::elements);
                Kind::UserInput(
                    questions.filter_map(|it| it.get("id").and_then(Value::string)).collect(),
                )
            }
            method if method.ends_with(b"/requestApproval") => Kind::Decision,
            _ => Kind::Unknown,
        }
    }

    /// The result for an answer; none where there is no such answer.
    fn reply(&self, answer: &Answer) -> Option<serde_json::Value> {
        if matches!(answer, Answer::AllowWith { .. }) {
            // The server runs what it asked about, and nothing else.
            return None;
        }
        let pick = |allow: &str, always: &str, deny: &str| match answer {
            Answer::Allow | Answer::AllowWith { .. } => allow.to_owned(),
            Answer::AllowAlways => always.to_owned(),
            Answer::Deny { .. } => deny.to_owned(),
            Answer::Choose(option) => option.clone(),
        };
        match self {
            Kind::Decision => {
                Some(json!({ "decision": pick("accept", "acceptForSession", "decline") }))
            }
            Kind::Review => {
                Some(json!({ "decision": pick("approved", "approved_for_session", "denied") }))
            }
            Kind::Elicitation => Some(json!({ "action": pick("accept", "accept", "decline") })),
            Kind::UserInput(ids) => {
                let Answer::Choose(option) = answer else { return None };
                let answers: serde_json::Map<_, _> =
                    ids.iter().map(|id| (id.clone(), json!({ "answers": [option] }))).collect();
                Some(json!({ "answers": answers }))
            }
            Kind::Unknown => None,
        }
    }
}

fn line(value: &serde_json::Value, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Scan, scan};
    use serde_json::Value as Json;

    fn hear(speaker: &mut CodexAppSpeaker, line: &str) -> Vec<Json> {
        let Scan::Object(object) = scan(line.as_bytes()) else { panic!("no object: {line}") };
        said(|out| speaker.heard(&object, out))
    }

    fn said(f: impl FnOnce(&mut Vec<u8>)) -> Vec<Json> {
        let mut out = Vec::new();
        f(&mut out);
        String::from_utf8(out).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }

    fn with_thread() -> CodexAppSpeaker {
        let mut speaker = CodexAppSpeaker::new(Opening::default());
        hear(&mut speaker, r#"{"id":"stablehand-thread","result":{"thread":{"id":"t1"}}}"#);
        speaker
    }

    #[test]
    fn a_prompt_waits_for_the_thread() {
        let mut speaker = CodexAppSpeaker::new(Opening::default());
        let opening = said(|out| speaker.open(out));
        let methods: Vec<_> = opening.iter().map(|l| l["method"].as_str().unwrap()).collect();
        assert_eq!(methods, ["initialize", "initialized", "thread/start"]);
        assert!(said(|out| speaker.prompt("hi", out)).is_empty());
        let sent =
            hear(&mut speaker, r#"{"id":"stablehand-thread","result":{"thread":{"id":"t1"}}}"#);
        assert_eq!(sent[0]["params"]["threadId"], "t1");
        assert_eq!(sent[0]["params"]["input"][0]["text"], "hi");
    }

    #[test]
    fn an_interrupt_waits_for_the_turn() {
        let mut speaker = with_thread();
        assert!(!speaker.interrupt(&mut Vec::new()), "nothing is on");
        speaker.prompt("hi", &mut Vec::new());
        assert!(said(|out| assert!(speaker.interrupt(out))).is_empty());
        let began = r#"{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1"}}}"#;
        let sent = hear(&mut speaker, began);
        assert_eq!(sent[0]["method"], "turn/interrupt");
        assert_eq!(sent[0]["params"], json!({ "threadId": "t1", "turnId": "u1" }));
        let over = r#"{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1"}}}"#;
        hear(&mut speaker, over);
        assert!(!speaker.interrupt(&mut Vec::new()));
    }

    #[test]
    fn a_turn_of_another_thread_is_not_ours() {
        let mut speaker = with_thread();
        speaker.prompt("hi", &mut Vec::new());
        let other = r#"{"method":"turn/completed","params":{"threadId":"t2","turn":{"id":"u9"}}}"#;
        hear(&mut speaker, other);
        assert!(speaker.interrupt(&mut Vec::new()));
    }

    #[test]
    fn answers_are_in_the_words_of_the_question() {
        let table = [
            ("item/commandExecution/requestApproval", Answer::Allow, "decision", "accept"),
            (
                "item/fileChange/requestApproval",
                Answer::AllowAlways,
                "decision",
                "acceptForSession",
            ),
            ("execCommandApproval", Answer::Deny { message: String::new() }, "decision", "denied"),
            ("mcpServer/elicitation/request", Answer::Choose("cancel".into()), "action", "cancel"),
        ];
        for (method, answer, key, word) in table {
            let mut speaker = with_thread();
            let asked = format!(r#"{{"id":0,"method":"{method}","params":{{}}}}"#);
            assert!(hear(&mut speaker, &asked).is_empty());
            assert!(speaker.is_open("0"));
            let sent = said(|out| speaker.answer("0", &answer, out).unwrap());
            assert_eq!(sent, [json!({ "id": 0, "result": { key: word } })], "{method}");
            assert!(!speaker.is_open("0"));
        }
    }

    #[test]
    fn what_we_cannot_do_can_only_be_declined() {
        let mut speaker = with_thread();
        hear(&mut speaker, r#"{"id":"a","method":"item/tool/call","params":{}}"#);
        assert!(speaker.answer("a", &Answer::Allow, &mut Vec::new()).is_err());
        let deny = Answer::Deny { message: String::new() };
        let sent = said(|out| speaker.answer("a", &deny, out).unwrap());
        assert_eq!(sent[0]["error"]["code"], -32601);
    }

    #[test]
    fn another_input_cannot_be_said() {
        let mut speaker = with_thread();
        let asked = r#"{"id":0,"method":"item/commandExecution/requestApproval","params":{}}"#;
        hear(&mut speaker, asked);
        let other = Answer::AllowWith { input: json!({ "command": "ls" }) };
        assert!(speaker.answer("0", &other, &mut Vec::new()).is_err());
        assert!(speaker.is_open("0"), "it can still be answered");
    }

    #[test]
    fn what_it_may_do_is_said_at_the_beginning() {
        let table = [
            (Access::Asked, Json::Null, "untrusted"),
            (Access::ReadOnly, "read-only".into(), "untrusted"),
            (Access::Workspace, "workspace-write".into(), "on-request"),
            (Access::Everything, "danger-full-access".into(), "never"),
        ];
        for (access, sandbox, approval) in table {
            let opening = Opening { access, ..Opening::default() };
            let sent = said(|out| CodexAppSpeaker::new(opening).open(out));
            let params = &sent[2]["params"];
            assert_eq!(
                (&params["sandbox"], &params["approvalPolicy"]),
                (&sandbox, &approval.into())
            );
        }
    }
}
