//! What happens to us: killed, stopped, interrupted twice.

use crate::support::{env, ms, print, run, secs, skip};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use stablehand_testkit::script::ChildKind;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Instant;

#[test]
fn killing_us_leaves_no_process_and_a_readable_log() {
    let kinds =
        ChildKind::ALL.map(|kind| format!("spawn {} stdout stderr\n", kind.word())).concat();
    let env = env(&format!("ignore TERM INT HUP\ninit s-9\n{kinds}touch ready\nhang"));
    let run = print(&env).flag("--idle-timeout", "30s").start();
    env.record("ready");
    env.wait_for_log("session_started");
    run.signal(Signal::SIGKILL);
    // `finish` allows the tree two seconds.
    assert_eq!(run.finish().signal, Some(9));
    let log = env.log();
    assert!(String::from_utf8_lossy(&log.raw_bytes()).contains("s-9"));
}

/// A stopped keeper cannot see that we are gone, until the kernel continues it.
#[test]
fn killing_us_while_the_keeper_is_stopped_leaves_no_process() {
    let kinds =
        ChildKind::ALL.map(|kind| format!("spawn {} stdout stderr\n", kind.word())).concat();
    for _ in 0..9 {
        let env = env(&format!("ignore TERM INT HUP\ninit\n{kinds}touch ready\nhang"));
        let run = print(&env).flag("--idle-timeout", "30s").start();
        env.record("ready");
        env.wait_for_log("session_started");
        let keeper = env.log().one("agent_spawned")["keeper_pid"].as_i64().unwrap();
        let keeper = Pid::from_raw(i32::try_from(keeper).unwrap());
        kill(keeper, Signal::SIGSTOP).unwrap();
        run.signal(Signal::SIGKILL);
        // `finish` allows the tree two seconds.
        assert_eq!(run.finish().signal, Some(9));
    }
}

