//! The rows of every recording: the same whenever they are asked for, and as many as the events say.

use stablehand_analysis::chronicle::{Chronicle, FileUse, Passage, Row};
use stablehand_core::decode::Dialect;
use stablehand_core::event::{EventKind, ItemBody};
use stablehand_core::json;
use stablehand_core::record::{LogOpened, Record, Stamp, Stream, decision_line, push_line};
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Line, Part, UnixMillis};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[expect(
    clippy::disallowed_methods,
    reason = "the analyses do no I/O; their tests read recordings"
)]
fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn recordings(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "ndjson"))
        .collect();
    found.sort();
    found
}

/// A log of a recording, a line every tenth of a second.
fn log_of(dialect: Dialect, recording: &[u8]) -> Vec<Vec<u8>> {
    let mut log = vec![
        decision_line(UnixMillis(1000), LogOpened::new(dialect)).into_bytes(),
        br#"{"msg":"agent_spawned","ts":1000,"run":"r1","agent":"a"}"#.to_vec(),
        br#"{"msg":"prompt_given","ts":1000,"text":"what the person asked"}"#.to_vec(),
    ];
    let mut at = 1000;
    for line in recording.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        at += 100;
        let line = Line { bytes: line, offset: 0, part: Part::Whole, newline: true };
        let mut record = Vec::new();
        let stamp = Stamp::new(UnixMillis(at));
        push_line(&mut record, &stamp, Stream::Stdout, &line, &json::scan(line.bytes));
        log.extend(record.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
    }
    log.retain(|line| !line.is_empty());
    log.push(
        format!(r#"{{"msg":"run_ended","ts":{at},"outcome":"success","exit_code":0}}"#)
            .into_bytes(),
    );
    log
}

/// What is left when every row replaced the one before it.
#[derive(Debug, Default, PartialEq)]
struct Kept {
    rows: BTreeMap<String, Row>,
    passages: Vec<Passage>,
}

fn keep(log: &[Vec<u8>], flush_each: bool) -> Kept {
    let mut chronicle = Chronicle::default();
    let mut rows = Vec::new();
    for line in log {
        chronicle.record(&Record::read(line), &mut rows);
        if flush_each {
            chronicle.flush(&mut rows);
        }
    }
    chronicle.flush(&mut rows);
    let mut kept = Kept::default();
    for row in rows {
        let key = match &row {
            Row::Run(it) => format!("run {}", it.run),
            Row::Turn(it) => format!("turn {} {}", it.run, it.turn),
            Row::Tool(it) => format!("tool {} {}", it.run, it.tool),
            Row::Question(it) => format!("question {}", it.question),
            Row::Verdict(it) => format!("verdict {} {}", it.run, it.verdict),
            Row::File(it) => format!("file {} {} {:?}", it.run, it.path, it.how),
            Row::Passage(it) => {
                assert_eq!(it.passage as usize, kept.passages.len(), "numbers are dense");
                kept.passages.push(it.clone());
                continue;
            }
        };
        kept.rows.insert(key, row);
    }
    kept
}

fn events(dialect: Dialect, log: &[Vec<u8>]) -> Vec<EventKind> {
    let mut reader = EventReader::new(dialect, Depth::Full);
    let mut events = Vec::new();
    for line in log {
        reader.record(&Record::read(line), &mut events);
    }
    events.into_iter().map(|event| event.event).collect()
}

#[test]
fn rows_of_every_recording_are_the_same_whenever_they_are_asked_for() {
    for dialect in Dialect::ALL.iter().copied().filter(|it| *it != Dialect::Terminal) {
        let found = recordings(dialect.name());
        assert!(!found.is_empty(), "{}", dialect.name());
        for path in found {
            let log = log_of(dialect, &read(&path));
            let kept = keep(&log, false);
            assert_eq!(kept, keep(&log, true), "{}", path.display());

            let events = events(dialect, &log);
            let Some(Row::Run(run)) = kept.rows.get("run 0") else { panic!("{}", path.display()) };
            assert_eq!(run.events as usize, events.len(), "{}", path.display());
            let mut calls: Vec<_> = events
                .iter()
                .filter_map(|event| match event {
                    EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } => {
                        matches!(item.body, ItemBody::Tool(_)).then_some(item.id)
                    }
                    _ => None,
                })
                .collect();
            calls.sort_unstable();
            calls.dedup();
            assert_eq!(run.tools as usize, calls.len(), "{}", path.display());
            // Everything that was said can be found.
            for event in &events {
                if let EventKind::ItemCompleted { item } = event
                    && let ItemBody::Message { text } | ItemBody::Reasoning { text } = &item.body
                    && !text.trim().is_empty()
                {
                    assert!(kept.passages.iter().any(|it| it.text == *text), "{text}");
                }
            }
            let span = run.ended.unwrap().since(run.started).as_millis() as u64;
            assert!(run.tool_ms + run.wait_ms + run.model_ms <= span, "{}", path.display());
        }
    }
}

