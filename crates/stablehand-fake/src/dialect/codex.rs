//! Codex's stream, as `codex exec --json` writes it.
//!
//! No times, no deltas, no model. A message comes whole; only calls have a beginning. Reading a
//! file is a command there. The usage of a turn is that of the whole thread.

use super::{Pending, Said, Speak, code_of, output_of};
use crate::act::{Act, Call, Ending, FILE, Todo, TodoState, Trouble, Work};
use crate::json::{Json, NULL, list, object};
use crate::voice::Voice;

/// So often a request is tried again.
const RETRIES: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct Codex {
    pending: Pending,
    in_turn: bool,
    items: u64,
    /// Open calls: the script's id and the item's.
    open: Vec<(String, String)>,
    /// The item of the plan, once there is one.
    plan: Option<(String, Json)>,
    /// The usage of the thread so far.
    input: u64,
    output: u64,
    exit_code: u8,
}

impl Speak for Codex {
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        self.flush_before(act, said);
        match act {
            Act::Begins(session) => {
                if let Some(session) = session {
                    session.clone_into(&mut voice.id.session);
                }
                said.line(object! { "type": "thread.started", "thread_id": &voice.id.session });
            }
            Act::Prompt(_) => self.turn_is_on(said),
            Act::ThoughtPiece(text) => self.pending.think(text),
            Act::ThoughtEnds => self.tell_thought(said),
            Act::Piece(text) => self.pending.say(text),
            Act::Message(text, _) => {
                self.pending.message();
                self.tell_message(text, said);
            }
            Act::ToolBegins(call) => {
                self.turn_is_on(said);
                let id = self.next_item();
                self.open.push((call.id.clone(), id.clone()));
                said.line(object! { "type": "item.started", "item": item(&id, call, None, voice) });
            }
            Act::ToolEnds(call, ending) => {
                self.turn_is_on(said);
                let known = self.open.iter().position(|(name, _)| *name == call.id);
                let id = match known {
                    Some(at) => self.open.remove(at).1,
                    None => self.next_item(),
                };
                let item = item(&id, call, Some(ending), voice);
                said.line(object! { "type": "item.completed", "item": item });
            }
            Act::Plan(todos) => self.plan(todos, said),
            Act::Retries { attempt, trouble } => {
                self.turn_is_on(said);
                let message = format!("Reconnecting... {attempt}/{RETRIES} ({})", words(*trouble));
                said.line(object! { "type": "error", "message": message });
            }
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => self.fail(words(*trouble), said),
            Act::Ends { text, failed: true } => {
                self.fail(text.as_deref().unwrap_or("the turn failed"), said);
            }
            Act::Ends { failed: false, .. } => self.end(voice, said),
            Act::Cursor(_) => {}
        }
    }

    fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl Codex {
    /// Pieces that are followed by something else than their whole were a message.
    fn flush_before(&mut self, act: &Act, said: &mut Said) {
        if !matches!(act, Act::ThoughtPiece(_) | Act::ThoughtEnds) {
            self.tell_thought(said);
        }
        if !matches!(act, Act::Piece(_) | Act::Message(..))
            && let Some(text) = self.pending.message()
        {
            self.tell_message(&text, said);
        }
    }

    fn turn_is_on(&mut self, said: &mut Said) {
        if !self.in_turn {
            self.in_turn = true;
            said.line(object! { "type": "turn.started" });
        }
    }

    fn next_item(&mut self) -> String {
        self.items += 1;
        format!("item_{}", self.items - 1)
    }

    fn tell_thought(&mut self, said: &mut Said) {
        if let Some(text) = self.pending.thought() {
            self.turn_is_on(said);
            let item = object! { "id": self.next_item(), "type": "reasoning", "text": text };
            said.line(object! { "type": "item.completed", "item": item });
        }
    }

    fn tell_message(&mut self, text: &str, said: &mut Said) {
        self.turn_is_on(said);
        let item = object! { "id": self.next_item(), "type": "agent_message", "text": text };
        said.line(object! { "type": "item.completed", "item": item });
    }

    /// One item for the list, told anew at each change and once more at the end of the turn.
    fn plan(&mut self, todos: &[Todo], said: &mut Said) {
        self.turn_is_on(said);
        let entry = |todo: &Todo| object! { "text": &todo.text, "completed": todo.state == TodoState::Done };
        let items = Json::from(todos.iter().map(entry).collect::<Vec<_>>());
        let (kind, id) = match self.plan.take() {
            Some((id, _)) => ("item.updated", id),
            None => ("item.started", self.next_item()),
        };
        let item = object! { "id": &id, "type": "todo_list", "items": items };
        said.line(object! { "type": kind, "item": item.clone() });
        self.plan = Some((id, item));
    }

    fn fail(&mut self, message: &str, said: &mut Said) {
        self.turn_is_on(said);
        said.line(object! { "type": "error", "message": message });
        said.line(object! { "type": "turn.failed", "error": object! { "message": message } });
        self.turn_is_over(1);
    }

    fn end(&mut self, voice: &Voice, said: &mut Said) {
        self.turn_is_on(said);
        if let Some((_, item)) = self.plan.take() {
            said.line(object! { "type": "item.completed", "item": item });
        }
        self.input += voice.used.input;
        self.output += voice.used.output;
        said.line(object! {
            "type": "turn.completed",
            "usage": object! {
                "input_tokens": self.input, "cached_input_tokens": 0,
                "cache_write_input_tokens": 0, "output_tokens": self.output,
                "reasoning_output_tokens": 0,
            },
        });
        self.turn_is_over(0);
    }

    fn turn_is_over(&mut self, exit_code: u8) {
        self.in_turn = false;
        self.plan = None;
        self.open.clear();
        self.exit_code = exit_code;
    }
}

