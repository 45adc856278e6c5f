//! Reads what drafts of the protocol add: plans that have ids, whole messages, the state of a session.
//!
//! Version 2 tells the end of a turn by the state `idle`, and may tell a message whole after its
//! pieces. No agent speaks it by itself yet; what is read here is read leniently.

use super::super::Depth;
use super::super::kit::{self, first};
use super::{AcpDecoder, calls, content, end_of, todos, tokens};
use crate::event::{EventKind, Item, ItemBody, TextRole, Todo, TurnEnd};
use crate::json::Value;
use crate::line::Line;

impl AcpDecoder {
    /// A whole message; one that came in pieces is told already.
    pub(super) fn whole(
        &mut self,
        role: TextRole,
        update: Value<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let id = update.get("messageId").map(Value::raw).unwrap_or_default();
        if !id.is_empty() && id == self.chunked {
            return self.stream.close_texts(out);
        }
        self.stream.close_texts(out);
        for block in update.get("content").into_iter().flat_map(Value::elements) {
            match block.get("text") {
                Some(text) => self.stream.piece(role, text, depth, out),
                None => self.stream.piece_by(role, content::named(block), depth, out),
            }
        }
        self.stream.close_texts(out);
    }

    /// Tells a plan.
    pub(super) fn plan(
        &mut self,
        todos: Vec<Todo>,
        text: Option<String>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        self.stream.model_acts(out);
        self.stream.close_texts(out);
        let body = match depth {
            Depth::Skim => ItemBody::Plan { todos: Vec::new(), text: None },
            Depth::Full => ItemBody::Plan { todos, text },
        };
        out.push(EventKind::ItemCompleted { item: Item { id: self.stream.ids.next(), body } });
    }

    /// `plan_update`: entries, Markdown, or the address of a file.
    pub(super) fn plan_update(
        &mut self,
        update: Value<'_>,
        depth: Depth,
        line: &Line<'_>,
        out: &mut Vec<EventKind>,
    ) {
        let Some(plan) = update.get("plan") else { return kit::bad_shape(line, out) };
        match calls::word(plan, "type") {
            b"items" => self.plan(todos(plan), None, depth, out),
            b"markdown" => self.plan(Vec::new(), first(plan, &["content"]), depth, out),
            b"file" => self.plan(Vec::new(), first(plan, &["uri"]), depth, out),
            other => kit::unknown_value("plan of type", other, line, out),
        }
    }

    /// `state_update`: a session that is idle again has ended its turn.
    pub(super) fn state(
        &mut self,
        update: Value<'_>,
        depth: Depth,
        line: &Line<'_>,
        out: &mut Vec<EventKind>,
    ) {
        match calls::word(update, "state") {
            b"running" => self.stream.model_acts(out),
            b"idle" if self.stream.in_turn => {
                let end = match calls::word(update, "stopReason") {
                    b"" => TurnEnd::Done,
                    stop => end_of(stop),
                };
                self.end_turn(end, update.get("usage").map(tokens), depth, out);
            }
            b"idle" | b"requires_action" => {}
            other => kit::unknown_value("state", other, line, out),
        }
    }
}
