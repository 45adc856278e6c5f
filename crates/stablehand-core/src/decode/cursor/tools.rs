//! What Cursor's tools are given.
//!
//! A tool call is an object whose one key that ends in `ToolCall` names the tool; other keys may
//! stand before or behind it. Which tool is of which kind is in `table`; how they end in `outcome`.

use super::super::kit::{self, Given, Row, input_of};
pub(super) use super::super::kit::{first, mix, todo_status};
use super::outcome::Ending;
use super::table::{row_by, row_of};
use crate::event::{Todo, Tool, ToolInput};
use crate::id::digest64;
use crate::json::{self, Members, Scan, Value};
use std::borrow::Cow;

/// A tool call as it stands on the line.
#[derive(Debug, Default)]
pub(super) struct Call<'a> {
    /// The agent's name of the tool; empty where it could not be found.
    pub(super) name: Cow<'a, str>,
    pub(super) row: Row,
    /// What it was given; may run on to the end of the line ([`Value::enter`]).
    pub(super) args: Option<Value<'a>>,
    /// Arguments that came as JSON in a string.
    packed: Option<String>,
    /// How it ended.
    pub(super) ending: Option<Ending<'a>>,
    started_at: Option<u64>,
    completed_at: Option<u64>,
}

impl<'a> Call<'a> {
    /// A call of which nothing but the tool's name is known.
    pub(super) fn named(name: Cow<'a, str>) -> Call<'a> {
        Call { row: row_of(name.as_bytes()), name, ..Call::default() }
    }

    /// Reads the `tool_call` member in one pass. Of a beginning nothing behind the arguments is
    /// looked at.
    pub(super) fn read(tool_call: Value<'a>, is_beginning: bool) -> Call<'a> {
        let mut call = Call::default();
        let mut members = tool_call.members();
        let mut is_legacy = false;
        let mut other = None;
        while let Some(key) = members.key() {
            if key.ends_with(b"ToolCall") && call.name.is_empty() && members.enter() {
                call.name = String::from_utf8_lossy(key);
                call.row = row_of(key);
                let bare = call.body(&mut members, is_beginning);
                call.args = call.args.or(bare);
                members.leave();
                continue;
            }
            if key == b"result" && call.ending.is_none() {
                call.ending = Some(Ending::read(&mut members));
                continue;
            }
            let Some(value) = members.value() else {
                // Cut off; a tool of the old form is not worth the effort then.
                break;
            };
            match key {
                b"startedAtMs" => call.started_at = value.u64(),
                b"completedAtMs" => call.completed_at = value.u64(),
                b"function" | b"name" => is_legacy = true,
                b"hookAdditionalContexts" => {}
                _ if value.is_object() => other = Some(key),
                _ => {}
            }
        }
        if call.name.is_empty() {
            if is_legacy {
                call.function(tool_call);
            } else if let Some(key) = other {
                // A tool by a name without the usual ending.
                call.name = String::from_utf8_lossy(key);
                if let Some((_, body)) = tool_call.enter(|k| k == key) {
                    let mut members = body.members();
                    let bare = call.body(&mut members, /* is_beginning */ false);
                    call.args = call.args.or(bare);
                }
            }
        }
        call
    }

    /// Reads what stands behind the name. Returns all of it where that may be the arguments themselves.
    fn body(&mut self, members: &mut Members<'a>, is_beginning: bool) -> Option<Value<'a>> {
        let mark = members.mark().saturating_sub(1);
        let mut has_others = false;
        while let Some(key) = members.key() {
            match key {
                b"args" | b"arguments" | b"input" if is_beginning => self.args = members.rest(),
                b"args" | b"arguments" | b"input" => {
                    self.args = members.value().or_else(|| members.rest());
                }
                b"result" => self.ending = Some(Ending::read(members)),
                _ => {
                    members.value();
                    has_others = true;
                }
            }
        }
        has_others.then(|| members.since(mark))
    }

    /// `function{name,arguments}`, or the same without the wrapping.
    fn function(&mut self, tool_call: Value<'a>) {
        let function = tool_call.get("function").unwrap_or(tool_call);
        self.name = function.get("name").and_then(Value::str).unwrap_or_default();
        self.row = row_of(self.name.as_bytes());
        let _bare = self.body(&mut function.members(), /* is_beginning */ false);
        if self.ending.is_none() {
            let mut members = tool_call.members();
            while let Some(key) = members.key() {
                if key == b"result" {
                    self.ending = Some(Ending::read(&mut members));
                } else {
                    members.value();
                }
            }
        }
        let packed = self.args.and_then(Value::string);
        let is_object = |text: &String| matches!(json::scan(text.as_bytes()), Scan::Object(_));
        self.packed = packed.filter(is_object);
    }

    /// Reads what the tool was given.
    pub(super) fn input(&self) -> Given {
        let packed = self.packed.as_deref().map(str::trim_start);
        let packed = packed.map(|packed| Value::new(packed.as_bytes()));
        let args = packed.or(self.args).unwrap_or(Value::new(b"{}"));
        read_args(&self.name, self.row, args)
    }

    /// How long it took by the times beside the tool.
    pub(super) fn elapsed_ms(&self) -> Option<u64> {
        self.completed_at?.checked_sub(self.started_at?)
    }
}

/// Whether a member says when, where or under which number something ran, rather than what: it
/// differs from call to call and has no part in a digest.
pub(super) fn is_volatile(key: &[u8]) -> bool {
    matches!(
        key,
        b"toolCallId"
            | b"requestId"
            | b"conversationId"
            | b"agentId"
            | b"asyncOriginalToolCallId"
            | b"secretScopeId"
            | b"parsingResult"
            | b"requestedSandboxPolicy"
            | b"sandboxPolicy"
            | b"executionTime"
            | b"localExecutionTimeMs"
            | b"durationMs"
            | b"runtimeMs"
            | b"msToWait"
            | b"pid"
            | b"shellId"
            | b"outputLocation"
            | b"outputFilePath"
            | b"transcriptPath"
            | b"terminalsFolder"
            | b"todos"
    )
}

/// A digest with one more member, of at most `budget` bytes of it. What says nothing is left out:
/// newer versions write defaults where older ones wrote nothing.
#[inline]
pub(super) fn with_member(digest: u64, key: &[u8], value: Value<'_>, budget: &mut usize) -> u64 {
    let raw = value.raw();
    if matches!(raw, b"false" | b"\"\"" | b"[]" | b"{}" | b"0" | b"null") || is_volatile(key) {
        return digest;
    }
    let length = raw.len() as u64;
    let raw = raw.get(..raw.len().min(*budget)).unwrap_or_default();
    *budget -= raw.len();
    mix(mix(digest, digest64(key) ^ length), digest64(raw))
}

/// How much of an input or a result goes into a digest, beside its length. What is equal so far and
/// as long is taken for the same.
pub(super) const DIGEST_BUDGET: usize = 1 << 10;

/// Reads a call by the tool's name in the stream or in hooks.
pub(super) fn call(name: &str, args: Value<'_>) -> Tool {
    let row = row_by(name);
    kit::tool(String::new(), name, row, read_args(name, row, args))
}

/// Reads what the tool of that row was given.
pub(super) fn read_args(name: &str, row: Row, args: Value<'_>) -> Given {
    let mut given = Given {
        input: ToolInput::Other { summary: String::new() },
        also: Vec::new(),
        timeout_ms: None,
        background: false,
        digest: digest64(name.as_bytes()),
    };
    let mut budget = DIGEST_BUDGET;
    let is_command = row.name == "shellToolCall";
    for (key, value) in args.members() {
        match key {
            // Of the unit of other tools' `timeout` nothing is known.
            b"timeout" if is_command => given.timeout_ms = value.u64(),
            b"timeoutMs" | b"blockUntilMs" => given.timeout_ms = value.u64(),
            b"isBackground" | b"is_background" => given.background = value.bool() == Some(true),
            _ => {}
        }
        // Of a command, nothing but itself and its place says what it does.
        let says =
            !is_command || matches!(key, b"command" | b"workingDirectory" | b"working_directory");
        if says {
            given.digest = with_member(given.digest, key, value, &mut budget);
        }
    }
    given.timeout_ms = given.timeout_ms.filter(|ms| *ms > 0);
    if let Some(tool) = name.strip_prefix("MCP:") {
        given.input = ToolInput::Mcp { server: String::new(), tool: tool.to_owned() };
    } else {
        (given.input, given.also) = input_of(row, args);
    }
    if let ToolInput::Todos { todos } = &given.input {
        for todo in todos {
            let state = todo.status as u64;
            given.digest = mix(given.digest, digest64(todo.text.as_bytes()) ^ state);
        }
    }
    given
}

/// The entries of a list of things to do.
pub(super) fn todos(list: Value<'_>) -> Vec<Todo> {
    list.elements()
        .map(|todo| Todo {
            text: first(todo, &["content", "text", "title"]).unwrap_or_default(),
            status: todo_status(todo),
        })
        .collect()
}
