//! What the monitor decided, by kind and identity: without the words and the measured times.
//!
//! Owns the comparison of an action with the record of one.

use serde::Serialize;
use stablehand_core::event::{EventKind, Health, VerdictKind};
use stablehand_core::monitor::{Action, Moved};
use stablehand_core::record::{DecisionRecord, LogWord, WaitEnded};
use std::fmt;

/// What an id may have become in a record that went through a redactor.
const REDACTED: &str = "[redacted";

/// A decision of the monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// What is believed changed.
    Health {
        /// What was believed.
        from: Health,
        /// What is believed now.
        to: Health,
    },
    /// A silence was put on record.
    Waiting,
    /// Limits moved.
    LimitsMoved(Option<Moved>),
    /// The agent's processes were to be looked at.
    WitnessAsked,
    /// Background commands were to be stopped.
    BackgroundStopped(Vec<u32>),
    /// A call began.
    ToolOpened(String),
    /// A call was over.
    ToolClosed {
        /// Which.
        call: String,
        /// Whether its completion never came.
        presumed: bool,
        /// In one word, how it ended.
        outcome: Option<String>,
    },
    /// A limit was reached while a tool was open.
    SoftStop(Option<VerdictKind>),
    /// A verdict.
    Verdict(Option<VerdictKind>),
    /// A result that came while background tasks were open was the last one.
    ResultStands,
    /// The result came, but the process stayed.
    ExitOverdue,
    /// The same calls gave the same results.
    Livelock {
        /// So many calls made one round.
        period: u64,
        /// So many rounds.
        rounds: u64,
    },
}

/// A value that is written as one word.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(serde_json::Value::Object(fields)) => {
            let kind = fields.get("kind").and_then(serde_json::Value::as_str);
            kind.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

impl Decision {
    /// The identity of an action.
    pub fn of_action(action: &Action) -> Decision {
        match action {
            Action::Health { from, to, .. } => Decision::Health { from: *from, to: *to },
            Action::Waiting { .. } => Decision::Waiting,
            Action::LimitsMoved { cause, .. } => Decision::LimitsMoved(Some(*cause)),
            Action::AskWitness => Decision::WitnessAsked,
            Action::StopBackground { pids } => Decision::BackgroundStopped(pids.clone()),
            Action::ToolOpened(tool) => Decision::ToolOpened(tool.call_id.0.clone()),
            Action::ToolClosed { call, presumed, outcome, .. } => Decision::ToolClosed {
                call: call.0.clone(),
                presumed: *presumed,
                outcome: outcome.as_ref().map(word),
            },
            Action::SoftStop { verdict, .. } => Decision::SoftStop(Some(*verdict)),
            Action::Verdict(judgement) => Decision::Verdict(Some(judgement.kind)),
            Action::ResultStands => Decision::ResultStands,
            Action::ExitOverdue => Decision::ExitOverdue,
            Action::Livelock { period, rounds, .. } => {
                Decision::Livelock { period: *period as u64, rounds: u64::from(*rounds) }
            }
        }
    }

