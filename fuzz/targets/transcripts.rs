//! Any bytes as an agent's own transcript: no panic, and every event can be written and read back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stablehand_core::decode::{Beside, Dialect};
use stablehand_core::event::EventKind;
use stablehand_core::time::UnixMillis;
use stablehand_fuzz::{Cutting, split};

fuzz_target!(|input: &[u8]| {
    let (cutting, bytes) = Cutting::take(input);
    let (lines, _) = split(bytes, cutting);
    let beside = Beside { modified: UnixMillis(1_790_000_000_000), ..Beside::default() };
    for dialect in Dialect::ALL {
        let Some(mut decoder) = dialect.transcript(&beside) else { continue };
        let mut events = Vec::new();
        for line in &lines {
            decoder.line(&line.line(), &mut events);
        }
        decoder.finish(&mut events);
        let sessions = events.iter().filter(|(_, kind)| is_session(kind)).count();
        assert!(sessions <= 1, "a transcript is of one session");
        for (_, kind) in &events {
            let text = serde_json::to_vec(kind).expect("an event that cannot be written");
            let back: EventKind =
                serde_json::from_slice(&text).expect("an event that cannot be read");
            assert_eq!(back.name(), kind.name());
        }
    }
});

fn is_session(kind: &EventKind) -> bool {
    matches!(kind, EventKind::SessionStarted { .. })
}
