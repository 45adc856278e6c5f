//! What an agent has us do for it in the Agent Client Protocol: files and commands, within the
//! workspace and judged by the policy.
//!
//! The agent is a small shell script that asks and writes down every answer.

use crate::support::{bins, secs};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stablehand_testkit::{Run, TestEnv};
use std::fs;
use std::os::unix::fs::symlink;

/// An agent that asks for these, one after the other, and then ends its turn.
fn agent(env: &TestEnv, asks: &[(&str, Value)]) -> String {
    let mut script = String::from(
        "say() { printf '%s\\n' \"$1\"; }\n\
         hear() { read -r line && printf '%s\\n' \"$line\" >> answers; }\n\
         hear; say '{\"id\":\"stablehand-hello\",\"result\":{\"protocolVersion\":1}}'\n\
         hear; say '{\"id\":\"stablehand-session\",\"result\":{\"sessionId\":\"s1\"}}'\n\
         read -r line\n\
         case $line in *set_mode*) say '{\"id\":\"stablehand-confine\",\"result\":{}}'; read -r line;; esac\n",
    );
    for (at, (method, params)) in asks.iter().enumerate() {
        let id = at + 1;
        let ask = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        script.extend(["say '", &ask.to_string(), "'; hear\n"]);
    }
    script.push_str(
        "say '{\"id\":\"stablehand-turn-1\",\"result\":{\"stopReason\":\"end_turn\"}}'\nhear\n",
    );
    fs::write(env.path("agent.sh"), script).unwrap();
    format!("acp:sh {}", env.path("agent.sh").display())
}

fn run<'e>(env: &'e TestEnv, agent: &str) -> Run<'e> {
    env.stablehand("run").flag("--agent", agent).flag("--log-dir", env.log_dir()).deadline(secs(40))
}

