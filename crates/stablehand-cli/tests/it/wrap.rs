//! What the cursor-wrap document says beside its criteria: its shapes of tool calls, its records, its
//! exit status for a log that cannot be made.

use crate::support::{GOOD, env, print, run, secs};
use serde_json::{Value, json};
use stablehand_testkit::LogFile;

fn level_of<'l>(log: &'l LogFile, message: &str) -> &'l Value {
    let record = log.all(message).into_iter().next();
    &record.unwrap_or_else(|| panic!("no {message}: {:?}", log.names()))["level"]
}

#[test]
fn a_shell_of_the_documented_shape_is_no_hang_within_its_timeout() {
    let env = env(r#"
        read-stdin
        init
        say {"type":"tool_call","subtype":"started","payload":{"toolCall":{"id":"shell-1","shellToolCall":{"name":"shell","args":{"command":"make hay","timeout":10000}}}}}
        sleep 1600ms
        say {"type":"tool_call","subtype":"completed","payload":{"toolCall":{"id":"shell-1","result":{"exitCode":0,"stdout":"hay","stderr":""}}}}
        result Made.
    "#);
    print(&env).flag("--idle-timeout", "500ms").finish().assert_code(0);
    let log = env.log();
    assert!(!log.has("hang_detected"));
    let opened = log.one("tool_call_opened");
    assert_eq!((&opened["call_id"], &opened["timeout_ms"]), (&json!("shell-1"), &json!(10_000)));
    assert_eq!(log.one("tool_call_completed")["outcome"]["kind"], "success");
    assert!(!log.has("tool_call_unstarted") && !log.has("tool_call_undeclared"));
}

/// The other documented shape declares no timeout: the limit for such tools holds.
const WITHOUT_TIMEOUT: &str = r#"
    read-stdin
    init
    say {"type":"tool_call","subtype":"started","tool":"shellToolCall"}
    sleep 1200ms
    say {"type":"tool_call","subtype":"completed","tool":"shellToolCall","duration_ms":1200}
    result Made.
"#;

#[test]
fn a_tool_by_its_name_alone_has_the_limit_of_tools_without_a_timeout() {
    let honest = env(WITHOUT_TIMEOUT);
    print(&honest).flag("--idle-timeout", "3s").finish().assert_code(0);
    assert_eq!(honest.log().all("tool_call_completed").len(), 1);
    // With the limits of `run` a command may be silent for longer than the agent.
    let patient = env(WITHOUT_TIMEOUT);
    run(&patient).flag("--idle-timeout", "500ms").finish().assert_code(0);
    assert!(!patient.log().has("hang_detected"));
    let stuck = env(&WITHOUT_TIMEOUT.replace("sleep 1200ms", "hang"));
    print(&stuck).flag("--idle-timeout", "1s").finish().assert_code(2);
    let log = stuck.log();
    assert_eq!(log.one("hang_detected")["open_call_count"], 1);
    assert_eq!(log.one("tool_call_undeclared")["limit_ms"], 1000);
}

#[test]
fn what_is_odd_in_the_stream_is_a_warning_and_a_call_is_news() {
    let env = env(r#"
        read-stdin
        init
        say no JSON at all
        read r1 hay.txt
        read-done r1 hay.txt
        read r2 oats.txt
        read-done r2 oats.txt
        mcp m1 barn count
        mcp-done m1 barn count
        shell-done c9 0 10ms make hay
        result Fed.
    "#);
    let run = print(&env).finish();
    run.assert_code(0);
    let log = env.log();
    assert_eq!(level_of(&log, "tool_call_opened"), "INFO");
    for message in ["line_unparsable", "tool_call_unstarted", "tool_call_undeclared"] {
        assert_eq!(level_of(&log, message), "WARN", "{message}");
    }
    let classes: Vec<_> = log.all("tool_call_undeclared").iter().map(|it| &it["class"]).collect();
    assert_eq!(classes, ["local", "mcp"], "once for each class");
    assert_eq!(log.one("tool_call_unstarted")["call_id"], "c9");
    assert!(run.stderr.contains("no JSON at all"), "{}", run.stderr);
}

#[test]
fn run_does_not_warn_of_tools_that_declare_no_timeout() {
    let env =
        env("read-stdin\ninit\nsay noise\nread r1 hay.txt\nread-done r1 hay.txt\nresult Fed.");
    run(&env).finish().assert_code(0);
    let log = env.log();
    for message in ["line_unparsable", "tool_call_unstarted", "tool_call_undeclared"] {
        assert!(!log.has(message), "{message}");
    }
}

#[test]
fn a_hang_names_the_type_of_the_last_event_and_numbers_its_open_calls() {
    let thoughtful = env("init\nthinking oats or hay\nhang");
    print(&thoughtful).finish().assert_code(2);
    assert_eq!(thoughtful.log().one("hang_detected")["last_event_type"], "thinking");
    let busy = env("init\nshell a 1s first\nshell b 1s second\nhang");
    print(&busy).flag("--idle-timeout", "500ms").finish().assert_code(2);
    let log = busy.log();
    let hang = log.one("hang_detected");
    assert_eq!(hang["last_event_type"], "tool_call");
    for (at, call) in hang["open_calls"].as_array().unwrap().iter().enumerate() {
        for field in ["id", "command", "elapsed_ms", "timeout_ms"] {
            assert_eq!(hang[format!("open_call_{at}_{field}").as_str()], call[field], "{field}");
        }
    }
    assert_eq!(hang["open_call_1_id"], "b");
}

#[test]
fn a_log_folder_that_cannot_be_made_is_an_ordinary_failure() {
    let env = env(GOOD);
    let folder = env.path("script").join("logs");
    let finished = print(&env).flag("--log-dir", &folder).finish();
    finished.assert_code(1).assert_within(secs(3));
    assert!(finished.stderr.contains("--log-dir"), "{}", finished.stderr);
    assert_eq!(env.starts(), 0);
}

#[test]
fn the_log_can_be_synced_before_anything_is_passed_on() {
    let env = env(GOOD);
    print(&env).args(["--log-sync"]).finish().assert_code(0);
    assert!(env.log().has("run_ended"));
}
