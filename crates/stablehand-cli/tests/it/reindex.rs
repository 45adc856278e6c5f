//! The index of the logs from outside: runs fill it, nothing about it harms a run, and it is made
//! anew whatever became of it.

use crate::support::{self, agent_output, env, secs};
use stablehand_store::{FILE, Store};
use stablehand_testkit::{Run, TestEnv};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A turn that takes long enough for the index to hear of it.
const SLOW: &str = "init s-1\nassistant Oats for everybody.\nsleep 6s\nresult Fed.";

/// The same, a little shorter: what would be indexed, would be by then.
const BRIEF: &str = "init s-1\nassistant Oats for everybody.\nsleep 1200ms\nresult Fed.";

/// With time enough to be silent in.
fn run(env: &TestEnv) -> Run<'_> {
    support::run(env).flag("--idle-timeout", "30s")
}

fn print(env: &TestEnv) -> Run<'_> {
    support::print(env).flag("--idle-timeout", "30s")
}

/// So many passages have the word, as the index is.
fn found(env: &TestEnv, word: &str) -> u32 {
    if !env.log_dir().join(FILE).exists() {
        return 0;
    }
    let store = Store::open(&env.log_dir()).unwrap();
    let sql = "SELECT count(*) FROM words WHERE words MATCH ?";
    store.database().query_row(sql, [word], |row| row.get(0)).unwrap()
}

#[test]
fn a_run_fills_the_index_while_it_goes_on() {
    for wrap in [false, true] {
        let env = env(SLOW);
        let mut running = if wrap { print(&env).start() } else { run(&env).start() };
        env.wait_for("the passage in the index", || found(&env, "oats") == 1);
        assert!(running.is_running(), "while it goes on");
        let mode = fs::metadata(env.log_dir().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        running.signal(nix::sys::signal::Signal::SIGTERM);
        running.finish().assert_code(143);
        assert!(!env.log().has("index_behind"));
    }
}

#[test]
fn a_conversation_fills_it_too() {
    let env = env("prompt\ninit s-1\nassistant Oats for everybody.\nresult Fed.");
    let mut talk = env
        .stablehand("talk")
        .args(["--agent", "claude"])
        .flag("--agent-bin", env.bins().fake_agent.clone())
        .flag("--log-dir", env.log_dir())
        .variable("FAKE_AGENT_DIALECT", "claude")
        .stdin_open()
        .start();
    talk.type_line("feed them");
    env.wait_for("the passage in the index", || found(&env, "oats") >= 1);
    talk.close_stdin();
    talk.finish();
}

#[test]
fn a_run_can_leave_the_index_alone() {
    let asked = env(BRIEF);
    run(&asked).args(["--no-index"]).finish().assert_code(0);
    let told = env(BRIEF);
    print(&told).variable("STABLEHAND_NO_INDEX", "1").finish().assert_code(0);
    for env in [asked, told] {
        assert!(!env.log_dir().join(FILE).exists());
    }
}

#[test]
fn an_index_that_cannot_be_kept_harms_no_run() {
    // Not a database, and not ours to replace.
    let env = env(BRIEF);
    fs::create_dir_all(env.log_dir().join(FILE).join("taken")).unwrap();
    let finished = run(&env).finish();
    finished.assert_code(0);
    assert!(finished.stdout == agent_output(BRIEF));
    assert_eq!(finished.stderr, "");
    assert!(env.log().has("index_behind"), "{:?}", env.log().names());
}

#[test]
fn a_file_that_may_not_grow_harms_no_run() {
    let env = env(BRIEF);
    let limited = ["/bin/sh", "-c", "ulimit -f 40; exec \"$@\"", "sh"];
    let finished = run(&env).through(limited).finish();
    finished.assert_code(0);
    assert!(finished.stdout == agent_output(BRIEF));
    assert!(env.log().has("run_ended") && env.log().has("index_behind"));
    reindex(&env, &[]).finish().assert_code(0);
    assert_eq!(found(&env, "oats"), 1);
}

fn reindex<'e>(env: &'e TestEnv, args: &[&'static str]) -> Run<'e> {
    let folder = env.log_dir().display().to_string();
    let run = env.stablehand("sessions").args(["reindex", "--log-dir", &folder]);
    run.args(args.iter().copied())
}

#[test]
fn it_is_made_anew_whatever_became_of_it() {
    let env = env("init s-1\nassistant Oats for everybody.\nresult Fed.");
    run(&env).finish().assert_code(0);
    let index = env.log_dir().join(FILE);
    for garbage in ["", "hello", "SQLite format 3\0 and no more"] {
        fs::write(&index, garbage).unwrap();
        let finished = reindex(&env, &["--json"]).finish();
        finished.assert_code(0);
        let [said] = &finished.stdout_json()[..] else { panic!("one object") };
        assert_eq!((&said["logs"], &said["runs"]), (&1.into(), &1.into()));
        assert_eq!(found(&env, "oats"), 1);
    }
    let finished = reindex(&env, &[]).finish();
    assert!(finished.stdout_text().starts_with("1 logs ("), "{}", finished.stdout_text());
    reindex(&env, &["--verify"]).finish().assert_code(0);
    let store = Store::open(&env.log_dir()).unwrap();
    store.database().execute_batch("UPDATE runs SET title = 'another'").unwrap();
    let verified = reindex(&env, &["--verify"]).finish();
    verified.assert_code(1);
    assert!(verified.stdout_text().contains("`runs` has 2 rows"), "{}", verified.stdout_text());
    store.database().execute_batch("PRAGMA user_version = 77").unwrap();
    let refused = reindex(&env, &[]).finish();
    refused.assert_code(1);
    let text = &refused.stderr;
    assert!(text.contains("made by a newer version") && text.contains("hint: "), "{text}");
    assert_eq!(fs::read_dir(env.log_dir()).unwrap().count(), 3 + 2, "no file is left over");
}

#[test]
fn without_logs_it_says_so() {
    let env = env("");
    let nowhere = reindex(&env, &[]).finish();
    nowhere.assert_code(1);
    assert!(nowhere.stderr.contains("there are no logs"));
    fs::create_dir_all(env.log_dir()).unwrap();
    let empty = reindex(&env, &[]).deadline(secs(20)).finish();
    assert!(empty.stdout_text().starts_with("0 logs"));
}
