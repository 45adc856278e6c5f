//! Renames the words that say what a line is, one at a time: no decoder may drop or guess one.
//!
//! Every `type`, `kind`, `subtype`, `status` and the like in every recording is replaced by a word
//! that no agent knows. The events must then show it: as one more `unrecognized`, as the word itself,
//! or as one more outcome that is unknown. They may stay as they were only where the decoder does not
//! go by the word at all: then no other word that stands in its place somewhere changes them either.

use crate::recordings::Source;
use serde_json::Value;
use stablehand_core::event::{EventKind, ItemBody};
use std::collections::{BTreeMap, BTreeSet};

/// The members whose values are words of the protocol.
const KEYS: &[&str] = &[
    "type",
    "kind",
    "subtype",
    "status",
    "state",
    "event",
    "method",
    "sessionUpdate",
    "stopReason",
    "stop_reason",
    "outcome",
    "step_type",
    "reason",
    "role",
    "stored",
    "severity",
    "level",
];

/// Words that mean something nearly everywhere, to find out whether a decoder goes by a member.
const TELLING: &[&str] = &["failed", "error", "cancelled", "completed", "in_progress"];

/// Where a word stands: the keys from the line down, `*` for a place in a list.
type Place = Vec<String>;

/// One word of a line, with the indices that lead to it.
struct Word {
    pointer: String,
    place: Place,
    text: String,
}

#[test]
fn no_unknown_word_vanishes() {
    let mut lost = Vec::new();
    for source in Source::all() {
        lost.extend(check(&source));
    }
    lost.sort();
    lost.dedup();
    assert!(lost.is_empty(), "{} mutations vanish:\n{}", lost.len(), lost.join("\n"));
}

fn check(source: &Source) -> Vec<String> {
    let recordings: Vec<(&str, Vec<Value>)> =
        source.recordings.iter().map(|it| (it.name.as_str(), lines(&it.bytes))).collect();
    let mut vocabulary: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
    for (_, lines) in &recordings {
        for word in lines.iter().flat_map(words) {
            vocabulary.entry(word.place).or_default().insert(word.text);
        }
    }
    let mut lost = Vec::new();
    let mut done = BTreeSet::new();
    for (name, lines) in &recordings {
        let stream = Stream::new(source, lines);
        for (at, line) in lines.iter().enumerate() {
            for word in words(line) {
                // Extensions may be ignored: the protocol says so of names that begin like this.
                let is_extension = word.text.starts_with('_');
                let context = context(line, &word);
                if is_extension || !done.insert(context.clone()) {
                    continue;
                }
                for renamed in [format!("zz_{}", word.text), format!("{}_zz", word.text)] {
                    let other = |there: &str| stream.with(at, line, &word.pointer, there);
                    let after = other(&renamed);
                    if stream.shows(&after, &renamed) {
                        continue;
                    }
                    let others = vocabulary.get(&word.place).into_iter().flatten();
                    let mut others = others.map(String::as_str).chain(TELLING.iter().copied());
                    let goes_by_it = after != stream.events
                        || others.any(|there| there != word.text && other(there) != stream.events);
                    if goes_by_it {
                        let how = if after == stream.events { "guessed" } else { "dropped" };
                        let dialect = &source.name;
                        lost.push(format!("{dialect} {how} {context} ({name}:{})", at + 1));
                    }
                }
            }
        }
    }
    lost
}

/// A recording, decoded once, to be compared with what it becomes when one word is another.
struct Stream<'a> {
    source: &'a Source,
    lines: Vec<String>,
    events: Vec<EventKind>,
}

impl<'a> Stream<'a> {
    fn new(source: &'a Source, lines: &[Value]) -> Self {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        let events = decoded(source, &lines.concat());
        Stream { source, lines, events }
    }

    /// The events with another word in one place.
    fn with(&self, at: usize, line: &Value, pointer: &str, word: &str) -> Vec<EventKind> {
        let mut line = line.clone();
        *line.pointer_mut(pointer).unwrap() = word.into();
        let bytes =
            [&self.lines[..at], &[format!("{line}\n")], &self.lines[at + 1..]].concat().concat();
        decoded(self.source, &bytes)
    }

    /// Whether the events show that there is an unknown word.
    fn shows(&self, after: &[EventKind], word: &str) -> bool {
        if unrecognized(after) > unrecognized(&self.events) {
            return true;
        }
        let same = self.events.iter().zip(after).take_while(|(one, other)| one == other).count();
        let before = serde_json::to_string(&self.events[same..]).unwrap();
        let after = serde_json::to_string(&after[same..]).unwrap();
        let unknown = |events: &str| events.matches(r#""unknown""#).count();
        after.contains(word) || unknown(&after) > unknown(&before)
    }
}

/// The events without digests, which change with everything.
fn decoded(source: &Source, bytes: &str) -> Vec<EventKind> {
    let mut events = source.decode(bytes.as_bytes());
    for event in &mut events {
        if let EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } = event
            && let ItemBody::Tool(tool) = &mut item.body
        {
            tool.digest = 0;
        }
    }
    events
}

fn unrecognized(events: &[EventKind]) -> usize {
    events.iter().filter(|event| matches!(event, EventKind::Unrecognized { .. })).count()
}

/// The lines that are JSON objects.
fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let objects = lines.filter_map(|line| serde_json::from_slice(line).ok());
    objects.filter(Value::is_object).map(shortened).collect()
}

/// A line with its long texts cut: their length says nothing here, and takes most of the time.
fn shortened(mut line: Value) -> Value {
    match &mut line {
        Value::String(text) => *text = text.chars().take(200).collect(),
        Value::Array(list) => list.iter_mut().for_each(|it| *it = shortened(it.take())),
        Value::Object(members) => members.values_mut().for_each(|it| *it = shortened(it.take())),
        _ => {}
    }
    line
}

/// All words of a line.
fn words(line: &Value) -> Vec<Word> {
    let mut found = Vec::new();
    walk(line, &mut String::new(), &mut Vec::new(), &mut found);
    found
}

fn walk(value: &Value, pointer: &mut String, place: &mut Place, found: &mut Vec<Word>) {
    let mut step = |key: &str, in_place: &str, value: &Value| {
        let len = pointer.len();
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        place.push(in_place.to_owned());
        if let Some(word) = value.as_str().filter(|word| KEYS.contains(&key) && is_word(word)) {
            let (pointer, place) = (pointer.clone(), place.clone());
            found.push(Word { pointer, place, text: word.to_owned() });
        }
        walk(value, pointer, place, found);
        place.pop();
        pointer.truncate(len);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| step(key, key, value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(n, value)| step(&n.to_string(), "*", value));
        }
        _ => {}
    }
}

/// Whether a text is a word of a protocol and not prose.
fn is_word(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(fits)
}

/// The word with where it stands and the words on the way there: two of the same are one case.
fn context(line: &Value, word: &Word) -> String {
    let mut said = Vec::new();
    let mut at = line;
    for step in word.pointer.split('/').skip(1) {
        for key in KEYS {
            if let Some(text) = at.get(key).and_then(Value::as_str).filter(|text| is_word(text)) {
                said.push(format!("{key}={text}"));
            }
        }
        at = match at {
            Value::Array(list) => &list[step.parse::<usize>().unwrap()],
            other => &other[&step.replace("~1", "/").replace("~0", "~")],
        };
    }
    format!("{}={} in {}", word.place.join("."), word.text, said.join(","))
}
