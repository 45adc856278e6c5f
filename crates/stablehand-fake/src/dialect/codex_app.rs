//! What `codex app-server` writes: notifications, answers and one kind of question.
//!
//! JSON-RPC without its version. Messages are streamed and then told whole; every item has a
//! beginning. The lines that a client's request calls for are made here too, and asked for by the
//! two-way protocol in `duplex/codex_app.rs`.

use super::codex::{in_a_shell, words};
use super::{Said, Speak, code_of, output_of, took_ms};
use crate::act::{Act, Call, Ending, FILE, TodoState, Trouble, Work};
use crate::json::{Json, NULL, list, object};
use crate::voice::{Used, Voice};
use serde_json::json;

/// The version whose shapes these are.
const VERSION: &str = "0.166.0";

/// So often a request is tried again.
const RETRIES: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct CodexApp {
    /// The thinking or message that is on: its id, its kind, its text so far and when it began.
    text: Option<Text>,
    /// Open calls: the script's id, the item's, and when it began.
    open: Vec<(String, String, u64)>,
    in_turn: bool,
    /// The last message, as an item: the end of the turn repeats it.
    last: Option<Json>,
    /// What the thread has used so far.
    input: u64,
    output: u64,
    questions: u64,
}

#[derive(Debug)]
struct Text {
    id: String,
    kind: &'static str,
    so_far: String,
    began: u64,
}

impl Speak for CodexApp {
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        let goes_on = match act {
            Act::ThoughtPiece(_) | Act::ThoughtEnds => "reasoning",
            Act::Piece(_) | Act::Message(..) => "agentMessage",
            _ => "",
        };
        if self.text.as_ref().is_some_and(|text| text.kind != goes_on) {
            self.end_text(voice, said);
        }
        match act {
            Act::Begins(session) => {
                if let Some(session) = session.as_ref().filter(|_| !voice.announced) {
                    session.clone_into(&mut voice.id.session);
                }
                if !std::mem::replace(&mut voice.announced, true) {
                    let params = object! { "thread": thread(voice) };
                    said.line(notification("thread/started", params, voice));
                }
            }
            Act::Prompt(text) => {
                self.turn_is_on(voice, said);
                prompt(text, voice, said);
            }
            Act::ThoughtPiece(text) => self.piece("reasoning", text, voice, said),
            Act::Piece(text) => self.piece("agentMessage", text, voice, said),
            Act::ThoughtEnds => self.end_text(voice, said),
            Act::Message(text, _) => {
                let told = self.text.as_ref().map_or("", |open| open.so_far.as_str());
                let rest = text.strip_prefix(told).unwrap_or(text).to_owned();
                if !rest.is_empty() {
                    self.piece("agentMessage", &rest, voice, said);
                }
                self.end_text(voice, said);
            }
            Act::ToolBegins(call) => self.begin(call, voice, said),
            Act::ToolEnds(call, ending) => self.end_call(call, ending, voice, said),
            Act::Plan(todos) => {
                self.turn_is_on(voice, said);
                let step = |todo: &crate::act::Todo| {
                    let status = match todo.state {
                        TodoState::Current => "inProgress",
                        state => state.word(),
                    };
                    object! { "step": &todo.text, "status": status }
                };
                let plan: Vec<Json> = todos.iter().map(step).collect();
                let params = of_turn(voice).with("explanation", NULL).with("plan", plan);
                said.line(notification("turn/plan/updated", params, voice));
            }
            Act::Retries { attempt, trouble } => {
                self.turn_is_on(voice, said);
                let message = format!("Reconnecting... {attempt}/{RETRIES}");
                let error = error(&message, *trouble, Some(words(*trouble)));
                let params = object! { "error": error, "willRetry": true };
                let params =
                    params.with("threadId", &voice.id.session).with("turnId", turn_id(voice));
                said.line(notification("error", params, voice));
            }
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => {
                self.turn_is_on(voice, said);
                let error = error(words(*trouble), *trouble, None);
                let params = object! { "error": error.clone(), "willRetry": false };
                let params =
                    params.with("threadId", &voice.id.session).with("turnId", turn_id(voice));
                said.line(notification("error", params, voice));
                self.end_turn("failed", Some(error), voice, said);
            }
            Act::Ends { text, failed: true } => {
                self.turn_is_on(voice, said);
                let message = text.as_deref().unwrap_or("the turn failed");
                let error = error(message, Trouble::Server, None);
                self.end_turn("failed", Some(error), voice, said);
            }
            Act::Ends { failed: false, .. } => {
                self.turn_is_on(voice, said);
                self.tell_usage(voice, said);
                self.end_turn("completed", None, voice, said);
            }
            Act::Cursor(_) => {}
        }
    }

    fn ask(&mut self, call: &Call, voice: &mut Voice, said: &mut Said) -> Option<String> {
        self.turn_is_on(voice, said);
        said.line(status(active(list!["waitingOnApproval"]), voice));
        self.begin(call, voice, said);
        let (_, item, began) = self.open.last()?;
        let command = command(call);
        let words: Vec<Json> = command.split(' ').map(Json::from).collect();
        let amendment = object! { "execpolicy_amendment": words.clone() };
        let accept = object! { "acceptWithExecpolicyAmendment": amendment };
        let params = object! {
            "kind": "command", "threadId": &voice.id.session, "turnId": turn_id(voice),
            "itemId": item, "startedAtMs": *began, "environmentId": "local",
            "command": in_a_shell(&command), "cwd": &voice.id.cwd,
            "commandActions": list![object! { "type": "unknown", "command": &command }],
            "proposedExecpolicyAmendment": words,
            "availableDecisions": list!["accept", accept, "cancel"],
        };
        let id = self.questions;
        self.questions += 1;
        let method = "item/commandExecution/requestApproval";
        said.line(object! { "method": method, "id": id, "params": params });
        Some(id.to_string())
    }

    fn answered(&mut self, question: &str, voice: &mut Voice, said: &mut Said) {
        let id: u64 = question.parse().unwrap_or_default();
        let params = object! { "threadId": &voice.id.session, "requestId": id };
        said.line(notification("serverRequest/resolved", params, voice));
        said.line(status(active(list![]), voice));
    }

    fn interrupted(&mut self, voice: &mut Voice, said: &mut Said) {
        self.text = None;
        self.last = None;
        self.end_turn("interrupted", None, voice, said);
    }

    fn exit_code(&self) -> u8 {
        0
    }
}

