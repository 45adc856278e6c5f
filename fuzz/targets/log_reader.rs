//! Any bytes as a log: no reader panics, and what `everybody` states of each of them holds; no line is
//! held that is too long. Any bytes between the records of a real log: every whole record is still read,
//! and where the bytes are no records, everybody shows the same as without them. Any bytes into a log:
//! they come back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stablehand_core::UnixMillis;
use stablehand_core::json;
use stablehand_core::record::{LogLines, Record, Stamp, Stream, push_line};
use stablehand_fuzz::{Cutting, split};
use std::sync::OnceLock;

/// The readers, as the property test of the analyses has them.
#[path = "../../crates/stablehand-analysis/tests/it/everybody.rs"]
mod everybody;

use everybody::{Shown, is_record, read_by_everybody};

/// A log of a run that hung.
const REAL: &[u8] = include_bytes!("../seeds/log_reader/hang.jsonl");

/// Longer than any of its lines, and short enough for the fuzzer to write a longer one.
const LONGEST: usize = 8 << 10;

fuzz_target!(|input: &[u8]| {
    let (cutting, bytes) = Cutting::take(input);
    read_by_everybody(&lines_of(bytes));
    read_between_records(bytes, cutting);
    for stream in [Stream::Stdout, Stream::Stderr] {
        let log = write(bytes, cutting, stream);
        assert_eq!(read_back(&log, stream), bytes, "the log does not give the bytes back");
        if stream == Stream::Stdout {
            read_by_everybody(&lines_of(&log));
        }
    }
});

/// The lines of a log as the program reads them.
fn lines_of(log: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = LogLines::up_to(LONGEST);
    let mut out: Vec<Vec<u8>> = Vec::new();
    let mut take = |line: &[u8]| {
        assert!(line.len() <= LONGEST, "a line of {} bytes was held", line.len());
        out.push(line.to_vec());
        Ok::<(), ()>(())
    };
    for chunk in log.chunks(4096) {
        lines.space()[..chunk.len()].copy_from_slice(chunk);
        lines.filled(chunk.len());
        let _never_fails = lines.each(&mut take);
    }
    let _never_fails = lines.finish(&mut take);
    out
}

/// The bytes are put between two records of a real log, on lines of their own.
fn read_between_records(bytes: &[u8], cutting: Cutting) {
    let records: Vec<&[u8]> =
        REAL.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()).collect();
    let at = usize::from(cutting.chunks) % records.len();
    let (before, after) = records.split_at(at);
    let middle = [bytes];
    let log = [before, &middle, after].concat().join(&b'\n');
    let lines = lines_of(&log);
    let mut rest = lines.iter();
    for record in &records {
        assert!(rest.any(|line| line == record), "a record was lost after {at}");
    }
    let shown = read_by_everybody(&lines);
    if lines_of(bytes).iter().all(|line| !is_record(line)) {
        static WHOLE: OnceLock<Shown> = OnceLock::new();
        let whole = WHOLE.get_or_init(|| read_by_everybody(&lines_of(REAL)));
        for (whole, shown) in whole.iter().zip(&shown) {
            assert_eq!(whole, shown, "what is no record changes what is shown");
        }
    }
}

fn write(bytes: &[u8], cutting: Cutting, stream: Stream) -> Vec<u8> {
    let stamp = Stamp::new(UnixMillis(1_790_994_297_441));
    let mut log = Vec::new();
    for line in split(bytes, cutting).0 {
        push_line(&mut log, &stamp, stream, &line.line(), &json::scan(&line.bytes));
    }
    log
}

fn read_back(log: &[u8], expected: Stream) -> Vec<u8> {
    let mut back = Vec::new();
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").expect("a record without its newline");
        serde_json::from_slice::<serde::de::IgnoredAny>(line).expect("a record that is not JSON");
        let Record::Raw { stream, bytes, newline, .. } = Record::read(line) else {
            panic!("a raw record was not read as one");
        };
        assert_eq!(stream, expected);
        back.extend_from_slice(&bytes);
        if newline {
            back.push(b'\n');
        }
    }
    back
}
