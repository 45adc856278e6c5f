//! `sessions ls`: what is listed, how it stands, and what an odd folder does to it.

use super::*;
use crate::support::{GOOD, env, run, secs};
use nix::sys::signal::Signal;

/// The objects of `ls --json` with these flags.
fn listed(env: &TestEnv, flags: &[&str]) -> Vec<Value> {
    let words: Vec<&str> = ["ls", "--json"].iter().chain(flags).copied().collect();
    // A run may be going on meanwhile.
    let run = sessions(env, &words).start().finish_alone();
    run.assert_code(0);
    match serde_json::from_slice(&run.stdout) {
        Ok(Value::Array(listed)) => listed,
        other => panic!("an array: {other:?}"),
    }
}

fn ids(listed: &[Value]) -> Vec<&str> {
    listed.iter().filter_map(|it| it["id"].as_str()).collect()
}

/// Three sessions of three agents on three days.
fn three(env: &TestEnv) {
    let work = Path::new("/home/rider/hay");
    let three = [("cursor", "success"), ("claude", "hung"), ("codex", "agent_error")];
    for (day, (agent, outcome)) in (0..).zip(three) {
        let mut log = Written::new("cursor");
        log.later(day * 86_400_000).spawned(&format!("r-{agent}"), agent, json!({}));
        log.later(10).session(&format!("s-{agent}"), &work.join(agent));
        log.later(10).user(&format!("feed the {agent}")).says("Fed.").later(990).ended(outcome);
        log.save(env, &format!("{agent}.jsonl"));
    }
}

#[test]
fn real_runs_are_listed_the_newest_first() {
    let env = env(&format!("{GOOD}---\nread-stdin\ninit s-hangs\nhang\n"));
    run(&env).finish().assert_code(0);
    run(&env).finish().assert_code(2);
    let listed = listed(&env, &[]);
    let [hung, good] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((&hung["outcome"], &hung["verdict"]), (&json!("hung"), &json!("first_response")));
    assert_eq!(good["outcome"], "success");
    assert_eq!((&good["agent"], &good["turns"]), (&json!("cursor"), &json!(1)));
    assert_eq!(good["title"], "feed the ponies");
    assert_eq!(good["runs"], 1);
    assert!(good["workspace"].is_string(), "{good}");
    assert!(Path::new(good["logs"][0].as_str().unwrap()).is_file(), "{good}");
    for time in ["started_at", "last_at"] {
        assert!(good[time].as_str().unwrap().ends_with('Z'), "{good}");
    }
    let table = sessions(&env, &["ls"]).finish();
    table.assert_code(0);
    let text = table.stdout_text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("ID ") && lines[0].ends_with("OUTCOME"), "{text}");
    assert!(lines[1].contains(" just now ") && lines[1].ends_with("hung"), "{text}");
    assert!(lines[2].contains("feed the ponies") && lines[2].ends_with("success"), "{text}");
    // What is listed can be shown by what is listed.
    let id = lines[2].split(' ').next().unwrap().to_owned();
    assert!(sessions(&env, &["show", &id]).finish().stdout_text().contains("Fed."));
    env.assert_nobody_left();
}

#[test]
fn flags_choose() {
    let env = place();
    three(&env);
    let of = |flags: &[&str]| ids(&listed(&env, flags)).join(" ");
    assert_eq!(of(&[]), "s-codex s-claude s-cursor");
    assert_eq!(of(&["--agent", "claude"]), "s-claude");
    assert_eq!(of(&["--limit", "1"]), "s-codex");
    assert_eq!(of(&["--outcome", "failed"]), "s-codex s-claude");
    assert_eq!(of(&["--outcome", "hung,success"]), "s-claude s-cursor");
    assert_eq!(of(&["--outcome", "running"]), "");
    assert_eq!(of(&["--workspace", "/home/rider/hay/codex/"]), "s-codex");
    assert_eq!(of(&["--workspace", "/home/rider"]), "s-codex s-claude s-cursor");
    assert_eq!(of(&["--model", "pony"]), "s-codex s-claude s-cursor");
    assert_eq!(of(&["--source", "log"]), "s-codex s-claude s-cursor");
    assert_eq!(of(&["--since", "2026-10-04"]), "s-codex s-claude");
    assert_eq!(of(&["--until", "2026-10-04"]), "s-claude s-cursor");
    assert_eq!(of(&["--since", "2026-10-03T00:00:00Z", "--until", "2026-10-03"]), "s-cursor");
    assert_eq!(of(&["--since", "1h"]), "");
    for wrong in [["--since", "soon"], ["--outcome", "fine"]] {
        sessions(&env, &["ls", wrong[0], wrong[1]]).finish().assert_code(64);
    }
}

