//! The decoder by table: every shape of a line, and what it becomes.

use super::super::kit::testing::*;
use super::*;
use crate::event::{ItemBody, Tool, ToolInput, ToolKind, Unrecognized};
use crate::id::SessionId;
use proptest::prelude::*;

fn decode(lines: &[&str]) -> Vec<EventKind> {
    super::super::kit::testing::decode::<OpenCodeDecoder>(lines)
}

const START: &str = r#"{"type":"step_start","timestamp":1,"sessionID":"s","part":{"id":"p0","messageID":"m","sessionID":"s","type":"step-start"}}"#;

fn text(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"text","timestamp":1,"sessionID":"s","part":{{"id":"{id}","messageID":"m","sessionID":"s","type":"text","text":{text:?},"time":{{"start":1,"end":2}}}}}}"#
    )
}

fn finish(reason: &str) -> String {
    format!(
        r#"{{"type":"step_finish","timestamp":1,"sessionID":"s","part":{{"id":"f","reason":"{reason}","messageID":"m","type":"step-finish","tokens":{{"total":21,"input":10,"output":5,"reasoning":1,"cache":{{"write":2,"read":3}}}},"cost":0.25}}}}"#
    )
}

fn tool_use(name: &str, id: &str, state: &str) -> String {
    format!(
        r#"{{"type":"tool_use","timestamp":1,"sessionID":"s","part":{{"type":"tool","tool":"{name}","callID":"c{id}","state":{{{state}}},"id":"p{id}","sessionID":"s","messageID":"m"}}}}"#
    )
}

fn error(name: &str, data: &str) -> String {
    format!(
        r#"{{"type":"error","timestamp":1,"sessionID":"s","error":{{"name":"{name}","data":{{{data}}}}}}}"#
    )
}

fn tool_of(name: &str, state: &str) -> Tool {
    let [tool] = tools(&decode(&[&tool_use(name, "1", state)])).try_into().unwrap();
    tool
}

#[test]
fn a_turn_of_two_steps() {
    let shell = r#""status":"completed","input":{"command":"ls","timeout":600000,"workdir":"/d"},"output":"x\n","metadata":{"output":"x\n","exit":0},"title":"ls","time":{"start":10,"end":25}"#;
    let events = decode(&[
        START,
        &text("p1", "I \"run\""),
        &tool_use("bash", "2", shell),
        &finish("tool-calls"),
        START,
        &text("p3", "done"),
        &finish("stop"),
    ]);
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
            "usage.updated",
            "item.started",
            "item.delta",
            "item.completed",
            "turn.ended"
        ]
    );
    assert_eq!(
        events[0],
        EventKind::SessionStarted {
            agent: "opencode".into(),
            agent_version: None,
            native_id: SessionId("s".into()),
            model: None,
            cwd: None,
            resumed_from: None,
        }
    );
    assert_eq!(said(&events), "I \"run\"done");
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.call.0, "c2");
    assert_eq!(tool.step.as_deref(), Some("m"));
    assert_eq!(tool.timeout_ms, Some(600_000));
    assert_eq!(tool.duration_ms, Some(15));
    assert_eq!(tool.output.as_deref(), Some("x\n"));
    assert_eq!(tool.outcome, Some(Outcome::Success));
    assert_eq!(tool.input, ToolInput::Command { command: "ls".into(), cwd: Some("/d".into()) });
    let step = Tokens {
        input: 10,
        output: 6,
        cache_read: 3,
        cache_write: 2,
        reasoning: 1,
        cost_usd: Some(0.25),
    };
    assert_eq!(events[7], EventKind::UsageUpdated { usage: Usage::Turn(step) });
    let both = Tokens {
        input: 20,
        output: 12,
        cache_read: 6,
        cache_write: 4,
        reasoning: 2,
        cost_usd: Some(0.5),
    };
    assert_eq!(
        events.last().unwrap(),
        &EventKind::TurnEnded {
            end: TurnEnd::Done,
            text: None,
            usage: Some(Usage::Turn(both)),
            duration_ms: None
        }
    );
}

