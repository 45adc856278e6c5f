//! How things end for an editor: cancelled, hung, crashed, gone. The tree is gone every time.

use super::{ALL, Editor, demo, served, with_shims};
use crate::support::secs;
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn a_cancel_stops_the_turn_and_its_processes() {
    for agent in ALL {
        let env = with_shims();
        let mut editor = Editor::open(served(&env, agent, "long-tool"), &env);
        let session = editor.new_session();
        let prompt = editor.begin_prompt(&session, "work");
        editor.wait("a call", |it| it["params"]["update"]["sessionUpdate"] == "tool_call");
        editor.cancel(&session);
        let done = editor.answer(prompt);
        assert_eq!(done["result"]["stopReason"], "cancelled", "{agent}: {done}");
        // The agent does not say how its tool ended, so it is shown as no success.
        let ends = editor.updates("tool_call_update");
        assert!(ends.iter().all(|end| end["status"] != "completed"), "{agent}: {ends:?}");
        editor.leave().assert_code(0);
        env.assert_nobody_left();
    }
}

#[test]
fn a_prompt_on_top_of_another_cancels_it() {
    let env = with_shims();
    let mut editor = Editor::open(demo(&env), &env);
    let session = editor.new_session();
    let first = editor.begin_prompt(&session, "a long one");
    editor.wait("a word", |it| it["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    let second = editor.begin_prompt(&session, "/stats");
    assert_eq!(editor.answer(first)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.answer(second)["result"]["stopReason"], "end_turn");
    editor.leave().assert_code(0);
}

#[test]
fn a_hang_is_told_with_what_was_seen_and_the_next_prompt_works() {
    for agent in ["cursor", "claude", "gemini/acp"] {
        let env = with_shims();
        let mut editor = Editor::open(served(&env, agent, "stall"), &env);
        let session = editor.new_session();
        let done = editor.prompt(&session, "hang");
        assert!(done["error"]["message"].as_str().unwrap().contains("hung"), "{agent}: {done}");
        assert!(done["error"]["data"]["log"].is_string(), "{agent}: {done}");
        let said = editor.said();
        assert!(said.contains("Stablehand stopped the agent"), "{agent}: {said}");
        let told = editor.wait("the record", |it| {
            it["params"]["update"]["_meta"]["stablehand"]["health"] == "stalled"
        });
        let evidence = &told["params"]["update"]["_meta"]["stablehand"]["evidence"];
        assert!(evidence["verdict"].is_string(), "{agent}: {told}");
        let again = editor.prompt(&session, "/stats");
        assert_eq!(again["result"]["stopReason"], "end_turn", "{agent}");
        editor.leave().assert_code(0);
        env.assert_nobody_left();
    }
}

#[test]
fn a_crash_is_an_error_with_the_agents_last_words() {
    for agent in ALL {
        let env = with_shims();
        let mut editor = Editor::open(served(&env, agent, "crash"), &env);
        let session = editor.new_session();
        let done = editor.prompt(&session, "crash");
        assert!(done["error"]["message"].is_string(), "{agent}: {done}");
        editor.leave().assert_code(0);
        env.assert_nobody_left();
    }
}

#[test]
fn an_editor_that_vanishes_leaves_nobody() {
    let env = with_shims();
    let mut editor = Editor::open(served(&env, "claude", "long-tool"), &env);
    let session = editor.new_session();
    editor.begin_prompt(&session, "work");
    editor.wait("a call", |it| it["params"]["update"]["sessionUpdate"] == "tool_call");
    editor.leave().assert_code(0).assert_within(secs(20));
    env.assert_nobody_left();
}

#[test]
fn a_signal_or_a_kill_leaves_nobody() {
    for (signal, code) in [(Signal::SIGTERM, Some(143)), (Signal::SIGKILL, None)] {
        let env = with_shims();
        let mut editor = Editor::open(served(&env, "codex", "long-tool"), &env);
        let session = editor.new_session();
        editor.begin_prompt(&session, "work");
        editor.wait("a call", |it| it["params"]["update"]["sessionUpdate"] == "tool_call");
        editor.running().signal(signal);
        let run = editor.finish();
        if let Some(code) = code {
            run.assert_code(code);
        }
        env.assert_nobody_left();
    }
}

#[test]
fn what_an_editor_gets_wrong_is_named() {
    let env = with_shims();
    let mut editor = Editor::open(demo(&env), &env);
    let relative = editor.ask("session/new", json!({ "cwd": "here", "mcpServers": [] }));
    assert!(relative["error"]["data"].as_str().unwrap().contains("`here`"), "{relative}");
    let missing = editor.ask("session/new", json!({ "cwd": "/no/such", "mcpServers": [] }));
    assert!(missing["error"]["data"].as_str().unwrap().contains("/no/such"), "{missing}");
    let unknown = editor.prompt("no-such-session", "hello");
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    let method = editor.ask("session/fly", json!({}));
    assert_eq!(method["error"]["code"], -32601, "{method}");
    editor.running().type_line("this is no JSON");
    editor.wait("a complaint", |it| it["error"]["code"] == -32700);
    let session = editor.new_session();
    let empty = editor.prompt(&session, "");
    assert_eq!(empty["error"]["data"], "the prompt is empty", "{empty}");
    let done = editor.prompt(&session, "/stats");
    assert_eq!(done["result"]["stopReason"], "end_turn", "{done}");
    editor.leave().assert_code(0);
}

#[test]
fn a_wrong_command_line_is_explained() {
    let env = with_shims();
    let run = env.stablehand("acp").args(["--agent", "demo", "--resume", "x"]).finish();
    run.assert_code(64);
    assert!(run.stderr.contains("come from the editor"), "{}", run.stderr);
    let run = env.stablehand("acp").args(["--agent", "nobody"]).finish();
    assert!(run.stderr.contains("no agent is called `nobody`"), "{}", run.stderr);
}

/// The log gets another name in mid-turn; a kill must not lose the way to it.
#[test]
fn what_was_said_before_a_kill_is_told_when_the_session_is_loaded() {
    for agent in ["codex", "claude", "cursor"] {
        let env = with_shims();
        let mut editor = Editor::open(served(&env, agent, "hello"), &env);
        let session = editor.new_session();
        editor.prompt(&session, "feed the ponies");
        editor.leave().assert_code(0);
        // In a second process the agent's id is known before its log has a name.
        let mut editor = Editor::open(served(&env, agent, "long-tool"), &env);
        assert!(editor.go_on("session/resume", &session)["result"].is_object());
        editor.begin_prompt(&session, "work");
        editor.wait("a call", |it| it["params"]["update"]["sessionUpdate"] == "tool_call");
        editor.running().signal(Signal::SIGKILL);
        editor.finish();
        env.assert_nobody_left();
        let mut editor = Editor::open(served(&env, agent, "hello"), &env);
        assert!(editor.go_on("session/load", &session)["result"].is_object());
        let asked = editor.updates("user_message_chunk");
        let asked: Vec<_> = asked.iter().map(|it| it["content"]["text"].clone()).collect();
        assert_eq!(asked, ["feed the ponies", "work"], "{agent}: {}", env.log_tail());
        assert_eq!(editor.updates("tool_call").len(), 1, "{agent}");
        editor.leave().assert_code(0);
    }
}

#[test]
fn what_a_session_costs_is_told_before_its_turn_is_answered_and_again_when_it_is_loaded() {
    let env = with_shims();
    let mut editor = Editor::open(served(&env, "claude", "hello"), &env);
    let session = editor.new_session();
    let mut told = Vec::new();
    for _ in 0..2 {
        editor.prompt(&session, "go");
        told = editor.updates("usage_update");
    }
    let amounts: Vec<_> = told.iter().map(|it| it["cost"]["amount"].as_f64().unwrap()).collect();
    assert_eq!(amounts.len(), 2, "{told:?}");
    assert!(amounts[0] > 0.0 && (amounts[1] - 2.0 * amounts[0]).abs() < 1e-9, "{amounts:?}");
    assert_eq!(told[0]["cost"]["currency"], "USD");
    let last = editor.frames().into_iter().rfind(|it| it.get("id").is_some()).unwrap();
    let used = &last["result"]["_meta"]["stablehand"]["usage"];
    assert_eq!(told[1]["_meta"]["stablehand"]["usage"], *used, "{last}");
    editor.leave().assert_code(0);
    let mut editor = Editor::open(served(&env, "claude", "hello"), &env);
    editor.go_on("session/load", &session);
    let again = editor.updates("usage_update");
    assert_eq!(again.len(), 1, "{again:?}");
    assert_eq!(again[0]["cost"], told[1]["cost"]);
    editor.leave().assert_code(0);
    env.assert_nobody_left();
}
