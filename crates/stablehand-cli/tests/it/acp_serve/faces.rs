//! One session, several faces: an editor, another editor, `run`, `talk`, and a program with a `Host`.

use super::{Editor, served, with_shims};
use crate::support::secs;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stablehand::control::AnswerError;
use stablehand::{Actor, Answer, From, Host, SessionKey};
use stablehand_core::event::EventKind;
use stablehand_testkit::TestEnv;

/// Rules under which everything is asked.
fn asking(env: &TestEnv) -> std::path::PathBuf {
    let rules = env.path("rules.toml");
    std::fs::write(&rules, "[policy]\ndefault = \"ask\"\n").unwrap();
    rules
}

fn prompts(editor: &Editor<'_>) -> Vec<Value> {
    let told = editor.updates("user_message_chunk");
    told.iter().map(|it| it["content"]["text"].clone()).collect()
}

#[test]
fn a_session_id_is_the_key_of_the_session() {
    let env = with_shims();
    let mut editor = Editor::open(served(&env, "claude", "hello"), &env);
    let session = editor.new_session();
    assert!(session.parse::<SessionKey>().is_ok(), "{session}");
    editor.prompt(&session, "hello");
    editor.leave().assert_code(0);
    assert_eq!(env.log().records[0]["session"], session.as_str());
}

#[test]
fn a_session_whose_first_turn_was_killed_is_told_and_goes_on() {
    let env = with_shims();
    let mut editor = Editor::open(served(&env, "claude", "long-tool"), &env);
    let session = editor.new_session();
    editor.begin_prompt(&session, "work");
    editor.wait("a call", |it| it["params"]["update"]["sessionUpdate"] == "tool_call");
    let calls = editor.updates("tool_call");
    editor.running().signal(Signal::SIGKILL);
    editor.finish();
    env.assert_nobody_left();
    let mut editor = Editor::open(served(&env, "claude", "hello"), &env);
    assert!(editor.go_on("session/load", &session)["result"].is_object());
    assert_eq!(prompts(&editor), ["work"]);
    assert_eq!(editor.updates("tool_call"), calls);
    assert_eq!(editor.prompt(&session, "more")["result"]["stopReason"], "end_turn");
    assert_eq!(prompts(&editor), ["work"], "its own prompts an editor has");
    editor.leave().assert_code(0);
    let logs = env.logs();
    let keys: Vec<_> = logs.iter().map(|log| log.records[0]["session"].clone()).collect();
    assert_eq!(keys, [session.as_str(), session.as_str()]);
}

#[test]
fn sessions_of_run_and_talk_are_loaded_by_their_keys() {
    for face in ["run", "talk"] {
        let env = with_shims();
        let run = served(&env, "claude", "hello").instead_of("acp", face);
        let run = run.flag("--workspace", env.work());
        let run = match face {
            "run" => run.args(["feed the ponies"]),
            _ => run.stdin("feed the ponies\n"),
        };
        run.finish().assert_code(0);
        let key = env.log().records[0]["session"].as_str().unwrap().to_owned();
        let mut editor = Editor::open(served(&env, "claude", "hello"), &env);
        let loaded = editor.go_on("session/load", &key);
        assert!(loaded["result"].is_object(), "{face}: {loaded}");
        assert_eq!(prompts(&editor), ["feed the ponies"], "{face}");
        assert!(!editor.said().is_empty(), "{face}");
        assert_eq!(editor.prompt(&key, "more")["result"]["stopReason"], "end_turn", "{face}");
        editor.leave().assert_code(0);
        // Another agent does not go on with it.
        let mut editor = Editor::open(served(&env, "codex", "hello"), &env);
        assert_eq!(editor.go_on("session/load", &key)["error"]["code"], -32002, "{face}");
        editor.leave().assert_code(0);
    }
}

#[test]
fn the_first_answer_wins_whichever_face_gives_it() {
    for first in ["host", "editor"] {
        let env = with_shims();
        let mut editor = Editor::open(served(&env, "claude", "ask"), &env);
        let session = editor.new_session();
        let prompt = editor.begin_prompt(&session, "go");
        let question = editor.wait("a question", |it| it["method"] == "session/request_permission");
        let key: SessionKey = session.parse().unwrap();
        let host = Host::new(env.log_dir());
        let mut events = host.subscribe(key, From::Start).unwrap();
        let asked = events.find_map(|frame| match &frame.event.event {
            EventKind::ApprovalRequested { id, waits: true, .. } => Some(id.clone()),
            _ => None,
        });
        let id = asked.unwrap();
        let answer = || host.answer(key, &id, Answer::Allow, Actor::person("web"));
        if first == "host" {
            assert_eq!(answer(), Ok(()));
            editor.wait("that the question is taken back", |it| {
                it["method"] == "$/cancel_request" && it["params"]["requestId"] == question["id"]
            });
            // A late word changes nothing.
            editor.choose(0, "reject_once");
        } else {
            editor.choose(0, "allow_once");
            env.wait_for_log("approval_resolved");
            let by = Actor::person("acp");
            assert_eq!(answer(), Err(AnswerError::AlreadyAnswered { id: id.clone(), by }));
        }
        assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn", "{first}");
        editor.leave().assert_code(0);
        let resolved = env.log().one("approval_resolved").clone();
        let via = if first == "host" { "web" } else { "acp" };
        assert_eq!((&resolved["choice"], &resolved["via"]), (&"allow".into(), &via.into()));
        env.assert_nobody_left();
    }
}

