//! What the calls of hooks add to a stream: thinking, changed files, other agents.
//!
//! Owns the numbers of those items, and the rule that nothing is told twice: what an agent's own
//! stream tells (its messages, and where it shows them its thoughts) is not taken from hooks as well.

use crate::decode::Dialect;
use crate::event::{EventKind, Item, ItemBody};
use crate::hook::Role;
use crate::id::ItemId;
use serde_json::Value;

/// Items of hooks are counted from here: the stream has its own count, and they must not meet.
const FIRST: u64 = 1 << 32;

/// Makes items of what hooks tell.
#[derive(Debug, Default)]
pub(super) struct Hooked {
    items: u64,
    /// The stream shows what the model thinks.
    thoughts_in_stream: bool,
    /// Other agents that have begun and are not over: what they are to do, and their items.
    open: Vec<(String, ItemId)>,
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
        let begins = hooks.role(name) == Role::Permission;
        for body in hooks.read(name, payload).items {
            match body {
                ItemBody::Message { .. } => {}
                ItemBody::Reasoning { .. } if self.thoughts_in_stream => {}
                ItemBody::SubAgent { description } => self.agent(begins, description, out),
                body => {
                    let item = Item { id: self.next(), body };
                    out.push(EventKind::ItemStarted { item: item.clone() });
                    out.push(EventKind::ItemCompleted { item });
                }
            }
        }
    }

    /// Another agent begins, or is over: one of those that began with the same task, or any.
    fn agent(&mut self, begins: bool, description: String, out: &mut Vec<EventKind>) {
        if begins {
            let id = self.next();
            self.open.push((description.clone(), id));
            let item = Item { id, body: ItemBody::SubAgent { description } };
            return out.push(EventKind::ItemStarted { item });
        }
        let known = self.open.iter().position(|(task, _)| description.contains(task.as_str()));
        let id = match known.or_else(|| (!self.open.is_empty()).then_some(0)) {
            Some(at) => self.open.remove(at).1,
            None => self.next(),
        };
        let item = Item { id, body: ItemBody::SubAgent { description } };
        out.push(EventKind::ItemCompleted { item });
    }

    fn next(&mut self) -> ItemId {
        self.items += 1;
        ItemId(FIRST + self.items)
    }
}
