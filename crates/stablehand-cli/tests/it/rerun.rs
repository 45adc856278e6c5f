//! `sessions replay` and `sessions tune`: runs once more from their logs.
//!
//! That every log is judged again as it was judged then is a part of every test (`TestEnv` does so when
//! it is dropped). Here are the commands, and the recordings of all agents.

use crate::support::{GOOD, PROMPT, bins, env, ms, run, secs, skip};
use serde_json::Value;
use stablehand_testkit::fixtures::{self, Recording};
use stablehand_testkit::{Run, TestEnv, judged};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

fn sessions<'e>(env: &'e TestEnv, command: &'e str, more: &[&'e str]) -> Run<'e> {
    let folder = env.log_dir();
    env.stablehand("sessions")
        .args([command])
        .args(more.iter().copied())
        .args(["--log-dir", folder.to_str().unwrap()])
}

fn replay<'e>(env: &'e TestEnv, more: &[&'e str]) -> Run<'e> {
    sessions(env, "replay", &[&["latest"], more].concat())
}

fn document(run: Run<'_>, code: i32) -> Value {
    let shown = format!("{run:?}");
    let done = run.finish();
    done.assert_code(code);
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{shown}: {error}"))
}

/// A turn with pauses, a tool, noise and an end without a newline.
const PAUSES: &str = r#"
    read-stdin
    init s-9
    sleep 600ms
    shell c1 30s make oats
    shell-done c1 0 1s make oats
    say a word of somebody else
    sleep 600ms
    assistant Fed.
    result Fed.
"#;

#[test]
fn a_run_is_played_again_byte_for_byte_and_in_every_face() {
    let env = env(&[PAUSES; 3].join("\n---\n"));
    let bytes = run(&env).finish();
    bytes.assert_code(0);
    let again = replay(&env, &["--speed", "max"]).finish();
    again.assert_code(0);
    assert!(again.stdout == bytes.stdout, "{}", again.stdout_text());
    let by_id = sessions(&env, "replay", &["s-9", "--speed", "max"]).finish();
    assert!(by_id.stdout == bytes.stdout);
    for face in ["text", "events"] {
        let live = env.stablehand_run().flag("--output-format", face).args([PROMPT]).finish();
        live.assert_code(0);
        let again = replay(&env, &["--speed", "max", "--output-format", face]).finish();
        again.assert_code(0);
        assert_eq!(again.stdout_text(), live.stdout_text(), "{face}");
    }
}

#[test]
fn a_run_is_played_at_its_own_pace_or_faster() {
    let env = env(PAUSES);
    run(&env).finish().assert_code(0);
    replay(&env, &[]).finish().assert_code(0).assert_at_least(ms(1200));
    let fast = replay(&env, &["--speed", "max"]).finish();
    let capped = replay(&env, &["--max-pause", "10ms"]).finish();
    let half = replay(&env, &["--speed", "0.5"]).finish();
    half.assert_code(0).assert_at_least(ms(2400));
    assert!(fast.stdout == half.stdout && capped.stdout == half.stdout);
}

#[test]
fn who_has_read_enough_ends_a_replay() {
    let env = env("init s-1\nevents assistant 20000 block\nresult done");
    run(&env).finish().assert_code(0);
    for face in ["stream-json", "text", "events"] {
        let more = ["--speed", "max", "--output-format", face];
        let mut replay = replay(&env, &more).stdout_unread().start();
        let mut first = [0; 10];
        let mut out = replay.take_stdout();
        out.read_exact(&mut first).unwrap();
        drop(out);
        let done = replay.finish();
        done.assert_code(0);
        assert!(done.stderr.is_empty(), "{face}: {}", done.stderr);
    }
}

#[test]
fn a_log_is_checked_and_a_changed_one_is_found_out() {
    let env = env("
        init s-1
        shell c1 30s make oats
        shell-done c1 0 1s make oats
        hang
    ");
    run(&env).finish().assert_code(2);
    let checked = replay(&env, &["--check"]).finish();
    checked.assert_code(0);
    let text = checked.stdout_text();
    assert!(text.starts_with("1 run, ") && text.ends_with(": nothing differs\n"), "{text}");
    let report = document(replay(&env, &["--check", "--json"]), 0);
    assert_eq!((&report["same"], &report["runs"]), (&true.into(), &1.into()));

    env.damages_logs();
    let path = env.log().path;
    let log = fs::read_to_string(&path).unwrap();
    let changed = log.replace(r#""idle_ms":1000"#, r#""idle_ms":60000"#);
    assert_ne!(changed, log, "the limits are in the log");
    fs::write(&path, &changed).unwrap();
    let checked = replay(&env, &["--check"]).finish();
    checked.assert_code(1);
    let text = checked.stdout_text();
    assert!(text.contains("in the log, not decided now: verdict idle_after_tool"), "{text}");
    let report = document(replay(&env, &["--check", "--json"]), 1);
    assert_eq!(report["same"], false);
    assert_eq!(report["differences"][0]["sort"], "unexpected");

    // The end is compared too, and so is how many bytes there are.
    fs::write(&path, log.replace(r#""outcome":"hung""#, r#""outcome":"success""#)).unwrap();
    let checked = replay(&env, &["--check"]).finish();
    checked.assert_code(1);
    assert!(
        checked.stdout_text().contains("the end: now outcome hung"),
        "{}",
        checked.stdout_text()
    );
}

#[test]
fn a_log_of_an_older_version_is_checked_as_far_as_that_goes() {
    let env = env("init s-1\nshell c1 30s make oats\nshell-done c1 0 1s make oats\nresult done");
    run(&env).finish().assert_code(0);
    env.damages_logs();
    let path = env.log().path;
    let log = fs::read_to_string(&path).unwrap();
    let new = ["monitor_started", "monitor_told", "witness_asked"];
    let old: String = log
        .split_inclusive('\n')
        .filter(|line| !new.iter().any(|msg| line.contains(&format!(r#""msg":"{msg}""#))))
        .collect();
    fs::write(&path, format!("{old}{{\"time\":\"torn")).unwrap();
    let checked = replay(&env, &["--check"]).finish();
    checked.assert_code(0);
    let text = checked.stdout_text();
    assert!(text.contains("nothing differs (1 of an older version, without limits"), "{text}");
    assert!(text.contains("1 line(s) that are no records"), "{text}");
    let tried = replay(&env, &["--idle-timeout", "5s"]).finish();
    tried.assert_code(0);
    assert!(tried.stdout_text().contains("does not say what limits held"));
}

#[test]
fn other_limits_are_tried_on_what_was() {
    let env = env("
        init s-1
        assistant Looking.
        sleep 700ms
        shell c1 30s make oats
        hang
    ");
    run(&env).flag("--limit-grace", "100ms").flag("--max-wall", "2s").finish().assert_code(2);
    let tried = replay(&env, &["--idle-timeout", "400ms"]).finish();
    tried.assert_code(0);
    let text = tried.stdout_text();
    assert!(text.contains("would have been given up after 4"), "{text}");
    assert!(text.contains("the agent was heard again"), "{text}");
    let tried = document(replay(&env, &["--idle-timeout", "400ms", "--json"]), 0);
    let [finding] = tried["runs"].as_array().unwrap().as_slice() else { panic!("{tried}") };
    assert_eq!(finding["verdict"]["kind"], "idle_after_text");
    assert_eq!(finding["limits_known"], true);
    assert_eq!(
        (&finding["outcome"], &finding["actual"][0]),
        (&"limit_reached".into(), &"wall_clock".into())
    );
    assert!(finding["verdict"]["heard_after_ms"].as_u64().unwrap() >= 200, "{finding}");
    // More patience than it had: the call would have been waited for to the end of its own time.
    let tried = document(replay(&env, &["--max-wall", "1h", "--json"]), 0);
    let verdict = &tried["runs"][0]["verdict"];
    assert_eq!(verdict["kind"], "tool", "{tried}");
    assert!((30_300..40_000).contains(&verdict["at_ms"].as_u64().unwrap()), "{verdict}");
    assert_eq!(verdict["evidence"]["open_tools"][0]["command"], "make oats");
    let tried = replay(&env, &["--max-wall", "1h"]).finish();
    assert!(tried.stdout_text().contains("after it was given up"), "{}", tried.stdout_text());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let env = env(GOOD);
    let nothing = replay(&env, &[]).finish();
    nothing.assert_code(1);
    assert!(nothing.stderr.contains("there is no log in"), "{}", nothing.stderr);
    let nothing = sessions(&env, "tune", &[]).finish();
    nothing.assert_code(1);
    assert!(nothing.stderr.contains("--log-dir"), "{}", nothing.stderr);
    run(&env).finish().assert_code(0);
    for wrong in [
        &["--speed", "0"][..],
        &["--speed", "fast"],
        &["--max-pause", "soon"],
        &["--output-format", "quiet"],
        &["--check", "--speed", "2"],
        &["--check", "--idle-timeout", "5s"],
        &["--idle-timeout", "5s", "--speed", "2"],
        &["--idle-timeout", "0s"],
        &["--json"],
    ] {
        let run = replay(&env, wrong).finish();
        run.assert_code(64);
        assert!(!run.stderr.is_empty() && run.stdout.is_empty(), "{wrong:?}");
    }
    let unknown = sessions(&env, "replay", &["no-such-session"]).finish();
    unknown.assert_code(1);
    assert!(unknown.stderr.contains("no session or run"), "{}", unknown.stderr);
}

/// Many runs of one kind, from the logs of two.
#[test]
fn limits_are_tuned_by_many_runs() {
    let env = env("
        sleep 20ms
        init s-1
        assistant Looking.
        sleep 400ms
        assistant Fed.
        result Fed.
        ---
        sleep 20ms
        init s-2
        assistant Looking.
        hang
    ");
    run(&env).finish().assert_code(0);
    run(&env).finish().assert_code(2);
    let few = sessions(&env, "tune", &[]).finish();
    few.assert_code(0);
    assert!(
        few.stdout_text().contains("too few runs to propose anything"),
        "{}",
        few.stdout_text()
    );
    for log in env.logs() {
        for n in 0..12 {
            fs::copy(&log.path, log.path.with_extension(format!("{n}.jsonl"))).unwrap();
        }
    }
    fs::write(env.log_dir().join("torn.jsonl"), "{\"time\":\"torn\nnot json\n").unwrap();
    let tuned = document(sessions(&env, "tune", &["--json"]), 0);
    let [group] = tuned["groups"].as_array().unwrap().as_slice() else { panic!("{tuned}") };
    assert_eq!(
        (&group["agent"], &group["runs"], &group["hung"]),
        (&"cursor".into(), &26.into(), &13.into())
    );
    let limits = group["limits"].as_array().unwrap();
    let idle = limits.iter().find(|limit| limit["limit"] == "idle").unwrap();
    assert!(idle["survived_ms"].as_u64().unwrap() >= 250, "{idle}");
    assert_eq!(idle["hung"], 13);
    let rungs = idle["rungs"].as_array().unwrap();
    let minute = rungs.iter().find(|rung| rung["value_ms"] == 60_000).unwrap();
    assert_eq!((&minute["caught"], &minute["killed"]), (&13.into(), &0.into()));
    let flags = group["flags"].as_array().unwrap();
    assert!(flags.contains(&"--idle-timeout 30s".into()), "{flags:?}");
    let tuned = sessions(&env, "tune", &[]).finish();
    tuned.assert_code(0);
    assert!(tuned.stderr.contains("2 line(s) are no records"), "{}", tuned.stderr);
    let text = tuned.stdout_text();
    assert!(text.contains("cursor") && text.contains("proposed: --startup-timeout"), "{text}");
    let other = document(sessions(&env, "tune", &["--agent", "codex", "--json"]), 0);
    assert_eq!(other["groups"], Value::Array(Vec::new()));
}

#[test]
fn pieces_of_a_line_on_standard_error_are_signs_of_life_and_on_record() {
    let env = TestEnv::new(bins());
    let agent = env.path("agent.sh");
    let dots = r#"i=0; while [ $i -lt 20 ]; do printf . >&2; sleep 0.1; i=$((i + 1)); done"#;
    let result =
        r#"{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s"}"#;
    fs::write(&agent, format!("#!/bin/sh\ncat >/dev/null\n{dots}\necho '{result}'\n")).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    run(&env).flag("--agent-bin", &agent).finish().assert_code(0).assert_at_least(secs(2));
    let log = env.log();
    let heard = log.all("monitor_told").iter().filter(|told| told["what"] == "heard").count();
    assert!((2..=12).contains(&heard), "{heard} of 20 dots are on record");
}

/// Plays recordings and judges the logs again; several in one run, since starting takes the time.
fn judge(agent: &str, recordings: &[Recording], at_once: usize) {
    for few in recordings.chunks(at_once) {
        let cat = |recording: &Recording| format!("cat {}\n", recording.path.display());
        let env = env(&format!("read-stdin\n{}", few.iter().map(cat).collect::<String>()));
        let names: Vec<&str> = few.iter().map(|recording| recording.name.as_str()).collect();
        let bytes = run(&env).flag("--agent", agent).deadline(secs(60)).finish();
        let differences = judged::differences_below(&env.log_dir());
        assert!(differences.is_empty(), "{agent}: {names:?}: {differences}");
        let again = replay(&env, &["--speed", "max"]).finish();
        assert!(again.stdout == bytes.stdout, "{agent}: {names:?} is played otherwise");
    }
}

fn judge_all(agent: &str) {
    judge(agent, &fixtures::own(agent), 6);
    match fixtures::shared(agent) {
        Some(shared) => judge(agent, &shared, 12),
        None => skip("no others' recordings beside this checkout; our own are judged"),
    }
}

#[test]
fn recordings_of_cursor_are_judged_again() {
    judge_all("cursor");
}

#[test]
fn recordings_of_claude_are_judged_again() {
    judge_all("claude");
}

#[test]
fn recordings_of_codex_are_judged_again() {
    judge_all("codex");
}

#[test]
fn recordings_of_gemini_are_judged_again() {
    judge_all("gemini");
}

#[test]
fn recordings_of_opencode_are_judged_again() {
    judge_all("opencode");
}

#[test]
fn recordings_of_qwen_are_judged_again() {
    judge_all("qwen");
}

#[test]
fn recordings_of_grok_are_judged_again() {
    judge_all("grok");
}

#[test]
fn recordings_of_agy_are_judged_again() {
    judge_all("agy");
}
