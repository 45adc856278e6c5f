//! What Codex's transcripts have that no recording shows: other versions, and what goes wrong.

use super::super::super::Dialect;
use super::super::super::transcript::testing::{Read, read};
use crate::event::{EventKind, Outcome, ToolKind, TurnEnd};

fn lines(lines: &[&str]) -> Read {
    read(Dialect::Codex, lines)
}

fn item(payload: &str) -> String {
    format!(
        r#"{{"timestamp":"2025-10-01T10:00:01.000Z","type":"response_item","payload":{payload}}}"#
    )
}

fn shown(payload: &str) -> String {
    format!(r#"{{"timestamp":"2025-10-01T10:00:01.000Z","type":"event_msg","payload":{payload}}}"#)
}

const META: &str = r#"{"timestamp":"2025-10-01T10:00:00.000Z","type":"session_meta","payload":{"id":"c1","cwd":"/home/rider/hay","cli_version":"0.40.0"}}"#;
const CONTEXT: &str = r#"{"timestamp":"2025-10-01T10:00:00.000Z","type":"turn_context","payload":{"cwd":"/home/rider/hay","model":"gpt-5"}}"#;

/// Versions of 2025: texts on both sides, no word about the end of a turn.
#[test]
fn texts_that_both_sides_tell_are_told_once() {
    let told = lines(&[
        META,
        &item(
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x"}]}"#,
        ),
        &item(
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"feed them"}]}"#,
        ),
        &shown(r#"{"type":"user_message","message":"feed them","kind":"plain"}"#),
        CONTEXT,
        &shown(r#"{"type":"agent_reasoning","text":"Oats."}"#),
        &shown(r#"{"type":"agent_reasoning","text":"Or hay."}"#),
        &item(
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"Oats."},{"type":"summary_text","text":"Or hay."}],"content":null}"#,
        ),
        &item(
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Fed."}]}"#,
        ),
        &shown(r#"{"type":"agent_message","message":"Fed."}"#),
        &item(
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Fed."}]}"#,
        ),
    ]);
    assert_eq!(told.prompts(), ["feed them"]);
    assert_eq!(told.said(), "Fed.Fed.", "the second is another");
    assert_eq!(told.ends(), [TurnEnd::Done]);
    assert_eq!(
        told.session(),
        [Some("c1"), Some("gpt-5"), Some("/home/rider/hay"), Some("0.40.0")]
    );
}

#[test]
fn a_prompt_that_nobody_showed_is_one_when_the_model_answers() {
    let told = lines(&[
        META,
        &item(
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"feed them"}]}"#,
        ),
        &item(
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Fed."}]}"#,
        ),
    ]);
    assert_eq!(told.prompts(), ["feed them"]);
}

#[test]
fn calls_of_all_versions_are_read() {
    let cases: &[(&str, &str, &str, ToolKind, Outcome)] = &[
        (
            r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"ls | wc\"],\"workdir\":\"/x\"}","call_id":"k"}"#,
            r#"{"type":"function_call_output","call_id":"k","output":"{\"output\":\"12\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"}"#,
            "ls | wc",
            ToolKind::Execute,
            Outcome::Success,
        ),
        (
            r#"{"type":"function_call","name":"shell_command","arguments":"{\"command\":\"make\"}","call_id":"k"}"#,
            r#"{"type":"function_call_output","call_id":"k","output":"Exit code: 2\nWall time: 1 seconds\nOutput:\nno rule"}"#,
            "make",
            ToolKind::Execute,
            Outcome::Failure { exit_code: Some(2), message: None },
        ),
        (
            r#"{"type":"local_shell_call","call_id":"k","status":"completed","action":{"type":"exec","command":["git","status"]}}"#,
            r#"{"type":"function_call_output","call_id":"k","output":{"content":"clean","success":true}}"#,
            "git status",
            ToolKind::Execute,
            Outcome::Success,
        ),
        (
            r#"{"type":"custom_tool_call","name":"apply_patch","call_id":"k","input":"*** Begin Patch\n*** Delete File: old.txt\n*** End Patch"}"#,
            r#"{"type":"custom_tool_call_output","call_id":"k","output":"{\"output\":\"Success.\",\"metadata\":{\"exit_code\":0}}"}"#,
            "old.txt",
            ToolKind::Delete,
            Outcome::Success,
        ),
        (
            r#"{"type":"function_call","name":"mcp__stable__feed","arguments":"{}","call_id":"k"}"#,
            r#"{"type":"function_call_output","call_id":"k","output":[{"type":"input_text","text":"fed"}]}"#,
            "feed",
            ToolKind::Other,
            Outcome::Success,
        ),
        (
            r#"{"type":"function_call","name":"exec_command","arguments":"not json","call_id":"k"}"#,
            r#"{"type":"function_call_output","call_id":"k","output":"failed to parse function arguments: x"}"#,
            "",
            ToolKind::Execute,
            Outcome::Failure {
                exit_code: None,
                message: Some("failed to parse function arguments: x".to_owned()),
            },
        ),
    ];
    for (wish, end, headline, kind, outcome) in cases {
        let told = lines(&[META, CONTEXT, &item(wish), &item(end)]);
        let tools = told.tools();
        assert_eq!(tools.len(), 1, "{wish}");
        assert_eq!(
            (tools[0].headline(), tools[0].tool_kind, tools[0].outcome.as_ref()),
            (*headline, *kind, Some(outcome)),
            "{wish}"
        );
    }
}

/// The first rollouts had no time and nothing around their items.
#[test]
fn bare_items_are_read() {
    let told = lines(&[
        r#"{"id":"c0","timestamp":"2025-06-01T10:00:00.000Z","instructions":null,"git":{}}"#,
        r#"{"record_type":"state"}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}"#,
    ]);
    assert_eq!(told.names()[..2], ["session.started", "turn.started"]);
    assert_eq!(told.session()[0], Some("c0"));
    assert_eq!((told.prompts(), told.said().as_str()), (vec!["hello"], "hi"));
    assert!(told.times.iter().all(|at| at.rfc3339() == "2025-06-01T10:00:00.000Z"));
}

#[test]
fn plans_titles_compactions_and_branches_are_told() {
    let told = lines(&[
        META,
        &META.replace("c1", "the-parent"),
        CONTEXT,
        &item(
            r#"{"type":"function_call","name":"update_plan","arguments":"{\"plan\":[{\"step\":\"feed\",\"status\":\"completed\"}]}","call_id":"p"}"#,
        ),
        &item(r#"{"type":"function_call_output","call_id":"p","output":"Plan updated"}"#),
        r#"{"timestamp":"2025-10-01T10:00:02.000Z","type":"compacted","payload":{"message":"short"}}"#,
        &shown(r#"{"type":"context_compacted"}"#),
        &shown(r#"{"type":"thread_name_updated","thread_name":"Feeding"}"#),
        &shown(r#"{"type":"turn_aborted","reason":"interrupted"}"#),
    ]);
    assert_eq!(told.session()[0], Some("c1"));
    assert_eq!(told.tools(), [], "a plan is no tool");
    assert!(told.events.iter().any(|event| matches!(event, EventKind::ItemCompleted { .. })));
    assert_eq!(told.notices(), ["the conversation was compacted"]);
    assert_eq!(told.title.as_deref(), Some("Feeding"));
}
