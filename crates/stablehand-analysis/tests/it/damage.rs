//! A log that was torn, cut, flipped, mixed with other text or written by a newer program: every whole
//! record is still read, by every reader, and none of them gives up.

use super::everybody::{self, read_by_everybody};
use proptest::prelude::*;
use stablehand_core::record::{LogLines, Record};

/// A log of a run that hung.
const REAL: &[u8] = include_bytes!("../../../../fuzz/seeds/log_reader/hang.jsonl");

/// Logs of other runs, each for what the others do not have.
const SEEDS: &[&[u8]] = &[
    REAL,
    include_bytes!("../../../../fuzz/seeds/log_reader/again.jsonl"),
    include_bytes!("../../../../fuzz/seeds/log_reader/approval.jsonl"),
    include_bytes!("../../../../fuzz/seeds/log_reader/error.jsonl"),
    include_bytes!("../../../../fuzz/seeds/log_reader/hooks.jsonl"),
    include_bytes!("../../../../fuzz/seeds/log_reader/observed.jsonl"),
    include_bytes!("../../../../fuzz/seeds/log_reader/terminal.jsonl"),
    include_bytes!("../../../../fuzz/seeds/log_reader/tool.jsonl"),
];

/// Lines that are no records, or records of another time and another program.
const INTRUDERS: &[&str] = &[
    "",
    "17",
    "null",
    "not a record",
    "{}",
    "{\"msg\":5}",
    "{\"msg\":\"raw_event\"}",
    "{\"msg\":\"raw_event\",\"recv_ts\":\"x\",\"raw_b64\":\"!\"}",
    "{\"msg\":\"raw_part\",\"recv_ts\":5,\"raw_text\":\"a part without an end\"}",
    "{\"msg\":\"stderr_part\",\"recv_ts\":5,\"line\":\"likewise\"}",
    "{\"msg\":\"log_opened\",\"ts\":1,\"v\":2,\"dialect\":\"of the future\"}",
    "{\"msg\":\"something_new\",\"ts\":-9223372036854775808,\"what\":[{}]}",
    "{\"msg\":\"hang_detected\",\"ts\":9223372036854775807,\"event\":{\"type\":\"health.changed\"}}",
    "{\"msg\":\"run_ended\",\"outcome\":\"trampled\",\"verdict\":17}",
    "{\"time\":\"2026-10-03T02:24:57.441Z\",\"level\":\"DEBUG\",\"msg\":\"raw_ev",
    "\u{0}\u{0}\u{0}\u{0}",
];

/// What befalls one line.
#[derive(Clone, Debug)]
enum Blow {
    None,
    Intruder(usize),
    Giant,
    Cut(usize),
    /// The newline is lost as well, and the next line with it.
    Torn(usize),
    Flip(usize, u8),
    CarriageReturn,
    Zeros(usize),
    Twice,
}

fn any_blow() -> impl Strategy<Value = Blow> {
    prop_oneof![
        6 => Just(Blow::None),
        2 => (0..INTRUDERS.len()).prop_map(Blow::Intruder),
        1 => Just(Blow::Giant),
        1 => any::<usize>().prop_map(Blow::Cut),
        1 => any::<usize>().prop_map(Blow::Torn),
        1 => (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Blow::Flip(at, byte)),
        1 => Just(Blow::CarriageReturn),
        1 => (1usize..600).prop_map(Blow::Zeros),
        1 => Just(Blow::Twice),
    ]
}

/// The damaged log, and the lines that must still be read, in order.
fn damaged(real: &'static [u8], blows: &[Blow]) -> (Vec<u8>, Vec<&'static [u8]>) {
    let lines = real.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let (mut log, mut whole) = (Vec::new(), Vec::new());
    let mut spoiled = false;
    for (line, blow) in lines.zip(blows.iter().cycle()) {
        let was_spoiled = std::mem::take(&mut spoiled);
        let mut survives = !was_spoiled;
        let place = |at: usize| at % line.len();
        match blow {
            Blow::None => log.extend_from_slice(line),
            Blow::Intruder(which) => {
                log.extend_from_slice(INTRUDERS[*which].as_bytes());
                log.push(b'\n');
                log.extend_from_slice(line);
            }
            Blow::Giant => {
                log.resize(log.len() + 3 * LIMIT, b'x');
                log.push(b'\n');
                log.extend_from_slice(line);
            }
            Blow::Cut(at) => {
                log.extend_from_slice(&line[..place(*at)]);
                survives = false;
            }
            Blow::Torn(at) => {
                log.extend_from_slice(&line[..place(*at)]);
                (survives, spoiled) = (false, true);
            }
            Blow::Flip(at, byte) => {
                log.extend_from_slice(line);
                let at = log.len() - line.len() + place(*at);
                log[at] = *byte;
                survives = false;
            }
            Blow::CarriageReturn => {
                log.extend_from_slice(line);
                log.push(b'\r');
            }
            Blow::Zeros(count) => {
                log.resize(log.len() + count, 0);
                log.extend_from_slice(line);
            }
            Blow::Twice => {
                log.extend_from_slice(line);
                log.push(b'\n');
                log.extend_from_slice(line);
            }
        }
        if !spoiled {
            log.push(b'\n');
        }
        if survives {
            whole.push(line);
        }
    }
    (log, whole)
}

