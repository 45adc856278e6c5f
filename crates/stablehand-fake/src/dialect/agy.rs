//! Antigravity CLI's stream, as `agy --output-format stream-json` writes it.
//!
//! A turn consists of numbered steps; each is told when it begins and when it ends. Thinking is not
//! shown, nor is a command's exit code. What needs a permission is denied: the result is a success
//! all the same, and names what was denied.

use super::{Said, Speak, output_of};
use crate::act::{Act, Call, Ending, Todo, Trouble, Work};
use crate::json::{Json, object};
use crate::voice::Voice;
use serde_json::json;

/// Where the steps of a resumed conversation go on.
const RESUMED: u64 = 100;

#[derive(Debug, Default)]
pub(super) struct Agy {
    /// The steps so far.
    steps: u64,
    /// The step of the message that is on, and its pieces.
    message: Option<(u64, String)>,
    /// The last message.
    said: String,
    /// The open calls, by the script's ids.
    open: Vec<(String, u64)>,
    /// Calls of the turn that were denied.
    denied: u64,
    turns: u64,
    exit_code: u8,
}

impl Speak for Agy {
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        if !matches!(act, Act::Piece(_) | Act::Message(..)) {
            self.end_message("", voice, said);
        }
        match act {
            Act::Begins(session) => {
                if let Some(session) = session {
                    session.clone_into(&mut voice.id.session);
                }
                self.steps = if voice.id.resumed { RESUMED } else { 0 };
                let mut init = object! {
                    "cwd": &voice.id.cwd, "tools": json!(["run_command", "view_file"]),
                    "permission_mode": "request-review",
                };
                if let Some(model) = &voice.id.model {
                    init = init.with("model", model.as_str());
                }
                said.line(object! {
                    "event": "init", "conversation_id": &voice.id.session, "init": init,
                });
            }
            Act::Prompt(_) => {
                let step = self.step("DONE", "user_input", voice);
                tell(step, said);
            }
            Act::Piece(text) => {
                let mut message =
                    self.message.take().unwrap_or_else(|| (self.next(), String::new()));
                message.1.push_str(text);
                let step = numbered(message.0, "ACTIVE", "agent_response", voice);
                tell(step.with("text_delta", text.as_str()), said);
                self.message = Some(message);
            }
            Act::Message(text, _) => {
                let told = self.message.as_ref().map_or("", |(_, told)| told.as_str());
                let rest = text.strip_prefix(told).unwrap_or(text).to_owned();
                if self.message.is_none() {
                    self.message = Some((self.next(), String::new()));
                }
                self.end_message(&rest, voice, said);
            }
            Act::ToolBegins(call) => {
                let number = self.next();
                self.open.push((call.id.clone(), number));
                tell(tool(number, "ACTIVE", call, voice, &object! {}), said);
            }
            Act::ToolEnds(call, ending) => self.call_ends(call, ending, voice, said),
            Act::Plan(todos) => {
                let line = |todo: &Todo| format!("{}: {}", todo.state.word(), todo.text);
                let plan: Vec<String> = todos.iter().map(line).collect();
                let step = self.step("DONE", "system_message", voice);
                tell(step.with("text", plan.join("\n")), said);
            }
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => self.fail(words(*trouble), voice, said),
            Act::Ends { text, failed: true } => {
                self.fail(text.as_deref().unwrap_or("the turn failed"), voice, said);
            }
            Act::Ends { text, failed: false } => self.end(text.as_deref(), voice, said),
            // Thinking is not shown, and retries are silent.
            Act::ThoughtPiece(_) | Act::ThoughtEnds | Act::Retries { .. } | Act::Cursor(_) => {}
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

impl Agy {
    fn next(&mut self) -> u64 {
        self.steps += 1;
        self.steps - 1
    }

    fn step(&mut self, state: &str, kind: &str, voice: &Voice) -> Json {
        numbered(self.next(), state, kind, voice)
    }

    /// The last piece of a message comes with the end of its step.
    fn end_message(&mut self, rest: &str, voice: &Voice, said: &mut Said) {
        if let Some((number, told)) = self.message.take() {
            let step = numbered(number, "DONE", "agent_response", voice);
            tell(step.with("text_delta", rest).with("usage", usage(voice)), said);
            self.said = told + rest;
        }
    }

    fn call_ends(&mut self, call: &Call, ending: &Ending, voice: &Voice, said: &mut Said) {
        let at = self.open.iter().position(|(id, _)| *id == call.id);
        let number = match at {
            Some(at) => self.open.remove(at).1,
            None => self.next(),
        };
        let (state, more) = match ending {
            Ending::Refused { reason } => {
                self.denied += 1;
                let error = object! { "type": "PERMISSION_DENIED", "message": reason };
                ("ERROR", object! { "error": error })
            }
            _ if matches!(call.work, Work::Shell { .. }) => {
                ("DONE", object! { "output": output_of(ending) })
            }
            _ => ("DONE", object! {}),
        };
        tell(tool(number, state, call, voice, &more), said);
    }

    fn end(&mut self, text: Option<&str>, voice: &Voice, said: &mut Said) {
        let last = std::mem::take(&mut self.said);
        let result = self.result("SUCCESS", text.unwrap_or(&last), voice);
        let action = object! { "action": "command", "display_name": "RunCommand" };
        let denied: Vec<Json> =
            (0..std::mem::take(&mut self.denied)).map(|_| action.clone()).collect();
        let result = if denied.is_empty() { result } else { result.with("denied_actions", denied) };
        said.line(object! { "event": "result", "result": result });
        self.exit_code = 0;
    }

    fn fail(&mut self, words: &str, voice: &Voice, said: &mut Said) {
        let result = self.result("ERROR", "", voice).with("error", words);
        said.line(object! { "event": "result", "result": result });
        self.said.clear();
        self.denied = 0;
        self.exit_code = 1;
    }

    fn result(&mut self, status: &str, response: &str, voice: &Voice) -> Json {
        self.turns += 1;
        self.open.clear();
        let seconds = json!(std::time::Duration::from_millis(voice.turn_took_ms()).as_secs_f64());
        object! {
            "conversation_id": &voice.id.session, "status": status, "response": response,
            "duration_seconds": seconds, "num_turns": self.turns, "usage": usage(voice),
        }
    }
}

fn numbered(number: u64, state: &str, kind: &str, voice: &Voice) -> Json {
    object! {
        "conversation_id": &voice.id.session, "step_index": number, "state": state,
        "step_type": kind,
    }
}

fn tell(step: Json, said: &mut Said) {
    said.line(object! { "event": "step_update", "step_update": step });
}

/// A step of a tool; `more` is what its end adds.
fn tool(number: u64, state: &str, call: &Call, voice: &Voice, more: &Json) -> Json {
    let (name, parameters) = given(call);
    let info = object! { "name": name, "parameters": parameters }.joined(more);
    let kind = if name == "subagent" { "subagent" } else { "tool" };
    let step = numbered(number, state, kind, voice);
    let step = if kind == "tool" { step.with("tool_name", name) } else { step };
    step.with("tool_info", info)
}

/// The name of a tool, and what it is given.
fn given(call: &Call) -> (&'static str, Json) {
    match &call.work {
        Work::Shell { command, .. } => ("run_command", object! { "CommandLine": command }),
        Work::Read { path } => ("view_file", object! { "AbsolutePath": path }),
        Work::Write { path, .. } => ("write_to_file", object! { "TargetFile": path }),
        Work::Mcp { server, tool } => {
            let arguments = object! {};
            let given = object! { "ServerName": server, "ToolName": tool, "Arguments": arguments };
            ("call_mcp_tool", given)
        }
        Work::Task { description } => ("subagent", object! { "Description": description }),
    }
}

fn usage(voice: &Voice) -> Json {
    let (input, output) = (voice.used.input, voice.used.output);
    object! {
        "input_tokens": input, "output_tokens": output, "thinking_tokens": 0,
        "cache_read_tokens": 0, "total_tokens": input + output,
    }
}

fn words(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Auth => "not logged in",
        Trouble::RateLimit => "429: Rate limit exceeded",
        Trouble::Overloaded => "503: The model is overloaded",
        Trouble::ContextLength => "400: the input token count exceeds the limit",
        Trouble::Server => "500: Internal server error",
    }
}