/// What the agent was answered; the first is what we offer, the second the session.
fn answers(env: &TestEnv) -> Vec<Value> {
    let text = fs::read_to_string(env.work().join("answers")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn path(env: &TestEnv, name: &str) -> Value {
    json!({ "sessionId": "s1", "path": env.work().canonicalize().unwrap().join(name) })
}

fn with(mut params: Value, more: &Value) -> Value {
    let more = more.as_object().unwrap().clone();
    params.as_object_mut().unwrap().extend(more);
    params
}

const TERMINAL: &str = "terminal/create";

#[test]
fn files_in_the_workspace_are_read_and_written_and_no_others() {
    let env = TestEnv::new(bins());
    let outside = env.path("secret.txt");
    fs::write(&outside, "secret").unwrap();
    fs::write(env.work().join("list.txt"), "oats\nhay\ncarrots\n").unwrap();
    symlink(&outside, env.work().join("way-out")).unwrap();
    let asks = [
        ("fs/read_text_file", path(&env, "list.txt")),
        ("fs/read_text_file", with(path(&env, "list.txt"), &json!({ "line": 2, "limit": 1 }))),
        ("fs/read_text_file", json!({ "sessionId": "s1", "path": outside })),
        ("fs/read_text_file", path(&env, "way-out")),
        ("fs/read_text_file", path(&env, "none.txt")),
        ("fs/write_text_file", with(path(&env, "new/file.txt"), &json!({ "content": "new\n" }))),
        ("fs/write_text_file", with(path(&env, "way-out"), &json!({ "content": "mine" }))),
        ("fs/write_text_file", path(&env, "list.txt")),
    ];
    run(&env, &agent(&env, &asks)).args(["go"]).finish().assert_code(0);
    let answers = answers(&env);
    let can = &answers[0]["params"]["clientCapabilities"];
    let all = json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true });
    assert_eq!(*can, all);
    assert_eq!(answers[2]["result"]["content"], "oats\nhay\ncarrots\n");
    assert_eq!(answers[3]["result"]["content"], "hay\n");
    for refused in [4, 5, 8] {
        let text = answers[refused]["error"]["message"].as_str().unwrap();
        assert!(text.contains("secret.txt` is outside of the workspace"), "{text}");
    }
    assert_eq!(answers[6]["error"]["code"], -32002);
    assert_eq!(answers[7]["result"], json!({}));
    assert_eq!(answers[9]["error"]["code"], -32602);
    assert_eq!(fs::read_to_string(env.work().join("new/file.txt")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "secret");
    // Every word of ours is on record.
    let log = env.log();
    assert_eq!(log.all("told").iter().filter(|told| told["what"] == "service").count(), 7);
    assert!(log.mentions("oats\\\\nhay") || log.mentions("oats\\nhay"));
    env.assert_nobody_left();
}

#[test]
fn a_command_runs_in_a_terminal_of_its_own_until_it_is_released() {
    let env = TestEnv::new(bins());
    let terminal = |id: &str| json!({ "sessionId": "s1", "terminalId": id });
    let line = "echo out; echo err >&2; sleep 300 & exit 3";
    let asks = [
        (TERMINAL, json!({ "sessionId": "s1", "command": line })),
        ("terminal/wait_for_exit", terminal("terminal-1")),
        ("terminal/output", terminal("terminal-1")),
        ("terminal/release", terminal("terminal-1")),
        ("terminal/output", terminal("terminal-1")),
        (
            TERMINAL,
            json!({
                "sessionId": "s1", "command": "printf", "args": ["%s", "$A\u{e4}b"],
                "env": [{ "name": "A", "value": "x" }], "cwd": env.work(), "outputByteLimit": 2,
            }),
        ),
        ("terminal/wait_for_exit", terminal("terminal-6")),
        ("terminal/output", terminal("terminal-6")),
        (TERMINAL, json!({ "sessionId": "s1", "command": "sleep", "args": ["300"] })),
        ("terminal/kill", terminal("terminal-9")),
        ("terminal/wait_for_exit", terminal("terminal-9")),
        (TERMINAL, json!({ "sessionId": "s1", "command": "no-such-pony" })),
        (TERMINAL, json!({ "sessionId": "s1", "command": "ls", "cwd": "/" })),
    ];
    run(&env, &agent(&env, &asks)).args(["go"]).finish().assert_code(0);
    let answers = answers(&env);
    let result = |at: usize| &answers[at + 1]["result"];
    assert_eq!(result(1)["terminalId"], "terminal-1");
    assert_eq!(*result(2), json!({ "exitCode": 3, "signal": null }));
    assert_eq!(result(3)["output"], "out\nerr\n");
    assert_eq!(
        (&result(3)["truncated"], &result(3)["exitStatus"]["exitCode"]),
        (&json!(false), &json!(3))
    );
    assert_eq!(*result(4), json!({}));
    assert_eq!(answers[6]["error"]["code"], -32002);
    // No shell: a dollar is a dollar. And what is kept begins with a whole character.
    assert_eq!((&result(8)["output"], &result(8)["truncated"]), (&json!("b"), &json!(true)));
    assert_eq!(result(11)["signal"], "SIGTERM");
    assert!(answers[13]["error"]["message"].as_str().unwrap().contains("no-such-pony"));
    assert!(answers[14]["error"]["message"].as_str().unwrap().contains("outside of the workspace"));
    // Nobody but the agent's requests told of them.
    let shown = env.stablehand("sessions").args(["show", "latest", "--tools", "--json"]);
    let shown = shown.args(["--log-dir", env.log_dir().to_str().unwrap()]).finish();
    let tools: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let tools: Vec<&Value> = tools.as_array().unwrap().iter().map(|tool| &tool["tool"]).collect();
    assert_eq!(tools, ["terminal"; 5]);
    env.assert_nobody_left();
}

#[test]
fn who_may_change_nothing_is_offered_nothing_that_does() {
    let env = TestEnv::new(bins());
    let asks = [
        ("fs/write_text_file", with(path(&env, "x"), &json!({ "content": "x" }))),
        (TERMINAL, json!({ "sessionId": "s1", "command": "touch x" })),
    ];
    run(&env, &agent(&env, &asks)).args(["--mode", "plan", "go"]).finish().assert_code(0);
    let answers = answers(&env);
    let can = &answers[0]["params"]["clientCapabilities"];
    let reads =
        json!({ "fs": { "readTextFile": true, "writeTextFile": false }, "terminal": false });
    assert_eq!(*can, reads);
    assert!(answers[2..4].iter().all(|answer| answer["error"]["code"] == -32601), "{answers:?}");
    assert!(!env.work().join("x").exists());
}

#[test]
fn rules_judge_what_is_wanted_like_calls_of_the_agents_own() {
    let env = TestEnv::new(bins());
    fs::write(env.path("notes.txt"), "outside").unwrap();
    fs::write(env.work().join("secret.txt"), "no").unwrap();
    let rules = env.path("rules.toml");
    let text = "[policy]\ndefault = \"ask\"\n\
                [[policy.rule]]\nname = \"reads\"\ntool = \"read\"\npath = [\"**\", \"/**\"]\naction = \"allow\"\n\
                [[policy.rule]]\nname = \"secrets\"\npath = \"**/secret.txt\"\naction = \"deny\"\nreason = \"it is secret\"\n\
                [[policy.rule]]\ncommand = \"echo *\"\naction = \"allow\"\n";
    fs::write(&rules, text).unwrap();
    let asks = [
        ("fs/read_text_file", json!({ "sessionId": "s1", "path": env.path("notes.txt") })),
        ("fs/read_text_file", path(&env, "secret.txt")),
        ("fs/write_text_file", with(path(&env, "x"), &json!({ "content": "x" }))),
        (TERMINAL, json!({ "sessionId": "s1", "command": "echo hi" })),
        (TERMINAL, json!({ "sessionId": "s1", "command": "echo hi; touch y" })),
    ];
    let run = run(&env, &agent(&env, &asks)).flag("--policy", rules).args(["go"]).finish();
    run.assert_code(0);
    let answers = answers(&env);
    assert_eq!(answers[2]["result"]["content"], "outside", "{answers:?}");
    assert!(answers[3]["error"]["message"].as_str().unwrap().contains("it is secret"));
    assert!(answers[4]["error"].is_object() && answers[6]["error"].is_object(), "{answers:?}");
    assert!(answers[5]["result"]["terminalId"].is_string());
    assert!(!env.work().join("x").exists() && !env.work().join("y").exists());
    let log = env.log();
    let choices: Vec<_> =
        log.all("approval_resolved").iter().map(|it| it["choice"].clone()).collect();
    assert_eq!(choices, ["allow", "deny", "deny", "allow", "deny"]);
    env.assert_nobody_left();
}

/// A command that says nothing is work, and one that talks is a sign of life; both go with us.
#[test]
fn a_running_command_is_a_running_tool_and_goes_with_the_run() {
    for (end, command) in
        [(Signal::SIGINT, "sleep 300"), (Signal::SIGKILL, "sleep 300 & sleep 301")]
    {
        let env = TestEnv::new(bins());
        let asks = [
            (TERMINAL, json!({ "sessionId": "s1", "command": command })),
            ("terminal/wait_for_exit", json!({ "sessionId": "s1", "terminalId": "terminal-1" })),
        ];
        let run = run(&env, &agent(&env, &asks)).flag("--idle-timeout", "1s").args(["go"]);
        let mut running = run.start();
        env.wait_for("the command", || env.living().values().any(|line| line.contains("sleep 30")));
        std::thread::sleep(secs(3));
        assert!(running.is_running(), "it is no hang: {}", env.log_tail());
        running.signal(end);
        let finished = running.finish();
        if end == Signal::SIGINT {
            finished.assert_code(130);
            assert_eq!(env.log().last()["outcome"], "interrupted");
        }
        env.assert_nobody_left();
    }
}
