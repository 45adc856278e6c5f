//! From what single runs tell to what a session tells: one end of each turn, one event of each
//! approval.
//!
//! An agent reports a result once for each process, sometimes more often, and asks in its own
//! stream before anything is known of the answer. In a run that we prompt ourselves, records say
//! when a turn begins and ends and which question is put to whom; what the stream says of that is
//! merged into them here. Logs without such records tell what the stream tells.

use crate::event::{EventKind, ItemBody, Origin, Tool, TurnEnd, Usage};
use crate::id::TurnId;
use crate::record::{DecisionKind, DecisionRecord};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many calls and questions are remembered for their details.
const MOST: usize = 64;

/// What a session is known to be at, as far as its events depend on it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SessionView {
    /// The records of this run say when turns begin and end.
    turns: bool,
    /// The records of this run say what is asked.
    approvals: bool,
    turn: Option<TurnId>,
    reported: Reported,
    /// Calls that have begun.
    calls: VecDeque<Tool>,
    /// What questions of the stream are about, by their ids.
    asked: VecDeque<(String, Tool)>,
}

/// What the agent reported in the turn that is on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Reported {
    text: Option<String>,
    usage: Option<Usage>,
    duration_ms: Option<u64>,
    /// The last result was not called the last one of the turn.
    is_early: bool,
}

/// Returns true if the view has to know of a record.
pub(super) fn matters(kind: Option<DecisionKind>) -> bool {
    is_of_session(kind)
        || matches!(kind, Some(DecisionKind::AgentSpawned | DecisionKind::SpawnFailed))
}

/// Returns true if a record is about the session, and not about one of its runs.
pub(super) fn is_of_session(kind: Option<DecisionKind>) -> bool {
    matches!(
        kind,
        Some(DecisionKind::TurnStarted | DecisionKind::TurnEnded | DecisionKind::SessionEnded)
    )
}

impl Reported {
    /// Returns true if an end only says that the result before it was the last one.
    fn repeats(&self, text: Option<&str>) -> bool {
        self.is_early && text == self.text.as_deref()
    }
}

impl SessionView {
    /// The turn that is on.
    pub(super) fn turn(&self) -> Option<TurnId> {
        self.turn
    }

    /// Takes a decision of ours, before the events that it brings.
    pub(super) fn decision(&mut self, record: &DecisionRecord) {
        match record {
            DecisionRecord::AgentSpawned(start) | DecisionRecord::SpawnFailed(start) => {
                let says = |word: &str| start.recorded.iter().any(|it| it == word);
                (self.turns, self.approvals) = (says("turns"), says("approvals"));
                self.calls.clear();
                self.asked.clear();
                self.reported.text = None;
            }
            DecisionRecord::TurnStarted(started) => {
                self.turn = started.turn;
                self.reported = Reported::default();
            }
            _ => {}
        }
    }

    /// Takes an event that a run told; what the session tells of it. `settled` are the questions
    /// that the same record answers.
    pub(super) fn tell(
        &mut self,
        origin: Origin,
        mut kind: EventKind,
        settled: &[String],
    ) -> Option<EventKind> {
        let by_stream = origin == Origin::Agent;
        match &mut kind {
            EventKind::TurnStarted { .. } if self.turns && by_stream => return None,
            EventKind::TurnEnded { text, usage: None, duration_ms: None, .. }
                if self.turns && by_stream && self.reported.repeats(text.as_deref()) =>
            {
                return None;
            }
            EventKind::TurnEnded { .. } | EventKind::TurnResult { .. }
                if self.turns && by_stream =>
            {
                return Some(self.result(kind));
            }
            EventKind::ItemStarted { item } if self.approvals => {
                if let ItemBody::Tool(tool) = &item.body {
                    push(&mut self.calls, (**tool).clone());
                }
            }
            // An agent that answers itself asks nobody else.
            EventKind::ApprovalRequested { id, tool, .. }
                if self.approvals && by_stream && !settled.contains(id) =>
            {
                if let Some(tool) = tool.take() {
                    push(&mut self.asked, (id.clone(), *tool));
                }
                return None;
            }
            EventKind::ApprovalRequested { id, call, tool, .. } => {
                let begun = self.calls.iter().rfind(|known| Some(&known.call) == call.as_ref());
                let asked = self.asked.iter().find(|(known, _)| known == id).map(|(_, tool)| tool);
                let known = [tool.as_deref(), asked, begun];
                let diff = known.into_iter().flatten().find_map(|tool| tool.diff.clone());
                if tool.is_none() {
                    *tool = asked.or(begun).cloned().map(Box::new);
                }
                if let Some(tool) = tool {
                    tool.diff = diff;
                }
            }
            _ => {}
        }
        Some(kind)
    }

    /// Takes a record about the session itself; the event that it tells, with its turn.
    pub(super) fn own(
        &mut self,
        record: &DecisionRecord,
        mut event: EventKind,
    ) -> (EventKind, Option<TurnId>) {
        let turn = match record {
            DecisionRecord::TurnStarted(started) => started.turn,
            DecisionRecord::TurnEnded(ended) => ended.turn,
            _ => None,
        };
        if let EventKind::TurnEnded { text, usage, duration_ms, end } = &mut event {
            // A prompt that never got its turn has nothing to report.
            if self.turn.take_if(|on| Some(*on) == turn).is_some() {
                let reported = std::mem::take(&mut self.reported);
                let is_answer = !matches!(end, TurnEnd::Failed { .. });
                *text = text.take().or(reported.text).filter(|_| is_answer);
                *usage = usage.or(reported.usage);
                *duration_ms = duration_ms.or(reported.duration_ms);
            }
        }
        (event, turn)
    }

    /// The agent's word that it is done, which need not be the end of the turn.
    fn result(&mut self, kind: EventKind) -> EventKind {
        self.reported.is_early = matches!(kind, EventKind::TurnResult { .. });
        let (EventKind::TurnEnded { end, text, usage, duration_ms }
        | EventKind::TurnResult { end, text, usage, duration_ms }) = kind
        else {
            return kind;
        };
        let reported = &mut self.reported;
        if text.is_some() {
            reported.text.clone_from(&text);
        }
        reported.usage = Usage::sum(reported.usage, usage);
        reported.duration_ms = match (reported.duration_ms, duration_ms) {
            (Some(before), Some(more)) => Some(before.saturating_add(more)),
            (before, more) => before.or(more),
        };
        EventKind::TurnResult { end, text, usage, duration_ms }
    }
}

fn push<T>(list: &mut VecDeque<T>, what: T) {
    if list.len() == MOST {
        list.pop_front();
    }
    list.push_back(what);
}
