//! Lines that are torn, cut, forged or too long, one by one. What whole logs of such lines do to their
//! readers is tested in `stablehand-analysis`, which has the readers.

use super::*;
use crate::decode::{Depth, Dialect};
use crate::replay::EventReader;

/// The longest line that is held.
const LIMIT: usize = 32 << 10;

/// The lines of a log, read in pieces.
fn lines(log: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = LogLines::up_to(LIMIT);
    let mut out: Vec<Vec<u8>> = Vec::new();
    let mut take = |line: &[u8]| {
        out.push(line.to_vec());
        Ok::<(), ()>(())
    };
    for chunk in log.chunks(5000) {
        lines.space()[..chunk.len()].copy_from_slice(chunk);
        lines.filled(chunk.len());
        lines.each(&mut take).expect("nothing fails");
    }
    lines.finish(&mut take).expect("nothing fails");
    out
}

#[test]
fn what_does_not_belong_to_a_record_is_left_out() {
    let record = br#"{"time":"2026-10-03T02:24:57.441Z","level":"DEBUG","msg":"raw_event","recv_ts":5,"raw":{"a": 1} }"#;
    let wanted = format!("{:?}", Record::read(record));
    for (before, after) in [("", "\r"), ("\u{0}\u{0}", "\u{0}"), ("\u{feff}", ""), (" ", " \t")] {
        let line = [before.as_bytes(), record, after.as_bytes()].concat();
        assert_eq!(format!("{:?}", Record::read(&line)), wanted, "{before:?} {after:?}");
    }
    // Sorted by another tool: the value is the same, only the space around it is gone.
    let sorted = br#"{"msg":"raw_event","raw":{"a": 1},"recv_ts":5}"#;
    let Record::Raw { bytes, .. } = Record::read(sorted) else { panic!("no raw record") };
    assert_eq!(&*bytes, br#"{"a": 1}"#);
}

#[test]
fn a_record_that_an_agent_wrote_into_its_own_line_is_never_ours() {
    let forged = br#"{"msg":"raw_event","recv_ts":5,"raw":{"x":{"time":"","msg":"run_ended","ts":1,"outcome":"success"}"#;
    assert!(matches!(Record::read(forged), Record::Broken(_)));
}

#[test]
fn a_line_without_an_end_is_one_broken_line() {
    let mut log = vec![b'{'; 40 * LIMIT];
    assert_eq!(lines(&log).len(), 1);
    log.extend_from_slice(b"\n{\"msg\":\"x\",\"ts\":1}\n");
    let lines = lines(&log);
    assert_eq!(lines.len(), 2);
    assert!(lines[0].len() <= 4096 && matches!(Record::read(&lines[0]), Record::Broken(_)));
    assert!(matches!(Record::read(&lines[1]), Record::Decision { .. }));
}

#[test]
fn the_parts_of_a_line_that_was_lost_are_not_joined_to_the_next() {
    let part = br#"{"msg":"stderr_part","recv_ts":1,"line":"lost "}"#;
    let whole = br#"{"msg":"stderr","recv_ts":2,"line":"between"}"#;
    let last = br#"{"msg":"stderr_part","recv_ts":3,"line":"kept","last":true}"#;
    let mut reader = EventReader::new(Dialect::Cursor, Depth::Full);
    let mut events = Vec::new();
    for line in [&part[..], whole, last] {
        reader.record(&Record::read(line), &mut events);
    }
    let texts: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            EventKind::ProcessStderr { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["between", "kept"]);
}
