//! Every recording, replayed: nothing unrecognized, tools paired, the text that the agent states.
//!
//! A recording `x.ndjson` may have an `x.expect.json` beside it: the part of the summary that it must
//! have.

use crate::recordings::{self, Replay, agents_side, read, replay};
use serde_json::Value;
use stablehand_core::event::{EventKind, ItemBody, TextRole};
use stablehand_core::{Depth, Dialect};
use std::path::Path;

/// The text for the user of each turn, by pieces and by whole messages, and what the agent states.
fn texts(events: &[EventKind]) -> Vec<(String, String, Option<String>)> {
    let mut turns = Vec::new();
    let mut pieces = String::new();
    let mut messages = String::new();
    for event in events {
        match event {
            EventKind::ItemDelta { role: TextRole::Message, text, .. } => pieces.push_str(text),
            EventKind::ItemCompleted { item } => {
                if let ItemBody::Message { text } = &item.body {
                    messages.push_str(text);
                }
            }
            EventKind::TurnEnded { text, .. } => turns.push((
                std::mem::take(&mut pieces),
                std::mem::take(&mut messages),
                text.clone(),
            )),
            _ => {}
        }
    }
    turns
}

#[expect(clippy::disallowed_methods, reason = "the expectations are files")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// How much is asked of a recording.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strict {
    /// What its expectation says; it may be odd on purpose.
    Expected,
    /// It is of a real run: all of it is understood, and what the agent ended has ended.
    Understood,
    /// And the run was a whole one.
    Whole,
}

fn check(dialect: Dialect, path: &Path, strict: Strict) {
    let name = path.display();
    let bytes = agents_side(read(path));
    let Replay { totals, events } = replay(dialect, &bytes, 4096, Depth::Full);
    for (pieces, messages, stated) in texts(&events) {
        assert_eq!(pieces, messages, "{name}: pieces and messages differ");
        if let Some(stated) = stated.filter(|_| !pieces.is_empty()) {
            // Some agents state all that they said in the turn, others the last message.
            let same = match strict {
                Strict::Whole => pieces == stated,
                Strict::Expected | Strict::Understood => pieces.ends_with(&stated),
            };
            let is_doubled = pieces.ends_with(&stated.repeat(2));
            assert!(same && !is_doubled, "{name}: lost or doubled: {pieces:?}, {stated:?}");
        }
    }
    let odd = replay(dialect, &bytes, 7, Depth::Full);
    assert_eq!(odd.events, events, "{name}: chunking changes events");
    let skim = replay(dialect, &bytes, 4096, Depth::Skim);
    assert_eq!(skim.totals.tools, totals.tools, "{name}");
    assert_eq!(skim.totals.events, totals.events, "{name}");
    if strict != Strict::Expected {
        assert_eq!(totals.unrecognized, 0, "{name}: {totals:?}");
        assert_eq!(totals.tools.unpaired, 0, "{name}: {totals:?}");
    }
    if strict == Strict::Whole {
        assert_eq!(totals.torn, 0, "{name}: {totals:?}");
        assert_eq!(totals.tools.opened, totals.tools.closed, "{name}");
    }
    let expect = path.with_extension("expect.json");
    if strict == Strict::Expected && std::env::var_os("UPDATE").is_some() {
        write(&expect, &(serde_json::to_string_pretty(&totals).unwrap() + "\n"));
    }
    if expect.exists() {
        let expect: Value = serde_json::from_slice(&read(&expect)).unwrap();
        let totals = serde_json::to_value(&totals).unwrap();
        assert_has(&totals, &expect, &name.to_string());
    }
}

/// Whether `whole` has everything that `part` has.
fn assert_has(whole: &Value, part: &Value, name: &str) {
    match (whole, part) {
        (Value::Object(whole_map), Value::Object(part)) => {
            for (key, part) in part {
                let whole = whole_map.get(key).unwrap_or(&Value::Null);
                assert_has(whole, part, &format!("{name}: {key}"));
            }
        }
        (whole, part) => assert_eq!(whole, part, "{name}"),
    }
}

#[test]
fn our_recordings_decode_as_expected() {
    for dialect in Dialect::ALL {
        for path in recordings::own(*dialect) {
            check(*dialect, &path, Strict::Expected);
        }
    }
}

#[test]
fn recordings_of_real_runs_decode_without_remainder() {
    for dialect in Dialect::ALL {
        // Those of Cursor are all whole; of the others some were ended or cut on purpose.
        let strict = match dialect {
            Dialect::Cursor => Strict::Whole,
            _ => Strict::Understood,
        };
        for path in recordings::real_runs(*dialect) {
            check(*dialect, &path, strict);
        }
    }
}

#[test]
fn single_lines_decode_without_remainder() {
    for path in recordings::single_lines() {
        check(Dialect::Cursor, &path, Strict::Whole);
    }
}

#[test]
fn example_streams_of_documents_decode_with_their_tools_paired() {
    for path in recordings::documents() {
        let totals = replay(Dialect::Cursor, &read(&path), 4096, Depth::Full).totals;
        let name = path.display();
        assert_eq!(totals.unrecognized, 0, "{name}: {totals:?}");
        // One line of one page is not JSON, as it is printed there.
        let is_page = path.ends_with("output-format-page.ndjson");
        assert_eq!(totals.noise, u64::from(is_page), "{name}: {totals:?}");
        assert_eq!(totals.tools.unpaired, 0, "{name}: {totals:?}");
        assert_eq!(totals.tools.opened, totals.tools.closed, "{name}: {totals:?}");
        assert!(totals.tools.opened > 0, "{name}: {totals:?}");
    }
}
