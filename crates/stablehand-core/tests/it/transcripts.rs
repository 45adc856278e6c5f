//! Transcripts that the real agents wrote of themselves, read back: every event, with its time.
//!
//! `fixtures/transcripts/<agent>/<scene>.jsonl` is what the agent wrote (long texts of its maker are
//! left out), `<scene>.expect.txt` what is read in it; `UPDATE=1` writes that anew. The other tests
//! take the same files apart: cut anywhere, with wrong bytes in them, line by line.

use crate::recordings;
use proptest::prelude::*;
use stablehand_core::decode::{Beside, Dialect, Timed};
use stablehand_core::event::{EventKind, Item, ItemBody, NoticeLevel, Unrecognized};
use stablehand_core::id::ItemId;
use stablehand_core::line::LineSplitter;
use stablehand_core::time::UnixMillis;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/transcripts")
}

fn beside() -> Beside {
    Beside {
        name: "a-file".to_owned(),
        folder: "a-folder".to_owned(),
        cwd: None,
        modified: UnixMillis(1_790_000_000_000),
    }
}

/// Reads a transcript with a splitter whose lines may be `most` bytes long.
fn read(dialect: Dialect, bytes: &[u8], most: usize) -> (Vec<Timed>, Option<String>) {
    let mut decoder = dialect.transcript(&beside()).unwrap();
    let mut splitter = LineSplitter::new(most, 64);
    let mut out = Vec::new();
    for piece in bytes.chunks(1000) {
        splitter.space()[..piece.len()].copy_from_slice(piece);
        splitter.filled(piece.len());
        while let Some(line) = splitter.next() {
            decoder.line(&line, &mut out);
        }
    }
    while let Some(line) = splitter.finish() {
        decoder.line(&line, &mut out);
    }
    decoder.finish(&mut out);
    let title = decoder.title().map(str::to_owned);
    (out, title)
}

/// The transcripts of each dialect that keeps some, sorted.
pub(crate) fn by_dialect() -> Vec<(Dialect, Vec<PathBuf>)> {
    let files = |dialect: Dialect| {
        let entries = std::fs::read_dir(folder().join(dialect.name())).ok()?;
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|file| file.extension().is_some_and(|ending| ending == "jsonl"))
            .collect();
        files.sort();
        Some((dialect, files))
    };
    Dialect::ALL.iter().filter_map(|dialect| files(*dialect)).collect()
}

/// What a transcript tells, without the times. Its title has no event and comes as a notice.
pub(crate) fn events(dialect: Dialect, bytes: &[u8]) -> Vec<EventKind> {
    let (told, title) = read(dialect, bytes, 1 << 20);
    let mut events: Vec<EventKind> = told.into_iter().map(|(_, event)| event).collect();
    if let Some(text) = title {
        let body = ItemBody::Notice { level: NoticeLevel::Info, text };
        events.push(EventKind::ItemCompleted { item: Item { id: ItemId(u64::MAX), body } });
    }
    events
}

/// Every recording: its dialect, its file, its bytes.
fn recordings() -> Vec<(Dialect, PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for (dialect, files) in by_dialect() {
        for file in files {
            let bytes = recordings::read(&file);
            found.push((dialect, file, bytes));
        }
    }
    assert!(found.len() >= 40, "{}", found.len());
    found
}

fn written(events: &[Timed]) -> String {
    let mut text = String::new();
    for (at, event) in events {
        let event = serde_json::to_string(event).unwrap();
        text.push_str(&at.rfc3339());
        text.push(' ');
        text.push_str(&event);
        text.push('\n');
    }
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the expectations are files")]
fn recordings_are_read_as_expected() {
    let mut wrong = Vec::new();
    for (dialect, file, bytes) in recordings() {
        let told = written(&read(dialect, &bytes, 1 << 20).0);
        let expected = file.with_extension("expect.txt");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected, &told).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != told {
            wrong.push(file);
        }
    }
    assert_eq!(wrong, Vec::<PathBuf>::new(), "UPDATE=1 writes the expectations anew");
}

#[test]
fn every_line_of_a_recording_is_understood() {
    for (dialect, file, bytes) in recordings() {
        let odd: Vec<_> = read(dialect, &bytes, 1 << 20)
            .0
            .into_iter()
            .filter(|(_, event)| matches!(event, EventKind::Unrecognized { .. }))
            .collect();
        assert_eq!(odd, Vec::new(), "{}", file.display());
    }
}

/// An agent that writes at this moment has written half a line.
#[test]
fn half_a_line_at_the_end_is_told_as_that_and_costs_nothing_before_it() {
    for (dialect, file, bytes) in recordings() {
        let whole = bytes.len() - bytes.iter().rev().skip(1).position(|b| *b == b'\n').unwrap() - 1;
        let torn = read(dialect, &bytes[..whole + 20], 1 << 20).0;
        let why = torn.iter().find_map(|(_, event)| match event {
            EventKind::Unrecognized { why, .. } => Some(*why),
            _ => None,
        });
        assert_eq!(why, Some(Unrecognized::Torn), "{}", file.display());
        let told = |events: &[Timed]| {
            let is_told = |event: &&EventKind| matches!(event, EventKind::TurnStarted { .. });
            events.iter().map(|(_, event)| event).filter(is_told).count()
        };
        assert_eq!(told(&torn), told(&read(dialect, &bytes[..whole], 1 << 20).0));
    }
}

/// Nothing that a file can say is taken for more than it is.
fn assert_sound(dialect: Dialect, bytes: &[u8], most: usize) {
    for (at, event) in read(dialect, bytes, most).0 {
        assert!((946_684_800_000..4_102_444_800_000).contains(&at.0), "{at:?} of {event:?}");
        let json = serde_json::to_string(&event).unwrap();
        let back: EventKind = serde_json::from_str(&json).unwrap();
        assert_eq!(back.name(), event.name());
    }
}

proptest! {
    #[test]
    fn whatever_happened_to_a_file_it_is_read(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        most in 64usize..4096,
    ) {
        let all = recordings();
        let (dialect, _, mut bytes) = all[which.index(all.len())].clone();
        bytes.truncate(cut.index(bytes.len()) + 1);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        assert_sound(dialect, &bytes, most);
        // And in the words of another agent.
        for other in [Dialect::Claude, Dialect::Codex, Dialect::Gemini, Dialect::OpenCode] {
            assert_sound(other, &bytes, 1 << 20);
        }
    }
}
