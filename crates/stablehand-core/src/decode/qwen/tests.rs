//! The differences, each by one line.

use super::*;
use crate::decode::{Decode, Depth};
use crate::event::{EventKind, FailureKind, ItemBody, Outcome, TurnEnd};
use crate::json;
use crate::line::{Line, Part};

fn decode(lines: &[&str]) -> Vec<EventKind> {
    let mut decoder = decoder();
    let mut out = Vec::new();
    for text in lines {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        decoder.line(&line, &json::scan(line.bytes), Depth::Full, &mut out);
    }
    decoder.finish(Depth::Full, &mut out);
    out
}

#[test]
fn its_session_says_who_it_is() {
    let events = decode(&[
        r#"{"type":"system","subtype":"init","session_id":"s","cwd":"/w","model":"m","qwen_code_version":"0.24.4"}"#,
        r#"{"type":"stream_event","session_id":"s","event":{"type":"goal_state","goal_state":{}}}"#,
    ]);
    let [EventKind::SessionStarted { agent, agent_version, .. }, EventKind::TurnStarted { .. }] =
        events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!((agent.as_str(), agent_version.as_deref()), ("qwen", Some("0.24.4")));
}

#[test]
fn commands_end_with_the_code_in_their_list_of_facts() {
    let facts = |output: &str, code: &str| {
        format!(
            r"Command: x\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {code}\nSignal: (none)"
        )
    };
    let cases = [
        ("hi".to_owned(), false, None),
        ("Exit Code: 4".to_owned(), false, None),
        (facts("o", "0"), false, None),
        (facts("o", "3"), true, Some(3)),
        (facts("o", "1"), false, Some(1)),
        (facts(r"Exit Code: 9", "2"), true, Some(2)),
    ];
    for (content, is_error, expected) in cases {
        let events = decode(&[
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"run_shell_command","input":{"command":"x","directory":"d"}}]}}"#,
            &format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","is_error":{is_error},"content":"{content}"}}]}}}}"#
            ),
        ]);
        let Some(EventKind::ItemCompleted { item }) = events.last() else { panic!("{events:?}") };
        let ItemBody::Tool(tool) = &item.body else { panic!("{item:?}") };
        let code = match &tool.outcome {
            Some(Outcome::Failure { exit_code, .. }) => *exit_code,
            Some(Outcome::Success) => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(code, expected, "{content}");
        assert_eq!(tool.tool_kind, ToolKind::Execute);
    }
}

#[test]
fn failures_that_look_like_the_models_words_are_not() {
    let events = decode(&[
        r#"{"type":"system","subtype":"retry","data":{"reason":"retry"}}"#,
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"[API Error: 401 bad key]"}]}}"#,
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 401 bad key]"}}"#,
    ]);
    let names: Vec<_> = events.iter().map(EventKind::name).collect();
    assert_eq!(names, ["turn.started", "retry.scheduled", "item.completed", "turn.ended"]);
    let message = "[API Error: 401 bad key]".to_owned();
    let expected = TurnEnd::Failed { failure: FailureKind::Auth, message };
    let Some(EventKind::TurnEnded { end, .. }) = events.last() else { panic!("{events:?}") };
    assert_eq!(*end, expected);
}
