//! The content of an index as text, so that two of them can be compared, and a look at whether it is
//! whole.
//!
//! Numbers of logs are chance, so they are replaced by the keys; when something was indexed, and how
//! reading goes on, is left out.

use crate::{Store, StoreError, signs};
use rusqlite::types::ValueRef;
use stablehand_core::id::digest64;
use std::fmt::Write as _;

/// The tables, and how their rows are put into an order.
const TABLES: [(&str, &str); 8] = [
    ("logs", "SELECT key, source, path, bytes, skipped FROM logs ORDER BY key"),
    ("runs", "SELECT l.key, t.* FROM runs t JOIN logs l ON l.id = t.log ORDER BY l.key, t.run"),
    (
        "turns",
        "SELECT l.key, t.* FROM turns t JOIN logs l ON l.id = t.log ORDER BY l.key, t.run, t.turn",
    ),
    (
        "tools",
        "SELECT l.key, t.* FROM tools t JOIN logs l ON l.id = t.log ORDER BY l.key, t.run, t.tool",
    ),
    (
        "questions",
        "SELECT l.key, t.* FROM questions t JOIN logs l ON l.id = t.log
         ORDER BY l.key, t.question",
    ),
    (
        "verdicts",
        "SELECT l.key, t.* FROM verdicts t JOIN logs l ON l.id = t.log
         ORDER BY l.key, t.run, t.verdict",
    ),
    (
        "files",
        "SELECT l.key, t.* FROM files t JOIN logs l ON l.id = t.log
         ORDER BY l.key, t.run, t.path, t.how",
    ),
    (
        "passages",
        "SELECT l.key, t.id & 4294967295 AS number, t.run, t.turn, t.tool, t.kind, t.at, t.text
         FROM passages t JOIN logs l ON l.id = t.id >> 32 ORDER BY l.key, number",
    ),
];

impl Store {
    /// Everything that is in the index, one row a line: the same for the same logs, however and by
    /// whom they were indexed.
    pub fn dump(&self) -> Result<String, StoreError> {
        let mut text = String::new();
        for (table, sql) in TABLES {
            let mut take = |row: &str| {
                text.push_str(row);
                text.push('\n');
            };
            self.each_row(table, sql, &mut take).map_err(|error| self.failed(error))?;
        }
        Ok(text)
    }

    /// The first table in which another index of the same logs has something else.
    pub(crate) fn differs_from(&self, other: &Store) -> Result<Option<String>, StoreError> {
        for (table, sql) in TABLES {
            let ours = self.sum_up(table, sql).map_err(|error| self.failed(error))?;
            let theirs = other.sum_up(table, sql).map_err(|error| other.failed(error))?;
            if ours != theirs {
                return Ok(Some(format!(
                    "`{table}` has {} rows, made anew it has {}, and they are not the same",
                    ours.0, theirs.0
                )));
            }
        }
        Ok(None)
    }

    /// How many rows, and the digest of all.
    fn sum_up(&self, table: &str, sql: &str) -> rusqlite::Result<(usize, u64)> {
        let mut sum = (0, 0u64);
        self.each_row(table, sql, &mut |row| {
            sum.0 += 1;
            sum.1 = (sum.1.rotate_left(5) ^ digest64(row.as_bytes())).wrapping_mul(0x9e37_79b9);
        })?;
        Ok(sum)
    }

    fn each_row(&self, table: &str, sql: &str, take: &mut dyn FnMut(&str)) -> rusqlite::Result<()> {
        let mut out = String::new();
        let mut select = self.db.prepare(sql)?;
        let names: Vec<String> = select.column_names().into_iter().map(str::to_owned).collect();
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            out.clear();
            out.push_str(table);
            for (place, name) in names.iter().enumerate() {
                let value = row.get_ref(place)?;
                if name == "log" {
                    continue;
                }
                out.push('\t');
                push(&mut out, value);
            }
            take(&out);
        }
        // Rows that belong to no log would be in no row of the above.
        let total: i64 =
            self.db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
        take(&format!("{table}: {total}"));
        Ok(())
    }

    /// Whether the file is whole: what is wrong with it, where something is.
    pub fn check(&self) -> Result<Option<String>, StoreError> {
        let found: rusqlite::Result<Vec<String>> = self
            .db
            .prepare("PRAGMA integrity_check")
            .and_then(|mut check| check.query_map([], |row| row.get(0))?.collect());
        let found = found.map_err(|error| self.failed(error))?.join("\n");
        if found != "ok" {
            return Ok(Some(found));
        }
        // Compares the words with the passages that they are of.
        let words =
            self.db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)", []);
        if let Err(error) = words {
            return Ok(Some(error.to_string()));
        }
        signs::wrong(&self.db).map_err(|error| self.failed(error))
    }
}

fn push(out: &mut String, value: ValueRef<'_>) {
    let _never_fails = match value {
        ValueRef::Null => write!(out, "-"),
        ValueRef::Integer(number) => write!(out, "{number}"),
        ValueRef::Real(number) => write!(out, "{number}"),
        ValueRef::Text(text) => write!(out, "{:?}", String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => write!(out, "{bytes:?}"),
    };
}
