//! The decoder by table: every shape of a line, and what it becomes.

use super::super::kit::testing::{decode_bytes, names};
use super::*;
use crate::event::{Outcome, Tool, ToolInput};

mod calls;
mod properties;

fn decode(lines: &[&str]) -> Vec<EventKind> {
    decode_bytes::<CursorDecoder>((lines.join("\n") + "\n").as_bytes(), Depth::Full)
}

fn said(events: &[EventKind]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            EventKind::ItemDelta { role: TextRole::Message, text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn messages(events: &[EventKind]) -> Vec<String> {
    bodies(events)
        .filter_map(|body| match body {
            ItemBody::Message { text } => Some(text.clone()),
            _ => None,
        })
        .collect()
}

fn bodies(events: &[EventKind]) -> impl Iterator<Item = &ItemBody> {
    events.iter().filter_map(|event| match event {
        EventKind::ItemCompleted { item } => Some(&item.body),
        _ => None,
    })
}

fn tools(events: &[EventKind]) -> Vec<Tool> {
    bodies(events)
        .filter_map(|body| match body {
            ItemBody::Tool(tool) => Some((**tool).clone()),
            _ => None,
        })
        .collect()
}

/// An `assistant` line: a piece, a flush before a tool, or a flush at the end.
fn piece(text: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":{text:?}}}]}},"session_id":"s","timestamp_ms":1}}"#
    )
}
fn flush(text: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":{text:?}}}]}},"session_id":"s","model_call_id":"r-0-abcd","timestamp_ms":1}}"#
    )
}
fn last(text: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":{text:?}}}]}},"session_id":"s"}}"#
    )
}
const RETRY: &str = r#"{"type":"retry","subtype":"resuming","session_id":"s","checkpoint_turn_count":1,"attempt":1}"#;
const START: &str = r#"{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"readToolCall":{"args":{"path":"/p"}}},"model_call_id":"r-0-abcd","session_id":"s"}"#;

#[test]
fn a_turn_from_init_to_result() {
    let events = decode(&[
        r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/w","session_id":"s","model":"Auto","permissionMode":"default"}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"do \"it\""}]},"session_id":"s"}"#,
        r#"{"type":"thinking","subtype":"delta","text":"hm","session_id":"s","timestamp_ms":1}"#,
        r#"{"type":"thinking","subtype":"delta","text":"m","session_id":"s","timestamp_ms":2}"#,
        r#"{"type":"thinking","subtype":"completed","session_id":"s","timestamp_ms":3}"#,
        &last("ok"),
        r#"{"type":"result","subtype":"success","duration_ms":5,"is_error":false,"result":"ok","session_id":"s","usage":{"inputTokens":"7","outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":0}}"#,
    ]);
    assert_eq!(
        names(&events),
        [
            "session.started",
            "turn.started",
            "item.started",
            "item.delta",
            "item.delta",
            "item.completed",
            "item.started",
            "item.delta",
            "item.completed",
            "turn.ended"
        ]
    );
    assert_eq!(
        events[0],
        EventKind::SessionStarted {
            agent: "cursor".into(),
            agent_version: None,
            native_id: SessionId("s".into()),
            model: Some("Auto".into()),
            cwd: Some("/w".into()),
            resumed_from: None,
        }
    );
    assert_eq!(events[1], EventKind::TurnStarted { prompt: Some("do \"it\"".into()), by: None });
    assert_eq!(
        events[5],
        EventKind::ItemCompleted {
            item: Item {
                id: crate::id::ItemId(1),
                body: ItemBody::Reasoning { text: "hmm".into() }
            }
        }
    );
    assert_eq!(
        events[9],
        EventKind::TurnEnded {
            end: TurnEnd::Done,
            text: Some("ok".into()),
            usage: Some(Usage::Turn(Tokens {
                input: 7,
                output: 2,
                cache_read: 3,
                ..Tokens::default()
            })),
            duration_ms: Some(5),
        }
    );
}

