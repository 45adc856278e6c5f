//! Cursor's hooks with real shells: who is run, what they read, what their answers change.

use super::env;
use serde_json::{Value, json};
use stablehand_testkit::TestEnv;
use std::fs;
use std::path::{Path, PathBuf};

/// A hook that keeps what it reads in `heard`, then says `answer` and exits with `code`.
pub(super) fn hook(env: &TestEnv, name: &str, answer: &str, code: i32) -> String {
    let path = env.path(format!("{name}.sh"));
    let heard = env.path(format!("{name}.heard"));
    let text = format!("cat >> '{}'\ncat <<'SAID'\n{answer}\nSAID\nexit {code}\n", heard.display());
    fs::write(&path, text).unwrap();
    format!("sh '{}'", path.display())
}

/// What a hook has read, one payload a start.
pub(super) fn heard(env: &TestEnv, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(env.path(format!("{name}.heard"))).unwrap_or_default();
    let stream = serde_json::Deserializer::from_str(&text).into_iter();
    stream.map(Result::unwrap).collect()
}

pub(super) fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A project's file with these hooks.
fn project(env: &TestEnv, hooks: &Value) {
    let file = json!({ "version": 1, "hooks": hooks });
    put(&env.work().join(".cursor/hooks.json"), &file.to_string());
}

/// The result of a call in the stream.
fn result<'a>(lines: &'a [Value], id: &str, kind: &str) -> &'a Value {
    let ended = |line: &&Value| line["subtype"] == "completed" && line["call_id"] == id;
    &lines.iter().find(ended).unwrap()["tool_call"][kind]["result"]
}

fn file(env: &TestEnv, name: &str) -> PathBuf {
    env.work().join(name)
}