/// Longer than any line of the real log.
const LIMIT: usize = 32 << 10;

/// The lines of a log, read in pieces of that size.
fn lines(log: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let mut lines = LogLines::up_to(LIMIT);
    let mut out: Vec<Vec<u8>> = Vec::new();
    let mut take = |line: &[u8]| {
        out.push(line.to_vec());
        Ok::<(), ()>(())
    };
    for chunk in log.chunks(piece) {
        lines.space()[..chunk.len()].copy_from_slice(chunk);
        lines.filled(chunk.len());
        lines.each(&mut take).expect("nothing fails");
    }
    lines.finish(&mut take).expect("nothing fails");
    out
}

/// All that a record says, comparable.
fn said(record: &Record<'_>) -> Option<String> {
    match record {
        Record::Decision(decision) => {
            let members: Vec<_> = decision.fields().members().map(|(k, v)| (k, v.raw())).collect();
            Some(format!("{:?} {} {members:?}", decision.at(), decision.name()))
        }
        Record::Raw { .. } => Some(format!("{record:?}")),
        Record::Foreign(_) | Record::Broken(_) => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 96 } else { 400 }))]

    #[test]
    fn every_whole_record_is_read_whatever_befell_its_neighbours(
        blows in proptest::collection::vec(any_blow(), 1..12),
        piece in 1usize..9000,
        which in 0..SEEDS.len(),
    ) {
        let (log, whole) = damaged(SEEDS[which], &blows);
        let lines = lines(&log, piece);
        let told: Vec<String> = lines.iter().filter_map(|line| said(&Record::read(line))).collect();
        let mut rest = told.iter();
        for line in whole {
            let wanted = said(&Record::read(line)).expect("a record of a real log");
            prop_assert!(rest.any(|found| *found == wanted), "lost: {wanted}");
        }
        read_by_everybody(&lines);
    }
}

/// What stands between records, in any number: none of it is one.
fn any_noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => (0..INTRUDERS.len()).prop_map(|which| INTRUDERS[which].as_bytes().to_vec()),
        1 => (0usize..40_000).prop_map(|zeros| vec![0; zeros]),
        1 => Just(vec![b'['; 2 * LIMIT]),
        1 => any::<prop::sample::Index>().prop_map(|at| {
            let lines: Vec<&[u8]> = REAL.split(|byte| *byte == b'\n').collect();
            let line = at.get(&lines);
            line[..line.len().saturating_sub(1)].to_vec()
        }),
        2 => proptest::collection::vec(any::<u8>(), 0..60),
    ]
    .prop_filter("a record, or several lines", |noise| {
        !noise.contains(&b'\n') && !everybody::is_record(noise)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 400 }))]

    #[test]
    fn lines_that_are_no_records_change_nothing(
        noise in proptest::collection::vec((any::<prop::sample::Index>(), any_noise()), 0..8),
        which in 0..SEEDS.len(),
    ) {
        let whole: Vec<Vec<u8>> = lines(SEEDS[which], 9000);
        let mut spoiled = whole.clone();
        for (at, noise) in noise {
            // Not behind the last line: there it says that the log breaks off.
            spoiled.insert(at.index(spoiled.len()), noise);
        }
        let mut log = spoiled.join(&b'\n');
        log.push(b'\n');
        let (wanted, got) = (read_by_everybody(&whole), read_by_everybody(&lines(&log, 4096)));
        for (wanted, got) in wanted.into_iter().zip(got) {
            prop_assert_eq!(wanted, got);
        }
    }
}