impl CodexApp {
    fn turn_is_on(&mut self, voice: &mut Voice, said: &mut Said) {
        if self.in_turn {
            return;
        }
        self.in_turn = true;
        said.line(status(active(list![]), voice));
        let began = voice.turn_began_secs();
        let turn = turn(voice, list![], "inProgress", None).with("startedAt", began);
        let turn = turn.with("completedAt", NULL).with("durationMs", NULL);
        let params = object! { "threadId": &voice.id.session, "turn": turn };
        said.line(notification("turn/started", params, voice));
    }

    fn piece(&mut self, kind: &'static str, text: &str, voice: &mut Voice, said: &mut Said) {
        self.turn_is_on(voice, said);
        if self.text.is_none() {
            let began = voice.now_ms();
            let prefix = if kind == "reasoning" { "rs" } else { "msg" };
            let open = Text {
                id: format!("{prefix}_{}", voice.token()),
                kind,
                so_far: String::new(),
                began,
            };
            item_line("item/started", open.item(None), began, voice, said);
            self.text = Some(open);
        }
        let Some(open) = &mut self.text else {
            return;
        };
        open.so_far.push_str(text);
        let params = of_turn(voice).with("itemId", &open.id).with("delta", text);
        let (method, params) = match kind {
            "reasoning" => ("item/reasoning/summaryTextDelta", params.with("summaryIndex", 0)),
            _ => ("item/agentMessage/delta", params),
        };
        said.line(notification(method, params, voice));
    }

    fn end_text(&mut self, voice: &mut Voice, said: &mut Said) {
        if let Some(open) = self.text.take() {
            let now = voice.now_ms();
            let item = open.item(Some(now));
            if open.kind == "agentMessage" {
                self.last = Some(item.clone());
            }
            item_line("item/completed", item, now, voice, said);
        }
    }

    fn begin(&mut self, call: &Call, voice: &mut Voice, said: &mut Said) {
        self.turn_is_on(voice, said);
        let now = voice.now_ms();
        let id = format!("call_{}_{}", voice.token(), call.id);
        item_line("item/started", item(&id, call, None, now, now, voice), now, voice, said);
        self.open.push((call.id.clone(), id, now));
    }

    fn end_call(&mut self, call: &Call, ending: &Ending, voice: &mut Voice, said: &mut Said) {
        let known = self.open.iter().position(|(id, ..)| *id == call.id);
        let now = voice.now_ms();
        let (id, began) = match known {
            Some(at) => {
                let (_, id, began) = self.open.remove(at);
                (id, began)
            }
            None => (format!("call_{}_{}", voice.token(), call.id), now),
        };
        let item = item(&id, call, Some(ending), began, now, voice);
        item_line("item/completed", item, now, voice, said);
        if self.open.is_empty() {
            self.tell_usage(voice, said);
        }
    }

