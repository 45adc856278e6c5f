//! How a session ended: what a program wants to know once it is over.

use super::runs::{AllRuns, Totals};
use crate::driver::RunReport;
use crate::log::{Fill, LogSource};
use stablehand_core::event::{EventKind, ItemBody, SessionEnd};
use stablehand_core::id::SessionId;
use stablehand_core::record::{Record, Verified};
use stablehand_core::redact::Redactor;
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The final text is looked for no further back in the log than this: an answer is far shorter, and a
/// long session must not take long to ask.
const WINDOW_BYTES: u64 = 4 << 20;

/// How a session ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The last run.
    pub report: RunReport,
    /// The log, which has everything.
    pub log: PathBuf,
    /// The signal that ended the wait for a slow reader of the agent's bytes, behind the last run.
    pub signal: Option<i32>,
    /// How the bytes of each run compared, where [`SessionSpec::verify`](super::SessionSpec::verify)
    /// asked for it.
    pub verified: Vec<Verified>,
    /// How many bytes of the log readers had missed when the session ended; the log says so.
    pub lost_bytes: u64,
    tool_calls: u64,
    model: Option<String>,
    duration: Duration,
    source: LogSource,
    words: LastWords,
}

impl Outcome {
    pub(super) fn new(
        runs: AllRuns,
        log: PathBuf,
        lost_bytes: u64,
        source: LogSource,
        words: LastWords,
    ) -> Outcome {
        let AllRuns { report, signal, totals, duration } = runs;
        let Totals { verified, tool_calls, model } = totals;
        Outcome {
            report,
            log,
            signal,
            verified,
            lost_bytes,
            tool_calls,
            model,
            duration,
            source,
            words,
        }
    }

    /// How it ended, in one word.
    pub fn end(&self) -> SessionEnd {
        self.report.end.end
    }

    /// Whether the agent delivered its result.
    pub fn is_success(&self) -> bool {
        self.end() == SessionEnd::Success
    }

    /// Returns the agent's answer to the last prompt: the text of its result, or its last message where
    /// the result has none, also of a turn that did not end well. None where it said nothing. The log is
    /// read for it, once for each call.
    pub fn final_text(&self) -> Option<String> {
        self.words.read(&self.source)
    }

    /// Returns the model that answered last, as the agent names it; few agents do not.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns how long the session took, from its start until the tree was gone, with the waits for
    /// prompts and between retries. Time in which the machine was suspended is not counted.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns how many tools the agent called, in all turns and retries.
    pub fn tool_count(&self) -> u64 {
        self.tool_calls
    }

    /// How many bytes of the log a reader needed and did not get so far; 0 where nothing is missing.
    pub fn missed_bytes(&self) -> u64 {
        self.source.missed()
    }

    /// Returns true if some of the log is in memory only, because its file cannot be written: a reader
    /// that has not taken it yet can get it from nowhere else.
    pub fn has_unwritten_log(&self) -> bool {
        self.source.has_unwritten()
    }

    /// Counts bytes that a view did not show, for [`missed_bytes`](Self::missed_bytes).
    pub fn count_missed(&self, bytes: u64) {
        self.source.count_missed(bytes);
    }

    /// The agent's id of the session, to resume it by.
    pub fn session(&self) -> Option<&SessionId> {
        self.report.session.as_ref()
    }
}

/// How the last words of a session are read in its log.
#[derive(Clone, Debug)]
pub(super) struct LastWords {
    dialect: Dialect,
    redactor: Option<Arc<Redactor>>,
}

impl LastWords {
    pub(super) fn new(dialect: Dialect, redactor: Option<Arc<Redactor>>) -> LastWords {
        LastWords { dialect, redactor }
    }

    fn read(&self, source: &LogSource) -> Option<String> {
        // A torn record at the beginning of the window is passed over like any other.
        let mut tail = source.tail(source.end().saturating_sub(WINDOW_BYTES));
        let mut reader = EventReader::new(self.dialect, Depth::Full);
        let mut events = Vec::new();
        let (mut message, mut result) = (None, None);
        while let Ok(Fill::Grew | Fill::Lost(_)) = tail.fill() {
            while let Some(line) = tail.next() {
                reader.record(&Record::read(line.bytes), &mut events);
                for event in events.drain(..) {
                    match event.event {
                        EventKind::TurnStarted { .. } => (message, result) = (None, None),
                        EventKind::ItemCompleted { item } => {
                            if let ItemBody::Message { text } = item.body {
                                message = Some(text);
                            }
                        }
                        EventKind::TurnResult { text: Some(text), .. }
                        | EventKind::TurnEnded { text: Some(text), .. } => result = Some(text),
                        _ => {}
                    }
                }
            }
        }
        let text = result.or(message).filter(|text| !text.is_empty())?;
        Some(match &self.redactor {
            Some(redactor) => redactor.redact(&text).into_owned(),
            None => text,
        })
    }
}
