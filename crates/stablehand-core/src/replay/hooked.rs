//! What the calls of hooks add to a stream: thinking, changed files, other agents.
//!
//! Owns the numbers of those items, and the rule that nothing is told twice: what an agent's own
//! stream tells (its messages, and where it shows them its thoughts) is not taken from hooks as well.

use crate::decode::Dialect;
use crate::event::{EventKind, Item, ItemBody};
use crate::hook::{AgentMoment, Heard, OtherAgent};
use crate::id::ItemId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;

/// So many other agents at once; what began before them stays open.
const MOST_AGENTS: usize = 256;

/// Items of hooks are counted from here: the stream has its own count, and they must not meet.
const FIRST: u64 = 1 << 32;

/// Makes items of what hooks tell.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Hooked {
    items: u64,
    /// The stream shows what the model thinks.
    thoughts_in_stream: bool,
    /// Other agents that have begun and are not over, the oldest first.
    open: VecDeque<Open>,
}

/// Another agent at work.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    id: Option<String>,
    /// What it is to do.
    task: String,
    item: ItemId,
}

impl Hooked {
    /// An event of the agent's own stream.
    pub(super) fn saw(&mut self, event: &EventKind) {
        if let EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } = event
            && matches!(item.body, ItemBody::Reasoning { .. })
        {
            self.thoughts_in_stream = true;
        }
    }

    /// What a call tells beyond itself.
    pub(super) fn tell(
        &mut self,
        agent: &str,
        name: &str,
        payload: &Value,
        out: &mut Vec<EventKind>,
    ) {
        let hooks = Dialect::by_name(agent).and_then(Dialect::hooks);
        let Some(hooks) = hooks.filter(|hooks| hooks.event(name).is_some()) else { return };
        let Heard { items, other_agent, .. } = hooks.read(name, payload);
        for body in items {
            match body {
                ItemBody::Message { .. } => {}
                ItemBody::Reasoning { .. } if self.thoughts_in_stream => {}
                ItemBody::SubAgent { description } => {
                    self.agent(other_agent.as_ref(), description, out);
                }
                body => {
                    let item = Item { id: self.next(), body };
                    out.push(EventKind::ItemStarted { item: item.clone() });
                    out.push(EventKind::ItemCompleted { item });
                }
            }
        }
    }

    /// Another agent begins, or is over.
    fn agent(&mut self, other: Option<&OtherAgent>, description: String, out: &mut Vec<EventKind>) {
        let id = other.and_then(|other| other.id.clone());
        if other.is_some_and(|other| other.moment == AgentMoment::Begins) {
            let same = self.open.iter().find(|open| id.is_some() && open.id == id);
            let item = match same {
                // Told once more.
                Some(open) => open.item,
                None => self.opened(id, description.clone()),
            };
            let item = Item { id: item, body: ItemBody::SubAgent { description } };
            return out.push(EventKind::ItemStarted { item });
        }
        let item = match self.place(id.as_deref(), &description) {
            Some(at) => self.open.remove(at).map(|open| open.item),
            None => None,
        };
        let id = item.unwrap_or_else(|| self.next());
        let item = Item { id, body: ItemBody::SubAgent { description } };
        out.push(EventKind::ItemCompleted { item });
    }

    fn opened(&mut self, id: Option<String>, task: String) -> ItemId {
        let item = self.next();
        if self.open.len() == MOST_AGENTS {
            self.open.pop_front();
        }
        self.open.push_back(Open { id, task, item });
        item
    }

    /// Which one is over: the one of that id. Where either side has none, one that began with the
    /// same task, or any.
    fn place(&self, id: Option<&str>, description: &str) -> Option<usize> {
        let exact = self.open.iter().position(|open| id.is_some() && open.id.as_deref() == id);
        let may_be = |open: &Open| id.is_none() || open.id.is_none();
        let by_task = || {
            let same = |open: &Open| may_be(open) && description.contains(open.task.as_str());
            self.open.iter().position(same)
        };
        exact.or_else(by_task).or_else(|| self.open.iter().position(may_be))
    }

    fn next(&mut self) -> ItemId {
        self.items += 1;
        ItemId(FIRST + self.items)
    }
}
