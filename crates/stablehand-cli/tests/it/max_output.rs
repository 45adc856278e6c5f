//! `--max-output`: what faces show of a long output, and that the log has all of it.

use crate::support::{PROMPT, env};
use serde_json::Value;
use stablehand_testkit::TestEnv;

/// A tool whose output has 100,000 bytes, and another one.
fn long() -> TestEnv {
    let output = "hay\u{e9}".repeat(20_000);
    let done = |id: &str| {
        format!(
            r#"say {{"type":"tool_call","subtype":"completed","call_id":"{id}","tool_call":{{"shellToolCall":{{"args":{{"command":"cat barn"}},"result":{{"success":{{"exitCode":0,"stdout":"{output}","stderr":""}}}}}}}}}}"#
        )
    };
    let (first, second) = (done("c1"), done("c2"));
    let begins = "shell c1 30s cat barn\nshell c2 30s cat barn";
    env(&format!("read-stdin\ninit\n{begins}\n{first}\n{second}\nresult Read."))
}

fn shown(env: &TestEnv, more: &[&str]) -> Vec<(usize, Option<u64>)> {
    let run = env.stablehand_run().args(["--output-format", "events", PROMPT]);
    let run = run.args(more.iter().copied()).finish();
    run.assert_code(0);
    outputs(&run.stdout_json())
}

fn outputs(events: &[Value]) -> Vec<(usize, Option<u64>)> {
    let tools = events
        .iter()
        .map(|event| &event["event"])
        .filter(|event| event["type"] == "item.completed" && event["item"]["kind"] == "tool");
    tools
        .map(|event| {
            let output = event["item"]["output"].as_str().unwrap();
            (output.len(), event["item"]["output_bytes"].as_u64())
        })
        .collect()
}

#[test]
fn a_long_output_is_cut_in_events_and_whole_in_the_log() {
    let env = long();
    // 50 KiB, and no character is cut in two.
    assert_eq!(shown(&env, &[]), [(51_200, Some(100_000)); 2]);
    let log = env.log();
    let told = log.one("output_cut");
    assert_eq!((&told["level"], &told["bytes"]), (&"WARN".into(), &100_000.into()));
    let folder = env.log_dir().display().to_string();
    let whole = env.stablehand("sessions");
    let whole = whole.args(["show", "latest", "--events", "--log-dir", &folder]).finish();
    whole.assert_code(0);
    assert_eq!(outputs(&whole.stdout_json()), [(100_000, None); 2]);
}

#[test]
fn flag_and_setting_say_how_much_and_the_stream_is_never_cut() {
    let env = long();
    assert_eq!(shown(&env, &["--max-output", "none"]), [(100_000, None); 2]);
    assert!(!env.log().has("output_cut"));
    let env = long();
    assert_eq!(shown(&env, &["--max-output", "1KB"])[0], (1000, Some(100_000)));
    let env = long();
    std::fs::write(env.work().join("stablehand.toml"), "[output]\nmax = \"2kb\"\n").unwrap();
    assert_eq!(shown(&env, &[])[0], (2000, Some(100_000)));
    let env = long();
    let raw = env.stablehand_run().args(["-p", "--max-output", "1KB", PROMPT]).finish();
    raw.assert_code(0);
    assert!(raw.stdout.len() > 200_000);
    assert_eq!(env.log().raw_bytes(), raw.stdout);
    let env = long();
    let text = env.stablehand_run().args([PROMPT]).finish();
    text.assert_code(0);
    assert!(text.stderr.contains("97.7 KiB in all"), "{}", text.stderr);
    env.stablehand_run().args(["--max-output", "much", PROMPT]).finish().assert_code(64);
}