    /// The decision that a record tells of, where it is one of the monitor's.
    pub(super) fn of_record(
        record: &DecisionRecord,
        event: Option<&EventKind>,
    ) -> Option<Decision> {
        fn known(verdict: Option<&LogWord<VerdictKind>>) -> Option<VerdictKind> {
            verdict.and_then(LogWord::known).copied()
        }
        match record {
            DecisionRecord::HealthChanged(_) => match event {
                Some(EventKind::HealthChanged { from, to, .. }) => {
                    Some(Decision::Health { from: *from, to: *to })
                }
                _ => None,
            },
            // The driver puts down itself that it waits for a call which just began.
            DecisionRecord::VerdictWaiting(waiting) => {
                (waiting.idle_silence_ms > 0).then_some(Decision::Waiting)
            }
            DecisionRecord::LimitsMoved(moved) => Some(Decision::LimitsMoved(moved.cause)),
            DecisionRecord::WitnessAsked(_) => Some(Decision::WitnessAsked),
            DecisionRecord::BackgroundStopped(stopped) => {
                Some(Decision::BackgroundStopped(stopped.pids.clone()))
            }
            DecisionRecord::ToolCallOpened(opened) => {
                Some(Decision::ToolOpened(opened.call_id.0.clone()))
            }
            DecisionRecord::ToolCallCompleted(closed) => Some(Decision::ToolClosed {
                call: closed.call_id.0.clone(),
                presumed: closed.presumed,
                outcome: closed.outcome.as_ref().map(word),
            }),
            DecisionRecord::LimitReached(reached) if reached.soft => {
                Some(Decision::SoftStop(known(reached.verdict.as_ref())))
            }
            // A verdict of whoever sits at the agent's terminal is none of the monitor's.
            DecisionRecord::HangDetected(reached) | DecisionRecord::LimitReached(reached)
                if reached.judge.is_none() =>
            {
                Some(Decision::Verdict(known(reached.verdict.as_ref())))
            }
            // A prompt or a person that ended the wait is not the monitor's decision.
            DecisionRecord::ResultStands(stands) => {
                stands.by.is(&WaitEnded::Quiet).then_some(Decision::ResultStands)
            }
            DecisionRecord::ExitOverdue(_) => Some(Decision::ExitOverdue),
            DecisionRecord::LivelockSuspected(livelock) => Some(Decision::Livelock {
                period: livelock.period,
                rounds: u64::from(livelock.rounds),
            }),
            _ => None,
        }
    }

    /// Whether a record tells of this decision. Ids may have been redacted in it.
    pub(super) fn is_told_by(&self, recorded: &Decision) -> bool {
        match (self, recorded) {
            (Decision::ToolOpened(one), Decision::ToolOpened(other)) => same_id(one, other),
            (
                Decision::ToolClosed { call, presumed, outcome },
                Decision::ToolClosed { call: other, presumed: was, outcome: ended },
            ) => same_id(call, other) && presumed == was && outcome == ended,
            // A word that is not known here is a newer version's.
            (Decision::LimitsMoved(_), Decision::LimitsMoved(None))
            | (Decision::SoftStop(_), Decision::SoftStop(None))
            | (Decision::Verdict(_), Decision::Verdict(None)) => true,
            (one, other) => one == other,
        }
    }
}

/// Whether a recorded id is this one.
pub(super) fn same_id(id: &str, recorded: &str) -> bool {
    id == recorded || recorded.contains(REDACTED)
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decision::Health { from, to } => {
                write!(f, "health from {} to {}", word(from), word(to))
            }
            Decision::Waiting => f.write_str("a silence put on record"),
            Decision::LimitsMoved(cause) => {
                write!(f, "limits moved ({})", cause.as_ref().map(word).unwrap_or_default())
            }
            Decision::WitnessAsked => f.write_str("a look at the agent's processes"),
            Decision::BackgroundStopped(pids) => write!(f, "background commands {pids:?} stopped"),
            Decision::ToolOpened(call) => write!(f, "call `{call}` opened"),
            Decision::ToolClosed { call, presumed, outcome } => {
                let how = outcome.as_deref().unwrap_or("no outcome");
                let presumed = if *presumed { ", presumed" } else { "" };
                write!(f, "call `{call}` over ({how}{presumed})")
            }
            Decision::SoftStop(kind) => {
                let kind = kind.as_ref().map(word).unwrap_or_default();
                write!(f, "limit reached while a tool is open ({kind})")
            }
            Decision::Verdict(kind) => {
                write!(f, "verdict {}", kind.as_ref().map(word).unwrap_or_default())
            }
            Decision::ResultStands => f.write_str("a result taken for the last one of its turn"),
            Decision::ExitOverdue => f.write_str("exit overdue"),
            Decision::Livelock { period, rounds } => {
                write!(f, "the same {period} call(s) {rounds} times")
            }
        }
    }
}
