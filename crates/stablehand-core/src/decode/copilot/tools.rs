//! Copilot's tools: what they are given, how they end, and who is asked.

use super::super::Depth;
use super::super::kit::{self, Reads, Row, cut, digest_of, mix, row, row_of};
use crate::event::{EventKind, Outcome, Tool, ToolKind};
use crate::id::CallId;
use crate::json::Value;

/// The frequent ones first.
pub(super) const TABLE: &[Row] = &[
    row("bash", ToolKind::Execute, Reads::Command),
    row("powershell", ToolKind::Execute, Reads::Command),
    row("shell", ToolKind::Execute, Reads::Command),
    row("view", ToolKind::Read, Reads::Path),
    row("edit", ToolKind::Edit, Reads::Path),
    row("create", ToolKind::Edit, Reads::Path),
    row("str_replace_editor", ToolKind::Edit, Reads::Path),
    row("apply_patch", ToolKind::Edit, Reads::Words(&["patch", "input"])),
    row("grep", ToolKind::Search, Reads::Query),
    row("rg", ToolKind::Search, Reads::Query),
    row("glob", ToolKind::Search, Reads::Files),
    row("web_fetch", ToolKind::Fetch, Reads::Url),
    row("web_search", ToolKind::Fetch, Reads::Query),
    row("task", ToolKind::Think, Reads::Agent),
    row("update_todo", ToolKind::Think, Reads::Todos),
    row("report_intent", ToolKind::Think, Reads::Words(&["intent"])),
    row("write_bash", ToolKind::Execute, Reads::Words(&["input"])),
    row("read_bash", ToolKind::Read, Reads::Words(&["shellId"])),
    row("stop_bash", ToolKind::Execute, Reads::Words(&["shellId"])),
    row("list_bash", ToolKind::Read, Reads::Anything),
    row("read_agent", ToolKind::Read, Reads::Words(&["agent_id"])),
    row("list_agents", ToolKind::Read, Reads::Anything),
    row("sql", ToolKind::Think, Reads::Words(&["description", "query"])),
    row("skill", ToolKind::Read, Reads::Words(&["skill", "name"])),
    row("ask_user", ToolKind::Other, Reads::Words(&["question"])),
    row("exit_plan_mode", ToolKind::SwitchMode, Reads::Words(&["summary"])),
    row("store_memory", ToolKind::Think, Reads::Words(&["fact"])),
];

/// A call that begins; `None` where there is neither an id nor a name.
pub(super) fn begin(data: Value<'_>) -> Option<Tool> {
    let mut call = None;
    let mut name = None;
    let mut arguments = None;
    let mut step = None;
    let mut server = None;
    let mut mcp_tool = None;
    let mut members = data.members();
    while let Some(key) = members.key() {
        match key {
            b"toolCallId" => call = members.value(),
            b"toolName" => name = members.value(),
            b"arguments" => arguments = members.value().or_else(|| members.rest()),
            b"turnId" => step = members.value(),
            b"mcpServerName" => server = members.value(),
            b"mcpToolName" => mcp_tool = members.value(),
            _ => {
                members.value();
            }
        }
    }
    let call = call.and_then(Value::string).unwrap_or_default();
    let name = name.and_then(Value::str).unwrap_or_default();
    if call.is_empty() && name.is_empty() {
        return None;
    }
    let row = row_of(TABLE, &name).unwrap_or(Row::UNKNOWN);
    let mut given = kit::given(&name, row, arguments);
    // Seconds, and only until the call returns: the command may go on.
    given.timeout_ms = None;
    if let Some(server) = server.and_then(Value::string) {
        let tool = mcp_tool.and_then(Value::string).unwrap_or_else(|| name.clone().into_owned());
        given.is_mcp(server, tool);
    }
    let mut tool = kit::tool(call, &name, row, given);
    tool.step = step.and_then(Value::string);
    Some(tool)
}

/// A call of which only the end was seen.
pub(super) fn unseen(call: String) -> Tool {
    kit::tool(call, "", Row::UNKNOWN, kit::given("", Row::UNKNOWN, None))
}

