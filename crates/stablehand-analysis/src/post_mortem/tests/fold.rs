//! The fold: which run, what it was doing, what came last, and that it stays small.

use super::*;
use stablehand_core::event::{ProcessExit, SessionEnd};

fn good(log: Log) -> Log {
    log.says("Done.").result().exited(0).ended_with("success", json!({ "exit_code": 0 }))
}

#[test]
fn a_good_run_is_not_accused() {
    let report = good(Log::begun().shell("c1", "make").shell_done("c1", "make")).report();
    assert_eq!(report.standing, Standing::Well);
    assert_eq!((report.causes.len(), report.remarks.len()), (0, 0), "{report:?}");
    assert_eq!(report.doing, "It had delivered its result. It had been quiet for 1.0s.");
}

#[test]
fn a_good_run_after_troubles_that_it_got_over_is_not_accused() {
    let log = Log::begun()
        .stderr("429 Too Many Requests")
        .raw(retry(1))
        .raw(retry(2))
        .stderr("write: No space left on device")
        .after(600_000)
        .shell("c1", "npm run dev")
        .shell_done("c1", "npm run dev");
    let report = good(log).report();
    assert_eq!(kinds(&report), (vec![], vec![]));
    assert_eq!(report.retry_count, 2);
    assert_eq!(report.silences[0].ms, 601_000);
}

#[test]
fn what_an_agent_got_over_is_not_what_it_hung_in() {
    let log = Log::begun().stderr("429 Too Many Requests").says("On we go.").shell("c1", "make");
    let report = log.hung("tool", json!({ "open_tools": [open_tool("make", "execute")] })).report();
    let (causes, _) = kinds(&report);
    assert!(causes.iter().all(|(kind, _)| *kind != CauseKind::RateLimited), "{causes:?}");
}

#[test]
fn an_end_without_any_sign_cannot_be_explained() {
    let log = Log::begun().shell("c1", "make").shell_done("c1", "make").exited(7);
    let report = log.ended("no_result").report();
    assert_eq!((report.standing, report.causes.len()), (Standing::Unexplained, 0));
    let newer = Log::begun().exited(0).ended("trampled").report();
    assert_eq!((newer.standing, newer.ended.outcome), (Standing::Unexplained, None));
}

#[test]
fn the_run_that_ended_badly_is_meant_unless_another_is_named() {
    let log = good(Log::begun());
    let log = log.spawned("r2").init("M").exited(3).ended("no_result");
    let log = good(log.spawned("r3").init("M"));
    let number = |which| log.read(which).map(|report| (report.run.number, report.run.of));
    assert_eq!(number(Which::Troubled), Some((2, 3)));
    assert_eq!(number(Which::Number(1)), Some((1, 3)));
    assert_eq!(number(Which::Number(3)), Some((3, 3)));
    assert_eq!(number(Which::Number(4)), None);
    assert_eq!(number(Which::Id("r3".to_owned())), Some((3, 3)));
    assert_eq!(number(Which::Id("nobody".to_owned())), Some((2, 3)));
    assert_eq!(good(Log::begun()).read(Which::Troubled).map(|report| report.run.number), Some(1));
    let mut empty = Log::new();
    empty.lines.truncate(1);
    assert_eq!(empty.read(Which::Troubled), None);
}

#[test]
fn a_record_that_stands_there_twice_begins_no_second_run() {
    let log = good(Log::begun().spawned("r1").spawned("r1"));
    let report = log.report();
    assert_eq!((report.run.of, report.standing), (1, Standing::Well));
}

#[test]
fn what_it_was_doing_is_said_in_words() {
    let cases = [
        (Log::new(), "It had said nothing at all."),
        (Log::new().text("hello"), "It had written only lines that name no session."),
        (Log::begun(), "The session had begun, and the model had not answered yet."),
        (Log::begun().says("On it"), "The model had spoken; its last words: “On it”"),
        (Log::begun().shell("c1", "make hay"), "It ran a command for 1.0s: `make hay`."),
        (
            Log::begun().shell("c1", "make hay").shell_done("c1", "make hay"),
            "A tool had given its result (`make hay`: success), and the model was to go on.",
        ),
        (Log::begun().shell("c1", "a").shell("c2", "b"), "It ran 2 tools, the last one `b`."),
    ];
    for (log, words) in cases {
        let report = log.exited(1).ended("no_result").report();
        assert!(report.doing.starts_with(words), "{} is not {words}", report.doing);
    }
}

#[test]
fn the_last_events_and_times_count_from_the_end() {
    let delta = |text: &str| {
        json!({
            "type": "thinking", "subtype": "delta", "text": text, "session_id": "s-1",
            "timestamp_ms": 1
        })
    };
    let log = Log::begun().raw(delta("a")).raw(delta("b")).raw(delta("c"));
    let report = log.stderr("oh").exited(1).ended("no_result").report();
    let events: Vec<_> = report
        .last_events
        .iter()
        .map(|note| (note.text.as_str(), note.count, note.before_end_ms))
        .collect();
    assert!(events.contains(&("stderr: oh", None, 2000)), "{events:?}");
    let thought = events.iter().find(|(text, ..)| *text == "thinking").expect("thoughts");
    assert!(thought.1 >= Some(3) && thought.2 == 3000, "{thought:?}");
    assert_eq!(report.ended.outcome, Some(SessionEnd::NoResult));
    assert_eq!(report.ended.agent, Some(ProcessExit::Code(1)));
}

#[test]
fn hostile_words_stay_on_their_line_and_out_of_commands() {
    let evil = "\u{1b}]0;x\u{7}a\nb`$(reboot)`";
    let log = Log::new().raw(json!({
        "type": "system", "subtype": "init", "session_id": "-rf; reboot", "model": evil
    }));
    let report = log.stderr(evil).hung("first_response", json!({})).report();
    let text = serde_json::to_string(&report).expect("JSON");
    assert!(!text.contains("\\u001b") && !text.contains("\\n"), "{text}");
    let changes: Vec<_> = report.causes.iter().flat_map(|cause| &cause.change).collect();
    assert!(changes.iter().all(|change| !change.contains("--resume")), "{changes:?}");
}

#[test]
fn a_long_log_takes_no_more_room_than_a_short_one() {
    let mut post_mortem = PostMortem::of(Which::Troubled);
    let much = "x".repeat(100_000);
    let mut log = Log::begun();
    for n in 0..100 {
        log = log.shell(&format!("c{n}{much}"), &much).stderr(&much).text(&much);
    }
    for line in &log.lines {
        post_mortem.record(&Record::read(line.as_bytes()));
    }
    let report = post_mortem.report().expect("a run");
    let size = serde_json::to_string(&report).map_or(usize::MAX, |text| text.len());
    assert!(size < 32_000, "{size} bytes");
}
