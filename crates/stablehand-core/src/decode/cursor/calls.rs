//! Tool calls, from beginning to end.
//!
//! A completion often lacks what the beginning said (a denied call has no arguments), so what was
//! started is kept until it ends. Calls are paired by the agent's id; a call without one by its
//! name.

use super::super::Depth;
use super::super::kit::says_nothing;
use super::fields::Fields;
use super::outcome::Ending;
use super::text::Ids;
use super::tools::{self, Call, mix};
use crate::event::{EventKind, Item, ItemBody, Tool, ToolInput, ToolKind};
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
    /// A plan that came with the last completion; to be taken.
    pub(super) plan: Option<ItemBody>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Open {
    item: ItemId,
    #[serde(with = "crate::saved::tool")]
    tool: Box<Tool>,
    /// The agent gave no id; ours stands in for it.
    nameless: bool,
}

impl Calls {
    /// Opens a call; false where there is nothing to open.
    pub(super) fn started(
        &mut self,
        fields: &Fields<'_, '_>,
        ids: &mut Ids,
        out: &mut Vec<EventKind>,
    ) -> bool {
        let call_id = call_id(fields);
        let call = call_of(fields, /* is_beginning */ true);
        if call_id.is_none() && call.name.is_empty() {
            return false;
        }
        // Told again, after a reconnect perhaps: the same item.
        let again = call_id.as_ref().and_then(|id| self.position(id));
        let item = match again.and_then(|at| self.open.remove(at)) {
            Some(open) => open.item,
            None => ids.next(),
        };
        let tool = Box::new(tool_of(call_id.clone(), &call, fields, item));
        out.push(EventKind::ItemStarted {
            item: Item { id: item, body: ItemBody::Tool(tool.clone()) },
        });
        if self.open.len() >= MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(Open { item, tool, nameless: call_id.is_none() });
        true
    }

    /// Completes a call; false where there is nothing to complete.
    pub(super) fn completed(
        &mut self,
        fields: &Fields<'_, '_>,
        depth: Depth,
        ids: &mut Ids,
        out: &mut Vec<EventKind>,
    ) -> bool {
        let call_id = call_id(fields);
        let mut call = call_of(fields, /* is_beginning */ false);
        let position = match &call_id {
            Some(id) => self.position(id),
            None => self.open.iter().position(|open| open.nameless && open.tool.name == call.name),
        };
        let (item, mut tool) = if let Some(open) = position.and_then(|at| self.open.remove(at)) {
            let mut tool = open.tool;
            // The beginning may have come before its arguments.
            if says_nothing(&tool.input) {
                let given = call.input();
                tool.input = given.input;
                tool.also = given.also;
                tool.timeout_ms = tool.timeout_ms.or(given.timeout_ms);
                tool.digest = given.digest;
                if tool.name.is_empty() {
                    tool.name = call.name.clone().into_owned();
                    tool.tool_kind = call.row.kind;
                }
            }
            (open.item, tool)
        } else {
            if call_id.is_none() && call.name.is_empty() {
                return false;
            }
            // Never seen to begin, but it did.
            let item = ids.next();
            let tool = Box::new(tool_of(call_id, &call, fields, item));
            out.push(EventKind::ItemStarted {
                item: Item { id: item, body: ItemBody::Tool(tool.clone()) },
            });
            (item, tool)
        };
        let ending = call.ending.take().unwrap_or_else(Ending::unknown);
        tool.background |= ending.background;
        tool.pid = ending.pid;
        tool.digest = mix(tool.digest, ending.digest);
        let beside = || fields.get("duration_ms").and_then(Value::u64);
        tool.duration_ms = ending.duration_ms.or(call.elapsed_ms()).or_else(beside);
        if tool.step.is_none() {
            tool.step = fields.step.and_then(Value::string);
        }
        if depth == Depth::Full {
            tool.output = ending.output();
            if tool.tool_kind == ToolKind::Edit {
                tool.diff = ending.diff();
            }
        }
        self.plan = plan_after(&tool, &call, &ending);
        tool.outcome = Some(ending.outcome);
        out.push(EventKind::ItemCompleted { item: Item { id: item, body: ItemBody::Tool(tool) } });
        true
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.open.iter().position(|open| open.tool.call.0 == id)
    }
}

fn call_of<'a>(fields: &Fields<'_, 'a>, is_beginning: bool) -> Call<'a> {
    match fields.tool_call {
        Some(tool_call) => Call::read(tool_call, is_beginning),
        // Nothing but a name.
        None => fields.get("tool").and_then(Value::str).map(Call::named).unwrap_or_default(),
    }
}

fn tool_of(
    call_id: Option<String>,
    call: &Call<'_>,
    fields: &Fields<'_, '_>,
    item: ItemId,
) -> Tool {
    let given = call.input();
    Tool {
        call: CallId(call_id.unwrap_or_else(|| format!("item-{}", item.0))),
        name: call.name.clone().into_owned(),
        tool_kind: call.row.kind,
        input: given.input,
        also: given.also,
        timeout_ms: given.timeout_ms,
        background: given.background,
        pid: None,
        step: fields.step.and_then(Value::string),
        outcome: None,
        output: None,
        output_bytes: None,
        diff: None,
        duration_ms: None,
        digest: given.digest,
    }
}

/// The agent's id of the call: on the line, or beside the tool.
fn call_id(fields: &Fields<'_, '_>) -> Option<String> {
    fields
        .call
        .and_then(Value::string)
        .or_else(|| {
            let tool_call = fields.tool_call?;
            tools::first(tool_call, &["toolCallId", "id"])
        })
        .filter(|id| !id.is_empty())
}

/// The plan that a completed call leaves behind, where it is one about plans.
fn plan_after(tool: &Tool, call: &Call<'_>, ending: &Ending<'_>) -> Option<ItemBody> {
    if let ToolInput::Todos { todos: given } = &tool.input {
        // The result has the whole list; the input may have had only the changes.
        let todos = match ending.todos() {
            Some(all) => tools::todos(all),
            None => given.clone(),
        };
        return (!todos.is_empty()).then_some(ItemBody::Plan { todos, text: None });
    }
    if tool.name == "createPlanToolCall" {
        return call.args.map(plan_of);
    }
    None
}

/// The plan in the arguments of `createPlan`.
pub(super) fn plan_of(args: Value<'_>) -> ItemBody {
    ItemBody::Plan {
        todos: args.get("todos").map(tools::todos).unwrap_or_default(),
        text: tools::first(args, &["plan", "overview"]),
    }
}
