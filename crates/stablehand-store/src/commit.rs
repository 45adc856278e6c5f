//! Writing what was read of a log: its rows, together with the place up to which they reach.
//!
//! Everything here happens within one transaction. Several may index the same log; whoever comes
//! second finds more in the index than it knew of, leaves out the rows that are there, and goes on.

use crate::index::{Indexer, LOG, is_copy_of, now_ms};
use crate::state::Known;
use crate::write::{self, Writer};
use crate::{Store, StoreError};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use stablehand_analysis::chronicle::Row;
use stablehand_core::id::digest64;
use stablehand_core::redact::Redactor;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

/// The number of a log counts the seconds from here, the beginning of 2020.
const FIRST_SECOND: i64 = 1_577_836_800;

/// The passages of a log begin at its number, shifted; this is the highest that leaves room.
const LAST_NUMBER: i64 = (1 << 31) - 1;

/// So far a log may be from where it belongs.
const WIDEST: i64 = 1 << 24;

/// What became of what was read.
#[derive(Debug)]
pub(crate) enum Put {
    /// It is in the index, which has this now; and a copy that has to step back for it.
    Written(Known, Option<PathBuf>),
    /// Somebody else put other things there; whoever wants to go on has to look again.
    Stale,
}

impl Store {
    /// Writes what several have read, in one transaction; which files have to be looked at again.
    pub(crate) fn write<'i>(
        &mut self,
        indexers: impl IntoIterator<Item = &'i mut Indexer>,
        words: bool,
    ) -> Result<Vec<PathBuf>, StoreError> {
        let database = self.path.clone();
        let failed = |source| StoreError::Database { path: database.clone(), source };
        let redactor = self.redactor.clone();
        let mut indexers: Vec<&mut Indexer> = indexers.into_iter().collect();
        // The index of words is made quicker from the oldest to the newest.
        indexers.sort_by_key(|indexer| indexer.began);
        let tx =
            self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let mut results = Vec::with_capacity(indexers.len());
        for indexer in &mut indexers {
            results.push(put(&tx, indexer, &redactor, words).map_err(failed)?);
        }
        tx.commit().map_err(failed)?;
        let mut stale = Vec::new();
        for (indexer, result) in indexers.into_iter().zip(results) {
            match result {
                Put::Written(known, beaten) => {
                    indexer.settle(known);
                    stale.extend(beaten);
                }
                Put::Stale => stale.push(indexer.path.clone()),
            }
        }
        Ok(stale)
    }

    /// Notes files that add nothing, with whose copies they are.
    pub(crate) fn note_strays(&mut self, strays: &[Stray]) -> Result<(), StoreError> {
        let database = self.path.clone();
        let failed = |source| StoreError::Database { path: database.clone(), source };
        let tx =
            self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        for Stray { path, inode, size, mtime_ms, log } in strays {
            tx.prepare_cached("INSERT OR REPLACE INTO strays VALUES (?,?,?,?,?)")
                .and_then(|mut put| put.execute(params![path, inode, size, mtime_ms, log]))
                .map_err(failed)?;
            forget_others_at(&tx, path, "").map_err(failed)?;
        }
        tx.commit().map_err(failed)
    }
}

/// A file that adds nothing.
#[derive(Debug)]
pub(crate) struct Stray {
    pub(crate) path: String,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mtime_ms: i64,
    pub(crate) log: Option<i64>,
}

