//! What begins, ends, stays open and is left out.

use super::*;
use stablehand_core::record::{LogOpened, Record, decision_line};
use stablehand_core::redact::Redactor;
use stablehand_core::{Dialect, UnixMillis};
use std::sync::LazyLock;

static OPENED: LazyLock<String> =
    LazyLock::new(|| decision_line(UnixMillis(1000), LogOpened::new(Dialect::Claude)));
const SPAWNED: &str = r#"{"msg":"agent_spawned","ts":1000,"run":"r1","event":{"type":"process.spawned","pid":1,"argv":[]}}"#;
const EXITED: &str = r#"{"msg":"agent_exited","ts":90000,"event":{"type":"process.exited","exit":{"signal":9},"forced":true,"leaked":0}}"#;
const ENDED: &str = r#"{"msg":"run_ended","ts":90010,"event":{"type":"session.ended","end":"hung","ended_by":"supervisor"}}"#;

fn call(at: i64, id: &str, command: &str) -> String {
    let command = serde_json::Value::from(command);
    format!(
        r#"{{"msg":"raw_event","recv_ts":{at},"raw":{{"type":"assistant","message":{{"id":"m","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":{command}}}}}]}},"session_id":"s1"}}}}"#
    )
}

fn result(at: i64, id: &str, output: &str) -> String {
    let output = serde_json::Value::from(output);
    format!(
        r#"{{"msg":"raw_event","recv_ts":{at},"raw":{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":{output},"is_error":false}}]}},"session_id":"s1"}}}}"#
    )
}

fn decided(at: i64, message: &str, more: &str) -> String {
    format!(r#"{{"msg":"{message}","ts":{at}{more}}}"#)
}

fn health(at: i64, from: &str, to: &str) -> String {
    let event = format!(
        r#","event":{{"type":"health.changed","from":"{from}","to":"{to}","why":"because"}}"#
    );
    decided(at, "health_changed", &event)
}

fn fold<'a>(lines: impl IntoIterator<Item = &'a str>) -> Timeline {
    let redactor = Redactor::new();
    let mut fold = Fold::new(Some(&redactor));
    for line in lines {
        fold.record(&Record::read(line.as_bytes()));
    }
    fold.finish()
}

type Told<'t> = (Track, usize, u64, u64, bool, &'t str);

fn told(timeline: &Timeline, track: Track) -> Vec<Told<'_>> {
    let all = timeline.spans.iter().map(|span| {
        let lane = timeline.lanes[span.lane];
        (lane.track, lane.row, span.start_ms, span.end_ms, span.open, span.name.as_str())
    });
    all.filter(|told| told.0 == track).collect()
}

#[test]
fn what_is_open_at_the_end_is_drawn_to_the_end_and_marked() {
    let call = call(2000, "t1", "sleep 99");
    let timeline = fold([&OPENED, SPAWNED, &call, EXITED, ENDED]);
    assert_eq!(told(&timeline, Track::Tool), [(Track::Tool, 0, 1000, 89_000, true, "Bash")]);
    assert_eq!(told(&timeline, Track::Run), [(Track::Run, 0, 0, 89_010, false, "run 1")]);
    let run = &timeline.spans[0];
    assert_eq!((run.tone, run.outcome.as_deref()), (Tone::Bad, Some("hung")));

    // A log that breaks off: everything goes to its last record.
    let stderr = r#"{"msg":"stderr","recv_ts":9000,"line":"x"}"#;
    let timeline = fold([&OPENED, SPAWNED, &call, stderr]);
    assert_eq!(told(&timeline, Track::Tool), [(Track::Tool, 0, 1000, 8000, true, "Bash")]);
    assert_eq!(told(&timeline, Track::Run), [(Track::Run, 0, 0, 8000, true, "run 1")]);
    assert_eq!(told(&timeline, Track::Silence), [], "a tool was open");
}

