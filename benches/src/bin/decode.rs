//! `benches/decode`: how fast core's decoders make events of lines, the scan included, against
//! `serde_json::Value` of the same lines in the same rounds. Every dialect has a row.

use stablehand_benches::corpus::Corpus;
use stablehand_benches::options::Options;
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::{median, ratios, spread};
use stablehand_benches::stream::Shape;
use stablehand_benches::{Outcome, proc};
use stablehand_core::json::Memo;
use stablehand_core::{Depth, Line, Part, json};
use std::hint::black_box;
use std::time::Duration;

/// How many times as fast as `serde_json::Value` making events has to be.
const WANTED: f64 = 2.0;

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--rounds", "--mb", "--only"])?;
    let rounds = options.number("--rounds", 9)?;
    let bytes = options.number("--mb", 4)? * 1_000_000;
    let mut all: Vec<Corpus> = [Shape::Mix, Shape::Small, Shape::Outputs]
        .into_iter()
        .map(|shape| Corpus::generated(shape, bytes))
        .collect();
    all.extend(Corpus::recorded(bytes)?);
    if let Some(name) = options.text("--only")? {
        all.retain(|corpus| corpus.name.starts_with(name));
    }
    say(format!(
        "{rounds} interleaved rounds of {} MB or more each, load {}; processor time, medians",
        bytes / 1_000_000,
        proc::load()
    ))?;
    let mut table = Table::new(&[
        "lines",
        "bytes/line",
        "Value MB/s",
        "Full MB/s",
        "µs/line",
        "Skim MB/s",
        "µs/line",
        "scan MB/s",
        "Full vs Value",
        "Skim vs Value",
        "",
    ]);
    let mut goals = Goals::default();
    for corpus in &all {
        let streams = corpus.streams();
        let lines = streams.iter().map(Vec::len).sum::<usize>() as f64;
        let megabytes =
            streams.iter().flatten().map(|line| line.len() + 1).sum::<usize>() as f64 / 1e6;
        let mut seconds: [Vec<f64>; 4] = Default::default();
        for _ in 0..rounds {
            let [value, full, skim, scan] = &mut seconds;
            value.push(timed(|| values(&streams))?);
            full.push(timed(|| Ok(decoded(corpus, &streams, Depth::Full)))?);
            skim.push(timed(|| Ok(decoded(corpus, &streams, Depth::Skim)))?);
            scan.push(timed(|| Ok(scanned(&streams)))?);
        }
        let [value, full, skim, scan] = &seconds;
        let rate = |taken: &[f64]| format!("{:.0}", megabytes / median(taken));
        let each = |taken: &[f64]| format!("{:.2}", median(taken) * 1e6 / lines);
        let faster = ratios(value, full);
        let verdict = if median(&faster) >= WANTED { "ok" } else { "MISSED" };
        table.row([
            corpus.name.clone(),
            format!("{:.0}", megabytes * 1e6 / lines),
            rate(value),
            rate(full),
            each(full),
            rate(skim),
            each(skim),
            rate(scan),
            spread(&faster),
            format!("{:.2}", median(&ratios(value, skim))),
            verdict.to_owned(),
        ]);
        goals.at_least(&format!("decode, {}", corpus.name), median(&faster), WANTED, "x");
    }
    table.print()?;
    goals.print()
}

/// Seconds of processor time: other processes on the machine do not count.
fn timed(work: impl FnOnce() -> Outcome<usize>) -> Outcome<f64> {
    let before = proc::own_cpu()?;
    black_box(work()?);
    let taken: Duration = proc::own_cpu()?.saturating_sub(before);
    Ok(taken.as_secs_f64())
}

fn values(streams: &[Vec<&[u8]>]) -> Outcome<usize> {
    for line in streams.iter().flatten() {
        black_box(serde_json::from_slice::<serde_json::Value>(black_box(line))?);
    }
    Ok(streams.len())
}

fn scanned(streams: &[Vec<&[u8]>]) -> usize {
    for line in streams.iter().flatten() {
        black_box(json::scan(black_box(line)));
    }
    streams.len()
}

/// Each stream with a decoder of its own, as each run has.
fn decoded(corpus: &Corpus, streams: &[Vec<&[u8]>], depth: Depth) -> usize {
    let (mut events, mut count) = (Vec::new(), 0);
    for stream in streams {
        let (mut decoder, mut memo, mut offset) = (corpus.dialect.decoder(), Memo::default(), 0);
        for bytes in stream {
            let line = Line { bytes, offset, part: Part::Whole, newline: true };
            offset += bytes.len() as u64 + 1;
            decoder.line(&line, &memo.scan(bytes), depth, &mut events);
            count += events.len();
            black_box(&events);
            events.clear();
        }
        decoder.finish(depth, &mut events);
        count += events.len();
        black_box(&events);
        events.clear();
    }
    count
}
