//! Antigravity's tools: what they are given, and how they end.

use super::super::Depth;
use super::super::kit::{self, Reads, Row, cut, digest_of, first, mix, row, row_of};
use crate::event::{Outcome, Tool, ToolKind};
use crate::json::Value;

/// The frequent ones first.
pub(super) const TABLE: &[Row] = &[
    row("run_command", ToolKind::Execute, Reads::Command),
    row("view_file", ToolKind::Read, Reads::Path),
    row("write_to_file", ToolKind::Edit, Reads::Path),
    row("replace_file_content", ToolKind::Edit, Reads::Path),
    row("multi_replace_file_content", ToolKind::Edit, Reads::Path),
    row("list_dir", ToolKind::Read, Reads::Path),
    row("grep_search", ToolKind::Search, Reads::Query),
    row("find_by_name", ToolKind::Search, Reads::Files),
    row("command_status", ToolKind::Read, Reads::Words(&["CommandId"])),
    row("send_command_input", ToolKind::Execute, Reads::Words(&["Input", "CommandId"])),
    row("read_url_content", ToolKind::Fetch, Reads::Url),
    row("search_web", ToolKind::Fetch, Reads::Query),
    row("call_mcp_tool", ToolKind::Other, Reads::Mcp),
    row(SUBAGENT, ToolKind::Think, Reads::Agent),
];

/// How a step that is a subagent is named.
pub(super) const SUBAGENT: &str = "subagent";

/// A call that begins.
pub(super) fn begin(call: String, name: &str, info: Option<Value<'_>>) -> Tool {
    let row = row_of(TABLE, name).unwrap_or(Row::UNKNOWN);
    let args = info.and_then(|info| info.get("parameters")).unwrap_or(Value::new(b"{}"));
    let given = kit::given(name, row, Some(args));
    kit::tool(call, name, row, given)
}

/// Writes the end of a call into it.
pub(super) fn end(tool: &mut Tool, info: Option<Value<'_>>, failed: bool, depth: Depth) {
    let output = info.and_then(|info| info.get("output"));
    let error = info.and_then(|info| info.get("error")).filter(|error| !error.is_null());
    tool.outcome = Some(match error {
        Some(error) => failure(error),
        None if failed => Outcome::Failure { exit_code: None, message: None },
        None => Outcome::Success,
    });
    for said in [output, error] {
        tool.digest = mix(tool.digest, digest_of(said.map(Value::raw).unwrap_or_default()));
    }
    if depth == Depth::Full {
        tool.output = output.and_then(Value::string).filter(|text| !text.is_empty());
    }
}

/// What an error of a call says: that it was not permitted, or that it failed.
fn failure(error: Value<'_>) -> Outcome {
    let words = error.string().or_else(|| first(error, &["message"]));
    let kind = first(error, &["type"]);
    if kind.as_deref() == Some("PERMISSION_DENIED") {
        return Outcome::Denied { reason: words.map(cut).unwrap_or_default() };
    }
    let message = match (words, kind) {
        (Some(words), Some(kind)) => Some(format!("{words} ({kind})")),
        (words, kind) => words.or(kind),
    };
    Outcome::Failure { exit_code: None, message: message.map(cut) }
}

/// Whether a denied action, as the result names it (`RunCommand`), is one of this tool (`run_command`).
pub(super) fn is_of(action: &str, tool: &str) -> bool {
    let letters = |text: &str| text.replace('_', "").to_lowercase();
    !tool.is_empty() && letters(action) == letters(tool)
}
