//! The tables of `fixtures/policy`, decided one by one.

use stablehand_policy::{CaseTable, Policy};
use std::path::Path;

/// Tables that need a JSON Schema validator are run through the command.
const WITH_SCHEMAS: &[&str] = &["schemas.toml"];

#[expect(clippy::disallowed_methods, reason = "a policy does no I/O; its tests read tables")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_case_comes_out_as_the_table_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/policy");
    let mut cases = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|end| end != "toml") || WITH_SCHEMAS.contains(&name.as_str())
        {
            continue;
        }
        let table = CaseTable::parse(&read(&path), &name).unwrap();
        cases += table.len();
        let unchecked = |_: &_, _: &_| Some("no validator here".to_owned());
        for failure in table.run(&Policy::default(), &unchecked) {
            wrong.push(format!(
                "{} {:?}: {}\n{:#?}",
                failure.place, failure.call, failure.difference, failure.decision.parts
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {cases} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases >= 500, "the tables have shrunk to {cases} cases");
}
