//! OpenCode's tools: what they are given and how they end, in one record.
//!
//! A part of a message holds the tool's name and a `state` with input, output and times. A command
//! that fails is `completed` and has its exit code in the metadata.

use super::super::Depth;
use super::super::kit::{self, Reads, Row, cut, digest_of, mix, row, row_of};
use crate::event::{Outcome, Tool, ToolKind};
use crate::json::{Members, Value};
use std::borrow::Cow;

/// The frequent ones first.
pub(super) const TABLE: &[Row] = &[
    row("bash", ToolKind::Execute, Reads::Command),
    row("shell", ToolKind::Execute, Reads::Command),
    row("read", ToolKind::Read, Reads::Path),
    row("edit", ToolKind::Edit, Reads::Path),
    row("write", ToolKind::Edit, Reads::Path),
    row("grep", ToolKind::Search, Reads::Query),
    row("glob", ToolKind::Search, Reads::Files),
    row("list", ToolKind::Read, Reads::Path),
    row("multiedit", ToolKind::Edit, Reads::Path),
    row("patch", ToolKind::Edit, Reads::Words(&["patchText"])),
    row("apply_patch", ToolKind::Edit, Reads::Words(&["patchText"])),
    row("todowrite", ToolKind::Think, Reads::Todos),
    row("todoread", ToolKind::Read, Reads::Anything),
    row("task", ToolKind::Think, Reads::Agent),
    row("task_status", ToolKind::Read, Reads::Anything),
    row("webfetch", ToolKind::Fetch, Reads::Url),
    row("websearch", ToolKind::Fetch, Reads::Query),
    row("codesearch", ToolKind::Fetch, Reads::Query),
    row("skill", ToolKind::Read, Reads::Words(&["name"])),
    row("lsp", ToolKind::Read, Reads::Path),
    row("batch", ToolKind::Other, Reads::Anything),
    row("question", ToolKind::Other, Reads::Anything),
    row("plan_enter", ToolKind::SwitchMode, Reads::Anything),
    row("plan_exit", ToolKind::SwitchMode, Reads::Anything),
    row("invalid", ToolKind::Other, Reads::Words(&["tool"])),
];

/// A part that is a tool call, as it stands on the line.
#[derive(Debug, Default)]
pub(super) struct Part<'a> {
    /// The id of the part.
    pub(super) id: Option<Value<'a>>,
    name: Option<Value<'a>>,
    call: Option<Value<'a>>,
    message: Option<Value<'a>>,
    status: Option<Value<'a>>,
    input: Option<Value<'a>>,
    output: Option<Value<'a>>,
    error: Option<Value<'a>>,
    exit: Option<Value<'a>>,
    diff: Option<Value<'a>>,
    background: bool,
    time: Option<Value<'a>>,
}

impl<'a> Part<'a> {
    /// Reads the part in one pass; the end of it may be cut off.
    pub(super) fn read(part: Value<'a>) -> Self {
        let mut read = Part::default();
        let mut members = part.members();
        while let Some(key) = members.key() {
            if key == b"state" && members.enter() {
                read.state(&mut members);
                members.leave();
                continue;
            }
            let value = members.value();
            match key {
                b"id" => read.id = value,
                b"tool" => read.name = value,
                b"callID" => read.call = value,
                b"messageID" => read.message = value,
                _ => {}
            }
        }
        read
    }

    fn state(&mut self, members: &mut Members<'a>) {
        while let Some(key) = members.key() {
            if key == b"metadata" && members.enter() {
                self.metadata(members);
                members.leave();
                continue;
            }
            if key == b"input" {
                self.input = members.value().or_else(|| members.rest());
                continue;
            }
            let value = members.value();
            match key {
                b"status" => self.status = value,
                b"output" => self.output = value,
                b"error" => self.error = value,
                b"time" => self.time = value,
                _ => {}
            }
        }
    }

