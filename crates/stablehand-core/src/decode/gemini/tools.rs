//! The table of Gemini's tools, and how those of MCP servers are named.

use super::super::kit::{self, Reads, Row, row, row_of};
use crate::event::{Tool, ToolKind};
use crate::json::Value;

/// The frequent ones first. `Bash`, `Write` and the like are what models ask for by habit.
pub(super) const TABLE: &[Row] = &[
    row("run_shell_command", ToolKind::Execute, Reads::Command),
    row("read_file", ToolKind::Read, Reads::Path),
    row("replace", ToolKind::Edit, Reads::Path),
    row("write_file", ToolKind::Edit, Reads::Path),
    row("grep_search", ToolKind::Search, Reads::Query),
    row("search_file_content", ToolKind::Search, Reads::Query),
    row("glob", ToolKind::Search, Reads::Files),
    row("list_directory", ToolKind::Read, Reads::Path),
    row("read_many_files", ToolKind::Read, Reads::Path),
    row("web_fetch", ToolKind::Fetch, Reads::Url),
    row("google_web_search", ToolKind::Fetch, Reads::Query),
    row("write_todos", ToolKind::Think, Reads::Todos),
    row("save_memory", ToolKind::Think, Reads::Words(&["fact"])),
    row("update_topic", ToolKind::Think, Reads::Words(&["title", "summary"])),
    row("activate_skill", ToolKind::Read, Reads::Words(&["name"])),
    row("get_internal_docs", ToolKind::Read, Reads::Path),
    row("ask_user", ToolKind::Other, Reads::Words(&["question"])),
    row("enter_plan_mode", ToolKind::SwitchMode, Reads::Words(&["reason"])),
    row("exit_plan_mode", ToolKind::SwitchMode, Reads::Words(&["plan_filename", "plan_path"])),
    row("list_background_processes", ToolKind::Read, Reads::Anything),
    row("read_background_output", ToolKind::Read, Reads::Anything),
    row("codebase_investigator", ToolKind::Think, Reads::Agent),
    row("cli_help", ToolKind::Think, Reads::Agent),
    row("generalist", ToolKind::Think, Reads::Agent),
    row("browser_agent", ToolKind::Think, Reads::Agent),
    row("invoke_agent", ToolKind::Think, Reads::Agent),
    row("delegate_to_agent", ToolKind::Think, Reads::Agent),
];

/// A call that begins.
pub(super) fn call(id: String, name: &str, parameters: Option<Value<'_>>) -> Tool {
    let row = row_of(TABLE, name);
    let mut given = kit::given(name, row.unwrap_or(Row::UNKNOWN), parameters);
    if row.is_none()
        && let Some((server, tool)) = mcp(name)
    {
        given.is_mcp(server, tool);
    }
    kit::tool(id, name, row.unwrap_or(Row::UNKNOWN), given)
}

/// `mcp_<server>_<tool>`, or in older versions `<server>__<tool>`. A server's name has no
/// underscore.
fn mcp(name: &str) -> Option<(String, String)> {
    let (server, tool) = match name.strip_prefix("mcp_") {
        Some(rest) => rest.trim_start_matches('_').split_once('_')?,
        None => name.split_once("__")?,
    };
    Some((server.to_owned(), tool.trim_start_matches('_').to_owned()))
}
