//! What `stablehand run` has beyond `cursor-wrap`: formats, recovery, limits, leases, the demo.

use crate::support::{GOOD, PROMPT, agent_output, env, ms, run, secs};
use serde_json::Value;
use stablehand_testkit::{Finished, TestEnv};

/// The kinds of the events on standard output, in order.
fn kinds(finished: &Finished) -> Vec<String> {
    let kind = |line: &Value| line["event"]["type"].as_str().unwrap_or_default().to_owned();
    finished.stdout_json().iter().map(kind).collect()
}

/// `run` with events on standard output.
fn events(env: &TestEnv) -> stablehand_testkit::Run<'_> {
    run(env).flag("--output-format", "events")
}

#[test]
fn stream_json_is_byte_identical() {
    let script = "init\nraw noise \\xff\\r\\n\nresult done\nraw end";
    let env = env(script);
    let finished = run(&env).flag("--output-format", "stream-json").finish();
    finished.assert_code(0);
    assert_eq!(finished.stdout, agent_output(script));
}

#[test]
fn events_are_stamped_ordered_and_end_once() {
    let env = env(
        "init s-1\nuser hi\nshell c1 30s make\nshell-done c1 0 1s make\nassistant Made.\nresult Made.",
    );
    let finished = events(&env).finish();
    finished.assert_code(0);
    let lines = finished.stdout_json();
    let seqs: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
    assert!(lines.iter().all(|line| line["v"] == 1 && line["origin"].is_string()));
    let kinds = kinds(&finished);
    for kind in
        ["process.spawned", "session.started", "item.completed", "turn.ended", "process.exited"]
    {
        assert!(kinds.iter().any(|found| found == kind), "no `{kind}` in {kinds:?}");
    }
    assert_eq!(kinds.iter().filter(|kind| *kind == "session.ended").count(), 1);
    assert_eq!(kinds.last().unwrap(), "session.ended");
    assert_eq!(lines.last().unwrap()["event"]["end"], "success");
}

#[test]
fn text_shows_the_answer_and_quiet_shows_no_stream() {
    let script = format!("{GOOD}\n---\n{GOOD}");
    let env = env(&script);
    let text = run(&env).flag("--output-format", "text").finish();
    assert!(text.assert_code(0).stdout_text().contains("Fed."));
    let quiet = run(&env).flag("--output-format", "quiet").finish();
    assert!(!quiet.assert_code(0).stdout_text().contains("{\"type\""));
}

#[test]
fn a_killed_run_ends_with_the_last_text_and_the_reason() {
    let env = env("init\nassistant-before-tool Half an answer.\nhang");
    let finished = events(&env).finish();
    finished.assert_code(2);
    let told = finished.stdout_json();
    let event = |kind: &str| {
        let found = told.iter().map(|line| &line["event"]).filter(|event| event["type"] == kind);
        let found: Vec<_> = found.collect();
        assert_eq!(found.len(), 1, "{kind}: {told:?}");
        found[0].clone()
    };
    assert_eq!(told.last().unwrap()["event"]["type"], "session.ended");
    for kind in ["run.ended", "session.ended"] {
        assert_eq!(event(kind)["end"], "hung");
        assert_eq!(event(kind)["ended_by"], "supervisor");
    }
    assert_eq!(event("run.ended")["last_text"], "Half an answer.");
    let end = &event("turn.ended")["end"];
    assert_eq!((&end["kind"], &end["verdict"]), (&"stopped".into(), &"idle_after_text".into()));
    assert!(kinds(&finished).iter().any(|kind| kind == "health.changed"));
}

#[test]
fn a_run_that_did_nothing_is_tried_again_with_the_same_prompt() {
    let env = env(&format!("read-stdin\nhang\n---\n{GOOD}"));
    run(&env).flag("--retries", "1").deadline(secs(30)).finish().assert_code(0);
    assert_eq!(env.starts(), 2);
    assert_eq!(env.record("1.stdin").trim(), PROMPT);
    assert_eq!(env.record("2.stdin").trim(), PROMPT);
}

