//! What became of a run, and why: read from its log, long after everybody is gone.
//!
//! A fold over records ([`PostMortem`]) keeps the facts of a run (`facts`, bounded whatever the log
//! holds), and a table of causes (`causes`), each a small function of those facts, says what they
//! point to. Owns the catalogue in `docs/post-mortem.md` and how sure each entry may be. It reads no
//! file and prints nothing; what an agent is called is taken from the log, never known here.
//!
//! The rule for every cause: it says no more than its evidence holds, and names the records. *Certain*
//! is what the log states in so many words. *Likely* is what several facts point to, with nothing
//! against it. *Possible* is what cannot be told from something else. Where no cause explains a bad
//! end, the report says that it cannot be told.

mod advice;
mod causes;
mod facts;
mod report;
mod tail;
mod words;

pub use causes::CauseKind;
pub use report::{Cause, Ended, Note, Report, RunRef, Silence, Standing, Stop, Verdict};

use facts::Facts;
use serde::Serialize;
use stablehand_core::decode::Depth;
use stablehand_core::event::Event;
use stablehand_core::record::{DecisionRecord, LogReader, Record};
use stablehand_core::replay::EventReader;

/// How sure we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sure {
    /// The log says so.
    Certain,
    /// Several facts point to it, and none away from it.
    Likely,
    /// It fits, and something else fits as well.
    Possible,
}

/// Which run of a log is meant; they are counted from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The last one that did not end well; the last one where all did.
    Troubled,
    /// The one of that number.
    Number(u64),
    /// The one of that id; [`Which::Troubled`] where the log has no such run.
    Id(String),
}

/// Takes the records of a log, one after another, and keeps what matters of the run that is meant.
///
/// At most three runs are held at a time, each of bounded size.
#[derive(Debug)]
pub struct PostMortem {
    which: Which,
    reader: EventReader,
    events: Vec<Event>,
    now: Option<Box<Facts>>,
    meant: Option<Box<Facts>>,
    troubled: Option<Box<Facts>>,
    last: Option<Box<Facts>>,
    runs: u64,
}

impl PostMortem {
    /// Of that run.
    pub fn of(which: Which) -> PostMortem {
        PostMortem {
            which,
            reader: EventReader::of(LogReader::default(), Depth::Full).of_runs(),
            events: Vec::new(),
            now: None,
            meant: None,
            troubled: None,
            last: None,
            runs: 0,
        }
    }

    /// Takes the next record.
    pub fn record(&mut self, record: &Record<'_>) {
        if let Some(start) = record.decision().and_then(DecisionRecord::run_start) {
            self.begin(&start.run.0);
        }
        let mut events = std::mem::take(&mut self.events);
        self.reader.record(record, &mut events);
        if let Some(run) = &mut self.now {
            let Some(at) = record.at() else { return run.lost_line() };
            run.record(at, record);
            for event in events.drain(..) {
                run.event(at, &event);
            }
        }
        events.clear();
        self.events = events;
    }

    /// How many lines were no records of ours.
    pub fn skipped(&self) -> u64 {
        self.reader.log().skipped()
    }

    /// How many runs the log has.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The report; none where the log has no such run.
    pub fn report(mut self) -> Option<Report> {
        self.close(true);
        let facts = match &self.which {
            Which::Number(_) => self.meant.take(),
            Which::Id(_) => self.meant.take().or(self.troubled.take()).or(self.last.take()),
            Which::Troubled => self.troubled.take().or(self.last.take()),
        }?;
        let log = self.reader.log();
        Some(Report::of(&facts, self.runs, log.skipped(), log.newer()))
    }

    fn begin(&mut self, id: &str) {
        // A line that stands in the log twice begins nothing.
        if !id.is_empty() && self.now.as_ref().is_some_and(|run| run.id == id) {
            return;
        }
        self.close(false);
        self.runs += 1;
        let log = self.reader.log();
        let program = log.header().program.clone();
        self.now = Some(Box::new(Facts::begin(self.runs, log.dialect(), program)));
    }

    fn close(&mut self, at_the_end: bool) {
        let Some(mut run) = self.now.take() else { return };
        run.close(at_the_end);
        let is_meant = match &self.which {
            Which::Troubled => false,
            Which::Number(number) => run.number == *number,
            Which::Id(id) => run.id == *id,
        };
        if is_meant {
            self.meant = Some(run);
        } else if run.ended_well() {
            self.last = Some(run);
        } else {
            self.troubled = Some(run);
        }
    }
}

#[cfg(test)]
mod tests;