/// How a call ended, as it stands on the line.
#[derive(Debug, Default)]
pub(super) struct Ending<'a> {
    call: Option<Value<'a>>,
    success: Option<bool>,
    exit_code: Option<i32>,
    result: Option<Value<'a>>,
    error: Option<Value<'a>>,
}

impl<'a> Ending<'a> {
    pub(super) fn read(data: Value<'a>) -> Self {
        let mut ending = Ending::default();
        for (key, value) in data.members() {
            match key {
                b"toolCallId" => ending.call = Some(value),
                b"success" => ending.success = value.bool(),
                b"shellExecution" => {
                    let code = value.get("exitCode").and_then(Value::i64);
                    ending.exit_code = code.and_then(|code| i32::try_from(code).ok());
                }
                b"result" => ending.result = Some(value),
                b"error" => ending.error = Some(value),
                _ => {}
            }
        }
        ending
    }

    pub(super) fn call_id(&self) -> String {
        self.call.and_then(Value::string).unwrap_or_default()
    }

    /// Writes the end of the call into it.
    pub(super) fn end(&self, tool: &mut Tool, depth: Depth) {
        let content = self.result.and_then(|result| result.get("content"));
        tool.outcome = Some(self.outcome());
        for said in [content, self.error] {
            let raw = said.map(Value::raw).unwrap_or_default();
            tool.digest = mix(tool.digest, digest_of(without_shell(raw)));
        }
        tool.digest = mix(tool.digest, self.exit_code.unwrap_or(0) as u64);
        if depth == Depth::Full {
            tool.output = content.and_then(Value::string).filter(|text| !text.is_empty());
            if tool.tool_kind == ToolKind::Edit {
                let detail = self.result.and_then(|result| result.get("detailedContent")?.string());
                tool.diff =
                    detail.filter(|text| text.contains("\n@@") || text.contains("diff --git"));
            }
        }
    }

    fn outcome(&self) -> Outcome {
        let message = self.error.and_then(|error| error.get("message")?.string()).map(cut);
        let code = self.error.and_then(|error| error.get("code")?.raw_str()).unwrap_or_default();
        match (self.success, code) {
            (_, b"rejected") => Outcome::Rejected { reason: message.unwrap_or_default() },
            (_, b"denied") => Outcome::Denied { reason: message.unwrap_or_default() },
            (_, b"timeout") => Outcome::TimedOut,
            (Some(false), _) => Outcome::Failure { exit_code: self.exit_code, message },
            (_, _) if self.exit_code.is_some_and(|code| code != 0) => {
                Outcome::Failure { exit_code: self.exit_code, message }
            }
            (Some(true), _) => Outcome::Success,
            (None, _) => Outcome::Unknown,
        }
    }
}

/// Output without the note behind it, which counts shells: it has no part in a digest.
fn without_shell(raw: &[u8]) -> &[u8] {
    let tail = raw.len().saturating_sub(100);
    let note = raw.get(tail..).and_then(|end| memchr::memmem::rfind(end, b"<shellId: "));
    note.and_then(|at| raw.get(..tail + at)).unwrap_or(raw)
}

/// Somebody is asked.
pub(super) fn permission_requested(data: Value<'_>, out: &mut Vec<EventKind>) {
    let request = data.get("permissionRequest").unwrap_or(data);
    let words = ["fullCommandText", "intention", "path", "fileName", "url", "toolName", "kind"];
    out.push(EventKind::ApprovalRequested {
        id: data.get("requestId").and_then(Value::string).unwrap_or_default(),
        call: kit::first(request, &["toolCallId"]).map(CallId),
        what: kit::first(request, &words).map(cut).unwrap_or_default(),
        options: Vec::new(),
        tool: None,
        why: None,
        waits: false,
    });
}

/// Somebody, or a rule, has answered.
pub(super) fn permission_completed(data: Value<'_>, out: &mut Vec<EventKind>) {
    let result = data.get("result").unwrap_or(data);
    let id = data.get("requestId").and_then(Value::string).unwrap_or_default();
    let choice = kit::first(result, &["kind"]).unwrap_or_else(|| "unknown".to_owned());
    out.push(EventKind::resolved(id, choice, "agent"));
}
