//! Cursor's stream, as `cursor-agent --print --output-format stream-json` writes it.
//!
//! The shapes are those of the 2026.07 releases. A failure of the request has no result line: the
//! words are on standard error, and the exit code is 1.

use super::{Said, Speak, code_of, diff_of, took_ms};
use crate::act::{Act, Call, CursorAct, Ending, FILE, Place, Trouble, Work};
use crate::json::{Json, list, object};
use crate::voice::Voice;
use serde_json::{Value, json};
use stablehand_core::time::millis;

/// What a shell without a timeout declares; its end is told with this one too.
const USUAL_TIMEOUT_MS: u64 = 30_000;

/// A process id that no system gives out: whoever trusts it may kill.
const NOBODY: u32 = 2_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Cursor {
    /// How many calls have ended: the model was asked that often.
    step: u32,
    /// Everything that was said in this turn.
    said: String,
    exit_code: u8,
}

impl Speak for Cursor {
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        match act {
            Act::Begins(session) => said.line(init(session.as_ref(), voice)),
            Act::Prompt(text) => said.line(object! {
                "type": "user", "message": message("user", text), "session_id": &voice.id.session,
            }),
            Act::ThoughtPiece(text) => said.line(object! {
                "type": "thinking", "subtype": "delta", "text": text,
                "session_id": &voice.id.session, "timestamp_ms": voice.now_ms(),
            }),
            Act::ThoughtEnds => said.line(object! {
                "type": "thinking", "subtype": "completed",
                "session_id": &voice.id.session, "timestamp_ms": voice.now_ms(),
            }),
            Act::Piece(text) => said.line(object! {
                "type": "assistant", "message": message("assistant", text),
                "session_id": &voice.id.session, "timestamp_ms": voice.now_ms(),
            }),
            Act::Message(text, place) => {
                self.said.push_str(text);
                said.line(self.message(text, *place, voice));
            }
            Act::ToolBegins(call) => {
                let (kind, args) = given(call);
                said.line(self.tool(
                    voice.call("tool_", &call.id),
                    kind,
                    object! { "args": args },
                    false,
                    voice,
                ));
            }
            Act::ToolEnds(call, ending) => {
                let (kind, args) = given(call);
                let body = object! { "args": args, "result": result(call, ending) };
                self.step += 1;
                said.line(self.tool(voice.call("tool_", &call.id), kind, body, true, voice));
            }
            Act::Plan(todos) => {
                let now = voice.now_ms().to_string();
                let entry = |(index, todo): (usize, &crate::act::Todo)| {
                    object! {
                        "id": (index + 1).to_string(), "content": &todo.text,
                        "status": format!("TODO_STATUS_{}", todo.state.word().to_uppercase()),
                        "createdAt": &now, "updatedAt": &now, "dependencies": list![],
                    }
                };
                let todos: Vec<Json> = todos.iter().enumerate().map(entry).collect();
                let id = format!("tool_{}", voice.uuid());
                let args = object! { "todos": todos.clone(), "merge": false };
                let begin = object! { "args": args.clone() };
                said.line(self.tool(id.clone(), "updateTodosToolCall", begin, false, voice));
                self.step += 1;
                let count = todos.len();
                let success = object! { "todos": todos, "totalCount": count, "wasMerge": false };
                let end = object! { "args": args, "result": object! { "success": success } };
                said.line(self.tool(id, "updateTodosToolCall", end, true, voice));
            }
            Act::Retries { attempt, .. } => retry(*attempt, voice, said),
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => {
                said.error(words(*trouble));
                self.exit_code = 1;
            }
            Act::Ends { text, failed } => {
                let all = std::mem::take(&mut self.said);
                self.exit_code = u8::from(*failed);
                said.line(end(text.as_ref().unwrap_or(&all), *failed, voice));
            }
            Act::Cursor(act) => self.own(act, voice, said),
        }
    }

    fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl Cursor {
    fn message(&self, text: &str, place: Place, voice: &mut Voice) -> Json {
        let line = object! { "type": "assistant", "message": message("assistant", text) };
        match place {
            Place::Last => line.with("session_id", &voice.id.session),
            Place::BeforeTool => line
                .with("model_call_id", self.model_call(voice))
                .with("session_id", &voice.id.session)
                .with("timestamp_ms", voice.now_ms()),
        }
    }

    fn own(&mut self, act: &CursorAct, voice: &mut Voice, said: &mut Said) {
        let line = match act {
            CursorAct::ToolBegins { id, kind, args } => {
                self.tool(voice.call("tool_", id), kind, object! { "args": args }, false, voice)
            }
            CursorAct::ToolEnds { id, kind, result } => {
                self.step += 1;
                let body = object! { "args": object! {}, "result": result };
                self.tool(voice.call("tool_", id), kind, body, true, voice)
            }
            CursorAct::ShellInBackground { id, command } => {
                self.step += 1;
                let args = shell_args(command, USUAL_TIMEOUT_MS, true);
                let body = object! { "args": args, "result": background(command) };
                self.tool(voice.call("tool_", id), "shellToolCall", body, true, voice)
            }
        };
        said.line(line);
    }

    fn tool(&self, id: String, kind: &str, body: Json, is_over: bool, voice: &mut Voice) -> Json {
        let now_ms = voice.now_ms();
        let mut call = Json::object(&[(kind, body)])
            .with("hookAdditionalContexts", list![])
            .with("toolCallId", &id)
            .with("startedAtMs", now_ms.to_string());
        if is_over {
            call = call.with("completedAtMs", now_ms.to_string());
        }
        object! {
            "type": "tool_call", "subtype": if is_over { "completed" } else { "started" },
            "call_id": id, "tool_call": call, "model_call_id": self.model_call(voice),
            "session_id": &voice.id.session, "timestamp_ms": now_ms,
        }
    }

    fn model_call(&self, voice: &Voice) -> String {
        format!("{}-{}-p0ny", voice.id.unique, self.step)
    }
}