fn row_of(lines: &[&str]) -> Kept {
    let mut log = vec![
        decision_line(UnixMillis(0), LogOpened::new(Dialect::Claude)).into_bytes(),
        br#"{"msg":"agent_spawned","ts":0,"run":"r1","agent":"claude","cwd":"/hay"}"#.to_vec(),
    ];
    log.extend(lines.iter().map(|line| line.as_bytes().to_vec()));
    keep(&log, true)
}

const WRITES: &str = r#"{"msg":"raw_event","recv_ts":1000,"raw":{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/hay/a.txt","content":"oats"}}]},"session_id":"s1"}}"#;
const WRITTEN: &str = r#"{"msg":"raw_event","recv_ts":3500,"raw":{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]},"session_id":"s1"}}"#;
const OVER: &str =
    r#"{"msg":"run_ended","ts":9000,"outcome":"hung","verdict":"idle_after_tool","exit_code":2}"#;

#[test]
fn time_goes_to_tools_and_to_the_model_and_files_are_remembered() {
    let kept = row_of(&[WRITES, WRITTEN, OVER]);
    let Some(Row::Run(run)) = kept.rows.get("run 0") else { panic!("{kept:?}") };
    assert_eq!((run.tool_ms, run.model_ms, run.silence_ms), (2500, 5500, 5500));
    assert_eq!((run.outcome.as_deref(), run.exit_code), (Some("hung"), Some(2)));
    let Some(Row::Tool(tool)) = kept.rows.get("tool 0 0") else { panic!("{kept:?}") };
    assert_eq!((tool.started.0, tool.ended.unwrap().0), (1000, 3500));
    assert_eq!(tool.outcome.as_deref(), Some("success"));
    let Some(Row::File(file)) = kept.rows.get("file 0 /hay/a.txt Edit") else { panic!("{kept:?}") };
    assert_eq!((file.how, file.times), (FileUse::Edit, 1));
}

#[test]
fn a_call_that_never_ended_is_interrupted() {
    let kept = row_of(&[WRITES, OVER]);
    let Some(Row::Tool(tool)) = kept.rows.get("tool 0 0") else { panic!("{kept:?}") };
    assert_eq!(tool.outcome.as_deref(), Some("interrupted"));
    let Some(Row::Run(run)) = kept.rows.get("run 0") else { panic!("{kept:?}") };
    assert_eq!(run.tools_failed, 1);
}

#[test]
fn a_verdict_that_was_only_written_down_is_a_false_alarm_when_the_agent_goes_on() {
    let verdict = r#"{"msg":"hang_detected","ts":2000,"verdict":"tool","idle_silence_ms":1000,"limit_ms":900,"text":"hang detected: it is slow"}"#;
    let spared = r#"{"msg":"would_have_killed","ts":2000,"verdict":"tool","text":"x"}"#;
    let of = |lines: &[&str]| match row_of(lines).rows.get("verdict 0 0") {
        Some(Row::Verdict(row)) => (row.observed_only, row.false_alarm),
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&[WRITES, verdict, OVER]), (false, None));
    assert_eq!(of(&[WRITES, verdict, spared, OVER]), (true, Some(false)));
    assert_eq!(of(&[WRITES, verdict, spared, WRITTEN, OVER]), (true, Some(true)));
}

#[test]
fn a_very_long_text_keeps_its_beginning_and_its_end() {
    let long = format!("first {} last", "é".repeat(600 << 10));
    let line = format!(
        r#"{{"msg":"raw_event","recv_ts":1000,"raw":{{"type":"assistant","message":{{"id":"m","role":"assistant","content":[{{"type":"text","text":"{long}"}}]}},"session_id":"s1"}}}}"#
    );
    let kept = row_of(&[&line, OVER]);
    let passage = kept.passages.iter().find(|it| it.text.starts_with("first")).unwrap();
    assert!(passage.text.len() < 600 << 10 && passage.text.ends_with(" last"));
}

#[test]
fn a_run_is_of_the_session_that_it_was_to_continue_until_it_names_one() {
    let spawned = r#"{"msg":"agent_spawned","ts":1000,"run":"r2","agent":"a","resumed_from":"s0"}"#;
    let chat = |more: &[&str]| {
        let kept = row_of(&[&[spawned], more].concat());
        let Some(Row::Run(run)) = kept.rows.get("run 1") else { panic!("no run") };
        run.chat().to_owned()
    };
    assert_eq!(chat(&[]), "s0");
    let failed = r#"{"msg":"run_ended","ts":1100,"outcome":"no_result","session_id":null}"#;
    assert_eq!(chat(&[failed]), "s0");
    // It went on as another.
    let named = r#"{"msg":"run_ended","ts":1100,"outcome":"success","session_id":"s1"}"#;
    assert_eq!(chat(&[named]), "s1");
}
