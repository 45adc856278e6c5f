//! `benches/instructions`: how many instructions `cursor-wrap` needs for an event, counted by
//! callgrind.
//!
//! A run of N events is taken from one of 2 N, so that starting and ending cancel out. Only
//! `cursor-wrap` itself is counted, not its keeper, not the agent. No load on the machine changes
//! the figure; what the kernel does is not in it.

use stablehand_benches::Outcome;
use stablehand_benches::agent::{self, Role};
use stablehand_benches::chain::Chain;
use stablehand_benches::options::{Options, on_path, work_folder};
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stream::{Shape, Stream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

/// Who is behind `cursor-wrap`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// A process at the other end of a pipe.
    Pipe,
    /// `/dev/null`, which takes everything at once.
    Null,
}

struct Counter {
    chain: Chain,
    valgrind: PathBuf,
    folder: PathBuf,
}

impl Counter {
    /// Instructions of one run.
    fn count(&self, shape: Shape, events: usize, reader: Reader) -> Outcome<u64> {
        let stream = Stream::of_events(shape, events);
        let path = self.folder.join("stream.ndjson");
        std::fs::write(&path, &stream.bytes)?;
        let mut command = Command::new(&self.valgrind);
        let profile = self.profile(shape);
        command.args(["--tool=callgrind", "--trace-children=no", "-q"]);
        command.arg(format!("--callgrind-out-file={}", profile.display()));
        command.arg(self.chain.wrap());
        self.chain.wrap_arguments(&mut command);
        command.env(agent::ROLE, Role::Write.name());
        command.env(agent::STREAM, &path).env(agent::WRITES, "block");
        // What fills the index is another thread, and depends on time.
        command.env("STABLEHAND_NO_INDEX", "1");
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let status = match reader {
            Reader::Null => command.stdout(Stdio::null()).status()?,
            Reader::Pipe => {
                let (input, output) = std::io::pipe()?;
                let mut sink = self.chain.player(Role::Count).stdin(input).spawn()?;
                let status = command.stdout(output).status()?;
                drop(command);
                sink.wait()?;
                status
            }
        };
        self.chain.clear_logs()?;
        if !status.success() {
            return Err(format!("cursor-wrap under valgrind ended with {status}").into());
        }
        let text = std::fs::read_to_string(&profile)?;
        let total = text.lines().find_map(|line| line.strip_prefix("summary: "));
        Ok(total.ok_or("no summary in callgrind's file")?.trim().parse()?)
    }

    fn profile(&self, shape: Shape) -> PathBuf {
        self.folder.join(format!("callgrind.{}", shape.name()))
    }
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--events", "--profile"])?;
    // Whole groups of 2,000, so that both runs have the same share of large lines.
    let events = options.number("--events", 20_000)?.next_multiple_of(2_000);
    let mut goals = Goals::default();
    let Some(valgrind) = on_path("valgrind") else {
        goals
            .unknown("instructions per event, mix", "valgrind is missing; Debian package valgrind");
        return goals.print();
    };
    let folder = work_folder()?;
    let counter =
        Counter { chain: Chain::new(folder.path())?, valgrind, folder: folder.path().to_owned() };
    let mut table = Table::new(&["stream", "reader", "Ir/event", "Ir/B", "start and end, Ir"]);
    let mut profiles = Vec::new();
    for (shape, reader) in
        [(Shape::Mix, Reader::Pipe), (Shape::Mix, Reader::Null), (Shape::Small, Reader::Null)]
    {
        let once = counter.count(shape, events, reader)? as f64;
        let twice = counter.count(shape, 2 * events, reader)? as f64;
        let per_event = (twice - once) / events as f64;
        let bytes = Stream::of_events(shape, 2 * events).bytes.len() as f64 / 2.0;
        let behind = match reader {
            Reader::Pipe => "pipe",
            Reader::Null => "/dev/null",
        };
        table.row([
            shape.name().to_owned(),
            behind.to_owned(),
            format!("{per_event:.0}"),
            format!("{:.2}", (twice - once) / bytes),
            format!("{:.0}", once - per_event * events as f64),
        ]);
        // How often a reader behind a pipe is late is chance, so only the other is held to a goal.
        if shape == Shape::Mix && reader == Reader::Null {
            goals.at_most("instructions per event, mix", per_event, 4_500.0, "");
        }
        if options.has("--profile") {
            let title = format!("{} to {behind}", shape.name());
            profiles.push((title, annotated(&counter.profile(shape))?));
        }
    }
    say(format!("{events} events from {}; what one more event costs", 2 * events))?;
    table.print()?;
    for (title, lines) in profiles {
        say(format!("where the instructions go, {title}:"))?;
        lines.iter().try_for_each(say)?;
        say("")?;
    }
    goals.print()
}

/// The twelve functions that take the most, without what they call.
fn annotated(profile: &Path) -> Outcome<Vec<String>> {
    let output = Command::new("callgrind_annotate").arg("--inclusive=no").arg(profile).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let functions = text.lines().skip_while(|line| !line.contains("file:function")).skip(2);
    let shorten = |line: &str| {
        let line = line.rsplit_once(" [").map_or(line, |(name, _)| name);
        line.replace("???:", "")
    };
    Ok(functions.take(12).map(shorten).collect())
}
