//! Bringing the index up to date with its folder: what is new, what grew, what is gone.

use crate::commit;
use crate::folder::{self, FoundLog};
use crate::index::{Batch, Indexer, LOG, Opened, Progress, now_ms};
use crate::open::Access;
use crate::state::{Known, Listed};
use crate::{Store, StoreError};
use rusqlite::{TransactionBehavior, params};
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What goes into one transaction, about: a tenth of a second of writing.
const BATCH: Batch = Batch { rows: 4000, text: 4 << 20, time: Duration::from_millis(500) };

/// So many small logs go into one transaction.
const LOGS: usize = 250;

/// A log that its own run indexes is left to it, if that was done so lately and if reading it again
/// would take longer than it is worth.
const LATELY_MS: i64 = 2000;
const WORTH: u64 = 1 << 20;

/// What changes under a refresh is looked at again, so often.
const PASSES: usize = 4;

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
    /// Logs that the time was too short for, or that could not be written down.
    pub behind: usize,
    /// Logs that could not be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// How far a refresh has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advance {
    /// Logs that were read, and logs to be read.
    pub logs: (usize, usize),
    /// The same in bytes.
    pub bytes: (u64, u64),
}

/// What is in the folder and not in the index, and the other way round.
struct Differences {
    changed: Vec<FoundLog>,
    /// By their paths.
    gone: Vec<(String, Listed)>,
    /// Whether something has another name now.
    renamed: bool,
}

/// One refresh.
pub(crate) struct Scan<'a> {
    pub(crate) budget: Budget,
    /// Whether text is made searchable; without, only to be measured against.
    pub(crate) words: bool,
    pub(crate) watch: &'a mut dyn FnMut(Advance),
}

impl Store {
    /// Brings the index up to date with the logs of its folder.
    pub fn refresh(&mut self, budget: Budget) -> Result<Refreshed, StoreError> {
        self.refresh_watched(budget, &mut |_| {})
    }

    /// The same, telling how far it has come.
    pub fn refresh_watched(
        &mut self,
        budget: Budget,
        watch: &mut dyn FnMut(Advance),
    ) -> Result<Refreshed, StoreError> {
        let mut scan = Scan { budget, words: true, watch };
        match self.scan(&mut scan) {
            Err(error) if error.is_unusable() && self.access == Access::Full => {
                self.renew()?;
                self.scan(&mut scan)
            }
            done => done,
        }
    }

    pub(crate) fn scan(&mut self, scan: &mut Scan<'_>) -> Result<Refreshed, StoreError> {
        let mut done = Refreshed::default();
        for _ in 0..PASSES {
            let Differences { changed, gone, renamed } = self.differences()?;
            if self.access == Access::ReadOnly {
                done.behind = changed.len() + gone.len();
                return Ok(done);
            }
            done.unreadable.clear();
            let again = match self.index_all(changed, scan, &mut done) {
                // Later is soon enough; nobody is to be sent away because of that.
                Err(error) if error.is_busy() => {
                    done.behind += 1;
                    return Ok(done);
                }
                again => again?,
            };
            let mut found_copies = renamed;
            for (path, log) in &gone {
                let (is_gone, had_copies) = self.forget(log.id, path)?;
                done.forgotten += usize::from(is_gone);
                found_copies |= had_copies;
            }
            if done.behind > 0 || !again && !found_copies {
                break;
            }
        }
        match self.refresh_imports(scan.budget, &mut done) {
            Err(error) if error.is_busy() => done.behind += 1,
            imported => imported?,
        }
        Ok(done)
    }