#[test]
fn a_run_with_side_effects_is_resumed_and_its_prompt_never_sent_again() {
    let first = "read-stdin\ninit s-1\nshell c1 30s rm -r old\nshell-done c1 0 1s rm -r old\nhang";
    let env = env(&format!("{first}\n---\nread-stdin\ninit s-1\nresult done"));
    let finished = run(&env).flag("--retries", "1").flag("--continue-prompt", "look, then go on");
    finished.deadline(secs(30)).finish().assert_code(0);
    assert_eq!(env.record("2.stdin").trim(), "look, then go on");
    assert_eq!(env.argv(2)[3..5], ["--resume", "s-1"]);
}

#[test]
fn the_default_continuation_is_not_the_prompt() {
    let first = "read-stdin\ninit s-1\nedit e1 /srv/a\nedit-done e1 /srv/a\nhang";
    let env = env(&format!("{first}\n---\nread-stdin\ninit s-1\nresult done"));
    run(&env).flag("--retries", "1").deadline(secs(30)).finish().assert_code(0);
    let continuation = env.record("2.stdin");
    assert!(!continuation.trim().is_empty() && !continuation.contains(PROMPT), "{continuation}");
}

#[test]
fn retries_end_with_the_verdict() {
    let env = env("hang\n---\nhang\n---\nhang");
    run(&env).flag("--retries", "1").deadline(secs(30)).finish().assert_code(2);
    assert_eq!(env.starts(), 2);
}

#[test]
fn the_old_tree_is_gone_before_the_next_try() {
    let env =
        env(&format!("spawn ignterm\nspawn daemon\nhang\n---\ntouch second\nwait-file go\n{GOOD}"));
    let running = run(&env).flag("--retries", "1").deadline(secs(40)).start();
    env.wait_for("the second start", || env.has_record("second"));
    let old: Vec<String> =
        env.living().into_values().filter(|line| line.contains("fake-child")).collect();
    assert!(old.is_empty(), "two trees at once: {old:?}");
    std::fs::write(env.record_dir().join("go"), "").unwrap();
    running.finish().assert_code(0);
}

#[test]
fn what_cannot_get_better_is_not_tried_again() {
    for line in
        ["Error: Authentication required. Run `agent login`.", "Cannot use this model: pony-9"]
    {
        let env = env(&format!("stderr {line}\nexit 1\n---\n{GOOD}"));
        run(&env).flag("--retries", "2").finish().assert_code(1);
        assert_eq!(env.starts(), 1, "after `{line}`");
    }
}

#[test]
fn an_error_result_is_not_tried_again() {
    let env = env(&format!(
        "init\nshell c1 30s make\nshell-done c1 0 1s make\nresult-error no\n---\n{GOOD}"
    ));
    run(&env).flag("--retries", "0").finish().assert_code(1);
    assert_eq!(env.starts(), 1);
}

#[test]
fn the_wall_clock_limit_stops_a_busy_agent() {
    let env = env(&format!("init\n{}result done", "delta on\nsleep 100ms\n".repeat(150)));
    let finished = events(&env).flag("--max-time", "1s").deadline(secs(25)).finish();
    assert_ne!(finished.code, Some(0));
    assert_eq!(finished.stdout_json().last().unwrap()["event"]["end"], "limit_reached");
}

#[test]
fn signs_of_life_without_progress_are_a_hang() {
    let again =
        r#"say {"type":"connection","subtype":"reconnecting","session_id":"s","attempt":1}"#;
    let env = env(&format!("init\n{}", format!("{again}\nsleep 200ms\n").repeat(60)));
    let finished = run(&env).flag("--no-progress-timeout", "1500ms").deadline(secs(25)).finish();
    finished.assert_code(2).assert_within(secs(11));
}