#[test]
fn a_refused_command_is_not_run_and_the_model_reads_why() {
    let env = env("init\nuser feed\nrun c1 30s touch ran\nrun c2 30s touch other\nrecall\ndone");
    let deny = hook(&env, "deny", r#"{"permission":"deny","agent_message":"no oats"}"#, 0);
    let failed = hook(&env, "failed", "{}", 0);
    project(
        &env,
        &json!({
            "beforeShellExecution": [{ "command": deny, "matcher": "touch ran$" }],
            "postToolUseFailure": [{ "command": failed }],
        }),
    );
    let run = env.fake_agent().finish();
    let lines = run.assert_code(0).stdout_json();
    let reason = "no oats\n\nAgent note: Do not suggest workarounds to the blocked tool.";
    let expected = json!({ "rejected": {
        "command": "touch ran", "workingDirectory": "", "reason": reason, "isReadonly": false,
    } });
    assert_eq!(result(&lines, "c1", "shellToolCall"), &expected);
    assert!(!file(&env, "ran").exists());
    assert!(file(&env, "other").exists());
    assert_eq!(heard(&env, "failed")[0]["failure_type"], "permission_denied");
    let ended = lines.iter().filter(|line| line["call_id"] == "c1").count();
    assert_eq!(ended, 2, "it begins and ends once");
    let recalled = lines.iter().find(|line| line["type"] == "assistant").unwrap();
    assert_eq!(recalled["message"]["content"][0]["text"], reason);
}

#[test]
fn a_hook_reads_what_cursor_hands_it() {
    let env = env("init s-1\nuser feed\nrun c1 7s echo hi\nresult done");
    let pre = hook(&env, "pre", r#"{"permission":"allow"}"#, 0);
    let post = hook(&env, "post", "{}", 0);
    let shell = hook(&env, "shell", "{}", 0);
    project(
        &env,
        &json!({
            "preToolUse": [{ "command": format!("echo $CURSOR_PROJECT_DIR $CURSOR_VERSION $PWD $OATS >> '{}'; {pre}", env.path("environment").display()) }],
            "postToolUse": [{ "command": post }], "afterShellExecution": [{ "command": shell }],
        }),
    );
    env.fake_agent().variable("OATS", "golden").finish().assert_code(0);
    let work = env.work().display().to_string();
    let payload = fs::read_to_string(env.path("pre.heard")).unwrap();
    let expected = json!({
        "conversation_id": "s-1", "generation_id": "9e0e57aa-0000-4000-8000-0000000000b2",
        "model": "default", "tool_name": "Shell",
        "tool_input": { "command": "echo hi", "cwd": "", "timeout": 7000 },
        "tool_use_id": "c1", "cwd": "", "session_id": "s-1", "hook_event_name": "preToolUse",
        "cursor_version": "2026.07.16-fa4e", "workspace_roots": [work],
        "user_email": "pony@example.invalid", "transcript_path": null,
    });
    assert_eq!(heard(&env, "pre"), [expected]);
    assert!(payload.starts_with(r#"{"conversation_id":"s-1","generation_id":"#), "{payload}");
    let environment = fs::read_to_string(env.path("environment")).unwrap();
    assert_eq!(environment, format!("{work} 2026.07.16-fa4e {work} golden\n"));
    let post = &heard(&env, "post")[0];
    assert_eq!(post["tool_output"], r#"{"exitCode":0,"stdout":"hi\n","stderr":""}"#);
    assert!(post["duration"].is_u64());
    let shell = &heard(&env, "shell")[0];
    assert_eq!((&shell["command"], &shell["output"]), (&json!("echo hi"), &json!("hi\n")));
}

#[test]
fn an_unknown_event_voids_the_file_and_no_hook_of_it_is_run() {
    let env = env("init\nuser feed\nrun c1 30s touch ran\ndone");
    let deny = hook(&env, "deny", r#"{"permission":"deny"}"#, 0);
    project(&env, &json!({ "preToolUse": [{ "command": deny }], "preToolUsage": [] }));
    env.fake_agent().finish().assert_code(0);
    assert!(file(&env, "ran").exists() && heard(&env, "deny").is_empty());
    assert!(env.record("1.hooks.jsonl").contains("Unknown hook type: preToolUsage"));
}

#[test]
fn other_arguments_are_what_really_happens() {
    let env = env("init\nuser feed\nrun c1 30s echo no\nwrite w1 new.txt oats\n\
         write-done w1 new.txt oats\nsave w2 sub/old.txt hay\ndone");
    let shell = hook(&env, "shell", r#"{"updated_input":{"command":"echo yes"}}"#, 0);
    let write = hook(&env, "write", r#"{"updated_input":{"content":"changed"}}"#, 0);
    let edits = hook(&env, "edits", "{}", 0);
    put(&file(&env, "new.txt"), "before");
    project(
        &env,
        &json!({
            "preToolUse": [
                { "command": shell, "matcher": "^Shell$" },
                { "command": write, "matcher": "Write|Read" },
            ],
            "afterFileEdit": [{ "command": edits }],
        }),
    );
    let run = env.fake_agent().finish();
    let lines = run.assert_code(0).stdout_json();
    let success = &result(&lines, "c1", "shellToolCall")["success"];
    assert_eq!((&success["command"], &success["stdout"]), (&json!("echo yes"), &json!("yes\n")));
    assert_eq!(fs::read_to_string(file(&env, "new.txt")).unwrap(), "changed");
    assert_eq!(fs::read_to_string(file(&env, "sub/old.txt")).unwrap(), "changed");
    let names: Vec<_> = heard(&env, "write").iter().map(|call| call["tool_name"].clone()).collect();
    assert_eq!(names, ["Read", "Write", "Read", "Write"], "an edit begins with a read");
    let edit = &heard(&env, "edits")[0]["edits"];
    assert_eq!(edit, &json!([{ "old_string": "before", "new_string": "changed" }]));
}

#[test]
fn a_refused_write_leaves_no_file() {
    let env = env("init\nuser feed\nwrite w1 a.txt oats\nwrite-done w1 a.txt oats\n\
         save w2 b.txt oats\nsave w3 c.txt oats\ndone");
    let file_of = r#"case "$(cat)" in *c.txt*) echo '{}';; *) exit 2;; esac"#;
    put(&env.path("by-file.sh"), file_of);
    let by_file = format!("sh '{}'", env.path("by-file.sh").display());
    project(&env, &json!({ "preToolUse": [{ "command": by_file, "matcher": "Write" }] }));
    let run = env.fake_agent().finish();
    let lines = run.assert_code(0).stdout_json();
    assert!(!file(&env, "a.txt").exists() && !file(&env, "b.txt").exists());
    assert!(file(&env, "c.txt").exists());
    assert!(result(&lines, "w2", "editToolCall")["rejected"]["path"] == "b.txt");
}

#[test]
fn every_kind_of_call_has_its_events() {
    let env = env("init\nuser feed\nread r1 stock.txt\nread-done r1 stock.txt\n\
         mcp m1 barn open\nmcp-done m1 barn open\ntask t1 look around\ntask-done t1 look around\n\
         tool g1 grepToolCall {\"pattern\":\"hay\"}\ntool-done g1 grepToolCall {\"success\":{}}\n\
         plan [x] fetch\nrun c1 30s exit 3\ncompact\ndone");
    put(&file(&env, "stock.txt"), "hay\n");
    let events = [
        "sessionStart",
        "preToolUse",
        "postToolUse",
        "postToolUseFailure",
        "beforeReadFile",
        "beforeMCPExecution",
        "afterMCPExecution",
        "subagentStart",
        "subagentStop",
        "preCompact",
        "sessionEnd",
        "stop",
        "beforeSubmitPrompt",
        "afterAgentResponse",
    ];
    let hooks: serde_json::Map<String, Value> = events
        .iter()
        .map(|event| {
            let command = hook(&env, event, "{}", 0);
            ((*event).to_owned(), json!([{ "command": command }]))
        })
        .collect();
    project(&env, &Value::Object(hooks));
    env.fake_agent().finish().assert_code(0);
    let one = |event: &str| match &heard(&env, event)[..] {
        [payload] => payload.clone(),
        other => panic!("{event}: {other:?}"),
    };
    assert_eq!(one("sessionStart")["composer_mode"], "agent");
    let names: Vec<_> =
        heard(&env, "preToolUse").iter().map(|call| call["tool_name"].clone()).collect();
    assert_eq!(names, ["Read", "MCP:open", "Task", "Grep", "TodoWrite", "Shell"]);
    assert_eq!(heard(&env, "postToolUse").len(), 5);
    assert_eq!(one("postToolUseFailure")["failure_type"], "error");
    assert_eq!(one("beforeReadFile")["content"], "hay\n");
    assert_eq!(one("beforeMCPExecution")["tool_input"], "{}");
    assert!(one("afterMCPExecution")["result_json"].is_string());
    assert_eq!(one("subagentStart")["task"], "look around");
    assert_eq!(one("subagentStop")["loop_count"], 0);
    assert_eq!(one("preCompact")["is_first_compaction"], true);
    assert_eq!(one("sessionEnd")["final_status"], "completed");
    for event in ["stop", "beforeSubmitPrompt", "afterAgentResponse"] {
        assert!(heard(&env, event).is_empty(), "{event} is not for a run without a terminal");
    }
}

#[test]
fn what_a_session_begins_with_reaches_later_hooks_and_commands() {
    let env = env("init\nuser feed\nrun c1 30s echo $OATS\nrecall\ndone");
    let start =
        hook(&env, "start", r#"{"env":{"OATS":"golden"},"additional_context":"It rains."}"#, 0);
    let note = format!("echo $OATS > '{}'; echo '{{}}'", env.path("later").display());
    project(
        &env,
        &json!({ "sessionStart": [{ "command": start }], "preToolUse": [{ "command": note }] }),
    );
    let run = env.fake_agent().finish();
    let lines = run.assert_code(0).stdout_json();
    assert_eq!(result(&lines, "c1", "shellToolCall")["success"]["stdout"], "golden\n");
    assert_eq!(fs::read_to_string(env.path("later")).unwrap(), "golden\n");
    assert_eq!(env.record("1.context.jsonl"), "\"It rains.\"\n");
    let told = lines.iter().find(|line| line["type"] == "assistant").unwrap();
    assert_eq!(told["message"]["content"][0]["text"], "It rains.");
}

#[test]
fn a_session_that_may_not_begin_says_why_and_nothing_else() {
    let env = env("init\nuser feed\nassistant hi\ndone");
    let stop = hook(&env, "start", r#"{"continue":false,"user_message":"not today"}"#, 0);
    project(&env, &json!({ "sessionStart": [{ "command": stop }] }));
    let run = env.fake_agent().finish();
    run.assert_code(1);
    assert!(run.stdout.is_empty() && run.stderr.contains("not today"));
}

#[test]
fn failures_let_pass_unless_they_fail_closed_and_late_ones_are_ended() {
    let env = env("init\nuser feed\nrun c1 30s touch ran\ndone\n---\n\
         init\nuser feed\nrun c1 30s touch again\ndone");
    let hooks = |closed: bool| {
        json!({ "preToolUse": [
            { "command": "exit 7" }, { "command": "true" }, { "command": "/no/such/program" },
            { "command": "kill -9 $$" },
            { "command": "sleep 60", "timeout": 0.3, "failClosed": closed },
        ] })
    };
    project(&env, &hooks(false));
    env.fake_agent().finish().assert_code(0);
    assert!(file(&env, "ran").exists());
    assert_eq!(env.record("1.hooks.jsonl").matches("ignored: ").count(), 5);
    project(&env, &hooks(true));
    env.fake_agent().finish().assert_code(0);
    assert!(!file(&env, "again").exists());
}

#[test]
fn an_unreadable_answer_refuses_and_ask_lets_pass() {
    let env = env("init\nuser feed\nrun c1 30s touch ran\nrun c2 30s touch asked\ndone");
    project(
        &env,
        &json!({ "beforeShellExecution": [
            { "command": "echo sure", "matcher": "ran" },
            { "command": r#"echo '{"permission":"ask"}'"#, "matcher": "asked" },
        ] }),
    );
    env.fake_agent().finish().assert_code(0);
    assert!(!file(&env, "ran").exists() && file(&env, "asked").exists());
}

#[test]
fn hooks_of_a_person_run_beside_their_file_and_a_refusal_of_one_counts() {
    let env = env("init\nuser feed\nmcp m1 barn open\nmcp-done m1 barn open\ndone");
    project(
        &env,
        &json!({ "beforeMCPExecution": [{ "command": r#"echo '{"permission":"allow"}'"# }] }),
    );
    let place = format!("pwd > '{}'; echo closed; exit 2", env.path("place").display());
    let user = json!({ "version": 1, "hooks": { "beforeMCPExecution": [
        { "command": place, "matcher": "MCP:open" }] } });
    let file = env.home().join(".cursor/hooks.json");
    put(&file, &user.to_string());
    let run = env.fake_agent().finish();
    let lines = run.assert_code(0).stdout_json();
    let place = fs::read_to_string(env.path("place")).unwrap();
    assert_eq!(Path::new(place.trim()), file.parent().unwrap());
    let result = result(&lines, "m1", "mcpToolCall");
    let error = result["permissionDenied"]["error"].as_str().unwrap();
    assert!(error.starts_with("closed\n\nAgent note"), "{result}");
    assert_eq!(lines.iter().filter(|line| line["call_id"] == "m1").count(), 2);
}

#[test]
fn with_a_person_there_a_turn_goes_on_as_often_as_a_hook_may_say() {
    let env = env("hooks all\ninit\nuser feed\nassistant one\nwhen-followed assistant more\ndone");
    let stop = hook(&env, "stop", r#"{"followup_message":"and the ponies"}"#, 0);
    let response = hook(&env, "response", "{}", 0);
    let submit = hook(&env, "submit", "{}", 0);
    project(
        &env,
        &json!({
            "stop": [{ "command": stop, "loop_limit": 2 }],
            "afterAgentResponse": [{ "command": response }],
            "beforeSubmitPrompt": [{ "command": submit }],
        }),
    );
    let run = env.fake_agent().finish();
    let lines = run.assert_code(0).stdout_json();
    let rounds: Vec<_> =
        heard(&env, "stop").iter().map(|payload| payload["loop_count"].clone()).collect();
    assert_eq!(rounds, [0, 1, 2]);
    assert_eq!(lines.last().unwrap()["result"], "onemoremore");
    assert_eq!(heard(&env, "response").len(), 3);
    assert_eq!(heard(&env, "submit")[0]["prompt"], "feed");
    let told = lines.iter().filter(|line| line["type"] == "user").count();
    assert_eq!(told, 3, "the prompt, and each message of the hook");
}

#[test]
fn old_programs_know_two_events_and_older_ones_none() {
    let script = "init\nuser feed\nrun c1 30s true\ndone";
    for (mode, shell) in [("old", 1), ("none", 0), ("print", 1)] {
        let env = env(script);
        let (pre, before) = (hook(&env, "pre", "{}", 0), hook(&env, "before", "{}", 0));
        project(
            &env,
            &json!({
                "preToolUse": [{ "command": pre }], "beforeShellExecution": [{ "command": before }],
            }),
        );
        env.fake_agent().variable("FAKE_AGENT_HOOKS", mode).finish().assert_code(0);
        assert_eq!(heard(&env, "before").len(), shell, "{mode}");
        assert_eq!(heard(&env, "pre").len(), usize::from(mode == "print"), "{mode}");
    }
}

#[test]
fn a_workspace_without_hooks_is_as_it_always_was() {
    let script = "init\nuser feed\nrun c1 30s true\nwrite w1 a.txt x\nwrite-done w1 a.txt x\ndone";
    let [plain, off] = ["print", "none"].map(|mode| {
        let env = env(script);
        let run = env.fake_agent().variable("FAKE_AGENT_HOOKS", mode).finish();
        run.assert_code(0);
        assert!(!file(&env, "a.txt").exists() && !env.has_record("1.hooks.jsonl"));
        run.stdout_json().len()
    });
    assert_eq!(plain, off);
}
