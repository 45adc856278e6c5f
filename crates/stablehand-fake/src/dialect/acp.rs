//! The Agent Client Protocol, as an agent speaks it: updates, the answer that ends a turn, and the
//! question whether a call may run.
//!
//! Text comes in pieces only. A turn is the answer to the request that carried its prompt, whose id
//! the two-way protocol in `duplex/acp.rs` has put down as that of the turn.

use super::{Said, Speak, code_of, output_of};
use crate::act::{Act, Call, Ending, FILE, Todo, Trouble, Work};
use crate::json::{Json, list, object};
use crate::voice::Voice;
use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct Acp {
    /// The pieces of the message that is on.
    told: String,
    questions: u64,
}

impl Speak for Acp {
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        if !matches!(act, Act::Piece(_) | Act::Message(..)) {
            self.told.clear();
        }
        match act {
            Act::Begins(session) => {
                if let Some(session) = session.as_ref().filter(|_| !voice.announced) {
                    session.clone_into(&mut voice.id.session);
                }
                // Where nobody has asked for one, as if somebody had.
                if !std::mem::replace(&mut voice.announced, true) {
                    let result = object! { "sessionId": &voice.id.session };
                    said.line(object! { "jsonrpc": "2.0", "id": 2, "result": result });
                }
            }
            // Who prompts knows what.
            Act::Prompt(_) | Act::ThoughtEnds | Act::Cursor(_) => {}
            Act::ThoughtPiece(text) => chunk("agent_thought_chunk", text, voice, said),
            Act::Piece(text) => {
                self.told.push_str(text);
                chunk("agent_message_chunk", text, voice, said);
            }
            Act::Message(text, _) => {
                // Only what the pieces have not told yet.
                let rest = text.strip_prefix(self.told.as_str()).unwrap_or(text);
                if !rest.is_empty() {
                    chunk("agent_message_chunk", rest, voice, said);
                }
                self.told.clear();
            }
            Act::ToolBegins(call) => begin(call, "in_progress", voice, said),
            Act::ToolEnds(call, ending) => end(call, ending, voice, said),
            Act::Plan(todos) => {
                let entry = |todo: &Todo| {
                    object! {
                        "content": &todo.text, "priority": "medium", "status": todo.state.word(),
                    }
                };
                let entries: Vec<Json> = todos.iter().map(entry).collect();
                update(object! { "sessionUpdate": "plan", "entries": entries }, voice, said);
            }
            Act::Retries { attempt, trouble } => {
                said.error(format!("attempt {attempt} failed: {}", words(*trouble)));
            }
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => fail(code(*trouble), words(*trouble), voice, said),
            Act::Ends { text, failed: true } => {
                fail(-32603, text.as_deref().unwrap_or("the turn failed"), voice, said);
            }
            Act::Ends { failed: false, .. } => stop("end_turn", voice, said),
        }
    }

    fn ask(&mut self, call: &Call, voice: &mut Voice, said: &mut Said) -> Option<String> {
        begin(call, "pending", voice, said);
        self.question(call, voice, said)
    }

    fn question(&mut self, call: &Call, voice: &mut Voice, said: &mut Said) -> Option<String> {
        let id = self.questions;
        self.questions += 1;
        let option = |id: &str, kind: &str, name: &str| {
            object! { "optionId": id, "kind": kind, "name": name }
        };
        let options = list![
            option("once", "allow_once", "Allow once"),
            option("always", "allow_always", "Always allow"),
            option("reject", "reject_once", "Reject"),
        ];
        let params = object! {
            "sessionId": &voice.id.session, "toolCall": told(call, "pending", voice),
            "options": options,
        };
        said.line(object! {
            "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params,
        });
        Some(id.to_string())
    }

    fn interrupted(&mut self, voice: &mut Voice, said: &mut Said) {
        self.told.clear();
        stop("cancelled", voice, said);
    }

    fn exit_code(&self) -> u8 {
        0
    }
}

/// A notification about the session.
fn update(update: Json, voice: &Voice, said: &mut Said) {
    let params = object! { "sessionId": &voice.id.session, "update": update };
    said.line(object! { "jsonrpc": "2.0", "method": "session/update", "params": params });
}

