//! Every message of the protocol where we are one of its ends: as the agent of an editor, and as the
//! client of an agent. What was written on both sides is a snapshot; the schema's own lists say
//! whether a method is missing.

use super::{Editor, demo, with_shims};
use crate::support::secs;
use agent_client_protocol::v1::schema;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The frames of one side, without what is new every time.
fn recorded(frames: &[Value], secrets: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for frame in frames {
        let mut line = plain(frame).to_string();
        for (secret, name) in secrets {
            line = line.replace(secret, name);
        }
        // Words come one by one; how many there are says nothing.
        let kind = frame["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default();
        let is_chunk = kind.ends_with("_chunk");
        if is_chunk && last == kind {
            continue;
        }
        last = if is_chunk { kind.to_owned() } else { String::new() };
        let _infallible = writeln!(text, "{line}");
    }
    text
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            // In one order, whatever order JSON is kept in.
            let sorted: std::collections::BTreeMap<_, _> = members.iter().collect();
            let member = |(name, value): (&String, &Value)| {
                let value = match name.as_str() {
                    "messageId" | "toolCallId" | "version" | "updatedAt" | "usage" | "log" => {
                        "…".into()
                    }
                    "id" if value.as_str().is_some_and(|id| id.len() == 36) => "…".into(),
                    _ => plain(value),
                };
                (name.clone(), value)
            };
            Value::Object(sorted.into_iter().map(member).collect())
        }
        Value::Array(values) => values.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// What we believe of an agent depends on how quick it is.
fn is_health(frame: &Value) -> bool {
    frame["params"]["update"]["sessionUpdate"] == "session_info_update"
}

fn names(table: impl serde::Serialize) -> BTreeSet<String> {
    let table = serde_json::to_value(table).unwrap();
    let names = table.as_object().unwrap().values();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_method_of_an_agent_is_served() {
    let env = with_shims();
    let mut editor = Editor::open(demo(&env), &env);
    let cwd = env.work().display().to_string();
    let session = editor.new_session();
    let of = |more: Value| {
        let mut params = json!({ "sessionId": session });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let place = json!({ "cwd": cwd, "mcpServers": [] });
    let mut asked: BTreeSet<String> = ["initialize", "session/new"].map(str::to_owned).into();
    let mut ask = |editor: &mut Editor<'_>, method: &str, params: Value| {
        asked.insert(method.to_owned());
        editor.ask(method, params)
    };
    ask(&mut editor, "authenticate", json!({ "methodId": "agent-login" }));
    ask(&mut editor, "session/set_mode", of(json!({ "modeId": "plan" })));
    let option = json!({ "configId": "mode", "value": "agent" });
    ask(&mut editor, "session/set_config_option", of(option));
    let prompt = json!({ "prompt": [{ "type": "text", "text": "/stats" }] });
    ask(&mut editor, "session/prompt", of(prompt));
    ask(&mut editor, "session/list", json!({ "cwd": cwd }));
    ask(&mut editor, "session/resume", of(place.clone()));
    ask(&mut editor, "session/load", of(place));
    ask(&mut editor, "session/close", of(json!({})));
    ask(&mut editor, "session/delete", of(json!({})));
    ask(&mut editor, "logout", json!({}));
    ask(&mut editor, "_own/thing", json!({}));
    asked.insert("session/cancel".to_owned());
    editor.cancel(&session);
    let missing: Vec<_> = names(schema::AGENT_METHOD_NAMES).difference(&asked).cloned().collect();
    assert!(missing.is_empty(), "not asked: {missing:?}");
    let mut frames = editor.frames();
    frames.retain(|frame| !is_health(frame));
    editor.leave().assert_code(0);
    insta::assert_snapshot!(recorded(&frames, &[(&session, "SESSION"), (&cwd, "WORK")]));
}

#[test]
fn every_update_that_an_editor_can_be_shown() {
    let env = with_shims();
    let mut editor = Editor::open(demo(&env), &env);
    let cwd = env.work().display().to_string();
    let session = editor.new_session();
    let prompt = editor.begin_prompt(&session, "edit a file");
    editor.attend(prompt, "allow_once");
    let mut frames = editor.frames();
    frames.retain(|frame| !is_health(frame));
    editor.leave().assert_code(0);
    // All that is sent can be read by whoever goes by the schema.
    for frame in frames.iter().filter(|frame| frame["method"] == "session/update") {
        let read = serde_json::from_value::<schema::SessionNotification>(frame["params"].clone());
        assert!(read.is_ok(), "{frame}: {read:?}");
    }
    insta::assert_snapshot!(recorded(&frames, &[(&session, "SESSION"), (&cwd, "WORK")]));
}

/// An agent that asks its client for everything that there is to ask for, one after the other.
const DEMANDING: &str = r#"
say() { printf '%s\n' "$1"; }
while IFS= read -r l; do printf '%s\n' "$l" >> "$HEARD"; case "$l" in
*'"initialize"'*) say '{"jsonrpc":"2.0","id":"stablehand-hello","result":{"protocolVersion":1,"agentCapabilities":{}}}';;
*'"session/new"'*) say '{"jsonrpc":"2.0","id":"stablehand-session","result":{"sessionId":"s1"}}';;
*'"session/prompt"'*)
  say '{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"WORK/hay.txt","content":"hay\n"}}';;
