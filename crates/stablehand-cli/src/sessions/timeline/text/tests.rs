//! What a terminal shows, to the column.

use super::*;
use stablehand_analysis::timeline::Fold;
use stablehand_core::record::{LogOpened, Record, decision_line};
use stablehand_core::{Dialect, UnixMillis};

fn timeline(lines: &[&str]) -> Timeline {
    let mut fold = Fold::new(None);
    for line in lines {
        fold.record(&Record::read(line.as_bytes()));
    }
    fold.finish()
}

fn parallel() -> Timeline {
    let call = |at: u32, id: &str, command: &str| {
        format!(
            r#"{{"msg":"raw_event","recv_ts":{at},"raw":{{"type":"assistant","message":{{"id":"m","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{command}"}}}}]}},"session_id":"s1"}}}}"#
        )
    };
    let result = |at: u32, id: &str, bad: bool| {
        format!(
            r#"{{"msg":"raw_event","recv_ts":{at},"raw":{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":"x","is_error":{bad}}}]}},"session_id":"s1"}}}}"#
        )
    };
    timeline(&[
        &decision_line(UnixMillis(1000), LogOpened::new(Dialect::Claude)),
        r#"{"msg":"agent_spawned","ts":1000,"run":"r1","agent":"claude"}"#,
        &call(4_000, "a", "sleep 2"),
        &call(4_000, "b", "make 好的"),
        &result(6_000, "a", false),
        &result(9_000, "b", true),
        r#"{"msg":"agent_exited","ts":10000}"#,
        r#"{"msg":"run_ended","ts":10000,"event":{"type":"session.ended","end":"success","ended_by":"agent"}}"#,
    ])
}

#[test]
fn lanes_are_drawn_to_scale() {
    let text = draw(&parallel(), 64, Paint::none());
    let expected = "\
claude · 1970-01-01 00:00:01 UTC · 9.0s · success
s1

          ╷0          ╷2s         ╷4s         ╷6s         ╷8s
run       ├run 1 9.0s · success────────────────────────────────┤
turn                        ├turn 1────────────────────────────▶
tools                       ████████████ sleep 2 2.0s
           ✗ failed: x: ma… ██████████████████████████████
silence   ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈ 3.0s
";
    let (chart, _) = text.split_once("\n\nall").unwrap();
    assert_eq!(format!("{chart}\n"), expected, "\n{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for columns in [40, 41, 64, 80, 120, 300] {
        let text = draw(&parallel(), columns, Paint::none());
        let chart = text.lines().take_while(|line| !line.starts_with("all"));
        for line in chart {
            assert!(width(line) <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn an_empty_log_says_so() {
    assert!(draw(&timeline(&[]), 80, Paint::none()).ends_with("nothing happened in it\n"));
}
