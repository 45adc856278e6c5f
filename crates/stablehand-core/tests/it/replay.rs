//! Every recording, replayed: nothing unrecognized, tools paired, the text that the agent states.
//!
//! Our own recordings are in `fixtures/`; those of other projects may not be copied and are read
//! where they lie, if they are there. A recording `x.ndjson` may have an `x.expect.json` beside it:
//! the part of the summary that it must have.

use serde_json::Value;
use stablehand_core::decode::{Summary, Totals};
use stablehand_core::event::{EventKind, ItemBody, TextRole};
use stablehand_core::{Depth, Dialect, LineSplitter, json};
use std::path::{Path, PathBuf};

#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests read recordings")]
fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "ndjson"))
        .collect();
    found.sort();
    found
}

struct Replay {
    totals: Totals,
    events: Vec<EventKind>,
}

/// Decodes bytes that come `chunk` at a time.
fn replay(dialect: Dialect, bytes: &[u8], chunk: usize, depth: Depth) -> Replay {
    let mut splitter = LineSplitter::default();
    let mut decoder = dialect.decoder();
    let mut summary = Summary::default();
    let mut events = Vec::new();
    let mut take = |line: stablehand_core::Line<'_>| {
        let mut new = Vec::new();
        decoder.line(&line, &json::scan(line.bytes), depth, &mut new);
        summary.push(&line, &new);
        events.extend(new);
    };
    for piece in bytes.chunks(chunk) {
        let mut rest = piece;
        while !rest.is_empty() {
            let space = splitter.space();
            let n = rest.len().min(space.len());
            space[..n].copy_from_slice(&rest[..n]);
            splitter.filled(n);
            rest = &rest[n..];
            while let Some(line) = splitter.next() {
                take(line);
            }
        }
    }
    while let Some(line) = splitter.finish() {
        take(line);
    }
    let mut last = Vec::new();
    decoder.finish(depth, &mut last);
    summary.events(&last);
    events.extend(last);
    Replay { totals: summary.finish(), events }
}

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
    if expect.exists() {
        let expect: Value = serde_json::from_slice(&read(&expect)).unwrap();
        let totals = serde_json::to_value(&totals).unwrap();
        assert_has(&totals, &expect, &name.to_string());
    }
}

/// Of traffic that was recorded in both directions, `{"dir":"a2c","msg":…}`, what the agent wrote.
fn agents_side(bytes: Vec<u8>) -> Vec<u8> {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_traffic = |line: &Value| line.get("t").is_some() && line.get("dir").is_some();
    if !serde_json::from_slice(first).is_ok_and(|line| is_traffic(&line)) {
        return bytes;
    }
    let mut side = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: Value = serde_json::from_slice(line).unwrap();
        if line["dir"] == "a2c" {
            side.extend_from_slice(line["msg"].to_string().as_bytes());
            side.push(b'\n');
        }
    }
    side
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

/// Where the recordings of real runs of a dialect lie. The two-way protocol of an agent has a
/// folder within the agent's.
fn real_runs(dialect: Dialect) -> PathBuf {
    let folder = match dialect {
        Dialect::CodexApp => "codex/app-server",
        other => other.name(),
    };
    root().join("../shared/fixtures").join(folder)
}

#[test]
fn our_recordings_decode_as_expected() {
    for dialect in Dialect::ALL {
        for path in recordings(&root().join("fixtures").join(dialect.name())) {
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
        for path in recordings(&real_runs(*dialect)) {
            check(*dialect, &path, strict);
        }
    }
}

#[test]
fn single_lines_decode_without_remainder() {
    for path in recordings(&root().join("../shared/fixtures/cursor/lines")) {
        check(Dialect::Cursor, &path, Strict::Whole);
    }
}