    /// Indexes what changed; whether somebody has to look again.
    fn index_all(
        &mut self,
        mut changed: Vec<FoundLog>,
        scan: &mut Scan<'_>,
        done: &mut Refreshed,
    ) -> Result<bool, StoreError> {
        match scan.budget.0 {
            // Whoever has little time wants to see the newest.
            Some(_) => changed.sort_unstable_by_key(|log| std::cmp::Reverse(log.mtime_ms)),
            None => {
                changed.sort_unstable_by(|a, b| (a.mtime_ms, &a.path).cmp(&(b.mtime_ms, &b.path)));
            }
        }
        let bytes = changed.iter().map(|log| log.size).sum();
        let mut advance = Advance { logs: (0, changed.len()), bytes: (0, bytes) };
        let mut again = false;
        let mut strays = Vec::new();
        let mut waiting: Vec<Indexer> = Vec::new();
        let mut left = changed.into_iter();
        while let Some(log) = left.next() {
            if scan.budget.is_used_up() {
                done.behind += 1 + left.len();
                break;
            }
            let mut indexer = match Indexer::open(self, &log.path) {
                Ok(Opened::Log(indexer)) => *indexer,
                Ok(Opened::Copy(of)) => {
                    strays.push(log.stray(Some(of)));
                    continue;
                }
                Ok(Opened::Nothing) => {
                    strays.push(log.stray(None));
                    continue;
                }
                Err(error) => {
                    again |= Self::unread(error, done)?;
                    continue;
                }
            };
            let is_read = loop {
                match indexer.read_on(BATCH) {
                    Ok(Progress::End) => break true,
                    Ok(Progress::More) => {}
                    Err(error) => {
                        again |= Self::unread(error, done)?;
                        break false;
                    }
                }
                let stale = self.write(waiting.iter_mut().chain([&mut indexer]), scan.words)?;
                waiting.clear();
                again |= !stale.is_empty();
                let mut so_far = advance;
                so_far.bytes.0 += indexer.consumed;
                (scan.watch)(so_far);
                if stale.contains(&log.path) {
                    break false;
                }
                if scan.budget.is_used_up() {
                    done.behind += 1;
                    break false;
                }
            };
            advance.logs.0 += 1;
            advance.bytes.0 += log.size;
            if is_read {
                done.indexed += 1;
                indexer.rest();
                waiting.push(indexer);
            }
            let (rows, text) = waiting
                .iter()
                .map(Indexer::waiting)
                .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            if waiting.len() >= LOGS || rows >= BATCH.rows || text >= BATCH.text {
                again |= !self.write(waiting.iter_mut(), scan.words)?.is_empty();
                waiting.clear();
                (scan.watch)(advance);
            }
        }
        if !waiting.is_empty() {
            again |= !self.write(waiting.iter_mut(), scan.words)?.is_empty();
        }
        if !strays.is_empty() {
            self.note_strays(&strays)?;
        }
        (scan.watch)(advance);
        Ok(again)
    }

    /// A log that cannot be read is named; one that was renamed under us is looked for again.
    fn unread(error: StoreError, done: &mut Refreshed) -> Result<bool, StoreError> {
        match error {
            StoreError::Read { source, .. } if source.kind() == ErrorKind::NotFound => Ok(true),
            StoreError::Read { path, source } => {
                done.unreadable.push((path, source.to_string()));
                Ok(false)
            }
            error => Err(error),
        }
    }