    /// What the thread has used: told after every answer of the model.
    fn tell_usage(&mut self, voice: &mut Voice, said: &mut Said) {
        self.input += voice.used.input;
        self.output += voice.used.output;
        let total = Used { input: self.input, output: self.output };
        let usage = object! {
            "total": tokens(total), "last": tokens(voice.used), "modelContextWindow": 258_400,
        };
        let params = of_turn(voice).with("tokenUsage", usage);
        said.line(notification("thread/tokenUsage/updated", params, voice));
        let limits = object! { "limitId": "codex", "limitName": NULL, "primary": NULL };
        let params = object! { "rateLimits": limits };
        said.line(notification("account/rateLimits/updated", params, voice));
    }

    fn end_turn(&mut self, how: &str, error: Option<Json>, voice: &mut Voice, said: &mut Said) {
        said.line(status(object! { "type": "idle" }, voice));
        let items: Vec<Json> = self.last.take().into_iter().collect();
        let began = voice.turn_began_secs();
        let took = voice.turn_took_ms();
        let turn = turn(voice, items.into(), how, error)
            .with("startedAt", began)
            .with("completedAt", began + took / 1000)
            .with("durationMs", took);
        let params = object! { "threadId": &voice.id.session, "turn": turn };
        said.line(notification("turn/completed", params, voice));
        self.in_turn = false;
        self.open.clear();
        voice.turn = None;
    }
}

impl Text {
    fn item(&self, completed: Option<u64>) -> Json {
        // The text stands in the item only when it is whole.
        let text = if completed.is_some() { self.so_far.as_str() } else { "" };
        let item = match self.kind {
            "reasoning" => {
                let summary = if text.is_empty() { list![] } else { list![text] };
                object! {
                    "type": self.kind, "id": &self.id, "summary": summary, "content": list![],
                }
            }
            _ => object! {
                "type": self.kind, "id": &self.id, "text": text, "phase": NULL,
                "memoryCitation": NULL, "delivery": NULL, "questions": NULL,
            },
        };
        item.with("startedAtMs", self.began).with("completedAtMs", completed)
    }
}

/// A notification.
pub(crate) fn notification(method: &str, params: Json, voice: &mut Voice) -> Json {
    object! { "method": method, "params": params, "emittedAtMs": voice.now_ms() }
}

/// The thread, as `thread/start` answers and `thread/started` tells.
pub(crate) fn thread(voice: &mut Voice) -> Json {
    let now = voice.now_ms() / 1000;
    let model = voice.id.model.as_deref().unwrap_or("gpt-5.5").to_owned();
    object! {
        "id": &voice.id.session, "sessionId": &voice.id.session, "forkedFromId": NULL,
        "preview": "", "ephemeral": false, "modelProvider": "fake", "model": model,
        "createdAt": now, "updatedAt": now, "status": object! { "type": "idle" },
        "path": NULL, "cwd": &voice.id.cwd, "cliVersion": VERSION, "originator": "fake-agent",
        "source": "vscode", "gitInfo": NULL, "name": NULL, "turns": list![],
    }
}

/// The answer to `initialize`.
pub(crate) fn initialized(client: &str, voice: &Voice) -> Json {
    object! {
        "userAgent": format!("{client}/{VERSION} (fake; x86_64) dumb"),
        "codexHome": format!("{}/.codex", voice.id.cwd), "platformFamily": "unix",
        "platformOs": "linux",
    }
}

/// A turn, but for its times.
pub(crate) fn turn(voice: &mut Voice, items: Json, status: &str, error: Option<Json>) -> Json {
    let id = turn_id(voice);
    let view = if status == "completed" { "summary" } else { "notLoaded" };
    object! {
        "id": &id, "rootTurnId": &id, "items": items, "itemsView": view, "status": status,
        "error": error,
    }
}

fn turn_id(voice: &mut Voice) -> String {
    if let Some(id) = &voice.turn {
        return id.clone();
    }
    let id = voice.uuid();
    voice.turn.insert(id).clone()
}

fn of_turn(voice: &mut Voice) -> Json {
    let turn = turn_id(voice);
    object! { "threadId": &voice.id.session, "turnId": turn }
}

fn active(flags: Json) -> Json {
    object! { "type": "active", "activeFlags": flags }
}