fn put(
    db: &Connection,
    indexer: &mut Indexer,
    redactor: &Redactor,
    words: bool,
) -> rusqlite::Result<Put> {
    let found = Known::find(db, &indexer.key)?;
    let first_row = match (&found, &indexer.basis) {
        (Some(found), Some(basis))
            if found.is_as(basis) && (indexer.anew || indexer.consumed >= indexer.committed) =>
        {
            if indexer.anew {
                write::forget(db, found.id)?;
            }
            0
        }
        (None, None) => 0,
        // Somebody was quicker, or we have not come as far as before.
        (Some(found), _) if !indexer.anew && found.bytes >= indexer.committed => {
            if found.bytes > indexer.consumed {
                return Ok(Put::Written(found.clone(), None));
            }
            let Some((digest, row)) = indexer.at(found.bytes) else { return Ok(Put::Stale) };
            if digest != found.digest {
                return Ok(Put::Stale);
            }
            row
        }
        // The index was made anew under us, or the log is another one.
        _ => return Ok(Put::Stale),
    };
    let path = indexer.path.to_string_lossy().into_owned();
    let mut beaten = None;
    if let Some(found) = found.as_ref().filter(|found| found.path != path && !indexer.live) {
        if is_copy_of(&indexer.path, found, &indexer.key) {
            return Ok(Put::Stale);
        }
        beaten = Some(PathBuf::from(&found.path)).filter(|path| path.exists());
    }
    forget_others_at(db, &path, &indexer.key)?;
    db.prepare_cached("DELETE FROM strays WHERE path = ?")?.execute([&path])?;
    let (size, mtime_ms) = indexer.at_end.unwrap_or((indexer.consumed, 0));
    let mut known = Known {
        id: 0,
        path,
        inode: indexer.inode,
        size,
        mtime_ms,
        bytes: indexer.consumed,
        indexed_ms: now_ms(),
        digest: indexer.digest,
        restart: indexer.restart.clone(),
        live: indexer.live.then(std::process::id),
    };
    known.id = match &found {
        Some(found) => found.id,
        None => free_number(db, indexer.began, &indexer.key)?,
    };
    db.prepare_cached(
        "INSERT INTO logs (id, source, key, path, inode, size, mtime_ms, bytes, skipped,
             indexed_ms, state) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)
         ON CONFLICT (key) DO UPDATE SET path = ?4, inode = ?5, size = ?6, mtime_ms = ?7,
             bytes = ?8, skipped = ?9, indexed_ms = ?10, state = ?11",
    )?
    .execute(params![
        known.id,
        LOG,
        indexer.key,
        known.path,
        known.inode,
        known.size,
        known.mtime_ms,
        known.bytes,
        indexer.chronicle.skipped(),
        known.indexed_ms,
        known.state(),
    ])?;
    indexer.chronicle.flush(&mut indexer.rows);
    let writer =
        Writer { db, log: known.id, source: LOG, redactor, words, signs: RefCell::default() };
    let rows = indexer.rows.get(first_row..).unwrap_or_default();
    // Of a row that changed several times, only the last is worth writing.
    let last: HashMap<Number<'_>, usize> =
        rows.iter().enumerate().filter_map(|(at, row)| Some((number(row)?, at))).collect();
    for (at, row) in rows.iter().enumerate() {
        if number(row).is_none_or(|number| last.get(&number) == Some(&at)) {
            writer.put(row)?;
        }
    }
    Ok(Put::Written(known, beaten))
}

/// What a row replaces: table, numbers, and for files the path.
type Number<'r> = (u8, u32, u32, &'r str);

fn number(row: &Row) -> Option<Number<'_>> {
    Some(match row {
        Row::Run(it) => (0, it.run, 0, ""),
        Row::Turn(it) => (1, it.run, it.turn, ""),
        Row::Tool(it) => (2, it.run, it.tool, ""),
        Row::Question(it) => (3, 0, it.question, ""),
        Row::Verdict(it) => (4, it.run, it.verdict, ""),
        Row::File(it) => (5, it.run, it.how as u32, &it.path),
        Row::Passage(_) => return None,
    })
}

impl Indexer {
    /// The digest up to a place in the batch, and the first row behind it.
    fn at(&self, offset: u64) -> Option<(u64, usize)> {
        if offset == self.consumed {
            return Some((self.digest, self.rows.len()));
        }
        let place = self.marks.binary_search_by_key(&offset, |mark| mark.offset).ok()?;
        self.marks.get(place).map(|mark| (mark.digest, mark.row))
    }
}

/// A file has one name and a name has one file: whoever was called so before is gone.
fn forget_others_at(db: &Connection, path: &str, key: &str) -> rusqlite::Result<()> {
    let other: Option<i64> = db
        .prepare_cached("SELECT id FROM logs WHERE path = ? AND source = ? AND key <> ?")?
        .query_row(params![path, LOG, key], |row| row.get(0))
        .optional()?;
    match other {
        Some(id) => forget(db, id),
        None => Ok(()),
    }
}

/// Takes a log and everything of it out of the index.
pub(crate) fn forget(db: &Connection, id: i64) -> rusqlite::Result<()> {
    write::forget(db, id)?;
    db.prepare_cached("DELETE FROM logs WHERE id = ?")?.execute([id]).map(|_| ())
}

/// A number for a log that began then, so that newer logs have higher ones. Where many began in the
/// same second, the further ones are put into a wider and wider neighbourhood.
pub(crate) fn free_number(db: &Connection, began: i64, key: &str) -> rusqlite::Result<i64> {
    let wanted = (began / 1000 - FIRST_SECOND).clamp(1, LAST_NUMBER - WIDEST);
    let mut is_taken = db.prepare_cached("SELECT 1 FROM logs WHERE id = ?")?;
    let (mut number, mut width) = (wanted, 1);
    let mut chance = digest64(key.as_bytes());
    while is_taken.exists([number])? {
        width = (width * 2).min(WIDEST);
        chance = digest64(&chance.to_le_bytes());
        number = wanted + i64::try_from(chance >> 1).unwrap_or(0) % width;
    }
    Ok(number)
}