/// A keeper that a debugger holds would not see our death, so the agent may not attach one.
#[test]
fn the_keeper_cannot_be_traced_by_a_process_of_its_user() {
    const NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    fn can_trace(pid: &str) -> Option<bool> {
        let args = ["timeout", "--signal=INT", "1", "strace", "-o", "/dev/null", "-p", pid];
        let traced = Command::new(NOBODY[0]).args(&NOBODY[1..]).args(args).output().ok()?;
        let said = String::from_utf8_lossy(&traced.stderr).into_owned();
        match (said.contains("attached"), said.contains("not permitted")) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
    let env = env("init\ntouch ready\nhang");
    for folder in ["", "home", "work", "record"] {
        let all = std::fs::Permissions::from_mode(0o777);
        let _not_there = std::fs::set_permissions(env.path(folder), all);
    }
    let mut run = run(&env).through(NOBODY).flag("--idle-timeout", "20s").start();
    env.wait_for("the agent, or the end", || env.has_record("ready") || !run.is_running());
    if !run.is_running() {
        return skip("this needs root, setpriv, and programs that every user may run");
    }
    let pid = |name: &str| env.log().one("agent_spawned")[name].to_string();
    match can_trace(&pid("pid")) {
        Some(true) => assert_eq!(can_trace(&pid("keeper_pid")), Some(false)),
        _ => skip("no process can be traced here: there is no strace, or the system forbids it"),
    }
    run.signal(Signal::SIGKILL);
    assert_eq!(run.finish().signal, Some(9));
}

#[test]
fn killing_us_in_a_flood_leaves_a_readable_log() {
    let env = env("init\nevents thinking 300000 block\nhang");
    let run = print(&env).start();
    env.wait_for_log("raw_event");
    run.signal(Signal::SIGKILL);
    run.finish();
    // Reading fails the test on any whole line that is not a record.
    assert!(env.log().has("raw_event"));
}

#[test]
fn being_stopped_longer_than_the_limit_is_no_hang() {
    let steady = "delta tick\nsleep 200ms\n".repeat(18);
    let env = env(&format!("init\ntouch ready\n{steady}result done"));
    let run = print(&env).start();
    env.record("ready");
    for _ in 0..2 {
        run.signal(Signal::SIGSTOP);
        std::thread::sleep(ms(1500));
        run.signal(Signal::SIGCONT);
        std::thread::sleep(ms(100));
    }
    run.finish().assert_code(0);
    assert!(!env.log().has("hang_detected"));
}

#[test]
fn the_time_we_were_stopped_does_not_count_for_a_silent_agent() {
    let env = env("init\ntouch ready\nwait-file go\nresult done");
    let run = print(&env).start();
    env.record("ready");
    env.wait_for_log("session_started");
    run.signal(Signal::SIGSTOP);
    std::thread::sleep(secs(3));
    run.signal(Signal::SIGCONT);
    std::thread::sleep(ms(300));
    std::fs::write(env.record_dir().join("go"), "").unwrap();
    run.finish().assert_code(0);
}

#[test]
fn a_second_interrupt_kills_at_once() {
    let env = env("ignore TERM INT HUP\ninit\nspawn ignterm\ntouch ready\nhang");
    let run = print(&env).flag("--idle-timeout", "30s").start();
    env.record("ready");
    run.signal(Signal::SIGINT);
    std::thread::sleep(ms(300));
    run.signal(Signal::SIGINT);
    let second = Instant::now();
    run.finish().assert_code(130);
    assert!(second.elapsed() < secs(4), "the census alone may take two");
}

#[test]
fn an_interrupt_lets_the_agent_answer() {
    let env = env("on-signal INT answered 0\ninit\ntouch ready\nhang");
    let run = print(&env).flag("--idle-timeout", "30s").start();
    env.record("ready");
    run.signal(Signal::SIGINT);
    run.finish().assert_code(130).assert_within(secs(6));
    assert!(env.has_record("answered"));
}

#[test]
fn an_interrupt_before_the_agent_speaks_ends_us() {
    let env = env("touch ready\nhang");
    let run = print(&env).flag("--idle-timeout", "30s").start();
    env.record("ready");
    run.signal(Signal::SIGTERM);
    run.finish().assert_code(143).assert_within(secs(12));
}

#[test]
fn the_last_record_of_an_interrupted_run_says_so() {
    let env = env("init\ntouch ready\nhang");
    let run = print(&env).flag("--idle-timeout", "30s").start();
    env.record("ready");
    run.signal(Signal::SIGTERM);
    run.finish().assert_code(143);
    let log = env.log();
    assert_eq!(log.last()["msg"], "session_ended");
    assert_eq!(log.last()["outcome"], "interrupted");
    assert_eq!(log.one("run_ended")["outcome"], "interrupted");
}

#[test]
fn being_suspended_by_the_terminal_is_no_hang() {
    let steady = "delta tick\nsleep 200ms\n".repeat(12);
    let env = env(&format!("init\ntouch ready\n{steady}result done"));
    let run = print(&env).start();
    env.record("ready");
    run.signal(Signal::SIGTSTP);
    std::thread::sleep(ms(1800));
    run.signal(Signal::SIGCONT);
    run.finish().assert_code(0);
    assert!(!env.log().has("hang_detected"));
}

#[test]
fn a_quit_signal_shows_the_state_and_the_run_goes_on() {
    let env = env("init\nshell c1 30s make hay\ntouch ready\nwait-file go\nresult done");
    let run = print(&env).flag("--idle-timeout", "20s").start();
    env.record("ready");
    env.wait_for_log("tool_call_opened");
    let before = run.stderr_so_far().len();
    run.signal(Signal::SIGQUIT);
    env.wait_for("the state", || run.stderr_so_far().len() > before);
    std::fs::write(env.record_dir().join("go"), "").unwrap();
    run.finish().assert_code(0);
}
