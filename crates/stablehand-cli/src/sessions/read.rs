//! Reading a log for `sessions`: which one, its lines, its events.
//!
//! A line that is no record is counted and left out; nothing here fails because of one.

use super::find::{self, Found};
use crate::env::Env;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use stablehand_core::json::Value;
use stablehand_core::record::{FORMAT, LogLines, Record};
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect, Event};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The version of a log is in its first record; damage may have put other lines before that.
const HEAD: usize = 8;

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
    pub(crate) fn folder(&self, env: &Env) -> Result<PathBuf, Failure> {
        match &self.log_dir {
            Some(folder) => Ok(folder.clone()),
            None => Ok(env.state()?.join("logs")),
        }
    }
}

impl LogArgs {
    /// The log that is meant.
    pub(super) fn find(&self, env: &Env) -> Result<PathBuf, Failure> {
        find::log(&self.which, &self.place.folder(env)?, env)
    }

    /// The log or the imported session that is meant.
    pub(super) fn find_any(&self, env: &Env) -> Result<Found, Failure> {
        find::find(&self.which, &self.place.folder(env)?, env)
    }
}

/// Hands out the events of a log, in their order, until `take` says false; how many lines were no
/// records.
pub(crate) fn each_event(
    log: &Path,
    mut take: impl FnMut(&Event) -> Result<bool, Failure>,
) -> Result<u64, Failure> {
    let mut reader = EventReader::new(Dialect::DEFAULT, Depth::Full);
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

/// Hands out the lines of a log, without their newlines, and says it where the log is newer than we
/// are. A line of any length takes bounded memory: of one that is far too long for a record only the
/// beginning is handed out.
pub(crate) fn each_line(
    path: &Path,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut looked_at = 0;
    lines_of(path, |line| {
        if looked_at < HEAD {
            looked_at += 1;
            warn_of_newer(path, line);
        }
        take(line)
    })
}

/// The same without a word.
pub(super) fn lines_of(
    path: &Path,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("failed to read the log `{}`: {error}", path.display()))
    };
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let mut lines = LogLines::default();
    loop {
        match file.read(lines.space()) {
            Ok(0) => return lines.finish(take),
            Ok(n) => lines.filled(n),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        }
        lines.each(&mut take)?;
    }
}

fn warn_of_newer(path: &Path, line: &[u8]) {
    let Record::Decision { message, fields, .. } = Record::read(line) else { return };
    let version = fields.get("v").and_then(Value::i64).unwrap_or(0);
    if message == "log_opened" && version > i64::from(FORMAT) {
        say(&format!(
            "WARN `{}` has version {version} of the log format, and this program knows {FORMAT}: \
             what is new in it is not shown",
            path.display()
        ));
    }
}

/// Says how many lines were left out.
pub(crate) fn warn(log: &Path, skipped: u64) {
    if skipped > 0 {
        let s = if skipped == 1 { " is" } else { "s are" };
        say(&format!("WARN {skipped} line{s} no record and left out of `{}`", log.display()));
    }
}

fn say(text: &str) {
    let text = format!("{PROGRAM}: {text}\n");
    let _nobody_there = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
}
