//! When a turn is over, told by the events of its session.
//!
//! Agents that listen say it; of the others the end of the process is the end of the turn. Where a
//! rule has the agent go on, neither is.

use stablehand_core::Event;
use stablehand_core::event::{EventKind, Health, SessionEnd};

/// When a turn is over, and another prompt may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndOfTurn {
    /// When its process is, unless another one goes on with the session.
    Exit,
    /// When the agent says so.
    Word,
    /// When the agent rests: after its word a rule may have it go on.
    Rest,
}

impl EndOfTurn {
    /// For an agent that listens or not, under rules to go on or none.
    pub(crate) fn of(listens: bool, continues: bool) -> EndOfTurn {
        match (listens, continues) {
            (false, _) => EndOfTurn::Exit,
            (true, false) => EndOfTurn::Word,
            (true, true) => EndOfTurn::Rest,
        }
    }
}

/// Watches for the ends of turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnWatch {
    ends: EndOfTurn,
    after: After,
}

/// What was heard of the turn's end so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    Word,
    Continued,
    /// It is tried again.
    Again,
}

impl TurnWatch {
    pub(crate) fn new(ends: EndOfTurn) -> TurnWatch {
        TurnWatch { ends, after: After::Nothing }
    }

    /// Whether a turn is over with this event.
    pub(crate) fn is_over(&mut self, event: &Event) -> bool {
        let is_over = match event.event {
            // Somebody cancelled the wait for another try.
            EventKind::TurnEnded { .. } if self.after == After::Again => true,
            EventKind::TurnEnded { .. } => {
                self.after = After::Word;
                self.ends == EndOfTurn::Word
            }
            EventKind::ProcessSpawned { .. } if self.after == After::Again => {
                self.after = After::Nothing;
                false
            }
            EventKind::SessionEnded { again: true, .. } => {
                self.after = After::Again;
                false
            }
            EventKind::TurnContinued { .. } => {
                self.after = After::Continued;
                false
            }
            EventKind::HealthChanged { to: Health::AwaitingPrompt, .. } => {
                self.after == After::Word && self.ends == EndOfTurn::Rest
            }
            // The next process goes on with the session.
            EventKind::SessionEnded { end: SessionEnd::Success, .. }
                if self.after == After::Continued && self.ends == EndOfTurn::Exit =>
            {
                self.after = After::Nothing;
                false
            }
            EventKind::SessionEnded { .. } => true,
            _ => false,
        };
        if is_over {
            self.after = After::Nothing;
        }
        is_over
    }
}
