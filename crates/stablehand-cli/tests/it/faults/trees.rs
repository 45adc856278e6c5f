//! Trees that do not want to go: every kind of descendant, at every kind of end.

use crate::support::{env, print, run, secs};
use nix::sys::signal::Signal;
use stablehand_testkit::script::ChildKind;

/// One child of each kind.
fn all_kinds() -> String {
    ChildKind::ALL.map(|kind| format!("spawn {}\n", kind.word())).concat()
}

#[test]
fn each_kind_is_gone_after_a_success() {
    for kind in ChildKind::ALL {
        let env = env(&format!("init\nspawn {}\nresult Done.\nexit 0", kind.word()));
        let run = print(&env).finish();
        run.assert_code(0).assert_within(secs(5));
    }
}

#[test]
fn each_kind_is_gone_after_a_crash() {
    let env = env(&format!("init\n{}exit 3", all_kinds()));
    print(&env).finish().assert_code(1).assert_within(secs(6));
}

#[test]
fn all_kinds_are_gone_after_a_hang() {
    let env = env(&format!("init\n{}hang", all_kinds()));
    print(&env).finish().assert_code(2).assert_within(secs(14));
}

#[test]
fn all_kinds_are_gone_after_an_interrupt() {
    let env = env(&format!("init\n{}touch ready\nhang", all_kinds()));
    let run = print(&env).flag("--idle-timeout", "30s").start();
    env.record("ready");
    run.signal(Signal::SIGINT);
    run.finish().assert_code(130).assert_within(secs(14));
}

#[test]
fn all_kinds_are_gone_when_the_agent_itself_ignores_signals() {
    let script = format!("ignore TERM INT HUP\ninit\n{}hang", all_kinds());
    let env = env(&script);
    print(&env).deadline(secs(30)).finish().assert_code(2);
    let log = env.log();
    let stages = log.all("agent_killed");
    assert!(stages.len() >= 2, "each stage is logged with who was left: {stages:?}");
    for stage in stages {
        for field in ["stage", "reason", "left"] {
            assert!(stage.contains_key(field), "no `{field}` in {stage:?}");
        }
    }
}

#[test]
fn all_kinds_are_gone_after_a_forced_end_of_run() {
    let env = env(&format!("init\n{}result Done.\nhang", all_kinds()));
    run(&env).finish().assert_code(0).assert_within(secs(12));
}

#[test]
fn an_agent_may_save_its_work_when_it_is_stopped() {
    let env = env("on-signal INT saved 0\non-signal TERM saved 0\ninit\nhang");
    print(&env).finish().assert_code(2).assert_within(secs(6));
    assert!(env.has_record("saved"), "the first stage is one that an agent can answer");
}
