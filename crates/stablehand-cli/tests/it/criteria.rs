//! The fourteen criteria of the cursor-wrap document, in its order.

use crate::support::{GOOD, PROMPT, agent_output, env, ms, print, secs};
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn c01_a_completed_run_exits_0() {
    let env = env(GOOD);
    print(&env).finish().assert_code(0).assert_within(secs(5));
    assert_eq!(env.record("1.stdin").trim(), PROMPT);
    assert!(!env.log().has("hang_detected"));
}

#[test]
fn c02_an_idle_hang_is_found_within_idle_plus_tick_and_exits_2() {
    let env = env("init\nassistant-before-tool Hm.\nhang");
    print(&env).finish().assert_code(2).assert_at_least(secs(1));
    let log = env.log();
    let silence = log.one("hang_detected")["idle_silence_ms"].as_u64().unwrap();
    assert!((1000..1600).contains(&silence), "found after {silence} ms; 1100 and some slack");
}

#[test]
fn c03_a_tool_past_its_timeout_and_grace_is_found() {
    let env = env("init\nshell c1 1s make all\nhang");
    print(&env).flag("--idle-timeout", "500ms").finish().assert_code(2);
    let log = env.log();
    let hang = log.one("hang_detected");
    assert_eq!(hang["open_call_count"], 1);
    let call = &hang["open_calls"][0];
    assert_eq!((&call["id"], &call["command"]), (&json!("c1"), &json!("make all")));
    assert_eq!(call["timeout_ms"], 1000);
    let elapsed = call["elapsed_ms"].as_u64().unwrap();
    assert!((1300..2000).contains(&elapsed), "found after {elapsed} ms; 1400 and some slack");
}

