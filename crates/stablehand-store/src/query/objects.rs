//! Answers as JSON objects for programs: sessions and numbers. Names here are kept.

use super::{Figures, Group, Session, Stats, ToolFigures};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use stablehand_core::event::Tokens;
use stablehand_core::time::UnixMillis;
use std::path::{Path, PathBuf};

/// A session as an object.
#[derive(Debug, Serialize)]
pub struct SessionObject<'a> {
    short_id: &'a str,
    #[serde(flatten)]
    session: &'a Session,
    outcome: Option<&'a str>,
    runs: usize,
    tokens: Option<Tokens>,
    cost_usd: Option<f64>,
}

impl<'a> SessionObject<'a> {
    /// A session, with the id that is enough to name it, and how it ended or stands.
    pub fn new(session: &'a Session, short_id: &'a str, outcome: Option<&'a str>) -> Self {
        SessionObject {
            short_id,
            session,
            outcome,
            runs: session.runs.len(),
            tokens: session.spent.tokens.map(|tokens| Tokens { cost_usd: None, ..tokens }),
            cost_usd: session.spent.tokens.and_then(|tokens| tokens.cost_usd),
        }
    }
}

/// Writes a path that may be no text.
pub(crate) fn lossy_path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// Writes paths that may be no text.
pub(super) fn lossy_paths<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

impl Stats {
    /// Returns all numbers as one object: `total`, `days`, `agents`, `models`, `workspaces`, `tools`.
    pub fn object(&self) -> Map<String, Value> {
        let groups = |groups: &[Group], key: &str| {
            let one = |group: &Group| {
                let mut object = figures(&group.figures);
                object.insert(key.to_owned(), json!(group.name));
                Value::Object(object)
            };
            groups.iter().map(one).collect::<Value>()
        };
        let members = [
            ("first_at", json!(self.first.map(UnixMillis::rfc3339))),
            ("last_at", json!(self.last.map(UnixMillis::rfc3339))),
            ("total", Value::Object(figures(&self.all))),
            ("days", groups(&self.days, "day")),
            ("agents", groups(&self.agents, "agent")),
            ("models", groups(&self.models, "model")),
            ("workspaces", groups(&self.workspaces, "workspace")),
            ("tools", self.tools.iter().map(tool).collect()),
        ];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn figures(it: &Figures) -> Map<String, Value> {
    let tokens = it.spent.tokens.map(|tokens| Tokens { cost_usd: None, ..tokens });
    let value = json!({
        "runs": it.runs,
        "sessions": it.sessions,
        "outcomes": it.outcomes,
        "without_end": it.runs - it.ended().min(it.runs),
        "success_rate": it.success_rate(),
        "hung": it.hung(),
        "hang_rate": it.hang_rate(),
        "verdicts": it.verdicts.all,
        "verdicts_observed_only": it.verdicts.observed_only,
        "false_alarms": it.verdicts.false_alarms,
        "false_alarm_rate": it.verdicts.false_alarm_rate(),
        "turns": it.spent.turns,
        "tools": it.spent.tools,
        "tools_failed": it.spent.tools_failed,
        "questions": it.spent.questions,
        "retries": it.spent.retries,
        "duration_ms": it.spent.duration_ms,
        "model_ms": it.spent.model_ms,
        "tool_ms": it.spent.tool_ms,
        "wait_ms": it.spent.wait_ms,
        "tokens": tokens,
        "cost_usd": it.spent.tokens.and_then(|tokens| tokens.cost_usd),
    });
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn tool(it: &ToolFigures) -> Value {
    json!({
        "tool": it.name,
        "kind": it.kind,
        "calls": it.calls,
        "ended": it.ended,
        "failed": it.failed,
        "failure_rate": it.failure_rate(),
        "total_ms": it.times.total_ms,
        "median_ms": it.times.median_ms,
        "p95_ms": it.times.p95_ms,
        "longest_ms": it.times.longest_ms,
    })
}
