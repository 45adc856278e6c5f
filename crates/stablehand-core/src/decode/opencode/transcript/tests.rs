//! What OpenCode's transcripts have that no recording shows: other versions, and what goes wrong.

use super::super::super::Dialect;
use super::super::super::transcript::testing::read;
use crate::event::{EventKind, TurnEnd};

const SESSION: &str = r#"{"stored":"session","id":"ses_1","at":1794870690440,"data":{"directory":"/home/rider/hay","title":"Ponies","version":"1.18.33"}}"#;
const ASKED: &str =
    r#"{"stored":"message","id":"msg_1","at":1794870690500,"data":{"role":"user"}}"#;

fn part(of: &str, data: &str) -> String {
    format!(r#"{{"stored":"part","id":"prt","message":"{of}","at":1794870690600,"data":{data}}}"#)
}

#[test]
fn only_the_users_own_words_are_the_prompt() {
    let told = read(
        Dialect::OpenCode,
        &[
            SESSION,
            ASKED,
            &part("msg_1", r#"{"type":"text","text":"look at this"}"#),
            &part("msg_1", r#"{"type":"text","text":"<file>","synthetic":true}"#),
            &part("msg_1", r#"{"type":"file","filename":"x"}"#),
            &part("msg_1", r#"{"type":"text","text":"and that"}"#),
        ],
    );
    assert_eq!(told.prompts(), ["look at this\nand that"]);
    assert_eq!(told.session(), [Some("ses_1"), None, Some("/home/rider/hay"), Some("1.18.33")]);
    assert_eq!(told.title.as_deref(), Some("Ponies"));
}

#[test]
fn an_answer_that_was_broken_off_ends_the_turn() {
    let answer = r#"{"stored":"message","id":"msg_2","at":1794870691000,"data":{"role":"assistant","modelID":"m","error":{"name":"MessageAbortedError","data":{"message":"aborted"}},"time":{"created":1794870691000,"completed":1794870699000}}}"#;
    let told = read(
        Dialect::OpenCode,
        &[
            SESSION,
            ASKED,
            &part("msg_1", r#"{"type":"text","text":"go"}"#),
            answer,
            &part("msg_2", r#"{"type":"step-start"}"#),
            &part("msg_2", r#"{"type":"retry","attempt":2,"error":{"data":{"message":"busy"}}}"#),
            &part("msg_2", r#"{"type":"compaction","auto":true}"#),
            &part("msg_2", r#"{"type":"novelty"}"#),
        ],
    );
    assert_eq!(told.ends(), [TurnEnd::Cancelled]);
    assert_eq!(told.notices(), ["the conversation was compacted"]);
    let names = told.names();
    assert!(names.contains(&"retry.scheduled") && names.contains(&"unrecognized"), "{names:?}");
    let at = told.times.last().unwrap();
    assert_eq!(
        (told.events.last().map(EventKind::name), at.0),
        (Some("turn.ended"), 1_794_870_699_000)
    );
}

#[test]
fn a_sub_agents_session_is_that_of_whom_it_works_for() {
    let sub = SESSION.replace(r#""version""#, r#""parentID":"ses_0","version""#);
    let told =
        read(Dialect::OpenCode, &[&sub, ASKED, &part("msg_1", r#"{"type":"text","text":"x"}"#)]);
    assert_eq!(told.session()[0], Some("ses_0"));
}
