//! The script of the fake agent: a text with one step a line.
//!
//! Owns the grammar and its meaning as [`Step`]s; [`crate::agent`] performs them. Sections are
//! separated by a line `---`; the n-th start of the agent takes the n-th section, which is how a
//! test plays a second turn or a retry. Blank lines and lines that begin with `#` are skipped, and
//! so is the space before a step. Durations are `200ms`, `3s`, `2m`. Texts know the escapes
//! `\n \r \t \0 \\ \xHH`. In any line `"@CHILD@"`, with its quotes, becomes the process id of the last
//! child.
//!
//! ```text
//! init [SESSION]                 Cursor's first line; later lines carry this session id
//! user TEXT                      the echo of the prompt
//! thinking TEXT                  a reasoning delta and its end
//! assistant TEXT                 the last message (or the last flush of partial output)
//! assistant-before-tool TEXT     a message before a tool (or the flush before it)
//! delta TEXT                     a piece of a message, as with partial output
//! shell ID TIMEOUT COMMAND       a shell begins; TIMEOUT is a duration or `none`
//! shell-done ID EXIT TOOK COMMAND          it ends
//! shell-background ID COMMAND    it ends by going to the background
//! read|edit ID PATH              and read-done|edit-done ID PATH
//! mcp ID SERVER TOOL             and mcp-done ID SERVER TOOL
//! task ID TEXT                   and task-done ID TEXT (a sub-agent)
//! tool ID KIND ARGS              any tool; KIND as `lsToolCall`, ARGS as JSON
//! tool-done ID KIND RESULT       RESULT as JSON with one outcome key
//! result TEXT | result-error TEXT
//!
//! say LINE                       a line as it is
//! raw TEXT                       bytes, no newline added
//! cat FILE [DELAY]               a recording as it is, DELAY after each line
//! events KIND COUNT block|line   COUNT lines of thinking|assistant|tool, in blocks or one by one
//! giant BYTES                    one assistant line of that length, written in blocks
//! stderr TEXT                    a line on standard error
//! stderr-giant BYTES             one line of that length on standard error
//! read-stdin                     reads to the end and records it
//! sleep TIME | hang | burn TIME  wait; wait for ever (60 s); use the processor
//! wait-file NAME | touch NAME    in the record folder
//! wait-child                     until the last child is gone
//! ignore TERM INT HUP            from here on
//! on-signal TERM NAME CODE       touch NAME, then exit with CODE
//! spawn KIND [stdout] [stderr] [for TIME]  a child, see `ChildKind`; it may hold our outputs
//! close-stdin | close-stdout | close-stderr
//! exit CODE | die SIGNAL
//! ```

use crate::cursor::{self, Stream};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// One thing that the agent does.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Writes bytes to standard output, in one piece.
    Write(Vec<u8>),
    /// Writes a file to standard output as it is, waiting after each line.
    Cat(PathBuf, Duration),
    /// Writes many lines.
    Events(EventKind, u64, Writes),
    /// One assistant line of about so many bytes.
    Giant(u64),
    /// Writes a line to standard error.
    Stderr(String),
    /// One line of so many bytes on standard error.
    StderrGiant(u64),
    /// Reads standard input to its end.
    ReadStdin,
    /// Waits.
    Sleep(Duration),
    /// Uses the processor.
    Burn(Duration),
    /// Waits for a file in the record folder.
    WaitFile(String),
    /// Waits until the last child is gone.
    WaitChild,
    /// Makes a file in the record folder.
    Touch(String),
    /// Ignores signals from here on.
    Ignore(Vec<Signal>),
    /// On the signal makes the file and exits with the code.
    OnSignal(Signal, String, i32),
    /// Starts a child.
    Spawn(ChildPlan),
    /// Closes one of the standard streams: 0, 1 or 2.
    Close(i32),
    /// Exits.
    Exit(i32),
    /// Dies by the signal.
    Die(Signal),
}

/// What `events` generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// Reasoning deltas.
    Thinking,
    /// Message deltas.
    Assistant,
    /// Pairs of a read that begins and ends.
    Tool,
}

