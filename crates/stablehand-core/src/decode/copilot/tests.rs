//! The decoder by table: every shape of a line, and what it becomes.

use super::super::kit::testing::*;
use super::*;
use crate::event::{ItemBody, Tool, ToolInput, Unrecognized};
use crate::id::SessionId;
use proptest::prelude::*;

fn decode(lines: &[&str]) -> Vec<EventKind> {
    super::super::kit::testing::decode::<CopilotDecoder>(lines)
}

fn of(kind: &str, data: &str) -> String {
    format!(r#"{{"type":"{kind}","data":{{{data}}},"id":"i","timestamp":"t","parentId":"p"}}"#)
}

fn piece(id: &str, text: &str) -> String {
    of("assistant.message_delta", &format!(r#""messageId":"{id}","deltaContent":{text:?}"#))
}

fn whole(id: &str, text: &str) -> String {
    let data = format!(r#""messageId":"{id}","model":"m","content":{text:?},"toolRequests":[]"#);
    of("assistant.message", &data)
}

fn start(id: &str, name: &str, arguments: &str) -> String {
    let data = format!(
        r#""toolCallId":"{id}","toolName":"{name}","arguments":{arguments},"turnId":"0","model":"m""#
    );
    of("tool.execution_start", &data)
}

fn complete(id: &str, rest: &str) -> String {
    of("tool.execution_complete", &format!(r#""toolCallId":"{id}","turnId":"0",{rest}"#))
}

fn result(code: i32) -> String {
    format!(
        r#"{{"type":"result","timestamp":"t","sessionId":"s","exitCode":{code},"usage":{{"premiumRequests":0,"sessionDurationMs":9}}}}"#
    )
}

#[test]
fn a_turn_from_prompt_to_result() {
    let events = decode(&[
        &of("session.skills_loaded", r#""skills":[]"#),
        &of("user.message", r#""content":"do it","transformedContent":"more""#),
        &of("assistant.turn_start", r#""turnId":"0""#),
        &of("model.call_start", r#""turnId":"0","model":"m""#),
        &of("assistant.message_start", r#""messageId":"a""#),
        &piece("a", "I \"r"),
        &piece("a", "un\""),
        &whole("a", "I \"run\""),
        &start("c", "bash", r#"{"command":"ls","description":"d"}"#),
        &of("tool.shell_output", r#""toolCallId":"c","stream":"stdout","text":"x\n","sequence":0"#),
        &of("tool.execution_partial_result", r#""toolCallId":"c","partialOutput":"x\n""#),
        &complete(
            "c",
            r#""shellExecution":{"exitCode":0},"success":true,"result":{"content":"x\n<shellId: 0 completed with exit code 0>"}"#,
        ),
        &of("assistant.turn_end", r#""turnId":"0""#),
        &of("assistant.idle", ""),
        &result(0),
    ]);
    assert_eq!(
        names(&events),
        [
            "turn.started",
            "item.started",
            "item.delta",
            "item.delta",
            "item.completed",
            "item.started",
            "item.delta",
            "item.completed",
            "session.started",
            "turn.ended"
        ]
    );
    assert_eq!(events[0], EventKind::TurnStarted { prompt: Some("do it".into()), by: None });
    assert_eq!(said(&events), "I \"run\"");
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.step.as_deref(), Some("0"));
    assert_eq!(tool.input, ToolInput::Command { command: "ls".into(), cwd: None });
    assert_eq!(tool.outcome, Some(Outcome::Success));
    assert_eq!(
        events[8],
        EventKind::SessionStarted {
            agent: "copilot".into(),
            agent_version: None,
            native_id: SessionId("s".into()),
            model: Some("m".into()),
            cwd: None,
            resumed_from: None,
        }
    );
    assert_eq!(
        events[9],
        EventKind::TurnEnded { end: TurnEnd::Done, text: None, usage: None, duration_ms: Some(9) }
    );
}

#[test]
fn a_text_counts_once() {
    let cases = [
        (vec![whole("a", "xy")], "xy", 1),
        (vec![piece("a", "x"), whole("a", "xy")], "xy", 1),
        (vec![piece("a", "xy"), whole("a", "xy")], "xy", 1),
        (vec![piece("a", "xy"), whole("a", "")], "xy", 1),
        (vec![piece("a", "xy"), whole("a", "x")], "xy", 1),
        (vec![piece("a", "x"), whole("a", "x"), whole("b", "x")], "xx", 2),
        (vec![piece("a", "x"), whole("a", "x"), piece("b", "x"), whole("b", "x")], "xx", 2),
    ];
    for (lines, text, items) in cases {
        let events = decode(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(said(&events), text, "{lines:?}");
        assert_eq!(bodies(&events).len(), items, "{lines:?}");
    }
    let thinking = |kind: &str, key: &str| of(kind, &format!(r#""reasoningId":"r","{key}":"hm""#));
    let events = decode(&[
        &thinking("assistant.reasoning_delta", "deltaContent"),
        &thinking("assistant.reasoning", "content"),
    ]);
    assert_eq!(bodies(&events), [&ItemBody::Reasoning { text: "hm".into() }]);
}

fn ended(rest: &str) -> Tool {
    let events = decode(&[&start("c", "bash", r#"{"command":"c"}"#), &complete("c", rest)]);
    let [tool] = tools(&events).try_into().unwrap();
    tool
}

#[test]
fn outcomes_are_told_apart() {
    let failure = |exit_code, message: Option<&str>| Outcome::Failure {
        exit_code,
        message: message.map(str::to_owned),
    };
    let cases = [
        (r#""success":true"#, Outcome::Success),
        (r#""success":true,"shellExecution":{"exitCode":3}"#, failure(Some(3), None)),
        (r#""success":false,"error":{"message":"no","code":"failure"}"#, failure(None, Some("no"))),
        (
            r#""success":false,"error":{"message":"no","code":"rejected"}"#,
            Outcome::Rejected { reason: "no".into() },
        ),
        (
            r#""success":false,"error":{"message":"no","code":"denied"}"#,
            Outcome::Denied { reason: "no".into() },
        ),
        (r#""x":1"#, Outcome::Unknown),
    ];
    for (rest, expected) in cases {
        assert_eq!(ended(rest).outcome, Some(expected), "{rest}");
    }
    // Which shell it was has no part in what it did.
    let with = |shell: u8| {
        ended(&format!(
            r#""success":true,"result":{{"content":"x\n<shellId: {shell} completed with exit code 0>"}}"#
        ))
    };
    assert_eq!(with(1).digest, with(2).digest);
}

#[test]
fn inputs_are_typed() {
    let cases = [
        (start("c", "view", r#"{"path":"/p"}"#), ToolInput::Path { path: "/p".into() }),
        (
            start("c", "task", r#"{"description":"d","prompt":"p"}"#),
            ToolInput::SubAgent { description: "d".into() },
        ),
        (
            of(
                "tool.execution_start",
                r#""toolCallId":"c","toolName":"gh-list","mcpServerName":"gh","mcpToolName":"list""#,
            ),
            ToolInput::Mcp { server: "gh".into(), tool: "list".into() },
        ),
    ];
    for (line, expected) in cases {
        let [tool] =
            tools(&decode(&[&line, &complete("c", r#""success":true"#)])).try_into().unwrap();
        assert_eq!(tool.input, expected);
    }
    let todos = start("c", "update_todo", r##"{"todos":"# Plan\n- [x] a\n- [ ] b"}"##);
    let events = decode(&[&todos, &complete("c", r#""success":true"#)]);
    assert!(matches!(bodies(&events)[1], ItemBody::Plan { todos, .. } if todos.len() == 2));
    let background = start("c", "bash", r#"{"command":"c","mode":"async"}"#);
    let EventKind::ItemStarted { item } = &decode(&[&background])[1] else {
        panic!("a call");
    };
    assert!(matches!(&item.body, ItemBody::Tool(tool) if tool.background));
}

#[test]
fn errors_and_interrupts_end_the_turn() {
    let failed = |failure, message: &str| TurnEnd::Failed { failure, message: message.into() };
    let error = |data: &str| of("session.error", data);
    let cases = [
        (
            vec![
                error(r#""errorType":"authentication","message":"x","statusCode":401"#),
                result(1),
            ],
            vec![failed(FailureKind::Auth, "x")],
        ),
        (
            vec![error(r#""errorType":"query","message":"x","statusCode":429"#), result(1)],
            vec![failed(FailureKind::RateLimit, "x")],
        ),
        (vec![result(1)], vec![failed(FailureKind::Internal, "exit code 1")]),
        (
            vec![
                of("abort", r#""reason":"user_initiated""#),
                of("assistant.idle", r#""aborted":true"#),
            ],
            vec![TurnEnd::Cancelled],
        ),
        (vec![of("assistant.idle", "")], vec![]),
    ];
    for (lines, expected) in cases {
        let events = decode(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ends(&events), expected, "{lines:?}");
    }
    let events = decode(&[
        &start("c", "bash", r#"{"command":"c"}"#),
        &of("agent.interrupted", r#""activity":"tool_call","toolCallIds":["c","x"]"#),
        &of("assistant.idle", r#""aborted":true"#),
    ]);
    let message = Some("interrupted".to_owned());
    assert_eq!(tools(&events)[0].outcome, Some(Outcome::Failure { exit_code: None, message }));
}

#[test]
fn retries_usage_and_questions_are_told() {
    let retry = of("assistant.turn_retry", r#""turnId":"0","reason":"api_error""#);
    let again = of("session.info", r#""infoType":"model_retry","message":"Retrying...""#);
    let used = of("assistant.usage", r#""inputTokens":3,"outputTokens":2,"cacheReadTokens":1"#);
    let asked = of(
        "permission.requested",
        r#""requestId":"q","permissionRequest":{"kind":"shell","fullCommandText":"ls"}"#,
    );
    let answered = of("permission.completed", r#""requestId":"q","result":{"kind":"approved"}"#);
    let events = decode(&[&retry, &again, &retry, &used, &used, &asked, &answered]);
    let tokens = |n| Tokens { input: 3 * n, output: 2 * n, cache_read: n, ..Tokens::default() };
    let retried =
        |attempt| EventKind::RetryScheduled { attempt, detail: Some("api_error".to_owned()) };
    assert_eq!(
        events,
        [
            retried(1),
            retried(2),
            EventKind::UsageUpdated { usage: Usage::Turn(tokens(1)) },
            EventKind::UsageUpdated { usage: Usage::Turn(tokens(2)) },
            EventKind::ApprovalRequested {
                id: "q".into(),
                call: None,
                what: "ls".into(),
                options: vec![],
                tool: None,
                why: None,
                waits: false,
            },
            EventKind::resolved("q".into(), "approved", "agent"),
        ]
    );
}

#[test]
fn what_is_not_known_is_said() {
    use Unrecognized as U;
    let cases: &[(&str, &[U])] = &[
        ("{\"type\":\"session.new_thing\",\"data\":{}}\n", &[U::UnknownType]),
        ("{\"type\":\"abort\",\"data\":{}}\n", &[]),
        ("{\"type\":\"new.thing\",\"data\":{}}\n", &[U::UnknownType]),
        ("{\"type\":\"tool.execution_start\",\"data\":{}}\n", &[U::BadShape]),
        ("{\"type\":\"tool.execution_complete\"}\n", &[U::BadShape]),
        ("words\n", &[U::Noise]),
        ("{\"type", &[U::Torn]),
    ];
    for (bytes, expected) in cases {
        let events = decode_bytes::<CopilotDecoder>(bytes.as_bytes(), Depth::Full);
        let why = events.iter().filter_map(|event| match event {
            EventKind::Unrecognized { why, .. } => Some(*why),
            _ => None,
        });
        assert_eq!(why.collect::<Vec<_>>(), *expected, "{bytes:?}");
    }
    let lines = [&piece("a", "x"), &result(0), &of("x", "")];
    let types = types::<CopilotDecoder>(&lines.map(String::as_str));
    assert_eq!(types, ["assistant.message_delta", "result", "x"]);
}

#[test]
fn lines_too_long_to_be_held_still_say_what_they_are() {
    let long = "x".repeat(1 << 17);
    let create = start("c", "create", &format!(r#"{{"path":"/p","file_text":"{long}"}}"#));
    let done = complete("c", &format!(r#""success":true,"result":{{"content":"{long}"}}"#));
    let events = decode(&[&create, &done, &whole("a", &long), &result(0)]);
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.headline(), "/p");
    assert_eq!(tool.outcome, Some(Outcome::Success));
    assert_eq!(tool.output, None);
    assert!(said(&events).len() > 1 << 9, "the beginning of the text");
    assert_eq!(ends(&events), [TurnEnd::Done]);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", Just("\\n\\\"é\\ud83d\\ude00".to_owned()), Just("\\ud800".to_owned())]
}

/// Lines of every known type, in no order, with shapes that hold and shapes that do not.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["bash", "update_todo", "edit", ""]);
    let kind = prop::sample::select(vec![
        "assistant.message",
        "assistant.message_delta",
        "assistant.reasoning",
        "assistant.reasoning_delta",
    ]);
    let other = prop::sample::select(vec![
        "user.message",
        "assistant.turn_end",
        "assistant.turn_retry",
        "assistant.usage",
        "assistant.idle",
        "session.start",
        "session.error",
        "session.info",
        "permission.requested",
        "permission.completed",
        "agent.interrupted",
        "model.call_start",
        "new",
    ]);
    prop_oneof![
        4 => ("[ab]", kind, word()).prop_map(|(id, kind, text)| of(kind, &format!(
            r#""messageId":"{id}","reasoningId":"{id}","deltaContent":"{text}","content":"{text}""#
        ))),
        2 => ("[a-c]?", name, word()).prop_map(|(id, name, text)| start(&id, name, &format!(
            r#"{{"command":"{text}","todos":"- [x] {text}","path":"{text}"}}"#
        ))),
        2 => ("[a-d]?", word(), -1i32..3, any::<bool>()).prop_map(|(id, text, exit, ok)| complete(&id, &format!(
            r#""success":{ok},"shellExecution":{{"exitCode":{exit}}},"result":{{"content":"{text}","detailedContent":"\n@@{text}"}}"#
        ))),
        1 => ("[a-c]", word()).prop_map(|(id, text)| of("tool.shell_output", &format!(r#""toolCallId":"{id}","text":"{text}""#))),
        3 => (other, word(), any::<bool>()).prop_map(|(kind, text, flag)| of(kind, &format!(
            r#""content":"{text}","message":"{text}","reason":"{text}","model":"{text}","sessionId":"{text}","aborted":{flag},"inputTokens":1,"toolCallIds":["a"],"statusCode":429"#
        ))),
        1 => (-1i32..2).prop_map(result),
        1 => "[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        assert_skim_is_full_without_texts::<CopilotDecoder>(&bytes);
    }

    #[test]
    fn any_lines_skim_as_they_decode(lines in prop::collection::vec(line(), 0..24)) {
        assert_skim_is_full_without_texts::<CopilotDecoder>(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_cut_of_a_line_is_survived(line in line(), at in 0usize..400, pad in 0usize..300) {
        assert_cuts_are_survived::<CopilotDecoder>(&line, at, pad);
    }
}
