//! Background tasks: which are open, and the result that is not the last one because of them.
//!
//! Claude Code may end its answer while commands, watches or agents that it started go on. It lists
//! them in `background_tasks_changed`, wakes itself when one has ended, and then states another
//! result. Until then the turn is not over: such a result is `turn.result`, the last one ends the turn.

use super::fields::Fields;
use super::flavor::says_something;
use super::text::Sink;
use super::tools::{cut, first};
use crate::event::{EventKind, Item, ItemBody, TurnEnd};
use crate::json::Value;
use serde::{Deserialize, Serialize};

/// So many are told apart; a list that is longer is a mistake.
const MOST: usize = 64;

/// The open tasks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Background {
    open: Vec<Task>,
    /// The text of a result that came while tasks were open, until the agent wakes.
    early: Option<EarlyResult>,
}

#[derive(Debug, Serialize, Deserialize)]
struct EarlyResult {
    text: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    id: String,
    item: Item,
}

impl Background {
    /// Takes the list of every task that is open now.
    pub(super) fn changed(&mut self, fields: &Fields<'_, '_>, sink: &mut Sink<'_>) {
        let Some(tasks) = fields.get("tasks") else { return };
        let mut listed = Vec::new();
        for task in tasks.elements().filter(|task| holds_the_turn(*task)).take(MOST) {
            // A task without an id holds the turn like any other.
            let id = first(task, &["task_id", "description"]).unwrap_or_default();
            if !self.open.iter().any(|open| open.id == id) {
                let item = Item { id: sink.ids.next(), body: body(task) };
                sink.out.push(EventKind::ItemStarted { item: item.clone() });
                self.open.push(Task { id: id.clone(), item });
            }
            listed.push(id);
        }
        for gone in self.open.extract_if(.., |open| !listed.contains(&open.id)) {
            sink.out.push(EventKind::ItemCompleted { item: gone.item });
        }
    }

    /// Takes a result, and returns true if it is not the last one of its turn. A turn that failed has
    /// nothing more to wait for.
    pub(super) fn is_early(&mut self, end: &TurnEnd, text: Option<&String>) -> bool {
        let is_early = *end == TurnEnd::Done && !self.open.is_empty();
        self.early = is_early.then(|| EarlyResult { text: text.cloned() });
        is_early
    }

    /// Returns true after a result that may not be the last one, until the agent wakes.
    pub(super) fn holds_result(&self) -> bool {
        self.early.is_some()
    }

    /// The agent goes on: another result follows.
    pub(super) fn woke(&mut self) {
        self.early = None;
    }

    /// Nothing follows any more: the result that was held is the last one after all. Returns true if
    /// there was one. An agent that was still at work has not given its own result, which would have
    /// been part of the answer; a command has none.
    pub(super) fn finish(&mut self, out: &mut Vec<EventKind>) -> bool {
        let is_agent = |task: &Task| matches!(task.item.body, ItemBody::SubAgent { .. });
        if self.open.iter().any(is_agent) {
            return false;
        }
        let Some(EarlyResult { text }) = self.early.take() else { return false };
        self.end(out);
        // What was used, and how long it took, the result itself has told.
        out.push(EventKind::TurnEnded { end: TurnEnd::Done, text, usage: None, duration_ms: None });
        true
    }

    /// Ends what the turn leaves open.
    pub(super) fn end(&mut self, out: &mut Vec<EventKind>) {
        out.extend(self.open.drain(..).map(|task| EventKind::ItemCompleted { item: task.item }));
    }
}

fn body(task: Value<'_>) -> ItemBody {
    let kind = cut(first(task, &["task_type"]).unwrap_or_default());
    let description = cut(first(task, &["description"]).unwrap_or_default());
    // `local_agent`, `remote_agent`, `local_workflow`, `in_process_teammate`.
    if ["agent", "workflow", "teammate"].iter().any(|word| kind.contains(word)) {
        ItemBody::SubAgent { description }
    } else {
        ItemBody::BackgroundTask { task: kind, description }
    }
}

/// Returns true if Claude Code may go on when this task has ended: not for one that is no work of the
/// turn's (`ambient`), nor for one that goes on elsewhere, without this process (`off_host`).
fn holds_the_turn(task: Value<'_>) -> bool {
    !says_something(task.get("ambient")) && !says_something(task.get("off_host"))
}
