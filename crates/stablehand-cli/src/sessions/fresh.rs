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
use stablehand_store::{Advance, Budget, FILE, Refreshed, Store, StoreError};
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
    let (answer, refreshed) = quietly(env, folder, pace, question).map_err(Failure::from)?;
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

/// The same for whoever can do without the index: what is missing in it is theirs to say.
pub(super) fn quietly<T: Send>(
    env: &Env,
    folder: &Path,
    pace: Pace,
    question: impl Fn(&mut Store) -> Result<T, StoreError> + Sync,
) -> Result<(T, Refreshed), StoreError> {
    let once = || {
        let mut store = Store::open(folder)?;
        let before = store.changes();
        let (early, refreshed) = std::thread::scope(|scope| {
            // Mostly nothing has changed, and the answer is there when all logs were looked at.
            let asks = || Store::open(folder).and_then(|mut store| question(&mut store)).ok();
            let early = store.has_many_logs().then(|| scope.spawn(asks));
            let refreshed = refresh(env, &mut store, pace);
            (early.and_then(|early| early.join().ok().flatten()), refreshed)
        });
        let refreshed = refreshed?;
        match early.filter(|_| store.changes() == before) {
            Some(answer) => Ok((answer, refreshed)),
            None => question(&mut store).map(|answer| (answer, refreshed)),
        }
    };
    match once() {
        Err(error) if error.is_damage() => {
            say(&format!("the index was damaged and is made again ({})", error_chain(&error)));
            Store::remove(&folder.join(FILE)).and_then(|()| once())
        }
        answered => answered,
    }
}

fn refresh(env: &Env, store: &mut Store, pace: Pace) -> Result<Refreshed, StoreError> {
    let budget = match pace {
        Pace::Soon => Budget::within(SOON),
        Pace::Thorough => Budget::UNLIMITED,
    };
    let mut progress = Progress::new(env, PATIENCE);
    store.refresh_watched(budget, &mut |advance| progress.draw(|| describe(advance)))
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
