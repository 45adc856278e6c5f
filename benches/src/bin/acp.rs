//! `benches/acp`: what `stablehand acp --through` adds to a frame. An agent that echoes gets a small
//! frame and gives it back, through us and through bare pipes in turn; a round trip is two frames.

use stablehand_benches::options::{Options, on_path, sibling, work_folder};
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::{median, percentile, ratios, spread};
use stablehand_benches::{Outcome, proc};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// An update as agents send thousands of: a notification, so that nobody waits for an answer.
const FRAME: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"6f1c2a90-4b7d-4e35-9a18-c0d2e4f60718","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"the ponies are fed, the fence is mended"}}}}"#;

/// The first frames of a chain warm it up.
const WARM: usize = 200;

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

/// Per round, in microseconds of one round trip.
#[derive(Default)]
struct Rounds {
    p50: Vec<f64>,
    p99: Vec<f64>,
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--rounds", "--frames"])?;
    let rounds = options.number("--rounds", 9)?;
    let frames = options.number("--frames", 2_000)?;
    let folder = work_folder()?;
    let echo = on_path("cat").ok_or("`cat` is missing")?;
    let mut results: [Rounds; 2] = Default::default();
    for _ in 0..rounds {
        for (through, result) in [false, true].into_iter().zip(&mut results) {
            let mut chain = Chain::start(&echo, folder.path(), through)?;
            chain.trips(WARM)?;
            let micros = chain.trips(frames)?;
            chain.end()?;
            result.p50.push(median(&micros));
            result.p99.push(percentile(&micros, 0.99));
        }
    }
    let [pipe, ours] = &results;
    say(format!(
        "{frames} round trips of {} bytes, {rounds} interleaved rounds, load {}; medians, (range)",
        FRAME.len() + 1,
        proc::load()
    ))?;
    let per_frame: Vec<f64> =
        ours.p50.iter().zip(&pipe.p50).map(|(ours, pipe)| (ours - pipe) / 2.0).collect();
    let mut table =
        Table::new(&["chain", "p50 µs", "p99 µs", "p50 vs pipe", "added per frame, µs"]);
    for (name, result, added) in [
        ("bare pipes", pipe, String::new()),
        ("stablehand acp --through", ours, spread(&per_frame)),
    ] {
        table.row([
            name.to_owned(),
            spread(&result.p50),
            spread(&result.p99),
            spread(&ratios(&result.p50, &pipe.p50)),
            added,
        ]);
    }
    table.print()?;
    let mut goals = Goals::default();
    goals.at_most("added per frame p50", median(&per_frame), 200.0, "µs");
    goals.print()
}

/// An agent that echoes, with or without us in between.
struct Chain {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Chain {
    fn start(echo: &Path, folder: &Path, through: bool) -> Outcome<Chain> {
        let mut command = if through {
            let mut command = Command::new(sibling("stablehand")?);
            command.args(["acp", "--no-index", "--no-config", "--through"]).arg(echo);
            command.arg("--log-dir").arg(folder.join("logs"));
            command.env("STABLEHAND_HOME", folder.join("home"));
            command
        } else {
            Command::new(echo)
        };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().ok_or("it has no input")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("it has no output")?);
        Ok(Chain { child, stdin, stdout })
    }

    /// So many round trips, each in microseconds.
    fn trips(&mut self, count: usize) -> Outcome<Vec<f64>> {
        let frame = format!("{FRAME}\n");
        let mut back = String::new();
        let mut micros = Vec::with_capacity(count);
        for _ in 0..count {
            back.clear();
            let began = Instant::now();
            self.stdin.write_all(frame.as_bytes())?;
            self.stdout.read_line(&mut back)?;
            micros.push(began.elapsed().as_nanos() as f64 / 1e3);
            if back != frame {
                return Err(format!("another frame came back: {back}").into());
            }
        }
        Ok(micros)
    }

    fn end(self) -> Outcome<()> {
        let Chain { mut child, stdin, stdout } = self;
        drop((stdin, stdout));
        child.wait()?;
        Ok(())
    }
}