#[test]
fn a_part_that_is_told_again_is_not_counted_again() {
    let tool = tool_use("read", "2", r#""status":"completed","input":{"filePath":"/p"}"#);
    let events = decode(&[&text("p1", "a"), &text("p1", "a"), &tool, &tool, &text("p3", "a")]);
    assert_eq!(said(&events), "aa");
    assert_eq!(tools(&events).len(), 1);
}

#[test]
fn steps_tell_how_a_turn_ends() {
    let failed = |failure, message: &str| TurnEnd::Failed { failure, message: message.into() };
    let cases = [
        ("stop", vec![TurnEnd::Done]),
        ("other", vec![TurnEnd::Done]),
        ("tool-calls", vec![]),
        ("unknown", vec![]),
        ("length", vec![TurnEnd::Limit]),
        ("content-filter", vec![TurnEnd::Refused]),
        ("error", vec![failed(FailureKind::Internal, "the model's answer broke off")]),
    ];
    for (reason, expected) in cases {
        assert_eq!(ends(&decode(&[START, &finish(reason)])), expected, "{reason}");
    }
    let state = r#""status":"error","input":{"filePath":"/p"},"error":"The user rejected permission to use this specific tool call.""#;
    let events = decode(&[START, &tool_use("write", "1", state), &finish("tool-calls")]);
    let reason = "The user rejected permission to use this specific tool call.";
    assert_eq!(ends(&events), [failed(FailureKind::Approval, reason)]);
    assert_eq!(tools(&events)[0].outcome, Some(Outcome::Rejected { reason: reason.into() }));
}

#[test]
fn newer_versions_say_that_they_are_done() {
    let done = r#"{"type":"done","sessionID":"s","reason":"idle","rejected":[]}"#;
    let rejected = r#"{"type":"done","sessionID":"s","reason":"idle","rejected":["edit"]}"#;
    assert_eq!(ends(&decode(&[START, &finish("stop"), done])), [TurnEnd::Done]);
    assert_eq!(ends(&decode(&[START, &finish("tool-calls"), done])), [TurnEnd::Done]);
    let message = "permission was not given: edit".to_owned();
    let failed = TurnEnd::Failed { failure: FailureKind::Approval, message };
    assert_eq!(ends(&decode(&[START, &finish("tool-calls"), rejected])), [failed]);
}

#[test]
fn errors_end_the_turn_once() {
    use FailureKind as F;
    let failed = |failure, message: &str| TurnEnd::Failed { failure, message: message.into() };
    let api = |status: u64| error("APIError", &format!(r#""message":"x","statusCode":{status}"#));
    let cases = [
        (api(400), failed(F::BadRequest, "x")),
        (api(401), failed(F::Auth, "x")),
        (api(404), failed(F::BadModel, "x")),
        (api(413), failed(F::ContextLength, "x")),
        (api(429), failed(F::RateLimit, "x")),
        (api(500), failed(F::Internal, "x")),
        (api(503), failed(F::Overloaded, "x")),
        (api(504), failed(F::Network, "x")),
        (api(402), failed(F::Quota, "x")),
        (error("ContextOverflowError", r#""message":"x""#), failed(F::ContextLength, "x")),
        (error("ProviderAuthError", r#""message":"x""#), failed(F::Auth, "x")),
        (
            error("ProviderModelNotFoundError", r#""modelID":"m""#),
            failed(F::BadModel, "ProviderModelNotFoundError"),
        ),
        (error("MessageAbortedError", r#""message":"x""#), TurnEnd::Cancelled),
        (error("MessageOutputLengthError", ""), TurnEnd::Limit),
        (error("UnknownError", r#""message":"fetch failed""#), failed(F::Network, "fetch failed")),
        (r#"{"type":"error","error":"odd"}"#.to_owned(), failed(F::Internal, "odd")),
    ];
    for (line, expected) in cases {
        let events = decode(&[&line, &line]);
        assert_eq!(ends(&events), [expected], "{line}");
        assert_eq!(names(&events).iter().filter(|name| **name == "turn.started").count(), 1);
    }
    // After an error another turn may follow, and fail alike.
    let events = decode(&[START, &api(500), START, &api(500)]);
    assert_eq!(ends(&events).len(), 2);
}

#[test]
fn a_step_that_begins_again_is_a_retry() {
    let events = decode(&[START, START, START, &finish("stop"), START]);
    let attempts: Vec<u64> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::RetryScheduled { attempt, .. } => Some(*attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [1, 2]);
}

#[test]
fn outcomes_are_told_apart() {
    let failure = |exit_code, message: Option<&str>| Outcome::Failure {
        exit_code,
        message: message.map(str::to_owned),
    };
    let bash = |exit: &str, output: &str| {
        format!(
            r#""status":"completed","input":{{"command":"c"}},"output":"{output}","metadata":{{"exit":{exit}}}"#
        )
    };
    let error = |text: &str| format!(r#""status":"error","input":{{}},"error":"{text}""#);
    let rule = "The user has specified a rule which prevents you from using this";
    let cases = [
        ("bash", bash("0", "x"), Outcome::Success),
        ("bash", bash("3", "x"), failure(Some(3), None)),
        (
            "bash",
            bash("null", "<bash_metadata>terminated command after exceeding timeout 5 ms"),
            Outcome::TimedOut,
        ),
        ("bash", bash("null", "User aborted the command"), failure(None, None)),
        ("edit", error("oldString not found"), failure(None, Some("oldString not found"))),
        ("edit", error(rule), Outcome::Denied { reason: rule.into() }),
        (
            "invalid",
            r#""status":"completed","input":{"tool":"x","error":"no such tool"}"#.to_owned(),
            failure(None, Some("no such tool")),
        ),
        ("read", r#""status":"odd""#.to_owned(), Outcome::Unknown),
    ];
    for (name, state, expected) in cases {
        assert_eq!(tool_of(name, &state).outcome, Some(expected), "{state}");
    }
}

#[test]
fn inputs_are_typed() {
    let completed = |input: &str| format!(r#""status":"completed","input":{input}"#);
    let path = |path: &str| ToolInput::Path { path: path.into() };
    let cases = [
        ("write", r#"{"content":"x","filePath":"/p"}"#, path("/p"), ToolKind::Edit),
        ("read", r#"{"filePath":"/p"}"#, path("/p"), ToolKind::Read),
        (
            "grep",
            r#"{"pattern":"x","path":"/d"}"#,
            ToolInput::Query { query: "x".into(), path: Some("/d".into()) },
            ToolKind::Search,
        ),
        (
            "webfetch",
            r#"{"url":"https://a","format":"text"}"#,
            ToolInput::Url { url: "https://a".into() },
            ToolKind::Fetch,
        ),
        (
            "task",
            r#"{"prompt":"p","description":"d","subagent_type":"general"}"#,
            ToolInput::SubAgent { description: "d".into() },
            ToolKind::Think,
        ),
        (
            "github_list_issues",
            "{}",
            ToolInput::Mcp { server: "github".into(), tool: "list_issues".into() },
            ToolKind::Other,
        ),
    ];
    for (name, input, expected, kind) in cases {
        let tool = tool_of(name, &completed(input));
        assert_eq!(tool.input, expected, "{name}");
        assert_eq!(tool.tool_kind, kind, "{name}");
    }
    let todos = completed(r#"{"todos":[{"content":"a","status":"completed"}]}"#);
    let events = decode(&[&tool_use("todowrite", "1", &todos)]);
    assert!(matches!(bodies(&events)[1], ItemBody::Plan { todos, .. } if todos.len() == 1));
    let diff =
        r#""status":"completed","input":{"filePath":"/p"},"metadata":{"diff":"@@ -1 +1 @@"}"#;
    assert_eq!(tool_of("edit", diff).diff.as_deref(), Some("@@ -1 +1 @@"));
}

#[test]
fn a_tool_that_is_told_while_it_runs_is_one_item() {
    let running = tool_use("bash", "1", r#""status":"running","input":{"command":"c"}"#);
    let done =
        tool_use("bash", "1", r#""status":"completed","input":{"command":"c"},"output":"x""#);
    let events = decode(&[&running, &done]);
    assert_eq!(
        names(&events),
        ["session.started", "turn.started", "item.started", "item.completed"]
    );
}

#[test]
fn what_is_not_understood_says_why() {
    use Unrecognized as U;
    let cases: &[(&str, &[U])] = &[
        ("hello\n", &[U::Noise]),
        ("{\"type\":\"te", &[U::Torn]),
        ("[]\n", &[U::NotAnObject]),
        ("{\"type\":\"new\"}\n", &[U::UnknownType]),
        ("{\"type\":\"text\"}\n", &[U::BadShape]),
        ("{\"type\":\"tool_use\",\"part\":{}}\n", &[U::BadShape]),
    ];
    for (bytes, expected) in cases {
        let events = decode_bytes::<OpenCodeDecoder>(bytes.as_bytes(), Depth::Full);
        let why = events.iter().filter_map(|event| match event {
            EventKind::Unrecognized { why, .. } => Some(*why),
            _ => None,
        });
        assert_eq!(why.collect::<Vec<_>>(), *expected, "{bytes:?}");
    }
}

#[test]
fn lines_too_long_to_be_held_still_say_what_they_are() {
    let long = "x".repeat(1 << 17);
    let state = format!(
        r#""status":"completed","input":{{"command":"c"}},"output":"{long}","metadata":{{}}"#
    );
    let events =
        decode(&[START, &tool_use("bash", "1", &state), &text("p2", &long), &finish("stop")]);
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.headline(), "c");
    assert_eq!(tool.outcome, Some(Outcome::Success));
    assert_eq!(tool.output, None);
    assert!(said(&events).len() > 1 << 9, "the beginning of the text");
    assert_eq!(ends(&events), [TurnEnd::Done]);
}

#[test]
fn the_last_type_is_the_agents_word() {
    let lines = [START, &text("p", "x"), &finish("stop"), &error("APIError", ""), "{}", "noise"];
    let expected = ["step_start", "text", "step_finish/stop", "error/APIError", "", ""];
    assert_eq!(types::<OpenCodeDecoder>(&lines), expected);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", Just("\\n\\\"é\\ud83d\\ude00".to_owned()), Just("\\ud800".to_owned())]
}

/// Lines of every known type, in no order, with shapes that hold and shapes that do not.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["bash", "todowrite", "a_b", "edit", "invalid", ""]);
    let status = prop::sample::select(vec!["completed", "error", "running", ""]);
    let reason = prop::sample::select(vec!["stop", "tool-calls", "length", "error", ""]);
    prop_oneof![
        2 => ("[a-c]?", word(), any::<bool>()).prop_map(|(id, text, think)| {
            let kind = if think { "reasoning" } else { "text" };
            format!(r#"{{"type":"{kind}","sessionID":"s","part":{{"id":"{id}","text":"{text}"}}}}"#)
        }),
        3 => ("[a-c]", name, status, word(), -1i32..3).prop_map(|(id, name, status, text, exit)| {
            tool_use(name, &id, &format!(
                r#""status":"{status}","input":{{"command":"{text}","todos":[{{"content":"{text}"}}],"timeout":5,"error":"{text}"}},"output":"{text}","error":"{text}","metadata":{{"exit":{exit},"diff":"{text}"}},"time":{{"start":1,"end":2}}"#
            ))
        }),
        2 => Just(START.to_owned()),
        1 => reason.prop_map(finish),
        1 => word().prop_map(|text| error(&text, &format!(r#""message":"{text}""#))),
        1 => word().prop_map(|text| format!(r#"{{"type":"done","rejected":["{text}"]}}"#)),
        1 => "[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        assert_skim_is_full_without_texts::<OpenCodeDecoder>(&bytes);
    }

    #[test]
    fn any_lines_skim_as_they_decode(lines in prop::collection::vec(line(), 0..24)) {
        assert_skim_is_full_without_texts::<OpenCodeDecoder>(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_cut_of_a_line_is_survived(line in line(), at in 0usize..500, pad in 0usize..300) {
        assert_cuts_are_survived::<OpenCodeDecoder>(&line, at, pad);
    }
}
