//! `benches/passthrough`: how fast bytes go through `cursor-wrap` with its log on, and what that
//! costs, against `cat` and `jq -c .` on the same stream in the same run.

use stablehand_benches::agent::{self, Fnv, Role};
use stablehand_benches::chain::{Chain, Taken, Tool};
use stablehand_benches::options::{Options, on_path, work_folder};
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::{median, ratios, spread};
use stablehand_benches::stream::{Shape, Stream};
use stablehand_benches::{Outcome, proc};
use std::path::{Path, PathBuf};

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

/// A stream on disk, and how the writer writes it.
struct Input {
    writes: &'static str,
    path: PathBuf,
    stream: Stream,
}

impl Input {
    fn make(folder: &Path, writes: &'static str, megabytes: usize) -> Outcome<Input> {
        let stream = Stream::of_bytes(Shape::Mix, megabytes * 1_000_000);
        let path = folder.join(format!("{writes}-{megabytes}.ndjson"));
        std::fs::write(&path, &stream.bytes)?;
        Ok(Input { writes, path, stream })
    }

    fn run(&self, chain: &Chain, tool: &Tool, hash: bool) -> Outcome<Taken> {
        // What the index costs is measured on its own.
        self.run_with(chain, tool, hash, "1")
    }

    fn run_with(&self, chain: &Chain, tool: &Tool, hash: bool, no_index: &str) -> Outcome<Taken> {
        let path = self.path.to_str().ok_or("the temporary folder is not UTF-8")?;
        let env = [
            (agent::STREAM, path),
            (agent::WRITES, self.writes),
            (agent::HASH, if hash { "1" } else { "0" }),
            ("STABLEHAND_NO_INDEX", no_index),
        ];
        let taken = chain.run(tool, (Role::Write, Role::Count), &env)?;
        if matches!(tool, Tool::Wrap) {
            chain.clear_logs()?;
        }
        Ok(taken)
    }

    /// Nothing is measured that does not arrive as it was sent. It also warms the caches.
    fn check(&self, chain: &Chain, tool: &Tool) -> Outcome<()> {
        let taken = self.run(chain, tool, true)?;
        let mut hash = Fnv::default();
        hash.take(&self.stream.bytes);
        if taken.bytes == self.stream.bytes.len() as u64 && taken.hash == hash.0 {
            return Ok(());
        }
        Err("cursor-wrap did not pass the stream on as it was".into())
    }
}

/// All rounds of one tool on one input.
#[derive(Default)]
struct Rounds {
    speed: Vec<f64>,
    cpu: Vec<f64>,
    keeper: Vec<f64>,
    whole: Vec<f64>,
}

impl Rounds {
    fn push(&mut self, taken: &Taken) {
        self.speed.push(taken.bytes as f64 / 1e6 / taken.stream.as_secs_f64());
        self.cpu.push(taken.tool_cpu.as_secs_f64());
        self.keeper.push(taken.keeper_cpu.as_secs_f64());
        self.whole.push(taken.whole.as_secs_f64());
    }

    fn row(&self, table: &mut Table, name: &str, input: &Input, cat: &Rounds) {
        let events = input.stream.events as f64;
        let per_byte = |rounds: &Rounds, all: f64| -> Vec<f64> {
            rounds.cpu.iter().map(|cpu| cpu / all).collect()
        };
        let bytes = input.stream.megabytes();
        table.row([
            format!("{name}, {}", input.writes),
            format!("{bytes:.0}"),
            format!("{:.0}", median(&self.speed)),
            format!("{:.0}", median(&self.speed) / bytes * events / 1e3),
            format!("{:.3}", median(&self.cpu)),
            format!("{:.4}", median(&self.keeper)),
            format!("{:.2}", median(&per_byte(self, events)) * 1e6),
            spread(&ratios(&self.speed, &cat.speed)),
            spread(&ratios(&self.cpu, &cat.cpu)),
            format!("{:.2}", median(&self.whole)),
        ]);
    }
}

