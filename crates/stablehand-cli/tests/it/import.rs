//! `sessions import` from outside: what it says, what it refuses, what it leaves alone.

use crate::support::env;
use stablehand_testkit::{Finished, TestEnv};
use std::path::{Path, PathBuf};

fn recording(agent: &str, scene: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/transcripts");
    folder.join(agent).join(format!("{scene}.jsonl"))
}

/// A home in which Claude Code and Codex have been.
fn lived_in() -> TestEnv {
    let env = env("");
    let files = [
        ("claude", "shell", ".claude/projects/-home-rider-stable/a6647231.jsonl"),
        ("claude", "401", ".claude/projects/-home-rider-stable/08f66795.jsonl"),
        ("codex", "parallel", ".codex/sessions/2026/11/16/rollout-1.jsonl"),
        ("codex", "resumed", ".codex/archived_sessions/rollout-2.jsonl"),
    ];
    for (agent, scene, to) in files {
        let to = env.home().join(to);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(recording(agent, scene), to).expect("a copy");
    }
    env
}

fn import(env: &TestEnv, args: &[&str]) -> Finished {
    let all = [&["import"], args].concat();
    env.stablehand("sessions").args(all).finish()
}

#[test]
fn it_says_what_there_is_and_brings_it_into_the_index() {
    let env = lived_in();
    let logs = env.home().join(".local/state/stablehand/logs");
    let looked = import(&env, &["--dry-run"]);
    looked.assert_code(0);
    assert!(!logs.exists(), "a look makes nothing");
    let text = looked.stdout_text();
    let rows: Vec<Vec<&str>> = text.lines().map(|it| it.split_whitespace().collect()).collect();
    // Agent, files, size and its unit, sessions, turns, first, last.
    assert_eq!(rows[1][..2], ["claude", "2"], "{text}");
    assert_eq!(rows[1][4..8], ["2", "2", "2026-11-16", "2026-11-16"], "{text}");
    assert_eq!(rows[2][..2], ["codex", "1"], "{text}");
    assert_eq!(rows[3][4..6], ["1", "2"], "{text}");
    assert!(text.ends_with("nothing was imported (--dry-run)\n"), "{text}");

    let done = import(&env, &["--json"]);
    done.assert_code(0);
    let done: serde_json::Value = serde_json::from_str(&done.stdout_text()).expect("an object");
    assert_eq!((&done["indexed"], &done["dry_run"]), (&4.into(), &false.into()), "{done}");
    assert_eq!(done["found"][0]["agent"], "claude");
    assert!(logs.join("index.sqlite").exists() && logs.join("imports.json").exists());
    let again = import(&env, &["all"]).stdout_text();
    assert!(again.ends_with("all of it was in the index already\n"), "{again}");
    import(&env, &["codex", "--forget"]).assert_code(0);
    let left = std::fs::read_to_string(logs.join("imports.json")).expect("what is remembered");
    assert!(left.contains("projects") && !left.contains("sessions"), "{left}");
}

#[test]
fn a_folder_needs_its_agent() {
    let env = lived_in();
    let folder = env.home().join(".claude/projects");
    let from = folder.to_str().expect("a path");
    let refused = import(&env, &["--from", from]);
    refused.assert_code(64);
    assert!(refused.stderr.contains("import claude --from FOLDER"), "{}", refused.stderr);
    let found = import(&env, &["claude", "--from", from, "--dry-run"]);
    found.assert_code(0);
    assert!(found.stdout_text().contains(from));
    let missing = import(&env, &["claude", "--from", "/no/such/folder"]);
    missing.assert_code(1);
    assert!(missing.stderr.contains("/no/such/folder"), "{}", missing.stderr);
}

#[test]
fn where_nothing_is_it_says_where_it_looked() {
    let env = env("");
    let nothing = import(&env, &["gemini"]);
    nothing.assert_code(1);
    assert!(nothing.stderr.contains(".gemini/tmp") && nothing.stderr.contains("--from"));
    import(&env, &["cursor"]).assert_code(64);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let env = lived_in();
    let packed = env.home().join(".codex/sessions/rollout-3.jsonl.zst");
    std::fs::write(&packed, b"no\x1b[31m").expect("a file");
    let done = import(&env, &["codex"]);
    done.assert_code(0);
    assert!(done.stderr.contains("rollout-3.jsonl.zst` is left out: "), "{}", done.stderr);
}
