//! What goes in comes out, byte for byte, and every record is JSON.

mod damage;

use super::*;
use crate::event::{EventKind, Health};
use crate::json;
use crate::line::{Line, LineSplitter, Part};
use crate::time::UnixMillis;
use proptest::prelude::*;

/// Writes a stream to records and reads it back.
fn round_trip(input: &[u8], stream: Stream, whole: usize, part: usize) -> (Vec<u8>, Vec<u8>) {
    let mut splitter = LineSplitter::new(whole, part);
    let stamp = Stamp::new(UnixMillis(1_790_994_297_441));
    let mut log = Vec::new();
    let mut put =
        |line: &Line<'_>| push_line(&mut log, &stamp, stream, line, &json::scan(line.bytes));
    for chunk in input.chunks(1000) {
        splitter.space()[..chunk.len()].copy_from_slice(chunk);
        splitter.filled(chunk.len());
        while let Some(line) = splitter.next() {
            put(&line);
        }
    }
    while let Some(line) = splitter.finish() {
        put(&line);
    }
    let mut back = Vec::new();
    for line in log.split_inclusive(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\n").expect("each record ends its line");
        serde_json::from_slice::<serde::de::IgnoredAny>(line).expect("each record is JSON");
        match Record::read(line) {
            Record::Raw { bytes, newline, at, stream: s, .. } => {
                assert_eq!((at.0, s), (1_790_994_297_441, stream));
                // The short way says the same, or nothing.
                if let Some(short) = verbatim(line) {
                    assert_eq!((short, stream), ((&*bytes, newline), Stream::Stdout));
                }
                back.extend_from_slice(&bytes);
                if newline {
                    back.push(b'\n');
                }
            }
            other => panic!("{other:?}"),
        }
    }
    (back, log)
}

#[test]
fn json_lines_stand_in_the_log_as_they_are() {
    let (back, log) = round_trip(b"{\"a\": 1.10}\n", Stream::Stdout, 1000, 100);
    assert_eq!(back, b"{\"a\": 1.10}\n");
    assert_eq!(
        String::from_utf8(log).unwrap(),
        "{\"time\":\"2026-10-03T02:24:57.441Z\",\"level\":\"DEBUG\",\"msg\":\"raw_event\",\
         \"recv_ts\":1790994297441,\"raw\":{\"a\": 1.10}}\n"
    );
    let (_, log) = round_trip(b"{\"a\": 1.10} ", Stream::Stdout, 1000, 100);
    assert_eq!(verbatim(log.trim_ascii_end()), Some((&b"{\"a\": 1.10} "[..], false)));
}

#[test]
fn awkward_lines_survive() {
    let deep = format!("{}{}\n", "[".repeat(99), "]".repeat(99));
    for input in [
        &b""[..],
        b"\n",
        b"\n\n\n",
        b"T: noise\n",
        b"{\"a\":1}\r\n",
        b"  {\"a\":1}  \n",
        b"\xff\xfe\n",
        b"a\0b\n",
        b"{\"a\":1}",
        b"torn {",
        b"12\n\"s\"\n",
        b"{\"raw\":{\"raw\":1}}\n",
        b"{\"a\":\"\xff\"}",
        deep.as_bytes(),
        b"\xef\xbb\xbf{}\n",
        b"{\"msg\":\"raw_event\",\"raw\":1}\n",
        b"\t\n",
        b"{}\x0c\n",
    ] {
        for stream in [Stream::Stdout, Stream::Stderr] {
            assert_eq!(round_trip(input, stream, 1000, 100).0, input, "{input:?}");
        }
    }
}

#[test]
fn long_text_is_cut_into_records_of_bounded_size() {
    let input = "é\u{1}".repeat(400_000);
    let (back, log) = round_trip(input.as_bytes(), Stream::Stdout, 4 << 20, 64 << 10);
    assert_eq!(back, input.as_bytes());
    assert!(log.split(|b| *b == b'\n').all(|record| record.len() < 8 * TEXT_PART));
}

