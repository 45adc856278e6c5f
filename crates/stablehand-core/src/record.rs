//! The log format: one JSON object a line, written here and read back here.
//!
//! Two sorts of record, as `docs/log-format.md` tells users. *Raw* ones hold what the agent wrote,
//! verbatim where it is JSON, as text or base64 where it is not, in parts where a line is too long.
//! *Decisions* hold what we did and why. Owns the bytes of both; it opens no file. Reading is
//! lenient: a newer field, a foreign line or a torn tail is never an error.

mod decisions;
mod lines;
mod log_reader;
mod read;
mod write;

pub use decisions::*;
pub use lines::{LONGEST, LogLines};
pub use log_reader::LogReader;
pub use read::{LoggedDecision, Reader, Record, Stream, verbatim};
pub use write::{
    Stamp, VERBATIM_TAIL, decision_line, is_verbatim, push_client_line, push_decision, push_line,
    push_verbatim_head,
};

use serde::{Deserialize, Serialize};

/// The version of the format, in the first record of each log.
pub const FORMAT: u32 = 2;

/// A line that is not JSON is written in parts of this size, so that no record grows far beyond
/// [`crate::line::WHOLE_LIMIT`], whatever its text escapes to.
pub const TEXT_PART: usize = 256 << 10;

/// How loud a decision is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Everything, raw lines among them.
    Debug,
    /// What a person may want to follow.
    Info,
    /// What a person should see.
    Warn,
    /// What went wrong.
    Error,
}

impl Level {
    /// As in the log.
    pub fn name(self) -> &'static str {
        match self {
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        }
    }
}

#[cfg(test)]
mod tests;
