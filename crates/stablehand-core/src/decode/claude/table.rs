//! The table of Claude Code's tools, and how a row of such a table is read.
//!
//! A name that is not in an agent's table is still a tool, of kind *other*, read by the usual names
//! of fields; `mcp__server__tool` is a tool of a server, whatever the table says.

use crate::event::ToolKind;

/// How the input of a tool is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::decode) enum Reads {
    Command,
    Path,
    Query,
    Url,
    Agent,
    Todos,
    /// The first of these that is there, as a few words.
    Words(&'static [&'static str]),
    /// Whatever is there.
    Anything,
}

/// One kind of tool.
#[derive(Clone, Copy, Debug)]
pub(in crate::decode) struct Row {
    pub(super) name: &'static str,
    pub(super) kind: ToolKind,
    pub(super) reads: Reads,
}

/// A row.
pub(in crate::decode) const fn row(name: &'static str, kind: ToolKind, reads: Reads) -> Row {
    Row { name, kind, reads }
}

/// A tool that is in no table.
const UNKNOWN: Row = row("", ToolKind::Other, Reads::Anything);

/// The row of a tool.
pub(super) fn row_of(table: &[Row], name: &str) -> Row {
    table.iter().find(|row| row.name == name).copied().unwrap_or(UNKNOWN)
}

/// Tools of all versions up to 2.1; the frequent ones first.
pub(super) const TABLE: &[Row] = &[
    row("Bash", ToolKind::Execute, Reads::Command),
    row("Read", ToolKind::Read, Reads::Path),
    row("Edit", ToolKind::Edit, Reads::Path),
    row("Write", ToolKind::Edit, Reads::Path),
    row("Grep", ToolKind::Search, Reads::Query),
    row("Glob", ToolKind::Search, Reads::Query),
    row("Task", ToolKind::Think, Reads::Agent),
    row("Agent", ToolKind::Think, Reads::Agent),
    row("TodoWrite", ToolKind::Think, Reads::Todos),
    row("MultiEdit", ToolKind::Edit, Reads::Path),
    row("NotebookEdit", ToolKind::Edit, Reads::Path),
    row("NotebookRead", ToolKind::Read, Reads::Path),
    row("LS", ToolKind::Read, Reads::Path),
    row("LSP", ToolKind::Read, Reads::Words(&["operation", "filePath"])),
    row("WebFetch", ToolKind::Fetch, Reads::Url),
    row("WebSearch", ToolKind::Fetch, Reads::Query),
    row("web_search", ToolKind::Fetch, Reads::Query),
    row("web_fetch", ToolKind::Fetch, Reads::Url),
    row("PowerShell", ToolKind::Execute, Reads::Command),
    row("Monitor", ToolKind::Execute, Reads::Command),
    row("BashOutput", ToolKind::Execute, Reads::Words(&["bash_id", "task_id"])),
    row("TaskOutput", ToolKind::Execute, Reads::Words(&["task_id"])),
    row("KillShell", ToolKind::Execute, Reads::Words(&["shell_id"])),
    row("KillBash", ToolKind::Execute, Reads::Words(&["shell_id"])),
    row("TaskStop", ToolKind::Execute, Reads::Words(&["task_id", "shell_id"])),
    row("TaskCreate", ToolKind::Think, Reads::Words(&["subject", "description"])),
    row("TaskUpdate", ToolKind::Think, Reads::Words(&["subject", "status", "taskId"])),
    row("TaskGet", ToolKind::Think, Reads::Words(&["taskId"])),
    row("TaskList", ToolKind::Think, Reads::Anything),
    row("EnterPlanMode", ToolKind::SwitchMode, Reads::Anything),
    row("ExitPlanMode", ToolKind::SwitchMode, Reads::Words(&["plan"])),
    row("exit_plan_mode", ToolKind::SwitchMode, Reads::Words(&["plan"])),
    row("EnterWorktree", ToolKind::SwitchMode, Reads::Words(&["name", "path"])),
    row("ExitWorktree", ToolKind::SwitchMode, Reads::Words(&["action"])),
    row("AskUserQuestion", ToolKind::Other, Reads::Anything),
    row("Skill", ToolKind::Other, Reads::Words(&["skill", "command"])),
    row("SlashCommand", ToolKind::Other, Reads::Words(&["command"])),
    row("ToolSearch", ToolKind::Search, Reads::Query),
    row("Workflow", ToolKind::Think, Reads::Words(&["name", "description"])),
    row("SendMessage", ToolKind::Other, Reads::Words(&["summary", "to", "message"])),
    row("ListAgents", ToolKind::Read, Reads::Anything),
    row("ReportFindings", ToolKind::Think, Reads::Anything),
    row("StructuredOutput", ToolKind::Think, Reads::Anything),
    row("ScheduleWakeup", ToolKind::Other, Reads::Words(&["reason", "prompt"])),
    row("CronCreate", ToolKind::Other, Reads::Words(&["cron", "prompt"])),
    row("CronDelete", ToolKind::Other, Reads::Words(&["id"])),
    row("CronList", ToolKind::Read, Reads::Anything),
    row("ListMcpResourcesTool", ToolKind::Read, Reads::Words(&["server"])),
    row("ReadMcpResourceTool", ToolKind::Read, Reads::Words(&["uri", "server"])),
];
