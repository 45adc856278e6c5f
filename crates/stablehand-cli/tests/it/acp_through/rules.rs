//! Rules between an agent and its editor: judged on the way, answered by us or by the person there.

use super::{HELLO, NEW, PROMPT, agent, converse, through};
use crate::support::bins;
use serde_json::Value;
use stablehand_testkit::{Running, TestEnv};

const PERMISSION: &str = r#"{"jsonrpc":"2.0","id":50,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1","kind":"execute","title":"greet","rawInput":{"command":"echo hi"}},"options":[{"optionId":"always","name":"A","kind":"allow_always"},{"optionId":"yes","name":"Y","kind":"allow_once"},{"optionId":"no","name":"N","kind":"reject_once"}]}}"#;
const WRITE: &str = r#"{"jsonrpc":"2.0","id":50,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/barn/hay.txt","content":"hay"}}"#;
const TERMINAL: &str = r#"{"jsonrpc":"2.0","id":50,"method":"terminal/create","params":{"sessionId":"s1","command":"echo","args":["hi"]}}"#;

/// An agent that wants something of the client in its turn, and notes the answer.
fn wants(env: &TestEnv, request: &str) -> String {
    let note = env.path("answer");
    let more = format!(
        r#"*'"session/prompt"'*) echo '{request}';;
*'"id":50'*) printf '%s' "$l" > '{}'; echo '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"end_turn"}}}}';;"#,
        note.display()
    );
    agent(env, &more)
}

fn rules(env: &TestEnv, action: &str) -> String {
    let file = env.path("rules.toml");
    let text = format!(
        "[policy]\ndefault = \"deny\"\n\n[[policy.rule]]\nname = \"greeting\"\n\
         command = \"echo *\"\naction = \"{action}\"\nreason = \"for a reason\"\n\n\
         [[policy.rule]]\nname = \"hay\"\npath = \"/barn/**\"\naction = \"{action}\"\n"
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn answer(env: &TestEnv) -> Value {
    serde_json::from_slice(&std::fs::read(env.path("answer")).unwrap()).unwrap()
}

fn start<'e>(env: &'e TestEnv, request: &str, action: &str) -> Running<'e> {
    let run = through(env, &wants(env, request)).flag("--policy", rules(env, action));
    let mut running = run.stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1")]);
    running.type_line(PROMPT);
    running
}

#[test]
fn what_rules_decide_the_client_never_sees() {
    for (request, action) in
        [(PERMISSION, "allow"), (PERMISSION, "deny"), (WRITE, "deny"), (TERMINAL, "deny")]
    {
        let env = TestEnv::new(bins());
        let mut running = start(&env, request, action);
        running.wait_for_stdout("end_turn");
        running.close_stdin();
        let run = running.finish();
        run.assert_code(0);
        assert!(!run.stdout_text().contains("\"id\":50"), "{}", run.stdout_text());
        let answer = answer(&env);
        if request == PERMISSION {
            let option = if action == "allow" { "yes" } else { "no" };
            assert_eq!(answer["result"]["outcome"]["optionId"], option, "{answer}");
        } else {
            assert_eq!(answer["error"]["code"], -32603, "{answer}");
        }
        let log = env.log();
        assert_eq!(log.one("policy_decided")["decision"]["action"], action);
        assert_eq!(log.one("approval_resolved")["choice"], action);
    }
}

#[test]
fn a_prompt_that_a_rule_denies_never_reaches_the_agent() {
    let env = TestEnv::new(bins());
    let heard = env.path("heard");
    let note = format!(
        r#"*'"session/prompt"'*) printf '%s\n' "$l" >> '{0}'; echo '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"end_turn"}}}}';;"#,
        heard.display()
    );
    let file = env.path("rules.toml");
    std::fs::write(&file, "[[prompt]]\nmatches = 'SECRET'\naction = 'deny'\n").unwrap();
    let run = through(&env, &agent(&env, &note)).flag("--policy", &file);
    let mut running = run.stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1")]);
    // A file that the editor hands over is part of the prompt.
    let secret = r#"{"jsonrpc":"2.0","id":"no","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"look"},{"type":"resource","resource":{"uri":"file:///w/k","text":"the SECRET"}}]}}"#;
    converse(&mut running, &[(secret, "the prompt is denied by"), (PROMPT, "end_turn")]);
    running.close_stdin();
    let run = running.finish();
    run.assert_code(0);
    let text = run.stdout_text();
    let refusal: Value = text
        .lines()
        .find(|line| line.contains("denied"))
        .map(serde_json::from_str)
        .unwrap()
        .unwrap();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&"no".into(), &(-32602).into()));
    let heard = std::fs::read_to_string(heard).unwrap();
    assert!(heard.contains("feed the ponies") && !heard.contains("SECRET"), "{heard}");
    let log = env.log();
    assert_eq!(log.one("prompt_denied")["by"], "client");
    assert_eq!(log.all("prompt_given").len(), 1);
    assert!(!log.mentions("SECRET"));
}

