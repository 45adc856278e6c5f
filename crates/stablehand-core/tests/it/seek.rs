//! A reader whose state is saved and restored anywhere in a log gives the events of one that was not.

use proptest::prelude::*;
use serde_json::Value;
use stablehand_core::record::{self, DecisionKind, Record, Stamp, Stream};
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect, LineSplitter, UnixMillis, json};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Lines from this length on are written in parts.
const WHOLE: usize = 2 << 10;
const PART: usize = 512;

/// The records of one log.
type Records = Vec<Vec<u8>>;

#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests read recordings")]
fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|it| it == end));
    found.sort();
    found
}

/// The first record of a log.
const OPENED: DecisionKind = DecisionKind::LogOpened;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// A run of an agent that writes this: the records of its log.
fn run_of(dialect: Dialect, number: usize, recording: &[u8]) -> Records {
    let decision = |msg: &str, fields: &str| format!(r#"{{"msg":"{msg}","ts":1,{fields}}}"#);
    let mut log = vec![
        decision(OPENED.name(), &format!(r#""v":2,"dialect":"{}""#, dialect.name())).into_bytes(),
        decision(
            "turn_started",
            r#""turn":"01a1eaf3-3b1e-73bd-b14d-1564984ffb37","event":{"type":"turn.started"}"#,
        )
        .into_bytes(),
        decision(
            "agent_spawned",
            &format!(
                r#""run":"r{number}","recorded":["turns","approvals"],"event":{{"type":"process.spawned","pid":1,"argv":[]}}"#
            ),
        )
        .into_bytes(),
        decision("prompt_given", r#""text":"go on""#).into_bytes(),
    ];
    for line in recording.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        // Traffic in both directions: what the client said is a decision, the rest is the agent's.
        let traffic: Option<Value> = serde_json::from_slice(line).ok();
        match traffic.filter(|it| it.get("dir").is_some()) {
            Some(said) if said["dir"] == "a2c" => {
                push(&mut log, said["msg"].to_string().as_bytes());
            }
            Some(said) => {
                log.push(
                    decision("client_said", &format!(r#""line":{}"#, said["msg"])).into_bytes(),
                );
            }
            None => push(&mut log, line),
        }
    }
    log.push(decision("agent_exited", r#""exit_code":0"#).into_bytes());
    log
}

/// Appends the records of a line that the agent wrote.
fn push(log: &mut Records, line: &[u8]) {
    let mut splitter = LineSplitter::new(WHOLE, PART);
    let stamp = Stamp::new(UnixMillis(1_000));
    let mut written = Vec::new();
    let bytes: Vec<u8> = line.iter().copied().chain(*b"\n").collect();
    for chunk in bytes.chunks(256) {
        splitter.space()[..chunk.len()].copy_from_slice(chunk);
        splitter.filled(chunk.len());
        while let Some(line) = splitter.next() {
            let scan = json::scan(line.bytes);
            record::push_line(&mut written, &stamp, Stream::Stdout, &line, &scan);
        }
    }
    log.extend(
        written.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()).map(<[u8]>::to_vec),
    );
}

/// Every recording of every dialect as a log, and the logs of whole sessions.
static LOGS: LazyLock<Vec<(String, Records)>> = LazyLock::new(|| {
    let mut logs = Vec::new();
    for dialect in Dialect::ALL {
        for path in files(&fixtures().join(dialect.name()), "ndjson") {
            logs.push((path.display().to_string(), run_of(*dialect, 1, &read(&path))));
        }
    }
    for path in files(&fixtures().join("logs"), "jsonl") {
        let lines = read(&path);
        let records = lines.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        logs.push((path.display().to_string(), records));
    }
    logs
});

/// The events of a log as JSON; the reader is replaced by a restored one before each record that
/// `is_cut`. Returns how often that was done.
fn events<'r>(
    records: impl IntoIterator<Item = &'r Vec<u8>>,
    is_cut: impl Fn(usize) -> bool,
) -> (Vec<String>, usize) {
    let mut reader = EventReader::new(Dialect::DEFAULT, Depth::Full);
    let (mut out, mut cuts) = (Vec::new(), 0);
    for (at, record) in records.into_iter().enumerate() {
        if is_cut(at)
            && let Some(state) = reader.save()
        {
            reader = EventReader::restore(&state, Depth::Full).unwrap();
            assert_eq!(
                reader.save().unwrap().get(),
                state.get(),
                "a state is read as it was written"
            );
            cuts += 1;
        }
        reader.record(&Record::read(record), &mut out);
    }
    (out.iter().map(|event| serde_json::to_string(event).unwrap()).collect(), cuts)
}

#[test]
fn a_reader_can_be_restored_before_every_record_of_every_recording() {
    let mut seen = Vec::new();
    for (name, records) in LOGS.iter() {
        let (whole, _) = events(records, |_| false);
        let (cut, cuts) = events(records, |_| true);
        assert_eq!(cut, whole, "{name}");
        let in_parts =
            records.iter().filter(|it| it.windows(8).any(|it| it == b"raw_part")).count();
        assert!(cuts + in_parts >= records.len(), "{name}: {cuts} of {}", records.len());
        seen.push(name);
    }
    for dialect in Dialect::ALL.iter().filter(|it| **it != Dialect::Terminal) {
        let folder = fixtures().join(dialect.name()).display().to_string() + "/";
        assert!(seen.iter().any(|name| name.starts_with(&folder)), "no recording in {folder}");
    }
}

#[test]
fn a_terminal_has_no_state_to_be_saved() {
    let mut reader = EventReader::new(Dialect::Terminal, Depth::Full);
    assert!(reader.save().is_none());
    let header = format!(r#"{{"msg":"{}","v":2,"dialect":"claude"}}"#, OPENED.name());
    reader.record(&Record::read(header.as_bytes()), &mut Vec::new());
    assert!(reader.save().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn several_runs_and_damage_are_cut_anywhere(
        runs in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        lost in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        torn in any::<prop::sample::Index>(),
    ) {
        let mut records: Records = Vec::new();
        for run in &runs {
            records.extend_from_slice(&run.get(&LOGS).1);
        }
        for lost in lost {
            records.remove(lost.index(records.len()));
        }
        let torn = torn.index(records.len());
        let half = records[torn].len() / 2;
        records[torn].truncate(half);
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(records.len())).collect();
        let (whole, _) = events(&records, |_| false);
        let (cut, _) = events(&records, |at| cuts.contains(&at));
        prop_assert_eq!(cut, whole);
    }
}
