//! The tool calls of a log, as a table for people and as objects for programs.

use crate::env::Env;
use crate::failure::Failure;
use crate::output::{self, Look, Paint, Table};
use serde::Serialize;
use stablehand_analysis::history::{History, HistoryEntry, ToolUse};
use stablehand_core::event::{Outcome, ToolInput, ToolKind};
use stablehand_core::id::{CallId, RunId};
use stablehand_core::text::excerpt;
use stablehand_core::time::{UnixMillis, human, millis};

/// The most that a command or path takes of a line.
const WHAT: usize = 60;

/// The most that a tool's name takes.
const NAME: usize = 24;

/// One call, for programs.
#[derive(Debug, Serialize)]
struct Row<'a> {
    run: Option<&'a RunId>,
    call: &'a CallId,
    /// When it began.
    at: String,
    /// When it was over.
    ended_at: Option<String>,
    duration_ms: Option<u64>,
    tool: &'a str,
    tool_kind: ToolKind,
    input: &'a ToolInput,
    background: bool,
    outcome: Option<&'a Outcome>,
}

/// Prints the calls.
pub(super) fn print(history: &History, json: bool, env: &Env) -> Result<u8, Failure> {
    if json {
        return output::print_json(&history.tools().map(call).collect::<Vec<_>>());
    }
    if history.tools().next().is_none() {
        return output::print("no tool was used\n");
    }
    let mut table = Table::headed(&["START", "TOOL", "WHAT", "TOOK", "OUTCOME"]);
    for (entry, used) in history.tools() {
        table.row(row(entry, used));
    }
    output::print(&table.render(Paint::new(env), 0))
}

fn call<'a>((entry, used): (&'a HistoryEntry, &'a ToolUse)) -> Row<'a> {
    Row {
        run: used.run.as_ref(),
        call: &used.tool.call,
        at: entry.at.rfc3339(),
        ended_at: used.ended.map(UnixMillis::rfc3339),
        duration_ms: entry.took().map(millis),
        tool: &used.tool.name,
        tool_kind: used.tool.tool_kind,
        input: &used.tool.input,
        background: used.tool.background,
        outcome: used.outcome(),
    }
}

fn row(entry: &HistoryEntry, used: &ToolUse) -> Vec<(String, Look)> {
    let (text, tone) = used.describe_outcome();
    vec![
        (entry.at.time_of_day(), Look::Dim),
        (excerpt(used.tool.name.as_bytes(), NAME), Look::Plain),
        (excerpt(used.tool.headline().as_bytes(), WHAT), Look::Plain),
        (entry.took().map(human).unwrap_or_default(), Look::Plain),
        (text, tone.into()),
    ]
}
