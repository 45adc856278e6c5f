//! Tool calls, from beginning to end.
//!
//! A call begins with a `tool_use` block and ends with the `tool_result` that names it; the result
//! has nothing of what the tool was given, so what was started is kept until it ends.

use super::super::Depth;
use super::block::Block;
use super::flavor::Flavor;
use super::outcome::{Decision, Ending, Known};
use super::text::Sink;
use super::tools::{self, Given, first, mix};
use crate::event::{EventKind, Item, ItemBody, Outcome, Tool, ToolInput, ToolKind};
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
    item: ItemId,
    #[serde(with = "crate::saved::tool")]
    tool: Box<Tool>,
    /// The request under which somebody was asked about it.
    asked: Option<String>,
    /// The agent said that it may not, and why.
    denied: Option<String>,
}

/// What a `user` line says about its results beside them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside<'a> {
    /// `tool_use_result`: only where the line has one result.
    pub(super) detail: Option<Value<'a>>,
    /// `tool_result_meta`: a list, by id.
    pub(super) meta: Option<Value<'a>>,
    /// A line of a transcript, which says the same of its one result.
    pub(super) own: Option<Value<'a>>,
}

impl Calls {
    /// Opens a call; false where there is nothing to open.
    pub(super) fn started(
        &mut self,
        flavor: &Flavor,
        block: &Block<'_>,
        step: Option<Value<'_>>,
        sink: &mut Sink<'_>,
    ) -> bool {
        let name = block.name.and_then(Value::string).unwrap_or_default();
        let id = block.id.and_then(Value::string).filter(|id| !id.is_empty());
        if name.is_empty() && id.is_none() {
            return false;
        }
        if id.as_ref().is_some_and(|id| self.position(id).is_some()) {
            return true; // Told again.
        }
        let mut given = tools::given(flavor.tools, &name, block.input);
        if let Some(server) = block.server.and_then(Value::string) {
            given.input = ToolInput::Mcp { server, tool: name.clone() };
        }
        let item = sink.ids.next();
        let call = CallId(id.unwrap_or_else(|| format!("item-{}", item.0)));
        let tool = Box::new(tool_of(call, name, given, step));
        sink.out.push(started(item, &tool));
        if tool.tool_kind == ToolKind::SwitchMode
            && let Some(plan) = block.input.and_then(|input| first(input, &["plan"]))
        {
            let text = Some(plan).filter(|_| sink.depth == Depth::Full);
            plan_told(ItemBody::Plan { todos: Vec::new(), text }, sink);
        }
        if self.open.len() >= MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(Open { item, tool, asked: None, denied: None });
        true
    }

    /// Completes a call; false where there is nothing to complete.
    pub(super) fn completed(
        &mut self,
        flavor: &Flavor,
        block: &Block<'_>,
        beside: Beside<'_>,
        sink: &mut Sink<'_>,
    ) -> bool {
        let id = block.tool_use_id.and_then(Value::string).filter(|id| !id.is_empty());
        let position = match &id {
            Some(id) => self.position(id),
            // Errors name the call behind their words, which may be cut off.
            None => Some(0).filter(|_| self.open.len() == 1),
        };
        let open = match (position.and_then(|at| self.open.remove(at)), id) {
            (Some(open), _) => open,
            (None, Some(id)) => {
                let open = unseen(id, sink.ids.next());
                sink.out.push(started(open.item, &open.tool));
                open
            }
            (None, None) => return false,
        };
        let Open { item, mut tool, asked, denied } = open;
        let meta = beside
            .meta
            .into_iter()
            .flat_map(Value::elements)
            .find(|meta| first(*meta, &["id"]).is_some_and(|id| id == tool.call.0))
            .or(beside.own);
        let known = Known {
            kind: tool.tool_kind,
            was_asked: asked.is_some(),
            denied: denied.as_deref(),
            exit_code: flavor.exit_code,
        };
        let ending = Ending::read(block, beside.detail, meta, &known);
        if let Some(id) = asked {
            sink.out.push(answered(id, &ending));
        }
        tool.background |= ending.background;
        tool.digest = mix(tool.digest, ending.digest);
        tool.duration_ms = ending.duration_ms;
        if sink.depth == Depth::Full {
            tool.output = ending.output();
            tool.diff = ending.diff();
        }
        let todos = match &tool.input {
            ToolInput::Todos { todos } if ending.outcome == Outcome::Success => Some(todos.clone()),
            _ => None,
        };
        tool.outcome = Some(ending.outcome);
        sink.out.push(completed(item, tool));
        if let Some(todos) = todos {
            plan_told(ItemBody::Plan { todos, text: None }, sink);
        }
        true
    }