fn chunk(kind: &str, text: &str, voice: &Voice, said: &mut Said) {
    let content = object! { "type": "text", "text": text };
    update(object! { "sessionUpdate": kind, "content": content }, voice, said);
}

/// A call, as far as it is known when it begins.
fn told(call: &Call, status: &str, voice: &Voice) -> Json {
    let (title, kind, input) = match &call.work {
        Work::Shell { command, timeout } => {
            let input = object! { "command": command, "cwd": &voice.id.cwd };
            let input = match timeout {
                Some(timeout) => input.with("timeout", stablehand_core::time::millis(*timeout)),
                None => input,
            };
            (command.clone(), "execute", input)
        }
        Work::Read { path } => (format!("Read {path}"), "read", object! { "path": path }),
        Work::Write { path, content } => {
            (format!("Write {path}"), "edit", object! { "path": path, "content": content })
        }
        Work::Mcp { tool, .. } => (tool.clone(), "other", object! {}),
        Work::Task { description } => {
            (description.clone(), "think", object! { "description": description })
        }
    };
    let told = object! {
        "toolCallId": voice.call("call_", &call.id), "title": title, "kind": kind,
        "status": status, "rawInput": input,
    };
    match &call.work {
        // Whoever is asked wants to see it.
        Work::Write { path, content } => told.with("content", list![change(path, content, voice)]),
        _ => told,
    }
}

/// A file that is made; the protocol wants whole paths.
fn change(path: &str, content: &str, voice: &Voice) -> Json {
    let path = std::path::Path::new(&voice.id.cwd).join(path).display().to_string();
    object! { "type": "diff", "path": path, "oldText": "", "newText": content }
}

fn begin(call: &Call, status: &str, voice: &Voice, said: &mut Said) {
    let begun = object! { "sessionUpdate": "tool_call" }.joined(&told(call, status, voice));
    update(begun, voice, said);
}

fn end(call: &Call, ending: &Ending, voice: &Voice, said: &mut Said) {
    let output = match (&call.work, ending) {
        (Work::Read { .. }, Ending::Well) => FILE.to_owned(),
        (_, ending) => output_of(ending),
    };
    let status = match ending {
        Ending::Refused { .. } => "failed",
        _ => "completed",
    };
    let shown = match &call.work {
        Work::Write { path, content } if status == "completed" => change(path, content, voice),
        _ => {
            let text = object! { "type": "text", "text": &output };
            object! { "type": "content", "content": text }
        }
    };
    let ended = object! {
        "sessionUpdate": "tool_call_update", "toolCallId": voice.call("call_", &call.id),
        "status": status, "content": list![shown],
    };
    let ended = match code_of(ending).filter(|_| matches!(call.work, Work::Shell { .. })) {
        Some(code) => ended.with("rawOutput", object! { "output": output, "exit_code": code }),
        None => ended,
    };
    update(ended, voice, said);
}

/// The id of the request that the turn answers; where nobody has prompted, that of our own speaker.
fn request(voice: &mut Voice) -> Json {
    let id = voice.turn.take().and_then(|id| serde_json::from_str::<Value>(&id).ok());
    Json::from(id.unwrap_or_else(|| Value::from("stablehand-turn-1")))
}

fn stop(reason: &str, voice: &mut Voice, said: &mut Said) {
    let (input, output) = (voice.used.input, voice.used.output);
    let used = object! {
        "inputTokens": input, "outputTokens": output, "totalTokens": input + output,
    };
    let result = object! { "stopReason": reason, "usage": used };
    said.line(object! { "jsonrpc": "2.0", "id": request(voice), "result": result });
}

fn fail(code: i32, message: &str, voice: &mut Voice, said: &mut Said) {
    let error = object! { "code": code, "message": message };
    said.line(object! { "jsonrpc": "2.0", "id": request(voice), "error": error });
}

fn code(trouble: Trouble) -> i32 {
    match trouble {
        Trouble::Auth => -32000,
        _ => -32603,
    }
}

fn words(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Auth => "Authentication required: invalid x-api-key",
        Trouble::RateLimit => "HTTP 429: rate limit exceeded",
        Trouble::Overloaded => "HTTP 529: the service is overloaded",
        Trouble::ContextLength => "the prompt is too long: context length exceeded",
        Trouble::Server => "HTTP 500: internal server error",
    }
}