fn init(session: Option<&String>, voice: &mut Voice) -> Json {
    if let Some(session) = session {
        session.clone_into(&mut voice.id.session);
    }
    object! {
        "type": "system", "subtype": "init", "apiKeySource": "login", "cwd": &voice.id.cwd,
        "session_id": &voice.id.session,
        "model": voice.id.model.as_deref().unwrap_or("Pony 2 Fast"), "permissionMode": "default",
    }
}

fn message(role: &str, text: &str) -> Json {
    object! { "role": role, "content": list![object! { "type": "text", "text": text }] }
}

/// The tool's key and its arguments.
fn given(call: &Call) -> (&'static str, Json) {
    match &call.work {
        Work::Shell { command, timeout } => {
            // No timeout is Cursor's `0`, which says nothing.
            let timeout_ms = timeout.map_or(0, millis);
            ("shellToolCall", shell_args(command, timeout_ms, false))
        }
        Work::Read { path } => ("readToolCall", object! { "path": path }),
        Work::Write { path, content } => {
            ("editToolCall", object! { "path": path, "streamContent": content })
        }
        Work::Mcp { server, tool } => (
            "mcpToolCall",
            object! {
                "name": format!("{server}-{tool}"), "args": object! {}, "toolCallId": &call.id,
                "providerIdentifier": server, "toolName": tool,
            },
        ),
        Work::Task { description } => (
            "taskToolCall",
            object! {
                "description": description, "prompt": description,
                "subagentType": object! { "explore": object! {} }, "mode": "TASK_MODE_UNSPECIFIED",
            },
        ),
    }
}

fn shell_args(command: &str, timeout_ms: u64, background: bool) -> Json {
    object! {
        "command": command, "workingDirectory": "", "timeout": timeout_ms,
        "simpleCommands": list![command.split(' ').next().unwrap_or_default()],
        "hasInputRedirect": false, "hasOutputRedirect": false,
        "fileOutputThresholdBytes": "40000", "isBackground": background, "skipApproval": false,
        "timeoutBehavior": "TIMEOUT_BEHAVIOR_BACKGROUND", "hardTimeout": 86_400_000,
    }
}

