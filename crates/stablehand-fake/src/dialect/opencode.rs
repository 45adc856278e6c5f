//! OpenCode's stream, as `opencode run --format json` writes it.
//!
//! No first line and no last one: a turn is its steps, and ends with a step whose reason is not
//! another one. Texts come whole; a tool comes when it is over, with everything. Retries are
//! silent. Thinking is told only when it is asked for.

use super::{Pending, Said, Speak, code_of, diff_of, output_of, took_ms};
use crate::act::{Act, Call, Ending, FILE, Todo, Trouble, Work};
use crate::json::{Json, list, object};
use crate::voice::Voice;
use stablehand_core::time::millis;

#[derive(Debug, Default)]
pub(super) struct OpenCode {
    pending: Pending,
    /// The id of the message that the step makes, while one is on.
    step: Option<String>,
    /// The step has asked for tools, so another one follows.
    has_called: bool,
    /// Calls that have begun, of which nothing is told yet: the script's id and when.
    open: Vec<(String, u64)>,
    exit_code: u8,
}

impl Speak for OpenCode {
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        self.flush_before(act, voice, said);
        match act {
            Act::Begins(session) => {
                if let Some(session) = session {
                    session.clone_into(&mut voice.id.session);
                }
            }
            Act::ThoughtPiece(text) => self.pending.think(text),
            Act::ThoughtEnds => self.tell_thought(voice, said),
            Act::Piece(text) => self.pending.say(text),
            Act::Message(text, _) => {
                self.pending.message();
                self.text("text", text, voice, said);
            }
            Act::ToolBegins(call) => {
                self.step_is_on(voice, said);
                self.open.push((call.id.clone(), voice.now_ms()));
            }
            Act::ToolEnds(call, ending) => self.tool(call, ending, voice, said),
            Act::Plan(todos) => self.plan(todos, voice, said),
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => {
                said.line(line("error", voice).with("error", error(*trouble)));
                self.turn_is_over(1);
            }
            Act::Ends { text, failed: true } => {
                let message = text.as_deref().unwrap_or("the turn failed");
                let data = object! { "message": message };
                let error = object! { "name": "UnknownError", "data": data };
                said.line(line("error", voice).with("error", error));
                self.turn_is_over(1);
            }
            Act::Ends { failed: false, .. } => {
                // After its tools the model is asked once more, and has no more to say.
                self.next_step(voice, said);
                self.step_is_on(voice, said);
                self.finish_step("stop", voice, said);
                self.turn_is_over(0);
            }
            // The prompt is not echoed, and retries are silent.
            Act::Prompt(_) | Act::Retries { .. } | Act::Cursor(_) => {}
        }
    }

    fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl OpenCode {
    fn flush_before(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        if !matches!(act, Act::ThoughtPiece(_) | Act::ThoughtEnds) {
            self.tell_thought(voice, said);
        }
        if !matches!(act, Act::Piece(_) | Act::Message(..))
            && let Some(text) = self.pending.message()
        {
            self.text("text", &text, voice, said);
        }
    }

    fn tell_thought(&mut self, voice: &mut Voice, said: &mut Said) {
        if let Some(text) = self.pending.thought()
            && voice.id.thinking
        {
            self.text("reasoning", &text, voice, said);
        }
    }

    fn step_is_on(&mut self, voice: &mut Voice, said: &mut Said) {
        if self.step.is_none() {
            self.step = Some(format!("msg_{}", voice.token()));
            let part = self.part("step-start", voice);
            said.line(line("step_start", voice).with("part", part));
        }
    }

    /// Ends a step whose tools are over: what comes now is another answer of the model.
    fn next_step(&mut self, voice: &mut Voice, said: &mut Said) {
        if self.step.is_some() && self.has_called && self.open.is_empty() {
            self.finish_step("tool-calls", voice, said);
        }
    }

    fn finish_step(&mut self, reason: &str, voice: &mut Voice, said: &mut Said) {
        let (input, output) = (voice.used.input, voice.used.output);
        let part = object! {
            "id": format!("prt_{}", voice.token()), "reason": reason,
            "messageID": self.step.as_deref(), "sessionID": &voice.id.session,
            "type": "step-finish",
            "tokens": object! {
                "total": input + output, "input": input, "output": output, "reasoning": 0,
                "cache": object! { "write": 0, "read": 0 },
            },
            "cost": 0,
        };
        said.line(line("step_finish", voice).with("part", part));
        self.step = None;
        self.has_called = false;
    }

    fn turn_is_over(&mut self, exit_code: u8) {
        self.step = None;
        self.has_called = false;
        self.open.clear();
        self.exit_code = exit_code;
    }

    /// The beginning of every part but a tool's.
    fn part(&self, kind: &str, voice: &mut Voice) -> Json {
        object! {
            "id": format!("prt_{}", voice.token()), "messageID": self.step.as_deref(),
            "sessionID": &voice.id.session, "type": kind,
        }
    }

    fn text(&mut self, kind: &str, text: &str, voice: &mut Voice, said: &mut Said) {
        self.next_step(voice, said);
        self.step_is_on(voice, said);
        let now = voice.now_ms();
        let time = object! { "start": now, "end": now };
        let part = self.part(kind, voice).with("text", text).with("time", time);
        said.line(line(kind, voice).with("part", part));
    }

    fn tool(&mut self, call: &Call, ending: &Ending, voice: &mut Voice, said: &mut Said) {
        self.step_is_on(voice, said);
        let now = voice.now_ms();
        let known = self.open.iter().position(|(id, _)| *id == call.id);
        let began = known.map_or(now, |at| self.open.remove(at).1);
        let end = now.max(began + took_ms(ending));
        let (name, input) = given(call);
        let state = state(call, ending, input, began, end);
        self.tell_call(&name, &format!("call_{}", voice.call("", &call.id)), state, voice, said);
    }

    fn plan(&mut self, todos: &[Todo], voice: &mut Voice, said: &mut Said) {
        self.step_is_on(voice, said);
        let now = voice.now_ms();
        let entry = |todo: &Todo| {
            object! { "content": &todo.text, "status": todo.state.word(), "priority": "medium" }
        };
        let todos = Json::from(todos.iter().map(entry).collect::<Vec<_>>());
        let state = object! {
            "status": "completed", "input": object! { "todos": todos.clone() },
            "output": todos.clone().into_line(),
            "metadata": object! { "todos": todos, "truncated": false },
            "title": "todos", "time": object! { "start": now, "end": now },
        };
        let id = format!("call_{}", voice.token());
        self.tell_call("todowrite", &id, state, voice, said);
    }

    fn tell_call(&mut self, name: &str, id: &str, state: Json, voice: &mut Voice, said: &mut Said) {
        self.has_called = true;
        let part = object! {
            "type": "tool", "tool": name, "callID": id, "state": state,
            "id": format!("prt_{}", voice.token()), "sessionID": &voice.id.session,
            "messageID": self.step.as_deref(),
        };
        said.line(line("tool_use", voice).with("part", part));
    }
}

