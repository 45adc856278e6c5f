//! Talking with the fake agent over pipes: Claude's stream of messages and Codex's app server.

use super::{fake, place};
use crate::support::secs;
use serde_json::{Value, json};
use stablehand_testkit::{Finished, Running, TestEnv};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};

/// A conversation: what is said to it, and what it says.
struct Talk<'e> {
    env: &'e TestEnv,
    dialect: &'static str,
    running: Running<'e>,
    lines: Receiver<Value>,
    seen: RefCell<Vec<Value>>,
}

impl<'e> Talk<'e> {
    fn start(env: &'e TestEnv, dialect: &str, scene: &str, native: &[&'e str]) -> Talk<'e> {
        let run = fake(env, dialect, scene).stdin_open().stdout_unread();
        let mut running = run.args(["--"]).args(native.iter().copied()).start();
        let stdout: Box<dyn Read + Send> = Box::new(running.take_stdout());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).expect("every line is JSON");
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        // `codex app-server` is the other dialect of Codex.
        let dialect = if dialect == "codex" { "codex-app" } else { "claude" };
        Talk { env, dialect, running, lines, seen: RefCell::default() }
    }

    fn claude(env: &'e TestEnv, scene: &str, more: &[&'e str]) -> Talk<'e> {
        let native = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
        Talk::start(env, "claude", scene, &[&native[..], more].concat())
    }

    /// The app server with a thread; gives back the thread's id.
    fn app(env: &'e TestEnv, scene: &str) -> (Talk<'e>, Value) {
        let mut talk = Talk::start(env, "codex", scene, &["app-server"]);
        talk.say(&json!({ "id": 1, "method": "initialize", "params": { "clientInfo": { "name": "probe" } } }));
        assert!(talk.until(|line| line["id"] == 1)["result"]["userAgent"].is_string());
        talk.say(&json!({ "method": "initialized" }));
        talk.say(&json!({ "id": 2, "method": "thread/start", "params": { "cwd": "/" } }));
        let thread = talk.until(|line| line["id"] == 2)["result"]["thread"]["id"].clone();
        assert_eq!(
            talk.until(|line| line["method"] == "thread/started")["params"]["thread"]["id"],
            thread
        );
        (talk, thread)
    }

    fn say(&mut self, message: &Value) {
        self.running.type_line(&message.to_string());
    }

    fn prompt(&mut self, text: &str) {
        self.say(&json!({ "type": "user", "message": { "role": "user", "content": [{ "type": "text", "text": text }] } }));
    }

    fn turn(&mut self, id: u64, thread: &Value) {
        let input = json!([{ "type": "text", "text": "feed" }]);
        self.say(&json!({ "id": id, "method": "turn/start", "params": { "threadId": thread, "input": input } }));
    }

    /// The next line for which that holds; those before it are passed over.
    fn until(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let from = self.seen.borrow().len();
        loop {
            let line = self.lines.recv_timeout(secs(10));
            let line = line.unwrap_or_else(|error| {
                panic!("{error}; so far: {:#?}", self.seen.borrow().get(from..))
            });
            self.seen.borrow_mut().push(line.clone());
            if wanted(&line) {
                return line;
            }
        }
    }

    fn result(&self) -> Value {
        self.until(|line| line["type"] == "result")
    }

    /// Closes its standard input and waits for its end; our decoder must know all that it said.
    fn end(mut self) -> Finished {
        self.running.close_stdin();
        let finished = self.running.finish();
        let rest: Vec<Value> = self.lines.iter().collect();
        let all = self.seen.into_inner().into_iter().chain(rest);
        let stream: String = all.map(|line| line.to_string() + "\n").collect();
        let summary = super::summary(self.env, self.dialect, stream.as_bytes());
        assert_eq!(summary["unrecognized"], 0, "{stream}");
        finished
    }
}

#[test]
fn claude_plays_a_turn_for_each_message_in_one_process() {
    let env = place();
    let mut talk = Talk::claude(&env, "shell", &[]);
    talk.say(&json!({ "type": "control_request", "request_id": "i1", "request": { "subtype": "initialize" } }));
    let hello = talk.until(|line| line["type"] == "control_response");
    assert_eq!(
        (&hello["response"]["request_id"], &hello["response"]["subtype"]),
        (&json!("i1"), &json!("success"))
    );
    let mut sessions = Vec::new();
    for number in 0..3 {
        talk.prompt("feed");
        sessions.push(talk.until(|line| line["subtype"] == "init")["session_id"].clone());
        let result = talk.result();
        assert_eq!((&result["is_error"], &result["result_index"]), (&json!(false), &json!(number)));
        assert_eq!(result["result"], "The command printed hi.");
    }
    assert!(sessions.iter().all(|session| *session == sessions[0]), "{sessions:?}");
    talk.say(&json!({ "type": "control_request", "request_id": "m", "request": { "subtype": "set_permission_mode", "mode": "plan" } }));
    assert_eq!(
        talk.until(|line| line["type"] == "control_response")["response"]["response"]["mode"],
        "plan"
    );
    talk.end().assert_code(0);
}

