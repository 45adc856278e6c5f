//! Indexing one log: from where the index stands to where the log ends.
//!
//! The log is always read from its beginning, because what a line means depends on those before
//! it; rows that the index has already are not written again. Rows and the place up to which they
//! reach are committed together.

use crate::write::{self, Writer};
use crate::{Store, StoreError};
use rusqlite::{OptionalExtension, TransactionBehavior, params};
use stablehand_core::chronicle::{Chronicle, Row};
use stablehand_core::id::digest64;
use stablehand_core::json::Value;
use stablehand_core::line::{LineSplitter, PART, Part, WHOLE_LIMIT};
use stablehand_core::record::Record;
use stablehand_core::redact::Redactor;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The source of our own logs.
pub(crate) const LOG: &str = "log";

/// So many rows go into one transaction, about.
const BATCH: usize = 2000;

/// How much of the beginning of a file may be its first line.
const FIRST_LINE: u64 = 64 << 10;

/// Somebody who brings the rows of one log into the index.
#[derive(Debug)]
pub struct Indexer {
    log: i64,
    path: PathBuf,
    file: File,
    splitter: LineSplitter,
    chronicle: Chronicle,
    rows: Vec<Row>,
    /// How far the file was read.
    read: u64,
    /// Up to here the rows are in the index.
    committed: u64,
    redactor: Redactor,
    words: bool,
}

/// How far an indexer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more in the log.
    More,
    /// Everything that is in the log is in the index.
    UpToDate,
}

impl Indexer {
    /// Begins with a log; nothing where it has no first record yet.
    pub fn open(store: &mut Store, path: &Path) -> Result<Option<Indexer>, StoreError> {
        let failed = |source| StoreError::Read { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        let mut head = Vec::new();
        (&mut file).take(FIRST_LINE).read_to_end(&mut head).map_err(failed)?;
        let Some(key) = key(&head, &about) else { return Ok(None) };
        let (log, committed) = register(store, path, &key, &about)?;
        std::io::Seek::rewind(&mut file).map_err(failed)?;
        Ok(Some(Indexer {
            log,
            path: path.to_owned(),
            file,
            splitter: LineSplitter::new(WHOLE_LIMIT + (1 << 20), PART),
            chronicle: Chronicle::default(),
            rows: Vec::new(),
            read: 0,
            committed,
            redactor: Redactor::new(),
            words: true,
        }))
    }

    /// Leaves out what makes text searchable, to measure what that costs.
    #[doc(hidden)]
    pub fn without_words(&mut self) {
        self.words = false;
    }

    /// Brings about one transaction of rows into the index.
    pub fn step(&mut self, store: &mut Store) -> Result<Progress, StoreError> {
        loop {
            let failed = |source| StoreError::Read { path: self.path.clone(), source };
            let n = self.file.read(self.splitter.space()).map_err(failed)?;
            self.splitter.filled(n);
            self.read += n as u64;
            while let Some(line) = self.splitter.next() {
                let record = match line.part {
                    Part::Whole if line.bytes.is_empty() => continue,
                    Part::Whole => Record::read(line.bytes),
                    Part::First => Record::Broken(line.bytes),
                    Part::Middle | Part::Last => continue,
                };
                self.chronicle.record(&record, &mut self.rows);
                if line.offset < self.committed {
                    // Known already; it was read for what follows.
                    self.rows.clear();
                }
            }
            let position = self.read - self.splitter.held() as u64;
            if n == 0 {
                self.commit(store, position)?;
                return Ok(Progress::UpToDate);
            }
            if self.rows.len() >= BATCH {
                self.commit(store, position)?;
                return Ok(Progress::More);
            }
        }
    }

    fn commit(&mut self, store: &mut Store, position: u64) -> Result<(), StoreError> {
        self.chronicle.flush(&mut self.rows);
        let path = store.path.clone();
        let failed = |source| StoreError::Database { path: path.clone(), source };
        let about = self.file.metadata().ok();
        let tx =
            store.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let known: Option<u64> = tx
            .prepare_cached("SELECT bytes FROM logs WHERE id = ?")
            .and_then(|mut find| find.query_row([self.log], |row| row.get(0)).optional())
            .map_err(failed)?;
        match known {
            Some(known) if known == self.committed => {
                let writer = Writer {
                    db: &tx,
                    log: self.log,
                    source: LOG,
                    redactor: &self.redactor,
                    words: self.words,
                };
                for row in &self.rows {
                    writer.put(row).map_err(failed)?;
                }
                self.committed = self.committed.max(position);
                let (size, mtime) = about.as_ref().map_or((position, 0), size_and_time);
                tx.prepare_cached(
                    "UPDATE logs SET bytes = ?, size = ?, mtime_ms = ?, skipped = ?,
                     indexed_ms = ? WHERE id = ?",
                )
                .and_then(|mut update| {
                    update.execute(params![
                        self.committed,
                        size,
                        mtime,
                        self.chronicle.skipped(),
                        now_ms(),
                        self.log
                    ])
                })
                .map_err(failed)?;
                tx.commit().map_err(failed)?;
            }
            // Somebody else indexes the same log; what it has is not written again.
            Some(known) => self.committed = known,
            // The index was thrown away under us: whoever asks next begins anew.
            None => {}
        }
        self.rows.clear();
        Ok(())
    }
}

/// Finds the log in the index, or puts it there: its number, and how much of it is known.
fn register(
    store: &mut Store,
    path: &Path,
    key: &str,
    about: &Metadata,
) -> Result<(i64, u64), StoreError> {
    let database = store.path.clone();
    let failed = |source| StoreError::Database { path: database.clone(), source };
    let name = path.to_string_lossy();
    let tx = store.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let known: Option<(i64, u64)> = tx
        .prepare_cached("SELECT id, bytes FROM logs WHERE key = ?")
        .and_then(|mut find| find.query_row([key], |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .map_err(failed)?;
    let (size, mtime) = size_and_time(about);
    let found = if let Some((id, bytes)) = known {
        let bytes = if size < bytes {
            // It was cut short: what the index has of it may not be in it.
            write::forget(&tx, id).map_err(failed)?;
            0
        } else {
            bytes
        };
        tx.execute(
            "UPDATE logs SET path = ?, inode = ?, bytes = ? WHERE id = ?",
            params![name, about.ino(), bytes, id],
        )
        .map_err(failed)?;
        (id, bytes)
    } else {
        tx.execute(
            "INSERT INTO logs (source, key, path, inode, size, mtime_ms, bytes, skipped,
                 indexed_ms) VALUES (?,?,?,?,?,?,0,0,?)",
            params![LOG, key, name, about.ino(), size, mtime, now_ms()],
        )
        .map_err(failed)?;
        (tx.last_insert_rowid(), 0)
    };
    tx.commit().map_err(failed)?;
    Ok(found)
}

/// Who a log is: the id in its first record. Older logs have none; the record itself and the file
/// stand in.
fn key(head: &[u8], about: &Metadata) -> Option<String> {
    let end = head.iter().position(|byte| *byte == b'\n')?;
    let first = head.get(..end)?;
    if let Record::Decision { message, fields, .. } = Record::read(first)
        && message == "log_opened"
        && let Some(id) = fields.get("log").and_then(Value::string)
    {
        return Some(id);
    }
    Some(format!("{:016x}-{}-{}", digest64(first), about.dev(), about.ino()))
}

pub(crate) fn size_and_time(about: &Metadata) -> (u64, i64) {
    (about.len(), about.mtime() * 1000 + about.mtime_nsec() / 1_000_000)
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
