//! `stablehand acp --agent`: any agent for an editor that speaks the Agent Client Protocol.
//!
//! The editor is a few lines over real pipes; the agents are shims that play scenes, one for each way
//! in which agents are spoken with, and the built-in demo.

mod conformance;
mod ends;
mod faces;
mod frames;
mod more;
mod pipelined;

use crate::support::{bins, secs};
use serde_json::{Value, json};
use stablehand_testkit::{Finished, Run, Running, TestEnv};

/// One that is a process for each turn, two that listen in protocols of their own, one in ACP.
const ALL: [&str; 4] = ["cursor", "claude", "codex", "gemini/acp"];

/// Those that ask.
const ASKING: [&str; 3] = ["claude", "codex", "gemini/acp"];

pub(super) fn with_shims() -> TestEnv {
    let env = TestEnv::new(bins());
    let folder = env.path("shims");
    env.stablehand("fake-agent").flag("--shims", folder).finish().assert_code(0);
    std::fs::create_dir_all(env.work()).unwrap();
    env
}

pub(super) fn served<'e>(env: &'e TestEnv, agent: &str, scene: &str) -> Run<'e> {
    let (agent, protocol) = agent.split_once('/').unwrap_or((agent, ""));
    let protocol: &[&str] = if protocol == "acp" { &["--acp"] } else { &[] };
    let program = if agent == "cursor" { "cursor-agent" } else { agent };
    env.stablehand("acp")
        .args(protocol.iter().copied())
        .flag("--agent", agent)
        .flag("--agent-bin", env.path("shims").join(program))
        .flag("--log-dir", env.log_dir())
        .flag("--startup-timeout", "5s")
        .flag("--idle-timeout", "2s")
        .flag("--stop-grace", "1s")
        .variable("STABLEHAND_FAKE_SCENE", scene)
        .deadline(secs(60))
}

/// The built-in demo agent.
pub(super) fn demo(env: &TestEnv) -> Run<'_> {
    env.stablehand("acp")
        .flag("--agent", "demo")
        .flag("--log-dir", env.log_dir())
        .flag("--stop-grace", "1s")
        .deadline(secs(60))
}

/// An editor: asks, waits for answers, and answers what it is asked.
pub(super) struct Editor<'e> {
    running: Running<'e>,
    asked: u64,
    cwd: String,
}

