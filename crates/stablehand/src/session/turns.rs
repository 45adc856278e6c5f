//! The turn that is on: one record where it begins and one where it ends, whatever lies between.
//!
//! A turn is one accepted prompt. Retries, continuations and the processes that they need belong to
//! it. The runs of a session begin and end turns here, and so does the driver of an agent that takes
//! several in one process; the end is written once.

use crate::control::{Board, TurnRequest};
use crate::driver::{self, Ending, RunReport};
use crate::log::Log;
use stablehand_core::actor::Actor;
use stablehand_core::event::{EventKind, FailureKind, SessionEnd, TurnEnd};
use stablehand_core::id::{RunId, TurnId};
use stablehand_core::record::{SessionEnded, TurnEnded, TurnStarted};

/// The turns of a session, one after the other.
#[derive(Debug)]
pub(crate) struct Turns {
    open: Option<TurnId>,
    board: Board,
}

impl Turns {
    /// No turn is on yet.
    pub(crate) fn new(board: Board) -> Turns {
        Turns { open: None, board }
    }

    /// Returns true while a turn is on.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns true if this turn is on.
    pub(crate) fn is_on(&self, turn: TurnId) -> bool {
        self.open == Some(turn)
    }

    /// Begins a turn: on record before the agent has its prompt.
    pub(crate) fn begin(
        &mut self,
        turn: TurnId,
        by: &Actor,
        prompt: &[u8],
        run: &RunId,
        log: &mut Log,
    ) {
        self.open = Some(turn);
        self.board.set_turn(Some(turn));
        let text = str::from_utf8(prompt).ok().map(|text| driver::cut(text).to_owned());
        let event = EventKind::TurnStarted { prompt: text, by: Some(by.clone()) };
        let record = TurnStarted {
            turn: Some(turn),
            run: run.clone(),
            by: Some(by.by.to_string()),
            via: by.via.clone(),
            bytes: prompt.len() as u64,
        };
        log.decide(record, Some(&event));
    }

    /// Ends the turn that is on, if one is.
    pub(crate) fn end(&mut self, end: TurnEnd, log: &mut Log) {
        let Some(turn) = self.open.take() else { return };
        self.board.set_turn(None);
        write_end(turn, end, log);
    }
}

/// Ends a turn that waited and never began.
pub(crate) fn end_waiting(request: &TurnRequest, log: &mut Log) {
    write_end(request.turn, TurnEnd::Cancelled, log);
}

fn write_end(turn: TurnId, end: TurnEnd, log: &mut Log) {
    let record = TurnEnded { turn: Some(turn), end: Some(end.clone()) };
    let event = EventKind::TurnEnded { end, text: None, usage: None, duration_ms: None };
    log.decide(record, Some(&event));
    log.flush();
}

/// How a turn ended whose process is over.
pub(crate) fn end_of(report: &RunReport) -> TurnEnd {
    let failed = |failure| TurnEnd::Failed { failure, message: report.summary() };
    match (report.end.end, &report.result) {
        (SessionEnd::Interrupted | SessionEnd::ReaderGone, _) => TurnEnd::Cancelled,
        (SessionEnd::Hung | SessionEnd::LimitReached, _) => match &report.verdict {
            Some(verdict) => {
                TurnEnd::Stopped { verdict: verdict.kind, message: verdict.text.clone() }
            }
            None => failed(FailureKind::Internal),
        },
        (SessionEnd::Success | SessionEnd::AgentError, Some(result)) => result.clone(),
        (SessionEnd::Success, None) => TurnEnd::Done,
        (SessionEnd::AgentError, None) => {
            failed(report.error.as_ref().map_or(FailureKind::Internal, |(failure, _)| *failure))
        }
        (SessionEnd::NoResult | SessionEnd::Truncated, _) => failed(FailureKind::NoResult),
        (SessionEnd::SpawnFailed, _) => failed(FailureKind::NotStarted),
        (SessionEnd::Internal, _) => failed(FailureKind::Internal),
    }
}

/// Puts the end of the session on record: its last event.
pub(super) fn end_session(ending: Ending, log: &mut Log) {
    let event = EventKind::SessionEnded {
        end: ending.end,
        ended_by: ending.by,
        last_text: None,
        usage: None,
        stderr_tail: None,
        again: false,
    };
    let record = SessionEnded { outcome: Some(ending.end), ended_by: Some(ending.by) };
    log.decide(record, Some(&event));
}
