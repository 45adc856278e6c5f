//! The decoder by table: every shape of a line, and what it becomes.

use super::super::kit::testing::{decode_bytes, names};
use super::*;
use crate::event::{Outcome, Tool, ToolInput, ToolKind};

mod asides;
mod calls;
mod properties;
mod turns;

fn decode<S: AsRef<str>>(lines: &[S]) -> Vec<EventKind> {
    let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
    decode_bytes::<ClaudeDecoder>((lines.join("\n") + "\n").as_bytes(), Depth::Full)
}

fn said(events: &[EventKind], wanted: TextRole) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            EventKind::ItemDelta { role, text, .. } if *role == wanted => Some(text.as_str()),
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

fn messages(events: &[EventKind]) -> Vec<String> {
    bodies(events)
        .filter_map(|body| match body {
            ItemBody::Message { text } => Some(text.clone()),
            _ => None,
        })
        .collect()
}

fn tools(events: &[EventKind]) -> Vec<Tool> {
    bodies(events)
        .filter_map(|body| match body {
            ItemBody::Tool(tool) => Some((**tool).clone()),
            _ => None,
        })
        .collect()
}

fn notices(events: &[EventKind]) -> Vec<String> {
    bodies(events)
        .filter_map(|body| match body {
            ItemBody::Notice { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect()
}

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"s","model":"m","claude_code_version":"2.1.0"}"#;

/// A block of an `assistant` line.
fn assistant(id: &str, block: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"{id}","role":"assistant","content":[{block}],"stop_reason":null}},"parent_tool_use_id":null,"session_id":"s"}}"#
    )
}
fn whole(id: &str, text: &str) -> String {
    assistant(id, &format!(r#"{{"type":"text","text":{text:?}}}"#))
}
fn tool_use(call: &str, name: &str, input: &str) -> String {
    let block = format!(r#"{{"type":"tool_use","id":"{call}","name":"{name}","input":{input}}}"#);
    assistant("m1", &block)
}
/// A `user` line with one result, and what stands beside it.
fn tool_result(call: &str, result: &str, beside: &str) -> String {
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result",{result}}}]}},"session_id":"s"{beside}}}"#
    )
}
fn stream(event: &str) -> String {
    format!(
        r#"{{"type":"stream_event","event":{event},"session_id":"s","parent_tool_use_id":null}}"#
    )
}
fn piece(index: u64, text: &str) -> String {
    stream(&format!(
        r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":{text:?}}}}}"#
    ))
}
fn start(id: &str) -> String {
    stream(&format!(r#"{{"type":"message_start","message":{{"id":"{id}"}}}}"#))
}
fn stop(index: u64) -> String {
    stream(&format!(r#"{{"type":"content_block_stop","index":{index}}}"#))
}
fn message_stop() -> String {
    stream(r#"{"type":"message_stop"}"#)
}
const RETRY: &str = r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":500,"error_status":529,"error":"overloaded","session_id":"s"}"#;

#[test]
fn text_is_told_once_whatever_the_form() {
    let retry = RETRY.to_owned();
    let cases: &[(&str, Vec<String>, &[&str])] = &[
        ("whole messages", vec![whole("1", "a"), whole("2", "a")], &["a", "a"]),
        (
            "the whole before the end of the block",
            vec![start("1"), piece(0, "a"), piece(0, "b"), whole("1", "ab"), stop(0)],
            &["ab"],
        ),
        (
            "the whole after the end of the block",
            vec![start("1"), piece(0, "ab"), stop(0), whole("1", "ab"), message_stop()],
            &["ab"],
        ),
        (
            "the whole after the end of the message",
            vec![start("1"), piece(0, "ab"), stop(0), message_stop(), whole("1", "ab")],
            &["ab"],
        ),
        (
            "two blocks, one whole",
            vec![
                start("1"),
                piece(0, "a"),
                stop(0),
                piece(1, "b"),
                stop(1),
                message_stop(),
                assistant("1", r#"{"type":"text","text":"a"},{"type":"text","text":"b"}"#),
            ],
            &["a", "b"],
        ),
        ("no whole at all", vec![start("1"), piece(0, "a"), stop(0), message_stop()], &["a"]),
        (
            "no wholes, the same text again",
            vec![
                start("1"),
                piece(0, "a"),
                message_stop(),
                start("2"),
                piece(0, "a"),
                message_stop(),
            ],
            &["a", "a"],
        ),
        ("a whole that knows more", vec![start("1"), piece(0, "a"), whole("1", "abc")], &["abc"]),
        (
            "repeated pieces",
            vec![start("1"), piece(0, "a"), piece(0, "a"), whole("1", "aa")],
            &["aa"],
        ),
        ("a whole with other space", vec![start("1"), piece(0, "\na"), whole("1", "a")], &["\na"]),
        (
            "streamed again after a retry",
            vec![
                start("1"),
                piece(0, "Hel"),
                piece(0, "lo"),
                retry.clone(),
                start("2"),
                piece(0, "Hello"),
                piece(0, " you"),
                whole("2", "Hello you"),
            ],
            &["Hello you"],
        ),
        (
            "whole after a retry",
            vec![start("1"), piece(0, "Hel"), retry.clone(), whole("2", "Hello")],
            &["Hello"],
        ),
        (
            "another answer after a retry",
            vec![
                start("1"),
                piece(0, "Hello wor"),
                retry.clone(),
                start("2"),
                piece(0, "Hello"),
                piece(0, " you"),
                whole("2", "Hello you"),
            ],
            &["Hello wor", "Hello you"],
        ),
        (
            "text that was broken off",
            vec![
                start("1"),
                piece(0, "abc"),
                whole("1", "ab").replace(r#""session_id""#, r#""aborted":true,"session_id""#),
            ],
            &["abc"],
        ),
        ("empty", vec![whole("1", "")], &[]),
    ];
    for (name, lines, expected) in cases {
        let events = decode(lines);
        assert_eq!(messages(&events), *expected, "{name}");
        assert_eq!(said(&events, TextRole::Message), expected.concat(), "{name}");
    }
}

#[test]
fn thinking_is_reasoning_and_streams_too() {
    let thinking = assistant("1", r#"{"type":"thinking","thinking":"hmm","signature":"x"}"#);
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#;
    let streamed = [start("1"), stream(delta), thinking.clone(), stop(0)];
    for lines in [&streamed[..], &[thinking]] {
        let events = decode(lines);
        assert_eq!(said(&events, TextRole::Reasoning), "hmm");
        assert_eq!(
            bodies(&events).collect::<Vec<_>>(),
            [&ItemBody::Reasoning { text: "hmm".into() }]
        );
    }
    let redacted = assistant("1", r#"{"type":"redacted_thinking","data":"x"}"#);
    assert_eq!(names(&decode(&[redacted])), ["session.started", "turn.started"]);
}

#[test]
fn what_a_sub_agent_says_is_output_of_its_call() {
    let inner = whole("2", "found it").replace(r#"_id":null"#, r#"_id":"t""#);
    let task = r#"{"type":"user","message":{"content":"look"},"parent_tool_use_id":"t"}"#;
    let events = decode(&[
        tool_use("t", "Task", r#"{"description":"look","prompt":"look for it"}"#),
        task.to_owned(),
        tool_use("i", "Grep", r#"{"pattern":"x"}"#).replace(r#"_id":null"#, r#"_id":"t""#),
        tool_result("i", r#""content":"a:1""#, r#","parent_tool_use_id":"t""#),
        inner,
        tool_result("t", r#""content":[{"type":"text","text":"found it"}]"#, ""),
    ]);
    assert!(messages(&events).is_empty());
    assert_eq!(said(&events, TextRole::ToolOutput), "found it");
    let [grep, task] = tools(&events).try_into().unwrap();
    assert_eq!(grep.output.as_deref(), Some("a:1"));
    assert_eq!(task.input, ToolInput::SubAgent { description: "look".into() });
    assert_eq!(task.output.as_deref(), Some("found it"));
}

#[test]
fn what_is_not_understood_says_why() {
    use Unrecognized as U;
    let cases: &[(&str, &[U])] = &[
        ("\n", &[]),
        ("hello\n", &[U::Noise]),
        ("{\"type\":\"res", &[U::Torn]),
        ("{\"type\":\"res\n", &[U::Noise]),
        ("12\n", &[U::NotAnObject]),
        ("{}\n", &[U::UnknownType]),
        ("{\"type\":\"new\"}\n", &[U::UnknownType]),
        ("{\"type\":\"assistant\"}\n", &[U::BadShape]),
        ("{\"type\":\"user\"}\n", &[U::BadShape]),
        // New members of a known family, and new words in known lines.
        ("{\"type\":\"system\",\"subtype\":\"new\"}\n", &[U::UnknownValue]),
        ("{\"type\":\"stream_event\",\"event\":{\"type\":\"new\"}}\n", &[U::UnknownValue]),
        (
            "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"new\"}]}}\n",
            &[U::UnknownValue],
        ),
        ("{\"type\":\"tool_progress\",\"tool_use_id\":\"t\"}\n", &[]),
        ("{\"type\":\"keep_alive\"}\n", &[]),
    ];
    for (bytes, expected) in cases {
        let why: Vec<U> = decode_bytes::<ClaudeDecoder>(bytes.as_bytes(), Depth::Full)
            .iter()
            .filter_map(|event| match event {
                EventKind::Unrecognized { why, .. } => Some(*why),
                _ => None,
            })
            .collect();
        assert_eq!(why, *expected, "{bytes:?}");
    }
}

#[test]
fn lines_too_long_to_be_held_still_say_what_they_are() {
    let long = "x".repeat(1 << 17);
    let events = decode(&[
        tool_use("t", "Write", &format!(r#"{{"file_path":"/p","content":"{long}"}}"#)),
        tool_result("t", &format!(r#""content":"{long}""#), ""),
        whole("2", &long),
        format!(
            r#"{{"duration_ms":5,"is_error":false,"num_turns":1,"subtype":"success","result":"{long}","type":"result"}}"#
        ),
        format!(r#"{{"type":"new","x":"{long}"}}"#),
    ]);
    assert_eq!(
        names(&events),
        [
            "turn.started",
            "item.started",
            "item.completed",
            "item.started",
            "item.delta",
            "item.completed",
            "turn.ended",
            "unrecognized"
        ]
    );
    let [write] = tools(&events).try_into().unwrap();
    assert_eq!((write.name.as_str(), write.headline()), ("Write", "/p"));
    assert_eq!(write.outcome, Some(Outcome::Success));
    assert_eq!(write.step.as_deref(), Some("m1"));
    assert!(said(&events, TextRole::Message).len() > 1 << 9, "the beginning of the text");
    assert!(matches!(&events[6], EventKind::TurnEnded { end: TurnEnd::Done, .. }));
}

#[test]
fn the_last_type_is_the_agents_word() {
    let mut decoder = ClaudeDecoder::default();
    let cases = [
        (INIT, "system/init"),
        (&piece(0, "a"), "stream_event/content_block_delta"),
        (&whole("1", "a"), "assistant"),
        (RETRY, "system/api_retry"),
        (
            r#"{"type":"control_request","request":{"subtype":"can_use_tool"}}"#,
            "control_request/can_use_tool",
        ),
        (r#"{"is_error":false,"subtype":"success","type":"result"}"#, "result/success"),
        (r#"{"type":"x","subtype":"y"}"#, "x/y"),
        ("noise", ""),
    ];
    for (text, expected) in cases {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        decoder.line(&line, &json::scan(line.bytes), Depth::Skim, &mut Vec::new());
        assert_eq!(decoder.last_type(), expected);
    }
}