/// How generated lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Many lines in one write.
    Block,
    /// One write per line.
    Line,
}

/// A child to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildPlan {
    /// How it hides from its parent.
    pub kind: ChildKind,
    /// Whether it keeps the agent's standard output open.
    pub holds_stdout: bool,
    /// Whether it keeps the agent's standard error open.
    pub holds_stderr: bool,
    /// How long it lives if nobody ends it; at most a minute.
    pub lives: Duration,
}

/// How a child hides from its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildKind {
    /// Not at all.
    Plain,
    /// In a process group of its own.
    Pgrp,
    /// In a session of its own.
    Setsid,
    /// Forked twice, in a session of its own.
    Daemon,
    /// As a daemon, with an empty environment, closed streams, in `/`.
    CleanDaemon,
    /// In a session of its own, ignoring TERM, INT and HUP.
    IgnTerm,
    /// Goes on in a new process every few milliseconds.
    Hopper,
}

impl ChildKind {
    /// Every kind, for tests that try them all.
    pub const ALL: [ChildKind; 7] = [
        ChildKind::Plain,
        ChildKind::Pgrp,
        ChildKind::Setsid,
        ChildKind::Daemon,
        ChildKind::CleanDaemon,
        ChildKind::IgnTerm,
        ChildKind::Hopper,
    ];

    /// Its word in a script.
    pub fn word(self) -> &'static str {
        match self {
            ChildKind::Plain => "plain",
            ChildKind::Pgrp => "pgrp",
            ChildKind::Setsid => "setsid",
            ChildKind::Daemon => "daemon",
            ChildKind::CleanDaemon => "cleandaemon",
            ChildKind::IgnTerm => "ignterm",
            ChildKind::Hopper => "hopper",
        }
    }

    /// The kind of that word.
    pub fn from_word(word: &str) -> Option<ChildKind> {
        ChildKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// A line of a script that says nothing we know.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line} of the script: {why}: `{text}`")]
pub struct ScriptError {
    line: usize,
    why: &'static str,
    text: String,
}

/// Reads a script into its sections.
pub fn parse(text: &str) -> Result<Vec<Vec<Step>>, ScriptError> {
    let mut sections = vec![Vec::new()];
    let mut stream = Stream::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.trim_end() == "---" {
            sections.push(Vec::new());
            continue;
        }
        let steps = parse_line(line, &mut stream).map_err(|why| ScriptError {
            line: index + 1,
            why,
            text: line.to_owned(),
        })?;
        if let Some(section) = sections.last_mut() {
            section.extend(steps);
        }
    }
    Ok(sections)
}

fn parse_line(line: &str, stream: &mut Stream) -> Result<Vec<Step>, &'static str> {
    let mut words = Words(line);
    let verb = words.next()?;
    if let Some(lines) = cursor_lines(verb, &mut words, stream)? {
        return Ok(lines.into_iter().map(say).collect());
    }
    let step = match verb {
        "say" => say(words.rest().to_owned()),
        "raw" => Step::Write(unescape(words.rest())?),
        "cat" => {
            let path = PathBuf::from(words.next()?);
            let delay = words.optional().map(duration).transpose()?;
            Step::Cat(path, delay.unwrap_or_default())
        }
        "events" => {
            let kind = match words.next()? {
                "thinking" => EventKind::Thinking,
                "assistant" => EventKind::Assistant,
                "tool" => EventKind::Tool,
                _ => return Err("unknown kind of events"),
            };
            let count = number(words.next()?)?;
            match words.next()? {
                "block" => Step::Events(kind, count, Writes::Block),
                "line" => Step::Events(kind, count, Writes::Line),
                _ => return Err("neither `block` nor `line`"),
            }
        }
        "giant" => Step::Giant(number(words.next()?)?),
        "stderr" => Step::Stderr(words.rest().to_owned()),
        "stderr-giant" => Step::StderrGiant(number(words.next()?)?),
        "read-stdin" => Step::ReadStdin,
        "sleep" => Step::Sleep(duration(words.next()?)?),
        "hang" => Step::Sleep(Duration::from_mins(1)),
        "burn" => Step::Burn(duration(words.next()?)?),
        "wait-file" => Step::WaitFile(words.next()?.to_owned()),
        "wait-child" => Step::WaitChild,
        "touch" => Step::Touch(words.next()?.to_owned()),
        "ignore" => {
            let names = words.rest().split_whitespace();
            Step::Ignore(names.map(signal).collect::<Result<_, _>>()?)
        }
        "on-signal" => {
            Step::OnSignal(signal(words.next()?)?, words.next()?.to_owned(), number(words.next()?)?)
        }
        "spawn" => Step::Spawn(child_plan(&mut words)?),
        "close-stdin" => Step::Close(0),
        "close-stdout" => Step::Close(1),
        "close-stderr" => Step::Close(2),
        "exit" => Step::Exit(number(words.next()?)?),
        "die" => Step::Die(signal(words.next()?)?),
        _ => return Err("unknown step"),
    };
    Ok(vec![step])
}

