//! Reading a log for `sessions`: which one, its lines, its events.
//!
//! A line that is no record is counted and left out; nothing here fails because of one.

use super::find;
use crate::env::Env;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use stablehand_core::json::Value;
use stablehand_core::record::Record;
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect, Event};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Which log is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Which: the path of a log, the id of a session or a run or its beginning, or `latest`
    #[arg(value_name = "LOG|ID|latest", default_value = find::LATEST)]
    which: String,

    #[command(flatten)]
    place: PlaceArgs,
}

/// Where the logs are.
#[derive(Debug, clap::Args)]
pub(crate) struct PlaceArgs {
    /// Where the logs are [default: as for `run`]
    #[arg(long, value_name = "FOLDER")]
    log_dir: Option<PathBuf>,
}

impl PlaceArgs {
    /// The folder of the logs.
    pub(super) fn folder(&self, env: &Env) -> Result<PathBuf, Failure> {
        match &self.log_dir {
            Some(folder) => Ok(folder.clone()),
            None => Ok(env.state()?.join("logs")),
        }
    }
}

impl LogArgs {
    /// The log that is meant.
    pub(super) fn find(&self, env: &Env) -> Result<PathBuf, Failure> {
        find::log(&self.which, &self.place.folder(env)?)
    }
}

/// Hands out the events of a log, in their order, until `take` says false; how many lines were no
/// records.
pub(super) fn each_event(
    log: &Path,
    mut take: impl FnMut(&Event) -> Result<bool, Failure>,
) -> Result<u64, Failure> {
    let mut reader = EventReader::new(Dialect::Cursor, Depth::Full);
    let mut events = Vec::new();
    let (mut skipped, mut enough) = (0, false);
    each_line(log, |line| {
        if enough {
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
            if !enough {
                enough = !take(&event)?;
            }
        }
        Ok(())
    })?;
    Ok(skipped)
}

/// Hands out the lines of a file, without their newlines.
pub(super) fn each_line(
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

/// Says how many lines were left out.
pub(super) fn warn(log: &Path, skipped: u64) {
    if skipped > 0 {
        let s = if skipped == 1 { " is" } else { "s are" };
        let text = format!(
            "{PROGRAM}: WARN {skipped} line{s} no record and left out of `{}`\n",
            log.display()
        );
        let _nobody_there = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    }
}