#[test]
fn c04_a_long_tool_within_its_time_is_no_hang() {
    let env = env("
        init
        shell c1 3s make all
        sleep 2500ms
        shell-done c1 0 2500ms make all
        result Made.
    ");
    print(&env).flag("--idle-timeout", "500ms").finish().assert_code(0);
    let log = env.log();
    assert!(log.has("verdict_waiting"), "the wait is logged: {:?}", log.names());
    assert!(!log.has("hang_detected"));
}

#[test]
fn c05_parallel_tools_are_no_hang_when_one_ends_first() {
    let env = env("
        init
        shell a 1s quick
        shell b 3s slow
        sleep 600ms
        shell-done a 0 600ms quick
        sleep 1800ms
        shell-done b 0 2400ms slow
        result Both.
    ");
    print(&env).flag("--idle-timeout", "500ms").finish().assert_code(0);
}

#[test]
fn c06_each_parallel_tool_is_measured_from_its_own_start() {
    let env = env("
        init
        shell a 3s first
        sleep 1500ms
        shell b 2s second
        sleep 1s
        shell-done a 0 2500ms first
        sleep 1s
        shell-done b 0 2s second
        result Both.
    ");
    print(&env).flag("--idle-timeout", "500ms").finish().assert_code(0);
}

#[test]
fn c07_every_raw_event_is_logged_with_its_time() {
    let env = env(GOOD);
    let before = now_ms();
    let run = print(&env).finish();
    let log = env.log();
    assert_eq!(log.raw_bytes(), run.stdout);
    let times: Vec<u64> =
        log.all("raw_event").iter().map(|record| record["recv_ts"].as_u64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(times.iter().all(|time| (before..=now_ms()).contains(time)), "{times:?}");
    assert!(log.all("raw_event").iter().all(|record| record["level"] == "DEBUG"));
}

#[test]
fn c08_a_hang_is_logged_with_its_whole_reason() {
    let env =
        env("init\ntool c9 mcpToolCall {\"name\":\"barn-count\",\"toolName\":\"count\"}\nhang");
    print(&env).finish().assert_code(2);
    let log = env.log();
    let hang = log.one("hang_detected");
    for field in ["time", "level", "ts", "idle_silence_ms", "open_call_count", "last_event_type"] {
        assert!(hang.contains_key(field), "no `{field}` in {hang:?}");
    }
    assert!(hang["last_event_type"].as_str().unwrap().contains("tool_call"));
    let call = hang["open_calls"][0].as_object().unwrap();
    for field in ["id", "command", "elapsed_ms", "timeout_ms"] {
        assert!(call.contains_key(field), "no `{field}` in {call:?}");
    }
    assert!(log.mentions("hang detected: "));
    assert!(log.has("agent_killed") && log.has("agent_exited"), "{:?}", log.names());
}

#[test]
fn c09_the_output_is_byte_identical() {
    let script = r#"
        raw \n\r\n  {"type":"system",   "subtype":"init","session_id":"s"}\r\n
        raw not json\n\x00\xff\xfe\n{"a":1,"a":1.0e+2}\n
        assistant  two  spaces and é
        result done
        raw {"type":"unterm
    "#;
    let env = env(script);
    let run = print(&env).finish();
    assert_eq!(run.stdout, agent_output(script));
    assert_eq!(env.log().raw_bytes(), run.stdout);
}

#[test]
fn c10_signals_stop_the_agent_and_give_128_plus_n() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let env = env("init\nspawn plain\nspawn setsid\ntouch ready\nhang");
        let run = print(&env).flag("--idle-timeout", "30s").start();
        env.record("ready");
        run.signal(signal);
        run.finish().assert_code(code).assert_within(secs(12));
        assert!(env.log().has("agent_killed"));
    }
}

#[test]
fn c11_all_thresholds_are_flags() {
    // What hangs with the short limits of the other tests does not with these.
    let env = env("init\nsleep 1600ms\nshell c1 100ms make\nsleep 1200ms\nresult Fine.");
    let run = print(&env).flag("--idle-timeout", "2s").flag("--tool-grace", "1m30s");
    run.flag("--tick-interval", "250ms").finish().assert_code(0);
}

#[test]
fn c12_an_interactive_session_is_resumed() {
    let env = env("read-stdin\ninit s-1\nresult 1\n---\nread-stdin\ninit s-1\nresult 2");
    env.cursor_wrap().stdin("one\n\ntwo\n").finish().assert_code(0);
    assert_eq!(env.starts(), 2);
    assert!(!env.argv(1).contains(&"--resume".to_owned()));
    assert_eq!(env.argv(2)[3..5], ["--resume", "s-1"]);
    assert_eq!((env.record("1.stdin").trim(), env.record("2.stdin").trim()), ("one", "two"));
}

#[test]
fn c13_an_interactive_session_goes_on_after_a_hang() {
    let env = env("read-stdin\ninit s-1\nhang\n---\nread-stdin\ninit s-1\nresult 2");
    let run = env.cursor_wrap().args(["--output-format", "stream-json"]).stdin("one\ntwo\n");
    let run = run.finish();
    run.assert_code(0);
    let lines = run.stdout_json();
    let hang = lines.iter().find(|line| line["type"] == "wrapper").expect("a wrapper line");
    assert_eq!(hang["subtype"], "hang_detected");
    assert!(hang["message"].is_string());
    assert_eq!(lines.last().unwrap()["type"], "result");
}

#[test]
fn c14_print_is_one_turn_and_text_is_rendered() {
    let script = format!("{GOOD}\n---\n{GOOD}");
    let env = env(&script);
    let run = env.cursor_wrap().args(["-p", "--output-format", "text", PROMPT]);
    let run = run.stdin("another prompt\n").finish();
    run.assert_code(0).assert_within(secs(5));
    assert_eq!(run.stdout_text().trim(), "Fed.");
    assert_eq!(env.starts(), 1);
    std::thread::sleep(ms(50));
    assert_eq!(env.starts(), 1, "one turn, whatever stands on standard input");
}

fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_millis() as u64
}