/// The lines of a step that speaks Cursor, or nothing for any other step.
fn cursor_lines(
    verb: &str,
    words: &mut Words<'_>,
    stream: &mut Stream,
) -> Result<Option<Vec<String>>, &'static str> {
    let line = match verb {
        "init" => {
            let session = text(words.rest())?;
            match session.as_str() {
                "" => stream.init(cursor::DEFAULT_SESSION),
                session => stream.init(session),
            }
        }
        "user" => stream.user(&text(words.rest())?),
        "thinking" => {
            let delta = stream.thinking(&text(words.rest())?);
            return Ok(Some(vec![delta, stream.thinking_completed()]));
        }
        "assistant" => stream.assistant(&text(words.rest())?),
        "assistant-before-tool" => stream.assistant_before_tool(&text(words.rest())?),
        "delta" => stream.delta(&text(words.rest())?),
        "result" => stream.result(&text(words.rest())?),
        "result-error" => stream.result_error(&text(words.rest())?),
        "shell" => {
            let id = words.next()?;
            let timeout = match words.next()? {
                "none" => Duration::ZERO,
                word => duration(word)?,
            };
            let args = cursor::shell_args(words.rest(), timeout.as_millis() as u64, false);
            stream.tool_started(id, "shellToolCall", &args)
        }
        "shell-done" => {
            let id = words.next()?;
            let exit_code = number(words.next()?)?;
            let took = duration(words.next()?)?;
            let command = words.rest();
            let args = cursor::shell_args(command, 30_000, false);
            let result = cursor::shell_result(command, exit_code, took.as_millis() as u64);
            stream.tool_completed(id, "shellToolCall", &args, &result)
        }
        "shell-background" => {
            let id = words.next()?;
            let args = cursor::shell_args(words.rest(), 30_000, true);
            let result = cursor::background_result(words.rest());
            stream.tool_completed(id, "shellToolCall", &args, &result)
        }
        "tool" => {
            let (id, kind) = (words.next()?, words.next()?);
            stream.tool_started(id, kind, &parse_json(words.rest())?)
        }
        "tool-done" => {
            let (id, kind) = (words.next()?, words.next()?);
            stream.tool_completed(id, kind, &json!({}), &parse_json(words.rest())?)
        }
        _ => return named_tool(verb, words, stream),
    };
    Ok(Some(vec![line]))
}

