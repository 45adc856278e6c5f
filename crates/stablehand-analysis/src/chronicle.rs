//! What is worth keeping of a log, as rows: runs, turns, tools, questions, verdicts, files, text.
//!
//! The index of the logs is made of these rows, and whoever counts, searches or compares reads
//! them. Pure: the same records give the same rows, whether they come while the run goes on or
//! years later. A row is given anew whenever it changes, and replaces the one before with the same
//! numbers; only passages of text are given once, when they are whole. Stores nothing.
//!
//! A new process says everything anew, so whoever has the rows up to one need not read what is
//! before it again: [`Restart`] is all that counts on.

mod fold;
mod rows;
mod time;

pub use rows::{
    FileRow, FileUse, Passage, PassageKind, QuestionRow, Row, RunRow, ToolRow, TurnRow, VerdictRow,
};

use crate::ledger::Ledger;
use fold::Fold;
use serde::{Deserialize, Serialize};
use stablehand_core::decode::{Depth, Dialect};
use stablehand_core::event::EventKind;
use stablehand_core::record::{DecisionKind, LogReader, Record};
use stablehand_core::replay::{EventReader, Told};
use stablehand_core::time::UnixMillis;

/// Takes the records of one log and gives rows.
#[derive(Debug)]
pub struct Chronicle {
    reader: EventReader,
    ledger: Ledger,
    fold: Fold,
    told: Vec<Told>,
}

impl Default for Chronicle {
    fn default() -> Self {
        Chronicle {
            reader: EventReader::of(LogReader::default(), Depth::Full),
            ledger: Ledger::default(),
            fold: Fold::default(),
            told: Vec::new(),
        }
    }
}

/// What is known of a log where a new process of the agent begins: enough to go on from there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    dialect: String,
    runs: u32,
    passages: u32,
    questions: u32,
    skipped: u64,
}

impl Chronicle {
    /// What has to be kept to begin with the record that was just taken, which must be one that
    /// [`begins`] a process. Not before it was taken: it also ends whatever the log has no end of,
    /// and the numbers go on behind that.
    ///
    /// [`begins`]: Self::begins
    pub fn restart(&self) -> Option<Restart> {
        let (runs, passages) = self.fold.counted();
        let questions = u32::try_from(self.ledger.count()).ok()?;
        let dialect = self.reader.log().dialect().name().to_owned();
        Some(Restart { dialect, runs, passages, questions, skipped: self.skipped() })
    }

    /// Whether a record begins a new process.
    pub fn begins(record: &Record<'_>) -> bool {
        matches!(record, Record::Decision(it) if it.kind() == Some(DecisionKind::AgentSpawned))
    }

    /// Goes on with the record that `restart` was made before; `None` where it was made by somebody
    /// who knew more dialects.
    pub fn resume(restart: &Restart) -> Option<Chronicle> {
        let dialect = Dialect::by_name(&restart.dialect)?;
        Some(Chronicle {
            reader: EventReader::of(LogReader::resume(dialect, restart.skipped), Depth::Full),
            ledger: Ledger::after(restart.questions as usize),
            fold: Fold::after(restart.runs, restart.passages, restart.questions),
            told: Vec::new(),
        })
    }

    /// Takes the next record and appends the rows that are complete with it.
    pub fn record(&mut self, record: &Record<'_>, out: &mut Vec<Row>) {
        // A line of a client may be long, and no row is made of it: its fields are not even read.
        if let Record::Decision(decision) = record
            && decision.kind() != Some(DecisionKind::ClientSaid)
            && let Some(record) = decision.record()
        {
            let at = decision.at();
            self.ledger.decision(at, record);
            // What a new process leaves unanswered belongs to the run before.
            self.fold.questions(&mut self.ledger, out);
            self.fold.decision(at, record, out);
        }
        let mut told = std::mem::take(&mut self.told);
        self.reader.tell(record, &mut told);
        for Told { at, kind, .. } in told.drain(..) {
            self.ledger.event(at, &kind);
            self.fold.event(at, kind, out);
        }
        self.told = told;
        self.fold.questions(&mut self.ledger, out);
    }

    /// The rows that changed and were not given yet: to be asked before what was given is stored.
    pub fn flush(&mut self, out: &mut Vec<Row>) {
        self.fold.flush(out);
    }

    /// How many lines were no records of ours.
    pub fn skipped(&self) -> u64 {
        self.reader.log().skipped()
    }
}

/// What an agent's own transcript tells, for the same rows: a run that we did not watch.
#[derive(Debug)]
pub struct Imported {
    ledger: Ledger,
    fold: Fold,
}

impl Imported {
    /// A transcript of an agent; `id` stands for the run.
    pub fn new(agent: &str, id: &str, at: UnixMillis) -> Self {
        let mut fold = Fold::default();
        fold.begin_imported(agent, id, at);
        Imported { ledger: Ledger::default(), fold }
    }

    /// Takes the next event.
    pub fn event(&mut self, at: UnixMillis, kind: EventKind, out: &mut Vec<Row>) {
        self.ledger.event(at, &kind);
        self.fold.event(at, kind, out);
        self.fold.questions(&mut self.ledger, out);
    }

    /// The title that the agent itself gave the session.
    pub fn title(&mut self, title: &str) {
        self.fold.title(title);
    }

    /// The transcript is over, for now.
    pub fn finish(&mut self, out: &mut Vec<Row>) {
        self.fold.finish_imported(out);
        self.fold.flush(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(chronicle: &mut Chronicle, lines: &[&str]) -> Vec<Row> {
        let mut rows = Vec::new();
        for line in lines {
            chronicle.record(&Record::read(line.as_bytes()), &mut rows);
        }
        chronicle.flush(&mut rows);
        rows
    }

    #[test]
    fn numbers_go_on_behind_a_run_that_has_no_end() {
        // The end of the first run was lost, so the second ends its text and its command.
        let first = [
            r#"{"msg":"agent_spawned","ts":1,"run":"r1"}"#,
            r#"{"msg":"raw_part","recv_ts":2,"raw_text":"{\"type\""}"#,
            r#"{"msg":"raw_event","recv_ts":2,"raw":{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"make hay"}}}}}"#,
        ];
        let begins = r#"{"msg":"agent_spawned","ts":3,"run":"r2"}"#;
        let said = r#"{"msg":"stderr","recv_ts":4,"line":"low on hay"}"#;
        let mut chronicle = Chronicle::default();
        rows(&mut chronicle, &first);
        let ends = rows(&mut chronicle, &[begins]);
        assert!(ends.iter().any(|row| matches!(row, Row::Passage(it) if it.text == "make hay")));
        let mut later = Chronicle::resume(&chronicle.restart().unwrap()).unwrap();
        rows(&mut later, &[begins]);
        assert_eq!(rows(&mut later, &[said]), rows(&mut chronicle, &[said]));
    }
}