    /// The metadata may hold the output once more: it is walked only once.
    fn metadata(&mut self, members: &mut Members<'a>) {
        while let Some(key) = members.key() {
            let value = members.value();
            match key {
                b"exit" => self.exit = value,
                b"diff" => self.diff = value,
                b"background" => self.background = value.and_then(Value::bool) == Some(true),
                _ => {}
            }
        }
    }

    pub(super) fn status(&self) -> &'a [u8] {
        self.status.and_then(Value::raw_str).unwrap_or_default()
    }

    pub(super) fn name(&self) -> Cow<'a, str> {
        self.name.and_then(Value::str).unwrap_or_default()
    }

    pub(super) fn call_id(&self) -> String {
        self.call.or(self.id).and_then(Value::string).unwrap_or_default()
    }

    /// The call as it began.
    pub(super) fn begin(&self, id: String) -> Tool {
        let name = self.name();
        let row = row_of(TABLE, &name);
        let mut given = kit::given(&name, row.unwrap_or(Row::UNKNOWN), self.input);
        // `<server>_<tool>` is how tools of MCP servers are named.
        if row.is_none()
            && let Some((server, tool)) = name.split_once('_')
        {
            given.is_mcp(server.to_owned(), tool.to_owned());
        }
        let mut tool = kit::tool(id, &name, row.unwrap_or(Row::UNKNOWN), given);
        tool.step = self.message.and_then(Value::string);
        tool
    }

    /// Writes the end of the call into it.
    pub(super) fn end(&self, tool: &mut Tool, depth: Depth) {
        tool.outcome = Some(self.outcome(tool));
        for said in [self.status, self.output, self.error, self.exit] {
            let raw = said.map(Value::raw).unwrap_or_default();
            tool.digest = mix(tool.digest, digest_of(raw));
        }
        let time = |key: &str| self.time.and_then(|time| time.get(key)?.u64());
        tool.duration_ms = time("end").zip(time("start")).and_then(|(e, s)| e.checked_sub(s));
        tool.background |= self.background;
        if depth == Depth::Full {
            let output = self.output.and_then(Value::string);
            tool.output = output.filter(|text| !text.is_empty());
            if tool.tool_kind == ToolKind::Edit {
                tool.diff = self.diff.and_then(Value::string).filter(|diff| !diff.is_empty());
            }
        }
    }

    fn outcome(&self, tool: &Tool) -> Outcome {
        let error = || self.error.and_then(Value::string);
        let exit_code = self.exit.and_then(Value::i64).and_then(|code| i32::try_from(code).ok());
        match self.status() {
            b"completed" if tool.name == "invalid" => Outcome::Failure {
                exit_code: None,
                message: self.input.and_then(|input| input.get("error")?.string()).map(cut),
            },
            b"completed" if exit_code.is_some_and(|code| code != 0) => {
                Outcome::Failure { exit_code, message: None }
            }
            // A command that did not end by itself has no exit code; why is in a note behind the
            // output.
            b"completed"
                if tool.tool_kind == ToolKind::Execute && self.exit.is_some_and(Value::is_null) =>
            {
                let raw = self.output.map(Value::raw).unwrap_or_default();
                let tail = raw.get(raw.len().saturating_sub(400)..).unwrap_or(raw);
                if memchr::memmem::find(tail, b"exceeding timeout").is_some() {
                    Outcome::TimedOut
                } else {
                    Outcome::Failure { exit_code: None, message: None }
                }
            }
            b"completed" => Outcome::Success,
            b"error" => match error() {
                Some(error) if error.contains("rejected permission") => {
                    Outcome::Rejected { reason: cut(error) }
                }
                Some(error) if error.contains("specified a rule which prevents") => {
                    Outcome::Denied { reason: cut(error) }
                }
                error => Outcome::Failure { exit_code: None, message: error.map(cut) },
            },
            _ => Outcome::Unknown,
        }
    }
}
