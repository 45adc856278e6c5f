//! Any text is redacted without a panic, once and for all, and no secret that is planted in it survives.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stablehand_core::redact::{Flow, Lines, Redactor};
use std::sync::OnceLock;

/// Known to the redactor; not made of what the input can add to.
const KNOWN: &str = "\u{1}kN0wn-value\u{1}";

fn redactor() -> &'static Redactor {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    REDACTOR.get_or_init(|| Redactor::builder().value(KNOWN).value("redacted:").build())
}

fuzz_target!(|bytes: &[u8]| {
    let redactor = redactor();
    let text = String::from_utf8_lossy(bytes).replace('\u{1}', "");
    let once = redactor.redact(&text).into_owned();
    assert_eq!(redactor.redact(&once), once);
    let _ = redactor.redact_bytes(bytes);
    let json = redactor.redact_json_text(&text).into_owned();
    assert_eq!(redactor.redact_json_text(&json), json);

    // JSON stays JSON, and both ways to it agree.
    let mut value = serde_json::json!({ "a": [&text], "secret": { "token": &text } });
    let line = value.to_string();
    let read: serde_json::Value =
        serde_json::from_str(&redactor.redact_json_text(&line)).expect("JSON");
    redactor.redact_json(&mut value);
    assert_eq!(read, value);

    // A known value is found wherever it is put.
    let middle = text.floor_char_boundary(text.len() / 2);
    let (before, after) = text.split_at(middle);
    let planted = format!("{before}{KNOWN}{after}");
    assert!(!redactor.redact(&planted).contains(KNOWN));
    let mut flow = Flow::default();
    let mut shown = String::new();
    let size = usize::from(bytes.first().copied().unwrap_or(1)).max(1);
    let mut rest = planted.as_str();
    while !rest.is_empty() {
        let (piece, left) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        shown.push_str(&flow.push(redactor, piece));
        rest = left;
    }
    shown.push_str(&flow.finish(redactor));
    // Words longer than any token are passed on as they come.
    if planted.len() < 4096 {
        assert!(!shown.contains(KNOWN), "{shown:?}");
    }
    let mut lines = Lines::default();
    for line in planted.split_inclusive('\n') {
        let _ = lines.line(redactor, line);
    }
});