/// The result of a call: a non-zero exit code is a `failure`, as in Cursor.
fn result(call: &Call, ending: &Ending) -> Json {
    if let Ending::Refused { reason } = ending {
        return object! { "rejected": rejected(call, reason) };
    }
    let success = match &call.work {
        Work::Shell { command, .. } => return shell_result(command, ending),
        Work::Read { path } => object! {
            "content": FILE, "isEmpty": false, "exceededLimit": false,
            "totalLines": 1, "fileSize": FILE.len(), "path": path,
        },
        Work::Write { path, content } => object! {
            "path": path, "linesAdded": content.lines().count(), "linesRemoved": 0,
            "diffString": diff_of(path, content), "afterFullFileContent": content,
        },
        Work::Mcp { .. } => {
            Json::from(json!({ "content": [{ "text": { "text": "hay" } }], "isError": false }))
        }
        Work::Task { .. } => object! {
            "conversationSteps": list![], "agentId": "a-2", "isBackground": false,
            "durationMs": "5184",
        },
    };
    object! { "success": success }
}

fn rejected(call: &Call, reason: &str) -> Json {
    match &call.work {
        Work::Shell { command, .. } => object! {
            "command": command, "workingDirectory": "", "reason": reason, "isReadonly": false,
        },
        Work::Write { path, .. } => object! { "path": path, "reason": reason },
        Work::Mcp { .. } => object! { "reason": reason, "isReadonly": false },
        Work::Read { .. } | Work::Task { .. } => object! { "reason": reason },
    }
}

fn shell_result(command: &str, ending: &Ending) -> Json {
    let code = code_of(ending).unwrap_or_default();
    let (stdout, stderr) = match ending {
        Ending::Exited { stdout, stderr, .. } => (stdout.as_str(), stderr.as_str()),
        _ => ("", ""),
    };
    let body = object! {
        "command": command, "workingDirectory": "", "exitCode": code, "signal": "",
        "stdout": stdout, "stderr": stderr, "executionTime": took_ms(ending),
    };
    if code == 0 {
        object! { "success": body, "isBackground": false }
    } else {
        object! { "failure": body.with("aborted", false), "isBackground": false }
    }
}

fn background(command: &str) -> Value {
    json!({
        "success": {
            "command": command, "workingDirectory": "", "exitCode": 0, "signal": "",
            "stdout": "", "stderr": "", "executionTime": 12, "shellId": 1, "pid": NOBODY,
            "backgroundReason": "SHELL_BACKGROUND_REASON_UNSPECIFIED",
        },
        "isBackground": true,
    })
}

/// A lost connection, and the request once more.
fn retry(attempt: u32, voice: &mut Voice, said: &mut Said) {
    said.line(object! {
        "type": "connection", "subtype": "reconnecting", "session_id": &voice.id.session,
        "timestamp_ms": voice.now_ms(), "attempt": attempt,
        "endpoint_url": "https://agent.example.invalid",
    });
    said.line(object! {
        "type": "retry", "subtype": "starting", "session_id": &voice.id.session,
        "timestamp_ms": voice.now_ms(), "attempt": attempt, "is_resume": false,
    });
    said.line(object! {
        "type": "connection", "subtype": "reconnected", "session_id": &voice.id.session,
        "timestamp_ms": voice.now_ms(),
    });
}

fn words(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Auth => {
            "Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY environment variable."
        }
        Trouble::RateLimit => "RetriableError: [resource_exhausted] Too many requests",
        Trouble::Overloaded => "RetriableError: [unavailable] The model is overloaded",
        Trouble::ContextLength => "RetriableError: [invalid_argument] prompt is too long",
        Trouble::Server => "T: [internal] Failed to run step, exceeded max retries",
    }
}

fn end(text: &str, failed: bool, voice: &mut Voice) -> Json {
    let took = voice.turn_took_ms();
    object! {
        "type": "result", "subtype": if failed { "error" } else { "success" },
        "duration_ms": took, "duration_api_ms": took, "is_error": failed, "result": text,
        "session_id": &voice.id.session, "request_id": &voice.id.unique,
        "usage": object! {
            "inputTokens": voice.used.input, "outputTokens": voice.used.output,
            "cacheReadTokens": 560, "cacheWriteTokens": 0,
        },
    }
}
