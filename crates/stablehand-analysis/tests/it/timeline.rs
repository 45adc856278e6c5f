//! Recordings of parallel tools, received at known times: every span to the millisecond.

use stablehand_analysis::timeline::{Fold, Timeline, Track};
use stablehand_core::record::{LogOpened, Record, decision_line};
use stablehand_core::{Dialect, UnixMillis};
use std::path::Path;

/// When the log was opened.
const ZERO: i64 = 1_790_994_297_441;

#[expect(
    clippy::disallowed_methods,
    reason = "the analyses do no I/O; their tests read recordings"
)]
fn recording(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join("fixtures").join(name)).unwrap()
}

/// The timeline of a recording whose lines came so many milliseconds after the beginning.
fn timeline(dialect: &str, name: &str, times: &[i64]) -> Timeline {
    let text = recording(name);
    assert_eq!(text.lines().count(), times.len(), "one time a line");
    let mut fold = Fold::new(None);
    let mut take = |line: String| fold.record(&Record::read(line.as_bytes()));
    take(decision_line(UnixMillis(ZERO), LogOpened::new(Dialect::by_name(dialect).unwrap())));
    take(format!(
        r#"{{"msg":"agent_spawned","ts":{},"run":"r1","agent":"{dialect}","event":{{"type":"process.spawned","pid":1,"argv":[]}}}}"#,
        ZERO + 7
    ));
    for (line, after) in text.lines().zip(times) {
        take(format!(r#"{{"msg":"raw_event","recv_ts":{},"raw":{line}}}"#, ZERO + after));
    }
    let end = ZERO + times.last().unwrap() + 11;
    take(format!(
        r#"{{"msg":"agent_exited","ts":{end},"event":{{"type":"process.exited","exit":{{"code":0}},"forced":false,"leaked":0}}}}"#
    ));
    take(format!(
        r#"{{"msg":"run_ended","ts":{},"event":{{"type":"session.ended","end":"success","ended_by":"agent"}}}}"#,
        end + 2
    ));
    fold.finish()
}

/// Track, row, start, end and text of each span.
fn spans(timeline: &Timeline) -> Vec<(Track, usize, u64, u64, &str)> {
    let told = |span: &'_ stablehand_analysis::timeline::Span| {
        let lane = timeline.lanes[span.lane];
        (lane.track, lane.row, span.start_ms, span.end_ms)
    };
    timeline
        .spans
        .iter()
        .map(|span| {
            let (track, row, start, end) = told(span);
            (track, row, start, end, span.text.as_str())
        })
        .collect()
}

#[test]
fn parallel_tools_of_cursor() {
    let times = [103, 104, 5_020, 5_041, 9_033, 14_077, 14_600, 14_613];
    let timeline = timeline("cursor", "cursor/2026.01-parallel.ndjson", &times);
    assert_eq!(timeline.length_ms, 14_626);
    assert_eq!(timeline.began, "2026-10-03T02:24:57.441Z");
    assert_eq!(
        spans(&timeline),
        [
            (Track::Run, 0, 7, 14_626, "r1"),
            (Track::Turn, 0, 104, 14_613, "Run both checks at once."),
            (Track::Text, 0, 14_600, 14_600, "Both passed."),
            (Track::Tool, 0, 5_020, 9_033, "sleep 4"),
            (Track::Tool, 1, 5_041, 14_077, "sleep 9"),
            (Track::Silence, 0, 104, 5_020, ""),
        ]
    );
    let tools: Vec<_> = timeline.spans.iter().filter(|span| span.kind.is_some()).collect();
    let own: Vec<_> = tools.iter().map(|span| span.own_ms).collect();
    assert_eq!(own, [Some(4012), Some(9008)], "the agent's own clock is beside ours");
    assert!(timeline.spans.iter().all(|span| !span.open));
}

#[test]
fn parallel_tools_of_claude() {
    let times = [1_000, 1_500, 1_501, 1_502, 4_003, 3_100, 9_000, 9_050];
    let timeline = timeline("claude", "claude/parallel.ndjson", &times);
    let tools: Vec<_> = spans(&timeline).into_iter().filter(|span| span.0 == Track::Tool).collect();
    // The second result came before the first, by a clock that was set back: times are as they are.
    assert_eq!(
        tools,
        [(Track::Tool, 0, 1_501, 4_003, "echo one"), (Track::Tool, 1, 1_502, 3_100, "echo two")]
    );
}

#[test]
fn a_lane_is_used_again_when_it_is_free() {
    let times = [1, 2, 3, 1_004, 2_005, 2_005, 3_006, 3_007, 3_008];
    let timeline = timeline("codex", "codex/parallel.ndjson", &times);
    let tools: Vec<_> = spans(&timeline).into_iter().filter(|span| span.0 == Track::Tool).collect();
    assert_eq!(
        tools,
        [(Track::Tool, 0, 1_004, 2_005, "echo two"), (Track::Tool, 0, 2_005, 3_006, "echo one")]
    );
}

#[test]
fn every_recording_has_a_timeline_that_holds_together() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut seen = 0;
    for folder in std::fs::read_dir(fixtures).unwrap().flatten() {
        let dialect = folder.file_name().to_string_lossy().into_owned();
        if stablehand_core::Dialect::by_name(&dialect).is_none() {
            continue;
        }
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            // The last line of one is torn on purpose, and would be no record.
            if !name.ends_with(".ndjson") || name.starts_with("torn") {
                continue;
            }
            let path = format!("{dialect}/{name}");
            let lines = i64::try_from(recording(&path).lines().count()).unwrap();
            if lines == 0 {
                continue;
            }
            let times: Vec<i64> = (1..=lines).map(|line| 700 * line).collect();
            let timeline = timeline(&dialect, &path, &times);
            assert_holds_together(&timeline, &path);
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

fn assert_holds_together(timeline: &Timeline, path: &str) {
    assert!(timeline.spans.windows(2).all(|pair| pair[0].lane <= pair[1].lane), "{path}");
    for (number, lane) in timeline.lanes.iter().enumerate() {
        let here: Vec<_> = timeline.spans.iter().filter(|span| span.lane == number).collect();
        assert!(!here.is_empty(), "{path}: an empty lane {lane:?}");
        for span in &here {
            assert!(span.start_ms <= span.end_ms && span.end_ms <= timeline.length_ms, "{path}");
        }
        for pair in here.windows(2) {
            assert!(pair[0].end_ms <= pair[1].start_ms, "{path}: {:?} over {:?}", pair[0], pair[1]);
        }
    }
}
