//! The table of Cursor's tools.
//!
//! Every name of the protocol (SDK 1.0.32) and the ones that older versions documented. A name that
//! is not here is still a tool, of kind *other*, read by the usual names of fields.

use super::super::kit::{Reads, Row, row};
use crate::event::ToolKind;

/// The frequent ones first; the rest in the protocol's order.
pub(super) const TABLE: &[Row] = &[
    row("shellToolCall", ToolKind::Execute, Reads::Command),
    row("readToolCall", ToolKind::Read, Reads::Path),
    row("editToolCall", ToolKind::Edit, Reads::Path),
    row("grepToolCall", ToolKind::Search, Reads::Query),
    row("globToolCall", ToolKind::Search, Reads::Files),
    row("deleteToolCall", ToolKind::Delete, Reads::Path),
    row("updateTodosToolCall", ToolKind::Think, Reads::Todos),
    row("readTodosToolCall", ToolKind::Read, Reads::Words(&["statusFilter"])),
    row("lsToolCall", ToolKind::Read, Reads::Path),
    row("readLintsToolCall", ToolKind::Read, Reads::Words(&["paths"])),
    row("mcpToolCall", ToolKind::Other, Reads::Mcp),
    row("semSearchToolCall", ToolKind::Search, Reads::Query),
    row("createPlanToolCall", ToolKind::Think, Reads::Words(&["name", "overview"])),
    row("webSearchToolCall", ToolKind::Fetch, Reads::Query),
    row("taskToolCall", ToolKind::Think, Reads::Agent),
    row("listMcpResourcesToolCall", ToolKind::Read, Reads::Mcp),
    row("readMcpResourceToolCall", ToolKind::Read, Reads::Mcp),
    row("applyAgentDiffToolCall", ToolKind::Edit, Reads::Words(&["agentId"])),
    row("askQuestionToolCall", ToolKind::Other, Reads::Words(&["title"])),
    row("fetchToolCall", ToolKind::Fetch, Reads::Url),
    row("switchModeToolCall", ToolKind::SwitchMode, Reads::Words(&["targetModeId"])),
    row("generateImageToolCall", ToolKind::Other, Reads::Words(&["description", "filePath"])),
    row("recordScreenToolCall", ToolKind::Other, Reads::Anything),
    row("computerUseToolCall", ToolKind::Other, Reads::Anything),
    row("writeShellStdinToolCall", ToolKind::Execute, Reads::Words(&["chars"])),
    row("reflectToolCall", ToolKind::Think, Reads::Anything),
    row("setupVmEnvironmentToolCall", ToolKind::Execute, Reads::Anything),
    row("truncatedToolCall", ToolKind::Other, Reads::Anything),
    row("startGrindExecutionToolCall", ToolKind::Think, Reads::Anything),
    row("startGrindPlanningToolCall", ToolKind::Think, Reads::Anything),
    row("webFetchToolCall", ToolKind::Fetch, Reads::Url),
    row("reportBugfixResultsToolCall", ToolKind::Other, Reads::Anything),
    row("aiAttributionToolCall", ToolKind::Read, Reads::Anything),
    row("prManagementToolCall", ToolKind::Other, Reads::Anything),
    row("mcpAuthToolCall", ToolKind::Other, Reads::Mcp),
    row("awaitToolCall", ToolKind::Execute, Reads::Words(&["taskId"])),
    row("blameByFilePathToolCall", ToolKind::Read, Reads::Path),
    row("getMcpToolsToolCall", ToolKind::Read, Reads::Words(&["server", "toolName", "pattern"])),
    row("reportBugToolCall", ToolKind::Other, Reads::Anything),
    row("setActiveBranchToolCall", ToolKind::Other, Reads::Anything),
    row("communicateUpdateToolCall", ToolKind::Other, Reads::Anything),
    row("sendFinalSummaryToolCall", ToolKind::Other, Reads::Anything),
    row("updatePrCodeTourToolCall", ToolKind::Other, Reads::Anything),
    row("replaceEnvToolCall", ToolKind::Execute, Reads::Anything),
    row("editPrLabelsToolCall", ToolKind::Other, Reads::Anything),
    row("recordCiInvestigationFindingsToolCall", ToolKind::Other, Reads::Anything),
    row("sendMessageToolCall", ToolKind::Other, Reads::Anything),
    row("fetchCloudAgentDataToolCall", ToolKind::Fetch, Reads::Anything),
    row("sendToUserToolCall", ToolKind::Other, Reads::Anything),
    row("piReadToolCall", ToolKind::Read, Reads::Path),
    row("piBashToolCall", ToolKind::Execute, Reads::Command),
    row("piEditToolCall", ToolKind::Edit, Reads::Path),
    row("piWriteToolCall", ToolKind::Edit, Reads::Path),
    row("piGrepToolCall", ToolKind::Search, Reads::Query),
    row("piFindToolCall", ToolKind::Search, Reads::Files),
    row("piLsToolCall", ToolKind::Read, Reads::Path),
    row("connectScmToolCall", ToolKind::Other, Reads::Anything),
    row("searchConversationsToolCall", ToolKind::Search, Reads::Query),
    row("createGoalToolCall", ToolKind::Think, Reads::Anything),
    row("updateGoalToolCall", ToolKind::Think, Reads::Anything),
    row("adoptToolCall", ToolKind::Other, Reads::Anything),
    row("getAgentStatusToolCall", ToolKind::Read, Reads::Anything),
    row("sendToAgentToolCall", ToolKind::Other, Reads::Anything),
    row("readAgentTranscriptToolCall", ToolKind::Read, Reads::Anything),
    row("createAgentToolCall", ToolKind::Think, Reads::Agent),
    row("stopAgentToolCall", ToolKind::Other, Reads::Anything),
    row("getPrCodeTourToolCall", ToolKind::Read, Reads::Anything),
    row("writeCanvasToolCall", ToolKind::Edit, Reads::Path),
    row("readCanvasToolCall", ToolKind::Read, Reads::Path),
    // Not in the protocol of 2026; documented before.
    row("writeToolCall", ToolKind::Edit, Reads::Path),
    row("writeFileToolCall", ToolKind::Edit, Reads::Path),
    row("readFileToolCall", ToolKind::Read, Reads::Path),
    row("editFileToolCall", ToolKind::Edit, Reads::Path),
    row("todoToolCall", ToolKind::Think, Reads::Todos),
    row("read_file", ToolKind::Read, Reads::Path),
    row("write_file", ToolKind::Edit, Reads::Path),
    row("edit_file", ToolKind::Edit, Reads::Path),
    row("search_replace", ToolKind::Edit, Reads::Path),
    row("delete_file", ToolKind::Delete, Reads::Path),
    row("list_dir", ToolKind::Read, Reads::Path),
    row("run_terminal_cmd", ToolKind::Execute, Reads::Command),
    row("grep_search", ToolKind::Search, Reads::Query),
    row("file_search", ToolKind::Search, Reads::Files),
    row("codebase_search", ToolKind::Search, Reads::Query),
    row("web_search", ToolKind::Fetch, Reads::Query),
    row("todo_write", ToolKind::Think, Reads::Todos),
];

/// The row of a tool.
pub(super) fn row_of(name: &[u8]) -> Row {
    TABLE.iter().find(|row| row.name.as_bytes() == name).copied().unwrap_or_default()
}

/// The row of a tool by the name that hooks have for it, or else by that of the stream.
pub(super) fn row_by(name: &str) -> Row {
    let known = match name {
        "StrReplace" | "MultiEdit" | "EditNotebook" => "editToolCall",
        // Which files it changes stands in its text only.
        "ApplyPatch" => return row("", ToolKind::Edit, Reads::Words(&["patch", "input"])),
        "TodoWrite" => "updateTodosToolCall",
        "LS" | "List" => "lsToolCall",
        "SemanticSearch" => "semSearchToolCall",
        "TabRead" => "readToolCall",
        "TabWrite" => "writeToolCall",
        "Bash" => "shellToolCall",
        _ if name.starts_with("MCP:") => "mcpToolCall",
        _ => {
            let mut letters = name.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            let long: String = first.into_iter().chain(letters).chain("ToolCall".chars()).collect();
            let found = TABLE.iter().find(|row| row.name == long || row.name == name);
            return found.copied().unwrap_or_default();
        }
    };
    row_of(known.as_bytes())
}
