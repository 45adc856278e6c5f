//! Qwen Code's `--output-format stream-json`: Claude Code's stream with other tools.
//!
//! Owned here: the differences. The member with the version, the names of tools, where the exit
//! code of a command stands, and failures that are written as if the model had said them. All else
//! is read by `claude`.

mod dialect;

use super::claude::{ClaudeDecoder, Flavor, Reads, Row, row};
use crate::event::ToolKind;
use serde_json::value::RawValue;

pub(super) use dialect::QwenDialect;

const QWEN: Flavor = Flavor {
    agent: "qwen",
    version: "qwen_code_version",
    tools: TABLE,
    exit_code,
    is_failure_text: |text| text.starts_with(b"[API Error: ") && text.ends_with(b"]"),
};

/// A fresh decoder.
fn decoder() -> ClaudeDecoder {
    ClaudeDecoder::of(&QWEN)
}

/// A decoder that goes on from a state of another one.
fn restored(state: &RawValue) -> Option<ClaudeDecoder> {
    let decoder: ClaudeDecoder = serde_json::from_str(state.get()).ok()?;
    Some(decoder.with(&QWEN))
}

/// The result of a command is a list of facts: `Command`, `Directory`, `Output`, `Error`,
/// `Exit Code`, `Signal`, `Process Group PGID`. What the command wrote comes before the code, so
/// the last line of that name counts.
fn exit_code(words: &str, _is_error: bool) -> Option<i32> {
    if !words.starts_with("Command: ") {
        return None;
    }
    let code = words.lines().rev().find_map(|line| line.strip_prefix("Exit Code: "))?;
    code.trim().parse().ok()
}

const TABLE: &[Row] = &[
    row("run_shell_command", ToolKind::Execute, Reads::Command),
    row("read_file", ToolKind::Read, Reads::Path),
    row("edit", ToolKind::Edit, Reads::Path),
    row("replace", ToolKind::Edit, Reads::Path),
    row("write_file", ToolKind::Edit, Reads::Path),
    row("grep_search", ToolKind::Search, Reads::Query),
    row("search_file_content", ToolKind::Search, Reads::Query),
    row("glob", ToolKind::Search, Reads::Files),
    row("list_directory", ToolKind::Read, Reads::Path),
    row("read_many_files", ToolKind::Read, Reads::Path),
    row("notebook_edit", ToolKind::Edit, Reads::Path),
    row("zoom_image", ToolKind::Read, Reads::Path),
    row("web_fetch", ToolKind::Fetch, Reads::Url),
    row("web_search", ToolKind::Fetch, Reads::Query),
    row("todo_write", ToolKind::Think, Reads::Todos),
    row("agent", ToolKind::Think, Reads::Agent),
    row("task", ToolKind::Think, Reads::Agent),
    row("tool_search", ToolKind::Search, Reads::Query),
    row("tool_call", ToolKind::Other, Reads::Words(&["name", "tool_name"])),
    row("lsp", ToolKind::Read, Reads::Words(&["operation", "filePath"])),
    row("save_memory", ToolKind::Think, Reads::Words(&["fact"])),
    row("exit_plan_mode", ToolKind::SwitchMode, Reads::Words(&["plan"])),
    row("enter_worktree", ToolKind::SwitchMode, Reads::Words(&["name", "path"])),
    row("exit_worktree", ToolKind::SwitchMode, Reads::Words(&["action"])),
    row("ask_user_question", ToolKind::Other, Reads::Anything),
    row("skill", ToolKind::Other, Reads::Words(&["skill", "command"])),
    row("monitor", ToolKind::Execute, Reads::Command),
    row("task_stop", ToolKind::Execute, Reads::Words(&["task_id"])),
    row("get_goal", ToolKind::Think, Reads::Anything),
    row("update_goal", ToolKind::Think, Reads::Words(&["status"])),
    row("report_findings", ToolKind::Think, Reads::Anything),
    row("list_agents", ToolKind::Read, Reads::Anything),
    row("send_message", ToolKind::Other, Reads::Words(&["to", "message"])),
    row("read_mcp_resource", ToolKind::Read, Reads::Words(&["uri", "server"])),
    row("cron_create", ToolKind::Other, Reads::Words(&["cron", "prompt"])),
    row("cron_delete", ToolKind::Other, Reads::Words(&["id"])),
    row("cron_list", ToolKind::Read, Reads::Anything),
];

#[cfg(test)]
mod tests;
