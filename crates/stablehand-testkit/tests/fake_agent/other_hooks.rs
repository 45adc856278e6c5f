//! Claude Code's and Gemini CLI's hooks with real shells.

use super::env;
use super::hooks::{heard, hook, put};
use serde_json::{Value, json};
use stablehand_testkit::{Finished, TestEnv};
use std::fs;

fn settings(hooks: &Value) -> String {
    json!({ "hooks": hooks }).to_string()
}

fn one(command: &str, matcher: &str) -> Value {
    json!([{ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] }])
}

fn claude(env: &TestEnv, args: &[&str]) -> Finished {
    env.fake_agent().variable("FAKE_AGENT_DIALECT", "claude").args(args.iter().copied()).finish()
}

fn tool_results(lines: &[Value]) -> Vec<Value> {
    let contents = lines.iter().filter(|line| line["type"] == "user");
    contents.map(|line| line["message"]["content"][0].clone()).collect()
}

#[test]
fn claude_is_refused_changed_and_told() {
    let env = env("init s-1\nrun c1 30s touch ran\nrun c2 30s echo no\nrecall\ndone");
    let deny = hook(
        &env,
        "deny",
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no oats"}}"#,
        0,
    );
    put(&env.path("by.sh"), &format!("grep -q 'touch ran' && {deny} < /dev/null; exit 0"));
    let by = format!("sh '{}'", env.path("by.sh").display());
    let change = hook(
        &env,
        "change",
        r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"echo yes"},"additionalContext":"It rains."}}"#,
        0,
    );
    let start = hook(&env, "start", "plain words", 0);
    let (post, end) = (hook(&env, "post", "{}", 0), hook(&env, "end", "{}", 0));
    // The settings of the command line, of the project and of the person all count.
    let given = settings(&json!({ "PreToolUse": one(&by, "Bash"), "SessionEnd": one(&end, "") }));
    put(
        &env.work().join(".claude/settings.json"),
        &settings(&json!({ "PreToolUse": one(&change, "B.*"), "PostToolUse": one(&post, "Edit") })),
    );
    put(
        &env.home().join(".claude/settings.json"),
        &settings(&json!({ "SessionStart": one(&start, "startup") })),
    );
    let run = claude(&env, &["-p", "--settings", &given]);
    let lines = run.assert_code(0).stdout_json();
    let results = tool_results(&lines);
    assert_eq!(
        (&results[0]["content"], &results[0]["is_error"]),
        (&json!("no oats"), &json!(true))
    );
    assert_eq!(results[1]["content"], "yes");
    assert!(!env.work().join("ran").exists());
    assert!(heard(&env, "post").is_empty(), "`Edit` is no part of `Bash`");
    let call = &heard(&env, "change")[1];
    assert_eq!(
        (&call["hook_event_name"], &call["tool_name"]),
        (&json!("PreToolUse"), &json!("Bash"))
    );
    assert_eq!(results[1]["tool_use_id"], call["tool_use_id"]);
    assert_eq!(heard(&env, "start")[0]["source"], "startup");
    assert_eq!(heard(&env, "end")[0]["session_id"], "s-1");
    let context = env.record("1.context.jsonl");
    assert!(context.starts_with("\"plain words\"\n") && context.contains("It rains."), "{context}");
}

#[test]
fn claude_blocks_with_two_and_may_not_stop() {
    let env = env("init\nprompt\nrun c1 30s touch ran\nassistant one\ndone");
    let stop = env.path("stop.sh");
    put(&stop, "grep -q '\"stop_hook_active\":true' && exit 0; echo 'one more thing' >&2; exit 2");
    let hooks = json!({
        "PreToolUse": one("echo 'not here' >&2; exit 2", "*"),
        "Stop": one(&format!("sh '{}'", stop.display()), ""),
        "PostToolUse": one("exit 1", ""),
    });
    put(&env.work().join(".claude/settings.local.json"), &settings(&hooks));
    let run = claude(&env, &["-p"]);
    let lines = run.assert_code(0).stdout_json();
    let said = tool_results(&lines)[0]["content"].as_str().unwrap().to_owned();
    assert!(said.starts_with("PreToolUse:Bash hook error: [") && said.ends_with("]: not here"));
    assert!(!env.work().join("ran").exists());
    let result = lines.last().unwrap()["result"].as_str().unwrap();
    assert!(result.ends_with("Stop hook feedback:\n- one more thing"), "{result}");
}

