//! Qwen Code's stream, as `qwen --output-format stream-json` writes it.
//!
//! Claude Code's stream with other tools and fewer members. A failed request is written as if the
//! model had said so, and then as a failed result. Retries are silent. Calls of one answer stand on
//! one line there; here each has its own, because a script tells them one by one.

use super::{Pending, Said, Speak, code_of, output_of};
use crate::act::{Act, Call, Ending, FILE, Todo, Trouble, Work};
use crate::json::{Json, NULL, list, object};
use crate::voice::Voice;
use serde_json::json;

/// The version whose shapes these are.
const VERSION: &str = "0.24.4";

/// The model of whoever names none.
const MODEL: &str = "qwen3-coder-plus";

#[derive(Debug, Default)]
pub(super) struct Qwen {
    pending: Pending,
    /// The last message.
    said: String,
    /// How many answers the model has given in this turn.
    answers: u64,
    exit_code: u8,
}

impl Speak for Qwen {
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        self.flush_before(act, voice, said);
        match act {
            Act::Begins(session) => {
                if let Some(session) = session {
                    session.clone_into(&mut voice.id.session);
                }
                init(voice, said);
            }
            Act::ThoughtPiece(text) => self.pending.think(text),
            Act::ThoughtEnds => self.tell_thought(voice, said),
            Act::Piece(text) => self.pending.say(text),
            Act::Message(text, _) => {
                self.pending.message();
                self.tell_message(text, voice, said);
            }
            Act::ToolBegins(call) => {
                let (name, input) = given(call);
                let id = format!("call_{}", voice.call("", &call.id));
                call_begins(&name, &id, input, voice, said);
            }
            Act::ToolEnds(call, ending) => {
                let id = format!("call_{}", voice.call("", &call.id));
                let failed = code_of(ending) != Some(0);
                result(&id, failed, &told(call, ending), voice, said);
            }
            Act::Plan(todos) => {
                let entry = |(number, todo): (usize, &Todo)| {
                    object! {
                        "id": number.to_string(), "content": &todo.text,
                        "status": todo.state.word(),
                    }
                };
                let todos: Vec<Json> = (1..).zip(todos).map(entry).collect();
                let id = format!("call_{}", voice.token());
                call_begins("todo_write", &id, object! { "todos": todos }, voice, said);
                result(&id, false, "Todos have been modified successfully.", voice, said);
            }
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => {
                let words = words(*trouble);
                let block = object! { "type": "text", "text": words };
                said.line(assistant(block, NULL, voice));
                self.fail(words, voice, said);
            }
            Act::Ends { text, failed: true } => {
                self.fail(text.as_deref().unwrap_or("the turn failed"), voice, said);
            }
            Act::Ends { text, failed: false } => self.end(text.as_ref(), voice, said),
            // The prompt is not echoed, and retries are silent.
            Act::Prompt(_) | Act::Retries { .. } | Act::Cursor(_) => {}
        }
    }

    fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl Qwen {
    fn flush_before(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        if !matches!(act, Act::ThoughtPiece(_) | Act::ThoughtEnds) {
            self.tell_thought(voice, said);
        }
        if !matches!(act, Act::Piece(_) | Act::Message(..))
            && let Some(text) = self.pending.message()
        {
            self.tell_message(&text, voice, said);
        }
    }

    fn tell_thought(&mut self, voice: &mut Voice, said: &mut Said) {
        if let Some(text) = self.pending.thought() {
            let block = object! { "type": "thinking", "thinking": text, "signature": "" };
            said.line(assistant(block, NULL, voice));
        }
    }

    fn tell_message(&mut self, text: &str, voice: &mut Voice, said: &mut Said) {
        text.clone_into(&mut self.said);
        self.answers += 1;
        said.line(assistant(object! { "type": "text", "text": text }, NULL, voice));
    }

    fn end(&mut self, text: Option<&String>, voice: &mut Voice, said: &mut Said) {
        let last = std::mem::take(&mut self.said);
        let line = opening("success", false, self.answers, voice);
        said.line(
            line.with("result", text.unwrap_or(&last))
                .with("usage", usage(voice))
                .with("permission_denials", list![]),
        );
        self.answers = 0;
        self.exit_code = 0;
    }

    fn fail(&mut self, words: &str, voice: &mut Voice, said: &mut Said) {
        let none = object! { "input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0 };
        let line = opening("error_during_execution", true, self.answers, voice);
        said.line(
            line.with("usage", none)
                .with("permission_denials", list![])
                .with("error", object! { "message": words }),
        );
        self.answers = 0;
        self.exit_code = 1;
    }
}

fn model(voice: &Voice) -> &str {
    voice.id.model.as_deref().unwrap_or(MODEL)
}

fn init(voice: &mut Voice, said: &mut Said) {
    said.line(object! {
        "type": "system", "subtype": "init", "uuid": &voice.id.session,
        "session_id": &voice.id.session, "cwd": &voice.id.cwd,
        "tools": json!(["agent", "read_file", "edit", "write_file", "run_shell_command"]),
        "mcp_servers": list![], "model": model(voice), "permission_mode": "yolo",
        "slash_commands": json!(["clear", "compress"]), "qwen_code_version": VERSION,
        "agents": json!(["general-purpose", "Explore"]),
    });
    let state = object! { "v": 2, "goal": NULL, "activity": "idle" };
    let event = object! { "type": "goal_state", "goal_state": state };
    said.line(line("stream_event", voice).with("event", event));
}

/// The beginning of every line but the first and the last.
fn line(kind: &str, voice: &mut Voice) -> Json {
    object! {
        "type": kind, "uuid": voice.uuid(), "session_id": &voice.id.session,
        "parent_tool_use_id": NULL,
    }
}

fn assistant(block: Json, stop: Option<Json>, voice: &mut Voice) -> Json {
    let uuid = voice.uuid();
    let message = object! {
        "id": &uuid, "type": "message", "role": "assistant", "model": model(voice),
        "content": list![block], "stop_reason": stop, "usage": usage(voice),
    };
    object! {
        "type": "assistant", "uuid": uuid, "session_id": &voice.id.session,
        "parent_tool_use_id": NULL, "message": message,
    }
}

fn call_begins(name: &str, id: &str, input: Json, voice: &mut Voice, said: &mut Said) {
    let block = object! { "type": "tool_use", "id": id, "name": name, "input": input };
    said.line(assistant(block, Some(Json::from("tool_use")), voice));
}

fn usage(voice: &Voice) -> Json {
    let (input, output) = (voice.used.input, voice.used.output);
    object! {
        "input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 0,
        "total_tokens": input + output,
    }
}

fn opening(subtype: &str, failed: bool, answers: u64, voice: &mut Voice) -> Json {
    let took = voice.turn_took_ms();
    object! {
        "type": "result", "subtype": subtype, "uuid": voice.uuid(),
        "session_id": &voice.id.session, "is_error": failed, "duration_ms": took,
        "duration_api_ms": took, "num_turns": answers.max(1),
    }
}

fn result(id: &str, failed: bool, content: &str, voice: &mut Voice, said: &mut Said) {
    let result = object! {
        "type": "tool_result", "tool_use_id": id, "is_error": failed, "content": content,
    };
    let message = object! { "role": "user", "content": list![result] };
    said.line(line("user", voice).with("message", message));
}

fn given(call: &Call) -> (String, Json) {
    match &call.work {
        Work::Shell { command, .. } => (
            "run_shell_command".to_owned(),
            object! { "command": command, "description": "a command of the script" },
        ),
        Work::Read { path } => ("read_file".to_owned(), object! { "file_path": path }),
        Work::Write { path, content } => {
            ("write_file".to_owned(), object! { "file_path": path, "content": content })
        }
        Work::Mcp { server, tool } => (format!("mcp__{server}__{tool}"), object! {}),
        Work::Task { description } => {
            ("agent".to_owned(), object! { "description": description, "prompt": description })
        }
    }
}

/// The text of a result: of a command that fails, or says nothing, it is a list of facts.
fn told(call: &Call, ending: &Ending) -> String {
    let output = output_of(ending);
    let output = output.trim_end();
    match (&call.work, ending) {
        (_, Ending::Refused { reason }) => reason.clone(),
        (Work::Shell { command, .. }, _) => match code_of(ending) {
            Some(0) if !output.is_empty() => output.to_owned(),
            code => {
                let output = if output.is_empty() { "(empty)" } else { output };
                format!(
                    "Command: {command}\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {}\nSignal: (none)\nProcess Group PGID: (none)",
                    code.unwrap_or_default()
                )
            }
        },
        (Work::Read { .. }, _) => FILE.to_owned(),
        (Work::Write { path, .. }, _) => {
            format!("Successfully created and wrote to new file: {path}.")
        }
        (Work::Mcp { .. }, _) => "hay".to_owned(),
        (Work::Task { .. }, _) => "done".to_owned(),
    }
}

fn words(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Auth => "[API Error: 401 invalid x-api-key]",
        Trouble::RateLimit => "[API Error: 429 Rate limit exceeded]",
        Trouble::Overloaded => "[API Error: 503 The model is overloaded]",
        Trouble::ContextLength => "[API Error: 400 prompt is too long]",
        Trouble::Server => "[API Error: 500 Internal server error]",
    }
}
