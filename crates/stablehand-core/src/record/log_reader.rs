//! Reading a whole log, one line after the other: its dialect, the version of its format, its damage.
//!
//! Owns what a log says of itself in `log_opened`. It opens no file and never fails; what the lines of
//! the agent mean is [`crate::replay`]'s.

use super::{DecisionKind, DecisionRecord, FORMAT, LogOpened, Record};
use crate::decode::Dialect;
use serde::{Deserialize, Serialize};

/// Reads the lines of one log in order.
///
/// The dialect is the default one until a header names another: what damage has put before the header,
/// and a log without one, are read as well as they can be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogReader {
    dialect: Dialect,
    header: LogOpened,
    skipped: u64,
}

impl Default for LogReader {
    fn default() -> Self {
        LogReader::resume(Dialect::DEFAULT, 0)
    }
}

impl LogReader {
    /// Goes on in the middle of a log, in its dialect and behind so many lines that were no records.
    pub fn resume(dialect: Dialect, skipped: u64) -> LogReader {
        LogReader { dialect, header: LogOpened::default(), skipped }
    }

    /// Reads the next line.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> Record<'a> {
        let record = Record::read(line);
        self.take(&record);
        record
    }

    /// Takes the next record, where it was read already. Returns true if it changes the dialect.
    pub fn take(&mut self, record: &Record<'_>) -> bool {
        match record {
            Record::Raw { .. } => {}
            Record::Decision(decision) => {
                // The fields of other decisions are read by those who want them.
                if decision.kind() == Some(DecisionKind::LogOpened)
                    && let Some(DecisionRecord::LogOpened(header)) = decision.record()
                {
                    self.header = header.clone();
                    let before = self.dialect;
                    self.dialect = header.dialect().unwrap_or(before);
                    return self.dialect != before;
                }
            }
            Record::Foreign(_) | Record::Broken(_) => self.skipped += 1,
        }
        false
    }

    /// The dialect of the agent's lines.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// What the log says of itself; empty until it has.
    pub fn header(&self) -> &LogOpened {
        &self.header
    }

    /// The version of the format, where it is newer than the one that is known here.
    pub fn newer(&self) -> Option<i64> {
        self.header.v.filter(|version| *version > i64::from(FORMAT))
    }

    /// How many lines were no records.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}