#[test]
fn claude_turns_a_prompt_away_and_asks_nobody_who_is_not_there() {
    let prompt = env("init\nprompt\nrun c1 30s touch ran\ndone");
    let no = r#"echo '{"decision":"block","reason":"not today"}'"#;
    let hooks = json!({ "UserPromptSubmit": one(no, "") });
    put(&prompt.work().join(".claude/settings.json"), &settings(&hooks));
    let run = claude(&prompt, &["-p"]);
    let lines = run.assert_code(0).stdout_json();
    assert!(lines.last().unwrap()["result"].as_str().unwrap().ends_with("not today"));
    assert!(!prompt.work().join("ran").exists());

    let asks = env("init\nprompt\nrun c1 30s touch ran\ndone");
    let ask = r#"echo '{"hookSpecificOutput":{"permissionDecision":"ask"}}'"#;
    put(
        &asks.work().join(".claude/settings.json"),
        &settings(&json!({ "PreToolUse": one(ask, "") })),
    );
    claude(&asks, &["-p"]).assert_code(0);
    assert!(!asks.work().join("ran").exists());
}

fn gemini(env: &TestEnv) -> Finished {
    let system = env.path("system.json").display().to_string();
    env.fake_agent()
        .variable("FAKE_AGENT_DIALECT", "gemini")
        .variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH", system)
        .variable("MY_TOKEN", "secret")
        .finish()
}

#[test]
fn gemini_is_refused_changed_and_sent_back() {
    let env = env("init\nprompt\nrun c1 30s touch ran\nrun c2 30s echo no\nassistant one\ndone");
    let by = env.path("by.sh");
    put(
        &by,
        "cat > \"$0.heard\"; grep -q 'touch ran' \"$0.heard\" || exit 0; echo no oats >&2; exit 2",
    );
    let change = r#"echo '{"hookSpecificOutput":{"tool_input":{"command":"echo yes"}}}'"#;
    let after = env.path("after.sh");
    put(
        &after,
        "grep -q '\"stop_hook_active\":true' && exit 0; echo '{\"decision\":\"deny\",\"reason\":\"again\"}'",
    );
    let note = format!(
        "echo \"$MY_TOKEN $GEMINI_SESSION_ID\" > '{}'; cat > $GEMINI_PROJECT_DIR/start.json",
        env.path("start").display()
    );
    let system = json!({
        "hooks": {
            "BeforeTool": one(&format!("sh '{}'", by.display()), "run_shell.*"),
            "SessionStart": one(&note, "startup"),
            "SessionEnd": one("sleep 60", "resume"),
        },
        "security": { "environmentVariableRedaction": { "enabled": true } },
    });
    put(&env.path("system.json"), &system.to_string());
    let project = json!({
        "BeforeTool": one(change, "run_shell_command"),
        "AfterAgent": one(&format!("sh '{}'", after.display()), ""),
    });
    put(&env.work().join(".gemini/settings.json"), &settings(&project));
    let run = gemini(&env);
    let lines = run.assert_code(0).stdout_json();
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "tool_result").collect();
    let blocked = "Tool execution blocked: no oats";
    assert_eq!((&results[0]["status"], &results[0]["output"]), (&json!("error"), &json!(blocked)));
    assert_eq!(results[0]["error"]["type"], "policy_violation");
    assert_eq!(results[1]["output"], "yes");
    assert!(!env.work().join("ran").exists());
    let warning = lines.iter().find(|line| line["type"] == "error").unwrap();
    assert_eq!(warning["message"], "Agent execution blocked: again");
    assert_eq!(lines.last().unwrap()["status"], "success");
    let start = fs::read_to_string(env.path("start")).unwrap();
    assert_eq!(start, " 5e551017-0000-4000-8000-0000000000a1\n", "the secret is hidden");
    assert!(env.work().join("start.json").exists());
}

#[test]
fn gemini_counts_milliseconds_and_a_hook_may_end_it_all() {
    let env = env("init\nprompt\nrun c1 30s touch ran\nrun c2 30s touch other\ndone");
    let late = json!([{ "hooks": [
        { "type": "command", "command": "exec sleep 60", "timeout": 300 },
        { "type": "prompt", "command": "x" },
    ] }]);
    let halt = r#"echo '{"continue":false,"stopReason":"enough"}'"#;
    let hooks = json!({ "BeforeTool": late, "AfterTool": one(halt, ""), "NoSuchEvent": [1] });
    put(&env.work().join(".gemini/settings.json"), &settings(&hooks));
    let run = gemini(&env);
    let lines = run.assert_code(0).stdout_json();
    assert!(env.work().join("ran").exists(), "a late hook is ignored");
    assert!(!env.work().join("other").exists(), "the turn has ended");
    assert_eq!(lines.last().unwrap()["type"], "result");
}
