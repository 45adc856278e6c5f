//! `--output-format text`: what a person sees, and that hostile content shows nothing else.

use crate::support::{PROMPT, bins, env, secs};
use stablehand_core::unsaid::Unsaid;
use stablehand_core::{Dialect, Event};
use stablehand_testkit::{TestEnv, fixtures};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// What `cursor-wrap -p --output-format text` prints for a script.
fn rendered(script: &str) -> String {
    let env = env(script);
    let run = env.cursor_wrap().args(["-p", "--output-format", "text", PROMPT]).finish();
    run.assert_code(0).assert_within(secs(10));
    run.stdout_text()
}

/// The line that begins so.
#[track_caller]
fn line<'t>(text: &'t str, start: &str) -> &'t str {
    let found = text.lines().find(|line| line.starts_with(start));
    found.unwrap_or_else(|| panic!("no line `{start}…` in {text:?}"))
}

#[test]
fn shells_are_shown_with_their_command_time_and_code() {
    let text = rendered(
        "
        init
        shell a 30s make all
        shell-done a 0 5400ms make all
        shell b 30s make test
        shell-done b 2 300ms make test
        result done
    ",
    );
    line(&text, "⏳ `make all`");
    let good = line(&text, "✓ `make all` (");
    assert!(good.ends_with("s, exit 0)"), "{good}");
    let bad = line(&text, "✗ `make test`");
    assert!(bad.contains("exit 2"), "{bad}");
}

#[test]
fn other_tools_are_shown_by_their_kind() {
    let text = rendered(
        "
        init
        read r1 /srv/barn/feed.md
        read-done r1 /srv/barn/feed.md
        edit e1 /srv/barn/feed.md
        edit-done e1 /srv/barn/feed.md
        result done
    ",
    );
    assert_eq!(line(&text, "⏳ readToolCall"), "⏳ readToolCall: /srv/barn/feed.md");
    assert_eq!(line(&text, "✓ readToolCall"), "✓ readToolCall");
    assert_eq!(line(&text, "⏳ editToolCall"), "⏳ editToolCall: /srv/barn/feed.md");
    assert_eq!(line(&text, "✓ editToolCall"), "✓ editToolCall");
}

/// An agent in `sh` that asks before it writes, and ends its turn without a word about the call.
const SILENT_END: &str = r#"
while IFS= read -r l; do
id=$(printf '%s' "$l" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
case "$l" in
*'"initialize"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":1}}";;
*'"session/new"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"sessionId\":\"s1\"}}";;
*'"session/prompt"'*) prompt=$id; echo '{"jsonrpc":"2.0","id":50,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1","kind":"edit","title":"Write hay","rawInput":{"path":"/barn/hay"}},"options":[{"optionId":"yes","name":"Y","kind":"allow_once"},{"optionId":"no","name":"N","kind":"reject_once"}]}}';;
*'"id":50'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$prompt,\"result\":{\"stopReason\":\"end_turn\"}}";;
esac; done
"#;

#[test]
fn a_call_whose_end_nobody_tells_is_shown_as_no_success() {
    let env = TestEnv::new(bins());
    let script = env.path("agent.sh");
    fs::write(&script, SILENT_END).unwrap();
    let run = env
        .stablehand("run")
        .flag("--agent", format!("acp:sh '{}'", script.display()))
        .flag("--log-dir", env.log_dir())
        .args(["--unattended", PROMPT])
        .deadline(secs(30))
        .finish();
    run.assert_code(0);
    let text = run.stdout_text();
    assert_eq!(line(&text, "? "), "? edit (outcome unknown)", "{text}");
    assert!(!text.contains('✓'), "{text}");
    let resolved = env.log();
    let resolved = resolved.one("approval_resolved");
    assert_eq!((&resolved["choice"], &resolved["by"]), (&"deny".into(), &"setting".into()));
}

#[test]
fn only_the_assistant_speaks() {
    let text = rendered(
        "init\nuser my prompt\nthinking secret thoughts\nassistant Hello, barn.\nresult again",
    );
    assert_eq!(text.trim(), "Hello, barn.");
}

