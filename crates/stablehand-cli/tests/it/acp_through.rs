//! `stablehand acp --through`: everything passes as it is, and whoever waits learns why it is in vain.
//!
//! The agents are shell scripts, so that every byte that they write is in sight.

mod conformance;
mod faults;
mod rules;

use crate::support::{bins, secs};
use serde_json::Value;
use stablehand_testkit::{Finished, Run, Running, TestEnv};

/// A session with one prompt that is not answered yet.
pub(super) const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
pub(super) const NEW: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#;
pub(super) const PROMPT: &str = r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"feed the ponies"}]}}"#;

/// What an agent in `sh` does with each line, `$l`; the usual answers are there already.
pub(super) fn agent(env: &TestEnv, more: &str) -> String {
    let text = format!(
        r#"while IFS= read -r l; do case "$l" in
{more}
*'"initialize"'*) echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentInfo":{{"name":"pony","version":"1"}}}}}}';;
*'"session/new"'*) echo '{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"s1"}}}}';;
*'"session/prompt"'*) echo '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"end_turn"}}}}';;
esac; done
"#
    );
    let file = env.path("agent.sh");
    std::fs::write(&file, text).unwrap();
    format!("sh '{}'", file.display())
}

/// `stablehand acp --through` with short limits.
pub(super) fn through<'e>(env: &'e TestEnv, command: &str) -> Run<'e> {
    env.stablehand("acp")
        .flag("--through", command)
        .flag("--log-dir", env.log_dir())
        .flag("--startup-timeout", "1s")
        .flag("--idle-timeout", "1s")
        .flag("--exit-grace", "500ms")
        .flag("--stop-grace", "500ms")
        .deadline(secs(30))
}

/// Says the lines one by one, each when the answer to the one before has come.
pub(super) fn converse(running: &mut Running<'_>, said: &[(&str, &str)]) {
    for (line, answer) in said {
        running.type_line(line);
        running.wait_for_stdout(answer);
    }
}

/// The answer to a request of that id.
pub(super) fn answers(run: &Finished, id: u64) -> Vec<Value> {
    let text = run.stdout_text();
    let all = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    all.filter(|line: &Value| line["id"] == id && line.get("method").is_none()).collect()
}

#[test]
fn every_byte_passes_both_ways() {
    let odd: &[&[u8]] = &[
        HELLO.as_bytes(),
        b"\n{ \"id\" :1e0 ,\"b\":2, \"a\":1.50,\"method\":\"_own/thing\",\"_meta\":{\"\\u0061\":12345678901234567890}}\n",
        b"no JSON at all\n\n  \n[{\"method\":\"a\"},{\"id\":\"\\ud800\"}]\r\n",
        b"\xff\xfe not even text\n",
        b"{\"a\":1,\"a\":2}\n\"text\"\nnull\n",
        b"the end without a newline",
    ];
    let bytes = odd.concat();
    let env = TestEnv::new(bins());
    let run = through(&env, "cat").stdin(bytes.clone()).finish();
    run.assert_code(0);
    assert_eq!(run.stdout, bytes, "{}", run.stdout_text());
    let log = env.log();
    assert_eq!(log.raw_bytes(), bytes);
    let said = log.all("client_said");
    assert_eq!(said.len(), 11, "{said:#?}");
    assert_eq!(said[0]["line"]["method"], "initialize");
    assert_eq!(said[2]["text"], "no JSON at all");
    assert_eq!(said[10]["cut"], true);
    assert_eq!(log.last()["outcome"], "success");
}

#[test]
fn a_conversation_is_a_run_like_any_other() {
    let env = TestEnv::new(bins());
    let text = r#"*'"session/prompt"'*) echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Fed."}}}}'; echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}';;"#;
    let mut running = through(&env, &agent(&env, text)).stdin_open().start();
    converse(&mut running, &[(HELLO, "pony"), (NEW, "s1"), (PROMPT, "end_turn")]);
    // Far longer than any limit: nobody waits for an agent at rest.
    std::thread::sleep(secs(3));
    assert!(running.is_running(), "{}", running.stderr_so_far());
    running.close_stdin();
    let run = running.finish();
    run.assert_code(0);
    let log = env.log();
    assert_eq!(log.one("prompt_given")["text"], "feed the ponies");
    assert_eq!(log.one("session_started")["session_id"], "s1");
    assert_eq!(log.one("client_left")["open"], 0);
    assert!(!log.has("hang_detected"), "{:?}", log.names());
    let id = log.one("session_started")["session_id"].as_str().unwrap().to_owned();
    let shown = env.stablehand("sessions").args(["show", &id]);
    let shown = shown.args(["--log-dir", &env.log_dir().display().to_string()]).finish();
    assert!(shown.stdout_text().contains("Fed."), "{shown:?}");
    assert!(shown.stdout_text().contains("feed the ponies"), "{shown:?}");
}

#[test]
fn the_settings_of_editors_can_be_pasted() {
    let env = TestEnv::new(bins());
    let command = "gemini --acp";
    for (editor, is_custom) in [("zed", true), ("jetbrains", false)] {
        let run = through(&env, command).flag("--print-config", editor).finish();
        run.assert_code(0);
        let settings: Value = serde_json::from_slice(&run.stdout).unwrap();
        let server = &settings["agent_servers"]["Stablehand (gemini)"];
        assert_eq!(server["type"] == "custom", is_custom, "{settings}");
        let program = server["command"].as_str().unwrap();
        assert!(std::path::Path::new(program).is_absolute(), "{program}");
        let args: Vec<_> = server["args"].as_array().unwrap().iter().collect();
        assert_eq!(args[..3], ["acp", "--through", command], "{settings}");
        assert!(!args.iter().any(|arg| arg.as_str().unwrap().contains("print-config")));
        assert!(run.stderr.contains("paste this into"), "{}", run.stderr);
    }
    let lua = |agent: &[&str]| {
        let run = env.stablehand("acp").args(agent.iter().copied());
        let run = run.flag("--print-config", "neovim").finish();
        run.assert_code(0);
        run.stdout_text()
    };
    let text = lua(&["--through", command]);
    assert!(text.contains("acp_providers"), "{text}");
    assert!(text.contains(r#""--through", "gemini --acp""#), "{text}");
    // The plugin refuses a way to log in that is not offered.
    assert!(!text.contains("auth_method"), "{text}");
    assert!(!lua(&["--agent", "demo"]).contains("auth_method"));
    let text = lua(&["--agent", "claude"]);
    assert!(text.contains(r#"auth_method = "agent-login""#), "{text}");
}

#[test]
fn what_the_editor_writes_in_one_go_reaches_the_agent() {
    let env = TestEnv::new(bins());
    let program = env.path("shims");
    env.stablehand("fake-agent").flag("--shims", &program).finish().assert_code(0);
    let command = format!("'{}' --acp", program.join("gemini").display());
    for _ in 0..20 {
        let run = through(&env, &command).variable("STABLEHAND_FAKE_SCENE", "hello");
        let mut running = run.stdin_open().start();
        running.type_line(&format!("{HELLO}\n{NEW}"));
        running.wait_for_stdout("sessionId");
        running.close_stdin();
        running.finish().assert_code(0);
    }
}