#[test]
fn what_rules_allow_passes_as_it_is() {
    for request in [WRITE, TERMINAL] {
        let env = TestEnv::new(bins());
        let mut running = start(&env, request, "allow");
        running.wait_for_stdout(request);
        running.type_line(r#"{"jsonrpc":"2.0","id":50,"result":{"done":1}}"#);
        running.wait_for_stdout("end_turn");
        running.close_stdin();
        running.finish().assert_code(0);
        assert_eq!(answer(&env)["result"]["done"], 1);
    }
}

#[test]
fn a_permission_that_is_left_to_a_person_is_the_editors() {
    let env = TestEnv::new(bins());
    let mut running = start(&env, PERMISSION, "ask");
    running.wait_for_stdout(PERMISSION);
    // Longer than any limit: a person is asked.
    std::thread::sleep(std::time::Duration::from_secs(3));
    running.type_line(
        r#"{"jsonrpc":"2.0","id":50,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}"#,
    );
    running.wait_for_stdout("end_turn");
    running.close_stdin();
    running.finish().assert_code(0);
    assert_eq!(answer(&env)["result"]["outcome"]["optionId"], "no");
    let log = env.log();
    let resolved = log.one("approval_resolved");
    assert_eq!((&resolved["choice"], &resolved["by"]), (&"no".into(), &"client".into()));
    assert!(!log.has("hang_detected"));
}

#[test]
fn what_has_no_question_of_its_own_gets_one() {
    for (option, allowed) in [("allow", true), ("reject", false)] {
        let env = TestEnv::new(bins());
        let mut running = start(&env, WRITE, "ask");
        running.wait_for_stdout("stablehand-ask-");
        let text = running.stdout_so_far();
        assert!(!text.contains(WRITE), "{text}");
        let question = text.lines().find(|line| line.contains("stablehand-ask-")).unwrap();
        let question: Value = serde_json::from_str(question).unwrap();
        assert_eq!(question["params"]["toolCall"]["title"], "Write /barn/hay.txt");
        let said = serde_json::json!({ "jsonrpc": "2.0", "id": question["id"],
            "result": { "outcome": { "outcome": "selected", "optionId": option } } });
        running.type_line(&said.to_string());
        if allowed {
            running.wait_for_stdout(WRITE);
            running.type_line(r#"{"jsonrpc":"2.0","id":50,"result":{}}"#);
        }
        running.wait_for_stdout("end_turn");
        running.close_stdin();
        running.finish().assert_code(0);
        let answer = answer(&env);
        assert_eq!(answer.get("result").is_some(), allowed, "{answer}");
        assert_eq!(env.log().one("approval_resolved")["by"], "client");
    }
}

#[test]
fn what_could_be_read_in_two_ways_does_not_pass() {
    let env = TestEnv::new(bins());
    let twice = WRITE.replacen("\"id\":50", "\"id\":50,\"method\":\"_harmless\"", 1);
    let more = format!(
        r#"*'"session/prompt"'*) echo '{twice}'; echo '[{WRITE}]'; echo '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"end_turn"}}}}';;"#
    );
    let command = agent(&env, &more);
    let run = through(&env, &command).flag("--policy", rules(&env, "allow"));
    let mut running = run.stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "end_turn")]);
    running.close_stdin();
    let run = running.finish();
    assert!(!run.stdout_text().contains("hay.txt"), "{}", run.stdout_text());
    assert_eq!(env.log().all("withheld").len(), 2);
}

