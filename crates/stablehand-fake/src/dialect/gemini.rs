//! Gemini CLI's stream, as `gemini --output-format stream-json` writes it.
//!
//! Text comes in pieces only, thinking not at all. A command that fails is a success and its exit
//! code is nowhere. A failed request is a failed result, and the exit code is the low byte of the
//! HTTP status. Retries are told on standard error alone.

use super::{Said, Speak, output_of};
use crate::act::{Act, Call, Ending, Todo, Trouble, Work};
use crate::json::{Json, object};
use crate::voice::Voice;

#[derive(Debug, Default)]
pub(super) struct Gemini {
    /// The pieces of the message that is on.
    told: String,
    calls: u64,
    exit_code: u8,
}

impl Speak for Gemini {
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
                    "type": "init", "timestamp": voice.stamp(), "session_id": &voice.id.session,
                    "model": voice.id.model.as_deref().unwrap_or("auto"),
                });
            }
            Act::Prompt(text) => said.line(object! {
                "type": "message", "timestamp": voice.stamp(), "role": "user", "content": text,
            }),
            Act::Piece(text) => {
                self.told.push_str(text);
                piece(text, voice, said);
            }
            Act::Message(text, _) => {
                // Only what the pieces have not told yet.
                let rest = text.strip_prefix(self.told.as_str()).unwrap_or(text);
                if !rest.is_empty() {
                    piece(rest, voice, said);
                }
                self.told.clear();
            }
            Act::ToolBegins(call) => {
                let (name, parameters) = given(call);
                tool_use(name, &call_id(call, voice), parameters, voice, said);
            }
            Act::ToolEnds(call, ending) => {
                self.calls += 1;
                tool_result(call, ending, voice, said);
            }
            Act::Plan(todos) => {
                self.calls += 1;
                let entry = |todo: &Todo| {
                    object! { "description": &todo.text, "status": todo.state.word() }
                };
                let todos: Vec<Json> = todos.iter().map(entry).collect();
                let id = format!("write_todos__fc_{}", voice.token());
                tool_use("write_todos".to_owned(), &id, object! { "todos": todos }, voice, said);
                said.line(object! {
                    "type": "tool_result", "timestamp": voice.stamp(), "tool_id": id,
                    "status": "success",
                });
            }
            Act::Retries { attempt, trouble } => said.error(format!(
                "Attempt {attempt} failed with status {}. Retrying with backoff... _ApiError: {}",
                status(*trouble),
                answer(*trouble)
            )),
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => {
                let message = format!("[API Error: {}]", answer(*trouble));
                self.fail(&message, (status(*trouble) & 255) as u8, voice, said);
            }
            Act::Ends { text, failed: true } => {
                self.fail(text.as_deref().unwrap_or("the turn failed"), 1, voice, said);
            }
            Act::Ends { failed: false, .. } => {
                let stats = self.stats(voice.used.input, voice.used.output, voice);
                said.line(object! {
                    "type": "result", "timestamp": voice.stamp(), "status": "success",
                    "stats": stats,
                });
                self.exit_code = 0;
            }
            // Thinking is not shown.
            Act::ThoughtPiece(_) | Act::ThoughtEnds | Act::Cursor(_) => {}
        }
    }

    fn blocked(&mut self, reason: &str, voice: &mut Voice, said: &mut Said) {
        said.line(object! {
            "type": "error", "timestamp": voice.stamp(), "severity": "warning",
            "message": format!("Agent execution blocked: {reason}"),
        });
    }

    fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl Gemini {
    fn fail(&mut self, message: &str, exit_code: u8, voice: &mut Voice, said: &mut Said) {
        let stats = self.stats(0, 0, voice);
        said.line(object! {
            "type": "result", "timestamp": voice.stamp(), "status": "error",
            "error": object! { "type": "unknown", "message": message }, "stats": stats,
        });
        self.exit_code = exit_code;
    }

    fn stats(&self, input: u64, output: u64, voice: &Voice) -> Json {
        let counts = |input: u64, output: u64| {
            object! {
                "total_tokens": input + output, "input_tokens": input, "output_tokens": output,
                "cached": 0, "input": input,
            }
        };
        let model = voice.id.model.as_deref().unwrap_or("gemini-3.8-flash");
        let models = Json::object(&[(model, counts(input, output))]);
        counts(input, output)
            .with("duration_ms", voice.turn_took_ms())
            .with("tool_calls", self.calls)
            .with("models", models)
    }
}

