//! Runs that do not end as they should, and endings that are not what they seem.

use crate::support::{env, ms, print, run, secs};

/// The five seconds of grace after a result are fixed in `cursor-wrap`; the stop comes after.
const AFTER_GRACE: u64 = 14;

#[test]
fn a_result_without_an_exit_is_a_success_that_was_forced() {
    let env = env("init\nassistant Done.\nresult Done.\nhang");
    print(&env).finish().assert_code(0).assert_within(secs(AFTER_GRACE));
    let log = env.log();
    assert!(log.has("agent_killed") && !log.has("hang_detected"), "{:?}", log.names());
}

#[test]
fn a_result_without_an_exit_from_an_agent_that_ignores_signals_is_a_success() {
    let env = env("ignore TERM INT HUP\ninit\nresult Done.\nspawn ignterm\nhang");
    run(&env).deadline(secs(25)).finish().assert_code(0).assert_within(secs(AFTER_GRACE));
}

#[test]
fn the_exit_grace_of_run_is_a_flag() {
    let env = env("init\nresult Done.\nhang");
    run(&env).flag("--exit-grace", "200ms").finish().assert_code(0).assert_within(secs(6));
}

#[test]
fn a_slow_exit_within_the_grace_is_left_alone() {
    let env = env("init\nresult Done.\nsleep 1500ms\ntouch done\nexit 0");
    print(&env).finish().assert_code(0);
    assert!(env.has_record("done"));
    assert!(!env.log().has("agent_killed"));
}

#[test]
fn a_grandchild_that_holds_stdout_does_not_hold_us() {
    let env = env("init\nresult Done.\nspawn setsid stdout\nexit 0");
    let run = print(&env).finish();
    run.assert_code(0).assert_within(secs(5));
    assert_eq!(run.stdout_json().last().unwrap()["type"], "result");
}

#[test]
fn a_grandchild_that_holds_stderr_does_not_hold_us() {
    let env = env("init\nresult Done.\nspawn daemon stderr\nexit 0");
    print(&env).finish().assert_code(0).assert_within(secs(5));
}

#[test]
fn a_grandchild_that_holds_stderr_after_a_hang_does_not_hold_us() {
    let env = env("init\nspawn setsid stderr\nspawn ignterm stdout stderr\nhang");
    print(&env).finish().assert_code(2).assert_within(secs(12));
}

#[test]
fn a_grandchild_that_goes_on_writing_is_cut_off() {
    // The child itself is silent, but it keeps the pipe while the agent's last bytes are drained.
    let env = env("init\nspawn pgrp stdout\nevents thinking 2000 block\nresult Done.\nexit 0");
    let run = print(&env).finish();
    run.assert_code(0).assert_within(secs(6));
    assert_eq!(run.stdout_json().len(), 2002);
}

#[test]
fn closed_outputs_of_a_living_agent_do_not_spin_or_hang_us() {
    let env = env("init\nresult Done.\nclose-stdout\nclose-stderr\nsleep 700ms\nexit 0");
    print(&env).finish().assert_code(0).assert_within(secs(6));
}

#[test]
fn closed_outputs_without_a_result_are_a_hang() {
    let env = env("init\nclose-stdout\nclose-stderr\nhang");
    let code = print(&env).finish().code;
    assert!(code == Some(2) || code == Some(1), "{code:?}");
}

#[test]
fn two_results_then_silence_ends_well() {
    let env = env("init\nresult One.\nassistant More.\nresult Two.\nexit 0");
    let run = print(&env).finish();
    run.assert_code(0);
    let results = run.stdout_json().iter().filter(|line| line["type"] == "result").count();
    assert_eq!(results, 2);
}

#[test]
fn work_after_a_result_is_watched_again() {
    let env = env("init\nresult One.\nassistant-before-tool More.\nshell c1 500ms make\nhang");
    print(&env).finish().assert_code(0).assert_within(secs(14));
}

#[test]
fn a_later_error_result_wins() {
    let env = env("init\nresult One.\nassistant More.\nresult-error Broken.\nexit 0");
    print(&env).finish().assert_code(1);
}

#[test]
fn an_error_result_exits_1_even_if_the_agent_exits_0() {
    let env = env("init\nresult-error Broken.\nexit 0");
    print(&env).finish().assert_code(1).assert_within(secs(5));
}

#[test]
fn a_good_result_wins_over_a_bad_exit_code() {
    let env = env("init\nresult Done.\nexit 7");
    print(&env).finish().assert_code(0);
    assert_eq!(env.log().one("agent_exited")["exit_code"], 7);
}

#[test]
fn a_crash_without_a_result_exits_1_and_shows_the_code() {
    let env = env("init\nstderr the hay is on fire\nexit 41");
    let run = print(&env).finish();
    run.assert_code(1).assert_within(secs(5));
    assert!(run.stderr.contains("41"), "the code is shown: {}", run.stderr);
    let log = env.log();
    assert_eq!(log.one("agent_exited")["exit_code"], 41);
    assert_eq!(log.stderr_bytes(), b"the hay is on fire\n");
}

#[test]
fn an_exit_0_without_a_result_exits_1() {
    let env = env("init\nassistant Half an ans\nexit 0");
    print(&env).finish().assert_code(1).assert_within(secs(5));
}

