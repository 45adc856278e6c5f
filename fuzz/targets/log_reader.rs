//! Any bytes as a log: no reader panics, sequence numbers are dense, no line is held that is too long.
//! Any bytes between the records of a real log: every whole record is still read. Any bytes into a
//! log: they come back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stablehand_core::json;
use stablehand_core::ledger::Ledger;
use stablehand_core::post_mortem::{PostMortem, Which};
use stablehand_core::record::{LogLines, Record, Stamp, Stream, push_line};
use stablehand_core::replay::EventReader;
use stablehand_core::transcript::Transcript;
use stablehand_core::{Depth, Dialect, UnixMillis};
use stablehand_fuzz::{Cutting, split};

/// A log of a run that hung.
const REAL: &[u8] = include_bytes!("../seeds/log_reader/hang.jsonl");

/// Longer than any of its lines, and short enough for the fuzzer to write a longer one.
const LONGEST: usize = 8 << 10;

fuzz_target!(|input: &[u8]| {
    let (cutting, bytes) = Cutting::take(input);
    read_as_log(bytes);
    read_between_records(bytes, cutting);
    for stream in [Stream::Stdout, Stream::Stderr] {
        let log = write(bytes, cutting, stream);
        assert_eq!(read_back(&log, stream), bytes, "the log does not give the bytes back");
        read_as_log(&log);
    }
});

/// Whatever stands in a log, everybody who reads logs reads it to the end.
fn read_as_log(log: &[u8]) {
    let mut reader = EventReader::new(Dialect::Cursor, Depth::Full);
    let (mut ledger, mut transcript) = (Ledger::default(), Transcript::default());
    let mut post_mortem = PostMortem::of(Which::Troubled);
    let (mut events, mut seq) = (Vec::new(), 0);
    for line in lines_of(log) {
        let record = Record::read(&line);
        reader.record(&record, &mut events);
        for event in events.drain(..) {
            seq += 1;
            assert_eq!(event.seq.0, seq, "a sequence number is missing");
            transcript.push(&event.event);
        }
        ledger.record(&record);
        post_mortem.record(&record);
        // Whoever adds a reader of logs (a fold over records or events) adds it here.
    }
    if let Some(report) = post_mortem.report() {
        let text = serde_json::to_string(&report).expect("a report is JSON");
        // All that it quotes is cut short, however long the log is.
        assert!(text.len() < 200_000, "a report of {} bytes", text.len());
    }
}

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
    read_as_log(&log);
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