#[test]
fn text_is_told_once_whatever_the_form() {
    let cases: &[(&str, Vec<String>, &[&str])] = &[
        ("pieces and flush", vec![piece("a"), piece("b"), last("ab")], &["ab"]),
        ("whole messages", vec![flush("a"), last("a")], &["a", "a"]),
        ("pieces without flush", vec![piece("a"), piece("b")], &["ab"]),
        (
            "flush before a tool",
            vec![piece("a"), flush("a"), START.into(), piece("b"), last("b")],
            &["a", "b"],
        ),
        ("no flush before a tool", vec![piece("a"), START.into(), piece("b")], &["a", "b"]),
        ("a late flush", vec![piece("a"), START.into(), flush("a"), piece("b")], &["a", "b"]),
        (
            "one flush for two messages",
            vec![piece("a"), START.into(), piece("b"), last("ab")],
            &["a", "b"],
        ),
        ("a flush that knows more", vec![piece("a"), last("abc")], &["abc"]),
        ("repeated pieces", vec![piece("a"), piece("a"), last("aa")], &["aa"]),
        ("a flush with other space", vec![piece("\n"), piece("a"), last("a")], &["\na"]),
        ("other text", vec![piece("a"), last("x")], &["a", "x"]),
        (
            "a replay after a retry",
            vec![
                piece("Hel"),
                piece("lo"),
                RETRY.into(),
                piece("Hello"),
                piece(" you"),
                last("Hello you"),
            ],
            &["Hello you"],
        ),
        (
            "a replay in larger pieces",
            vec![piece("Hel"), RETRY.into(), piece("Hello"), last("Hello")],
            &["Hello"],
        ),
        (
            "a retry that goes on",
            vec![piece("Hel"), RETRY.into(), piece("lo"), last("Hello")],
            &["Hello"],
        ),
        (
            "a retry whose flush has only the rest",
            vec![piece("Hel"), RETRY.into(), piece("lo"), last("lo")],
            &["Hello"],
        ),
        (
            "a retry with another answer",
            vec![
                piece("Hello wor"),
                RETRY.into(),
                piece("Hello"),
                piece(" you"),
                last("Hello you"),
            ],
            &["Hello wor", "Hello you"],
        ),
        (
            "a retry after the flush",
            vec![
                piece("a"),
                flush("a"),
                RETRY.into(),
                piece("a"),
                flush("a"),
                piece("b"),
                last("b"),
            ],
            &["a", "b"],
        ),
        (
            "a whole message again",
            vec![flush("a"), RETRY.into(), flush("a"), last("b")],
            &["a", "b"],
        ),
        ("a retry and a shorter message", vec![flush("ab"), RETRY.into(), last("b")], &["ab", "b"]),
        ("empty", vec![last("")], &[]),
    ];
    for (name, lines, expected) in cases {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let events = decode(&lines);
        assert_eq!(messages(&events), *expected, "{name}");
        assert_eq!(said(&events), expected.concat(), "{name}");
    }
}

#[test]
fn content_may_be_a_string_or_many_parts() {
    let events = decode(&[
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a\u00e9"},{"type":"image"},{"type":"text","text":"b"}]}}"#,
        r#"{"type":"assistant","message":{"content":"c"}}"#,
        r#"{"type":"assistant","message":"d"}"#,
        r#"{"type":"text","text":"e"}"#,
    ]);
    assert_eq!(messages(&events), ["aéb", "c", "d", "e"]);
}

