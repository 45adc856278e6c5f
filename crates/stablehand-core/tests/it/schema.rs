//! The checked-in JSON Schemas are what the types say.
//!
//! `UPDATE=1 cargo test -p stablehand-core --features schema` writes it anew.

use serde_json::Value;
use stablehand_core::Event;
use stablehand_core::record::DecisionRecord;
use std::path::Path;

#[test]
fn the_schema_files_are_up_to_date() {
    compare("event", &schemars::schema_for!(Event).to_value());
    compare("log", &schemars::schema_for!(DecisionRecord).to_value());
}

#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests do")]
fn compare(name: &str, schema: &Value) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let path = docs.join(format!("{name}.schema.json"));
    let stored = std::fs::read(&path).unwrap_or_default();
    // Compared as trees: the order of keys depends on features that others choose.
    if serde_json::from_slice::<Value>(&stored).is_ok_and(|stored| stored == *schema) {
        return;
    }
    assert!(
        std::env::var_os("UPDATE").is_some_and(|value| value == "1"),
        "docs/{name}.schema.json is not what the types say; write it anew with \
         UPDATE=1 cargo test -p stablehand-core --features schema"
    );
    let text = serde_json::to_string_pretty(schema).unwrap();
    std::fs::write(&path, format!("{text}\n")).unwrap();
}
