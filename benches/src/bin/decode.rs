//! `benches/decode`: lines a second of core's Cursor decoder, scan included, against
//! `serde_json::Value` of the same lines.

use stablehand_benches::options::Options;
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::{median, ratios, spread};
use stablehand_benches::stream::{Shape, Stream};
use stablehand_benches::{Outcome, proc};
use stablehand_core::{Depth, Dialect, Line, Part, json};
use std::hint::black_box;
use std::time::Duration;

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--rounds", "--mb"])?;
    let rounds = options.number("--rounds", 9)?;
    let megabytes = options.number("--mb", 20)?;
    let mut goals = Goals::default();
    for shape in [Shape::Mix, Shape::Small] {
        let stream = Stream::of_bytes(shape, megabytes * 1_000_000);
        let lines: Vec<&[u8]> =
            stream.bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()).collect();
        let mut seconds: [Vec<f64>; 4] = Default::default();
        for _ in 0..rounds {
            let [value, full, skim, scan] = &mut seconds;
            value.push(timed(|| values(&lines))?);
            full.push(timed(|| Ok(decoded(&lines, Depth::Full)))?);
            skim.push(timed(|| Ok(decoded(&lines, Depth::Skim)))?);
            scan.push(timed(|| Ok(scanned(&lines)))?);
        }
        let [value, full, skim, scan] = &seconds;
        say(format!(
            "{}, {:.0} MB, {} lines, {rounds} interleaved rounds, load {}; CPU time, medians",
            shape.name(),
            stream.megabytes(),
            lines.len(),
            proc::load()
        ))?;
        let mut table = Table::new(&["reader", "MB/s", "kev/s", "ns/event", "speed vs Value"]);
        for (name, taken) in [
            ("serde_json::Value", value),
            ("decoder, Full", full),
            ("decoder, Skim", skim),
            ("scan only", scan),
        ] {
            let one = median(taken);
            table.row([
                name.to_owned(),
                format!("{:.0}", stream.megabytes() / one),
                format!("{:.0}", lines.len() as f64 / one / 1e3),
                format!("{:.0}", one * 1e9 / lines.len() as f64),
                spread(&ratios(value, taken)),
            ]);
        }
        table.print()?;
        let faster = median(&ratios(value, full));
        goals.at_least(
            &format!("decode Full vs serde_json::Value, {}", shape.name()),
            faster,
            2.0,
            "x",
        );
    }
    goals.print()
}

/// Seconds of processor time: other processes on the machine do not count.
fn timed(work: impl FnOnce() -> Outcome<usize>) -> Outcome<f64> {
    let before = proc::own_cpu()?;
    black_box(work()?);
    let taken: Duration = proc::own_cpu()?.saturating_sub(before);
    Ok(taken.as_secs_f64())
}

fn values(lines: &[&[u8]]) -> Outcome<usize> {
    for line in lines {
        black_box(serde_json::from_slice::<serde_json::Value>(line)?);
    }
    Ok(lines.len())
}

fn scanned(lines: &[&[u8]]) -> usize {
    for line in lines {
        black_box(json::scan(black_box(line)));
    }
    lines.len()
}

fn decoded(lines: &[&[u8]], depth: Depth) -> usize {
    let mut decoder = Dialect::Cursor.decoder();
    let (mut events, mut offset, mut count) = (Vec::new(), 0, 0);
    for bytes in lines {
        let line = Line { bytes, offset, part: Part::Whole, newline: true };
        offset += bytes.len() as u64 + 1;
        decoder.line(&line, &json::scan(bytes), depth, &mut events);
        count += events.len();
        black_box(&events);
        events.clear();
    }
    count
}