#[test]
fn a_truncated_last_line_exits_1_and_is_kept() {
    let env = env(r#"raw {"type":"system","subtype":"init","session_id":"s"}\n{"type":"resu"#);
    let run = print(&env).finish();
    run.assert_code(1);
    assert!(run.stdout.ends_with(br#"{"type":"resu"#));
    assert_eq!(env.log().raw_bytes(), run.stdout);
}

#[test]
fn an_agent_that_dies_by_a_signal_exits_1_and_the_signal_is_logged() {
    for (name, number) in [("KILL", 9), ("SEGV", 11)] {
        let env = env(&format!("init\ndie {name}"));
        print(&env).finish().assert_code(1).assert_within(secs(5));
        let log = env.log();
        assert_eq!(log.one("agent_exited")["signal"], number);
    }
}

#[test]
fn a_background_shell_that_lives_on_is_stopped_after_the_result() {
    let env = env("
        init
        shell c1 30s pump --serve
        spawn pgrp
        shell-background c1 pump --serve
        sleep 1s
        result The pump runs.
        exit 0
    ");
    // A background tool is not open: a second of silence with the idle limit at 2 s is fine.
    print(&env).flag("--idle-timeout", "2s").finish().assert_code(0).assert_within(secs(6));
}

/// The step after the lost tool has another model call, which is what says that it is over.
const LOST: &str = "init\nread c1 /srv/a\nread c2 /srv/b\nread-done c2 /srv/b\n";

#[test]
fn a_lost_completion_does_no_harm_while_the_work_goes_on() {
    let on = "assistant-before-tool And on.\nsleep 400ms\n".repeat(6);
    let env = env(&format!("{LOST}{on}result Done."));
    run(&env).finish().assert_code(0);
}

#[test]
fn a_lost_completion_does_not_hide_a_later_hang() {
    let env = env(&format!("{LOST}assistant-before-tool And on.\nhang"));
    run(&env).finish().assert_code(2).assert_within(secs(12));
}

#[test]
fn a_sub_agent_without_a_timeout_is_not_killed_while_it_speaks() {
    let nested = "thinking still at it\nsleep 500ms\n".repeat(5);
    let env = env(&format!("init\ntask t1 count\n{nested}task-done t1 count\nresult Four."));
    run(&env).finish().assert_code(0).assert_at_least(ms(2500));
}

#[test]
fn silence_just_below_the_limit_again_and_again_is_no_hang() {
    let pauses = "delta tick\nsleep 700ms\n".repeat(5);
    let env = env(&format!("init\n{pauses}result Done."));
    print(&env).finish().assert_code(0);
}

#[test]
fn silence_after_a_tool_result_is_a_hang() {
    let env = env("init\nshell c1 30s make\nshell-done c1 0 1s make\nhang");
    print(&env).finish().assert_code(2).assert_within(secs(10));
    let log = env.log();
    assert_eq!(log.one("hang_detected")["open_call_count"], 0);
}

/// A shell that says it went to the background as this process.
fn background_as(pid: &str) -> String {
    format!(
        r#"
        init
        shell c1 30s pump --serve
        tool-done c1 shellToolCall {{"success":{{"command":"pump --serve","exitCode":0,"shellId":1,"pid":{pid}}},"isBackground":true}}
        assistant The pump runs.
    "#
    )
}

#[test]
fn a_background_shell_that_keeps_the_result_back_is_stopped_first() {
    let script =
        format!("spawn pgrp\n{}wait-child\nresult Done.\nexit 0", background_as("\"@CHILD@\""));
    let env = env(&script);
    let run = run(&env).flag("--background-grace", "500ms").flag("--idle-timeout", "8s").finish();
    run.assert_code(0).assert_within(secs(8));
    assert_eq!(run.stdout_json().last().unwrap()["type"], "result", "the agent could finish");
}

#[test]
fn a_process_that_is_not_the_agents_is_never_stopped_on_its_word() {
    let other = env("touch ready\nhang");
    let mut bystander = other.fake_agent().start();
    other.record("ready");
    let env = env(&format!("{}hang", background_as(&bystander.pid().to_string())));
    run(&env)
        .flag("--background-grace", "300ms")
        .flag("--result-grace", "300ms")
        .finish()
        .assert_code(2);
    assert!(bystander.is_running(), "a foreign process id in the stream is only a number");
}

/// Claude Code calls a turn a success in which it was not allowed to do what it was asked for.
#[test]
fn a_success_in_spite_of_a_denied_tool_names_that_tool() {
    let env = env(r#"
        read-stdin
        say {"type":"system","subtype":"init","session_id":"s1","model":"m","cwd":"/"}
        say {"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/srv/oats","content":"x"}}]},"session_id":"s1"}
        say {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Claude requested permissions to write to /srv/oats, but you haven't granted it yet."}]},"session_id":"s1"}
        say {"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s1","permission_denials":[{"tool_name":"Write","tool_use_id":"t1","tool_input":{}}]}
    "#);
    run(&env).flag("--agent", "claude").finish().assert_code(0);
    let ended = env.log().one("run_ended").clone();
    assert_eq!(ended["denied"], serde_json::json!(["Write: /srv/oats"]));
    let told = "the agent delivered its result, but a tool call was denied: Write: /srv/oats";
    assert_eq!(ended["text"], told);
}
