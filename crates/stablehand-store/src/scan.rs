//! Bringing the index up to date with its folder: what is new, what grew, what is gone.

use crate::index::{Indexer, LOG, Progress, size_and_time};
use crate::{Store, StoreError, write};
use rusqlite::{TransactionBehavior, params};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a refresh may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget(Option<Instant>);

impl Budget {
    /// As long as it needs.
    pub const UNLIMITED: Budget = Budget(None);

    /// About so long; the newest logs come first.
    pub fn within(time: Duration) -> Budget {
        Budget(Some(Instant::now() + time))
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.0.is_some_and(|until| Instant::now() >= until)
    }
}

/// What a refresh did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Logs that were read.
    pub indexed: usize,
    /// Logs that are not there any more.
    pub forgotten: usize,
    /// Logs that the time was too short for.
    pub behind: usize,
    /// Logs that could not be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

struct Known {
    id: i64,
    inode: u64,
    size: u64,
    mtime_ms: i64,
    bytes: u64,
}

impl Store {
    /// Brings the index up to date with the logs of its folder.
    pub fn refresh(&mut self, budget: Budget) -> Result<Refreshed, StoreError> {
        let mut known = self.known_logs()?;
        let mut done = Refreshed::default();
        let mut changed = Vec::new();
        for (path, about) in self.logs_of_folder()? {
            let (size, mtime_ms) = size_and_time(&about);
            let same = known.remove(&path).is_some_and(|it| {
                it.inode == about.ino()
                    && it.size == size
                    && it.mtime_ms == mtime_ms
                    && it.bytes <= size
            });
            if !same {
                changed.push((mtime_ms, path));
            }
        }
        changed.sort_unstable_by(|a, b| b.cmp(a));
        let mut left = changed.into_iter();
        for (_, path) in left.by_ref() {
            match self.index(&path, budget) {
                Ok(true) => done.indexed += 1,
                Ok(false) => {
                    done.behind += 1;
                    break;
                }
                Err(StoreError::Read { path, source }) => {
                    // A log that was removed or renamed under us is looked for again next time.
                    if source.kind() != ErrorKind::NotFound {
                        done.unreadable.push((path, source.to_string()));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        done.behind += left.len();
        for (path, it) in known {
            // A log that got another name in between was found again under its key.
            if !path.exists() {
                done.forgotten += usize::from(self.forget(it.id, &path)?);
            }
        }
        self.refresh_imports(budget, &mut done)?;
        Ok(done)
    }

    /// Makes the index anew from the logs.
    pub fn reindex(&mut self) -> Result<Refreshed, StoreError> {
        let failed = |source| StoreError::Database { path: self.path.clone(), source };
        self.db
            .execute_batch(
                "BEGIN IMMEDIATE;
                 INSERT INTO words (words) VALUES ('delete-all');
                 DELETE FROM passages; DELETE FROM files; DELETE FROM verdicts;
                 DELETE FROM questions; DELETE FROM tools; DELETE FROM turns; DELETE FROM runs;
                 DELETE FROM logs;
                 COMMIT;",
            )
            .map_err(failed)?;
        self.refresh(Budget::UNLIMITED)
    }

    /// Indexes one log; false when the time is over before it is done.
    fn index(&mut self, path: &std::path::Path, budget: Budget) -> Result<bool, StoreError> {
        let Some(mut indexer) = Indexer::open(self, path)? else { return Ok(true) };
        while indexer.step(self)? == Progress::More {
            if budget.is_used_up() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn known_logs(&self) -> Result<HashMap<PathBuf, Known>, StoreError> {
        let mut find = self
            .db
            .prepare_cached(
                "SELECT path, id, inode, size, mtime_ms, bytes FROM logs WHERE source = ?",
            )
            .map_err(|error| self.failed(error))?;
        let rows = find.query_map([LOG], |row| {
            let path: String = row.get(0)?;
            let known = Known {
                id: row.get(1)?,
                inode: row.get(2)?,
                size: row.get(3)?,
                mtime_ms: row.get(4)?,
                bytes: row.get(5)?,
            };
            Ok((PathBuf::from(path), known))
        });
        rows.and_then(Iterator::collect).map_err(|error| self.failed(error))
    }

    fn logs_of_folder(&self) -> Result<Vec<(PathBuf, std::fs::Metadata)>, StoreError> {
        let failed = |source| StoreError::Read { path: self.folder.clone(), source };
        let mut logs = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_none_or(|end| end != "jsonl") {
                continue;
            }
            if let Ok(about) = std::fs::metadata(&path)
                && about.is_file()
            {
                logs.push((path, about));
            }
        }
        Ok(logs)
    }

    pub(crate) fn forget(&mut self, log: i64, path: &std::path::Path) -> Result<bool, StoreError> {
        let database = self.path.clone();
        let failed = |source| StoreError::Database { path: database.clone(), source };
        let tx =
            self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let gone = tx
            .execute(
                "DELETE FROM logs WHERE id = ? AND path = ?",
                params![log, path.to_string_lossy()],
            )
            .map_err(failed)?;
        if gone > 0 {
            write::forget(&tx, log).map_err(failed)?;
        }
        tx.commit().map_err(failed)?;
        Ok(gone > 0)
    }
}