#[test]
fn always_in_the_editor_writes_the_rule_and_is_on_record() {
    let env = with_shims();
    let rules = asking(&env);
    let mut editor = Editor::open(served(&env, "claude", "ask").flag("--policy", &rules), &env);
    let session = editor.new_session();
    let prompt = editor.begin_prompt(&session, "go");
    editor.choose(0, "allow_always");
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn");
    // The rule holds at once.
    assert_eq!(editor.prompt(&session, "again")["result"]["stopReason"], "end_turn");
    assert_eq!(editor.of_method("session/request_permission").len(), 1);
    editor.leave().assert_code(0);
    let written = std::fs::read_to_string(&rules).unwrap();
    assert_eq!(written.matches("[[policy.rule]]").count(), 1, "{written}");
    let log = env.log();
    assert_eq!(log.one("rule_written")["rule"]["file"], rules.display().to_string());
    let resolved = log.all("approval_resolved");
    assert_eq!((&resolved[0]["by"], &resolved[0]["via"]), (&"person".into(), &"acp".into()));
}

#[test]
fn a_session_that_another_editor_has_open_is_told_and_goes_on_there() {
    let env = with_shims();
    let mut first = Editor::open(served(&env, "claude", "ask"), &env);
    let session = first.new_session();
    let prompt = first.begin_prompt(&session, "go");
    first.wait("a question", |it| it["method"] == "session/request_permission");
    // Another environment, so that each counts its own processes; the logs are the same.
    let other = with_shims();
    std::fs::create_dir_all(other.log_dir().parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(env.log_dir(), other.log_dir()).unwrap();
    let mut second = Editor::open(served(&other, "claude", "ask"), &other);
    let loaded = second.go_on("session/load", &session);
    assert!(loaded["result"].is_object(), "{loaded}");
    assert_eq!(prompts(&second), ["go"]);
    // The question waits there, too.
    second.choose(0, "allow_once");
    assert_eq!(first.answer(prompt)["result"]["stopReason"], "end_turn");
    let next = second.begin_prompt(&session, "and then?");
    second.choose(1, "reject_once");
    assert_eq!(second.answer(next)["result"]["stopReason"], "end_turn");
    first.wait("the prompt of the other", |it| {
        it["params"]["update"]["content"]["text"] == "and then?"
    });
    second.leave().assert_code(0);
    // The session is the first one's, and stays.
    let last = first.begin_prompt(&session, "still there?");
    first.choose(2, "allow_once");
    assert_eq!(first.answer(last)["result"]["stopReason"], "end_turn");
    first.leave().assert_code(0);
    assert_eq!(env.logs().len(), 1);
    assert_eq!(env.log().all("agent_spawned").len(), 1);
    env.assert_nobody_left();
}

#[test]
fn a_session_that_was_deleted_is_gone_for_editors_and_its_logs_stay() {
    let env = with_shims();
    let mut editor = Editor::open(served(&env, "claude", "hello"), &env);
    let session = editor.new_session();
    editor.prompt(&session, "feed the ponies");
    let native = env.log().one("session_started")["session_id"].as_str().unwrap().to_owned();
    assert!(editor.ask("session/delete", json!({ "sessionId": session }))["result"].is_object());
    for id in [&session, &native] {
        assert_eq!(editor.go_on("session/load", id)["error"]["code"], -32002, "{id}");
    }
    let listed = editor.ask("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"], json!([]), "{listed}");
    editor.leave().assert_code(0).assert_within(secs(20));
    let logs = env.logs();
    let deleted: Vec<_> = logs.iter().flat_map(|log| log.all("session_deleted")).collect();
    assert_eq!(deleted.len(), 1);
    assert_eq!((&deleted[0]["by"], &deleted[0]["via"]), (&"person".into(), &"acp".into()));
    let folder = env.log_dir().display().to_string();
    let shown = env.stablehand("sessions").args(["show", "latest", "--log-dir", &folder]).finish();
    assert!(shown.stdout_text().contains("feed the ponies"), "{}", shown.stdout_text());
    assert!(logs.iter().any(|log| !log.all("turn_started").is_empty()));
}