    /// The item of an open call, to add to its output.
    pub(super) fn item(&self, id: &str) -> Option<ItemId> {
        self.position(id).and_then(|at| self.open.get(at)).map(|open| open.item)
    }

    /// The last call that was made for another agent and is still open.
    pub(super) fn last_agent(&self) -> Option<&str> {
        let is_agent = |open: &&Open| matches!(open.tool.input, ToolInput::SubAgent { .. });
        self.open.iter().rev().find(is_agent).map(|open| open.tool.call.0.as_str())
    }

    /// Somebody is asked about a call, under this request.
    pub(super) fn asked(&mut self, id: &str, request: &str) {
        if let Some(open) = self.position(id).and_then(|at| self.open.get_mut(at)) {
            open.asked = Some(request.to_owned());
        }
    }

    /// A question was withdrawn; true where it was open.
    pub(super) fn withdrawn(&mut self, request: &str) -> bool {
        let mut asked = self.open.iter_mut().filter(|open| open.asked.as_deref() == Some(request));
        asked.next().is_some_and(|open| open.asked.take().is_some())
    }

    /// The agent says that a call may not be made.
    pub(super) fn denied(&mut self, id: &str, why: &str) {
        if let Some(open) = self.position(id).and_then(|at| self.open.get_mut(at)) {
            open.denied = Some(why.to_owned());
        }
    }

    /// The turn was broken off: calls that are open have ended with it, however they ended.
    pub(super) fn broken_off(&mut self, sink: &mut Sink<'_>) {
        for Open { item, mut tool, .. } in self.open.drain(..) {
            tool.outcome = Some(Outcome::Unknown);
            sink.out.push(completed(item, tool));
        }
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.open.iter().position(|open| open.tool.call.0 == id)
    }
}

/// A call that was never seen to begin, but did.
fn unseen(id: String, item: ItemId) -> Open {
    let tool = tool_of(CallId(id), String::new(), tools::given(&[], "", None), None);
    Open { item, tool: Box::new(tool), asked: None, denied: None }
}

/// Reads a call by the tool's name and what it is given.
pub(in crate::decode) fn call(table: &[super::Row], name: &str, args: Value<'_>) -> Tool {
    let given = tools::given(table, name, Some(args));
    tool_of(CallId(String::new()), name.to_owned(), given, None)
}

/// A call as it begins.
pub(super) fn tool_of(call: CallId, name: String, given: Given, step: Option<Value<'_>>) -> Tool {
    Tool {
        call,
        name,
        tool_kind: given.kind,
        input: given.input,
        also: given.also,
        timeout_ms: given.timeout_ms,
        background: given.background,
        pid: None,
        step: step.and_then(Value::string),
        outcome: None,
        output: None,
        output_bytes: None,
        diff: None,
        duration_ms: None,
        digest: given.digest,
    }
}

fn started(id: ItemId, tool: &Tool) -> EventKind {
    EventKind::ItemStarted { item: Item { id, body: ItemBody::Tool(Box::new(tool.clone())) } }
}

fn completed(id: ItemId, tool: Box<Tool>) -> EventKind {
    EventKind::ItemCompleted { item: Item { id, body: ItemBody::Tool(tool) } }
}

fn plan_told(plan: ItemBody, sink: &mut Sink<'_>) {
    let item = Item { id: sink.ids.next(), body: plan };
    sink.out.push(EventKind::ItemCompleted { item });
}

/// The answer to a question shows only in what became of the call.
fn answered(id: String, ending: &Ending<'_>) -> EventKind {
    let refused = matches!(ending.outcome, Outcome::Rejected { .. } | Outcome::Denied { .. });
    let (accepted, by) = match &ending.decision {
        Some(Decision { accepted, source }) => (*accepted, source.clone()),
        None => (!refused, "agent".to_owned()),
    };
    let choice = if accepted { "allow" } else { "deny" };
    EventKind::resolved(id, choice, by)
}
