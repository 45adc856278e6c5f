//! Tool calls, from beginning to end.
//!
//! There is no id of the model call that asked for them, so calls that are open together are taken
//! for parallel. A command may outlive its turn: Codex lets it run and tells its end when it comes.

use super::super::Depth;
use super::text::Pen;
use super::tools;
use super::wire::{self, Kind, Wire};
use crate::event::{EventKind, Item, ItemBody, Outcome, TextRole, Tool, ToolKind};
use crate::id::{CallId, ItemId};
use crate::json::Value;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many calls are remembered as open; an agent that opens more and closes none is broken, and
/// must not take our memory with it.
const MOST_OPEN: usize = 1024;

/// The open calls.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Calls {
    open: VecDeque<Open>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Open {
    /// The agent's id, as it stands on the line.
    #[serde(with = "crate::saved::bytes")]
    native: Vec<u8>,
    item: ItemId,
    #[serde(with = "crate::saved::tool")]
    tool: Box<Tool>,
    /// The turn ended without the call's end, and so much was told.
    outlived: bool,
}

impl Calls {
    /// Opens a call. One that is told again is the same item.
    pub(super) fn started(&mut self, wire: &Wire<'_>, pen: &mut Pen<'_>) {
        let again = self.position(wire.id).and_then(|at| self.open.remove(at));
        let item = again.map_or_else(|| pen.ids.next(), |open| open.item);
        let tool = Box::new(tool_of(wire, item));
        let mut told = tool.clone();
        if wire.kind == Kind::Patch && pen.depth == Depth::Full {
            // Whoever is asked whether it may be made must see all of it.
            let changes = tools::changes(wire);
            let diff: String = changes.iter().filter_map(tools::Change::with_name).collect();
            told.diff = Some(diff).filter(|diff| !diff.is_empty());
        }
        let body = ItemBody::Tool(told);
        pen.out.push(EventKind::ItemStarted { item: Item { id: item, body } });
        if self.open.len() >= MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(Open { native: wire.id.to_vec(), item, tool, outlived: false });
    }

    /// Whether a call of that id is open.
    pub(super) fn knows(&self, native: &[u8]) -> bool {
        self.position(native).is_some()
    }

    /// Whether a call of that id is open still, though its turn is over.
    pub(super) fn has_outlived_its_turn(&self, native: &[u8]) -> bool {
        self.position(native).and_then(|at| self.open.get(at)).is_some_and(|open| open.outlived)
    }

    /// Completes a call; one that was never seen to begin did so now.
    pub(super) fn completed(&mut self, wire: &Wire<'_>, pen: &mut Pen<'_>) {
        if !self.knows(wire.id) {
            self.started(wire, pen);
        }
        let Some(open) = self.position(wire.id).and_then(|at| self.open.remove(at)) else {
            return;
        };
        let mut tool = open.tool;
        // The beginning may have come before all was known, as for a search.
        if tools::says_nothing(&tool.input) {
            let given = tools::given(wire);
            tool.input = given.input;
            tool.digest = given.digest;
        }
        tool.digest = tools::digest_of_end(tool.digest, wire);
        tool.background = false;
        tool.duration_ms = wire.duration.and_then(Value::u64);
        let outcome = tools::outcome(wire);
        let mut others = Vec::new();
        if wire.kind == Kind::Patch {
            let mut changes = tools::changes(wire).into_iter();
            let first = changes.next();
            if pen.depth == Depth::Full {
                tool.diff = first.and_then(|change| change.unified());
            }
            if outcome == Outcome::Success {
                others.extend(changes);
            }
        }
        if pen.depth == Depth::Full {
            tool.output = tools::output(wire);
        }
        tool.outcome = Some(outcome);
        let item = Item { id: open.item, body: ItemBody::Tool(tool) };
        pen.out.push(EventKind::ItemCompleted { item });
        // A call has one path; the other files of a patch are told one by one.
        for change in others {
            let diff = change.unified().filter(|_| pen.depth == Depth::Full);
            let body = ItemBody::FileChange { path: change.path, diff };
            pen.out.push(EventKind::ItemCompleted { item: Item { id: pen.ids.next(), body } });
        }
    }

    /// A piece of what an open call prints.
    pub(super) fn output(
        &mut self,
        native: &[u8],
        text: Value<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let Some(open) = self.position(native).and_then(|at| self.open.get(at)) else {
            return;
        };
        let text = match depth {
            Depth::Skim => String::new(),
            Depth::Full => wire::said(Some(text)).unwrap_or_default(),
        };
        out.push(EventKind::ItemDelta { id: open.item, role: TextRole::ToolOutput, text });
    }

    /// What an open call was given, in a few words.
    pub(super) fn headline(&self, native: &[u8]) -> Option<&str> {
        let open = self.position(native).and_then(|at| self.open.get(at))?;
        Some(open.tool.headline()).filter(|words| !words.is_empty())
    }

    /// The turn is over: nobody waits for what is still open. Commands go on in the background;
    /// if their end comes after all, it is told then.
    pub(super) fn turn_ended(&mut self, out: &mut Vec<EventKind>) {
        for open in &mut self.open {
            if open.outlived {
                continue;
            }
            open.outlived = true;
            open.tool.background = open.tool.tool_kind == ToolKind::Execute;
            let mut tool = open.tool.clone();
            tool.outcome = Some(Outcome::Unknown);
            let item = Item { id: open.item, body: ItemBody::Tool(tool) };
            out.push(EventKind::ItemCompleted { item });
        }
    }

    fn position(&self, native: &[u8]) -> Option<usize> {
        self.open.iter().position(|open| open.native == native)
    }
}

fn tool_of(wire: &Wire<'_>, item: ItemId) -> Tool {
    let given = tools::given(wire);
    Tool {
        call: CallId(wire::said(wire.call).unwrap_or_else(|| format!("item-{}", item.0))),
        name: given.name,
        tool_kind: given.kind,
        input: given.input,
        also: given.also,
        timeout_ms: given.timeout_ms,
        background: false,
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
