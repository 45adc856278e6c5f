//! Answers as JSON objects for programs: sessions and numbers. Names here are kept.

use super::{Figures, Group, Session, Spent, Stats, ToolFigures};
use serde::Serialize;
use serde_json::{Map, Value, json};
use stablehand_core::event::Tokens;
use stablehand_core::time::{UnixMillis, as_rfc3339};
use std::borrow::Cow;

/// A session as an object.
#[derive(Debug, Serialize)]
pub struct SessionObject<'a> {
    id: &'a str,
    short_id: &'a str,
    session: Option<&'a str>,
    agent: &'a str,
    agent_version: Option<&'a str>,
    model: Option<&'a str>,
    workspace: Option<&'a str>,
    title: Option<&'a str>,
    source: &'a str,
    #[serde(with = "as_rfc3339")]
    started_at: UnixMillis,
    #[serde(with = "as_rfc3339")]
    last_at: UnixMillis,
    outcome: Option<&'a str>,
    ended_by: Option<&'a str>,
    failure: Option<&'a str>,
    verdict: Option<&'a str>,
    note: Option<&'a str>,
    runs: usize,
    run_ids: &'a [String],
    #[serde(flatten)]
    spent: Spent,
    tokens: Option<Tokens>,
    cost_usd: Option<f64>,
    logs: Vec<Cow<'a, str>>,
}

impl<'a> SessionObject<'a> {
    /// A session, with the id that is enough to name it, and how it ended or stands.
    pub fn new(session: &'a Session, short_id: &'a str, outcome: Option<&'a str>) -> Self {
        SessionObject {
            id: &session.chat,
            short_id,
            session: session.session.as_deref(),
            agent: &session.agent,
            agent_version: session.agent_version.as_deref(),
            model: session.model.as_deref(),
            workspace: session.workspace.as_deref(),
            title: session.title.as_deref(),
            source: &session.source,
            started_at: session.started,
            last_at: session.last,
            outcome,
            ended_by: session.ended_by.as_deref(),
            failure: session.failure.as_deref(),
            verdict: session.verdict.as_deref(),
            note: session.note.as_deref(),
            runs: session.runs.len(),
            run_ids: &session.runs,
            spent: session.spent,
            tokens: session.spent.tokens.map(|tokens| Tokens { cost_usd: None, ..tokens }),
            cost_usd: session.spent.tokens.and_then(|tokens| tokens.cost_usd),
            logs: session.logs.iter().map(|log| log.to_string_lossy()).collect(),
        }
    }
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
