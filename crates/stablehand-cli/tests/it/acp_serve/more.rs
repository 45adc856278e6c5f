//! What an editor may send besides words, and who may ask it: images, files, hooks, rules to try again.

use super::{Editor, demo, served, with_shims};
use crate::support::{env, secs};
use serde_json::json;
use stablehand_testkit::{Run, TestEnv};
use std::os::unix::fs::PermissionsExt;

/// The scripted agent behind us, which works in the folder of the test.
fn scripted<'e>(env: &'e TestEnv, agent: &str) -> Run<'e> {
    std::fs::create_dir_all(env.work()).unwrap();
    // Every start is a part of the script; a question about models is none.
    let program = env.path("agent");
    let fake = env.bins().fake_agent.display();
    let text = format!("#!/bin/sh\ncase \"$*\" in *models*) exit 1;; esac\nexec '{fake}' \"$@\"\n");
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.stablehand("acp")
        .flag("--agent", agent)
        .flag("--agent-bin", program)
        .flag("--log-dir", env.log_dir())
        .flag("--startup-timeout", "30s")
        .flag("--idle-timeout", "2s")
        .variable("FAKE_AGENT_DIALECT", agent)
        .deadline(secs(90))
}

#[test]
fn a_prompt_that_a_rule_denies_is_refused_with_its_reason_and_starts_nothing() {
    for agent in ["claude", "cursor"] {
        let env = with_shims();
        let file = env.work().join("stablehand.toml");
        let text = "[[prompt]]\nmatches = 'SECRET'\naction = 'deny'\nreason = 'keys stay here'\n";
        std::fs::write(&file, text).unwrap();
        let mut editor = Editor::open(served(&env, agent, "hello"), &env);
        let session = editor.new_session();
        let refused = editor.prompt(&session, "the SECRET");
        assert_eq!(refused["error"]["code"], -32602, "{agent}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("stablehand.toml:1: keys stay here"), "{agent}: {message}");
        assert!(env.logs().iter().all(|log| !log.has("agent_spawned")), "{agent}");
        let done = editor.prompt(&session, "oats");
        assert_eq!(done["result"]["stopReason"], "end_turn", "{agent}: {done}");
        editor.leave().assert_code(0);
        let log = env.log();
        let denied = log.one("prompt_denied");
        assert_eq!((&denied["by"], &denied["via"]), (&"person".into(), &"acp".into()), "{agent}");
        assert_eq!(log.all("turn_started").len(), 1, "{agent}: {:?}", log.names());
        env.assert_nobody_left();
    }
}

#[test]
fn what_hooks_ask_is_the_editors_to_answer() {
    let env = env("read-stdin\ninit s1\nrun c1 10s touch yes\nrun c2 10s touch no\ndone\n");
    let mut editor = Editor::open(scripted(&env, "cursor").args(["--hooks"]), &env);
    let session = editor.new_session();
    let prompt = editor.begin_prompt(&session, "go");
    let first = editor.choose(0, "allow_once");
    assert_eq!(first["params"]["toolCall"]["rawInput"]["command"], "touch yes", "{first}");
    editor.choose(1, "reject_once");
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn");
    editor.leave().assert_code(0);
    let made = |name: &str| env.work().join(name).exists();
    assert!(made("yes") && !made("no"), "{}", env.log_tail());
    env.assert_nobody_left();
}

#[test]
fn a_turn_that_hung_is_tried_again_where_that_is_wished() {
    let env = env("read-stdin\ninit s1\nassistant so\nhang\n---\n\
                   read-stdin\ninit s1\nassistant yes\nresult yes\n");
    let mut editor = Editor::open(scripted(&env, "cursor").flag("--retries", "1"), &env);
    let session = editor.new_session();
    let done = editor.prompt(&session, "go");
    assert_eq!(done["result"]["stopReason"], "end_turn", "{done}");
    assert!(editor.said().contains("yes"), "{}", editor.said());
    editor.leave().assert_code(0);
    assert_eq!(env.log().all("agent_spawned").len(), 2);
    env.assert_nobody_left();
}

#[test]
fn images_and_files_come_with_a_prompt() {
    let env = with_shims();
    let mut editor = Editor::open(demo(&env), &env);
    let session = editor.new_session();
    let prompt = json!([
        { "type": "text", "text": "/stats and look at" },
        { "type": "resource_link", "name": "hay.txt", "uri": "file:///barn/hay.txt" },
        { "type": "resource", "resource": { "uri": "file:///barn/oats.txt", "text": "oats\n" } },
        { "type": "image", "mimeType": "image/png", "data": "aGF5" },
    ]);
    let id = editor.begin("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
    assert_eq!(editor.attend(id, "reject_once")["result"]["stopReason"], "end_turn");
    assert!(editor.said().contains("image"), "{}", editor.said());
    let sound = json!([{ "type": "audio", "mimeType": "audio/wav", "data": "aGF5" }]);
    let refused = editor.ask("session/prompt", json!({ "sessionId": session, "prompt": sound }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    editor.leave().assert_code(0);
    let given = env.log().one("prompt_given").clone();
    let text = given["text"].as_str().unwrap();
    assert!(text.contains("@/barn/hay.txt") && text.contains("oats"), "{given:?}");
}
