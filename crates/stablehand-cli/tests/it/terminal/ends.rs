//! How runs at a terminal end, and that nobody is left of them.

use super::{place, raw, run};
use crate::support::secs;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// Every way to get out of sight that a terminal offers: another session, a job of its own group,
/// one that ignores the hangup, a stopped one.
const CROWD: &str = r#"
    setsid sleep 1001 &
    set -m
    sleep 1002 &
    nohup sleep 1003 >/dev/null 2>&1 &
    (trap '' HUP TERM INT; sleep 1004; sleep 1005) &
    sleep 1006 & kill -STOP $!
    set +m
    echo "here we are"
    touch "$FAKE_AGENT_RECORD/ready"
"#;

#[test]
fn the_exit_decides() {
    for (script, code, outcome) in [
        ("echo fed; exit 0", 0, "success"),
        ("echo not fed; exit 3", 1, "agent_error"),
        ("kill -KILL $$", 1, "agent_error"),
        ("printf 'no newline at the end'", 0, "success"),
    ] {
        let env = place(script);
        raw(&env).finish().assert_code(code).assert_within(secs(6));
        let log = env.log();
        assert_eq!(log.one("run_ended")["outcome"], outcome, "{script}");
        assert_eq!(log.one("run_ended")["verdict"], Value::Null, "{script}");
    }
    let env = place("kill -KILL $$");
    raw(&env).finish();
    assert_eq!(env.log().one("agent_exited")["signal"], 9);
}

#[test]
fn nobody_is_left_after_a_success() {
    let env = place(&format!("{CROWD} exit 0"));
    run(&env).finish().assert_code(0).assert_within(secs(8));
    let log = env.log();
    let leaked = log.one("agent_exited")["leaked"].as_array().unwrap().clone();
    assert!(leaked.iter().any(|row| row["sid"] != row["pgid"]), "jobs are among them: {leaked:?}");
    assert_eq!(log.one("agent_exited")["survivors"], json!([]));
}

#[test]
fn nobody_is_left_after_an_interrupt() {
    let env = place(&format!("{CROWD} sleep 1000"));
    let run = run(&env).flag("--idle-timeout", "30s").start();
    env.record("ready");
    run.signal(Signal::SIGINT);
    run.finish().assert_code(130).assert_within(secs(14));
}

#[test]
fn the_agent_can_save_its_work_when_it_is_interrupted() {
    let env = place(
        r#"trap 'echo saved > "$FAKE_AGENT_RECORD/saved"; exit 0' INT
           echo ready; while :; do sleep 0.1; done"#,
    );
    let run = run(&env).start();
    run.wait_for_stdout("ready");
    run.signal(Signal::SIGINT);
    run.finish().assert_code(130).assert_within(secs(5));
    assert_eq!(env.record("saved"), "saved\n");
}

#[test]
fn nobody_is_left_when_we_are_killed() {
    let env = place(&format!("{CROWD} sleep 1000"));
    let run = run(&env).flag("--idle-timeout", "30s").start();
    env.record("ready");
    run.signal(Signal::SIGKILL);
    let _killed = run.finish();
}

#[test]
fn a_question_that_nobody_answers_is_a_wait_for_input() {
    let env =
        place(r"echo 'Do you trust the ponies?'; printf '  1. Yes\n  2. No\n> '; read answer");
    let run = run(&env).finish();
    run.assert_code(2).assert_at_least(secs(1)).assert_within(secs(10));
    assert!(run.stderr.contains("waits for input at a terminal"), "{}", run.stderr);
    let log = env.log();
    let hang = log.one("hang_detected");
    assert_eq!(hang["verdict"], "idle");
    let evidence = &hang["event"]["evidence"];
    assert_eq!(evidence["verdict"], "idle");
    let screen = json!(["Do you trust the ponies?", "  1. Yes", "  2. No", ">"]);
    assert_eq!(evidence["screen"], screen);
    let last_text = log.one("run_ended")["last_text"].as_str().unwrap().to_owned();
    assert!(last_text.contains("Do you trust the ponies?"), "{last_text}");
}

#[test]
fn an_agent_that_shows_nothing_is_a_startup_hang() {
    let env = place("read answer");
    run(&env).finish().assert_code(2);
    assert_eq!(env.log().one("hang_detected")["verdict"], "startup");
}

