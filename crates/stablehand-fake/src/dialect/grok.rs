//! Grok CLI's stream, as `grok --output-format streaming-json` writes it.
//!
//! Nothing is said at the start, and the session is named in the last line only. An answer ends with
//! what it used. A command is `completed` whatever it exits with. What needs a permission is denied,
//! and the turn is then `cancelled`. Retries are silent.

use super::{Said, Speak, code_of, diff_of, output_of};
use crate::act::{Act, Call, Ending, FILE, Todo, Trouble, Work};
use crate::json::{Json, NULL, list, object};
use crate::voice::Voice;
use serde_json::json;

/// The model of a command line that names none.
const MODEL: &str = "grok-4.6";

#[derive(Debug, Default)]
pub(super) struct Grok {
    /// The pieces of the message that is on.
    told: String,
    /// The answer that is on has said what it used.
    is_counted: bool,
    answers: u64,
    /// A call of the turn was denied.
    is_refused: bool,
    exit_code: u8,
}

impl Speak for Grok {
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        if !matches!(act, Act::Piece(_) | Act::Message(..)) {
            self.told.clear();
        }
        match act {
            Act::Begins(session) => {
                if let Some(session) = session {
                    session.clone_into(&mut voice.id.session);
                }
                said.line(object! {
                    "type": "available_commands",
                    "tools": json!(["run_terminal_command", "read_file", "write"]),
                    "commands": json!(["compact", "context"]),
                });
            }
            Act::ThoughtPiece(text) => self.piece("thought", text, said),
            Act::Piece(text) => {
                self.told.push_str(text);
                self.piece("text", text, said);
            }
            Act::Message(text, _) => {
                // Only what the pieces have not told yet.
                let rest = text.strip_prefix(self.told.as_str()).unwrap_or(text);
                self.piece("text", rest, said);
                self.told.clear();
            }
            Act::ToolBegins(call) => self.call_begins(call, voice, said),
            Act::ToolEnds(call, ending) => self.call_ends(call, ending, voice, said),
            Act::Plan(todos) => self.plan(todos, voice, said),
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => self.fail(&words(*trouble), said),
            Act::Ends { text, failed: true } => {
                self.fail(text.as_deref().unwrap_or("the turn failed"), said);
            }
            Act::Ends { failed: false, .. } => self.end(voice, said),
            // The prompt is not echoed, and retries are silent.
            Act::Prompt(_) | Act::ThoughtEnds | Act::Retries { .. } | Act::Cursor(_) => {}
        }
    }

    /// Nobody can be asked: the call is told, and will be denied.
    fn ask(&mut self, call: &Call, voice: &mut Voice, said: &mut Said) -> Option<String> {
        self.speak(&Act::ToolBegins(call.clone()), voice, said);
        None
    }

    fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl Grok {
    fn piece(&mut self, kind: &str, text: &str, said: &mut Said) {
        if !text.is_empty() {
            self.is_counted = false;
            said.line(object! { "type": kind, "data": text });
        }
    }

    /// An answer is over.
    fn count(&mut self, voice: &Voice, said: &mut Said) {
        if !std::mem::replace(&mut self.is_counted, true) {
            self.answers += 1;
            said.line(object! { "type": "usage", "usage": usage(voice) });
        }
    }

    fn call_begins(&mut self, call: &Call, voice: &Voice, said: &mut Said) {
        self.count(voice, said);
        let (name, kind, input) = given(call);
        let id = call_id(call, voice);
        said.line(object! {
            "type": "tool_call", "toolCallId": &id, "title": name, "kind": kind,
            "status": "pending", "toolName": name, "rawInput": input, "content": list![],
            "locations": list![],
        });
        said.line(update(&id, NULL, list![], NULL));
    }

    fn call_ends(&mut self, call: &Call, ending: &Ending, voice: &Voice, said: &mut Said) {
        self.is_counted = false;
        let id = call_id(call, voice);
        if let Ending::Refused { .. } = ending {
            self.is_refused = true;
            let words = format!("User cancelled the execution for tool `{}`", given(call).0);
            said.line(update(&id, Some("failed".into()), texts(&words), NULL));
            return;
        }
        let output = output_of(ending);
        let (content, raw) = match &call.work {
            Work::Shell { command, .. } => {
                let raw = |code: i32, output: &str| {
                    object! {
                        "type": "Bash", "output": list![], "output_for_prompt": output,
                        "exit_code": code, "command": command, "truncated": false, "signal": NULL,
                        "timed_out": false, "description": NULL, "current_dir": &voice.id.cwd,
                        "output_file": "", "total_bytes": output.len(),
                    }
                };
                let running = raw(0, &output);
                said.line(update(&id, Some("in_progress".into()), texts(&output), Some(running)));
                (texts(&output), raw(code_of(ending).unwrap_or_default(), &output))
            }
            Work::Write { path, content } => {
                let diff = object! {
                    "type": "diff", "path": path, "oldText": "", "newText": content,
                };
                let edits = object! { "patch": diff_of(path, content) };
                (list![diff], object! { "type": "SearchReplace", "EditsApplied": edits })
            }
            Work::Read { .. } => {
                let file = object! { "content": FILE };
                (texts(FILE), object! { "type": "ReadFile", "FileContent": file })
            }
            Work::Mcp { .. } => (texts("hay"), object! { "type": "MCP" }),
            Work::Task { .. } => (texts("done"), object! { "type": "Text" }),
        };
        said.line(update(&id, Some("completed".into()), content, Some(raw)));
    }

    fn plan(&mut self, todos: &[Todo], voice: &mut Voice, said: &mut Said) {
        self.count(voice, said);
        let entry = |todo: &Todo| {
            object! {
                "content": &todo.text, "priority": "medium", "status": todo.state.word(),
            }
        };
        let entries: Vec<Json> = todos.iter().map(entry).collect();
        let id = format!("call_{}", voice.token());
        said.line(object! {
            "type": "tool_call", "toolCallId": &id, "title": "todo_write", "kind": "plan",
            "status": "pending", "toolName": "todo_write",
            "rawInput": object! { "todos": entries.clone(), "merge": false }, "content": list![],
            "locations": list![],
        });
        let raw = object! { "type": "Todo", "TodosUpdated": object! { "todos": entries.clone() } };
        said.line(update(&id, Some("completed".into()), list![], Some(raw)));
        said.line(object! { "type": "plan", "entries": entries });
        self.is_counted = false;
    }

    fn end(&mut self, voice: &mut Voice, said: &mut Said) {
        self.count(voice, said);
        let refused = std::mem::take(&mut self.is_refused);
        let (input, output) = (voice.used.input, voice.used.output);
        let model = voice.id.model.as_deref().unwrap_or(MODEL);
        let counts = object! {
            "inputTokens": input, "outputTokens": output, "cacheReadInputTokens": 0,
            "cacheCreationInputTokens": 0, "modelCalls": self.answers,
        };
        let models = Json::object(&[(model, counts)]);
        let usage = object! {
            "input_tokens": input, "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0, "output_tokens": output, "reasoning_tokens": 0,
            "total_tokens": input + output,
        };
        said.line(object! {
            "type": "end", "stopReason": if refused { "cancelled" } else { "end_turn" },
            "sessionId": &voice.id.session, "requestId": voice.uuid(), "usage": usage,
            "num_turns": self.answers, "modelUsage": models,
        });
        self.answers = 0;
        self.exit_code = 0;
    }

    fn fail(&mut self, words: &str, said: &mut Said) {
        said.line(object! { "type": "error", "message": words });
        said.error(format!("Error: {words}"));
        self.exit_code = 1;
    }
}