/// The same stream with and without the index being filled, long enough for that to begin: the
/// speed of the one as a multiple of the other's, in each round. A second one without is the control:
/// what it differs by from the first is noise.
fn filling(chain: &Chain, folder: &Path, megabytes: usize, rounds: usize) -> Outcome<Vec<f64>> {
    let input = Input::make(folder, "line", megabytes)?;
    let mut arms = [("0", Rounds::default()), ("1", Rounds::default()), ("1", Rounds::default())];
    for round in 0..rounds {
        // Whoever comes later finds the disk busy with those before; so they take turns.
        for place in 0..arms.len() {
            let which = (round + place) % arms.len();
            if let Some((no_index, rounds)) = arms.get_mut(which) {
                rounds.push(&input.run_with(chain, &Tool::Wrap, false, no_index)?);
            }
        }
    }
    std::fs::remove_file(&input.path)?;
    let [(_, with), (_, without), (_, control)] = &arms;
    let speeds = ratios(&with.speed, &without.speed);
    say(format!(
        "filling the index along {megabytes} MB: speed {} x that without (control: {}), CPU {:.2} s \
         and {:.2} s\n",
        spread(&speeds),
        spread(&ratios(&control.speed, &without.speed)),
        median(&with.cpu),
        median(&without.cpu),
    ))?;
    Ok(speeds)
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--rounds", "--mb", "--line-mb", "--jq-mb", "--fill-mb"])?;
    let rounds = options.number("--rounds", 9)?;
    let folder = work_folder()?;
    let chain = Chain::new(folder.path())?;
    let cat = Tool::Filter(on_path("cat").ok_or("`cat` is missing")?, Vec::new());
    let jq = on_path("jq").map(|jq| Tool::Filter(jq, vec!["-c".into(), ".".into()]));
    let block = Input::make(folder.path(), "block", options.number("--mb", 200)?)?;
    let line = Input::make(folder.path(), "line", options.number("--line-mb", 60)?)?;
    let small = Input::make(folder.path(), "block", options.number("--jq-mb", 10)?)?;
    for input in [&block, &line] {
        input.check(&chain, &Tool::Wrap)?;
    }
    let mut results: [Rounds; 5] = Default::default();
    for _ in 0..rounds {
        let [cat_block, wrap_block, cat_line, wrap_line, jq_block] = &mut results;
        cat_block.push(&block.run(&chain, &cat, false)?);
        wrap_block.push(&block.run(&chain, &Tool::Wrap, false)?);
        cat_line.push(&line.run(&chain, &cat, false)?);
        wrap_line.push(&line.run(&chain, &Tool::Wrap, false)?);
        if let Some(jq) = &jq {
            jq_block.push(&small.run(&chain, jq, false)?);
        }
    }
    let [cat_block, wrap_block, cat_line, wrap_line, jq_block] = &results;
    let mean = block.stream.bytes.len() / block.stream.events;
    say(format!(
        "mix, {mean} B a line, {rounds} interleaved rounds, load {}; medians, (range over rounds)",
        proc::load()
    ))?;
    let mut table = Table::new(&[
        "tool, writer",
        "MB",
        "MB/s",
        "kev/s",
        "CPU s",
        "keeper s",
        "CPU µs/event",
        "speed vs cat",
        "CPU vs cat",
        "start to exit s",
    ]);
    cat_block.row(&mut table, "cat", &block, cat_block);
    wrap_block.row(&mut table, "cursor-wrap", &block, cat_block);
    cat_line.row(&mut table, "cat", &line, cat_line);
    wrap_line.row(&mut table, "cursor-wrap", &line, cat_line);
    if jq.is_some() {
        let scaled = Rounds {
            speed: cat_block.speed.clone(),
            cpu: cat_block
                .cpu
                .iter()
                .map(|cpu| cpu * small.stream.megabytes() / block.stream.megabytes())
                .collect(),
            ..Rounds::default()
        };
        jq_block.row(&mut table, "jq -c .", &small, &scaled);
    }
    table.print()?;
    let mut goals = Goals::default();
    let filled = filling(&chain, folder.path(), options.number("--fill-mb", 1500)?, rounds)?;
    goals.at_least("speed while the index is filled vs without", median(&filled), 0.95, "x");
    let ratio = |a: &[f64], b: &[f64]| median(&ratios(a, b));
    let per_event =
        |rounds: &Rounds, input: &Input| median(&rounds.cpu) * 1e6 / input.stream.events as f64;
    goals.at_least(
        "speed, block writer, vs cat",
        ratio(&wrap_block.speed, &cat_block.speed),
        0.4,
        "x",
    );
    goals.at_least(
        "speed, line writer, vs cat",
        ratio(&wrap_line.speed, &cat_line.speed),
        0.6,
        "x",
    );
    if jq.is_some() {
        goals.at_least("speed vs jq -c .", ratio(&wrap_block.speed, &jq_block.speed), 10.0, "x");
    } else {
        goals.unknown("speed vs jq -c .", "jq is missing; Debian package jq");
    }
    goals.at_most("CPU, block writer, vs cat", ratio(&wrap_block.cpu, &cat_block.cpu), 5.0, "x");
    goals.at_most("CPU, line writer, vs cat", ratio(&wrap_line.cpu, &cat_line.cpu), 5.0, "x");
    goals.at_most("CPU per event, block writer", per_event(wrap_block, &block), 3.0, " µs");
    goals.at_most("CPU per event, line writer", per_event(wrap_line, &line), 3.0, " µs");
    goals.print()
}
