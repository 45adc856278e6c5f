//! The numbers for programs. Names here are kept.

use super::super::when::Clock;
use super::By;
use serde_json::{Map, Value, json};
use stablehand_core::event::Tokens;
use stablehand_core::time::UnixMillis;
use stablehand_store::query::{Figures, Group, Stats, ToolFigures};

/// All numbers, or those of one table.
pub(super) fn all(stats: &Stats, clock: &Clock, by: Option<By>) -> Value {
    let groups = |groups: &[Group], key: &str| {
        let one = |group: &Group| {
            let mut object = figures(&group.figures);
            object.insert(key.to_owned(), json!(group.name));
            Value::Object(object)
        };
        groups.iter().map(one).collect::<Vec<_>>()
    };
    let mut object = Map::new();
    object.insert("time_zone".into(), json!(clock.zone()));
    object.insert("first_at".into(), json!(stats.first.map(UnixMillis::rfc3339)));
    object.insert("last_at".into(), json!(stats.last.map(UnixMillis::rfc3339)));
    object.insert("total".into(), Value::Object(figures(&stats.all)));
    let tables = [
        (By::Day, "days", groups(&stats.days, "day")),
        (By::Agent, "agents", groups(&stats.agents, "agent")),
        (By::Model, "models", groups(&stats.models, "model")),
        (By::Workspace, "workspaces", groups(&stats.workspaces, "workspace")),
        (By::Tool, "tools", stats.tools.iter().map(tool).collect()),
    ];
    for (what, name, rows) in tables {
        if by.is_none_or(|by| by == what) {
            object.insert(name.into(), Value::Array(rows));
        }
    }
    Value::Object(object)
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
