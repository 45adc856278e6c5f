//! Lines beside the conversation, usage before a result, and commands of the model's service.

use super::*;
use crate::event::{Tokens, Usage};

#[test]
fn lines_that_matter_to_a_person_are_told() {
    use NoticeLevel as L;
    let cases = [
        (
            r#"{"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"too long"}"#,
            L::Warning,
            "compaction failed: too long",
        ),
        (
            r#"{"type":"system","subtype":"task_updated","task_id":"t","patch":{"status":"failed","description":"feed","error":"no hay"}}"#,
            L::Warning,
            "a background task failed (feed): no hay",
        ),
        (
            r#"{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":["transcript"]}"#,
            L::Error,
            "the agent could not write its transcript (ENOSPC)",
        ),
        (
            r#"{"type":"system","subtype":"worker_shutting_down","reason":"update"}"#,
            L::Warning,
            "the agent is shutting down: update",
        ),
        (
            r#"{"type":"system","subtype":"informational","level":"warning","content":"hot"}"#,
            L::Warning,
            "hot",
        ),
        (
            r#"{"type":"system","subtype":"informational","level":"notice","content":"warm"}"#,
            L::Info,
            "warm",
        ),
        (
            r#"{"type":"conversation_reset","new_conversation_id":"c","trigger":"clear"}"#,
            L::Info,
            "the conversation was reset (clear)",
        ),
        (
            r#"{"type":"active_goal","value":{"condition":"all ponies fed","iterations":2,"last_reason":"one is hungry"}}"#,
            L::Info,
            "goal: all ponies fed (one is hungry)",
        ),
        (
            r#"{"type":"stream_event","event":{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}}"#,
            L::Warning,
            "the model's stream: Overloaded",
        ),
        (
            r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (3)"]}"#,
            L::Warning,
            "Reached maximum number of turns (3)",
        ),
    ];
    for (line, level, text) in cases {
        let events = decode(&[line]);
        let notice = bodies(&events).find_map(|body| match body {
            ItemBody::Notice { level, text } => Some((*level, text.as_str())),
            _ => None,
        });
        assert_eq!(notice, Some((level, text)), "{line}");
        assert!(!names(&events).contains(&"unrecognized"), "{line}");
    }
    let retry = r#"{"type":"tool_progress","tool_use_id":"t","subagent_retry":{"agent_id":"a","attempt":2,"max_retries":10,"retry_delay_ms":500,"error_status":529,"error_category":"overloaded"}}"#;
    let detail = Some("of a sub-agent: overloaded (529), of 10".to_owned());
    assert_eq!(decode(&[retry]), [EventKind::RetryScheduled { attempt: 2, detail }]);
}

#[test]
fn a_command_of_the_models_service_that_fails_has_failed() {
    let call = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"server_tool_use","id":"t","name":"bash_code_execution","input":{"command":"make hay"}}]}}"#;
    let result = |code: i32| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"bash_code_execution_tool_result","tool_use_id":"t","content":{{"type":"bash_code_execution_result","stdout":"some\n","stderr":"rain\n","return_code":{code}}}}}]}}}}"#
        )
    };
    let failed = tools(&decode(&[call, &result(1)])).remove(0);
    let message = Some("some\nrain\n".to_owned());
    assert_eq!(failed.outcome, Some(Outcome::Failure { exit_code: Some(1), message }));
    assert_eq!(failed.output.as_deref(), Some("some\nrain\n"));
    let done = tools(&decode(&[call, &result(0)])).remove(0);
    assert_eq!(done.outcome, Some(Outcome::Success));
}

/// What the events say was used, one statement after the other.
fn used(events: &[EventKind]) -> Vec<Tokens> {
    let usage = |event: &EventKind| match event {
        EventKind::UsageUpdated { usage: Usage::Turn(tokens) } => Some(*tokens),
        _ => None,
    };
    events.iter().filter_map(usage).collect()
}

#[test]
fn messages_tell_what_the_turn_used_so_far() {
    let line = |id: &str, parent: &str, input: u64| {
        format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"{id}","content":[{{"type":"text","text":"\"usage\":{{\"input_tokens\":7}}"}}],"usage":{{"input_tokens":{input},"output_tokens":1}}}}}}"#
        )
    };
    let tokens = |input, output| Tokens { input, output, ..Tokens::default() };
    // A message of several lines counts once, also where agents speak by turns.
    let lines = [
        line("a", "null", 100),
        line("b", "\"t\"", 20),
        line("a", "null", 100),
        line("c", "null", 300),
    ];
    assert_eq!(used(&decode(&lines)), [tokens(100, 1), tokens(120, 2), tokens(420, 3)]);
    // A streamed message has its last count at its end.
    let start = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"d","usage":{"input_tokens":50,"output_tokens":1}}}}"#;
    let delta = r#"{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}}"#;
    let whole = line("d", "null", 50);
    assert_eq!(used(&decode(&[start, whole.as_str(), delta])), [tokens(50, 9)]);
    // A result tells the sum, and the next turn begins with nothing.
    let result = r#"{"type":"result","subtype":"success","usage":{"input_tokens":5}}"#;
    let after = decode(&[lines[0].as_str(), result, &line("e", "null", 2)]);
    assert_eq!(used(&after).last(), Some(&tokens(2, 1)));
}

#[test]
fn a_file_that_is_made_has_a_diff() {
    let call = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Write","input":{"file_path":"/w/a","content":"hay\n"}}]}}"#;
    let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"made"}]},"tool_use_result":{"type":"create","filePath":"/w/a","content":"hay\n","structuredPatch":[],"originalFile":null}}"#;
    let tool = tools(&decode(&[call, result])).remove(0);
    assert_eq!(tool.diff.as_deref(), Some("--- /w/a\n+++ /w/a\n@@ -0,0 +1,1 @@\n+hay\n"));
}
