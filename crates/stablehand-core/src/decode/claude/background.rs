//! Background agents: which of them work, and the result that is not the last one because of them.
//!
//! Claude Code may end its answer while agents that it started still work. It lists them in
//! `background_tasks_changed`, goes on by itself when one has ended, and then states another result.
//! Until then the turn is not over. Commands in the background do not count: Claude Code ends those a
//! few seconds after its result.

use super::fields::Fields;
use super::flavor::says_something;
use super::text::Sink;
use super::tools::{cut, first};
use crate::event::{EventKind, Item, ItemBody, TurnEnd, Usage};
use crate::json::Value;
use serde::{Deserialize, Serialize};

/// So many are told apart; a list that is longer is a mistake.
const MOST: usize = 64;

/// What an agent's result said, while others still work.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Early {
    pub(super) text: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) duration_ms: Option<u64>,
}

/// The agents that work in the background.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Background {
    open: Vec<Task>,
    early: Option<Early>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    id: String,
    item: Item,
}

impl Background {
    /// Takes the list of everything that works in the background now.
    pub(super) fn changed(&mut self, fields: &Fields<'_, '_>, sink: &mut Sink<'_>) {
        let Some(tasks) = fields.get("tasks") else { return };
        let mut listed = Vec::new();
        for task in tasks.elements().filter(|task| holds_the_turn(*task)).take(MOST) {
            let Some(id) = first(task, &["task_id"]) else { continue };
            if !self.open.iter().any(|open| open.id == id) {
                let description = cut(first(task, &["description"]).unwrap_or_default());
                let item = Item { id: sink.ids.next(), body: ItemBody::SubAgent { description } };
                sink.out.push(EventKind::ItemStarted { item: item.clone() });
                self.open.push(Task { id: id.clone(), item });
            }
            listed.push(id);
        }
        for gone in self.open.extract_if(.., |open| !listed.contains(&open.id)) {
            sink.out.push(EventKind::ItemCompleted { item: gone.item });
        }
    }

    /// Takes a result; gives it back, with the usage of those before it, where the turn is over.
    pub(super) fn result(&mut self, end: &TurnEnd, mut early: Early) -> Option<Early> {
        if let Some(before) = self.early.take() {
            early.usage = match (before.usage, early.usage) {
                (Some(Usage::Turn(one)), Some(Usage::Turn(other))) => {
                    Some(Usage::Turn(one.plus(&other)))
                }
                (before, after) => after.or(before),
            };
        }
        if *end == TurnEnd::Done && !self.open.is_empty() {
            self.early = Some(early);
            return None;
        }
        Some(early)
    }

    /// The stream is over. A result that nobody was left to follow was the last one after all.
    pub(super) fn finish(&mut self, out: &mut Vec<EventKind>) {
        if let Some(Early { text, usage, duration_ms }) =
            self.early.take_if(|_| self.open.is_empty())
        {
            out.push(EventKind::TurnEnded { end: TurnEnd::Done, text, usage, duration_ms });
        }
    }

    /// Ends what the turn leaves open.
    pub(super) fn end(&mut self, out: &mut Vec<EventKind>) {
        out.extend(self.open.drain(..).map(|task| EventKind::ItemCompleted { item: task.item }));
    }
}

/// Whether Claude Code goes on when this task has ended.
fn holds_the_turn(task: Value<'_>) -> bool {
    let is_command = task.get("task_type").is_some_and(|kind| kind.is_str("local_bash"));
    !is_command && !says_something(task.get("ambient"))
}
