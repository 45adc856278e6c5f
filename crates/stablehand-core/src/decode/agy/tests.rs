//! The decoder by table: every shape of a line, and what it becomes.

use super::super::kit::testing::*;
use super::*;
use crate::event::{ItemBody, Tool, ToolInput};
use crate::id::SessionId;
use proptest::prelude::*;

const INIT: &str = r#"{"event":"init","conversation_id":"C","init":{"cwd":"/w","tools":["run_command"],"permission_mode":"request-review","model":"M"}}"#;
const USER: &str = r#"{"event":"step_update","step_update":{"conversation_id":"C","step_index":0,"state":"DONE","step_type":"user_input"}}"#;

fn decode(lines: &[&str]) -> Vec<EventKind> {
    super::super::kit::testing::decode::<AgyDecoder>(lines)
}

fn all(lines: &[String]) -> Vec<EventKind> {
    decode(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn step(index: u64, state: &str, kind: &str, more: &str) -> String {
    format!(
        r#"{{"event":"step_update","step_update":{{"conversation_id":"C","step_index":{index},"state":"{state}","step_type":"{kind}"{more}}}}}"#
    )
}

fn text(index: u64, state: &str, text: &str) -> String {
    step(index, state, "agent_response", &format!(r#","text_delta":"{text}""#))
}

fn tool(index: u64, state: &str, name: &str, parameters: &str, more: &str) -> String {
    let info = format!(
        r#","tool_name":"{name}","tool_info":{{"name":"{name}","parameters":{parameters}{more}}}"#
    );
    step(index, state, "tool", &info)
}

fn result(status: &str, response: &str, more: &str) -> String {
    format!(
        r#"{{"event":"result","result":{{"conversation_id":"C","status":"{status}","response":"{response}","duration_seconds":1.5,"num_turns":1,"usage":{{"input_tokens":10,"output_tokens":2,"thinking_tokens":1,"cache_read_tokens":4}}{more}}}}}"#
    )
}

/// Each step as a flat line.
fn flat(line: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
    let event = value["event"].as_str().unwrap().to_owned();
    let inner = value.as_object_mut().unwrap().remove(&event).unwrap();
    value.as_object_mut().unwrap().extend(inner.as_object().unwrap().clone());
    value.to_string()
}

const MAKE: &str = r#"{"CommandLine":"make","Cwd":"/w"}"#;
const DENIED: &str = r#","denied_actions":[{"action":"command","display_name":"RunCommand"}]"#;

fn failed(failure: FailureKind, message: &str) -> TurnEnd {
    TurnEnd::Failed { failure, message: message.into() }
}

#[test]
fn a_turn_from_init_to_result_also_of_flat_lines() {
    let lines = [
        INIT.to_owned(),
        USER.to_owned(),
        text(1, "ACTIVE", "Oats "),
        text(1, "DONE", "and hay."),
        tool(2, "ACTIVE", "run_command", MAKE, ""),
        tool(2, "DONE", "run_command", MAKE, r#","output":"hi\r\n""#),
        text(3, "DONE", "Done."),
        result("SUCCESS", "Done.", ""),
    ];
    let events = all(&lines);
    assert_eq!(
        events[0],
        EventKind::SessionStarted {
            agent: "agy".into(),
            agent_version: None,
            native_id: SessionId("C".into()),
            model: Some("M".into()),
            cwd: Some("/w".into()),
            resumed_from: None,
        }
    );
    let message = |text: &str| ItemBody::Message { text: text.into() };
    assert_eq!(bodies(&events)[0], &message("Oats and hay."));
    assert_eq!(bodies(&events)[2], &message("Done."));
    let [made] = tools(&events).try_into().unwrap();
    assert_eq!(made.call.0, "C:2");
    let input = ToolInput::Command { command: "make".into(), cwd: Some("/w".into()) };
    assert_eq!((made.input, made.outcome), (input, Some(Outcome::Success)));
    assert_eq!(made.output.as_deref(), Some("hi\r\n"));
    let tokens = Tokens { input: 10, output: 2, reasoning: 1, cache_read: 4, ..Tokens::default() };
    assert_eq!(
        events.last().unwrap(),
        &EventKind::TurnEnded {
            end: TurnEnd::Done,
            text: None,
            usage: Some(Usage::Turn(tokens)),
            duration_ms: Some(1500),
        }
    );
    let flat: Vec<String> = lines.iter().map(|line| flat(line)).collect();
    assert_eq!(all(&flat), events);
}

#[test]
fn ends_are_told_apart() {
    let begun = [USER.to_owned(), text(1, "DONE", "Hay.")];
    let running = [&begun[..], &[tool(2, "ACTIVE", "run_command", MAKE, "")]].concat();
    let viewing = [&begun[..], &[tool(2, "ACTIVE", "view_file", "{}", "")]].concat();
    let troubled = [&begun[..], &[step(2, "DONE", "error_message", "")]].concat();
    let silent = [USER.to_owned()];
    let still = "the turn ended while a command of `run_command` was still running";
    let empty = "the agent gave an empty answer";
    let cases: [(&[String], String, TurnEnd); 16] = [
        (&begun, result("SUCCESS", "Hay.", ""), TurnEnd::Done),
        (&viewing, result("SUCCESS", "Hay.", ""), TurnEnd::Done),
        (&silent, result("SUCCESS", "Hay.", ""), TurnEnd::Done),
        (
            &begun,
            result("SUCCESS", "Hay.", DENIED),
            failed(FailureKind::Approval, "not permitted: RunCommand"),
        ),
        (
            &troubled,
            result("SUCCESS", "Hay.", ""),
            failed(FailureKind::Internal, "a step of the turn reports an error"),
        ),
        (&begun, result("SUCCESS", "", ""), failed(FailureKind::NoResult, empty)),
        (&silent, result("SUCCESS", "", ""), failed(FailureKind::NoResult, empty)),
        (&running, result("SUCCESS", "Hay.", ""), failed(FailureKind::Tool, still)),
        (
            &begun,
            result("ERROR", "", r#","error":"unknown model: pony""#),
            failed(FailureKind::BadModel, "unknown model: pony"),
        ),
        (
            &begun,
            result("ERROR", "", r#","error":{"message":"odd"}"#),
            failed(FailureKind::Internal, "odd"),
        ),
        (&running, result("CANCELED", "", ""), TurnEnd::Cancelled),
        (&begun, result("INTERRUPTED", "", ""), TurnEnd::Cancelled),
        (&begun, result("INVALID", "", ""), failed(FailureKind::BadRequest, "an invalid request")),
        (
            &begun,
            result("WAITING", "", ""),
            failed(FailureKind::Approval, "the agent waits for a permission"),
        ),
        (
            &begun,
            result("RUNNING", "", ""),
            failed(FailureKind::NoResult, "the agent ended while it was at work"),
        ),
        (
            &begun,
            result("NEW", "Hay.", ""),
            failed(FailureKind::Internal, "the agent ended with `NEW`"),
        ),
    ];
    for (before, last, expected) in cases {
        assert_eq!(
            ends(&all(&[before, std::slice::from_ref(&last)].concat())),
            [expected],
            "{last}"
        );
    }
}

#[test]
fn an_answer_that_stands_in_the_result_only_is_told() {
    assert_eq!(said(&decode(&[INIT, &result("SUCCESS", "Hay.", "")])), "Hay.");
    let events = decode(&[&text(1, "DONE", "Hay."), &result("SUCCESS", "Hay.", "")]);
    assert_eq!(said(&events), "Hay.");
}

fn outcomes(events: &[EventKind]) -> Vec<(String, Option<Outcome>)> {
    tools(events).into_iter().map(|Tool { name, outcome, .. }| (name, outcome)).collect()
}

#[test]
fn denied_calls_are_seen_as_denied() {
    let denied = |reason: &str| Some(Outcome::Denied { reason: reason.into() });
    let general = "the agent had no permission for it";
    let last = result("SUCCESS", "Hay.", DENIED);
    let begun = tool(2, "ACTIVE", "run_command", MAKE, "");
    let error = r#","error":{"type":"PERMISSION_DENIED","message":"ask first"}"#;
    // By its own step, by the result while it is open, by the result alone.
    let events = all(&[begun.clone(), tool(2, "ERROR", "run_command", MAKE, error), last.clone()]);
    assert_eq!(outcomes(&events), [("run_command".to_owned(), denied("ask first"))]);
    let events = all(&[begun, last.clone()]);
    assert_eq!(outcomes(&events), [("run_command".to_owned(), denied(general))]);
    let events = all(&[text(1, "DONE", "Hay."), last]);
    assert_eq!(outcomes(&events), [("RunCommand".to_owned(), denied(general))]);
    assert_eq!(ends(&events), [failed(FailureKind::Approval, "not permitted: RunCommand")]);
}

#[test]
fn a_call_that_fails_says_why() {
    let error = r#","error":{"type":"TOOL_ERROR","message":"stuck"}"#;
    let arguments = r#"{"ServerName":"barn","ToolName":"open","Arguments":{}}"#;
    let events = all(&[tool(4, "ERROR", "call_mcp_tool", arguments, error)]);
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.input, ToolInput::Mcp { server: "barn".into(), tool: "open".into() });
    let message = Some("stuck (TOOL_ERROR)".to_owned());
    assert_eq!(tool.outcome, Some(Outcome::Failure { exit_code: None, message }));
}

#[test]
fn counts_of_a_process_are_told_by_turn() {
    let second = result("SUCCESS", "Two.", "")
        .replace("\"input_tokens\":10", "\"input_tokens\":25")
        .replace("1.5", "4");
    let lines = [
        USER.to_owned(),
        text(1, "DONE", "One."),
        result("SUCCESS", "One.", ""),
        text(2, "DONE", "Two."),
        second,
    ];
    let counts: Vec<_> = all(&lines)
        .into_iter()
        .filter_map(|event| match event {
            EventKind::TurnEnded { usage: Some(Usage::Turn(tokens)), duration_ms, .. } => {
                Some((tokens.input, tokens.output, duration_ms))
            }
            _ => None,
        })
        .collect();
    assert_eq!(counts, [(10, 2, Some(1500)), (15, 0, Some(2500))]);
}

#[test]
fn a_new_word_is_unrecognized() {
    let count = |lines: &[String]| {
        let events = all(lines);
        events.iter().filter(|event| matches!(event, EventKind::Unrecognized { .. })).count()
    };
    let lines = [
        INIT.to_owned(),
        USER.to_owned(),
        text(1, "DONE", "Hay."),
        tool(2, "ACTIVE", "run_command", MAKE, ""),
        tool(2, "DONE", "run_command", MAKE, ""),
        result("SUCCESS", "Hay.", ""),
    ];
    assert_eq!(count(&lines), 0);
    for (line, word) in [
        (0, "\"init\""),
        (1, "\"user_input\""),
        (1, "\"DONE\""),
        (2, "\"step_update\""),
        (2, "\"agent_response\""),
        (3, "\"ACTIVE\""),
        (4, "\"tool\""),
        (4, "\"DONE\""),
        (5, "\"SUCCESS\""),
    ] {
        let mut changed = lines.clone();
        let new = word.replacen('"', "\"new_", 1);
        changed[line] = lines[line].replacen(&format!(":{word}"), &format!(":{new}"), 1);
        assert_ne!(changed, lines, "{word}");
        assert_eq!(count(&changed), 1, "{word}: {}", changed[line]);
    }
}

#[test]
fn the_word_for_a_line_is_its_event_and_kind() {
    let types = types::<AgyDecoder>(&[INIT, USER, &result("ERROR", "", ""), r#"{"event":"new"}"#]);
    assert_eq!(types, ["init", "step_update/user_input", "result/ERROR", "new"]);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", Just("\\n\\\"é\\ud83d\\ude00".to_owned()), Just("\\ud800".to_owned())]
}

/// Lines of every known event, in no order, with shapes that hold and shapes that do not.
fn line() -> impl Strategy<Value = String> {
    let state = || prop::sample::select(vec!["ACTIVE", "DONE", "ERROR", "NEW"]);
    let name = prop::sample::select(vec!["run_command", "view_file", "call_mcp_tool", ""]);
    let kind = prop::sample::select(vec![
        "user_input",
        "checkpoint",
        "system_message",
        "error_message",
        "subagent",
        "new",
    ]);
    let status = prop::sample::select(vec!["SUCCESS", "ERROR", "CANCELED", "WAITING", "NEW"]);
    let more = prop::sample::select(vec!["", DENIED, r#","error":"x""#]);
    prop_oneof![
        4 => (0u64..4, state(), word()).prop_map(|(index, state, word)| text(index, state, &word)),
        4 => (0u64..4, state(), name, word()).prop_map(|(index, state, name, word)| {
            let parameters = format!(r#"{{"CommandLine":"{word}","AbsolutePath":"{word}"}}"#);
            tool(index, state, name, &parameters, &format!(r#","output":"{word}""#))
        }),
        2 => (0u64..4, state(), kind, word()).prop_map(|(index, state, kind, word)| {
            step(index, state, kind, &format!(r#","text":"{word}""#))
        }),
        2 => (status, word(), more).prop_map(|(status, word, more)| result(status, &word, more)),
        1 => Just(INIT.to_owned()),
        1 => "[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        assert_skim_is_full_without_texts::<AgyDecoder>(&bytes);
    }

    #[test]
    fn any_lines_skim_as_they_decode(lines in prop::collection::vec(line(), 0..24)) {
        assert_skim_is_full_without_texts::<AgyDecoder>(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_cut_of_a_line_is_survived(line in line(), at in 0usize..400, pad in 0usize..300) {
        assert_cuts_are_survived::<AgyDecoder>(&line, at, pad);
    }
}
