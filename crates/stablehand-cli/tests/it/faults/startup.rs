//! Runs that never get going.

use crate::support::{env, print, run, secs};
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn silence_from_the_start_is_a_hang() {
    let env = env("hang");
    print(&env).finish().assert_code(2).assert_at_least(secs(1)).assert_within(secs(10));
    assert_eq!(env.log().one("hang_detected")["open_call_count"], 0);
}

#[test]
fn a_slow_start_within_the_limit_is_no_hang() {
    let env = env("sleep 800ms\ninit\nresult done");
    print(&env).finish().assert_code(0);
}

#[test]
fn silence_from_the_start_is_a_hang_for_run_too() {
    let env = env("hang");
    run(&env).flag("--idle-timeout", "30s").finish().assert_code(2).assert_within(secs(10));
}

#[test]
fn a_big_prompt_to_an_agent_that_never_reads_is_a_hang() {
    let env = env("hang");
    let prompt = "hay ".repeat(50_000);
    env.cursor_wrap().args(["-p"]).stdin(prompt).finish().assert_code(2).assert_within(secs(10));
}

#[test]
fn a_big_prompt_to_an_agent_that_answers_without_reading_is_fine() {
    let env = env("init\nresult done\nexit 0");
    let prompt = "hay ".repeat(50_000);
    env.cursor_wrap().args(["-p"]).stdin(prompt).finish().assert_code(0).assert_within(secs(6));
}

#[test]
fn a_big_prompt_reaches_an_agent_that_reads_late() {
    let env = env("sleep 500ms\nread-stdin\ninit\nresult done");
    let prompt = "hay ".repeat(50_000);
    env.cursor_wrap().args(["-p"]).stdin(prompt.clone()).finish().assert_code(0);
    assert_eq!(env.record("1.stdin").trim(), prompt.trim());
}

#[test]
fn an_agent_that_closes_its_stdin_is_fine() {
    let env = env("close-stdin\ninit\nsleep 200ms\nresult done");
    let prompt = "hay ".repeat(50_000);
    env.cursor_wrap().args(["-p"]).stdin(prompt).finish().assert_code(0);
}

#[test]
fn a_missing_agent_exits_1_and_is_named() {
    let env = env("exit 0");
    let run = print(&env).flag("--agent-bin", "/nowhere/cursor-agent").finish();
    run.assert_code(1).assert_within(secs(3));
    assert!(run.stderr.contains("/nowhere/cursor-agent"), "{}", run.stderr);
}

#[test]
fn no_agent_on_the_path_exits_1() {
    let env = env("exit 0");
    let empty = env.work().to_string_lossy().into_owned();
    let run = print(&env).without("--agent-bin").variable("PATH", empty).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("cursor-agent"), "{}", run.stderr);
}

#[test]
fn an_agent_that_cannot_be_executed_exits_1() {
    let env = env("exit 0");
    for (name, bytes, mode) in [
        ("plain-file", &b"#!/bin/sh\nexit 0\n"[..], 0o644),
        ("no-program", b"\x7fELFnot really", 0o755),
    ] {
        let path = env.work().join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let run = print(&env).flag("--agent-bin", &path).finish();
        run.assert_code(1).assert_within(secs(5));
        assert!(run.stderr.contains(name), "{}", run.stderr);
    }
}

#[test]
fn the_agent_is_found_on_the_path_under_both_names() {
    for names in [&["agent"][..], &["cursor-agent"], &["agent", "cursor-agent"]] {
        let env = env("init\nresult done");
        for name in names {
            symlink(&env.bins().fake_agent, env.work().join(name)).unwrap();
        }
        let path = env.work().to_string_lossy().into_owned();
        print(&env).without("--agent-bin").variable("PATH", path).finish().assert_code(0);
        let argv0 = env.log().one("agent_spawned")["argv"][0].clone();
        let wanted = names.last().unwrap();
        let found = argv0.as_str().unwrap().rsplit('/').next();
        assert_eq!(found, Some(*wanted), "cursor-agent comes first: {argv0}");
    }
}