#[test]
fn a_spinner_alone_is_no_progress() {
    let env = place(
        r"i=0; while :; do i=$((i+1)); printf '\r\033[K- Thinking... (%ss)' $i; sleep 0.05; done",
    );
    let run = run(&env).flag("--no-progress-timeout", "3s").finish();
    run.assert_code(2).assert_at_least(secs(3)).assert_within(secs(12));
    let log = env.log();
    assert_eq!(log.one("hang_detected")["verdict"], "no_progress");
    let screen = log.one("hang_detected")["event"]["evidence"]["screen"].to_string();
    assert!(screen.contains("Thinking"), "{screen}");
}

#[test]
fn new_text_is_progress() {
    let words = "hay oats bran corn salt mash beet carrot apple straw clover barley";
    let env = place(&format!(
        r"for word in {words}; do printf '\r\033[K/ eating %s' $word; sleep 0.4; done"
    ));
    let run = run(&env).flag("--no-progress-timeout", "1500ms").flag("--idle-timeout", "1500ms");
    run.finish().assert_code(0).assert_at_least(secs(4));
}

#[test]
fn a_quiet_agent_is_asked_to_leave_where_that_is_wanted() {
    let env = place("echo 'all fed'; while :; do read more; done");
    let quiet = run(&env).flag("--idle-timeout", "20s").flag("--exit-when-quiet", "1s").finish();
    quiet.assert_code(0).assert_at_least(secs(1)).assert_within(secs(6));
    assert!(quiet.stdout_text().contains("all fed"));
    let log = env.log();
    assert_eq!(log.one("run_ended")["outcome"], "success");
    assert_eq!(log.one("agent_exited")["forced"], false);
    assert!(log.has("asked_to_leave"));
}

#[test]
fn an_agent_that_computes_in_silence_is_not_asked_to_leave() {
    // The driver looks at the processor time every second; the loop must not end at such a moment.
    let env = place("echo 'let me think'; timeout 4.5 sh -c 'while :; do :; done'; echo thought");
    let run = run(&env).flag("--idle-timeout", "20s").flag("--exit-when-quiet", "1s").finish();
    run.assert_code(0).assert_at_least(secs(4));
    assert!(run.stdout_text().contains("thought"), "{}", run.stdout_text());
    assert!(!env.log().has("asked_to_leave"));
}

#[test]
fn an_agent_that_does_not_leave_when_asked_is_stopped() {
    let env = place("stty -isig; echo 'I stay'; while :; do read more || sleep 1; done");
    let run = run(&env).flag("--idle-timeout", "30s").flag("--exit-when-quiet", "500ms").finish();
    run.assert_code(2).assert_at_least(secs(5)).assert_within(secs(15));
    assert!(run.stderr.contains("asked to leave"), "{}", run.stderr);
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let env = place("while :; do echo neigh; sleep 0.01; done");
    let mut run = raw(&env).stdout_unread().start();
    drop(run.take_stdout());
    run.finish().assert_code(141).assert_within(secs(8));
}

/// Starts us where no cgroup can be seen: with one, everybody could still be found.
const WITHOUT_CGROUP: &str = r#"
    while read -r _ _ _ _ point rest; do
        case $rest in *' - cgroup2 '*) umount -l "$point";; esac
    done </proc/self/mountinfo
    exec "$0" "$@""#;

#[test]
fn the_jobs_are_gone_even_when_the_keeper_is_killed() {
    let env = place(
        r#"set -m; sleep 1002 & (trap '' HUP; sleep 1003) & set +m
           echo here; touch "$FAKE_AGENT_RECORD/ready"; sleep 1000"#,
    );
    let may_hide = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    let mut run = run(&env).flag("--idle-timeout", "30s");
    if may_hide.is_ok_and(|status| status.success()) {
        run = run.through(["unshare", "-m", "sh", "-c", WITHOUT_CGROUP]);
    }
    let run = run.start();
    env.record("ready");
    env.wait_for_log("agent_spawned");
    let keeper = env.log().one("agent_spawned")["keeper_pid"].as_i64().unwrap();
    let keeper = nix::unistd::Pid::from_raw(i32::try_from(keeper).unwrap());
    nix::sys::signal::kill(keeper, Signal::SIGKILL).unwrap();
    run.finish().assert_code(1).assert_within(secs(6));
    assert!(env.log().has("keeper_lost"));
}