#[test]
fn partial_output_is_shown_once() {
    let text = rendered(
        "
        init
        delta Fed the
        delta  ponies
        delta  twice.
        assistant Fed the ponies twice.
        result Fed the ponies twice.
    ",
    );
    assert_eq!(text.trim(), "Fed the ponies twice.");
}

#[test]
fn a_result_is_shown_where_nothing_was_said_before() {
    assert_eq!(rendered("init\nuser my prompt\nresult Fed the ponies."), "Fed the ponies.\n");
    let text = rendered("init\nread r1 feed.md\nread-done r1 feed.md\nresult Fed.");
    assert!(text.ends_with("✓ readToolCall\nFed.\n"), "{text}");
}

/// An agent that prints these lines.
fn says(env: &TestEnv, name: &str, lines: &[&str]) {
    let path = env.path(name);
    let script = format!("#!/bin/sh\ncat >/dev/null\ncat <<'END'\n{}\nEND\n", lines.join("\n"));
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn stablehand_shows_what_only_the_result_says_live_and_later() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s-1","cwd":"/","model":"m"}"#;
    let text = |text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m1","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"s-1"}}"#
        )
    };
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"Fed.","session_id":"s-1","duration_ms":1}"#;
    let cases = [(None, "Fed.\n"), (Some("Fed."), "Fed.\n"), (Some("I look."), "I look.\nFed.\n")];
    for agent in ["cursor", "claude", "qwen"] {
        for (said, expected) in cases {
            let env = TestEnv::new(bins());
            let said = said.map(text);
            let lines: Vec<&str> =
                [Some(init), said.as_deref(), Some(result)].into_iter().flatten().collect();
            says(&env, "agent", &lines);
            let run = env.stablehand("run").flag("--agent", agent);
            let run = run.flag("--agent-bin", env.path("agent")).flag("--log-dir", env.log_dir());
            let run = run.args(["feed the ponies"]).finish();
            run.assert_code(0);
            assert_eq!(run.stdout_text(), expected, "{agent}");
            for command in ["show", "export"] {
                let format: &[&str] = if command == "show" { &[] } else { &["--format", "md"] };
                let run = env.stablehand("sessions").args([command, "latest"]);
                let run = run.args(format.iter().copied());
                let run = run.args(["--log-dir", env.log_dir().to_str().unwrap()]).finish();
                run.assert_code(0);
                let (text, answers) = (run.stdout_text(), expected.lines().count());
                let found = text.lines().filter(|line| expected.lines().any(|it| it == *line));
                assert_eq!(found.count(), answers, "{agent} {command}: {text}");
            }
        }
    }
}

#[test]
fn a_conversation_shows_what_only_the_result_says() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s-1","cwd":"/","model":"m"}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"Fed.","session_id":"s-1","duration_ms":1}"#;
    for agent in ["cursor", "qwen"] {
        let env = TestEnv::new(bins());
        says(&env, "agent", &[init, result]);
        let talk = env.stablehand("talk").flag("--agent", agent).stdin("feed the ponies\n");
        let talk = talk.flag("--agent-bin", env.path("agent")).flag("--log-dir", env.log_dir());
        let talk = talk.finish();
        talk.assert_code(0);
        assert_eq!(talk.stdout_text(), "Fed.\n", "{agent}");
    }
    let env = TestEnv::new(bins());
    says(&env, "agent", &[init, result]);
    let wrap = env.cursor_wrap().flag("--agent-bin", env.path("agent")).stdin("feed them\n");
    let wrap = wrap.finish();
    wrap.assert_code(0);
    assert!(wrap.stdout_text().contains("Fed."), "{}", wrap.stdout_text());
}

fn shim(env: &TestEnv, agent: &str) -> PathBuf {
    env.path("shims").join(if agent == "cursor" { "cursor-agent" } else { agent })
}

