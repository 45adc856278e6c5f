//! `stablehand hook` by hand: what agents would be told when something is wrong.

use super::{RULES, held};
use crate::support::{bins, env, secs};
use nix::sys::signal::Signal;
use stablehand_testkit::{Running, TestEnv};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

/// An agent that has begun and does nothing more.
const WAITS: &str = "read-stdin\ninit\nsleep 25s\ndone\n";

fn hook(variables: &BTreeMap<String, String>, event: &str) -> Command {
    let mut command = Command::new(bins().stablehand);
    command.args(["hook", "--agent", "cursor", "--within", "20", event]);
    for name in ["STABLEHAND_HOOK_SOCKET", "STABLEHAND_HOOK_RUN"] {
        match variables.get(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn told(mut command: Command, payload: &[u8]) -> Output {
    let mut child = command.spawn().unwrap();
    let _not_wanted = child.stdin.take().unwrap().write_all(payload);
    child.wait_with_output().unwrap()
}

fn denies(output: &Output, because: &str) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(r#""permission":"deny""#) && said.contains(because), "{output:?}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

fn waiting(env: &TestEnv) -> (Running<'_>, BTreeMap<String, String>) {
    let run = held(env, RULES).start();
    env.wait_for_log("hook_received");
    let variables = env.agent_env(1);
    (run, variables)
}

fn shell(command: &str) -> Vec<u8> {
    let input = serde_json::json!({ "tool_name": "Shell", "tool_input": { "command": command } });
    input.to_string().into_bytes()
}

#[test]
fn whatever_is_wrong_is_a_denial_with_its_reason() {
    let env = env(WAITS);
    let (run, variables) = waiting(&env);
    let ask = |event: &str| hook(&variables, event);
    // As it should be.
    let output = told(ask("preToolUse"), &shell("touch fine"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("allow"), "{output:?}");
    denies(&told(ask("preToolUse"), &shell("touch made")), "nothing of that name");
    // Cut short, no JSON, nothing at all.
    for payload in [&shell("touch fine")[..20], b"[1,", b""] {
        denies(&told(ask("preToolUse"), payload), "no JSON");
    }
    // JSON, but about no call: nobody can say what it would do.
    denies(&told(ask("preToolUse"), b"[]"), "not about a tool call");
    // Ten megabytes are read and judged; forty are too much.
    let filler = " ".repeat(10 << 20);
    let long = shell(&format!("touch made {filler}"));
    denies(&told(ask("preToolUse"), &long), "denied");
    denies(&told(ask("preToolUse"), &vec![b' '; 40 << 20]), "MiB");
    // Another run's word, none, and somewhere else.
    let with = |name: &str, value: &str| {
        let mut other = variables.clone();
        other.insert(name.to_owned(), value.to_owned());
        other
    };
    let wrong = with("STABLEHAND_HOOK_RUN", "0123456789abcdef");
    denies(&told(hook(&wrong, "preToolUse"), &shell("touch fine")), "token");
    denies(&told(hook(&BTreeMap::new(), "preToolUse"), b"{}"), "STABLEHAND_HOOK_SOCKET");
    let long = with("STABLEHAND_HOOK_SOCKET", &format!("/{}", "x".repeat(150)));
    denies(&told(hook(&long, "preToolUse"), b"{}"), "room for");
    // What only tells goes on.
    let output = told(hook(&BTreeMap::new(), "afterFileEdit"), b"{}");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"{}"[..]), "{output:?}");
    // What nobody knows, and wrong usage, block.
    for event in ["preToolAbuse", "--whatever"] {
        let output = told(ask(event), b"{}");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(event), "{output:?}");
    }
    // Another user cannot even reach the socket.
    if nix::unistd::geteuid().is_root() {
        let mut other = ask("preToolUse");
        other.uid(65534).gid(65534);
        match other.spawn() {
            // It may not even be allowed to read our program.
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
            Ok(mut child) => {
                child.stdin.take().unwrap().write_all(&shell("touch fine")).unwrap();
                denies(&child.wait_with_output().unwrap(), "cannot be reached");
            }
        }
    }
    run.signal(Signal::SIGTERM);
    run.finish().assert_within(secs(60));
    assert!(env.log().has("hook_refused") && env.log().has("hook_unreadable"));
}

#[test]
fn a_run_that_is_killed_denies_whoever_waits() {
    let env = env(WAITS);
    let (run, variables) = waiting(&env);
    // It does not answer any more, and a hook waits.
    run.signal(Signal::SIGSTOP);
    let mut child = hook(&variables, "beforeShellExecution").spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"command":"touch fine"}"#).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it did not wait");
    run.signal(Signal::SIGKILL);
    let output = child.wait_with_output().unwrap();
    denies(&output, "ended before it answered");
    // And whoever comes later.
    denies(&told(hook(&variables, "beforeShellExecution"), b"{}"), "cannot be reached");
    run.finish_alone();
}

