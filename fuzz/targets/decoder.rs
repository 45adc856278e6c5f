//! Any bytes as an agent's stream: no panic, and skimming leaves out texts and nothing else.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stablehand_core::decode::{CursorDecoder, Decode, Depth};
use stablehand_core::event::{EventKind, ItemBody};
use stablehand_core::json;
use stablehand_fuzz::{Cutting, Owned, split};

fuzz_target!(|input: &[u8]| {
    let (cutting, bytes) = Cutting::take(input);
    let (lines, _) = split(bytes, cutting);
    let (mut full, full_types) = decode(&lines, Depth::Full);
    let (skim, skim_types) = decode(&lines, Depth::Skim);
    // What faces get can be written and read: an event is never lost on its way.
    for kind in &full {
        let text = serde_json::to_vec(kind).expect("an event that cannot be written");
        let back: EventKind = serde_json::from_slice(&text).expect("an event that cannot be read");
        assert_eq!(back.name(), kind.name());
    }
    without_texts(&mut full);
    assert_eq!(full, skim);
    assert_eq!(full_types, skim_types);
});

fn decode(lines: &[Owned], depth: Depth) -> (Vec<EventKind>, Vec<String>) {
    let mut decoder = CursorDecoder::default();
    let (mut kinds, mut types) = (Vec::new(), Vec::new());
    for line in lines {
        decoder.line(&line.line(), &json::scan(&line.bytes), depth, &mut kinds);
        types.push(decoder.last_type().to_owned());
    }
    decoder.finish(depth, &mut kinds);
    (kinds, types)
}

/// Takes out what skimming leaves out.
fn without_texts(events: &mut [EventKind]) {
    for event in events {
        match event {
            EventKind::TurnStarted { prompt, .. } => *prompt = None,
            EventKind::TurnEnded { text, .. } => *text = None,
            EventKind::ItemDelta { text, .. } => text.clear(),
            EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } => {
                match &mut item.body {
                    ItemBody::Message { text } | ItemBody::Reasoning { text } => text.clear(),
                    ItemBody::Plan { text, .. } => *text = None,
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
}
