//! The pieces that facts are made of, and how they are read from records.

use super::{PROCESSES, TEXT};
use stablehand_core::event::{
    EndedBy, Evidence, FailureKind, ProcessExit, ProcessRow, SessionEnd, ToolClass, VerdictKind,
};
use stablehand_core::id::ItemId;
use stablehand_core::record::{AgentExited, DecisionKind, LogWord, RunEnded};
use stablehand_core::text::excerpt;
use stablehand_core::time::UnixMillis;

/// A record that something rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::post_mortem) struct Seen {
    pub(in crate::post_mortem) at: UnixMillis,
    /// The name of the record, or of the event in it.
    pub(in crate::post_mortem) record: String,
    pub(in crate::post_mortem) text: String,
}

impl Seen {
    pub(in crate::post_mortem) fn new(at: UnixMillis, record: &str, text: &str) -> Seen {
        let text = excerpt(text.as_bytes(), TEXT);
        Seen { at, record: excerpt(record.as_bytes(), TEXT), text }
    }
}

/// Decisions of one name.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Mark {
    pub(in crate::post_mortem) last: Seen,
    pub(in crate::post_mortem) count: u64,
}

/// A verdict with what it rests on.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Judged {
    pub(in crate::post_mortem) seen: Seen,
    pub(in crate::post_mortem) kind: VerdictKind,
    pub(in crate::post_mortem) evidence: Evidence,
}

/// A stage of a stop.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Stopped {
    pub(in crate::post_mortem) at: UnixMillis,
    pub(in crate::post_mortem) stage: String,
    pub(in crate::post_mortem) reason: String,
    pub(in crate::post_mortem) left: Vec<ProcessRow>,
}

/// How the process ended.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Exited {
    pub(in crate::post_mortem) at: UnixMillis,
    pub(in crate::post_mortem) exit: ProcessExit,
    pub(in crate::post_mortem) forced: bool,
    pub(in crate::post_mortem) leaked: Vec<ProcessRow>,
    pub(in crate::post_mortem) survivors: Vec<ProcessRow>,
}

/// How the run ended, as its last record has it.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct End {
    pub(in crate::post_mortem) seen: Seen,
    /// Absent where the log is newer than we are and has a word of its own.
    pub(in crate::post_mortem) outcome: Option<SessionEnd>,
    pub(in crate::post_mortem) by: Option<EndedBy>,
    pub(in crate::post_mortem) exit_code: Option<i64>,
    pub(in crate::post_mortem) failure: Option<FailureKind>,
    pub(in crate::post_mortem) verdict: Option<VerdictKind>,
    pub(in crate::post_mortem) elapsed_ms: Option<u64>,
    pub(in crate::post_mortem) stdout_bytes: Option<u64>,
}

/// Words of the agent's that speak of a failure.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Spoken {
    pub(in crate::post_mortem) seen: Seen,
    pub(in crate::post_mortem) kind: FailureKind,
    /// How far the agent had come; what is greater later says that it went on.
    pub(in crate::post_mortem) progress: u64,
}

/// A call that has begun.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Call {
    pub(super) id: String,
    pub(in crate::post_mortem) at: UnixMillis,
    pub(in crate::post_mortem) headline: String,
    pub(in crate::post_mortem) class: ToolClass,
    /// Of its name and input.
    pub(super) digest: u64,
    /// The line of the log that told its beginning.
    pub(super) record: u64,
}

/// A question that waits for an answer.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Question {
    pub(super) id: String,
    pub(in crate::post_mortem) seen: Seen,
}

/// An answer that somebody may regret.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Refusal {
    pub(in crate::post_mortem) seen: Seen,
    /// Nobody was there, or nobody answered in time.
    pub(in crate::post_mortem) by_nobody: bool,
}

/// Something in the last events, perhaps several times.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Told {
    pub(in crate::post_mortem) at: UnixMillis,
    pub(in crate::post_mortem) what: String,
    pub(in crate::post_mortem) count: u64,
    pub(super) item: Option<ItemId>,
}

/// Nothing was heard for a while.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Quiet {
    pub(in crate::post_mortem) from: UnixMillis,
    pub(in crate::post_mortem) ms: u64,
    pub(in crate::post_mortem) during: String,
}

/// The last sort of thing that the agent did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::post_mortem) enum Last {
    #[default]
    Nothing,
    Session,
    Prompt,
    Reasoning,
    Message,
    ToolBegun,
    ToolDone,
    Retry,
    TurnEnd,
}

/// A table of processes of a size that can be kept.
pub(super) fn few(rows: &[ProcessRow]) -> Vec<ProcessRow> {
    let short = |row: &ProcessRow| {
        let command = row.command.as_ref().map(|line| excerpt(line.as_bytes(), TEXT));
        ProcessRow { command, ..row.clone() }
    };
    rows.iter().take(PROCESSES).map(short).collect()
}

/// Evidence of a size that can be kept.
pub(super) fn trimmed(mut evidence: Evidence) -> Evidence {
    evidence.processes.truncate(PROCESSES);
    evidence.open_tools.truncate(PROCESSES);
    evidence.background_tasks.truncate(PROCESSES);
    evidence.last_events.truncate(PROCESSES);
    evidence.screen.truncate(PROCESSES);
    for tool in &mut evidence.open_tools {
        tool.command = excerpt(tool.command.as_bytes(), TEXT);
    }
    for row in &mut evidence.processes {
        row.name = excerpt(row.name.as_bytes(), TEXT);
    }
    for line in evidence.screen.iter_mut().chain(&mut evidence.last_events) {
        *line = excerpt(line.as_bytes(), TEXT);
    }
    evidence
}

pub(super) fn exited(at: UnixMillis, record: &AgentExited) -> Exited {
    let exit = match (record.exit_code, record.signal) {
        (Some(code), _) => ProcessExit::Code(code),
        (None, Some(signal)) => ProcessExit::Signal(signal),
        (None, None) => ProcessExit::Unknown,
    };
    Exited {
        at,
        exit,
        forced: record.forced,
        leaked: few(&record.leaked),
        survivors: few(&record.survivors),
    }
}

pub(super) fn ended(at: UnixMillis, record: &RunEnded) -> End {
    fn known<T: Copy>(word: Option<&LogWord<T>>) -> Option<T> {
        word.and_then(LogWord::known).copied()
    }
    let said = record.text.as_deref().unwrap_or_default();
    End {
        seen: Seen::new(at, DecisionKind::RunEnded.name(), said),
        outcome: known(record.outcome.as_ref()),
        by: known(record.ended_by.as_ref()),
        exit_code: record.exit_code,
        failure: known(record.failure.as_ref()),
        verdict: known(record.verdict.as_ref()),
        elapsed_ms: record.elapsed_ms,
        stdout_bytes: record.stdout_bytes,
    }
}
