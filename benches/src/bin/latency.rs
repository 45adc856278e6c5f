//! `benches/latency`: how much later an event arrives behind `cursor-wrap`, at 1,000 events a
//! second, against a bare pipe and `cat` in the same run.

use stablehand_benches::agent::{self, Role};
use stablehand_benches::chain::{Chain, Tool};
use stablehand_benches::options::{Options, on_path, work_folder};
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::{median, percentile, ratios, spread};
use stablehand_benches::{Outcome, proc};

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

/// Per round, in microseconds.
#[derive(Default)]
struct Rounds {
    p50: Vec<f64>,
    p99: Vec<f64>,
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--rounds", "--events"])?;
    let rounds = options.number("--rounds", 9)?;
    let events = options.number("--events", 2_000)?;
    let folder = work_folder()?;
    let chain = Chain::new(folder.path())?;
    let tools = [
        ("direct pipe", Tool::Direct),
        ("cat", Tool::Filter(on_path("cat").ok_or("`cat` is missing")?, Vec::new())),
        ("cursor-wrap", Tool::Wrap),
    ];
    let mut results: [Rounds; 3] = Default::default();
    for _ in 0..rounds {
        for ((name, tool), result) in tools.iter().zip(&mut results) {
            let count = events.to_string();
            chain.run(tool, (Role::Pace, Role::Clock), &[(agent::COUNT, count.as_str())])?;
            chain.clear_logs()?;
            let delays = agent::figures(&chain.reader_report())?;
            if delays.len() != events {
                return Err(
                    format!("{} of {events} events came through {name}", delays.len()).into()
                );
            }
            let micros: Vec<f64> = delays.iter().map(|nanos| *nanos as f64 / 1e3).collect();
            result.p50.push(median(&micros));
            result.p99.push(percentile(&micros, 0.99));
        }
    }
    let [direct, cat, wrap] = &results;
    say(format!(
        "{events} events at 1,000/s, {rounds} interleaved rounds, load {}; medians, (range)",
        proc::load()
    ))?;
    let mut table = Table::new(&["tool", "p50 µs", "p99 µs", "p50 vs cat", "p50 − direct, µs"]);
    let over = |rounds: &Rounds| -> Vec<f64> {
        rounds.p50.iter().zip(&direct.p50).map(|(tool, floor)| tool - floor).collect()
    };
    for ((name, _), result) in tools.iter().zip(&results) {
        table.row([
            (*name).to_owned(),
            spread(&result.p50),
            spread(&result.p99),
            spread(&ratios(&result.p50, &cat.p50)),
            spread(&over(result)),
        ]);
    }
    table.print()?;
    let mut goals = Goals::default();
    goals.at_most("latency p50 vs cat", median(&ratios(&wrap.p50, &cat.p50)), 1.5, "x");
    let added = median(&ratios(&over(wrap), &over(cat)));
    goals.at_most("latency added over a direct pipe vs cat", added, 1.5, "x");
    goals.print()
}