#[test]
fn decisions_carry_their_fields_and_their_event() {
    let mut out = Vec::new();
    let stamp = Stamp::new(UnixMillis(5));
    let event = EventKind::HealthChanged {
        from: Health::Starting,
        to: Health::Working,
        why: "it spoke".into(),
        evidence: None,
    };
    let verdict = VerdictReached {
        idle_silence_ms: Some(7),
        text: "a\nb".into(),
        ..VerdictReached::default()
    };
    let record = DecisionRecord::HangDetected(verdict.clone());
    push_decision(&mut out, &stamp, &record, Some(&event));
    push_decision(&mut out, &stamp, &DecisionRecord::WitnessAsked(NoFields {}), None);
    let mut lines = out.split(|b| *b == b'\n');
    let first = lines.next().unwrap();
    assert!(first.starts_with(
        br#"{"time":"1970-01-01T00:00:00.005Z","level":"ERROR","msg":"hang_detected","#
    ));
    let Record::Decision(decision) = Record::read(first) else { panic!() };
    assert_eq!(decision.event(), Some(event));
    assert_eq!((decision.at().0, decision.name()), (5, "hang_detected"));
    let Some(DecisionRecord::HangDetected(read)) = decision.record() else { panic!() };
    assert_eq!(*read, verdict);
    let second =
        br#"{"time":"1970-01-01T00:00:00.005Z","level":"DEBUG","msg":"witness_asked","ts":5}"#;
    assert_eq!(lines.next(), Some(&second[..]));
}

#[test]
fn a_line_of_a_client_is_written_without_a_copy_as_with_one() {
    let stamp = Stamp::new(UnixMillis(5));
    let parts = [Part::Whole, Part::First, Part::Middle, Part::Last];
    for bytes in [&b"{\"a\": 1.10}"[..], b"null", b"no JSON", b"\xff", b""] {
        for (part, newline) in parts.into_iter().flat_map(|part| [(part, true), (part, false)]) {
            let (mut short, mut long) = (Vec::new(), Vec::new());
            let line = ClientLine::of(&Line { bytes, offset: 0, part, newline });
            push_client_line(&mut short, &stamp, &line);
            let Record::Decision(read) = Record::read(short.trim_ascii_end()) else { panic!() };
            push_decision(&mut long, &stamp, read.record().unwrap(), None);
            assert_eq!(String::from_utf8(short), String::from_utf8(long));
        }
    }
}

#[test]
fn foreign_and_broken_lines_are_told_apart() {
    assert!(matches!(Record::read(b"{\"x\":1}"), Record::Foreign(_)));
    assert!(matches!(Record::read(b"12"), Record::Foreign(_)));
    assert!(matches!(Record::read(b"{\"time\":\"2026"), Record::Broken(_)));
    assert!(matches!(Record::read(b"\xff"), Record::Broken(_)));
    assert!(matches!(Record::read(br#"{"msg":"raw_event"}"#), Record::Foreign(_)));
    assert!(matches!(Record::read(br#"{"msg":"raw_event","raw_b64":"!"}"#), Record::Foreign(_)));
}

proptest! {
    #[test]
    fn any_bytes_come_back(
        input in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'"'), Just(b'{')], 0..400),
        whole in 8usize..64,
    ) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            prop_assert_eq!(round_trip(&input, stream, whole, 8).0, input.clone());
        }
    }

    #[test]
    fn a_log_cut_anywhere_gives_a_prefix(at in 0usize..400) {
        let (_, log) = round_trip(b"{\"a\":1}\nnoise\n{\"b\":\"\xc3\xa9\"}\n", Stream::Stdout, 100, 10);
        let cut = &log[..at.min(log.len())];
        let whole: Vec<_> = cut.split_inclusive(|b| *b == b'\n').filter(|l| l.ends_with(b"\n")).collect();
        for line in whole {
            let is_raw = matches!(Record::read(&line[..line.len() - 1]), Record::Raw { .. });
            prop_assert!(is_raw);
        }
    }
}
