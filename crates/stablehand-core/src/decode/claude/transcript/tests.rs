//! What Claude Code's transcripts have that no recording shows: other versions, and what goes wrong.

use super::super::super::Dialect;
use super::super::super::transcript::testing::{Read, read};
use crate::event::{EventKind, FailureKind, Outcome, TextRole, TurnEnd, Unrecognized};
use crate::time::UnixMillis;

fn lines(lines: &[&str]) -> Read {
    read(Dialect::Claude, lines)
}

fn prompt(text: &str) -> String {
    format!(
        r#"{{"type":"user","isSidechain":false,"cwd":"/home/rider/hay","sessionId":"s1","version":"1.0.9","message":{{"role":"user","content":"{text}"}},"timestamp":"2026-11-16T10:00:00.000Z"}}"#
    )
}

fn answer(block: &str) -> String {
    format!(
        r#"{{"type":"assistant","isSidechain":false,"sessionId":"s1","message":{{"id":"m1","model":"opus","role":"assistant","content":[{block}],"stop_reason":null,"usage":{{"input_tokens":3,"output_tokens":5}}}},"timestamp":"2026-11-16T10:00:01.000Z"}}"#
    )
}

const TEXT: &str = r#"{"type":"text","text":"done"}"#;

/// Older versions wrote each block while it came, and no reason why the answer stopped.
#[test]
fn a_turn_ends_with_the_last_answer_that_asks_for_nothing() {
    let call = r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}"#;
    let result = r#"{"type":"user","sessionId":"s1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"hay"}]},"toolUseResult":{"stdout":"hay","stderr":"","interrupted":false},"timestamp":"2026-11-16T10:00:02.000Z"}"#;
    let (first, then) = (answer(TEXT), answer(call));
    let open = lines(&[&prompt("look"), &first, &then]);
    assert_eq!(open.ends(), [], "the call is on");
    let told = lines(&[&prompt("look"), &first, &then, result, &answer(TEXT), &prompt("more")]);
    assert_eq!(told.ends(), [TurnEnd::Done]);
    assert_eq!(told.prompts(), ["look", "more"]);
    assert_eq!(told.session(), [Some("s1"), Some("opus"), Some("/home/rider/hay"), Some("1.0.9")]);
    let tool = &told.tools()[0];
    assert_eq!((tool.headline(), &tool.outcome), ("ls", &Some(Outcome::Success)));
    assert_eq!(tool.output.as_deref(), Some("hay"));
    // All lines of one answer state what the whole answer used.
    let used = told.events.iter().find_map(|event| match event {
        EventKind::TurnEnded { usage, .. } => usage.map(|usage| usage.tokens().output),
        _ => None,
    });
    assert_eq!(used, Some(5));
}

#[test]
fn a_prompt_after_a_turn_that_was_cut_off_begins_another() {
    let call = r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"sleep 9"}}"#;
    let told = lines(&[&prompt("wait"), &answer(call), &prompt("again"), &answer(TEXT)]);
    assert_eq!(told.prompts(), ["wait", "again"]);
    assert_eq!(told.ends(), [TurnEnd::Done]);
    assert_eq!(told.tools()[0].outcome, Some(Outcome::Unknown));
}

/// Sub-agents in the same file: their calls are told, their words belong to the call.
#[test]
fn a_side_chain_is_the_work_of_its_call() {
    let call = r#"{"type":"tool_use","id":"a1","name":"Task","input":{"description":"feeding"}}"#;
    let side = |line: String| line.replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let inner = r#"{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"echo fed"}}"#;
    let told = lines(&[
        &prompt("feed"),
        &answer(call),
        &side(prompt("the task")),
        &side(answer(inner)),
        &side(answer(TEXT)),
    ]);
    assert_eq!(told.prompts(), ["feed"]);
    assert_eq!(told.ends(), [], "the words of a sub-agent are no end");
    let of_call = told.events.iter().any(|event| {
        matches!(event, EventKind::ItemDelta { role: TextRole::ToolOutput, text, .. } if text == "done")
    });
    assert!(of_call, "{:#?}", told.events);
    let begun = told.names().iter().filter(|name| **name == "item.started").count();
    assert_eq!(begun, 2);
}

#[test]
fn titles_have_a_rank() {
    let summary = r#"{"type":"summary","summary":"by the model","leafUuid":"u"}"#;
    let given = r#"{"type":"custom-title","customTitle":"by a person","sessionId":"s1"}"#;
    let made = r#"{"type":"ai-title","aiTitle":"made up","sessionId":"s1"}"#;
    let titled = |all: &[&str]| lines(all).title;
    assert_eq!(titled(&[summary]).as_deref(), Some("by the model"));
    assert_eq!(titled(&[given, made, summary]).as_deref(), Some("by a person"));
    assert_eq!(titled(&[]), None);
}

#[test]
fn what_the_agent_says_in_the_users_name_is_no_prompt() {
    let meta = prompt("caveat").replace(r#""isSidechain":false"#, r#""isMeta":true"#);
    let command = prompt("<command-name>/review</command-name> <command-args>12</command-args>");
    let printed = prompt("<local-command-stdout>all well</local-command-stdout>");
    let told = lines(&[&meta, &command, &printed]);
    assert_eq!(told.prompts(), ["/review 12"]);
    assert_eq!(told.notices(), ["all well"]);
    assert_eq!(told.ends(), [TurnEnd::Done]);
}

#[test]
fn a_failure_and_a_compaction_are_told() {
    let error = answer(TEXT)
        .replace(r#""isSidechain":false"#, r#""isApiErrorMessage":true,"apiErrorStatus":529"#);
    let compacted = r#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto"},"timestamp":"2026-11-16T10:00:03.000Z"}"#;
    let told = lines(&[&prompt("go"), compacted, &error]);
    let end = TurnEnd::Failed { failure: FailureKind::Overloaded, message: "done".to_owned() };
    assert_eq!(told.ends(), [end]);
    assert_eq!(told.notices(), ["the conversation was compacted (auto)", "done"]);
}

#[test]
fn what_is_not_known_is_kept() {
    use Unrecognized::{BadShape, Noise, NotAnObject, UnknownType};
    let told = lines(&[r#"{"type":"brand-new","x":1}"#, "[1]", "words", r#"{"type":"user"}"#]);
    let whys: Vec<_> = told
        .events
        .iter()
        .filter_map(|event| match event {
            EventKind::Unrecognized { why, .. } => Some(*why),
            _ => None,
        })
        .collect();
    assert_eq!(whys, [UnknownType, NotAnObject, Noise, BadShape]);
    // Without a time of its own, the file's is taken; without an id, its name.
    assert_eq!(told.session()[0], Some("a-name"));
    assert!(told.times.iter().all(|at| *at == UnixMillis(1_790_000_000_000)));
}
