//! Secrets that are planted everywhere an agent can say them: in nothing that is derived, and in the
//! agent's own stream as they are.
//!
//! They are assembled here, so that nothing in this file looks like one.

use crate::support::{agent_output, bins, env, secs};
use stablehand_testkit::{Finished, Run, TestEnv};
use std::path::Path;

/// Has a published form.
fn token() -> String {
    format!("gh{}_{}", 'p', "Zq7Rt2Lm9Xc4".repeat(3))
}

/// Has none; it is known by the name of its variable.
const IN_VARIABLE: &str = "blue pony 4711 & oats";

/// Has none; it is known by the option that it follows.
const IN_OPTION: &str = "stable-door-left-open";

/// Base64 of the variable, as an `Authorization` header has it, without what depends on the rest.
fn in_base64() -> &'static str {
    "Ymx1ZSBwb255IDQ3MTEgJiBvYXRz"
}

const IN_URL: &str = "blue%20pony%204711%20%26%20oats";

fn secrets() -> Vec<String> {
    let plain = [IN_VARIABLE, IN_OPTION, in_base64(), IN_URL].map(str::to_owned);
    [token()].into_iter().chain(plain).collect()
}

/// Plants them in a prompt's echo, in thinking, in pieces of a message, in commands and in what they
/// print, on standard error, and in the result. The agent fails, so that its last words are told.
fn script() -> String {
    let token = token();
    let (half, other) = token.split_at(17);
    format!(
        "read-stdin
         init
         user look at {token} and {IN_VARIABLE}
         thinking {IN_VARIABLE}, or {token}?
         stderr warning: {token} is old, {IN_OPTION} too
         stderr sent {code} and {IN_URL}
         run c1 20s printf '%s {code} {IN_URL}' '{token}' && echo ' {IN_VARIABLE}' && echo {IN_OPTION} >&2
         shell c2 30s curl -H 'x: {token}' https://me:{token}@host/{IN_URL}
         shell-done c2 1 1s curl -H 'x: {token}' https://me:{token}@host/{IN_URL}
         delta it is {half}
         delta {other} and that
         delta \\x20is all
         assistant-before-tool it is {token} and that is all
         say {escaped}
         say no JSON at all: {token} {IN_VARIABLE}
         result-error {token} was refused, so was {IN_OPTION}",
        code = in_base64(),
        escaped = format_args!(
            r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{}"}}]}},"session_id":"s","{{}}":1}}"#,
            token.replace('_', "\\u005f").replace('7', "\\u0037"),
        ),
    )
}

fn with_secrets(run: Run<'_>) -> Run<'_> {
    let token = token();
    run.variable("PONY_API_TOKEN", IN_VARIABLE)
        .args(["-p", "prompt", "--", "--api-key", IN_OPTION, &format!("--note={token}")])
        .deadline(secs(30))
}

fn assert_free_of_secrets(what: &str, text: &str) {
    for secret in secrets() {
        assert!(!text.contains(&secret), "{what} holds {secret}:\n{text}");
    }
}

/// The text of everything that is in a folder.
fn everything_in(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&everything_in(&path));
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
        }
    }
    text
}