/// A call as an item; without an ending it is in progress.
fn item(id: &str, call: &Call, ending: Option<&Ending>, voice: &Voice) -> Json {
    let status = match ending {
        None => "in_progress",
        Some(Ending::Refused { .. }) => "declined",
        Some(Ending::Exited { code, .. }) if *code != 0 => "failed",
        Some(_) => "completed",
    };
    match &call.work {
        Work::Shell { command, .. } => {
            let output = ending.map(output_of).unwrap_or_default();
            command_item(id, command, &output, ending.and_then(code_of), status)
        }
        Work::Read { path } => {
            let output = if ending.is_some() { FILE } else { "" };
            let code = ending.map(|_| 0);
            command_item(id, &format!("cat {path}"), output, code, status)
        }
        Work::Write { path, .. } => object! {
            "id": id, "type": "file_change",
            "changes": list![object! { "path": path, "kind": "add" }], "status": status,
        },
        Work::Mcp { server, tool } => {
            let result = ending.map(|_| {
                object! {
                    "content": list![object! { "type": "text", "text": "hay" }],
                    "structured_content": NULL,
                }
            });
            object! {
                "id": id, "type": "mcp_tool_call", "server": server, "tool": tool,
                "arguments": object! {}, "result": result, "error": NULL, "status": status,
            }
        }
        Work::Task { description } => object! {
            "id": id, "type": "collab_tool_call", "tool": "spawn_agent",
            "sender_thread_id": &voice.id.session, "receiver_thread_ids": list![],
            "prompt": description, "agents_states": object! {}, "status": status,
        },
    }
}

fn command_item(id: &str, command: &str, output: &str, code: Option<i32>, status: &str) -> Json {
    object! {
        "id": id, "type": "command_execution", "command": in_a_shell(command),
        "aggregated_output": output, "exit_code": code, "status": status,
    }
}

/// A command as Codex shows it: a shell, its flag and one quoted word.
pub(super) fn in_a_shell(command: &str) -> String {
    let is_plain = !command.contains(['"', '$', '`', '\\', '!']);
    if command.contains('\'') && is_plain {
        return format!("/bin/bash -lc \"{command}\"");
    }
    format!("/bin/bash -lc '{}'", command.replace('\'', r"'\''"))
}

/// The words of a failed request.
pub(super) fn words(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Auth => {
            "unexpected status 401 Unauthorized: invalid x-api-key, url: https://api.example.invalid/v1/responses"
        }
        Trouble::RateLimit => "exceeded retry limit, last status: 429 Too Many Requests",
        Trouble::Overloaded => {
            "We’re currently experiencing high demand, which may cause temporary errors."
        }
        Trouble::ContextLength => {
            "Codex ran out of room in the model's context window. Start a new conversation or clear earlier history before retrying."
        }
        Trouble::Server => "unexpected status 500 Internal Server Error: internal error",
    }
}
