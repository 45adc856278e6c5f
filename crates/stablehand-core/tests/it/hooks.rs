//! The hooks of agents: a payload of every event, what it says and what it is answered.
//!
//! `fixtures/hooks/<agent>/<event>.json` is a payload as the agent writes it, with invented content;
//! `<event>.<what>.json` another one of the same event. Beside it `.expect.json` has what is heard
//! and every answer; `UPDATE=1 cargo test -p stablehand-core --test it hooks` writes those anew.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use stablehand_core::Dialect;
use stablehand_core::event::ToolInput;
use stablehand_core::hook::{AgentMoment, Answered, Heard, Hooks, Reply, Role};
use std::path::{Path, PathBuf};

fn agents() -> impl Iterator<Item = (Dialect, &'static dyn Hooks)> {
    Dialect::ALL.iter().filter_map(|dialect| Some((*dialect, dialect.hooks()?)))
}

fn replies() -> [(&'static str, Reply); 7] {
    let text = str::to_owned;
    [
        ("nothing", Reply::Nothing),
        ("allow", Reply::Allow { input: None }),
        ("allow_changed", Reply::Allow { input: Some(json!({"command": "ls"})) }),
        ("deny", Reply::Deny { reason: text("not on \"my\" watch") }),
        ("inform", Reply::Inform { context: Some(text("mind the\ngap")), env: vec![] }),
        (
            "inform_env",
            Reply::Inform { context: None, env: vec![(text("OATS"), text("with = sign"))] },
        ),
        ("go_on", Reply::GoOn { prompt: text("the tests fail") }),
    ]
}

fn heard_as_json(heard: &Heard) -> Value {
    let stop = heard.stop.as_ref().map(|it| {
        let mut stop = json!({"completed": it.completed, "rounds": it.rounds});
        if let Some(last) = &it.last_text {
            stop["last_text"] = json!(last);
        }
        stop
    });
    let mut told = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() && value != json!([]) {
            told.insert(key.to_owned(), value);
        }
    };
    put("session", json!(heard.session));
    put("tool", json!(heard.tool));
    put("arguments", heard.arguments.clone());
    put("cwd", json!(heard.cwd));
    put("prompt", json!(heard.prompt));
    put("stop", json!(stop));
    put("items", json!(heard.items));
    let other = heard.other_agent.as_ref();
    put(
        "other_agent",
        json!(other.map(|it| json!({"id": it.id, "begins": it.moment == AgentMoment::Begins}))),
    );
    Value::Object(told)
}

fn answer_as_json(answered: &Answered) -> Value {
    let stdout = serde_json::from_str(&answered.stdout);
    let stdout = stdout.unwrap_or_else(|_| Value::from(answered.stdout.as_str()));
    match (answered.exit, answered.stderr.as_str()) {
        (0, "") => stdout,
        (exit, stderr) => json!({"stdout": stdout, "stderr": stderr, "exit": exit}),
    }
}

fn folder(dialect: Dialect) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hooks").join(dialect.name())
}

fn payloads(dialect: Dialect) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder(dialect)).unwrap();
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .filter(|path| !path.to_string_lossy().ends_with(".expect.json"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name.split('.').next().unwrap().to_owned(), path)
        })
        .collect();
    found.sort();
    found
}

#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests read recordings")]
fn read(path: &Path) -> Option<Value> {
    Some(serde_json::from_slice(&std::fs::read(path).ok()?).unwrap())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests do")]
fn every_event_is_heard_and_answered_as_written_down() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let mut wrong = Vec::new();
    for (dialect, hooks) in agents() {
        let payloads = payloads(dialect);
        for event in hooks.events() {
            let known = payloads.iter().any(|(name, _)| name == event.name);
            assert!(known, "{} has no payload of {}", dialect.name(), event.name);
        }
        for (event, path) in payloads {
            let payload = read(&path).unwrap();
            assert_eq!(payload["hook_event_name"], event, "{}", path.display());
            let answers = replies().map(|(name, reply)| {
                (name.to_owned(), answer_as_json(&hooks.answer(&event, &reply)))
            });
            let now = json!({
                "heard": heard_as_json(&hooks.read(&event, &payload)),
                "answers": Map::from_iter(answers),
            });
            let expected = path.with_extension("expect.json");
            if read(&expected).as_ref() == Some(&now) {
                continue;
            }
            if update {
                let text = serde_json::to_string_pretty(&now).unwrap();
                std::fs::write(&expected, format!("{text}\n")).unwrap();
            } else {
                wrong.push(format!("{}: now {now:#}", expected.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_refusal_is_one_on_every_event_that_asks_and_on_those_nobody_knows() {
    let deny = Reply::Deny { reason: "no".to_owned() };
    for (dialect, hooks) in agents() {
        let asking = hooks.events().iter().filter(|event| event.role == Role::Permission);
        for event in asking.map(|event| event.name) {
            let refused = hooks.answer(event, &deny);
            assert_eq!(refused.exit, 0, "{event}");
            assert!(refused.stdout.contains("\"deny\""), "{event}: {}", refused.stdout);
            for (name, reply) in replies() {
                let other = hooks.answer(event, &reply);
                assert_eq!(other.exit, 0);
                assert!(!other.stdout.contains("\"ask\""), "{event} {name}: {}", other.stdout);
                if matches!(reply, Reply::Nothing | Reply::Allow { input: None }) {
                    assert!(!other.stdout.contains("deny"), "{event} {name}: {}", other.stdout);
                }
            }
            // Arguments that are no object cannot stand in for any.
            let odd = hooks.answer(event, &Reply::Allow { input: Some(json!(["ls"])) });
            assert!(odd.stdout.contains("\"deny\""), "{event}: {}", odd.stdout);
        }
        for reason in ["no", "", "{}", "7"] {
            let refused =
                hooks.answer("notYetInvented", &Reply::Deny { reason: reason.to_owned() });
            assert_eq!((refused.stdout.as_str(), refused.exit), ("", 2), "{}", dialect.name());
            assert!(serde_json::from_str::<Value>(&refused.stderr).is_err());
        }
        assert_eq!(hooks.role("notYetInvented"), Role::Permission);
        assert!(hooks.events().iter().any(|event| event.role == Role::Permission));
    }
}

/// Any JSON, often with the names of members that mean something.
fn anything() -> impl Strategy<Value = Value> {
    const NAMES: &str = "session_id|conversation_id|tool_name|tool_input|tool_use_id|cwd|command|\
        file_path|edits|old_string|new_string|content|prompt|text|task|status|loop_count|duration|\
        tool_output|tool_response|result_json|error|error_message|failure_type|mcp_context|\
        server_name|workspace_roots|trigger|message|stop_hook_active|is_interrupt|llmContent";
    let texts = prop_oneof![
        ".{0,12}",
        Just("MCP:".to_owned()),
        Just("mcp__".to_owned()),
        Just("mcp_".to_owned()),
        Just("Write".to_owned()),
        Just("{\"a\":".to_owned()),
        Just("{\"exitCode\":99999999999}".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        texts.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 48, 8, |inner| {
        let object = prop::collection::vec((NAMES, inner.clone()), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            object.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_told_can_be_heard(payload in anything(), unknown in ".{0,12}") {
        for (_, hooks) in agents() {
            for event in hooks.events().iter().map(|event| event.name).chain([unknown.as_str()]) {
                let heard = hooks.read(event, &payload);
                // As an empty path it would be taken for the folder that the agent works in.
                let nowhere = ToolInput::Path { path: String::new() };
                prop_assert_ne!(heard.tool.map(|tool| tool.input), Some(nowhere));
            }
        }
    }
}
