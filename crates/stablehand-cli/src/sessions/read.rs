//! Reading a log for `sessions`: which one, its records, its events.
//!
//! A line that is no record is counted and left out; nothing here fails because of one.

use super::find::{self, Found};
use crate::env::Env;
use crate::failure::Failure;
use crate::output::say;
use stablehand_core::record::{FORMAT, LogReader, Record};
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Event};
use stablehand_store::lookup::{LATEST, each_line};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Which log is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Which: the path of a log, the id of a session or a run or its beginning, or `latest`
    #[arg(value_name = "LOG|ID|latest", default_value = LATEST)]
    which: OsString,

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
    let mut reader = EventReader::of(LogReader::default(), Depth::Full);
    let mut events = Vec::new();
    let mut enough = false;
    each_record(log, |record| {
        if enough {
            return Ok(());
        }
        reader.record(record, &mut events);
        for event in events.drain(..) {
            if !enough {
                enough = !take(&event)?;
            }
        }
        Ok(())
    })?;
    Ok(reader.log().skipped())
}

/// Hands out the records of a log, and says it where the log is newer than we are; how many lines
/// were no records. These are handed out too.
pub(crate) fn each_record(
    path: &Path,
    mut take: impl FnMut(&Record<'_>) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut log = LogReader::default();
    let read = each_line(path, |line| {
        let known = log.newer();
        let record = log.line(line);
        if let Some(version) = log.newer().filter(|_| known.is_none()) {
            say(&format!(
                "WARN `{}` has version {version} of the log format, and this program knows {FORMAT}: \
                 what is new in it is not shown",
                path.display()
            ));
        }
        take(&record)
    });
    read.map_err(|error| {
        Failure::new(format!("failed to read the log `{}`: {error}", path.display()))
    })??;
    Ok(log.skipped())
}

/// Returns true if both paths name the same file, which exists.
pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| path.metadata().map(|about| (about.dev(), about.ino())).ok();
    id(one).is_some() && id(one) == id(other)
}

/// Says how many lines were left out.
pub(crate) fn warn(log: &Path, skipped: u64) {
    if skipped > 0 {
        let s = if skipped == 1 { " is" } else { "s are" };
        say(&format!("WARN {skipped} line{s} no record and left out of `{}`", log.display()));
    }
}