/// Whoever interrupts an agent interrupts its group, and some agents take a hook that a signal ended
/// for a yes.
#[test]
fn a_hook_that_is_interrupted_still_says_no() {
    let env = env(WAITS);
    let (run, variables) = waiting(&env);
    run.signal(Signal::SIGSTOP);
    let mut child = hook(&variables, "preToolUse").spawn().unwrap();
    child.stdin.take().unwrap().write_all(&shell("touch made")).unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    // It is not to be met before it has begun.
    std::thread::sleep(std::time::Duration::from_millis(300));
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        nix::sys::signal::kill(pid, signal).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none(), "a signal ended it");
    run.signal(Signal::SIGCONT);
    denies(&child.wait_with_output().unwrap(), "nothing of that name");
    run.signal(Signal::SIGTERM);
    run.finish().assert_within(secs(60));
}

/// An interrupt and a question that are both there when we look: the question came too late.
#[test]
fn an_interrupt_comes_before_a_question_that_waits() {
    for _ in 0..5 {
        let env = env("ignore INT\nread-stdin\ninit\nsleep 25s\ndone\n");
        let run = held(&env, RULES).flag("--stop-grace", "20s").start();
        env.wait_for_log("hook_received");
        run.signal(Signal::SIGSTOP);
        let mut child = hook(&env.agent_env(1), "preToolUse").spawn().unwrap();
        child.stdin.take().unwrap().write_all(&shell("touch fine")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(child.try_wait().unwrap().is_none(), "it did not wait");
        run.signal(Signal::SIGINT);
        run.signal(Signal::SIGCONT);
        denies(&child.wait_with_output().unwrap(), "being stopped");
        run.signal(Signal::SIGINT);
        run.finish().assert_code(130);
    }
}

#[test]
fn a_run_that_is_being_stopped_allows_nothing_any_more() {
    let env = env("ignore INT\nread-stdin\ninit\nsleep 25s\ndone\n");
    let run = held(&env, RULES).flag("--stop-grace", "20s").start();
    env.wait_for_log("hook_received");
    let ask = || told(hook(&env.agent_env(1), "preToolUse"), &shell("touch fine"));
    assert!(String::from_utf8_lossy(&ask().stdout).contains("allow"));
    run.signal(Signal::SIGINT);
    env.wait_for_log("agent_killed");
    denies(&ask(), "being stopped");
    // The second time it is not asked politely.
    run.signal(Signal::SIGINT);
    run.finish().assert_code(130);
}

#[test]
fn alone_it_goes_by_the_users_policy_and_without_one_it_has_no_opinion() {
    let env = TestEnv::new(bins());
    let config = env.home().join(".config/stablehand/config.toml");
    let alone = |payload: &[u8]| {
        let run = env.stablehand("hook").args(["--agent", "cursor", "--alone", "preToolUse"]);
        run.stdin(payload).finish().stdout_text()
    };
    assert_eq!(alone(&shell("touch made")), "{}");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, RULES).unwrap();
    assert!(alone(&shell("touch made")).contains("nothing of that name"));
    assert!(alone(&shell("touch fine")).contains("allow"));
    // Nobody can be asked here.
    assert!(alone(&shell("touch asked")).contains("deny"));
    // A policy that cannot be read is not none.
    std::fs::write(&config, "[policy\n").unwrap();
    assert!(alone(&shell("touch fine")).contains("deny"));
}
