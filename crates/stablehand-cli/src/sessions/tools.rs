//! The tool calls of a log, as a table for people and as objects for programs.

use super::story::{Did, Entry, Story, What};
use crate::env::Env;
use crate::failure::Failure;
use crate::manage::{self, Look, Paint, Table};
use serde::Serialize;
use stablehand_core::event::{Outcome, ToolInput, ToolKind};
use stablehand_core::id::{CallId, RunId};
use stablehand_core::text::excerpt;
use stablehand_core::time::{human, millis};

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
pub(super) fn print(story: &Story, json: bool, env: &Env) -> Result<u8, Failure> {
    let calls: Vec<(&Entry, &Did)> = story
        .entries
        .iter()
        .filter_map(|entry| match &entry.what {
            What::Did(did) => Some((entry, &**did)),
            _ => None,
        })
        .collect();
    if json {
        let calls: Vec<Row<'_>> = calls.into_iter().map(|(entry, did)| call(entry, did)).collect();
        let text = serde_json::to_string_pretty(&calls)
            .map_err(|error| Failure::new(format!("failed to write the calls: {error}")))?;
        return manage::print(&(text + "\n"));
    }
    if calls.is_empty() {
        return manage::print("no tool was used\n");
    }
    let mut table = Table::headed(&["START", "TOOL", "WHAT", "TOOK", "OUTCOME"]);
    for (entry, did) in calls {
        table.row(row(entry, did));
    }
    manage::print(&table.render(Paint::new(env), 0))
}

fn call<'a>(entry: &'a Entry, did: &'a Did) -> Row<'a> {
    Row {
        run: did.run.as_ref(),
        call: &did.tool.call,
        at: entry.at.rfc3339(),
        ended_at: did.over.map(stablehand_core::UnixMillis::rfc3339),
        duration_ms: entry.took().map(millis),
        tool: &did.tool.name,
        tool_kind: did.tool.tool_kind,
        input: &did.tool.input,
        background: did.tool.background,
        outcome: did.tool.outcome.as_ref().filter(|_| did.over.is_some()),
    }
}

fn row(entry: &Entry, did: &Did) -> Vec<(String, Look)> {
    let at = entry.at.rfc3339();
    let (text, look) = outcome(did);
    vec![
        (at.get(11..19).unwrap_or(&at).to_owned(), Look::Dim),
        (excerpt(did.tool.name.as_bytes(), NAME), Look::Plain),
        (excerpt(did.tool.headline().as_bytes(), WHAT), Look::Plain),
        (entry.took().map(human).unwrap_or_default(), Look::Plain),
        (text, look),
    ]
}

/// What became of a call, in a few words.
pub(super) fn outcome(did: &Did) -> (String, Look) {
    let with = |word: &str, why: &str| match why.trim() {
        "" => word.to_owned(),
        why => format!("{word}: {}", excerpt(why.as_bytes(), 120)),
    };
    let found = did.tool.outcome.as_ref().filter(|_| did.over.is_some());
    let text = match found {
        None => return ("never ended".to_owned(), Look::Warn),
        Some(Outcome::Success) if did.tool.background => {
            return ("in the background".to_owned(), Look::Good);
        }
        Some(Outcome::Success) => return ("ok".to_owned(), Look::Good),
        Some(Outcome::Failure { exit_code: Some(code), .. }) => format!("exit {code}"),
        Some(Outcome::Failure { message, .. }) => with("failed", message.as_deref().unwrap_or("")),
        Some(Outcome::Rejected { reason }) => with("rejected", reason),
        Some(Outcome::Denied { reason }) => with("denied", reason),
        Some(Outcome::TimedOut) => "timed out".to_owned(),
        Some(Outcome::SpawnError { message }) => with("not started", message),
        Some(_) => return ("unknown".to_owned(), Look::Warn),
    };
    (text, Look::Bad)
}
