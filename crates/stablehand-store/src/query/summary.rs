//! How much an index has.

use crate::{Store, StoreError};

/// How much an index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSummary {
    /// Logs and transcripts.
    pub logs: u64,
    /// Runs.
    pub runs: u64,
    /// Texts that can be searched.
    pub passages: u64,
    /// Bytes of the logs that were read.
    pub read_bytes: u64,
    /// Bytes of the index itself.
    pub index_bytes: u64,
}

impl Store {
    /// Counts what the index has.
    pub fn summary(&self) -> Result<IndexSummary, StoreError> {
        self.ask(|db| {
            let one = |sql: &str| db.query_row(sql, [], |row| row.get::<_, u64>(0));
            Ok(IndexSummary {
                logs: one("SELECT count(*) FROM logs")?,
                runs: one("SELECT count(*) FROM runs")?,
                passages: one("SELECT count(*) FROM passages")?,
                read_bytes: one("SELECT coalesce(sum(bytes), 0) FROM logs")?,
                index_bytes: one(
                    "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
                )?,
            })
        })
    }
}