#[test]
fn no_agent_says_its_answer_twice() {
    let env = TestEnv::new(bins());
    env.stablehand("fake-agent").flag("--shims", env.path("shims")).finish().assert_code(0);
    for (agent, subcommand, protocol) in [
        ("cursor", "run", None),
        ("claude", "run", None),
        ("codex", "run", None),
        ("gemini", "run", None),
        ("opencode", "run", None),
        ("qwen", "run", None),
        ("gemini", "run", Some("--acp")),
        ("cursor", "talk", None),
        ("claude", "talk", None),
        ("codex", "talk", None),
        ("copilot", "talk", None),
    ] {
        let run = env.stablehand(subcommand).flag("--agent", agent).args(protocol);
        let run = run.flag("--agent-bin", shim(&env, agent));
        let run = run.flag("--log-dir", env.log_dir()).variable("STABLEHAND_FAKE_SCENE", "hello");
        let run = if subcommand == "run" { run.args(["hi"]) } else { run.stdin("hi\n") };
        let run = run.finish();
        run.assert_code(0);
        let text = run.stdout_text();
        let mut lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert!(!lines.is_empty(), "{agent} {subcommand}");
        let count = lines.len();
        lines.dedup();
        assert_eq!(lines.len(), count, "{agent} {subcommand}: {text}");
    }
}

#[test]
fn no_recorded_result_says_again_what_was_said() {
    let env = TestEnv::new(bins());
    for dialect in Dialect::ALL.iter().filter(|dialect| **dialect != Dialect::Terminal) {
        let name = dialect.name();
        for recording in
            fixtures::own(name).into_iter().chain(fixtures::shared(name).into_iter().flatten())
        {
            let run =
                env.stablehand("decode").flag("--agent", name).stdin(recording.bytes).finish();
            run.assert_code(0);
            let mut unsaid = Unsaid::default();
            for event in run.stdout_json() {
                let event: Event = serde_json::from_value(event).unwrap();
                let has_text = unsaid.has_text();
                let result = unsaid.take(&event.event);
                assert!(!has_text || result.is_none(), "{name} {}: {result:?}", recording.name);
            }
        }
    }
}

#[test]
fn control_sequences_do_not_reach_the_terminal() {
    let text = rendered(
        r#"
        init
        assistant safe \x1b]52;c;aGF5\x07 and \x1b[2J\x1b[31m sound\x00 \xc2\x9b31m end
        shell a 30s printf '\x1b]0;title\x07'
        tool t lsToolCall {"path":"/srv/\u001b[5m\u009d8;;x"}
        result done
    "#,
    );
    assert!(text.contains("safe") && text.contains("end"), "{text:?}");
    let allowed = |c: char| !c.is_control() || c == '\n' || c == '\t';
    assert!(text.chars().all(allowed), "{text:?}");
}

#[test]
fn content_that_cannot_be_read_is_no_crash() {
    rendered(
        r#"
        init
        say {"type":"assistant"}
        say {"type":"assistant","message":7}
        say {"type":"assistant","message":{"content":"text, not a list"}}
        say {"type":"assistant","message":{"content":[{"type":"image"},null,3]}}
        say {"type":"tool_call"}
        say {"type":"tool_call","subtype":"started","tool_call":[]}
        say {"type":"tool_call","subtype":"completed","call_id":"never started","tool_call":{}}
        say {"type":"tool_call","subtype":"completed","call_id":9,"tool_call":{"shellToolCall":null}}
        say {"type":"tool_call","subtype":"started","call_id":"x","tool_call":{"shellToolCall":{"args":{"command":5,"timeout":"soon"}}}}
        raw plain text \xff\xfe\n
        result done
    "#,
    );
}

#[test]
fn the_log_has_the_raw_lines_in_text_mode_too() {
    let env = env("init\nassistant Hi.\nraw noise \\xff\\n\nresult Hi.");
    env.cursor_wrap().args(["-p", "--output-format", "text", PROMPT]).finish().assert_code(0);
    let raw = env.log().raw_bytes();
    assert!(raw.ends_with(b"}\n") && raw.windows(7).any(|bytes| bytes == b"noise \xff"));
}
