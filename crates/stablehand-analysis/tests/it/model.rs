//! The kinds of events that the analyses were written for.
//!
//! The enums of the event model may grow, and the analyses are in another crate: the compiler does not
//! name the places that a new kind has to be added to. This does.

use serde_json::Value;
use std::path::Path;

/// Where the analyses tell kinds apart.
const PLACES: &str = "consider it in `chronicle/fold.rs`, `timeline/fold/told.rs`, `timeline/words.rs`, \
    `post_mortem/facts/events.rs`, `post_mortem/words.rs` and `post_mortem/causes/`, then add it here";

/// The enums that they tell apart, each with its kinds.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "EventKind",
        &[
            "session.started",
            "turn.started",
            "turn.result",
            "turn.ended",
            "turn.continued",
            "item.started",
            "item.delta",
            "item.completed",
            "approval.requested",
            "approval.resolved",
            "usage.updated",
            "retry.scheduled",
            "connection.changed",
            "process.spawned",
            "process.stderr",
            "process.exited",
            "health.changed",
            "hook.received",
            "unrecognized",
            "run.ended",
            "session.ended",
        ],
    ),
    (
        "Item",
        &[
            "message",
            "reasoning",
            "tool",
            "plan",
            "file_change",
            "sub_agent",
            "background_task",
            "notice",
        ],
    ),
    (
        "Outcome",
        &["success", "failure", "rejected", "denied", "timed_out", "spawn_error", "unknown"],
    ),
    (
        "FailureKind",
        &[
            "auth",
            "rate_limit",
            "quota",
            "overloaded",
            "context_length",
            "network",
            "bad_model",
            "bad_request",
            "approval",
            "tool",
            "internal",
            "no_result",
            "not_started",
        ],
    ),
    ("ToolClass", &["execute", "mcp", "sub_agent", "local", "fetch", "other"]),
    (
        "VerdictKind",
        &[
            "startup",
            "first_response",
            "idle",
            "idle_after_text",
            "idle_after_tool",
            "tool",
            "no_progress",
            "livelock",
            "wall_clock",
            "turns",
            "tool_calls",
            "tokens",
            "cost",
            "blocked",
            "background",
        ],
    ),
];

#[expect(clippy::disallowed_methods, reason = "the analyses do no I/O; their tests read documents")]
fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/event.schema.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The word of one kind: a constant, or that of its tag.
fn word(kind: &Value) -> Option<&str> {
    let tagged = |tag: &str| kind["properties"][tag]["const"].as_str();
    kind["const"].as_str().or_else(|| tagged("type")).or_else(|| tagged("kind"))
}

#[test]
fn every_kind_of_the_event_model_was_considered() {
    let schema = schema();
    for (name, known) in KNOWN {
        let kinds = schema["$defs"][name]["oneOf"].as_array().unwrap();
        let kinds: Vec<&str> = kinds.iter().filter_map(word).collect();
        assert_eq!(kinds, *known, "{name} has changed: {PLACES}");
    }
}