/// The tools that have a step of their own, each with its `-done`.
fn named_tool(
    verb: &str,
    words: &mut Words<'_>,
    stream: &mut Stream,
) -> Result<Option<Vec<String>>, &'static str> {
    let name = verb.strip_suffix("-done").unwrap_or(verb);
    let (id, kind, args, success) = match name {
        "read" => {
            let (id, path) = (words.next()?, words.rest());
            let success = json!({ "content": "oats\n", "isEmpty": false, "exceededLimit": false,
                "totalLines": 1, "fileSize": 5, "path": path });
            (id, "readToolCall", json!({ "path": path }), success)
        }
        "edit" => {
            let (id, path) = (words.next()?, words.rest());
            let success = json!({ "path": path, "linesAdded": 1, "linesRemoved": 0,
                "diffString": "--- /dev/null\n+oats\n", "afterFullFileContent": "oats\n" });
            let args = json!({ "path": path, "streamContent": "oats\n" });
            (id, "editToolCall", args, success)
        }
        "mcp" => {
            let (id, server, tool) = (words.next()?, words.next()?, words.next()?);
            let args = json!({ "name": format!("{server}-{tool}"), "args": {}, "toolCallId": id,
                "providerIdentifier": server, "toolName": tool });
            let success = json!({ "content": [{ "text": { "text": "hay" } }], "isError": false });
            (id, "mcpToolCall", args, success)
        }
        "task" => {
            let (id, what) = (words.next()?, words.rest());
            let args = json!({ "description": what, "prompt": what,
                "subagentType": { "explore": {} }, "mode": "TASK_MODE_UNSPECIFIED" });
            let success = json!({ "conversationSteps": [], "agentId": "a-2",
                "isBackground": false, "durationMs": "5184" });
            (id, "taskToolCall", args, success)
        }
        _ => return Ok(None),
    };
    let line = if name == verb {
        stream.tool_started(id, kind, &args)
    } else {
        stream.tool_completed(id, kind, &args, &json!({ "success": success }))
    };
    Ok(Some(vec![line]))
}

fn child_plan(words: &mut Words<'_>) -> Result<ChildPlan, &'static str> {
    let kind = ChildKind::from_word(words.next()?).ok_or("unknown kind of child")?;
    let mut plan =
        ChildPlan { kind, holds_stdout: false, holds_stderr: false, lives: Duration::from_mins(1) };
    while let Some(word) = words.optional() {
        match word {
            "stdout" => plan.holds_stdout = true,
            "stderr" => plan.holds_stderr = true,
            "for" => plan.lives = duration(words.next()?)?,
            _ => return Err("neither `stdout`, `stderr` nor `for`"),
        }
    }
    Ok(plan)
}

/// A line cut into words from the left.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<&'a str, &'static str> {
        self.optional().ok_or("something is missing")
    }

    fn optional(&mut self) -> Option<&'a str> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    fn rest(&self) -> &'a str {
        self.0
    }
}

fn say(line: String) -> Step {
    let mut bytes = line.into_bytes();
    bytes.push(b'\n');
    Step::Write(bytes)
}

fn text(escaped: &str) -> Result<String, &'static str> {
    String::from_utf8(unescape(escaped)?).map_err(|_| "not UTF-8; use `raw`")
}

fn unescape(escaped: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'0') => 0,
            Some(b'\\') => b'\\',
            Some(b'x') => {
                let digits = [rest.next().unwrap_or(b'?'), rest.next().unwrap_or(b'?')];
                let digits = std::str::from_utf8(&digits).map_err(|_| "bad `\\x`")?;
                u8::from_str_radix(digits, 16).map_err(|_| "bad `\\x`")?
            }
            _ => return Err("unknown escape"),
        });
    }
    Ok(bytes)
}

fn parse_json(text: &str) -> Result<Value, &'static str> {
    serde_json::from_str(text).map_err(|_| "not JSON")
}

fn signal(name: &str) -> Result<Signal, &'static str> {
    Signal::from_str(&format!("SIG{name}")).map_err(|_| "unknown signal")
}

fn number<T: FromStr>(word: &str) -> Result<T, &'static str> {
    word.parse().map_err(|_| "not a number")
}

fn duration(word: &str) -> Result<Duration, &'static str> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let count = number(digits)?;
    match word.strip_prefix(digits) {
        Some("ms") => Ok(Duration::from_millis(count)),
        Some("s") => Ok(Duration::from_secs(count)),
        Some("m") => Ok(Duration::from_secs(count * 60)),
        _ => Err("a duration without `ms`, `s` or `m`"),
    }
}
