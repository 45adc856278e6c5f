//! The list in `docs/agent-lines.md`: what each agent's lines become, made from our recordings.

use crate::recordings::{agents_side, own, read, root};
use serde_json::Value;
use stablehand_core::event::EventKind;
use stablehand_core::{Depth, Dialect, LineSplitter, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const HEAD: &str = "\
# What agents' lines mean

Each line that an agent writes becomes events of the [event model](event-model.md). This list is made
from the recordings in `fixtures/`: for each kind of line, every event that a line of that kind became.
A line that only ticks, or that repeats what other lines tell, becomes none. A line or a word that
is not known becomes `unrecognized`; the log has its bytes.

`UPDATE=1 cargo test -p stablehand-core --test it lines` writes it anew.
";

#[test]
#[expect(clippy::disallowed_methods, reason = "the list is a file")]
fn the_list_of_lines_is_true() {
    let mut list = HEAD.to_owned();
    for dialect in Dialect::ALL {
        let lines = lines_of(*dialect);
        if lines.is_empty() {
            continue;
        }
        writeln!(list, "\n## {}\n\n| line | events |\n|---|---|", dialect.name()).unwrap();
        for (line, events) in lines {
            let events: Vec<String> = events.iter().map(|name| format!("`{name}`")).collect();
            let events = if events.is_empty() { "none".to_owned() } else { events.join(", ") };
            writeln!(list, "| `{line}` | {events} |").unwrap();
        }
    }
    let path = root().join("docs/agent-lines.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &list).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == list, "docs/agent-lines.md is out of date: run this test with UPDATE=1");
}

/// Every kind of line in our recordings, with the events that lines of that kind became.
fn lines_of(dialect: Dialect) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in own(dialect) {
        let bytes = agents_side(read(&path));
        let mut splitter = LineSplitter::default();
        let mut decoder = dialect.decoder();
        let mut take = |line: stablehand_core::Line<'_>| {
            let mut events = Vec::new();
            decoder.line(&line, &json::scan(line.bytes), Depth::Full, &mut events);
            let kind = decoder.last_type();
            let is_known = !events.iter().any(|it| matches!(it, EventKind::Unrecognized { .. }));
            if !kind.is_empty() && is_known {
                found.entry(kind.to_owned()).or_default().extend(events.iter().map(name));
            }
        };
        for piece in bytes.chunks(4096) {
            let space = splitter.space();
            space[..piece.len()].copy_from_slice(piece);
            splitter.filled(piece.len());
            while let Some(line) = splitter.next() {
                take(line);
            }
        }
        while let Some(line) = splitter.finish() {
            take(line);
        }
    }
    found
}

/// The name of an event; of an item with what it is.
fn name(event: &EventKind) -> String {
    let (EventKind::ItemStarted { item } | EventKind::ItemCompleted { item }) = event else {
        return event.name().to_owned();
    };
    let item = serde_json::to_value(item).unwrap();
    let kind = item.get("kind").and_then(Value::as_str).unwrap_or("item");
    format!("{} {kind}", event.name())
}
