//! A durable position in the events of a session.

use stablehand_core::id::LogId;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use uuid::Uuid;

/// Where an event stands: in which log, at which record, and which event of that record it is.
///
/// Cursors of one session are ordered as its events are, while `seq` begins again in each of its
/// logs. They hold over restarts, and also when a newer version reads more or fewer events from the
/// same record. The text form is short and safe in a URL or a header, such as the `Last-Event-ID` of
/// an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    /// The log; those of one session sort by the time at which they were opened.
    pub log: LogId,
    /// Where the record begins, in bytes.
    pub offset: u64,
    /// Which of its events, from 0.
    pub nth: u32,
}

/// Why a text is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a cursor; a cursor is LOG-OFFSET-NTH, as it came with an event")]
pub struct CursorError;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:x}-{:x}", self.log.0.simple(), self.offset, self.nth)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Cursor, CursorError> {
        let mut parts = text.splitn(3, '-');
        let mut part = || parts.next().filter(|part| !part.starts_with('+')).ok_or(CursorError);
        let log = Uuid::try_parse(part()?).map_err(|_| CursorError)?;
        let offset = u64::from_str_radix(part()?, 16).map_err(|_| CursorError)?;
        let nth = u32::from_str_radix(part()?, 16).map_err(|_| CursorError)?;
        Ok(Cursor { log: LogId(log), offset, nth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_sorts_as_its_events() {
        let log = LogId(Uuid::now_v7());
        let at = |offset, nth| Cursor { log, offset, nth };
        let sorted = [at(0, 0), at(0, 1), at(9, 0), at(u64::MAX, u32::MAX)];
        for cursor in sorted {
            assert_eq!(cursor.to_string().parse(), Ok(cursor), "{cursor}");
        }
        assert!(sorted.is_sorted());
        let later = Cursor { log: LogId(Uuid::now_v7()), offset: 0, nth: 0 };
        assert!(later > at(u64::MAX, 0), "a later log comes after");
        for text in ["", "1-2-3", "x", "01a1eaf33b1e73bdb14d1564984ffb37-1", "-", "+1-+1-+1"] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
        }
    }
}