fn decisions(env: &TestEnv) -> String {
    let text = everything_in(&env.log_dir());
    let raw = [r#""msg":"raw_"#, r#""msg":"stderr"#];
    text.lines().filter(|line| !raw.iter().any(|raw| line.contains(raw))).collect()
}

fn run(env: &TestEnv, format: &str, flags: &[&str]) -> Finished {
    let run = env.stablehand_run().flag("--output-format", format).flag("--log-level", "debug");
    with_secrets(run.args(flags.iter().copied())).finish()
}

#[test]
fn nothing_that_is_derived_holds_a_secret() {
    for format in ["text", "events", "quiet"] {
        let env = env(&script());
        let finished = run(&env, format, &[]);
        finished.assert_code(1);
        assert_free_of_secrets(&format!("{format} on standard output"), &finished.stdout_text());
        assert_free_of_secrets(&format!("standard error with {format}"), &finished.stderr);
        assert_free_of_secrets("the decisions", &decisions(&env));
        assert!(finished.stderr.contains("[redacted:github-token:"), "{}", finished.stderr);
        assert!(finished.stderr.contains("[redacted:known-value:"), "{}", finished.stderr);
        if format != "quiet" {
            assert!(finished.stdout_text().contains("[redacted:github-token:"));
        }
        // What the agent wrote is in the log as it was.
        let raw = String::from_utf8_lossy(&env.log().raw_bytes()).into_owned();
        assert!(secrets().iter().all(|secret| raw.contains(secret)), "raw records are verbatim");
        assert!(String::from_utf8_lossy(&env.log().stderr_bytes()).contains(&token()));
    }
}

#[test]
fn pieces_of_a_message_are_told_whole_and_without_the_secret() {
    let env = env(&script());
    let finished = run(&env, "events", &[]);
    let mut text = String::new();
    let events = finished.stdout_json();
    for event in &events {
        if event["event"]["type"] == "item.delta" && event["event"]["role"] == "message" {
            text.push_str(event["event"]["text"].as_str().unwrap());
        }
    }
    assert!(text.contains("it is ") && text.contains(" and that is all"), "{text}");
    assert_free_of_secrets("the message", &text);
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}

#[test]
fn the_agents_own_stream_is_passed_on_as_it_is() {
    for flags in [&[][..], &["--redact-raw"], &["--no-redact"]] {
        let env = env(&script());
        let finished = run(&env, "stream-json", flags);
        let out = finished.stdout_text();
        assert!(secrets().iter().all(|secret| out.contains(secret)), "{flags:?}: {out}");
        assert_eq!(
            out == String::from_utf8_lossy(&env.log().raw_bytes()),
            flags != ["--redact-raw"]
        );
        assert!(finished.stderr.contains(&format!("warning: {} is old", token())), "{flags:?}");
    }
}

#[test]
fn a_log_that_is_redacted_whole_holds_no_secret_in_any_encoding() {
    for format in ["stream-json", "text", "events"] {
        let env = env(&script());
        let finished = run(&env, format, &["--redact-raw", "--verify"]);
        finished.assert_code(1);
        assert!(finished.stderr.contains("identical"), "{}", finished.stderr);
        let log = everything_in(&env.log_dir());
        assert_free_of_secrets("the log", &log);
        assert!(log.contains(r#""redacted_raw":true"#));
        // A run that lasts has an index beside its log, which is no JSON.
        let lines = std::fs::read_to_string(env.log().path).unwrap();
        let meaning: Vec<String> = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap().to_string())
            .collect();
        assert_free_of_secrets("what the log means", &meaning.join("\n"));
        assert!(log.contains(r#""raw":{"type":"assistant""#), "JSON stays JSON");
        if format != "stream-json" {
            assert_free_of_secrets("standard output", &finished.stdout_text());
            assert_free_of_secrets("standard error", &finished.stderr);
        }
    }
}

#[test]
fn a_slow_reader_gets_every_byte_of_a_stream_whose_log_is_redacted() {
    let token = token();
    let script = format!(
        "init\nsay {{\"type\":\"x\",\"text\":\"{token}\"}}\nevents thinking 60000 block\n\
         say {{\"type\":\"x\",\"text\":\"{token}\"}}\ntouch written\nresult done\nexit 0"
    );
    let env = env(&script);
    let run = env.stablehand_run().args(["-p", "--redact-raw", "x"]).deadline(secs(60));
    let mut run = run.stdout_unread().start();
    env.record("written");
    run.read_stdout_now();
    let finished = run.finish();
    finished.assert_code(0);
    assert!(finished.stdout == agent_output(&script), "nothing is lost or changed");
    finished.assert_memory();
    let mut folder: Vec<_> = std::fs::read_dir(env.log_dir()).unwrap().flatten().collect();
    folder.retain(|file| !file.file_name().to_string_lossy().starts_with("index."));
    assert_eq!(folder.len(), 1, "what waited had no name: {folder:?}");
    assert!(!everything_in(&env.log_dir()).contains(&token));
}

#[test]
fn redaction_can_be_turned_off() {
    let env = env(&script());
    let finished = run(&env, "events", &["--no-redact"]);
    assert!(finished.stdout_text().contains(&token()));
    assert!(finished.stdout_text().contains(IN_VARIABLE));
    assert!(!finished.stdout_text().contains("[redacted:"), "{}", finished.stdout_text());
    let both = env.stablehand_run().args(["--no-redact", "--redact-raw", "x"]).finish();
    both.assert_code(64);
}

#[test]
fn a_plan_shows_no_secret() {
    let env = env("init");
    let run = env.stablehand_run().args(["--dry-run"]);
    let finished = with_secrets(run).finish();
    finished.assert_code(0);
    assert_free_of_secrets("the plan", &finished.stdout_text());
    assert!(finished.stdout_text().contains("--note=[redacted:github-token:"));
}

#[test]
fn a_conversation_is_redacted_too() {
    let token = token();
    for format in ["text", "events"] {
        let env = TestEnv::new(bins());
        let shims = env.path("shims");
        env.stablehand("fake-agent").flag("--shims", shims).finish().assert_code(0);
        let finished = env
            .stablehand("talk")
            .flag("--agent", "claude")
            .flag("--agent-bin", env.path("shims").join("claude"))
            .flag("--log-dir", env.log_dir())
            .flag("--output-format", format)
            .flag("--log-level", "debug")
            .variable("STABLEHAND_FAKE_SCENE", "hello")
            .variable("PONY_API_TOKEN", IN_VARIABLE)
            .args(["--redact-raw"])
            .stdin(format!("is {token} good?\nand {IN_VARIABLE}?\n"))
            .deadline(secs(30))
            .finish();
        finished.assert_code(0);
        assert_free_of_secrets("standard output", &finished.stdout_text());
        assert_free_of_secrets("standard error", &finished.stderr);
        let log = everything_in(&env.log_dir());
        assert_free_of_secrets("the log", &log);
        assert!(log.contains("[redacted:github-token:"), "the prompt is on record");
    }
}

#[test]
fn a_recording_is_shown_as_it_is_unless_asked_otherwise() {
    let env = env("init");
    let recording = agent_output(&script());
    let decode = || env.stablehand("decode").flag("--agent", "cursor").stdin(recording.clone());
    assert!(decode().finish().stdout_text().contains(&token()));
    let safe = decode().args(["--redact"]).variable("PONY_TOKEN", IN_VARIABLE).finish();
    safe.assert_code(0);
    assert!(!safe.stdout_text().contains(&token()) && !safe.stdout_text().contains(IN_VARIABLE));
}