#[test]
fn the_limit_on_tool_calls_waits_for_the_open_tool() {
    let tool = |n: u32| {
        format!(
            "shell c{n} 30s make {n}\nsleep 300ms\nshell-done c{n} 0 300ms make {n}\ntouch tool-{n}\n"
        )
    };
    let tools: String = (1..=4).map(tool).collect();
    let env = env(&format!("init\n{tools}hang"));
    let finished = events(&env).flag("--max-tool-calls", "2").deadline(secs(25)).finish();
    assert_ne!(finished.code, Some(0));
    assert_eq!(finished.stdout_json().last().unwrap()["event"]["end"], "limit_reached");
    assert!(env.has_record("tool-2"), "the second tool could end");
    assert!(!env.has_record("tool-4"), "the fourth could not");
}

#[test]
fn an_agent_that_computes_is_not_killed_for_its_silence() {
    let env = env("init\nburn 2500ms\nresult done");
    run(&env).finish().assert_code(0);
}

#[test]
fn the_same_call_again_and_again_is_told_and_not_killed() {
    let call = |n: u32| format!("read c{n} /srv/a\nread-done c{n} /srv/a\n");
    let calls: String = (0..12).map(call).collect();
    let env = env(&format!("init\n{calls}result done"));
    run(&env).finish().assert_code(0);
}

#[test]
fn observe_only_judges_and_does_not_kill() {
    let env = env("init\nsleep 2500ms\nresult done");
    run(&env).args(["--observe-only"]).finish().assert_code(0);
    let log = env.log();
    assert!(log.has("hang_detected") && !log.has("agent_killed"), "{:?}", log.names());
    assert!(log.mentions("would"), "it says what it would have done: {:?}", log.names());
}

#[test]
fn a_session_that_is_resumed_keeps_our_key() {
    let env = env("init s-1\nresult done\n---\ninit s-1\nresult done\n---\ninit s-2\nresult done");
    run(&env).finish().assert_code(0);
    run(&env).flag("--resume", "s-1").finish().assert_code(0);
    run(&env).finish().assert_code(0);
    let mut logs = env.logs();
    logs.sort_by(|one, other| one.path.cmp(&other.path));
    let keys: Vec<_> = logs.iter().map(|log| &log.records[0]["session"]).collect();
    assert!(keys[0].is_string() && keys[0] == keys[1] && keys[1] != keys[2], "{keys:?}");
}

#[test]
fn two_runs_never_resume_one_session_at_once() {
    let env = env("init s-1\ntouch first\nwait-file go\nresult done\n---\ninit s-1\nresult done");
    let resume = || run(&env).flag("--resume", "s-1").flag("--idle-timeout", "20s").start();
    let first = resume();
    env.record("first");
    let second = resume();
    std::thread::sleep(ms(700));
    assert_eq!(env.starts(), 1, "the second waits or is refused");
    std::fs::write(env.record_dir().join("go"), "").unwrap();
    first.finish_alone().assert_code(0);
    second.finish();
}

#[test]
fn a_lease_dies_with_its_holder() {
    let env = env("init s-1\ntouch first\nhang\n---\ninit s-1\nresult done");
    let first = run(&env).flag("--resume", "s-1").flag("--idle-timeout", "20s").start();
    env.record("first");
    first.signal(nix::sys::signal::Signal::SIGKILL);
    first.finish();
    run(&env).flag("--resume", "s-1").finish().assert_code(0);
}

#[test]
fn the_session_id_is_on_disk_before_the_first_token() {
    let env = env("init s-77\ntouch named\nwait-file go\nassistant Hi.\nresult Hi.");
    let running = run(&env).flag("--idle-timeout", "20s").start();
    env.record("named");
    env.wait_for_log("session_started");
    assert_eq!(env.log().one("session_started")["session_id"], "s-77");
    std::fs::write(env.record_dir().join("go"), "").unwrap();
    running.finish().assert_code(0);
}

#[test]
fn verify_counts_the_bytes_of_both_sides() {
    let env = env(GOOD);
    let finished = run(&env).flag("--output-format", "stream-json").args(["--verify"]).finish();
    finished.assert_code(0);
    let count = finished.stdout.len().to_string();
    let told = finished.stderr.contains(&count) || env.log().mentions(&count);
    assert!(told, "{count} bytes should be stated: {}", finished.stderr);
}

