//! `stablehand sessions`: what runs left behind, read from their logs.
//!
//! Finds a log by path, session, run or age, and shows it: as the text that was shown while it ran,
//! or as the list of what was asked and decided. What the records mean is core's.

mod approvals;
mod find;

use crate::env::Env;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use crate::redact::RedactArgs;
use crate::render::TextView;
use crate::screen::Screen;
use stablehand::follow::Show;
use stablehand_core::json::Value;
use stablehand_core::ledger::Ledger;
use stablehand_core::record::Record;
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect};
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// What runs left behind
#[derive(Debug, clap::Subcommand)]
pub enum SessionsCommand {
    /// Show a run from its log: what was said and done, or what was asked and decided
    Show(ShowArgs),
}

/// Show a run from its log
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Which: the path of a log, the id of a session or a run, or `latest`
    #[arg(value_name = "LOG|ID|latest", default_value = find::LATEST)]
    which: String,

    /// List every question and decision: what about, allowed or not, by which rule or by whom
    #[arg(long)]
    approvals: bool,

    /// With --approvals, for programs: an array of objects
    #[arg(long, requires = "approvals")]
    json: bool,

    /// Where the logs are [default: as for `run`]
    #[arg(long, value_name = "FOLDER")]
    log_dir: Option<PathBuf>,
}

/// Runs it.
pub fn main(command: &SessionsCommand) -> Result<u8, Failure> {
    let SessionsCommand::Show(args) = command;
    let env = Env::read()?;
    let folder = match &args.log_dir {
        Some(folder) => folder.clone(),
        None => env.state()?.join("logs"),
    };
    let log = find::log(&args.which, &folder)?;
    if args.approvals {
        let mut ledger = Ledger::default();
        each_line(&log, |line| {
            ledger.record(&Record::read(line));
            Ok(())
        })?;
        warn(&log, ledger.skipped());
        return approvals::print(ledger.entries(), args.json, &env);
    }
    transcript(&log)
}

/// The text of a run, as it was shown.
fn transcript(log: &Path) -> Result<u8, Failure> {
    let io = |error: std::io::Error| Failure::new(format!("failed to print: {error}"));
    let redaction = RedactArgs::default().redaction(&[]);
    let screen = Screen::start(redaction.as_ref()).map_err(io)?;
    let mut view = TextView::new(screen.clone(), true);
    let mut reader = EventReader::new(Dialect::Cursor, Depth::Full);
    let mut skipped = 0;
    let mut events = Vec::new();
    let mut gone = false;
    each_line(log, |line| {
        if gone {
            return Ok(());
        }
        let record = Record::read(line);
        match &record {
            Record::Decision { message, fields, .. } if message == "log_opened" => {
                let name = fields.get("dialect").and_then(Value::string);
                if let Some(dialect) = name.and_then(|name| Dialect::by_name(&name)) {
                    reader = EventReader::new(dialect, Depth::Full);
                }
            }
            Record::Foreign(_) | Record::Broken(_) => skipped += 1,
            _ => {}
        }
        reader.record(&record, &mut events);
        for event in events.drain(..) {
            match view.event(&event) {
                Ok(()) => {}
                // `stablehand sessions show | head` has had enough.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => gone = true,
                Err(error) => return Err(io(error)),
            }
        }
        Ok(())
    })?;
    match view.pause() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(io(error)),
        _ => screen.flush(),
    }
    warn(log, skipped);
    Ok(0)
}

/// Hands out the lines of a file, without their newlines.
fn each_line(
    path: &Path,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("failed to read the log `{}`: {error}", path.display()))
    };
    let mut file = BufReader::new(std::fs::File::open(path).map_err(failed)?);
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        let bytes = line.strip_suffix(b"\n").unwrap_or(&line);
        if !bytes.is_empty() {
            take(bytes)?;
        }
        line.clear();
    }
    Ok(())
}

fn warn(log: &Path, skipped: u64) {
    if skipped > 0 {
        let s = if skipped == 1 { " is" } else { "s are" };
        let text = format!(
            "{PROGRAM}: WARN {skipped} line{s} no record and left out of `{}`\n",
            log.display()
        );
        let _nobody_there = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    }
}
