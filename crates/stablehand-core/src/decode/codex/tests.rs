//! The decoders by table: every shape of a line, and what it becomes.

use super::super::kit::testing::decode_bytes;
use super::*;
use crate::event::{
    FailureKind, ItemBody, Outcome, TextRole, TodoStatus, Tokens, Tool, ToolInput, ToolKind, Usage,
};

mod app;
mod properties;

fn decode(lines: &[&str]) -> Vec<EventKind> {
    let bytes = lines.join("\n") + "\n";
    decode_bytes::<CodexDecoder>(bytes.as_bytes(), Depth::Full)
}

/// What one item becomes that `exec` tells as completed.
fn item(members: &str) -> Vec<EventKind> {
    let line = format!(r#"{{"type":"item.completed","item":{{"id":"item_0",{members}}}}}"#);
    decode(&[r#"{"type":"turn.started"}"#, &line]).split_off(1)
}

fn tool(members: &str) -> Tool {
    tools(&item(members)).remove(0)
}

fn names(events: &[EventKind]) -> Vec<&'static str> {
    events.iter().map(EventKind::name).collect()
}

fn bodies(events: &[EventKind]) -> impl Iterator<Item = &ItemBody> {
    events.iter().filter_map(|event| match event {
        EventKind::ItemCompleted { item } => Some(&item.body),
        _ => None,
    })
}

fn tools(events: &[EventKind]) -> Vec<Tool> {
    let tool = |body: &ItemBody| match body {
        ItemBody::Tool(tool) => Some((**tool).clone()),
        _ => None,
    };
    bodies(events).filter_map(tool).collect()
}

fn said_by(events: &[EventKind], wanted: TextRole) -> String {
    let piece = |event: &EventKind| match event {
        EventKind::ItemDelta { role, text, .. } if *role == wanted => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(piece).collect()
}

fn ends(events: &[EventKind]) -> Vec<TurnEnd> {
    let end = |event: &EventKind| match event {
        EventKind::TurnEnded { end, .. } => Some(end.clone()),
        _ => None,
    };
    events.iter().filter_map(end).collect()
}

const SHELL: &[&str] = &[
    r#"{"type":"thread.started","thread_id":"t-1"}"#,
    r#"{"type":"turn.started"}"#,
    r#"{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}"#,
    r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'exit 3'","aggregated_output":"","exit_code":null,"status":"in_progress"}}"#,
    r#"{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'exit 3'","aggregated_output":"oops\n","exit_code":3,"status":"failed"}}"#,
    r#"{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"It \"failed\"."}}"#,
    r#"{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":60,"cache_write_input_tokens":5,"output_tokens":7,"reasoning_output_tokens":2}}"#,
];

#[test]
fn a_turn_from_thread_to_usage() {
    let events = decode(SHELL);
    assert_eq!(
        names(&events),
        [
            "session.started",
            "turn.started",
            "item.started",
            "item.delta",
            "item.completed",
            "item.started",
            "item.completed",
            "item.started",
            "item.delta",
            "item.completed",
            "turn.ended",
        ]
    );
    let EventKind::SessionStarted { agent, native_id, .. } = &events[0] else { panic!() };
    assert_eq!((agent.as_str(), native_id.0.as_str()), ("codex", "t-1"));
    assert_eq!(said_by(&events, TextRole::Message), "It \"failed\".");
    assert_eq!(said_by(&events, TextRole::Reasoning), "hm");
    let tool = &tools(&events)[0];
    assert_eq!(tool.call.0, "item_1");
    assert_eq!(tool.name, "command_execution");
    assert_eq!(tool.input, ToolInput::Command { command: "exit 3".into(), cwd: None });
    assert_eq!(tool.outcome, Some(Outcome::Failure { exit_code: Some(3), message: None }));
    assert_eq!(tool.output.as_deref(), Some("oops\n"));
    let EventKind::TurnEnded { end: TurnEnd::Done, usage, .. } = &events[10] else { panic!() };
    // Over all runs of the thread, and cached tokens told apart.
    let tokens = Tokens {
        input: 35,
        output: 7,
        cache_read: 60,
        cache_write: 5,
        reasoning: 2,
        ..Tokens::default()
    };
    assert_eq!(*usage, Some(Usage::Total(tokens)));
}

#[test]
fn retries_and_warnings_end_nothing() {
    let events = decode(&[
        r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found."}}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"error","message":"Reconnecting... 2/5 (unexpected status 401 Unauthorized)"}"#,
        r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"ok"}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":1}}"#,
    ]);
    assert_eq!(
        bodies(&events).next(),
        Some(&ItemBody::Notice {
            level: NoticeLevel::Warning,
            text: "Model metadata not found.".into()
        })
    );
    assert_eq!(
        events[2],
        EventKind::RetryScheduled {
            attempt: 2,
            detail: Some("Reconnecting... 2/5 (unexpected status 401 Unauthorized)".into())
        }
    );
    assert_eq!(ends(&events), [TurnEnd::Done]);
}

#[test]
fn failures_have_a_kind_and_words() {
    let cases = [
        (
            "unexpected status 401 Unauthorized: invalid x-api-key (mock), url: http://h/v1",
            FailureKind::Auth,
        ),
        ("Missing environment variable: `KEY`.", FailureKind::Auth),
        ("unexpected status 404 Not Found: model not found (mock)", FailureKind::BadModel),
        ("exceeded retry limit, last status: 429 Too Many Requests", FailureKind::RateLimit),
        (
            "We’re currently experiencing high demand, which may cause temporary errors.",
            FailureKind::Overloaded,
        ),
        ("unexpected status 503 : odd", FailureKind::Overloaded),
        ("unexpected status 403 Forbidden", FailureKind::Auth),
        ("unexpected status 418 Teapot", FailureKind::BadRequest),
        (
            "stream disconnected before completion: idle timeout waiting for SSE",
            FailureKind::Network,
        ),
        ("You've hit your usage limit.", FailureKind::Quota),
        ("Your input exceeds the context window of this model.", FailureKind::ContextLength),
        ("something new", FailureKind::Internal),
    ];
    for (message, failure) in cases {
        let line = format!(r#"{{"type":"turn.failed","error":{{"message":{message:?}}}}}"#);
        let failed = TurnEnd::Failed { failure, message: message.to_owned() };
        assert_eq!(ends(&decode(&[&line])), [failed]);
    }
}

#[test]
fn a_refused_request_is_unpacked() {
    let body = |inner: &str| {
        format!(
            r#"{{"type":"turn.failed","error":{{"message":"{{\"error\": {{\"message\": \"{inner}\", \"type\": \"invalid_request_error\"}}}}"}}}}"#
        )
    };
    let cases = [
        ("bad request (mock)", FailureKind::BadRequest),
        ("Unsupported parameter", FailureKind::BadRequest),
        ("prompt is too long: 250000 tokens > 200000 maximum", FailureKind::ContextLength),
    ];
    for (inner, failure) in cases {
        let failed = TurnEnd::Failed { failure, message: inner.to_owned() };
        assert_eq!(ends(&decode(&[&body(inner)])), [failed]);
    }
    let refused = r#"{"type":"turn.failed","error":{"message":"flagged for potentially violating our usage policy"}}"#;
    assert_eq!(ends(&decode(&[refused])), [TurnEnd::Refused]);
    let cancelled = r#"{"type":"turn.failed","error":{"message":"turn interrupted"}}"#;
    assert_eq!(ends(&decode(&[cancelled])), [TurnEnd::Cancelled]);
}

#[test]
fn tools_are_told_apart() {
    let path = |path: &str| ToolInput::Path { path: path.into() };
    let cases = [
        (
            r#""type":"file_change","changes":[{"path":"/a","kind":"add"}],"status":"completed""#,
            ToolKind::Edit,
            path("/a"),
        ),
        (
            r#""type":"file_change","changes":[{"path":"/a","kind":"delete"}],"status":"completed""#,
            ToolKind::Delete,
            path("/a"),
        ),
        (
            r#""type":"mcp_tool_call","server":"s","tool":"t","arguments":{},"result":{"content":[{"type":"text","text":"x"}]},"status":"completed""#,
            ToolKind::Other,
            ToolInput::Mcp { server: "s".into(), tool: "t".into() },
        ),
        (
            r#""type":"web_search","query":"rust","action":{"type":"search","query":"rust"}"#,
            ToolKind::Fetch,
            ToolInput::Query { query: "rust".into(), path: None },
        ),
        (
            r#""type":"web_search","query":"","action":{"type":"open_page","url":"https://e.x"}"#,
            ToolKind::Fetch,
            ToolInput::Url { url: "https://e.x".into() },
        ),
        (
            r#""type":"collab_tool_call","tool":"spawn_agent","prompt":"look","status":"completed""#,
            ToolKind::Think,
            ToolInput::SubAgent { description: "look".into() },
        ),
        (
            r#""type":"dynamic_tool_call","tool":"x","arguments":{"a":1},"status":"completed""#,
            ToolKind::Other,
            ToolInput::Other { summary: r#"{"a":1}"#.into() },
        ),
    ];
    for (members, kind, input) in cases {
        let tool = tool(members);
        assert_eq!((tool.tool_kind, &tool.input), (kind, &input), "{members}");
        assert_eq!(tool.outcome, Some(Outcome::Success), "{members}");
        assert_eq!(names(&item(members)), ["item.started", "item.completed"], "{members}");
    }
}

#[test]
fn tools_end_in_all_their_ways() {
    let failure = |code, message: &str| Outcome::Failure {
        exit_code: code,
        message: (!message.is_empty()).then(|| message.to_owned()),
    };
    let command = r#""type":"command_execution","command":"x","aggregated_output":"#;
    let mcp = r#""type":"mcp_tool_call","server":"s","tool":"t","#;
    let cases = [
        (format!(r#"{command}"","exit_code":0,"status":"completed""#), Outcome::Success),
        // A command that ran and failed may be called completed.
        (format!(r#"{command}"","exit_code":1,"status":"completed""#), failure(Some(1), "")),
        (format!(r#"{command}"no sh","exit_code":null,"status":"failed""#), failure(None, "no sh")),
        (
            format!(
                r#"{command}"command timed out after 10 ms","exit_code":124,"status":"failed""#
            ),
            Outcome::TimedOut,
        ),
        (format!(r#"{command}"","exit_code":124,"status":"failed""#), failure(Some(124), "")),
        (
            format!(r#"{command}"","status":"declined""#),
            Outcome::Rejected { reason: String::new() },
        ),
        (format!(r#"{command}"","status":"in_progress""#), Outcome::Unknown),
        (format!(r#"{command}"","status":"new word""#), Outcome::Unknown),
        (
            format!(r#"{mcp}"error":{{"message":"no server"}},"status":"failed""#),
            failure(None, "no server"),
        ),
        (
            format!(r#"{mcp}"result":{{"content":[],"is_error":true}},"status":"completed""#),
            failure(None, ""),
        ),
    ];
    for (members, outcome) in cases {
        assert_eq!(tool(&members).outcome, Some(outcome), "{members}");
    }
}

#[test]
fn every_file_of_a_patch_is_told() {
    let events = item(
        r#""type":"file_change","changes":[{"path":"/a","kind":"add"},{"path":"/b","kind":"update"}],"status":"completed""#,
    );
    assert_eq!(names(&events), ["item.started", "item.completed", "item.completed"]);
    let other = ItemBody::FileChange { path: "/b".into(), diff: None };
    assert_eq!(bodies(&events).nth(1), Some(&other));
}

#[test]
fn a_list_of_things_to_do_is_told_when_it_changes() {
    let line = |phase: &str, done: bool| {
        format!(
            r#"{{"type":"item.{phase}","item":{{"id":"item_0","type":"todo_list","items":[{{"text":"a","completed":{done}}},{{"text":"b","completed":false}}]}}}}"#
        )
    };
    let lines = [
        line("started", false),
        line("updated", false),
        line("updated", true),
        line("completed", true),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let events = decode(&lines);
    let plans: Vec<Vec<TodoStatus>> = bodies(&events)
        .filter_map(|body| match body {
            ItemBody::Plan { todos, .. } => Some(todos.iter().map(|todo| todo.status).collect()),
            _ => None,
        })
        .collect();

    assert_eq!(
        plans,
        [[TodoStatus::Pending, TodoStatus::Pending], [TodoStatus::Completed, TodoStatus::Pending]]
    );
}

#[test]
fn parallel_calls_are_open_together() {
    let start = |n: u8| {
        format!(
            r#"{{"type":"item.started","item":{{"id":"item_{n}","type":"command_execution","command":"c{n}","status":"in_progress"}}}}"#
        )
    };
    let end = |n: u8| {
        format!(
            r#"{{"type":"item.completed","item":{{"id":"item_{n}","type":"command_execution","command":"c{n}","exit_code":0,"status":"completed"}}}}"#
        )
    };
    let (a, b, c, d) = (start(1), start(2), end(2), end(1));
    let events = decode(&[&a, &b, &c, &d]);
    let calls: Vec<String> = tools(&events).into_iter().map(|tool| tool.call.0).collect();
    assert_eq!(calls, ["item_2", "item_1"]);
    assert!(tools(&events).iter().all(|tool| tool.step.is_none()));
}

#[test]
fn the_same_again_has_the_same_digest() {
    let command = |id: u8, output: &str| {
        let line = format!(
            r#"{{"type":"item.completed","item":{{"id":"i{id}","type":"command_execution","command":"x","aggregated_output":"{output}","exit_code":0,"status":"completed"}}}}"#
        );
        tools(&decode(&[&line])).remove(0).digest
    };
    assert_eq!(command(1, "a"), command(2, "a"));
    assert_ne!(command(1, "a"), command(1, "b"));
}

#[test]
fn what_is_not_known_is_not_lost() {
    let cases = [
        (r#"{"type":"brand.new"}"#, Some(Unrecognized::UnknownType)),
        (r#"{"type":"item.completed"}"#, Some(Unrecognized::BadShape)),
        (r#"[1]"#, Some(Unrecognized::NotAnObject)),
        ("Reading additional input from stdin...", Some(Unrecognized::Noise)),
        // New words beside what is known.
        (r#"{"type":"turn.paused"}"#, Some(Unrecognized::UnknownType)),
        (
            r#"{"type":"item.completed","item":{"id":"i","type":"brand_new","tool":"x"}}"#,
            Some(Unrecognized::UnknownValue),
        ),
        ("", None),
    ];
    for (line, expected) in cases {
        let events = decode(&[line]);
        let why = events.iter().find_map(|event| match event {
            EventKind::Unrecognized { why, .. } => Some(*why),
            _ => None,
        });
        assert_eq!(why, expected, "{line}");
    }
    let torn = decode_bytes::<CodexDecoder>(br#"{"type":"turn.com"#, Depth::Full);
    assert!(matches!(torn[..], [EventKind::Unrecognized { why: Unrecognized::Torn, .. }]));
    let words = item(r#""type":"brand_new","text":"hello""#);
    let notice = ItemBody::Notice { level: NoticeLevel::Info, text: "hello".into() };
    assert_eq!(bodies(&words).next(), Some(&notice));
}

#[test]
fn a_line_that_is_too_long_still_closes_its_call() {
    let long = "x".repeat(200_000);
    let line = format!(
        r#"{{"type":"item.completed","item":{{"id":"item_1","type":"command_execution","command":"seq","aggregated_output":"{long}","exit_code":0,"status":"completed"}}}}"#
    );
    let start = SHELL[3];
    let bytes = format!("{start}\n{line}\n");
    let events = decode_bytes::<CodexDecoder>(bytes.as_bytes(), Depth::Full);
    let tool = &tools(&events)[0];
    assert_eq!(names(&events), ["turn.started", "item.started", "item.completed"]);
    assert_eq!(tool.call.0, "item_1");
    // How it ended stands behind the output.
    assert_eq!(tool.outcome, Some(Outcome::Unknown));
    assert!(tool.output.as_ref().is_some_and(|output| output.starts_with("xxx")));
}

#[test]
fn types_are_named_in_the_agents_words() {
    let mut decoder = CodexDecoder::default();
    let text = SHELL[4];
    let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
    decoder.line(&line, &json::scan(line.bytes), Depth::Skim, &mut Vec::new());
    assert_eq!(decoder.last_type(), "item.completed/command_execution");
}