#[test]
fn a_request_that_is_too_long_to_be_judged_is_refused() {
    let env = TestEnv::new(bins());
    let note = env.path("answer");
    let (head, tail) = WRITE.split_once("hay\"}").unwrap();
    let more = format!(
        r#"*'"session/prompt"'*) printf '%s' '{head}'; head -c 6000000 /dev/zero | tr '\0' x; printf '%s\n' '"}}{tail}';;
*'"id":50'*) printf '%s' "$l" > '{}'; echo '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"end_turn"}}}}';;"#,
        note.display()
    );
    let run = through(&env, &agent(&env, &more)).flag("--policy", rules(&env, "allow"));
    let mut running = run.stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "end_turn")]);
    running.close_stdin();
    let run = running.finish();
    assert!(!run.stdout_text().contains("hay.txt"), "it was passed on");
    assert_eq!(answer(&env)["error"]["code"], -32603);
}

#[test]
fn what_an_agent_does_unasked_ends_the_run_where_rules_forbid_it() {
    let call = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"execute","status":"completed","title":"x","rawInput":{"command":"rm -rf hay"}}}}"#;
    let end = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;
    let stopped = format!("*'\"session/prompt\"'*) echo '{call}';;");
    let goes_on = format!("*'\"session/prompt\"'*) echo '{call}'; echo '{end}';;");
    for (flag, script, answer, code) in
        [("stop", stopped, "-32603", 1), ("warn", goes_on, "end_turn", 0)]
    {
        let env = TestEnv::new(bins());
        let command = agent(&env, &script);
        let run = through(&env, &command).flag("--policy", rules(&env, "allow"));
        let mut running = run.flag("--on-unasked", flag).stdin_open().start();
        converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, answer)]);
        if code == 0 {
            running.close_stdin();
        }
        running.finish().assert_code(code);
        let level = if code == 0 { "WARN" } else { "ERROR" };
        assert_eq!(env.log().one("tool_not_asked")["level"], level);
    }
}

#[test]
fn what_the_person_at_the_client_allows_counts_as_asked_and_what_she_rejects_does_not() {
    let done = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"execute","status":"completed","title":"greet","rawInput":{"command":"echo hi"}}}}"#;
    let end = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;
    for (option, seen, code) in [("yes", "end_turn", 0), ("no", "-32603", 1)] {
        let env = TestEnv::new(bins());
        let after = if code == 0 { format!("; echo '{end}'") } else { String::new() };
        let more = format!(
            "*'\"session/prompt\"'*) echo '{PERMISSION}';;\n*'\"id\":50'*) echo '{done}'{after};;"
        );
        let run = through(&env, &agent(&env, &more)).flag("--policy", rules(&env, "ask"));
        let mut running = run.stdin_open().start();
        converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "\"id\":50")]);
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":50,"result":{{"outcome":{{"outcome":"selected","optionId":"{option}"}}}}}}"#
        );
        converse(&mut running, &[(&answer, seen)]);
        if code == 0 {
            running.close_stdin();
        }
        running.finish().assert_code(code);
        assert_eq!(env.log().has("tool_not_asked"), code == 1, "{option}: {:?}", env.log().names());
    }
}

#[test]
fn always_at_the_client_covers_later_calls_of_that_program_and_nothing_that_rules_deny() {
    let call = |id: &str, command: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"tool_call","toolCallId":"{id}","kind":"execute","status":"completed","title":"x","rawInput":{{"command":"{command}"}}}}}}}}"#
        )
    };
    let end = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;
    for (option, later, code) in [
        ("always", "echo again", 0),
        ("yes", "echo again", 1),
        ("always", "rm hay", 1),
        ("always", "echo again; rm hay", 1),
    ] {
        let env = TestEnv::new(bins());
        let (first, second) = (call("c1", "echo hi"), call("c2", later));
        let after = if code == 0 { format!("; echo '{end}'") } else { String::new() };
        let more = format!(
            "*'\"session/prompt\"'*) echo '{PERMISSION}';;\n\
             *'\"id\":50'*) echo '{first}'; echo '{second}'{after};;"
        );
        let run = through(&env, &agent(&env, &more)).flag("--policy", rules(&env, "ask"));
        let mut running = run.stdin_open().start();
        converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "\"id\":50")]);
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":50,"result":{{"outcome":{{"outcome":"selected","optionId":"{option}"}}}}}}"#
        );
        converse(&mut running, &[(&answer, if code == 0 { "end_turn" } else { "-32603" })]);
        if code == 0 {
            running.close_stdin();
        }
        running.finish().assert_code(code);
        let log = env.log();
        assert_eq!(log.has("tool_not_asked"), code == 1, "{option} {later}: {:?}", log.names());
    }
}
