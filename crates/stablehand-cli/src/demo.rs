//! The demo agent: a scripted agent that speaks Cursor's stream, so that everything can be tried
//! without an account.
//!
//! A word in the prompt chooses the scene. It really waits, really runs commands and really hangs;
//! only the thinking is made up.

mod scenes;

use crate::failure::Failure;
use scenes::{SCENES, Scene};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// What the demo agent understands; anything else is ignored, as it may be meant for a real one.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    #[arg(long, allow_hyphen_values = true)]
    resume: Option<String>,
    #[arg(long)]
    model: Option<String>,
    #[arg(long)]
    workspace: Option<PathBuf>,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Plays the scene that the prompt asks for.
pub fn main(args: &DemoArgs) -> Result<u8, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().read_to_end(&mut bytes);
    read.map_err(|e| Failure::new(format!("failed to read the prompt: {e}")))?;
    let prompt = String::from_utf8_lossy(&bytes).trim().to_owned();
    let lower = prompt.to_lowercase();
    let scene = SCENES.iter().find(|scene| scene.words.iter().any(|word| lower.contains(word)));
    let mut stage = Stage::new(args, &prompt);
    match stage.play(scene) {
        Ok(code) => Ok(code),
        // Whoever read us is gone; that is how an agent ends then.
        Err(_) => Ok(141),
    }
}

/// What a scene has at hand.
#[derive(Debug)]
pub(crate) struct Stage {
    session: String,
    model: String,
    cwd: String,
    prompt: String,
    resumed: bool,
    request: String,
    said: String,
    calls: u32,
    began: Instant,
}

impl Stage {
    fn new(args: &DemoArgs, prompt: &str) -> Self {
        let cwd =
            args.workspace.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        Stage {
            session: args.resume.clone().unwrap_or_else(|| stablehand::new_run_id().0),
            model: args.model.clone().unwrap_or_else(|| "Demo 1".into()),
            cwd: cwd.display().to_string(),
            prompt: prompt.to_owned(),
            resumed: args.resume.is_some(),
            request: stablehand::new_run_id().0,
            said: String::new(),
            calls: 0,
            began: Instant::now(),
        }
    }

    fn play(&mut self, scene: Option<&Scene>) -> io::Result<u8> {
        emit(&json!({
            "type": "system", "subtype": "init", "apiKeySource": "none", "cwd": self.cwd,
            "session_id": self.session, "model": self.model, "permissionMode": "default",
        }))?;
        emit(&json!({
            "type": "user", "session_id": self.session,
            "message": { "role": "user", "content": [{ "type": "text", "text": self.prompt }] },
        }))?;
        pause(300);
        let play = scene.map_or(scenes::tour as scenes::Play, |scene| scene.play);
        play(self)
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.resumed
    }

    pub(crate) fn think(&self, text: &str) -> io::Result<()> {
        for word in text.split_inclusive(' ') {
            emit(&json!({
                "type": "thinking", "subtype": "delta", "text": word,
                "session_id": self.session, "timestamp_ms": now(),
            }))?;
            pause(40);
        }
        emit(&json!({
            "type": "thinking", "subtype": "completed",
            "session_id": self.session, "timestamp_ms": now(),
        }))
    }

    /// Text as it is made, then the same text whole, as Cursor does with partial output.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        for word in text.split_inclusive(' ') {
            let mut line = self.assistant(word);
            line["timestamp_ms"] = now().into();
            emit(&line)?;
            pause(25);
        }
        self.said.push_str(text);
        let mut flush = self.assistant(text);
        flush["timestamp_ms"] = now().into();
        flush["model_call_id"] = self.step().into();
        emit(&flush)
    }

    fn assistant(&self, text: &str) -> Value {
        json!({
            "type": "assistant", "session_id": self.session,
            "message": { "role": "assistant", "content": [{ "type": "text", "text": text }] },
        })
    }

    /// Really runs a command, in the working folder.
    pub(crate) fn shell(&mut self, command: &str, timeout_ms: u64) -> io::Result<()> {
        let id = self.open_shell(command, timeout_ms)?;
        let began = Instant::now();
        let output = Command::new("sh").args(["-c", command]).current_dir(&self.cwd).output();
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let result = match output {
            Ok(output) => {
                let code = output.status.code().unwrap_or(-1);
                let key = if code == 0 { "success" } else { "failure" };
                json!({ key: {
                    "command": command, "workingDirectory": self.cwd, "exitCode": code, "signal": "",
                    "stdout": String::from_utf8_lossy(&output.stdout),
                    "stderr": String::from_utf8_lossy(&output.stderr),
                    "executionTime": took,
                }, "isBackground": false })
            }
            Err(e) => json!({ "spawnError": { "command": command, "error": e.to_string() } }),
        };
        self.complete("shellToolCall", &id, &shell_args(command, timeout_ms), result)
    }

    /// A call of which only the beginning is played.
    pub(crate) fn open_shell(&mut self, command: &str, timeout_ms: u64) -> io::Result<String> {
        self.call("started", "shellToolCall", &shell_args(command, timeout_ms), None)
    }

    /// A call that is played from beginning to end.
    pub(crate) fn tool(
        &mut self,
        kind: &str,
        args: &Value,
        result: Value,
        took_ms: u64,
    ) -> io::Result<()> {
        let id = self.call("started", kind, args, None)?;
        pause(took_ms);
        self.complete(kind, &id, args, result)
    }

    pub(crate) fn complete(
        &mut self,
        kind: &str,
        id: &str,
        args: &Value,
        result: Value,
    ) -> io::Result<()> {
        self.call("completed", kind, args, Some((id, result))).map(drop)
    }

    fn call(
        &mut self,
        subtype: &str,
        kind: &str,
        args: &Value,
        end: Option<(&str, Value)>,
    ) -> io::Result<String> {
        let mut body = json!({ "args": args });
        let id = match end {
            None => {
                self.calls += 1;
                format!("tool_{}_{}", self.request, self.calls)
            }
            Some((id, result)) => {
                body["result"] = result;
                id.to_owned()
            }
        };
        emit(&json!({
            "type": "tool_call", "subtype": subtype, "call_id": id,
            "tool_call": { kind: body, "toolCallId": id, "hookAdditionalContexts": [] },
            "model_call_id": self.step(), "session_id": self.session, "timestamp_ms": now(),
        }))?;
        Ok(id)
    }

    fn step(&self) -> String {
        format!("{}-{}-demo", self.request, self.calls)
    }

    pub(crate) fn emit(&self, mut line: Value) -> io::Result<()> {
        line["session_id"] = self.session.clone().into();
        emit(&line)
    }

    pub(crate) fn result(&self, is_error: bool) -> io::Result<u8> {
        let took = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        emit(&json!({
            "type": "result", "subtype": if is_error { "error" } else { "success" },
            "duration_ms": took, "duration_api_ms": took, "is_error": is_error, "result": self.said,
            "session_id": self.session, "request_id": self.request,
            "usage": {
                "inputTokens": 1200, "outputTokens": self.said.len() / 4,
                "cacheReadTokens": 0, "cacheWriteTokens": 0,
            },
        }))?;
        Ok(u8::from(is_error))
    }
}

fn shell_args(command: &str, timeout_ms: u64) -> Value {
    json!({ "command": command, "timeout": timeout_ms })
}

fn emit(line: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

pub(crate) fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

fn now() -> i64 {
    stablehand::clock::unix_now().0
}
