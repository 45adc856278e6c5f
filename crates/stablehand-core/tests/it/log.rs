//! The decisions of the log: those that exist are read and written as they were, and all are documented.

use serde_json::{Map, Value};
use stablehand_core::record::{DecisionKind, Record};
#[cfg(feature = "schema")]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What every decision has beside its fields.
const FRAME: [&str; 4] = ["time", "level", "ts", "event"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests do")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The records that version 0.1 wrote: one of every shape, and those of whole logs.
fn old_records() -> Vec<String> {
    let folders = ["fixtures/logs/records", "fixtures/logs"];
    let files = folders.map(|folder| std::fs::read_dir(workspace().join(folder)).unwrap());
    let paths = files.into_iter().flatten().map(|entry| entry.unwrap().path());
    let logs = paths.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let texts: Vec<String> = logs.map(|log| read(&log)).collect();
    texts.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
}

#[test]
fn old_records_are_read_and_written_as_they_were() {
    let mut kinds: Vec<DecisionKind> = Vec::new();
    for line in old_records() {
        let Record::Decision(decision) = Record::read(line.as_bytes()) else { continue };
        let record = decision.record().unwrap_or_else(|| panic!("not known: {line}"));
        let mut then: Map<String, Value> = serde_json::from_str(&line).unwrap();
        // A call that began was DEBUG then.
        if record.kind() != DecisionKind::ToolCallOpened {
            assert_eq!(then["level"], record.level().name(), "{line}");
        }
        then.retain(|name, _| !FRAME.contains(&name.as_str()));
        let now = serde_json::to_value(record).unwrap();
        assert_eq!(now, Value::Object(then), "{line}");
        kinds.push(record.kind());
    }
    kinds.sort_unstable();
    kinds.dedup();
    assert!(kinds.len() > 60, "only {kinds:?}");
}

#[test]
fn a_field_that_does_not_fit_costs_none_of_its_neighbours() {
    let line = br#"{"msg":"run_ended","ts":"soon","outcome":"trampled","exit_code":{},"exit_code":3,"verdict":17,"elapsed_ms":-1,"forced":null,"text":"x","new":[1]}"#;
    let Record::Decision(decision) = Record::read(line) else { panic!("no decision") };
    let record = serde_json::to_value(decision.record()).unwrap();
    let told: Map<String, Value> =
        record.as_object().unwrap().clone().into_iter().filter(|(_, it)| !it.is_null()).collect();
    let wanted = serde_json::json!({
        "msg": "run_ended", "outcome": "trampled", "exit_code": 3, "forced": false, "text": "x",
    });
    assert_eq!(Value::Object(told), wanted);
    let new = br#"{"msg":"something_new","ts":7,"what":[{}]}"#;
    let Record::Decision(decision) = Record::read(new) else { panic!("no decision") };
    assert!(decision.record().is_none());
    assert_eq!((decision.name(), decision.at().0), ("something_new", 7));
    assert_eq!(
        decision.fields().get("what").map(stablehand_core::json::Value::raw),
        Some(&b"[{}]"[..])
    );
}

/// The rows of the table of decisions, by name; a record may have two.
fn documented() -> Vec<(String, String)> {
    let text = read(&workspace().join("docs/log-format.md"));
    let name = |row: &str| Some(row.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let decisions = text.split("**Decisions**").nth(1).unwrap().split("## Order").next().unwrap();
    // The first row is the head of the table.
    decisions.lines().filter_map(|row| Some((name(row)?, row.to_owned()))).skip(1).collect()
}

#[test]
fn every_decision_is_documented_and_no_other() {
    let documented = documented();
    for kind in DecisionKind::ALL {
        let mut rows = documented.iter().filter(|(name, _)| name == kind.name());
        assert!(rows.next().is_some(), "`{}` is not in docs/log-format.md", kind.name());
    }
    for (name, _) in &documented {
        assert!(DecisionKind::by_name(name).is_some(), "`{name}` is no decision");
    }
}

#[cfg(feature = "schema")]
#[test]
fn every_field_of_a_decision_is_documented() {
    let schema = schemars::schema_for!(stablehand_core::record::DecisionRecord).to_value();
    let documented = documented();
    let row_of = |name: &str| -> String {
        documented.iter().filter(|(it, _)| it == name).map(|(_, row)| row.as_str()).collect()
    };
    let variants = schema["oneOf"].as_array().unwrap();
    assert_eq!(variants.len(), DecisionKind::ALL.len());
    let mut rows: BTreeMap<&str, String> = BTreeMap::new();
    for variant in variants {
        let name = variant["properties"]["msg"]["const"].as_str().unwrap();
        let fields = variant["$ref"].as_str().unwrap().trim_start_matches("#/$defs/");
        // Where records share a type, each has some of its fields.
        rows.entry(fields).or_default().push_str(&row_of(name));
    }
    for (fields, row) in rows {
        let properties = &schema["$defs"][fields]["properties"];
        for field in properties.as_object().into_iter().flat_map(Map::keys) {
            let known = row.contains(&format!("`{field}`"));
            assert!(known, "`{field}` of `{fields}` is not in docs/log-format.md: {row}");
        }
    }
}
