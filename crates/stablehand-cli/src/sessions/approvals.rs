//! What was asked and decided, as a table for people and as objects for programs.

use crate::env::Env;
use crate::failure::Failure;
use crate::output::{self, Look, Paint, Table};
use stablehand_analysis::ledger::{Entry, Settled};
use stablehand_core::text::excerpt;
use stablehand_core::time::human;
use std::time::Duration;

/// The most that a command or path takes of a line.
const TARGET: usize = 48;

/// The most that who decided takes of a line.
const BY: usize = 60;

/// Prints the entries.
pub(super) fn print(entries: &[Entry], json: bool, env: &Env) -> Result<u8, Failure> {
    if json {
        return output::print_json(&entries);
    }
    if entries.is_empty() {
        return output::print("nothing was asked or decided\n");
    }
    let mut table = Table::headed(&["TIME", "TOOL", "WHAT", "", "BY", "WAITED", "REASON"]);
    for entry in entries {
        table.row(row(entry));
    }
    output::print(&table.render(Paint::new(env), 0))
}

fn row(entry: &Entry) -> Vec<(String, Look)> {
    let plain = |text: String| (text, Look::Plain);
    // The day and the fractions are in the objects.
    let time = entry.time.get(11..19).unwrap_or(&entry.time).to_owned();
    let what = entry.target.as_ref().or(entry.what.as_ref()).cloned().unwrap_or_default();
    let how = if entry.asked { "asked, " } else { "" };
    let (word, look) = match entry.outcome {
        Settled::Allowed => ("allowed", Look::Good),
        Settled::Denied => ("denied", Look::Bad),
        Settled::Chosen => (entry.choice.as_deref().unwrap_or_default(), Look::Plain),
        Settled::Unanswered => ("unanswered", Look::Warn),
    };
    let waited = match entry.waited_ms {
        Some(ms) if entry.asked => human(Duration::from_millis(ms)),
        _ => String::new(),
    };
    let reason = entry.message.as_ref().or(entry.reason.as_ref()).cloned().unwrap_or_default();
    let reason = match &entry.rule_written {
        Some(rule) => format!("always: {}:{}", rule.file, rule.line),
        None => reason,
    };
    vec![
        plain(time),
        plain(excerpt(entry.tool.clone().unwrap_or_default().as_bytes(), TARGET)),
        plain(excerpt(what.as_bytes(), TARGET)),
        (format!("{how}{word}"), look),
        plain(excerpt(entry.by.clone().unwrap_or_default().as_bytes(), BY)),
        plain(waited),
        (reason, Look::Dim),
    ]
}
