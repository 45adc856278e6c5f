//! `stablehand doctor LOG`: real runs with a scripted fault, and what is said about each afterwards.
//!
//! What takes hours, a broken machine or bad luck is tried in core, on logs that were written for it.

mod damaged;

use crate::support::{GOOD, env, run};
use nix::sys::signal::Signal;
use serde_json::Value;
use stablehand_testkit::{Run, TestEnv};

/// `stablehand doctor` about a log of this place.
fn doctor<'e>(env: &'e TestEnv, which: &str, more: &[&str]) -> Run<'e> {
    let folder = env.log_dir();
    let folder = folder.to_str().expect("a plain path");
    env.stablehand("doctor").args([which, "--log-dir", folder]).args(more.iter().copied())
}

fn report(env: &TestEnv) -> Value {
    let run = doctor(env, "latest", &["--json"]).finish();
    assert_eq!(run.stderr, "", "a whole log is read without a word");
    serde_json::from_slice(&run.stdout).expect("one JSON object")
}

/// The first cause and how sure it is.
fn first(report: &Value) -> (String, String) {
    let cause = &report["causes"][0];
    let text = |name: &str| cause[name].as_str().unwrap_or("nothing").to_owned();
    (text("cause"), text("sure"))
}

/// The remarks, but for the one that only says how busy this machine is.
fn remarks(report: &Value) -> Vec<&str> {
    let list = report["remarks"].as_array().expect("remarks");
    let kinds = list.iter().filter_map(|remark| remark["cause"].as_str());
    kinds.filter(|kind| *kind != "starved").collect()
}

/// A script, flags for the run, the cause that comes first, and how sure it is.
type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c str, &'c str);

