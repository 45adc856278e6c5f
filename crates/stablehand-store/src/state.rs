//! What the index knows about a log itself, beside its rows.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};
use stablehand_analysis::chronicle::Restart;
use std::collections::HashMap;

/// A log in the index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Known {
    pub(crate) id: i64,
    pub(crate) path: String,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mtime_ms: i64,
    /// So far its rows are here.
    pub(crate) bytes: u64,
    pub(crate) indexed_ms: i64,
    /// Of everything up to there.
    pub(crate) digest: u64,
    pub(crate) restart: Option<RestartPoint>,
    /// The process that indexes it while it writes it.
    pub(crate) live: Option<u32>,
}

/// What is needed of every log to see whether it changed, and no more: there are many.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) id: i64,
    /// Inode, size and time.
    pub(crate) file: (u64, u64, i64),
}

impl Listed {
    /// All logs of a source, by their paths.
    pub(crate) fn all(db: &Connection, source: &str) -> rusqlite::Result<HashMap<String, Listed>> {
        let sql = "SELECT path, id, inode, size, mtime_ms FROM logs WHERE source = ?";
        let mut find = db.prepare_cached(sql)?;
        let listed = find.query_map([source], |row| {
            let file = (row.get(2)?, row.get(3)?, row.get(4)?);
            Ok((row.get(0)?, Listed { id: row.get(1)?, file }))
        })?;
        listed.collect()
    }
}

/// Where reading may begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RestartPoint {
    pub(crate) at: u64,
    pub(crate) digest: u64,
    pub(crate) with: Restart,
}

#[derive(Default, Serialize, Deserialize)]
struct State {
    digest: u64,
    restart: Option<RestartPoint>,
    live: Option<u32>,
}

const COLUMNS: &str = "id, path, inode, size, mtime_ms, bytes, indexed_ms, state";

impl Known {
    /// The log of that key.
    pub(crate) fn find(db: &Connection, key: &str) -> rusqlite::Result<Option<Known>> {
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM logs WHERE key = ?"))?
            .query_row([key], Known::of_row)
            .optional()
    }

    /// The log of that number.
    pub(crate) fn numbered(db: &Connection, id: i64) -> rusqlite::Result<Option<Known>> {
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM logs WHERE id = ?"))?
            .query_row([id], Known::of_row)
            .optional()
    }

    fn of_row(row: &Row<'_>) -> rusqlite::Result<Known> {
        let state: Option<String> = row.get(7)?;
        // Where it cannot be read, the digest will not fit, and the log is indexed anew.
        let state = state.and_then(|text| serde_json::from_str(&text).ok());
        let State { digest, restart, live } = state.unwrap_or_default();
        let bytes = row.get(5)?;
        Ok(Known {
            id: row.get(0)?,
            path: row.get(1)?,
            inode: row.get(2)?,
            size: row.get(3)?,
            mtime_ms: row.get(4)?,
            bytes,
            indexed_ms: row.get(6)?,
            digest,
            restart: restart.filter(|point| point.at <= bytes),
            live,
        })
    }

    /// The text of its state.
    pub(crate) fn state(&self) -> String {
        let state = State { digest: self.digest, restart: self.restart.clone(), live: self.live };
        serde_json::to_string(&state).unwrap_or_default()
    }

    /// Whether the same was committed.
    pub(crate) fn is_as(&self, other: &Known) -> bool {
        (self.id, self.bytes, self.digest) == (other.id, other.bytes, other.digest)
    }

    /// How much has to be read to go on.
    pub(crate) fn to_read_again(&self) -> u64 {
        self.bytes - self.restart.as_ref().map_or(0, |point| point.at)
    }
}