fn status(status: Json, voice: &mut Voice) -> Json {
    let params = object! { "threadId": &voice.id.session, "status": status };
    notification("thread/status/changed", params, voice)
}

fn item_line(method: &str, item: Json, at: u64, voice: &mut Voice, said: &mut Said) {
    let turn = turn_id(voice);
    let time = if method == "item/started" { "startedAtMs" } else { "completedAtMs" };
    let params = object! { "item": item, "threadId": &voice.id.session, "turnId": turn };
    said.line(notification(method, params.with(time, at), voice));
}

fn prompt(text: &str, voice: &mut Voice, said: &mut Said) {
    let id = voice.uuid();
    let now = voice.now_ms();
    let content = object! { "type": "text", "text": text, "text_elements": list![] };
    let item = |completed: Option<u64>| {
        object! {
            "type": "userMessage", "id": &id, "clientId": NULL, "content": list![content.clone()],
            "startedAtMs": now, "completedAtMs": completed,
        }
    };
    item_line("item/started", item(None), now, voice, said);
    item_line("item/completed", item(Some(now)), now, voice, said);
}

fn tokens(used: Used) -> Json {
    object! {
        "totalTokens": used.input + used.output, "inputTokens": used.input,
        "cachedInputTokens": 0, "cacheWriteInputTokens": 0, "outputTokens": used.output,
        "reasoningOutputTokens": 0,
    }
}

fn error(message: &str, trouble: Trouble, details: Option<&str>) -> Json {
    let info = match trouble {
        Trouble::Auth => json!("unauthorized"),
        Trouble::RateLimit => json!({ "responseTooManyFailedAttempts": { "httpStatusCode": 429 } }),
        Trouble::Overloaded => json!("serverOverloaded"),
        Trouble::ContextLength => json!("contextWindowExceeded"),
        Trouble::Server => json!("other"),
    };
    object! { "message": message, "codexErrorInfo": info, "additionalDetails": details }
}

/// The command of a call; reading a file is one too.
fn command(call: &Call) -> String {
    match &call.work {
        Work::Shell { command, .. } => command.clone(),
        Work::Read { path } => format!("cat {path}"),
        Work::Write { path, .. } => path.clone(),
        Work::Mcp { tool, .. } => tool.clone(),
        Work::Task { description } => description.clone(),
    }
}

fn item(
    id: &str,
    call: &Call,
    ending: Option<&Ending>,
    began: u64,
    now: u64,
    voice: &Voice,
) -> Json {
    let status = match ending {
        None => "inProgress",
        Some(Ending::Refused { .. }) => "declined",
        Some(Ending::Exited { code, .. }) if *code != 0 => "failed",
        Some(_) => "completed",
    };
    let item = match &call.work {
        Work::Shell { .. } | Work::Read { .. } => {
            let command = command(call);
            let output = match (&call.work, ending) {
                (Work::Read { .. }, Some(Ending::Well)) => Some(FILE.to_owned()),
                (_, Some(Ending::Refused { .. }) | None) => None,
                (_, Some(ending)) => Some(output_of(ending)),
            };
            object! {
                "type": "commandExecution", "id": id, "command": in_a_shell(&command),
                "cwd": &voice.id.cwd, "processId": NULL, "source": "agent", "status": status,
                "commandActions": list![object! { "type": "unknown", "command": &command }],
                "aggregatedOutput": output, "exitCode": ending.and_then(code_of),
                "durationMs": ending.map(took_ms),
            }
        }
        Work::Write { path, content } => {
            let kind = object! { "type": "add" };
            let change = object! { "path": path, "kind": kind, "diff": content };
            object! {
                "type": "fileChange", "id": id, "changes": list![change], "status": status,
            }
        }
        Work::Mcp { server, tool } => {
            let content = list![object! { "type": "text", "text": "hay" }];
            let result = ending.map(|_| object! { "content": content, "structuredContent": NULL });
            object! {
                "type": "mcpToolCall", "id": id, "server": server, "tool": tool,
                "status": status, "arguments": object! {}, "result": result, "error": NULL,
                "durationMs": ending.map(took_ms),
            }
        }
        Work::Task { description } => object! {
            "type": "collabAgentToolCall", "id": id, "tool": "spawnAgent", "status": status,
            "senderThreadId": &voice.id.session, "receiverThreadIds": list![],
            "prompt": description, "agentsStates": object! {},
        },
    };
    item.with("startedAtMs", began).with("completedAtMs", ending.map(|_| now))
}
