//! The index, brought up to date with the logs before it is asked.
//!
//! Whoever asks says how long that may take. An index that is damaged is thrown away once and made
//! again; the logs have everything that was in it.

use crate::env::Env;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use crate::output::{Progress, figures, say};
use stablehand::error_chain;
use stablehand::log::Writer;
use stablehand_store::{Advance, Answered, Budget, Store, StoreError, ask_refreshed};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How much time there is for what the index does not know yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// A list is wanted now; what is missing is missing.
    Soon,
    /// An answer is wanted that misses nothing.
    Thorough,
}

impl Pace {
    /// The budget of the index.
    pub(super) fn budget(self) -> Budget {
        match self {
            Pace::Soon => Budget::within(SOON),
            Pace::Thorough => Budget::UNLIMITED,
        }
    }
}

/// A person who lists sessions waits no longer than this for new logs to be read.
const SOON: Duration = Duration::from_secs(3);

/// Whoever waits longer than this is told what for.
const PATIENCE: Duration = Duration::from_millis(400);

/// A log that nobody can say of whether it is written was written not longer ago than this, if it
/// is: in a silence there is a record every 30 s.
const LIFE_SIGN: Duration = Duration::from_secs(90);

/// Asks the index of a folder of logs; nothing where there is no such folder.
pub(super) fn ask<T: Send>(
    env: &Env,
    folder: &Path,
    pace: Pace,
    question: impl Fn(&mut Store) -> Result<T, StoreError> + Sync,
) -> Result<Option<T>, Failure> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let Answered { answer, refreshed, .. } = quietly(env, folder, pace, question)?;
    for (path, why) in &refreshed.unreadable {
        say(&format!("WARN failed to read the log `{}`: {why}", path.display()));
    }
    if refreshed.behind > 0 {
        let (logs, are) = if refreshed.behind == 1 { ("log", "is") } else { ("logs", "are") };
        say(&format!(
            "{} {logs} {are} not in the index yet; ask again, or run `{PROGRAM} sessions reindex`",
            refreshed.behind
        ));
    }
    Ok(Some(answer))
}

/// The same for callers that can do without the index: they say themselves what is missing in it.
pub(super) fn quietly<T: Send>(
    env: &Env,
    folder: &Path,
    pace: Pace,
    question: impl Fn(&mut Store) -> Result<T, StoreError> + Sync,
) -> Result<Answered<T>, StoreError> {
    let answered = ask_refreshed(folder, pace.budget(), &mut progress(env), question)?;
    if let Some(damage) = &answered.damage {
        say(&format!("the index was damaged and is made again ({})", error_chain(damage)));
    }
    Ok(answered)
}

/// Says on a terminal how far the reading of logs has come, until it is dropped.
pub(super) fn progress(env: &Env) -> impl FnMut(Advance) + use<> {
    let mut progress = Progress::new(env, PATIENCE);
    move |advance| progress.draw(|| describe(advance))
}

/// Whether somebody still writes this log.
pub(super) fn is_written(log: &Path) -> bool {
    let Ok(file) = File::open(log) else { return false };
    match Writer::of(&file) {
        Writer::There => true,
        Writer::Gone => false,
        Writer::Unknown => {
            let changed = file.metadata().and_then(|about| about.modified());
            let since = changed.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            // A time in the future is no sign of death.
            since.is_none_or(|since| since < LIFE_SIGN)
        }
    }
}

/// How far the reading of logs has come.
pub(super) fn describe(Advance { logs, bytes }: Advance) -> String {
    format!(
        "reading logs: {} of {}, {} of {}",
        figures::grouped(logs.0 as u64),
        figures::grouped(logs.1 as u64),
        figures::bytes(bytes.0),
        figures::bytes(bytes.1),
    )
}