fn usage(voice: &Voice) -> Json {
    object! {
        "input_tokens": voice.used.input, "output_tokens": voice.used.output,
        "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "reasoning_tokens": 0,
    }
}

fn call_id(call: &Call, voice: &Voice) -> String {
    format!("call_{}", voice.call("", &call.id))
}

/// The name of a tool, Grok's word for its kind, and what it is given.
fn given(call: &Call) -> (&'static str, &'static str, Json) {
    match &call.work {
        Work::Shell { command, .. } => {
            let input = object! { "command": command, "description": "a command of the script" };
            ("run_terminal_command", "execute", input)
        }
        Work::Read { path } => ("read_file", "read", object! { "target_file": path }),
        Work::Write { path, content } => {
            ("write", "write", object! { "file_path": path, "content": content })
        }
        Work::Mcp { server, tool } => {
            let name = format!("{server}__{tool}");
            ("use_tool", "use_tool", object! { "tool_name": name, "tool_input": object! {} })
        }
        Work::Task { description } => {
            let input = object! { "description": description, "prompt": description };
            ("spawn_subagent", "task", input)
        }
    }
}

fn texts(text: &str) -> Json {
    let inner = object! { "type": "text", "text": text };
    list![object! { "type": "content", "content": inner }]
}

fn update(id: &str, status: Option<Json>, content: Json, raw: Option<Json>) -> Json {
    object! {
        "type": "tool_call_update", "toolCallId": id, "status": status, "content": content,
        "rawOutput": raw, "locations": list![],
    }
}

/// The service's answer, as Grok quotes it.
fn words(trouble: Trouble) -> String {
    let (status, words) = match trouble {
        Trouble::Auth => {
            return "Internal error: \"Unauthorized (401): invalid x-api-key\"".to_owned();
        }
        Trouble::RateLimit => (429, "429 Too Many Requests): rate_limit_error: Rate limited"),
        Trouble::Overloaded => (503, "503 Service Unavailable): overloaded_error: Overloaded"),
        Trouble::ContextLength => (400, "400 Bad Request): prompt is too long"),
        Trouble::Server => (500, "500 Internal Server Error): api_error: Internal server error"),
    };
    format!(
        "Internal error: {{\n  \"message\": \"API error (status {words}\",\n  \"http_status\": {status}\n}}"
    )
}
