//! The checked-in JSON Schema is what the types say.
//!
//! `UPDATE=1 cargo test -p stablehand-core --features schema` writes it anew.

use serde_json::Value;
use stablehand_core::Event;
use std::path::Path;

#[test]
#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests do")]
fn the_schema_file_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/event.schema.json");
    let stored = std::fs::read(&path).unwrap_or_default();
    let schema = schemars::schema_for!(Event).to_value();
    // Compared as trees: the order of keys depends on features that others choose.
    if serde_json::from_slice::<Value>(&stored).is_ok_and(|stored| stored == schema) {
        return;
    }
    assert!(
        std::env::var_os("UPDATE").is_some_and(|value| value == "1"),
        "docs/event.schema.json is not what the types say; write it anew with \
         UPDATE=1 cargo test -p stablehand-core --features schema"
    );
    let text = serde_json::to_string_pretty(&schema).unwrap();
    std::fs::write(&path, format!("{text}\n")).unwrap();
}
