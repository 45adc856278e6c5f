//! One turn's transcript has the same shape for all agents for the same scene.
//!
//! The shape is the sequence of event kinds and item kinds, after a normalisation that removes what
//! agents may differ in (`docs/event-model.md`, "The same turn, told by different agents"): how often
//! text comes in pieces, what only some of them tell, and when a tool is told to have begun.

use super::{ONE_WAY, place, shims};
use serde_json::Value;
use stablehand_testkit::TestEnv;
use std::path::Path;

/// What only some agents tell, or what we say and not they.
const OPTIONAL: &[&str] =
    &["usage.updated", "retry.scheduled", "connection.changed", "health.changed", "process.stderr"];

/// The events of a run with a shim.
fn events(env: &TestEnv, shims: &Path, agent: &str, scene: &str) -> Vec<Value> {
    let program = if agent == "cursor" { "cursor-agent" } else { agent };
    let run = env
        .stablehand("run")
        .flag("--agent", agent)
        .flag("--agent-bin", shims.join(program))
        .flag("--log-dir", env.log_dir())
        .flag("--output-format", "events")
        .variable("STABLEHAND_FAKE_SCENE", scene)
        .args(["feed the ponies"])
        .finish();
    run.assert_code(0).stdout_json()
}

/// The shape of a transcript: words such as `item.started message`.
fn shape(events: &[Value]) -> Vec<String> {
    let mut shape: Vec<String> = Vec::new();
    for event in events.iter().map(|line| &line["event"]) {
        let kind = event["type"].as_str().unwrap();
        let item = event["item"]["kind"].as_str().or(event["role"].as_str());
        // Grok tells what a command prints while it runs.
        let is_output = kind == "item.delta" && item == Some("tool_output");
        if OPTIONAL.contains(&kind) || item == Some("notice") || is_output {
            continue;
        }
        let tool = event["item"]["tool_kind"].as_str().unwrap_or_default();
        let word = [kind, item.unwrap_or_default(), tool].join(" ").trim_end().to_owned();
        // Consecutive pieces of a text are one.
        if kind == "item.delta" && shape.last() == Some(&word) {
            continue;
        }
        shape.push(word);
    }
    // Grok names its session in its last line only.
    if let Some(at) = shape.iter().position(|word| word == "session.started") {
        let named = shape.remove(at);
        let spawned = shape.iter().position(|word| word == "process.spawned").unwrap();
        shape.insert(spawned + 1, named);
    }
    // In each run of tool events the beginnings come before the ends, each in its order: who tells a
    // tool only when it is over tells both at once.
    let is_tool = |word: &str| word.contains(" tool ");
    for run in shape.chunk_by_mut(|one, two| is_tool(one) && is_tool(two)) {
        run.sort_by_key(|word| word.starts_with("item.completed"));
    }
    shape
}

#[test]
fn the_same_scene_has_the_same_shape_in_all_agents() {
    let message = ["item.started message", "item.delta message", "item.completed message"];
    let opening = ["turn.started", "process.spawned", "session.started"];
    let ending = ["turn.result", "process.exited", "run.ended", "turn.ended", "session.ended"];
    let tool = ["item.started tool execute", "item.completed tool execute"];
    let both = [
        "item.started tool execute",
        "item.started tool execute",
        "item.completed tool execute",
        "item.completed tool execute",
    ];
    let turn = |tools: &[&'static str]| -> Vec<&'static str> {
        let second: &[&str] = if tools.is_empty() { &[] } else { &message };
        [&opening[..], &message[..], tools, second, &ending[..]].concat()
    };
    let env = place();
    let shims = shims(&env, "hello");
    for (scene, expected) in [
        ("hello", turn(&[])),
        ("shell", turn(&tool)),
        ("parallel", turn(&both)),
        ("failing-tool", turn(&tool)),
    ] {
        for agent in ONE_WAY {
            let events = events(&env, &shims, agent, scene);
            assert_eq!(shape(&events), expected, "`{scene}` of {agent}: {events:#?}");
        }
    }
}

#[test]
fn the_same_scene_says_the_same_in_all_agents() {
    let env = place();
    let shims = shims(&env, "hello");
    for agent in ONE_WAY {
        let events = events(&env, &shims, agent, "shell");
        let items = |kind: &str| -> Vec<Value> {
            let done = events.iter().map(|line| &line["event"]);
            let done = done.filter(|event| event["type"] == "item.completed");
            done.map(|event| event["item"].clone()).filter(|item| item["kind"] == kind).collect()
        };
        let texts: Vec<Value> = items("message").iter().map(|item| item["text"].clone()).collect();
        assert_eq!(texts, ["I will run a command.", "The command printed hi."], "{agent}");
        let tool = &items("tool")[0];
        assert_eq!(tool["input"]["command"], "echo hi", "{agent}");
        assert_eq!(tool["outcome"]["kind"], "success", "{agent}");
        assert_eq!(tool["output"].as_str().unwrap().trim_end(), "hi", "{agent}");
    }
}

#[test]
fn a_failing_command_is_a_failure_where_the_agent_tells_its_code() {
    let env = place();
    let shims = shims(&env, "hello");
    for agent in ONE_WAY {
        let events = events(&env, &shims, agent, "failing-tool");
        let outcome = events.iter().find_map(|line| line["event"]["item"].get("outcome")).unwrap();
        // Gemini and Antigravity call a command that ran a success, and its exit code is nowhere.
        let expected = if ["gemini", "agy"].contains(&agent) { Value::Null } else { 3.into() };
        assert_eq!(outcome["exit_code"], expected, "{agent}: {outcome}");
    }
}