*'"id":1,'*) say '{"jsonrpc":"2.0","id":2,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"WORK/hay.txt"}}';;
*'"id":2,'*) say '{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/etc/hostname"}}';;
*'"id":3,'*) say '{"jsonrpc":"2.0","id":4,"method":"terminal/create","params":{"sessionId":"s1","command":"echo","args":["neigh"]}}';;
*'"id":4,'*) say '{"jsonrpc":"2.0","id":5,"method":"terminal/wait_for_exit","params":{"sessionId":"s1","terminalId":"terminal-4"}}';;
*'"id":5,'*) say '{"jsonrpc":"2.0","id":6,"method":"terminal/output","params":{"sessionId":"s1","terminalId":"terminal-4"}}';;
*'"id":6,'*) say '{"jsonrpc":"2.0","id":7,"method":"terminal/kill","params":{"sessionId":"s1","terminalId":"terminal-4"}}';;
*'"id":7,'*) say '{"jsonrpc":"2.0","id":8,"method":"terminal/release","params":{"sessionId":"s1","terminalId":"terminal-4"}}';;
*'"id":8,'*) say '{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1","title":"feed","kind":"execute","rawInput":{"command":"feed"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}';;
*'"id":9,'*) say '{"jsonrpc":"2.0","id":10,"method":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"Which pony?","requestedSchema":{"type":"object","properties":{}}}}';;
*'"id":10,'*)
  say '{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e1"}}'
  say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Fed."}}}}'
  say '{"jsonrpc":"2.0","id":11,"method":"_own/question","params":{}}';;
*'"id":11,'*) say '{"jsonrpc":"2.0","id":12,"method":"unknown/question","params":{}}';;
*'"id":12,'*) say '{"jsonrpc":"2.0","id":"stablehand-turn-1","result":{"stopReason":"end_turn"}}';;
esac; done
"#;

#[test]
fn every_method_of_a_client_is_answered() {
    for name in names(schema::CLIENT_METHOD_NAMES) {
        assert!(DEMANDING.contains(&name), "{name} is not asked for");
    }
    let env = with_shims();
    let work = env.work().canonicalize().unwrap().display().to_string();
    std::fs::write(env.path("agent.sh"), DEMANDING.replace("WORK", &work)).unwrap();
    let agent = format!("acp:sh '{}'", env.path("agent.sh").display());
    let run = env
        .stablehand("run")
        .flag("--agent", agent)
        .flag("--workspace", env.work())
        .flag("--log-dir", env.log_dir())
        .variable("HEARD", env.path("heard").display().to_string())
        .args(["feed them"])
        .deadline(secs(60))
        .finish();
    run.assert_code(0);
    assert_eq!(std::fs::read_to_string(env.work().join("hay.txt")).unwrap(), "hay\n");
    let heard = std::fs::read_to_string(env.path("heard")).unwrap();
    let frames: Vec<Value> =
        heard.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    insta::assert_snapshot!(recorded(&frames, &[(&work, "WORK")]));
    env.assert_nobody_left();
}
