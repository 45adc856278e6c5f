//! Tool calls, from beginning to end, paired by the agent's id.

use super::input::Given;
use super::{Ids, Row};
use crate::event::{EventKind, Item, ItemBody, Outcome, Tool};
use crate::id::{CallId, ItemId};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many calls are remembered as open; an agent that opens more and closes none is broken, and
/// must not take our memory with it.
const MOST_OPEN: usize = 1024;

/// The open calls.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct Calls {
    open: VecDeque<Open>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Open {
    item: ItemId,
    #[serde(with = "crate::saved::tool")]
    tool: Box<Tool>,
}

impl Calls {
    /// Opens a call. One that is told again, after a reconnect perhaps, keeps its item; one without
    /// an id gets ours.
    pub(in super::super) fn started(
        &mut self,
        mut tool: Tool,
        ids: &mut Ids,
        out: &mut Vec<EventKind>,
    ) {
        let item = match self.take(&tool.call.0) {
            Some((item, _)) => item,
            None => ids.next(),
        };
        if tool.call.0.is_empty() {
            tool.call.0 = format!("item-{}", item.0);
        }
        let tool = Box::new(tool);
        let body = ItemBody::Tool(tool.clone());
        out.push(EventKind::ItemStarted { item: Item { id: item, body } });
        if self.open.len() >= MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(Open { item, tool });
    }

    /// Takes a call out, to be completed.
    pub(in super::super) fn take(&mut self, call: &str) -> Option<(ItemId, Box<Tool>)> {
        let at = self.open.iter().position(|open| open.tool.call.0 == call)?;
        self.open.remove(at).map(|Open { item, tool }| (item, tool))
    }

    /// Takes a call out, or, where it was never seen to begin, tells that it did.
    pub(in super::super) fn take_or_begin(
        &mut self,
        call: &str,
        ids: &mut Ids,
        out: &mut Vec<EventKind>,
        begin: impl FnOnce() -> Tool,
    ) -> (ItemId, Box<Tool>) {
        if let Some(open) = self.take(call) {
            return open;
        }
        let item = ids.next();
        let tool = Box::new(begin());
        let body = ItemBody::Tool(tool.clone());
        out.push(EventKind::ItemStarted { item: Item { id: item, body } });
        (item, tool)
    }

    /// The item of an open call.
    pub(in super::super) fn item(&self, call: &str) -> Option<ItemId> {
        self.open.iter().find(|open| open.tool.call.0 == call).map(|open| open.item)
    }

    /// The turn ended and the agent will say no more about these.
    pub(in super::super) fn abandon(&mut self, out: &mut Vec<EventKind>) {
        for Open { item: id, mut tool } in self.open.drain(..) {
            tool.outcome = Some(Outcome::Unknown);
            out.push(EventKind::ItemCompleted { item: Item { id, body: ItemBody::Tool(tool) } });
        }
    }
}

/// A call that begins.
pub(in super::super) fn tool(call: String, name: &str, row: Row, given: Given) -> Tool {
    Tool {
        call: CallId(call),
        name: name.to_owned(),
        tool_kind: row.kind,
        input: given.input,
        also: given.also,
        timeout_ms: given.timeout_ms,
        background: given.background,
        pid: None,
        step: None,
        outcome: None,
        output: None,
        output_bytes: None,
        diff: None,
        duration_ms: None,
        digest: given.digest,
    }
}
