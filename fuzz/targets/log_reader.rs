//! Any bytes as a log: no panic, dense sequence numbers. Any bytes into a log: they come back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stablehand_core::json;
use stablehand_core::record::{Record, Stamp, Stream, push_line};
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect, UnixMillis};
use stablehand_fuzz::{Cutting, split};

fuzz_target!(|input: &[u8]| {
    let (cutting, bytes) = Cutting::take(input);
    read_as_log(bytes);
    for stream in [Stream::Stdout, Stream::Stderr] {
        let log = write(bytes, cutting, stream);
        assert_eq!(read_back(&log, stream), bytes, "the log does not give the bytes back");
        read_as_log(&log);
    }
});

/// Whatever stands in a log, reading it goes through to the end.
fn read_as_log(log: &[u8]) {
    let mut reader = EventReader::new(Dialect::Cursor, Depth::Full);
    let mut events = Vec::new();
    for line in log.split(|byte| *byte == b'\n') {
        reader.record(&Record::read(line), &mut events);
    }
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event.seq.0, index as u64 + 1, "a sequence number is missing");
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
