//! What Markdown and HTML say in the same words: names of things, times, figures, cuts.

use super::DocumentHead;
use crate::history::{History, HistoryEntry, HistoryItem};
use stablehand_core::event::{EndedBy, SessionEnd, TodoStatus, Tokens, TurnEnd};
use stablehand_core::id::RunId;
use stablehand_core::text::plain;
use stablehand_core::time::{UnixMillis, human};
use std::time::Duration;

/// So much of one output or diff is in a document; the log has all of it.
const MOST: usize = 64 << 10;

/// So many lines of it.
const MOST_LINES: usize = 400;

/// What the document is called.
pub(super) fn title(head: &DocumentHead) -> String {
    let agent = head.agent.as_deref().unwrap_or("An agent");
    match &head.title {
        Some(title) => format!("{agent}: {title}"),
        None => format!("{agent}, a run"),
    }
}

/// A text without control sequences, cut where it is very long, and what is missing.
pub(super) fn cut(text: &str) -> (String, Option<String>) {
    let text = plain(text);
    let mut kept = String::new();
    for line in text.split_inclusive('\n').take(MOST_LINES) {
        if kept.len() + line.len() > MOST {
            break;
        }
        kept.push_str(line);
    }
    if kept.is_empty() {
        // One line that is longer than everything that is shown.
        kept = text.chars().take(MOST / 4).collect();
    }
    let left = text.len() - kept.len();
    let missing = (left > 0).then(|| format!("… {left} more bytes are left out here"));
    (kept, missing)
}

/// How a run began, in short and in full.
pub(super) fn start(run: &RunId, argv: &[String]) -> (&'static str, String) {
    match argv {
        // Nobody saw it.
        [] => ("which one it was", run.0.clone()),
        _ => ("how it was started", format!("{}\n{}", run.0, argv.join(" "))),
    }
}

/// How a run ended.
pub(super) fn end(end: SessionEnd, by: EndedBy) -> String {
    let how = match end {
        SessionEnd::Success => "success",
        SessionEnd::AgentError => "the agent reported an error",
        SessionEnd::NoResult => "the agent ended without a result",
        SessionEnd::Truncated => "the agent ended in the middle of a line",
        SessionEnd::Hung => "it hung and was stopped",
        SessionEnd::LimitReached => "a limit was reached",
        SessionEnd::Interrupted => "interrupted",
        SessionEnd::ReaderGone => "whoever read it went away",
        SessionEnd::SpawnFailed => "it could not be started",
        SessionEnd::Internal => "Stablehand itself failed",
    };
    let who = match by {
        EndedBy::Agent => "by itself",
        EndedBy::Supervisor => "by a verdict",
        EndedBy::Person => "by a person",
    };
    format!("{how}, ended {who}")
}

/// How a turn ended, and what it took.
pub(super) fn turn(end: &TurnEnd, usage: Option<&Tokens>, duration_ms: Option<u64>) -> String {
    let mut text = how(end);
    if let Some(ms) = duration_ms {
        text = format!("{text} after {}", human(Duration::from_millis(ms)));
    }
    match usage {
        Some(usage) => format!("{text}, {}", tokens(usage)),
        None => text,
    }
}

fn how(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Done => "done".to_owned(),
        TurnEnd::Refused => "the model refused".to_owned(),
        TurnEnd::Limit => "a limit of the agent's own was reached".to_owned(),
        TurnEnd::Cancelled => "cancelled".to_owned(),
        TurnEnd::Failed { message, .. } => format!("failed: {}", plain(message).trim()),
        TurnEnd::Stopped { message, .. } => format!("stopped: {}", plain(message).trim()),
    }
}

/// Tokens, in a few words.
fn tokens(tokens: &Tokens) -> String {
    let Tokens { input, output, cache_read, cache_write, .. } = *tokens;
    let mut text = format!("{input} tokens in, {output} out");
    if cache_read + cache_write > 0 {
        text = format!("{text}, {} cached", cache_read + cache_write);
    }
    if let Some(cost) = tokens.cost_usd {
        text = format!("{text}, ${cost:.4}");
    }
    text
}

/// How an entry of a plan is marked.
pub(super) fn mark(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "to do",
        TodoStatus::InProgress => "in work",
        TodoStatus::Completed => "done",
        TodoStatus::Cancelled => "given up",
        TodoStatus::Unknown => "unknown",
    }
}

/// What was decided.
pub(super) fn answer(answer: Option<&(String, String)>) -> String {
    match answer {
        None => "never answered".to_owned(),
        Some((choice, by)) => {
            let what = match choice.as_str() {
                "allow" | "allow_always" | "allow_with" => "allowed",
                "deny" => "denied",
                other => other,
            };
            format!("{} by {}", plain(what), plain(by))
        }
    }
}

/// The name of a tool with what it was used on.
pub(super) fn call(entry: &HistoryEntry) -> Option<(String, String, String)> {
    let HistoryItem::Tool(used) = &entry.item else { return None };
    let one_line = |text: &str| {
        let text = plain(text);
        let mut lines = text.trim().lines();
        let first: String = lines.next().unwrap_or_default().chars().take(160).collect();
        if lines.next().is_some() || text.chars().count() > 160 { first + " …" } else { first }
    };
    let (mut outcome, _) = used.describe_outcome();
    if let Some(took) = entry.took() {
        outcome = format!("{outcome}, {}", human(took));
    }
    Some((one_line(&used.tool.name), one_line(used.tool.headline()), outcome))
}

/// What the head of a document tells, name and value.
pub(super) fn facts(head: &DocumentHead, history: &History) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut put = |name, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name, value)));
    };
    put("Agent", head.agent.clone());
    put("Model", head.model.clone());
    put("Workspace", head.workspace.clone());
    put("Session", head.session.as_deref().map(plain));
    put("Began", head.began.map(UnixMillis::readable));
    let is_run = |entry: &&HistoryEntry| matches!(entry.item, HistoryItem::RunStarted { .. });
    let runs = history.entries().iter().filter(is_run).count();
    put("Runs", (runs > 1).then(|| runs.to_string()));
    let tools = history.tools().count();
    put("Tool calls", (tools > 0).then(|| tools.to_string()));
    put("Ended", Some(plain(&head.ended)));
    facts
}