fn piece(text: &str, voice: &mut Voice, said: &mut Said) {
    said.line(object! {
        "type": "message", "timestamp": voice.stamp(), "role": "assistant", "content": text,
        "delta": true,
    });
}

fn call_id(call: &Call, voice: &Voice) -> String {
    format!("{}__fc_{}_0", given(call).0, voice.call("", &call.id))
}

/// The name of a tool, and what it is given.
pub(crate) fn given(call: &Call) -> (String, Json) {
    match &call.work {
        Work::Shell { command, .. } => (
            "run_shell_command".to_owned(),
            object! { "command": command, "description": "a command of the script" },
        ),
        Work::Read { path } => ("read_file".to_owned(), object! { "file_path": path }),
        Work::Write { path, content } => {
            ("write_file".to_owned(), object! { "file_path": path, "content": content })
        }
        Work::Mcp { server, tool } => (format!("mcp_{server}_{tool}"), object! {}),
        Work::Task { description } => {
            ("codebase_investigator".to_owned(), object! { "objective": description })
        }
    }
}

fn tool_use(name: String, id: &str, parameters: Json, voice: &mut Voice, said: &mut Said) {
    said.line(object! {
        "type": "tool_use", "timestamp": voice.stamp(), "tool_name": name, "tool_id": id,
        "parameters": parameters,
    });
}

fn tool_result(call: &Call, ending: &Ending, voice: &mut Voice, said: &mut Said) {
    let line = object! { "type": "tool_result", "timestamp": voice.stamp(), "tool_id": call_id(call, voice) };
    said.line(match (ending, &call.work) {
        (Ending::Refused { reason }, _) => line
            .with("status", "error")
            .with("output", reason)
            .with("error", object! { "type": "policy_violation", "message": reason }),
        (_, Work::Shell { .. }) => {
            // What a command printed is shown without the end of its last line.
            let output = output_of(ending);
            line.with("status", "success").with("output", output.trim_end())
        }
        (_, Work::Mcp { .. }) => line.with("status", "success").with("output", "hay"),
        (_, Work::Task { .. }) => line.with("status", "success").with("output", "done"),
        // A file that was read or written is told without a text.
        (_, Work::Read { .. } | Work::Write { .. }) => line.with("status", "success"),
    });
}

fn status(trouble: Trouble) -> u32 {
    match trouble {
        Trouble::Auth => 401,
        Trouble::RateLimit => 429,
        Trouble::Overloaded => 503,
        Trouble::ContextLength => 400,
        Trouble::Server => 500,
    }
}

/// The service's answer, as JSON within a text.
fn answer(trouble: Trouble) -> String {
    let (message, word) = match trouble {
        Trouble::Auth => ("invalid x-api-key", "UNAUTHENTICATED"),
        Trouble::RateLimit => ("Rate limited", "RESOURCE_EXHAUSTED"),
        Trouble::Overloaded => ("The model is overloaded. Please try again later.", "UNAVAILABLE"),
        Trouble::ContextLength => (
            "The input token count exceeds the maximum number of tokens allowed.",
            "INVALID_ARGUMENT",
        ),
        Trouble::Server => ("Internal server error", "INTERNAL"),
    };
    let error = object! { "code": status(trouble), "message": message, "status": word };
    object! { "error": error }.into_line()
}