fn line(kind: &str, voice: &mut Voice) -> Json {
    object! { "type": kind, "timestamp": voice.now_ms(), "sessionID": &voice.id.session }
}

fn given(call: &Call) -> (String, Json) {
    match &call.work {
        Work::Shell { command, timeout } => {
            let mut input = object! { "command": command };
            if let Some(timeout) = timeout {
                input = input.with("timeout", millis(*timeout));
            }
            ("bash".to_owned(), input)
        }
        Work::Read { path } => ("read".to_owned(), object! { "filePath": path }),
        Work::Write { path, content } => {
            ("write".to_owned(), object! { "content": content, "filePath": path })
        }
        Work::Mcp { server, tool } => (format!("{server}_{tool}"), object! {}),
        Work::Task { description } => (
            "task".to_owned(),
            object! { "description": description, "prompt": description, "subagent_type": "general" },
        ),
    }
}

/// How a call ended. A command that failed is `completed`; its code is in the metadata.
fn state(call: &Call, ending: &Ending, input: Json, began: u64, end: u64) -> Json {
    let time = object! { "start": began, "end": end };
    if let Ending::Refused { reason } = ending {
        return object! { "status": "error", "input": input, "error": reason, "time": time };
    }
    let (output, title, metadata) = match &call.work {
        Work::Shell { command, .. } => {
            let output = output_of(ending);
            let metadata =
                object! { "output": &output, "exit": code_of(ending), "truncated": false };
            (output, command.clone(), metadata)
        }
        Work::Read { path } => (
            format!("<path>{path}</path>\n<type>file</type>\n<content>\n1: {FILE}</content>"),
            path.clone(),
            object! { "preview": FILE, "truncated": false, "loaded": list![] },
        ),
        Work::Write { path, content } => (
            "Wrote file successfully.".to_owned(),
            path.clone(),
            object! { "filepath": path, "exists": false, "truncated": false, "diff": diff_of(path, content) },
        ),
        Work::Mcp { .. } => ("hay".to_owned(), String::new(), object! { "truncated": false }),
        Work::Task { description } => {
            ("done".to_owned(), description.clone(), object! { "truncated": false })
        }
    };
    object! {
        "status": "completed", "input": input, "output": output, "metadata": metadata,
        "title": title, "time": time,
    }
}

fn error(trouble: Trouble) -> Json {
    let (message, status, kind) = match trouble {
        Trouble::Auth => ("invalid x-api-key", 401, "authentication_error"),
        Trouble::RateLimit => ("Rate limited", 429, "rate_limit_error"),
        Trouble::Overloaded => ("The model is overloaded", 503, "overloaded_error"),
        Trouble::ContextLength => {
            let message = "prompt is too long: 250000 tokens > 200000 maximum";
            let data = object! { "message": message, "responseBody": message };
            return object! { "name": "ContextOverflowError", "data": data };
        }
        Trouble::Server => ("Internal server error", 500, "api_error"),
    };
    let body =
        object! { "message": message, "type": kind, "param": crate::json::NULL, "code": kind };
    let data = object! {
        "message": message, "statusCode": status, "isRetryable": status != 401,
        "responseHeaders": object! { "content-type": "application/json" },
        "responseBody": object! { "error": body }.into_line(),
        "metadata": object! { "url": "https://api.example.invalid/v1/chat/completions" },
    };
    object! { "name": "APIError", "data": data }
}
