//! `sessions reindex`: the index made anew from the logs, or held against them.

use super::read::PlaceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use crate::manage;
use stablehand_core::text::plain;
use stablehand_core::time::human;
use stablehand_store::{Advance, FILE, Store};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Make the index of the logs anew
///
/// Nothing depends on it but time: `sessions` keeps the index up to date by itself, and notices most
/// damage. Runs may go on meanwhile, and whoever asks gets the old one until the new one is whole.
#[derive(Debug, clap::Args)]
pub struct ReindexArgs {
    /// Change nothing: make one beside it and compare. Exit status 1 where they differ
    #[arg(long)]
    verify: bool,

    /// For programs: one object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

/// How often the line about how far it is is drawn.
const DRAW: Duration = Duration::from_millis(100);

/// Runs it.
pub(super) fn main(args: &ReindexArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let folder = args.place.folder(&env)?;
    if !folder.is_dir() {
        let text = format!("there is no folder `{}`, so there are no logs", folder.display());
        return Err(Failure::new(text).hint("name another folder with --log-dir"));
    }
    if args.verify {
        return verify(args, &folder);
    }
    let began = Instant::now();
    let mut line = ProgressLine { is_wanted: env.stderr_is_terminal, drawn: None };
    let (store, done) = Store::reindex(&folder, &mut |advance| line.draw(advance))?;
    line.clear();
    let took = began.elapsed();
    for (path, why) in &done.unreadable {
        let text = format!("{PROGRAM}: WARN failed to read `{}`: {why}\n", path.display());
        let _nobody_there = std::io::stderr().write_all(plain(&text).as_bytes());
    }
    let summary = Summary::of(&store).map_err(|error| {
        Failure::new(format!("failed to read the index `{}`: {error}", folder.join(FILE).display()))
    })?;
    if args.json {
        let object = serde_json::json!({
            "index": folder.join(FILE).to_string_lossy(),
            "logs": summary.logs,
            "runs": summary.runs,
            "passages": summary.passages,
            "read_bytes": summary.read_bytes,
            "index_bytes": summary.index_bytes,
            "unreadable": done.unreadable.iter().map(|(path, why)| {
                serde_json::json!({ "path": path.to_string_lossy(), "error": why })
            }).collect::<Vec<_>>(),
            "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        return manage::print(&format!("{object}\n"));
    }
    manage::print(&format!(
        "{} logs ({}), {} runs, {} texts in {} ({}), in {}\n",
        summary.logs,
        size(summary.read_bytes),
        summary.runs,
        summary.passages,
        plain(&folder.join(FILE).display().to_string()),
        size(summary.index_bytes),
        human(took),
    ))
}

fn verify(args: &ReindexArgs, folder: &Path) -> Result<u8, Failure> {
    let wrong = Store::verify(folder)?;
    let index = folder.join(FILE);
    if args.json {
        let object = serde_json::json!({ "index": index, "same": wrong.is_none(), "wrong": wrong });
        manage::print(&format!("{object}\n"))?;
    } else {
        let text = match &wrong {
            None => "the index has what the logs have".to_owned(),
            Some(wrong) => format!(
                "the index is not what the logs have: {wrong}; run `{PROGRAM} sessions reindex`"
            ),
        };
        manage::print(&format!("{}\n", plain(&text)))?;
    }
    Ok(u8::from(wrong.is_some()))
}

/// What an index has.
struct Summary {
    logs: u64,
    runs: u64,
    passages: u64,
    read_bytes: u64,
    index_bytes: u64,
}

impl Summary {
    fn of(store: &Store) -> Result<Summary, Box<dyn std::error::Error>> {
        let one = |sql: &str| store.database().query_row(sql, [], |row| row.get::<_, u64>(0));
        Ok(Summary {
            logs: one("SELECT count(*) FROM logs")?,
            runs: one("SELECT count(*) FROM runs")?,
            passages: one("SELECT count(*) FROM passages")?,
            read_bytes: one("SELECT coalesce(sum(bytes), 0) FROM logs")?,
            index_bytes: one(
                "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
            )?,
        })
    }
}

/// One line on a terminal that says how far it is.
struct ProgressLine {
    is_wanted: bool,
    drawn: Option<Instant>,
}

impl ProgressLine {
    fn draw(&mut self, Advance { logs, bytes }: Advance) {
        if !self.is_wanted || self.drawn.is_some_and(|at| at.elapsed() < DRAW) {
            return;
        }
        self.drawn = Some(Instant::now());
        let percent = (100 * bytes.0).checked_div(bytes.1).unwrap_or(100).min(100);
        let text = format!(
            "\r\x1b[K{percent:>3} %  {} of {} logs, {} of {}",
            logs.0,
            logs.1,
            size(bytes.0),
            size(bytes.1)
        );
        let _nobody_there = std::io::stderr().write_all(text.as_bytes());
    }

    fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _nobody_there = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

/// A number of bytes for a person.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