#[test]
fn a_dry_run_shows_the_plan_and_starts_nothing() {
    let env = env(GOOD);
    let finished = run(&env).args(["--dry-run"]).finish();
    finished.assert_code(0);
    let shown = format!("{}{}", finished.stdout_text(), finished.stderr);
    assert!(shown.contains("fake-agent") && shown.contains("--print"), "{shown}");
    assert_eq!(env.starts(), 0);
}

#[test]
fn a_plan_that_nobody_reads_is_no_error() {
    let env = env(GOOD);
    let mut plan = env.stablehand_run().args(["--dry-run"]).stdin_open().stdout_unread().start();
    drop(plan.take_stdout());
    plan.type_line(PROMPT);
    plan.close_stdin();
    let plan = plan.finish();
    plan.assert_code(0);
    assert_eq!(plan.stderr, "");
}

#[test]
fn the_demo_needs_no_agent() {
    let env = TestEnv::new(crate::support::bins());
    let demo = |prompt| {
        let run = env.stablehand("run").flag("--agent", "demo").flag("--log-dir", env.log_dir());
        run.args(["-p", prompt])
    };
    let tour = demo("tour").deadline(secs(60)).finish();
    assert!(!tour.assert_code(0).stdout.is_empty());
    let hang = demo("hang").flag("--idle-timeout", "1s").deadline(secs(40)).finish();
    hang.assert_code(2);
}

#[test]
fn the_limit_on_turns_counts_answers_of_the_model() {
    let round = |n: u32| {
        format!(
            "assistant-before-tool Round {n}.\nread r{n} /a{n}\nread-done r{n} /a{n}\nsleep 50ms\n"
        )
    };
    let script = format!("init\n{}result done", (0..40).map(round).collect::<String>());
    let stopped = env(&script);
    let finished = events(&stopped).flag("--max-turns", "3").finish();
    finished.assert_code(2);
    assert_eq!(finished.stdout_json().last().unwrap()["event"]["end"], "limit_reached");
    events(&env(&script)).flag("--max-turns", "100").finish().assert_code(0);
}

#[test]
fn the_same_call_again_and_again_is_noticed_and_stopped_only_if_asked() {
    let call = "shell c1 30s make\nshell-done c1 2 1s make\nsleep 30ms\n";
    let script = format!("init\n{}result done", call.repeat(12));
    let warned = env(&script);
    run(&warned).finish().assert_code(0);
    assert!(warned.log().has("livelock_suspected"));
    let stopped = env(&script);
    run(&stopped).flag("--livelock", "8").finish().assert_code(2);
    assert_eq!(stopped.log().one("hang_detected")["verdict"], "livelock");
}

#[test]
fn every_agent_has_a_plan_that_can_be_looked_at() {
    let env = env(GOOD);
    let all = env.stablehand("agents").args(["--json"]).finish();
    all.assert_code(0);
    let all: Vec<serde_json::Value> = serde_json::from_slice(&all.stdout).unwrap();
    assert!(all.len() >= 7, "{all:?}");
    for agent in all.iter().map(|agent| agent["agent"].as_str().unwrap()) {
        // One of them has nothing but a conversation.
        let transports: &[&str] = if agent == "copilot" { &["pipe"] } else { &["pipe", "pty"] };
        for transport in transports.iter().copied() {
            let run = env
                .stablehand("run")
                .flag("--agent", agent)
                .flag("--agent-bin", "/bin/true")
                .flag("--transport", transport)
                .args(["--dry-run", "--force", PROMPT])
                .finish();
            run.assert_code(0);
            let plan: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
            let shown = if agent == "copilot" { "two-way" } else { transport };
            assert_eq!((&plan["agent"], &plan["transport"]), (&agent.into(), &shown.into()));
            for key in ["program", "args", "env", "stdin", "dialect", "limits", "exit_codes"] {
                assert!(!plan[key].is_null(), "{agent}: no {key} in {plan}");
            }
            for key in ["tools_seen", "interrupted_by"] {
                assert!(plan[key].is_string(), "{agent}: no {key} in {plan}");
            }
        }
    }
    assert!(env.logs().is_empty(), "nothing was started");
}