impl<'e> Editor<'e> {
    pub(super) fn open(run: Run<'e>, env: &TestEnv) -> Editor<'e> {
        let cwd = env.work().display().to_string();
        let mut editor = Editor { running: run.stdin_open().start(), asked: 0, cwd };
        let hello = editor.ask("initialize", json!({ "protocolVersion": 1 }));
        assert_eq!(hello["result"]["protocolVersion"], 1, "{hello}");
        editor
    }

    pub(super) fn send(&mut self, frame: &Value) {
        self.running.type_line(&frame.to_string());
    }

    pub(super) fn send_bytes(&mut self, frame: &[u8]) {
        self.running.type_bytes(frame);
        self.running.type_bytes(b"\n");
    }

    pub(super) fn begin(&mut self, method: &str, params: impl Into<Value>) -> u64 {
        self.asked += 1;
        let (id, params) = (self.asked, params.into());
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(super) fn ask(&mut self, method: &str, params: impl Into<Value>) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    pub(super) fn answer(&self, id: u64) -> Value {
        let is_it = |frame: &Value| frame["id"] == id && frame.get("method").is_none();
        self.wait("an answer", is_it)
    }

    /// The first frame of that kind, waited for.
    pub(super) fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let until = std::time::Instant::now() + secs(30);
        loop {
            if let Some(found) = self.frames().into_iter().find(|frame| wanted(frame)) {
                return found;
            }
            assert!(
                std::time::Instant::now() < until,
                "{what}: {}\n{}",
                self.running.stdout_so_far(),
                self.running.stderr_so_far()
            );
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    pub(super) fn frames(&self) -> Vec<Value> {
        let text = self.running.stdout_so_far();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub(super) fn new_session(&mut self) -> String {
        let params = json!({ "cwd": self.cwd, "mcpServers": [] });
        let made = self.ask("session/new", params);
        made["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    pub(super) fn go_on(&mut self, method: &str, session: &str) -> Value {
        let params = json!({ "sessionId": session, "cwd": self.cwd, "mcpServers": [] });
        self.ask(method, params)
    }

    pub(super) fn begin_prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.begin("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    pub(super) fn prompt(&mut self, session: &str, text: &str) -> Value {
        let id = self.begin_prompt(session, text);
        self.answer(id)
    }

    pub(super) fn cancel(&mut self, session: &str) {
        let params = json!({ "sessionId": session });
        self.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
    }

    /// Waits for the `at`-th question, and chooses the option of that kind.
    pub(super) fn choose(&mut self, at: usize, kind: &str) -> Value {
        let until = std::time::Instant::now() + secs(30);
        let question = loop {
            let asked = self.of_method("session/request_permission");
            if let Some(question) = asked.get(at) {
                break question.clone();
            }
            assert!(std::time::Instant::now() < until, "{}", self.running.stdout_so_far());
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        let options = question["params"]["options"].as_array().unwrap().clone();
        let option = options.iter().find(|option| option["kind"] == kind);
        let id = &option.unwrap_or_else(|| panic!("{question}"))["optionId"];
        let result = json!({ "outcome": { "outcome": "selected", "optionId": id } });
        self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
        question
    }

    /// Chooses the option of that kind for whatever is asked, until the request is answered.
    pub(super) fn attend(&mut self, request: u64, kind: &str) -> Value {
        let is_answered = |it: &Value| it["id"] == request && it.get("method").is_none();
        let until = std::time::Instant::now() + secs(60);
        let mut at = 0;
        while !self.frames().iter().any(is_answered) && std::time::Instant::now() < until {
            if self.of_method("session/request_permission").len() > at {
                self.choose(at, kind);
                at += 1;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        self.answer(request)
    }

    pub(super) fn of_method(&self, method: &str) -> Vec<Value> {
        self.frames().into_iter().filter(|frame| frame["method"] == method).collect()
    }

    pub(super) fn updates(&self, kind: &str) -> Vec<Value> {
        let all = self.of_method("session/update");
        let all = all.into_iter().map(|frame| frame["params"]["update"].clone());
        all.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    pub(super) fn said(&self) -> String {
        let chunks = self.updates("agent_message_chunk");
        chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    pub(super) fn running(&mut self) -> &mut Running<'e> {
        &mut self.running
    }

    /// Waits for the end that somebody else brings about.
    pub(super) fn finish(self) -> Finished {
        self.running.finish()
    }

    /// Leaves as editors do.
    pub(super) fn leave(mut self) -> Finished {
        self.running.close_stdin();
        self.running.finish()
    }
}

#[test]
fn a_turn_of_any_agent_is_shown_and_answered() {
    for agent in ALL {
        let env = with_shims();
        let mut editor = Editor::open(served(&env, agent, "shell"), &env);
        let session = editor.new_session();
        let done = editor.prompt(&session, "look around");
        assert_eq!(done["result"]["stopReason"], "end_turn", "{agent}: {done}");
        assert!(!editor.said().is_empty(), "{agent}");
        let calls = editor.updates("tool_call");
        assert_eq!(calls.len(), 1, "{agent}: {calls:?}");
        assert_eq!(calls[0]["kind"], "execute", "{agent}");
        assert!(calls[0]["rawInput"]["command"].is_string(), "{agent}: {calls:?}");
        let ends = editor.updates("tool_call_update");
        let end = ends.iter().rfind(|update| update["status"] == "completed");
        let end = end.unwrap_or_else(|| panic!("{agent}: {ends:?}"));
        assert_eq!(end["toolCallId"], calls[0]["toolCallId"], "{agent}");
        let again = editor.prompt(&session, "and again");
        assert_eq!(again["result"]["stopReason"], "end_turn", "{agent}: {again}");
        editor.leave().assert_code(0);
        assert_eq!(env.log().last()["outcome"], "success", "{agent}");
        env.assert_nobody_left();
    }
}

#[test]
fn what_is_told_at_hello_is_true() {
    let env = with_shims();
    let editor = Editor::open(served(&env, "claude", "hello"), &env);
    let hello = editor.answer(1)["result"].clone();
    let can = &hello["agentCapabilities"];
    assert_eq!(can["loadSession"], true);
    assert_eq!(can["promptCapabilities"]["image"], true);
    assert!(can["sessionCapabilities"]["resume"].is_object());
    assert_eq!(hello["agentInfo"]["title"], "Stablehand (claude)");
    assert!(hello["authMethods"][0]["description"].as_str().unwrap().contains("stablehand login"));
    assert_eq!(hello["authMethods"][0]["id"], "agent-login");
    assert!(can["auth"]["logout"].is_object());
    editor.leave().assert_code(0);
    let editor = Editor::open(demo(&env), &env);
    let hello = editor.answer(1)["result"].clone();
    assert_eq!(
        (&hello["authMethods"], &hello["agentCapabilities"]["auth"]),
        (&json!([]), &json!({}))
    );
    editor.leave().assert_code(0);
    let editor = Editor::open(served(&env, "cursor", "hello"), &env);
    let hello = editor.answer(1)["result"].clone();
    assert_eq!(hello["agentCapabilities"]["promptCapabilities"]["image"], false);
    editor.leave().assert_code(0);
}

#[test]
fn a_question_is_the_editors_to_answer() {
    for agent in ASKING {
        for (kind, choice, status) in
            [("allow_once", "allow", "completed"), ("reject_once", "deny", "failed")]
        {
            let env = with_shims();
            let mut editor = Editor::open(served(&env, agent, "ask"), &env);
            let session = editor.new_session();
            let prompt = editor.begin_prompt(&session, "go");
            let question = editor.choose(0, kind);
            let about = &question["params"]["toolCall"];
            let calls = editor.updates("tool_call");
            assert!(calls.iter().any(|call| call["toolCallId"] == about["toolCallId"]), "{agent}");
            assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn", "{agent}");
            let ends = editor.updates("tool_call_update");
            let last = ends.iter().rfind(|it| it["toolCallId"] == about["toolCallId"]).unwrap();
            assert_eq!(last["status"], status, "{agent}: {ends:?}");
            let runs = ends
                .iter()
                .any(|it| it["toolCallId"] == about["toolCallId"] && it["status"] == "in_progress");
            assert_eq!(runs, choice == "allow", "{agent}: {ends:?}");
            editor.leave().assert_code(0);
            let resolved = env.log().one("approval_resolved").clone();
            assert_eq!(resolved["choice"], choice, "{agent}: {resolved:?}");
            assert_eq!(resolved["by"], "person", "{agent}");
            env.assert_nobody_left();
        }
    }
}

#[test]
fn rules_answer_without_the_editor() {
    for (action, status) in [("allow", "completed"), ("deny", "failed")] {
        let env = with_shims();
        let rules = env.path("rules.toml");
        let rule = format!("name = \"greeting\"\ncommand = \"echo *\"\naction = \"{action}\"\n");
        let text = format!("[policy]\ndefault = \"ask\"\n\n[[policy.rule]]\n{rule}");
        std::fs::write(&rules, text).unwrap();
        let mut editor = Editor::open(served(&env, "claude", "ask").flag("--policy", rules), &env);
        let session = editor.new_session();
        let done = editor.prompt(&session, "go");
        assert_eq!(done["result"]["stopReason"], "end_turn", "{done}");
        assert!(editor.of_method("session/request_permission").is_empty());
        let ends = editor.updates("tool_call_update");
        assert_eq!(ends.last().unwrap()["status"], status, "{ends:?}");
        editor.leave().assert_code(0);
    }
}

#[test]
fn a_session_goes_on_in_another_process_and_its_past_is_told() {
    for agent in ALL {
        let env = with_shims();
        let mut editor = Editor::open(served(&env, agent, "hello"), &env);
        let session = editor.new_session();
        editor.prompt(&session, "feed the ponies");
        let said = editor.said();
        editor.leave().assert_code(0);
        let mut editor = Editor::open(served(&env, agent, "hello"), &env);
        let listed = editor.ask("session/list", json!({}));
        let listed = &listed["result"]["sessions"];
        assert_eq!(listed[0]["sessionId"], session.as_str(), "{agent}: {listed}");
        assert_eq!(listed[0]["title"], "feed the ponies", "{agent}");
        assert_eq!(listed[0]["cwd"], json!(env.work()), "{agent}");
        let loaded = editor.go_on("session/load", &session);
        assert!(loaded["result"].is_object(), "{agent}: {loaded}");
        let asked = editor.updates("user_message_chunk");
        let asked = asked.first().unwrap_or_else(|| panic!("{agent}: {}", env.log_tail()));
        assert_eq!(asked["content"]["text"], "feed the ponies", "{agent}");
        assert_eq!(editor.said(), said, "{agent}");
        assert_eq!(editor.prompt(&session, "more")["result"]["stopReason"], "end_turn", "{agent}");
        editor.leave().assert_code(0);
        // The agent was asked to go on with its own session.
        let mut editor = Editor::open(served(&env, agent, "hello"), &env);
        let resumed = editor.go_on("session/resume", &session);
        assert!(resumed["result"].is_object(), "{agent}: {resumed}");
        assert!(editor.said().is_empty(), "{agent}: nothing is told again");
        assert_eq!(editor.prompt(&session, "on")["result"]["stopReason"], "end_turn", "{agent}");
        editor.leave().assert_code(0);
        env.assert_nobody_left();
    }
}

#[test]
fn a_session_of_another_face_goes_on_in_an_editor() {
    let env = with_shims();
    let run = served(&env, "claude", "hello");
    let run = run.instead_of("acp", "run").flag("--workspace", env.work());
    run.args(["feed the ponies"]).finish().assert_code(0);
    let native = env.log().one("session_started")["session_id"].as_str().unwrap().to_owned();
    let key = env.log().records[0]["session"].clone();
    let mut editor = Editor::open(served(&env, "claude", "hello"), &env);
    let listed = editor.ask("session/list", json!({ "cwd": env.work() }));
    let listed = listed["result"]["sessions"].clone();
    assert_eq!(listed[0]["sessionId"], key, "{listed}");
    assert_eq!(listed[0]["title"], "feed the ponies", "{listed}");
    // Editors may have stored the agent's own id.
    assert!(editor.go_on("session/load", &native)["result"].is_object());
    let asked = editor.updates("user_message_chunk");
    assert_eq!(asked[0]["content"]["text"], "feed the ponies", "{asked:?}");
    assert_eq!(editor.prompt(&native, "more")["result"]["stopReason"], "end_turn");
    let listed = editor.ask("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], key, "{listed}");
    editor.leave().assert_code(0);
    let logs = env.logs();
    assert_eq!(logs.len(), 2);
    let resumed =
        logs.iter().any(|log| log.one("agent_spawned")["resumed_from"] == native.as_str());
    assert!(resumed, "{}", env.log_tail());
}

#[test]
fn a_session_that_was_never_asked_anything_can_be_resumed() {
    let env = with_shims();
    let mut editor = Editor::open(demo(&env), &env);
    let session = editor.new_session();
    editor.leave().assert_code(0);
    let mut editor = Editor::open(demo(&env), &env);
    assert!(editor.go_on("session/resume", &session)["result"].is_object());
    let unknown = editor.go_on("session/resume", "no-such-session");
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    let deleted = editor.ask("session/delete", json!({ "sessionId": session }));
    assert!(deleted["result"].is_object(), "{deleted}");
    let gone = editor.go_on("session/resume", &session);
    assert_eq!(gone["error"]["code"], -32002, "{gone}");
    editor.leave().assert_code(0);
}

#[test]
fn modes_and_models_are_chosen_for_the_next_prompt() {
    let env = with_shims();
    let mut editor = Editor::open(served(&env, "claude", "hello"), &env);
    let session = editor.new_session();
    let made = editor.answer(2)["result"].clone();
    assert_eq!(made["modes"]["currentModeId"], "agent");
    let ids: Vec<_> =
        made["configOptions"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert!(ids.contains(&"mode".into()), "{made}");
    editor.prompt(&session, "one");
    let done = editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": "plan" }));
    assert!(done["result"].is_object(), "{done}");
    let wrong = editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": "fly" }));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let set = json!({ "sessionId": session, "configId": "model", "value": "hay-2" });
    let done = editor.ask("session/set_config_option", set);
    assert!(done["result"]["configOptions"].is_array(), "{done}");
    assert_eq!(editor.prompt(&session, "two")["result"]["stopReason"], "end_turn");
    editor.leave().assert_code(0);
    // Another process of the agent's, in the same session of its own.
    let logs = env.logs();
    let spawned: Vec<_> = logs.iter().flat_map(|log| log.all("agent_spawned")).collect();
    assert_eq!(spawned.len(), 2, "{spawned:?}");
    let words = spawned[1]["argv"].to_string().replace("\",\"", " ");
    assert!(words.contains("--permission-mode plan"), "{words}");
    assert!(words.contains("--model hay-2"), "{words}");
    assert!(words.contains("--resume"), "{words}");
}

#[test]
fn our_own_commands_need_no_turn() {
    let env = with_shims();
    let mut editor = Editor::open(demo(&env), &env);
    let session = editor.new_session();
    editor.wait("the commands", |it| {
        it["params"]["update"]["sessionUpdate"] == "available_commands_update"
    });
    for command in ["/status", "/models", "/model", "/mcp", "/login", "/stats", "/model hay-2"] {
        let before = editor.said().len();
        let done = editor.prompt(&session, command);
        assert_eq!(done["result"]["stopReason"], "end_turn", "{command}: {done}");
        assert!(editor.said().len() > before, "{command}");
    }
    assert!(editor.said().contains("hay-2"));
    editor.leave().assert_code(0);
    assert!(env.logs().is_empty(), "no agent was started");
}

#[test]
fn an_edit_is_shown_with_both_sides_and_a_plan_as_one() {
    let env = with_shims();
    let mut editor = Editor::open(demo(&env), &env);
    let session = editor.new_session();
    let prompt = editor.begin_prompt(&session, "edit a file");
    assert_eq!(editor.attend(prompt, "allow_once")["result"]["stopReason"], "end_turn");
    let asked = editor.of_method("session/request_permission");
    assert_eq!(asked[0]["params"]["toolCall"]["kind"], "edit", "{asked:?}");
    assert!(!editor.updates("plan").is_empty());
    assert!(!editor.updates("agent_thought_chunk").is_empty());
    let all = [editor.updates("tool_call"), editor.updates("tool_call_update")].concat();
    let diffs: Vec<_> = all
        .iter()
        .filter_map(|update| update["content"].as_array())
        .flatten()
        .filter(|content| content["type"] == "diff")
        .collect();
    assert!(!diffs.is_empty(), "{all:?}");
    assert!(diffs[0]["newText"].is_string() && diffs[0]["path"].is_string(), "{diffs:?}");
    editor.leave().assert_code(0);
    env.assert_nobody_left();
}
