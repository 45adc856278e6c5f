//! The tables of `fixtures/policy`, decided one by one.

use stablehand_policy::{CaseTable, Policy};
use std::collections::BTreeSet;
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

/// The commands of the table of ordinary uses, without those whose every word is text.
fn ordinary() -> Vec<String> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/policy/ordinary-read-only.toml");
    let table: toml::Table = toml::from_str(&read(&path)).unwrap();
    let commands = table["case"].as_array().unwrap().iter().flat_map(|case| {
        case["command"].as_array().unwrap().iter().map(|command| command.as_str().unwrap())
    });
    commands.filter(|command| !command.contains("echo")).map(str::to_owned).collect()
}

/// Runs generated commands under the profile `read-only`; each must be asked about or denied.
fn assert_none_allowed(commands: &[String]) {
    // A list of strings is the same in JSON.
    let list = serde_json::to_string(commands).unwrap();
    let text =
        format!("[policy]\nprofile = 'read-only'\n[[case]]\nexpect = 'allow'\ncommand = {list}");
    let table = CaseTable::parse(&text, "generated").unwrap();
    let failures = table.run(&Policy::default(), &|_, _| None);
    let refused: BTreeSet<String> = failures.iter().map(|failure| failure.call.clone()).collect();
    let allowed: Vec<&String> =
        commands.iter().filter(|it| !refused.contains(&format!("Shell {it}"))).collect();
    assert!(allowed.is_empty(), "{} of {}: {allowed:#?}", allowed.len(), commands.len());
}

#[test]
fn the_ordinary_uses_are_many() {
    assert!(ordinary().len() >= 120, "{}", ordinary().len());
}

#[test]
fn an_unknown_option_leaves_no_ordinary_command_allowed() {
    let unknown = ["--zzz", "--zzz=x", "--no-zzz", "-\u{e9}", "'--z'zz", "\"-\u{e9}\"", "\\--zzz"];
    let mut commands = Vec::new();
    for command in ordinary().iter().filter(|command| !command.contains(" -- ")) {
        commands.extend(unknown.iter().map(|option| format!("{command} {option}")));
        if !command.contains(['|', '&', ';', '<']) {
            let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
            commands.extend(unknown.iter().map(|option| format!("{name} {option} {rest}")));
        }
    }
    assert!(commands.len() > 2_000, "{}", commands.len());
    assert_none_allowed(&commands);
}

#[test]
fn a_cut_option_or_a_longer_cluster_leaves_no_ordinary_command_allowed() {
    let mut commands = Vec::new();
    for command in ordinary()
        .iter()
        .filter(|command| !command.contains(['\'', '"', '|', '&']) && !command.contains(" -- "))
    {
        let words: Vec<&str> = command.split(' ').collect();
        for (at, word) in words.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
            let name = word.split('=').next().unwrap();
            let other = match name.strip_prefix("--") {
                // Both lengths of these are options.
                Some("" | "files" | "not") => continue,
                Some(_) => word.replacen(name, name.get(..name.len() - 1).unwrap(), 1),
                None if word.len() == 1 => continue,
                None => word.replacen('-', "-\u{e9}", 1),
            };
            let mut changed = words.clone();
            changed[at] = &other;
            commands.push(changed.join(" "));
        }
    }
    assert!(commands.len() > 100, "{}", commands.len());
    assert_none_allowed(&commands);
}
