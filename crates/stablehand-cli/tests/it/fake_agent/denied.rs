//! Agents that deny what they would have to ask about, because nobody can answer them: what is denied
//! is no success, whatever their last line and their exit code say.

use super::{place, shims};
use crate::support::{ms, secs};
use nix::sys::signal::Signal;
use serde_json::Value;
use stablehand_testkit::{Run, TestEnv};
use std::fs;
use std::path::Path;

/// The agent, the word for the outcome of what it denies, and what it says of the turn.
const DENYING: [(&str, &str, &str); 2] = [
    ("grok", "rejected", "User cancelled the execution for tool `run_terminal_command`"),
    ("agy", "denied", "not permitted: RunCommand"),
];

fn run<'e>(env: &'e TestEnv, shims: &Path, agent: &str, scene: &str) -> Run<'e> {
    env.stablehand("run")
        .flag("--agent", agent)
        .flag("--agent-bin", shims.join(agent))
        .flag("--log-dir", env.log_dir())
        .flag("--output-format", "events")
        .flag("--retries", "0")
        .variable("STABLEHAND_FAKE_SCENE", scene)
        .deadline(secs(40))
}

fn events(lines: Vec<Value>, kind: &str) -> Vec<Value> {
    let events = lines.into_iter().map(|line| line["event"].clone());
    events.filter(|event| event["type"] == kind).collect()
}

#[test]
fn a_denied_tool_is_no_success() {
    let env = place();
    let shims = shims(&env, "hello");
    for (agent, outcome, words) in DENYING {
        let run = run(&env, &shims, agent, "ask").args(["feed"]).start().finish_alone();
        let lines = run.assert_code(1).stdout_json();
        let done = events(lines.clone(), "item.completed");
        let tool = done.iter().find(|event| event["item"]["kind"] == "tool").unwrap();
        assert_eq!(tool["item"]["outcome"]["kind"], outcome, "{agent}: {tool}");
        let end = &events(lines.clone(), "turn.ended")[0]["end"];
        assert_eq!(
            (&end["kind"], &end["failure"]),
            (&"failed".into(), &"approval".into()),
            "{agent}"
        );
        assert_eq!(end["message"], words, "{agent}");
        let last = lines.last().unwrap();
        assert_eq!(last["event"]["end"], "agent_error", "{agent}: {last}");
    }
    env.assert_nobody_left();
}

#[test]
fn a_run_that_is_interrupted_takes_its_command_with_it() {
    let env = place();
    let shims = shims(&env, "hello");
    for (agent, ..) in DENYING {
        let run = run(&env, &shims, agent, "long-tool").args(["feed"]).start();
        run.wait_for_stdout("sleep 20");
        run.signal(Signal::SIGINT);
        let lines = run.finish_alone().assert_code(130).stdout_json();
        assert_eq!(lines.last().unwrap()["event"]["end"], "interrupted", "{agent}");
        std::thread::sleep(ms(50));
        env.assert_nobody_left();
    }
}

#[test]
fn a_session_goes_on_by_its_id() {
    let env = place();
    let shims = shims(&env, "hello");
    for (agent, ..) in DENYING {
        let session = |more: &[&str]| {
            let run = run(&env, &shims, agent, "hello").args(more.iter().copied());
            let lines = run.args(["feed"]).start().finish_alone().assert_code(0).stdout_json();
            events(lines, "session.started")[0]["native_id"].as_str().unwrap().to_owned()
        };
        let first = session(&[]);
        assert_eq!(session(&["--resume", &first]), first, "{agent}");
    }
}

#[test]
fn a_policy_is_refused_with_the_next_step() {
    let env = place();
    let shims = shims(&env, "hello");
    for (agent, words) in [("grok", "add --acp"), ("agy", "the agent's own settings")] {
        let run = run(&env, &shims, agent, "hello").flag("--policy", "read-only");
        let run = run.args(["feed"]).start().finish_alone();
        assert!(run.assert_code(64).stderr.contains(words), "{agent}: {}", run.stderr);
    }
    assert!(env.logs().is_empty());
}

#[test]
fn a_prompt_as_an_argument_has_its_place_and_its_bound() {
    let env = place();
    let script = env.path("script");
    fs::write(&script, "init\nprompt\nassistant Fed.\ndone\n").unwrap();
    let agent = |prompt: &str| {
        let fake = env.bins().stablehand.display().to_string();
        let shim = env.path("agy");
        let text = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\nexec '{fake}' fake-agent --dialect agy --script '{}' -- \"$@\"\n",
            env.path("argv").display(),
            script.display()
        );
        fs::write(&shim, text).unwrap();
        fs::set_permissions(&shim, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let run = env.stablehand("run").flag("--agent", "agy").flag("--agent-bin", shim);
        let run = run.flag("--log-dir", env.log_dir()).stdin(prompt);
        run.start().finish_alone()
    };
    agent("--feed the ponies").assert_code(0);
    let argv = fs::read_to_string(env.path("argv")).unwrap();
    assert!(argv.ends_with("-p\n--feed the ponies\n"), "{argv}");
    assert!(argv.contains("--print-timeout\n8760h\n"), "{argv}");
    let long = agent(&"x".repeat(200_000));
    assert!(long.assert_code(64).stderr.contains("write it into a file"), "{}", long.stderr);
}
