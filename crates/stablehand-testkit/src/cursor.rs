//! Lines of Cursor's stream, as a script needs them.
//!
//! Owns the shapes (those of the 2026.07 releases, partial output included) and nothing else: what
//! is said when is the script's business. Times and ids are invented and the same in every run, so
//! that a test can compare bytes.

use serde_json::{Value, json};

/// The session id of a script that names none.
pub const DEFAULT_SESSION: &str = "5e551017-0000-4000-8000-0000000000a1";

/// One stream: it remembers the session id and lets an invented clock run.
#[derive(Debug, Clone)]
pub struct Stream {
    session: String,
    now_ms: u64,
    step: u32,
}

impl Default for Stream {
    fn default() -> Self {
        Stream { session: DEFAULT_SESSION.to_owned(), now_ms: 1_790_000_000_000, step: 0 }
    }
}

impl Stream {
    /// The first line of a run; later lines carry its session id.
    pub fn init(&mut self, session: &str) -> String {
        session.clone_into(&mut self.session);
        line(&[
            ("type", json!("system")),
            ("subtype", json!("init")),
            ("apiKeySource", json!("login")),
            ("cwd", json!("/srv/barn")),
            ("session_id", json!(self.session)),
            ("model", json!("Pony 2 Fast")),
            ("permissionMode", json!("default")),
        ])
    }

    /// The echo of the prompt.
    pub fn user(&mut self, text: &str) -> String {
        line(&[
            ("type", json!("user")),
            ("message", json!(message("user", text))),
            ("session_id", json!(self.session)),
        ])
    }

    /// A piece of reasoning.
    pub fn thinking(&mut self, text: &str) -> String {
        line(&[
            ("type", json!("thinking")),
            ("subtype", json!("delta")),
            ("text", json!(text)),
            ("session_id", json!(self.session)),
            ("timestamp_ms", json!(self.tick())),
        ])
    }

    /// The end of the reasoning.
    pub fn thinking_completed(&mut self) -> String {
        line(&[
            ("type", json!("thinking")),
            ("subtype", json!("completed")),
            ("session_id", json!(self.session)),
            ("timestamp_ms", json!(self.tick())),
        ])
    }

    /// The last message of a turn, or the end-of-turn flush of partial output.
    pub fn assistant(&mut self, text: &str) -> String {
        line(&[
            ("type", json!("assistant")),
            ("message", json!(message("assistant", text))),
            ("session_id", json!(self.session)),
        ])
    }

    /// A message before a tool call, or the flush before one.
    pub fn assistant_before_tool(&mut self, text: &str) -> String {
        line(&[
            ("type", json!("assistant")),
            ("message", json!(message("assistant", text))),
            ("model_call_id", json!(self.model_call())),
            ("session_id", json!(self.session)),
            ("timestamp_ms", json!(self.tick())),
        ])
    }

    /// A piece of a message, as with partial output.
    pub fn delta(&mut self, text: &str) -> String {
        line(&[
            ("type", json!("assistant")),
            ("message", json!(message("assistant", text))),
            ("session_id", json!(self.session)),
            ("timestamp_ms", json!(self.tick())),
        ])
    }

    /// A tool begins: `kind` is the key (`shellToolCall`, …), `args` its arguments.
    pub fn tool_started(&mut self, id: &str, kind: &str, args: &Value) -> String {
        self.tool("started", id, kind, &json!({ "args": args }))
    }

    /// A tool ends with `result`, which holds one outcome key (`success`, `failure`, …).
    pub fn tool_completed(&mut self, id: &str, kind: &str, args: &Value, result: &Value) -> String {
        self.step += 1;
        let body = json!({ "args": args, "result": result });
        self.tool("completed", id, kind, &body)
    }

    fn tool(&mut self, subtype: &str, id: &str, kind: &str, body: &Value) -> String {
        let now_ms = self.tick();
        let mut call = json!({ "hookAdditionalContexts": [], "toolCallId": id });
        call["startedAtMs"] = now_ms.to_string().into();
        call[kind] = body.clone();
        if subtype == "completed" {
            call["completedAtMs"] = now_ms.to_string().into();
        }
        line(&[
            ("type", json!("tool_call")),
            ("subtype", json!(subtype)),
            ("call_id", json!(id)),
            ("tool_call", json!(call)),
            ("model_call_id", json!(self.model_call())),
            ("session_id", json!(self.session)),
            ("timestamp_ms", json!(now_ms)),
        ])
    }

    /// A turn that went well.
    pub fn result(&mut self, text: &str) -> String {
        self.end(text, "success", false)
    }

    /// A turn that the agent itself calls failed.
    pub fn result_error(&mut self, text: &str) -> String {
        self.end(text, "error", true)
    }

    fn end(&mut self, text: &str, subtype: &str, is_error: bool) -> String {
        line(&[
            ("type", json!("result")),
            ("subtype", json!(subtype)),
            ("duration_ms", json!(1200)),
            ("duration_api_ms", json!(1200)),
            ("is_error", json!(is_error)),
            ("result", json!(text)),
            ("session_id", json!(self.session)),
            ("request_id", json!("9e0e57aa-0000-4000-8000-0000000000b2")),
            (
                "usage",
                json!({
                    "inputTokens": 1200, "outputTokens": 34,
                    "cacheReadTokens": 560, "cacheWriteTokens": 0,
                }),
            ),
        ])
    }

    fn model_call(&self) -> String {
        format!("9e0e57aa-0000-4000-8000-0000000000b2-{}-p0ny", self.step)
    }

    fn tick(&mut self) -> u64 {
        self.now_ms += 7;
        self.now_ms
    }
}

/// Arguments of a shell call. No timeout is Cursor's `0`, which says nothing.
pub fn shell_args(command: &str, timeout_ms: u64, background: bool) -> Value {
    json!({
        "command": command, "workingDirectory": "", "timeout": timeout_ms,
        "simpleCommands": [command.split(' ').next().unwrap_or_default()],
        "hasInputRedirect": false, "hasOutputRedirect": false,
        "fileOutputThresholdBytes": "40000", "isBackground": background, "skipApproval": false,
        "timeoutBehavior": "TIMEOUT_BEHAVIOR_BACKGROUND", "hardTimeout": 86_400_000,
    })
}

/// The result of a shell call: a non-zero exit code is a `failure`, as in Cursor.
pub fn shell_result(command: &str, exit_code: i32, elapsed_ms: u64) -> Value {
    let mut body = json!({
        "command": command, "workingDirectory": "", "exitCode": exit_code, "signal": "",
        "stdout": "", "stderr": "", "executionTime": elapsed_ms,
    });
    if exit_code == 0 {
        json!({ "success": body, "isBackground": false })
    } else {
        body["aborted"] = false.into();
        json!({ "failure": body, "isBackground": false })
    }
}

/// The result of a shell call that went to the background. Its process id is one that no system
/// gives out, because whoever trusts it may kill.
pub fn background_result(command: &str) -> Value {
    json!({
        "success": {
            "command": command, "workingDirectory": "", "exitCode": 0, "signal": "",
            "stdout": "", "stderr": "", "executionTime": 12, "shellId": 1, "pid": 2_000_000_000,
            "backgroundReason": "SHELL_BACKGROUND_REASON_UNSPECIFIED",
        },
        "isBackground": true,
    })
}

fn message(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": [{ "type": "text", "text": text }] })
}

/// One line with its fields in this order: `type` comes first, as Cursor writes it.
fn line(fields: &[(&str, Value)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
    format!("{{{}}}", fields.join(","))
}
