//! Agents that speak the Agent Client Protocol, badly.
//!
//! Small shell scripts: each does one thing wrong. Whatever it is, the run ends as documented, says
//! why, leaves nobody, and its log is whole.

use crate::support::{bins, secs};
use nix::sys::signal::Signal;
use stablehand_testkit::{Run, TestEnv};

/// Until there is a prompt.
const BEGIN: &str = r#"
    say() { printf '%s\n' "$1"; }
    read -r line; say '{"jsonrpc":"2.0","id":"stablehand-hello","result":{"protocolVersion":1}}'
    read -r line; say '{"jsonrpc":"2.0","id":"stablehand-session","result":{"sessionId":"s1"}}'
    read -r line
"#;

const HI: &str = r#"
    say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}'
"#;

const END: &str = r#"
    say '{"jsonrpc":"2.0","id":"stablehand-turn-1","result":{"stopReason":"end_turn"}}'
"#;

fn run<'e>(env: &'e TestEnv, script: &str) -> Run<'e> {
    let file = env.path("agent.sh");
    std::fs::write(&file, script).unwrap();
    let agent = format!("acp:sh {}", file.display());
    env.stablehand("run")
        .flag("--agent", agent)
        .flag("--log-dir", env.log_dir())
        .flag("--output-format", "events")
        .args(["go"])
        .deadline(secs(40))
}

fn count(run: &stablehand_testkit::Finished, kind: &str) -> usize {
    run.stdout_json().iter().filter(|event| event["event"]["type"] == kind).count()
}

#[test]
fn one_that_dies_in_the_middle_of_a_turn() {
    let env = TestEnv::new(bins());
    let run = run(&env, &format!("{BEGIN}{HI} exit 7")).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("without a result (exit code 7)"), "{}", run.stderr);
    assert_eq!(env.log().last()["outcome"], "no_result");
    env.assert_nobody_left();
}

#[test]
fn one_that_answers_twice() {
    let env = TestEnv::new(bins());
    let run = run(&env, &format!("{BEGIN}{HI}{END}{END}")).finish();
    run.assert_code(0);
    assert_eq!(count(&run, "turn.ended"), 1);
    assert_eq!(env.log().last()["outcome"], "success");
    env.assert_nobody_left();
}

#[test]
fn one_that_writes_what_is_no_json() {
    let env = TestEnv::new(bins());
    let noise = "say 'Warning: no hay'; say '{\"jsonrpc\":'; say '[1,2]'; say ''\n";
    let run = run(
        &env,
        &format!("say() {{ printf '%s\\n' \"$1\"; }}\n{noise}{BEGIN}{noise}{HI}{noise}{END}"),
    );
    let run = run.finish();
    run.assert_code(0);
    assert_eq!(count(&run, "turn.ended"), 1);
    assert!(count(&run, "unrecognized") >= 3, "{}", run.stdout_text());
    assert!(env.log().mentions("no hay"));
    env.assert_nobody_left();
}

#[test]
fn one_that_sends_a_line_of_32_mib() {
    let env = TestEnv::new(bins());
    let long = r#"
        printf '%s' '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'
        head -c 33554432 /dev/zero | tr '\0' 'x'
        say '"}}}}'
    "#;
    let run = run(&env, &format!("{BEGIN}{long}{HI}{END}")).finish();
    run.assert_code(0);
    assert_eq!(count(&run, "turn.ended"), 1);
    assert_eq!(env.log().last()["outcome"], "success");
    env.assert_nobody_left();
}

#[test]
fn one_that_never_says_hello() {
    let env = TestEnv::new(bins());
    let run = run(&env, "read -r line; sleep 300").flag("--startup-timeout", "1s").finish();
    run.assert_code(2);
    assert_eq!(env.log().last()["outcome"], "hung");
    assert!(run.stderr.contains("1s"), "{}", run.stderr);
    env.assert_nobody_left();
}

#[test]
fn one_that_cannot_be_interrupted() {
    let env = TestEnv::new(bins());
    let deaf = format!("trap '' INT TERM; {BEGIN}{HI} sleep 300; sleep 300; sleep 300");
    let running = run(&env, &deaf).flag("--stop-grace", "300ms").start();
    env.wait_for("the turn", || running.stdout_so_far().contains("item.delta"));
    running.signal(Signal::SIGINT);
    running.finish().assert_code(130);
    assert_eq!(env.log().last()["outcome"], "interrupted");
    env.assert_nobody_left();
}