#[test]
fn claude_is_interrupted_in_a_tool_and_stays_usable() {
    let env = place();
    let mut talk = Talk::claude(&env, "long-tool", &[]);
    talk.prompt("feed");
    let is_call = |line: &Value| line["message"]["content"][0]["type"] == "tool_use";
    let call = talk.until(is_call)["message"]["content"][0]["id"].clone();
    talk.say(&json!({ "type": "control_request", "request_id": "stop", "request": { "subtype": "interrupt" } }));
    let answer = talk.until(|line| line["type"] == "control_response");
    assert_eq!(answer["response"]["response"]["still_queued"], json!([]));
    let end = talk.until(|line| line["message"]["content"][0]["type"] == "tool_result");
    assert_eq!(end["message"]["content"][0]["tool_use_id"], call);
    let result = talk.result();
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"], &result["is_error"]),
        (&json!("error_during_execution"), &json!("aborted_tools"), &json!(true))
    );
    talk.prompt("once more");
    talk.until(is_call);
    talk.say(&json!({ "type": "control_request", "request_id": "stop2", "request": { "subtype": "interrupt" } }));
    assert_eq!(talk.result()["is_error"], true);
    // The last turn failed, so the process does; and nobody is left, which `end` proves.
    talk.end().assert_code(1);
}

#[test]
fn claude_asks_and_does_as_it_is_told() {
    let env = place();
    let asks = ["--permission-prompt-tool", "stdio"];
    let mut talk = Talk::claude(&env, "ask", &asks);
    for (behavior, message) in [("allow", ""), ("deny", "not now")] {
        talk.prompt("feed");
        let question = talk.until(|line| line["type"] == "control_request");
        assert_eq!(question["request"]["subtype"], "can_use_tool");
        assert_eq!(question["request"]["input"]["command"], "echo hi");
        let mut response =
            json!({ "behavior": behavior, "updatedInput": question["request"]["input"] });
        response["message"] = message.into();
        let response = json!({ "subtype": "success", "request_id": question["request_id"], "response": response });
        talk.say(&json!({ "type": "control_response", "response": response }));
        let end = talk.until(|line| line["message"]["content"][0]["type"] == "tool_result");
        let told = &end["message"]["content"][0];
        let is_denied = behavior == "deny";
        assert_eq!(told["content"], if is_denied { message } else { "hi" });
        assert_eq!(told["is_error"], is_denied);
        assert_eq!(told["tool_use_id"], question["request"]["tool_use_id"]);
        let denials = talk.result()["permission_denials"].as_array().unwrap().len();
        assert_eq!(denials, usize::from(is_denied));
    }
    talk.end().assert_code(0);
    // Without anybody to ask it denies itself, as the real one does.
    let alone = fake(&env, "claude", "ask").args(["--", "-p", "feed"]).finish();
    assert!(alone.assert_code(0).stdout_text().contains("permission_denied"));
}

#[test]
fn claude_dies_of_a_line_that_is_no_json() {
    let env = place();
    let mut talk = Talk::claude(&env, "hello", &[]);
    talk.running.type_line("feed the ponies");
    let finished = talk.end();
    assert!(finished.assert_code(1).stderr.contains("Error parsing streaming input line"));
}

#[test]
fn the_app_server_plays_turns_and_can_be_resumed() {
    let env = place();
    let (mut talk, thread) = Talk::app(&env, "shell");
    for id in [3, 4] {
        talk.turn(id, &thread);
        let turn = talk.until(|line| line["id"] == id)["result"]["turn"]["id"].clone();
        let done = talk.until(|line| line["method"] == "turn/completed");
        assert_eq!(done["params"]["turn"]["id"], turn);
        assert_eq!(done["params"]["turn"]["status"], "completed");
        assert_eq!(done["params"]["turn"]["items"][0]["text"], "The command printed hi.");
    }
    talk.say(&json!({ "id": 5, "method": "thread/resume", "params": { "threadId": "t-9" } }));
    assert_eq!(talk.until(|line| line["id"] == 5)["result"]["thread"]["id"], "t-9");
    talk.say(&json!({ "id": 6, "method": "thread/fly", "params": {} }));
    assert!(talk.until(|line| line["id"] == 6)["error"]["message"].is_string());
    talk.end().assert_code(0);
}

#[test]
fn the_app_server_is_interrupted_and_stays_usable() {
    let env = place();
    let (mut talk, thread) = Talk::app(&env, "long-tool");
    for id in [3, 5] {
        talk.turn(id, &thread);
        talk.until(|line| line["params"]["item"]["type"] == "commandExecution");
        talk.say(
            &json!({ "id": id + 1, "method": "turn/interrupt", "params": { "threadId": thread } }),
        );
        assert_eq!(talk.until(|line| line["id"] == id + 1)["result"], json!({}));
        let done = talk.until(|line| line["method"] == "turn/completed");
        assert_eq!(done["params"]["turn"]["status"], "interrupted");
    }
    talk.end().assert_code(0);
}

#[test]
fn the_app_server_asks_and_does_as_it_is_told() {
    let env = place();
    let (mut talk, thread) = Talk::app(&env, "ask");
    for (id, decision, status) in [(3, "accept", "completed"), (4, "decline", "declined")] {
        talk.turn(id, &thread);
        let question = talk.until(|line| line["method"] == "item/commandExecution/requestApproval");
        assert_eq!(question["params"]["command"], "/bin/bash -lc 'echo hi'");
        talk.say(&json!({ "id": question["id"], "result": { "decision": decision } }));
        talk.until(|line| line["method"] == "serverRequest/resolved");
        let is_end = |line: &Value| {
            line["method"] == "item/completed"
                && line["params"]["item"]["id"] == question["params"]["itemId"]
        };
        let item = talk.until(is_end)["params"]["item"].clone();
        assert_eq!(item["status"], status);
        let output = if status == "completed" { json!("hi\n") } else { Value::Null };
        assert_eq!(item["aggregatedOutput"], output);
        talk.until(|line| line["method"] == "turn/completed");
    }
    talk.end().assert_code(0);
}
