//! What the tests of the dialects have in common.

use super::super::{Decode, Depth};
use crate::event::{EventKind, ItemBody, TextRole, Tool, TurnEnd};
use crate::json::{self, Scan};
use crate::line::{Line, LineSplitter, Part};

/// Decodes bytes with a splitter that cuts lines above 64 KiB.
pub(in super::super) fn decode_bytes<D: Decode + Default>(
    bytes: &[u8],
    depth: Depth,
) -> Vec<EventKind> {
    let mut decoder = D::default();
    let mut splitter = LineSplitter::new(1 << 16, 1 << 10);
    let mut out = Vec::new();
    let mut take = |line: Line<'_>| {
        decoder.line(&line, &json::scan(line.bytes), depth, &mut out);
    };
    for piece in bytes.chunks(1 << 14) {
        splitter.space()[..piece.len()].copy_from_slice(piece);
        splitter.filled(piece.len());
        while let Some(line) = splitter.next() {
            take(line);
        }
    }
    while let Some(line) = splitter.finish() {
        take(line);
    }
    decoder.finish(depth, &mut out);
    out
}

pub(in super::super) fn decode<D: Decode + Default>(lines: &[&str]) -> Vec<EventKind> {
    decode_bytes::<D>((lines.join("\n") + "\n").as_bytes(), Depth::Full)
}

pub(in super::super) fn names(events: &[EventKind]) -> Vec<&'static str> {
    events.iter().map(EventKind::name).collect()
}

/// The text for the user.
pub(in super::super) fn said(events: &[EventKind]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            EventKind::ItemDelta { role: TextRole::Message, text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// What was completed.
pub(in super::super) fn bodies(events: &[EventKind]) -> Vec<&ItemBody> {
    events
        .iter()
        .filter_map(|event| match event {
            EventKind::ItemCompleted { item } => Some(&item.body),
            _ => None,
        })
        .collect()
}

/// The tools that were completed.
pub(in super::super) fn tools(events: &[EventKind]) -> Vec<Tool> {
    bodies(events)
        .into_iter()
        .filter_map(|body| match body {
            ItemBody::Tool(tool) => Some((**tool).clone()),
            _ => None,
        })
        .collect()
}

/// How the turns ended.
pub(in super::super) fn ends(events: &[EventKind]) -> Vec<TurnEnd> {
    events
        .iter()
        .filter_map(|event| match event {
            EventKind::TurnEnded { end, .. } => Some(end.clone()),
            _ => None,
        })
        .collect()
}

/// Events without the texts that skimming leaves out.
pub(in super::super) fn without_texts(mut events: Vec<EventKind>) -> Vec<EventKind> {
    for event in &mut events {
        match event {
            EventKind::TurnStarted { prompt, .. } => *prompt = None,
            EventKind::TurnEnded { text, .. } => *text = None,
            EventKind::ItemDelta { text, .. } => text.clear(),
            EventKind::HookReceived { payload, .. } => *payload = serde_json::Value::Null,
            EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } => {
                match &mut item.body {
                    ItemBody::Message { text } | ItemBody::Reasoning { text } => text.clear(),
                    ItemBody::Plan { text, .. } => *text = None,
                    ItemBody::FileChange { diff, .. } => *diff = None,
                    ItemBody::Tool(tool) => {
                        tool.output = None;
                        tool.diff = None;
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    events
}

/// Skimming leaves texts out and nothing else. Digests are not on the wire and have to be compared
/// too; `PartialEq` does.
pub(in super::super) fn assert_skim_is_full_without_texts<D: Decode + Default>(bytes: &[u8]) {
    let full = without_texts(decode_bytes::<D>(bytes, Depth::Full));
    assert_eq!(decode_bytes::<D>(bytes, Depth::Skim), full);
}

/// Any cut of a line is survived: as the end of a stream, as a part of a line that is too long, and
/// with long strings in it.
pub(in super::super) fn assert_cuts_are_survived<D: Decode + Default>(
    line: &str,
    at: usize,
    pad: usize,
) {
    let cut = line.as_bytes().get(..at.min(line.len())).unwrap();
    assert_skim_is_full_without_texts::<D>(cut);
    for part in [Part::First, Part::Middle, Part::Last] {
        let head = Line { bytes: cut, offset: 0, part, newline: false };
        let mut full = Vec::new();
        D::default().line(&head, &Scan::Text, Depth::Full, &mut full);
        let mut skim = Vec::new();
        D::default().line(&head, &Scan::Text, Depth::Skim, &mut skim);
        assert_eq!(skim, without_texts(full));
    }
    let long = line.replacen(":\"", &format!(":\"{}", "x".repeat(pad * 64)), 9);
    assert_skim_is_full_without_texts::<D>(long.as_bytes());
}

/// The agent's word for each line.
pub(in super::super) fn types<D: Decode + Default>(lines: &[&str]) -> Vec<String> {
    let mut decoder = D::default();
    let mut word = |text: &&str| {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        decoder.line(&line, &json::scan(line.bytes), Depth::Skim, &mut Vec::new());
        decoder.last_type().to_owned()
    };
    lines.iter().map(&mut word).collect()
}