    /// What is in the folder and not in the index, and the other way round.
    fn differences(&self) -> Result<Differences, StoreError> {
        let mut known = Listed::all(&self.db, LOG).map_err(|error| self.failed(error))?;
        let mut strays = self.strays()?;
        let mut changed = Vec::new();
        // Files that are who they were; none of them is another log under a new name.
        let mut unmoved = HashSet::new();
        let now = now_ms();
        for log in folder::logs(&self.folder)? {
            let name = log.path.to_string_lossy();
            let file = (log.inode, log.size, log.mtime_ms);
            if strays.remove(name.as_ref()).is_some_and(|stray| stray == file) {
                continue;
            }
            let listed = known.remove(name.as_ref());
            let same = match &listed {
                Some(listed) if listed.file == file => true,
                Some(listed) => Known::numbered(&self.db, listed.id)
                    .map_err(|error| self.failed(error))?
                    .is_some_and(|known| is_left_to_its_run(&known, &log, now)),
                None => false,
            };
            if listed.is_some_and(|listed| listed.file.0 == log.inode) {
                unmoved.insert(log.inode);
            }
            if !same {
                changed.push(log);
            }
        }
        self.forget_strays(strays.keys())?;
        let mut gone: Vec<(String, Listed)> = known.into_iter().collect();
        let mut renamed = false;
        if !gone.is_empty() {
            // A log that got another name while we looked may have been missed under both.
            let mut there = folder::inodes_of_logs(&self.folder)?;
            there.retain(|inode| !unmoved.contains(inode));
            gone.retain(|(path, log)| {
                let is_there = there.contains(&log.file.0) || Path::new(path).exists();
                renamed |= is_there;
                !is_there
            });
        }
        if renamed && self.access != Access::ReadOnly {
            // Its other name may have been taken for a copy.
            let sql = "DELETE FROM strays WHERE log IS NOT NULL";
            let _again = self.db.execute(sql, []).map_err(|error| self.failed(error))?;
        }
        Ok(Differences { changed, gone, renamed })
    }

    /// The logs of the folder that are not as the index knows them, however little is missing: those
    /// for which the time was too short, and those that their own run is indexing.
    pub fn outdated(&self) -> Result<Vec<PathBuf>, StoreError> {
        let known = Listed::all(&self.db, LOG).map_err(|error| self.failed(error))?;
        let strays = self.strays()?;
        let is_known = |log: &FoundLog| {
            let name = log.path.to_string_lossy();
            let file = (log.inode, log.size, log.mtime_ms);
            strays.get(name.as_ref()) == Some(&file)
                || known.get(name.as_ref()).is_some_and(|listed| listed.file == file)
        };
        let logs = folder::logs(&self.folder)?.into_iter().filter(|log| !is_known(log));
        Ok(logs.map(|log| log.path).collect())
    }

    fn strays(&self) -> Result<HashMap<String, (u64, u64, i64)>, StoreError> {
        let mut find = self
            .db
            .prepare_cached("SELECT path, inode, size, mtime_ms FROM strays")
            .map_err(|error| self.failed(error))?;
        let rows =
            find.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?))));
        rows.and_then(Iterator::collect).map_err(|error| self.failed(error))
    }

    fn forget_strays<'p>(&self, gone: impl Iterator<Item = &'p String>) -> Result<(), StoreError> {
        if self.access == Access::ReadOnly {
            return Ok(());
        }
        for path in gone {
            let result = self
                .db
                .prepare_cached("DELETE FROM strays WHERE path = ?")
                .and_then(|mut forget| forget.execute([path]));
            match result.map_err(|error| self.failed(error)) {
                Err(error) if !error.is_busy() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Forgets a log, if it is still called so; whether it was, and whether it had copies.
    pub(crate) fn forget(&mut self, log: i64, path: &str) -> Result<(bool, bool), StoreError> {
        let database = self.path.clone();
        let failed = |source| StoreError::Database { path: database.clone(), source };
        let tx =
            self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let is_gone = tx
            .prepare_cached("SELECT 1 FROM logs WHERE id = ? AND path = ?")
            .and_then(|mut find| find.exists(params![log, path]))
            .map_err(failed)?;
        let had_copies = tx
            .prepare_cached("SELECT 1 FROM strays WHERE log = ?")
            .and_then(|mut find| find.exists([log]))
            .map_err(failed)?;
        if is_gone {
            commit::forget(&tx, log).map_err(failed)?;
        }
        tx.commit().map_err(failed)?;
        Ok((is_gone, is_gone && had_copies))
    }
}

/// Whether the run that writes a log keeps the index up to date itself.
fn is_left_to_its_run(known: &Known, log: &FoundLog, now: i64) -> bool {
    known.inode == log.inode
        && known.bytes <= log.size
        && known.to_read_again() > WORTH
        && (0..LATELY_MS).contains(&(now - known.indexed_ms))
        && known.live.is_some_and(is_alive)
}

pub(crate) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}
