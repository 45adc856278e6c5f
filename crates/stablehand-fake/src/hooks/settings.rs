//! Hooks as Claude Code's and Gemini CLI's settings have them: events, each with groups of hooks.
//!
//! Owns that form and nothing of its meaning: which events there are, what a matcher is and what a
//! timeout counts is each agent's own.

use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// One command of the settings.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The file, or where else it came from.
    pub(super) source: PathBuf,
    /// As it is written there.
    pub(super) event: String,
    /// The expression, where there is one.
    pub(super) matcher: String,
    /// What is run.
    pub(super) command: String,
    /// Its name, where it has one.
    pub(super) name: String,
    /// In the unit of the agent.
    pub(super) timeout: Option<f64>,
    /// Whether its group runs one after the other.
    pub(super) sequential: bool,
}

/// A settings file as an object; nothing where it is missing or none.
pub(super) fn read(path: &Path) -> Option<Map<String, Value>> {
    parse(&std::fs::read_to_string(path).ok()?)
}

/// Settings as an object.
pub(super) fn parse(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// The commands in the settings, in their order. What is no command, or incomplete, is left out.
pub(super) fn entries(settings: &Map<String, Value>, source: &Path) -> Vec<Entry> {
    let mut entries = Vec::new();
    let Some(events) = settings.get("hooks").and_then(Value::as_object) else {
        return entries;
    };
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            let hooks = group.get("hooks").and_then(Value::as_array);
            for hook in hooks.into_iter().flatten() {
                let text = |name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default();
                if text("type") != "command" || text("command").is_empty() {
                    continue;
                }
                let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or_default();
                let sequential = group.get("sequential").and_then(Value::as_bool);
                entries.push(Entry {
                    source: source.to_owned(),
                    event: event.clone(),
                    matcher: matcher.to_owned(),
                    command: text("command").to_owned(),
                    name: text("name").to_owned(),
                    timeout: hook.get("timeout").and_then(Value::as_f64).filter(|time| *time > 0.0),
                    sequential: sequential.unwrap_or(false),
                });
            }
        }
    }
    entries
}