#[test]
fn a_run_is_running_until_nobody_writes_its_log() {
    let env = env("read-stdin\ninit s-live\nuser hello\nwait-file never\n");
    let agent = run(&env).flag("--startup-timeout", "60s").flag("--idle-timeout", "60s");
    let agent = agent.deadline(secs(60)).start();
    env.wait_for_log("session_started");
    let outcome = || listed(&env, &[])[0]["outcome"].clone();
    assert_eq!(outcome(), "running");
    assert_eq!(listed(&env, &["--outcome", "running"]).len(), 1);
    // It is not pruned, whatever is asked for.
    let all = ["prune", "--json", "--all", "--older-than", "0s", "--max-size", "0"];
    let pruned: Value = serde_json::from_slice(&sessions(&env, &all).start().finish_alone().stdout)
        .expect("an object");
    assert_eq!(pruned["kept"][0]["reason"], "running", "{pruned}");
    agent.signal(Signal::SIGKILL);
    drop(agent.finish_alone());
    assert_eq!(outcome(), "unfinished");
    assert_eq!(listed(&env, &["--outcome", "running"]).len(), 0);
    env.wait_for("the tree to be gone", || env.living().is_empty());
}

#[test]
fn what_an_agent_wrote_drives_no_terminal() {
    let env = place();
    let evil = "a\u{1b}]0;owned\u{7}b\u{1b}[31mred\u{202e}\r\nnext";
    let mut log = Written::new("cursor");
    log.spawned("r\u{1b}[2J", "cursor", json!({ "cwd": "/x\u{1b}[31m\n/y" }));
    log.session("s\u{1b}[31m\n", Path::new("/x\u{1b}[31m\n/y"))
        .user(evil)
        .says(evil)
        .ended("success");
    log.save(&env, "evil.jsonl");
    for words in [&["ls"][..], &["search", "red"], &["stats"], &["stats", "--by", "workspace"]] {
        let run = sessions(&env, words).finish();
        run.assert_code(0);
        let text = run.stdout_text();
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(bad), "{words:?}: {text:?}");
        assert!(!text.contains("owned"), "{words:?}: {text:?}");
    }
}

#[test]
fn an_odd_folder_is_no_error() {
    let env = place();
    let list = || sessions(&env, &["ls"]).finish();
    assert!(list().assert_code(0).stdout_text().starts_with("no session in "));
    assert_eq!(listed(&env, &[]), Vec::<Value>::new());
    three(&env);
    fs::write(env.log_dir().join("notes.jsonl"), "not a log\n").unwrap();
    fs::write(env.log_dir().join("empty.jsonl"), "").unwrap();
    fs::create_dir(env.log_dir().join("folder.jsonl")).unwrap();
    assert_eq!(listed(&env, &[]).len(), 3);
    // A damaged index is made again.
    for damage in [&b"garbage"[..], &[0; 8192], b""] {
        fs::write(env.log_dir().join("index.sqlite"), damage).unwrap();
        assert_eq!(listed(&env, &[]).len(), 3, "{} bytes", damage.len());
    }
    // One of a newer version is left alone, and what to do is said.
    let index = env.log_dir().join("index.sqlite");
    let mut bytes = fs::read(&index).unwrap();
    bytes[60..64].copy_from_slice(&7_u32.to_be_bytes());
    for end in ["-wal", "-shm"] {
        let _none = fs::remove_file(format!("{}{end}", index.display()));
    }
    fs::write(&index, &bytes).unwrap();
    let refused = list();
    refused.assert_code(1);
    assert!(refused.stderr.contains("newer version"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint:"), "{}", refused.stderr);
}
