//! `benches/seek`: from a cursor in the middle of a long log to the next event, in a fresh process,
//! against reading the log from its beginning.

use stablehand::core::event::EventKind;
use stablehand::core::id::{RunId, SessionKey};
use stablehand::core::record::{DecisionRecord, RunStart, Stream as Pipe};
use stablehand::core::{Dialect, Line, Part, json};
use stablehand::host::Filter;
use stablehand::log::{Durability, Log, LogOptions};
use stablehand::redact::Redactor;
use stablehand::{Cursor, Frame, From, Host};
use stablehand_benches::options::{Options, work_folder};
use stablehand_benches::report::{self, Goals, Table, say};
use stablehand_benches::stats::percentile;
use stablehand_benches::stream::{Shape, Stream};
use stablehand_benches::{Outcome, proc};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Each turn of the log has so many lines of the agent's, about two megabytes.
const TURN: usize = 2_000;

fn main() -> std::process::ExitCode {
    report::exit(measure())
}

fn measure() -> Outcome<()> {
    let options = Options::read(&["--mib", "--rounds", "--read", "--after"])?;
    if let Some(folder) = options.text("--read")? {
        return read(Path::new(folder), options.text("--after")?);
    }
    let mib = options.number("--mib", 1024)?;
    let rounds = options.number("--rounds", 21)?;
    let folder = work_folder()?;
    let bytes = write(folder.path(), (mib as u64) << 20)?;
    // The first reader leaves checkpoints behind, and says where the middle is.
    let whole = Reading::by_process(folder.path(), None)?;
    let cursor = whole.cursor.ok_or("the log has no middle")?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let sought = Reading::by_process(folder.path(), Some(cursor))?;
        if (sought.cursor, &sought.digest) != (Some(cursor), &whole.digest) {
            return Err("the event after the cursor is another one".into());
        }
        times.push(sought.ms);
    }
    let (p50, worst) = (percentile(&times, 0.5), percentile(&times, 1.0));
    let beside = size(&folder.path().join("checkpoints"))? as f64;
    say(format!("a log of {} MiB, load {}", bytes >> 20, proc::load()))?;
    let mut table = Table::new(&["to the event in the middle", "ms", "worst ms"]);
    table.row(["by its cursor".into(), format!("{p50:.2}"), format!("{worst:.2}")]);
    table.row(["from the beginning".into(), format!("{:.0}", whole.ms), String::new()]);
    table.print()?;
    say(format!("checkpoints: {:.2} % of the log", beside * 100.0 / bytes as f64))?;
    let mut goals = Goals::default();
    goals.at_most("seek", p50, 20.0, " ms");
    goals.print()
}

/// Writes a log of one long run, with at least so many bytes.
fn write(folder: &Path, wanted: u64) -> Outcome<u64> {
    let options = LogOptions {
        folder: folder.to_owned(),
        prefix: "bench".into(),
        durability: Durability::Group,
        required: true,
    };
    let key = SessionKey("01a1eaf3-3b1e-73bd-b14d-1564984ffb37".parse()?);
    let mut log = Log::open(options, key, Dialect::Cursor, None, None)?;
    let start = RunStart { run: RunId("bench".into()), ..RunStart::default() };
    let spawned = EventKind::ProcessSpawned { pid: 1, argv: Vec::new() };
    log.decide(DecisionRecord::AgentSpawned(start), Some(&spawned));
    let turn = Stream::of_events(Shape::Mix, TURN);
    while log.position() < wanted {
        for bytes in turn.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line = Line { bytes, offset: 0, part: Part::Whole, newline: true };
            log.line(Pipe::Stdout, &line, &json::scan(bytes));
        }
        log.flush();
    }
    log.end();
    if log.has_failed() {
        return Err("the log could not be written".into());
    }
    Ok(log.position())
}

/// What a process found.
struct Reading {
    /// The cursor before the event.
    cursor: Option<Cursor>,
    /// Of the event after it, as JSON.
    digest: String,
    /// From the beginning of the process's work to that event.
    ms: f64,
}

impl Reading {
    /// Has a fresh process read what comes after a cursor, or from the beginning to the middle.
    fn by_process(folder: &Path, after: Option<Cursor>) -> Outcome<Reading> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--read").arg(folder);
        if let Some(cursor) = after {
            command.args(["--after", &cursor.to_string()]);
        }
        let output = command.output()?;
        let text = String::from_utf8(output.stdout)?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let [cursor, digest, ms] = words.as_slice() else {
            return Err(format!("no answer: {}", String::from_utf8_lossy(&output.stderr)).into());
        };
        Ok(Reading { cursor: cursor.parse().ok(), digest: (*digest).to_owned(), ms: ms.parse()? })
    }
}

/// The process that reads; all its answers are one line.
fn read(folder: &Path, after: Option<&str>) -> Outcome<()> {
    let began = Instant::now();
    let host = Host::redacting(folder, Redactor::new());
    let found = host.list(&Filter { limit: Some(1), ..Filter::default() });
    let session = found.first().ok_or("there is no log")?;
    let answer = |cursor: Cursor, frame: &Frame| {
        let digest = stablehand::core::id::digest64(frame.json().as_bytes());
        say(format!("{cursor} {digest:016x} {}", began.elapsed().as_secs_f64() * 1e3))
    };
    if let Some(after) = after {
        let cursor: Cursor = after.parse()?;
        let mut events = host.subscribe(session.key, From::After(cursor))?;
        return answer(cursor, &*events.next().ok_or("nothing comes after the cursor")?);
    }
    let middle = size(folder)? / 2;
    let mut events = host.subscribe(session.key, From::Start)?;
    let before = events.find(|frame| frame.cursor.offset >= middle).ok_or("no middle")?;
    answer(before.cursor, &*events.next().ok_or("nothing comes after the middle")?)?;
    // The rest, for its checkpoints.
    let _frames = events.count();
    Ok(())
}

/// The size of the files in a folder.
fn size(folder: &Path) -> Outcome<u64> {
    let files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| Ok(entry?.path()))
        .collect::<Outcome<_>>()?;
    let files = files.iter().filter(|path| path.is_file());
    files.map(|path| Ok(path.metadata()?.len())).sum()
}
