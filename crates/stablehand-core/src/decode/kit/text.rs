//! Texts that grow: messages and thinking, from their first piece to the whole.
//!
//! Rule for whoever listens: all text comes by `item.delta`; `item.completed` repeats the whole.

use super::super::Depth;
use crate::event::{EventKind, Item, ItemBody, TextRole};
use crate::id::ItemId;
use crate::json::Value;
use serde::{Deserialize, Serialize};

/// Gives out item ids.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct Ids(u64);

impl Ids {
    pub(in super::super) fn next(&mut self) -> ItemId {
        self.0 += 1;
        ItemId(self.0)
    }
}

/// The open text of one role and its completion.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct OpenText {
    id: Option<ItemId>,
    /// The whole of it; only kept when somebody wants it.
    text: String,
}

impl OpenText {
    /// Adds a string as it stands on the line, whole or cut off, opening the item where none is
    /// open.
    #[inline]
    pub(in super::super) fn grow(
        &mut self,
        text: Value<'_>,
        role: TextRole,
        depth: Depth,
        ids: &mut Ids,
        out: &mut Vec<EventKind>,
    ) {
        let text = match depth {
            Depth::Skim => skimmed_value(text),
            Depth::Full => text.cut_str().unwrap_or_default(),
        };
        self.grow_by(text, role, depth, ids, out);
    }

    /// Adds text that is already unescaped.
    #[inline]
    pub(in super::super) fn grow_by(
        &mut self,
        text: String,
        role: TextRole,
        depth: Depth,
        ids: &mut Ids,
        out: &mut Vec<EventKind>,
    ) {
        let id = if let Some(id) = self.id {
            id
        } else {
            let id = ids.next();
            self.id = Some(id);
            out.push(EventKind::ItemStarted { item: Item { id, body: body(role, String::new()) } });
            id
        };
        let text = match depth {
            Depth::Skim => skimmed(text.as_bytes()),
            Depth::Full => {
                self.text.push_str(&text);
                text
            }
        };
        out.push(EventKind::ItemDelta { id, role, text });
    }

    /// Completes the item where one is open.
    #[inline]
    pub(in super::super) fn close(&mut self, role: TextRole, out: &mut Vec<EventKind>) {
        if let Some(id) = self.id.take() {
            let body = body(role, std::mem::take(&mut self.text));
            out.push(EventKind::ItemCompleted { item: Item { id, body } });
        }
    }
}

/// What is left of a piece of text that is only skimmed: a space where there is nothing to read, else
/// nothing. So whoever counts progress knows blank pieces from others.
#[inline]
pub(in super::super) fn skimmed(text: &[u8]) -> String {
    match text.first() {
        // Nearly all begin with a letter.
        Some(0x21..=0x7e) | None => String::new(),
        Some(_) if str::from_utf8(text).is_ok_and(|text| text.trim_start().is_empty()) => {
            " ".to_owned()
        }
        Some(_) => String::new(),
    }
}

/// The same for a text as it stands in JSON, with its escapes.
#[inline]
pub(in super::super) fn skimmed_value(text: Value<'_>) -> String {
    match text.raw_str().and_then(<[u8]>::first) {
        None | Some(b'!'..=b'[' | b']'..=b'~') => String::new(),
        Some(_) => text.str().map_or_else(String::new, |text| skimmed(text.as_bytes())),
    }
}

/// An item of a role, with its text.
pub(in super::super) fn body(role: TextRole, text: String) -> ItemBody {
    match role {
        TextRole::Reasoning => ItemBody::Reasoning { text },
        TextRole::Message | TextRole::ToolOutput => ItemBody::Message { text },
    }
}