/// Runs each script with its flags and compares what is said first.
fn assert_causes(cases: &[Case<'_>]) {
    for (script, flags, cause, sure) in cases {
        let env = env(script);
        let run = flags.iter().fold(run(&env), |run, (name, value)| run.flag(name, value));
        run.finish();
        let report = report(&env);
        let found = first(&report);
        assert_eq!(found, ((*cause).to_owned(), (*sure).to_owned()), "{script}\n{report:#}");
        let evidence = report["causes"][0]["evidence"].as_array().expect("evidence");
        assert!(!evidence.is_empty(), "{cause} rests on nothing");
    }
}

#[test]
fn runs_that_never_began() {
    assert_causes(&[
        ("hang", &[], "no_start", "possible"),
        ("stderr Reading additional input from stdin...\nhang", &[], "waits_for_stdin", "likely"),
        ("stderr Error: not logged in\nexit 1", &[], "not_logged_in", "likely"),
        ("say {\"kind\":\"hello\"}\nexit 0", &[], "foreign_lines", "likely"),
        ("exit 0", &[], "said_nothing", "possible"),
        ("exit 127", &[], "broken_install", "likely"),
    ]);
}

#[test]
fn runs_that_fell_silent() {
    let retries = "init\nretry 1 overloaded\nretry 2 overloaded\nretry 3 overloaded\nhang";
    assert_causes(&[
        ("init\nuser go\nhang", &[], "stalled", "possible"),
        (
            "init\nassistant-before-tool Hm.\nburn 20s",
            &[("--max-extensions", "1")],
            "busy_silence",
            "likely",
        ),
        (retries, &[], "retries_in_vain", "likely"),
        ("init\ndie STOP", &[], "process_stopped", "likely"),
    ]);
}

#[test]
fn tools_that_did_not_come_back() {
    let again = "read c1 /srv/hay\nread-done c1 /srv/hay\n".repeat(5);
    let livelock = format!("init\n{again}hang");
    assert_causes(&[
        ("init\nshell c1 500ms make hay\nhang", &[], "waits_for_permission", "likely"),
        ("init\nspawn pgrp\nshell c1 500ms sudo make hay\nhang", &[], "waits_for_input", "likely"),
        ("init\nspawn pgrp\nshell c1 500ms npm run dev\nhang", &[], "endless_command", "likely"),
        ("init\nspawn pgrp\nshell c1 500ms make hay\nhang", &[], "tool_silent", "possible"),
        (&livelock, &[("--livelock", "3")], "livelock", "certain"),
    ]);
}

#[test]
fn runs_that_ended_without_a_result() {
    assert_causes(&[
        ("init\ndie SEGV", &[], "crashed", "certain"),
        ("init\ndie KILL", &[], "killed", "certain"),
        ("init\nraw {\"type\":\"resu\nexit 0", &[], "output_lost", "likely"),
        ("init\nassistant All done.\nexit 0", &[], "result_lost", "possible"),
        ("init\nresult-error 429 Too Many Requests\nexit 1", &[], "rate_limited", "likely"),
        ("init\nstderr write: No space left on device\nexit 1", &[], "disk_full", "likely"),
        (
            "init\nassistant-before-tool Hm.\nsleep 20s",
            &[("--max-wall", "700ms")],
            "limit_set",
            "certain",
        ),
    ]);
}

#[test]
fn a_good_run_is_not_accused_and_what_was_odd_is_remarked() {
    let good = env(GOOD);
    run(&good).finish().assert_code(0);
    doctor(&good, "latest", &[]).finish().assert_code(0);
    let told = report(&good);
    assert_eq!((&told["standing"], remarks(&told).len()), (&"well".into(), 0), "{told:#}");
    let odd = [
        ("read-stdin\ninit\nresult Done.\nhang", "no_exit"),
        ("read-stdin\ninit\nspawn daemon\nresult Done.\nexit 0", "left_behind"),
    ];
    for (script, remark) in odd {
        let env = env(script);
        run(&env).finish().assert_code(0);
        let report = report(&env);
        assert_eq!((&report["standing"], remarks(&report)), (&"well".into(), vec![remark]));
    }
}

#[test]
fn an_end_that_nobody_explains_is_left_unexplained() {
    let env = env("init\nstderr the hay is on fire\nexit 41");
    run(&env).finish().assert_code(1);
    let told = doctor(&env, "latest", &[]).finish();
    told.assert_code(1);
    let text = told.stdout_text();
    assert!(text.contains("cannot be told") && text.contains("the hay is on fire"), "{text}");
    assert_eq!(report(&env)["standing"], "unexplained");
}

#[test]
fn a_run_that_was_interrupted_and_one_whose_supervisor_was_killed() {
    for (signal, standing, cause) in
        [(Signal::SIGINT, "explained", "interrupted"), (Signal::SIGKILL, "open", "unfinished")]
    {
        let env = env("init\ntouch ready\nhang");
        let running = run(&env).flag("--idle-timeout", "30s").start();
        env.record("ready");
        env.wait_for_log("session_started");
        running.signal(signal);
        running.finish();
        let report = report(&env);
        assert_eq!((&report["standing"], first(&report).0), (&standing.into(), cause.to_owned()));
    }
}

#[test]
fn the_text_has_the_answer_the_evidence_and_no_secret() {
    let secret = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";
    let env = env(&format!(
        "init\nstderr key {secret} \\x1b]0;title\\x07\nshell c1 500ms curl -H 'Authorization: Bearer {secret}'\nhang"
    ));
    run(&env).finish().assert_code(2);
    let told = doctor(&env, "latest", &[]).finish();
    told.assert_code(1);
    let text = told.stdout_text();
    for part in [
        "run 1 of 1: cursor",
        "hung, exit status 2",
        "What it was doing\n  It ran a command for",
        "Likely cause",
        "likely    The agent says that a command runs",
        "Processes at the verdict",
        "fake-agent",
        "Stopped\n",
        "interrupt",
        "nobody outlived it",
        "Last events",
        "The end of standard error",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    let json = doctor(&env, "latest", &["--json"]).finish().stdout_text();
    for shown in [text, json] {
        assert!(!shown.contains(secret) && !shown.contains('\u{1b}'), "{shown}");
    }
}

#[test]
fn of_several_runs_the_bad_one_is_meant_unless_another_is_named() {
    let env =
        env("init s-1\nassistant-before-tool Hm.\nhang\n---\nread-stdin\ninit s-1\nresult Done.");
    run(&env).flag("--retries", "1").finish().assert_code(0);
    let number = |report: &Value| (report["run"]["number"].as_u64(), report["run"]["of"].as_u64());
    let told = report(&env);
    assert_eq!(number(&told), (Some(1), Some(2)));
    let id = told["run"]["id"].as_str().expect("an id").to_owned();
    for which in ["s-1", id.as_str()] {
        doctor(&env, which, &[]).finish().assert_code(1);
    }
    doctor(&env, "latest", &["--run", "2"]).finish().assert_code(0);
    let missing = doctor(&env, "latest", &["--run", "3"]).finish();
    missing.assert_code(1);
    assert!(
        missing.stderr.contains("no run 3") && missing.stderr.contains("it has 2"),
        "{}",
        missing.stderr
    );
    doctor(&env, "latest", &["--run", "0"]).finish().assert_code(64);
    env.stablehand("doctor").args(["--run", "1"]).finish().assert_code(64);
    let nobody = doctor(&env, "nobody", &[]).finish();
    nobody.assert_code(1);
    assert!(nobody.stderr.contains("no session or run"), "{}", nobody.stderr);
}
