//! The transcript of streams as decoders give them.

use super::*;
use crate::event::{EndedBy, ToolInput};
use crate::line::{Line, Part};
use crate::{Depth, Dialect, json};

fn events(lines: &[&str]) -> Vec<EventKind> {
    let mut decoder = Dialect::Cursor.decoder();
    let mut out = Vec::new();
    for text in lines {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        decoder.line(&line, &json::scan(line.bytes), Depth::Full, &mut out);
    }
    decoder.finish(Depth::Full, &mut out);
    out
}

const USER: &str = r#"{"type":"user","message":{"content":"do it"},"session_id":"s"}"#;
const PIECE: &str = r#"{"type":"assistant","message":{"content":"Now"},"timestamp_ms":1}"#;
const START: &str = r#"{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"ls"}}}}"#;
const ENDED: &str = r#"{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{"shellToolCall":{"result":{"success":{"exitCode":0,"stdout":"x"}}}}}"#;
const LAST: &str = r#"{"type":"assistant","message":{"content":"Done."}}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":9,"result":"NowDone.","usage":{"inputTokens":3,"outputTokens":4}}"#;

#[test]
fn a_turn_has_its_messages_tools_and_usage() {
    let transcript = Transcript::fold(&events(&[USER, PIECE, PIECE, START, ENDED, LAST, RESULT]));
    let [turn] = transcript.turns.as_slice() else {
        panic!("{transcript:?}");
    };
    assert_eq!(turn.prompt.as_deref(), Some("do it"));
    assert_eq!(turn.text(), "NowNowDone.");
    assert_eq!(turn.last_message(), Some("Done."));
    assert_eq!(turn.end, Some(TurnEnd::Done));
    assert_eq!(turn.duration_ms, Some(9));
    let bodies: Vec<_> = turn.items().map(|item| &item.body).collect();
    let [ItemBody::Message { .. }, ItemBody::Tool(tool), ItemBody::Message { .. }] =
        bodies.as_slice()
    else {
        panic!("{bodies:?}");
    };
    assert_eq!(tool.output.as_deref(), Some("x"));
    assert!(matches!(&tool.input, ToolInput::Command { command, .. } if command == "ls"));
    assert_eq!(transcript.usage().map(|tokens| tokens.total()), Some(7));
    assert_eq!(transcript.running().count(), 0);
}

#[test]
fn turns_add_up_and_what_is_cut_off_is_said_to_be() {
    let mut first = events(&[USER, LAST, RESULT]);
    let second = events(&[USER, PIECE, START]);
    first.extend(second);
    let mut transcript = Transcript::fold(&first);
    assert_eq!(transcript.turns.len(), 2);
    assert_eq!(transcript.usage().map(|tokens| tokens.input), Some(3));
    assert_eq!(transcript.running().count(), 1);
    transcript.push(&EventKind::SessionEnded {
        end: SessionEnd::Hung,
        ended_by: EndedBy::Supervisor,
        last_text: None,
        usage: None,
        stderr_tail: None,
        again: false,
    });
    assert_eq!(transcript.end, Some(SessionEnd::Hung));
    assert_eq!(transcript.running().count(), 0);
    assert!(
        transcript.turns[1]
            .entries
            .iter()
            .any(|entry| matches!(entry, Entry::Item { status: Status::Interrupted, .. }))
    );
}

#[test]
fn questions_are_part_of_the_turn() {
    let transcript = Transcript::fold(&events(&[
        USER,
        r#"{"type":"interaction_query","subtype":"request","query":{"id":9,"webFetchRequestQuery":{"args":{"url":"u"}}}}"#,
        r#"{"type":"interaction_query","subtype":"response","response":{"id":9,"webFetchRequestResponse":{"rejected":{}}}}"#,
    ]));
    assert_eq!(
        transcript.turns[0].entries,
        [Entry::Approval {
            id: "9".into(),
            what: "fetch u".into(),
            options: vec!["approved".into(), "rejected".into()],
            answer: Some(("rejected".into(), "agent".into())),
        }]
    );
}

#[test]
fn pieces_without_a_beginning_are_kept() {
    let mut transcript = Transcript::default();
    for _ in 0..2 {
        transcript.push(&EventKind::ItemDelta {
            id: ItemId(7),
            role: TextRole::Message,
            text: "a".into(),
        });
    }
    assert_eq!(transcript.turns[0].text(), "aa");
}
