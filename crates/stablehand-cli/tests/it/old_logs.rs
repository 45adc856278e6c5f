//! Logs that earlier versions wrote, and what is read from them: events, causes, judgement, index.
//!
//! `fixtures/logs` holds the logs, and beside each what the version that wrote it said about it.
//! `UPDATE=1` writes what this version says; do that only for a log of a new format.

#![expect(clippy::expect_used, reason = "a test that cannot go on says where it stopped")]

use crate::support::bins;
use stablehand_store::Store;
use stablehand_testkit::{TestEnv, fixtures};
use std::fs;
use std::path::{Path, PathBuf};

/// The logs, by name.
fn logs() -> Vec<PathBuf> {
    let folder = fixtures::workspace().join("fixtures/logs");
    let files =
        fs::read_dir(folder).expect("the fixtures").map(|entry| entry.expect("an entry").path());
    let is_log = |path: &PathBuf| path.to_string_lossy().ends_with(".jsonl");
    let mut logs: Vec<PathBuf> = files.filter(is_log).collect();
    logs.sort();
    assert!(logs.len() > 5, "{logs:?}");
    logs
}

/// Compares what this version says of a log with what the earlier one said, kept beside it.
fn same(path: &Path, extension: &str, said: &str) {
    let kept = path.with_extension(extension);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&kept, said).expect("the fixture is written");
    }
    let before = fs::read_to_string(&kept).unwrap_or_default();
    for (number, (now, before)) in said.lines().zip(before.lines()).enumerate() {
        assert_eq!(now, before, "{} line {}", kept.display(), number + 1);
    }
    assert_eq!(said.lines().count(), before.lines().count(), "{}", kept.display());
}

/// The log in a place of its own, under its name.
fn placed(env: &TestEnv, log: &Path) -> PathBuf {
    fs::create_dir_all(env.log_dir()).expect("the folder");
    let copy = env.log_dir().join(log.file_name().expect("a name"));
    fs::copy(log, &copy).expect("the copy");
    copy
}

#[test]
fn old_logs_give_the_same_events_causes_and_judgement() {
    let env = TestEnv::new(bins());
    for log in logs() {
        let copy = placed(&env, &log);
        let name = copy.to_str().unwrap();
        let run = |args: &[&str]| {
            let all = args.iter().chain([&name]).copied();
            env.stablehand("sessions").args(all).finish()
        };
        let events = run(&["replay", "--speed", "max", "--output-format", "events"]);
        same(&log, "events", &events.stdout_text());
        let doctor = env.stablehand("doctor").args(["--json", name]).finish();
        same(&log, "doctor", &doctor.stdout_text().replace(name, "LOG"));
        run(&["replay", "--check"]).assert_code(0);
    }
}

#[test]
fn old_logs_give_the_same_index() {
    let env = TestEnv::new(bins());
    for log in logs() {
        placed(&env, &log);
    }
    let folder = env.log_dir();
    let reindex =
        env.stablehand("sessions").args(["reindex", "--log-dir", folder.to_str().unwrap()]);
    reindex.finish().assert_code(0);
    let dump = Store::open(&folder).unwrap().dump().unwrap();
    let dump = dump.replace(folder.to_str().unwrap(), "LOGS");
    same(&fixtures::workspace().join("fixtures/logs/all.jsonl"), "index", &dump);
}