#[test]
fn a_stop_has_stages_and_a_verdict_a_moment() {
    let lines = [
        OPENED.clone(),
        SPAWNED.to_owned(),
        health(3000, "starting", "working"),
        health(8000, "working", "quiet"),
        decided(
            60_000,
            "hang_detected",
            r#","verdict":"idle_after_text","text":"hang detected","event":{"type":"health.changed","from":"quiet","to":"stalled","why":"w"}"#,
        ),
        decided(60_001, "agent_killed", r#","stage":"interrupt","reason":"hang""#),
        decided(65_001, "agent_killed", r#","stage":"kill","reason":"hang""#),
        EXITED.to_owned(),
        ENDED.to_owned(),
    ];
    let timeline = fold(lines.iter().map(String::as_str));
    let health: Vec<_> =
        told(&timeline, Track::Health).into_iter().map(|t| (t.2, t.3, t.4, t.5)).collect();
    assert_eq!(
        health,
        [
            (0, 2000, false, "starting"),
            (2000, 7000, false, "working"),
            (7000, 59_000, false, "quiet"),
            (59_000, 89_000, false, "stalled"),
        ]
    );
    assert_eq!(
        told(&timeline, Track::Verdict),
        [(Track::Verdict, 0, 59_000, 59_000, false, "idle after text")]
    );
    assert_eq!(
        told(&timeline, Track::Stop),
        [
            (Track::Stop, 0, 59_001, 64_001, false, "interrupt"),
            (Track::Stop, 0, 64_001, 89_000, false, "kill"),
        ]
    );
    assert_eq!(told(&timeline, Track::Silence), [(Track::Silence, 0, 0, 89_000, false, "silence")]);
}

#[test]
fn questions_last_until_they_are_answered_and_another_run_follows() {
    let asks = |at: i64| {
        decided(
            at,
            "approval_requested",
            r#","event":{"type":"approval.requested","id":"q1","what":"Bash make"}"#,
        )
    };
    let lines = [
        OPENED.clone(),
        SPAWNED.to_owned(),
        asks(2000),
        asks(2500),
        decided(
            7000,
            "approval_resolved",
            r#","event":{"type":"approval.resolved","id":"q1","choice":"deny","by":"person"}"#,
        ),
        asks(8000),
        decided(9000, "agent_exited", ""),
        decided(9001, "run_ended", ""),
        decided(9002, "retry_scheduled", r#","text":"once more""#),
        decided(12_000, "agent_spawned", r#","run":"r2""#),
        "torn {".to_owned(),
    ];
    let timeline = fold(lines.iter().map(String::as_str));
    assert_eq!(
        told(&timeline, Track::Approval),
        [
            (Track::Approval, 0, 1000, 6000, false, "question"),
            (Track::Approval, 0, 7000, 8000, true, "question"),
        ]
    );
    let answered = timeline.spans.iter().find(|span| span.outcome.is_some()).unwrap();
    assert_eq!((answered.tone, answered.outcome.as_deref()), (Tone::Bad, Some("deny, by person")));
    assert_eq!(
        told(&timeline, Track::Retry),
        [(Track::Retry, 0, 8002, 11_000, false, "run again")]
    );
    assert_eq!(told(&timeline, Track::Run).len(), 2);
    assert_eq!(timeline.skipped, 1);
}

#[test]
fn presumed_ends_give_way_to_real_ones() {
    let presumed = decided(5000, "tool_call_completed", r#","call_id":"t1","presumed":true"#);
    let (call, result) = (call(2000, "t1", "make"), result(9000, "t1", "made"));
    let timeline = fold([&OPENED, SPAWNED, &call, &presumed]);
    assert_eq!(told(&timeline, Track::Tool), [(Track::Tool, 0, 1000, 4000, false, "Bash")]);
    let span = timeline.spans.iter().find(|span| span.kind.is_some()).unwrap();
    assert_eq!(span.outcome.as_deref(), Some("presumed complete"));
    let timeline = fold([&OPENED, SPAWNED, &call, &presumed, &result]);
    assert_eq!(told(&timeline, Track::Tool), [(Track::Tool, 0, 1000, 8000, false, "Bash")]);
    assert_eq!(told(&timeline, Track::Silence), [], "it was busy after all");
    let span = timeline.spans.iter().find(|span| span.kind.is_some()).unwrap();
    assert_eq!((span.outcome.as_deref(), span.output.as_deref()), (Some("ok"), Some("made")));
}

#[test]
fn texts_are_redacted_before_they_are_cut_and_drive_nothing() {
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    // The cut would fall into the middle of it.
    let command = format!("{}{token} \u{1b}[31m\u{202e}x", "a ".repeat(990));
    let huge = "y".repeat(1 << 20);
    let (one, two) = (call(2000, "t1", &command), call(2001, "t2", &huge));
    let timeline = fold([&OPENED, SPAWNED, &one, &two]);
    let texts: Vec<_> = timeline.spans.iter().map(|span| span.text.as_str()).collect();
    assert!(!texts.concat().contains("ghp_"), "{texts:?}");
    assert!(texts.iter().all(|text| text.chars().count() <= 2001));
    assert!(!texts.concat().contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn times_that_are_none_do_no_harm() {
    let lines = [
        OPENED.clone(),
        SPAWNED.to_owned(),
        call(i64::MAX, "t1", "a"),
        result(0, "t1", ""),
        decided(-5, "agent_exited", ""),
        ENDED.to_owned(),
    ];
    let timeline = fold(lines.iter().map(String::as_str));
    assert_eq!(timeline.length_ms, 89_010);
    assert_eq!(told(&timeline, Track::Tool), [(Track::Tool, 0, 0, 0, false, "Bash")]);
    let empty = fold([]);
    assert_eq!((empty.length_ms, empty.spans.len(), empty.lanes.len()), (0, 0, 0));
}

#[test]
fn lanes_are_bounded_whatever_happens_at_once() {
    let calls: Vec<_> = (0..300).map(|n| call(2000 + n, &format!("t{n}"), "x")).collect();
    let lines = [&OPENED, SPAWNED].into_iter().chain(calls.iter().map(String::as_str));
    let timeline = fold(lines.chain([EXITED]));
    let tools = timeline.lanes.iter().filter(|lane| lane.track == Track::Tool).count();
    assert_eq!((tools, told(&timeline, Track::Tool).len()), (64, 300));
}

/// As `hook_received` records a call of one of the agent's hooks.
fn hooked(at: i64, hook: &str, agent: &str, id: &str) -> String {
    let payload = format!(
        r#"{{"session_id":"s1","hook_event_name":"{hook}","agent_id":"{id}","agent_type":"{agent}","last_assistant_message":"Fed."}}"#
    );
    decided(
        at,
        "hook_received",
        &format!(
            r#","agent":"claude","hook":"{hook}","number":1,"bytes":9,"event":{{"type":"hook.received","name":"{hook}","payload":{payload}}}"#
        ),
    )
}

#[test]
fn another_agent_is_one_bar_from_its_first_hook_to_its_last() {
    // Three of a kind at once: only their ids tell which of them is over.
    let lines = [
        OPENED.clone(),
        SPAWNED.to_owned(),
        hooked(2000, "SubagentStart", "Explore", "a1"),
        hooked(3000, "SubagentStart", "Explore", "a2"),
        hooked(4000, "SubagentStart", "Explore", "a3"),
        hooked(9000, "SubagentStop", "Explore", "a2"),
        hooked(20_000, "SubagentStop", "Explore", "a1"),
        hooked(21_000, "SubagentStop", "Explore", "nobody"),
        EXITED.to_owned(),
        ENDED.to_owned(),
    ];
    let timeline = fold(lines.iter().map(String::as_str));
    let bars: Vec<_> =
        told(&timeline, Track::SubAgent).into_iter().map(|it| (it.1, it.2, it.3, it.4)).collect();
    assert_eq!(
        bars,
        [
            (0, 1000, 19_000, false),
            // One that was never told to begin.
            (0, 20_000, 20_000, false),
            (1, 2000, 8000, false),
            (2, 3000, 89_000, true),
        ]
    );
    let over = timeline.spans.iter().find(|span| span.end_ms == 8000 && span.hook).unwrap();
    assert_eq!(over.text, "Explore (ended: Fed.)");
    assert_eq!(told(&timeline, Track::Silence), [], "others were at work");
}

#[test]
fn every_track_has_its_place_and_its_word() {
    let mut sorted = Track::ALL;
    sorted.sort_unstable();
    assert_eq!(sorted, Track::ALL);
    for track in Track::ALL {
        assert_eq!(serde_json::to_value(track).unwrap(), track.name());
    }
}