#[test]
fn questions_are_asked_and_answered() {
    let events = decode(&[
        r##"{"type":"interaction_query","subtype":"request","query_type":"createPlanRequestQuery","query":{"id":0,"createPlanRequestQuery":{"args":{"plan":"# P","todos":[{"content":"t","status":"TODO_STATUS_IN_PROGRESS"}],"name":"n"}}}}"##,
        r#"{"type":"interaction_query","subtype":"response","query_type":"createPlanRequestQuery","response":{"id":0,"createPlanRequestResponse":{"result":{"planUri":"","success":{}}}}}"#,
        r##"{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{"createPlanToolCall":{"args":{"plan":"# P","name":"n"},"result":{"success":{}}}}}"##,
        r#"{"type":"interaction_query","subtype":"request","query_type":"webFetchRequestQuery","query":{"id":9,"webFetchRequestQuery":{"args":{"url":"http://x"}}}}"#,
        r#"{"type":"interaction_query","subtype":"response","response":{"id":9,"webFetchRequestResponse":{"rejected":{"reason":""}}}}"#,
        r#"{"type":"interaction_query","subtype":"request","query":{"id":1,"askQuestionInteractionQuery":{"args":{"title":"T","questions":[{"prompt":"P?","options":[{"id":"a","label":"A"},{"id":"b"}]}]}}}}"#,
    ]);
    let asked: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::ApprovalRequested { id, what, options, .. } => {
                Some(format!("{id} {what} {options:?}"))
            }
            EventKind::ApprovalResolved { id, choice, by } => Some(format!("{id} {choice} {by}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        asked,
        [
            "0 accept the plan n [\"approved\", \"rejected\"]",
            "0 success agent",
            "9 fetch http://x [\"approved\", \"rejected\"]",
            "9 rejected agent",
            "1 T\nP? [\"A\", \"b\"]",
        ]
    );
    let plans: Vec<_> =
        bodies(&events).filter(|body| matches!(body, ItemBody::Plan { .. })).collect();
    assert_eq!(
        plans,
        [&ItemBody::Plan {
            todos: vec![crate::event::Todo {
                text: "t".into(),
                status: crate::event::TodoStatus::InProgress
            }],
            text: Some("# P".into())
        }],
        "told once"
    );
}

#[test]
fn turns_end_as_the_result_says() {
    let failed = |failure, message: &str| TurnEnd::Failed { failure, message: message.into() };
    let cases = [
        (r#"{"type":"result","subtype":"success","is_error":false}"#, TurnEnd::Done),
        (
            r#"{"type":"result","subtype":"success","is_error":true,"result":"You hit your usage limit"}"#,
            failed(FailureKind::Quota, "You hit your usage limit"),
        ),
        (
            r#"{"type":"result","subtype":"error","is_error":false,"error":{"message":"fetch failed"}}"#,
            failed(FailureKind::Network, "fetch failed"),
        ),
        (r#"{"type":"result","subtype":"error"}"#, failed(FailureKind::Internal, "error")),
        (
            r#"{"type":"result.error","message":"Authentication required"}"#,
            failed(FailureKind::Auth, "Authentication required"),
        ),
        (r#"{"type":"result","subtype":"cancelled"}"#, TurnEnd::Cancelled),
    ];
    for (line, expected) in cases {
        let events = decode(&[line]);
        let [EventKind::TurnEnded { end, .. }] = events.as_slice() else {
            panic!("{line}: {events:?}");
        };
        assert_eq!(*end, expected, "{line}");
    }
}

#[test]
fn envelopes_and_prefixes_are_seen_through() {
    let inner = last("x");
    let bare = decode(&[&inner]);
    let wrapped = [
        format!(r#"{{"type":"event","payload":{inner}}}"#),
        format!(r#"{{"event":"assistant","payload":{inner}}}"#),
        format!(r#"{{"id":"1","timestamp":"t","type":"assistant","payload":{inner}}}"#),
        r#"{"type":"assistant","session_id":"s","payload":{"message":{"content":"x"}}}"#.to_owned(),
        format!("stdout: {inner}"),
        format!("STDERR= {inner}"),
        format!("stdout {inner}"),
        format!("  {inner} \r"),
    ];
    for line in wrapped {
        assert_eq!(decode(&[&line]), bare, "{line}");
    }
}

#[test]
fn what_is_not_understood_says_why() {
    use Unrecognized as U;
    let cases: &[(&str, &[U])] = &[
        ("\n", &[]),
        (" \t\r\n", &[]),
        ("hello\n", &[U::Noise]),
        ("hello", &[U::Noise]),
        ("{\"type\":\"res", &[U::Torn]),
        ("{\"type\":\"res\n", &[U::Noise]),
        ("12\n", &[U::NotAnObject]),
        ("[]\n", &[U::NotAnObject]),
        ("{}\n", &[U::UnknownType]),
        ("{\"type\":\"new\"}\n", &[U::UnknownType]),
        ("{\"type\":\"system\",\"subtype\":\"new\"}\n", &[U::UnknownType]),
        ("{\"type\":\"tool_call\",\"subtype\":\"started\"}\n", &[U::BadShape]),
        ("{\"type\":\"tool_call\",\"subtype\":\"progress\"}\n", &[U::UnknownType]),
    ];
    for (bytes, expected) in cases {
        let why: Vec<U> = decode_bytes::<CursorDecoder>(bytes.as_bytes(), Depth::Full)
            .iter()
            .filter_map(|event| match event {
                EventKind::Unrecognized { why, .. } => Some(*why),
                _ => None,
            })
            .collect();
        assert_eq!(why, *expected, "{bytes:?}");
    }
    let events = decode(&["\u{1b}[31mError: Authentication required\u{1b}[0m"]);
    assert_eq!(names(&events), ["unrecognized", "item.completed"]);
    assert_eq!(
        bodies(&events).next(),
        Some(&ItemBody::Notice {
            level: NoticeLevel::Error,
            text: "Error: Authentication required".into()
        })
    );
}

#[test]
fn lines_too_long_to_be_held_still_say_what_they_are() {
    let long = "x".repeat(1 << 17);
    let done = |lines: &[String]| decode(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let events = done(&[
        START.into(),
        format!(
            r#"{{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{{"readToolCall":{{"args":{{"path":"/p"}},"result":{{"success":{{"content":"{long}"}}}}}}}}}}"#
        ),
        format!(
            r#"{{"type":"tool_call","subtype":"started","call_id":"d","tool_call":{{"editToolCall":{{"args":{{"path":"/q","streamContent":"{long}"}}}}}}}}"#
        ),
        last(&long),
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"{long}","session_id":"s"}}"#
        ),
    ]);
    assert_eq!(
        names(&events),
        [
            "session.started",
            "turn.started",
            "item.started",
            "item.completed",
            "item.started",
            "item.started",
            "item.delta",
            "item.completed",
            "turn.ended"
        ]
    );
    let [read] = tools(&events).try_into().unwrap();
    assert_eq!(read.outcome, Some(Outcome::Success));
    assert_eq!(read.output, None);
    assert_eq!(read.input, ToolInput::Path { path: "/p".into() });
    let EventKind::ItemStarted { item } = &events[4] else {
        panic!("{:?}", events[4]);
    };
    let ItemBody::Tool(edit) = &item.body else {
        panic!("{item:?}");
    };
    assert_eq!(edit.name, "editToolCall");
    assert_eq!(edit.headline(), "/q");
    assert!(said(&events).len() > 1 << 15, "the beginning of the text");
    let odd = done(&[format!(r#"{{"type":"new","x":"{long}"}}"#), long]);
    assert_eq!(names(&odd), ["unrecognized", "unrecognized"]);
}

#[test]
fn the_last_type_is_the_agents_word() {
    let mut decoder = CursorDecoder::default();
    let cases = [
        (r#"{"type":"thinking","subtype":"delta","text":"x"}"#, "thinking/delta"),
        (START, "tool_call/started"),
        (r#"{"type":"assistant","message":{}}"#, "assistant"),
        (r#"{"type":"result","subtype":"success"}"#, "result/success"),
        (RETRY, "retry/resuming"),
        (r#"{"type":"x","subtype":"y"}"#, "x/y"),
        ("noise", ""),
    ];
    for (text, expected) in cases {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        decoder.line(&line, &json::scan(line.bytes), Depth::Skim, &mut Vec::new());
        assert_eq!(decoder.last_type(), expected);
    }
}

#[test]
fn sessions_are_named_once_and_again_when_they_change() {
    let line =
        |id: &str| format!(r#"{{"type":"thinking","subtype":"completed","session_id":"{id}"}}"#);
    let events = decode(&[&line("a"), &line("a"), &line(r"..\/x\n"), &line("")]);
    let ids: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::SessionStarted { native_id, .. } => Some(native_id.0.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["a", "../x\n"]);
}

#[test]
fn the_quick_way_says_what_the_general_way_says() {
    // A leading space is no part of the usual form.
    let init = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    let texts = ["a", "\"", "\\", "", "x\"}]},\"session_id\":\"s\",\"timestamp_ms\":1", "é\n"];
    for text in texts {
        let text = serde_json::to_string(text).unwrap();
        let thinking = format!(
            r#"{{"type":"thinking","subtype":"delta","text":{text},"session_id":"s","timestamp_ms":1}}"#
        );
        let message = format!(
            r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":{text}}}]}},"session_id":"s","timestamp_ms":1}}"#
        );
        // The end of the message is where the session follows, not where a text looks like it.
        let ended = |end: &str| message.replace("}]},\"s", &format!("{end},\"s"));
        for line in [
            thinking.replace("\"s\"", "\"t\""),
            thinking.replace("\"timestamp_ms\":1", "\"type\":\"user\""),
            message.replace("\"timestamp_ms\":1", "\"timestamp_ms\":null"),
            message.replace("\"timestamp_ms\":1", "\"model_call_id\":\"m\""),
            ended("},{\"type\":\"text\",\"text\":\"more\"}]}"),
            ended(",\"text\":\"again\"}]}"),
            ended("}],\"content\":[{\"text\":\"again\"}]}"),
            thinking,
            message,
        ] {
            let slow = format!(" {line}");
            assert_eq!(decode(&[init, &line]), decode(&[init, &slow]), "{line}");
        }
    }
}
