//! What the model says, once: the reducer of Cursor's four forms of `assistant` lines.
//!
//! With partial output the CLI streams pieces and then repeats them: before a tool call, before a
//! question and at the end comes a *flush*, a line with everything since the last one. Without it,
//! every message comes once, in the form of a flush. After a reconnect, pieces that were already
//! streamed may come again. Owned here: which text is new, and where a message begins and ends.
//! Rule for whoever listens: all text comes by `item.delta`; `item.completed` repeats the whole.

use super::super::Depth;
pub(super) use super::super::kit::Ids;
use super::super::kit::{body, skimmed};
use crate::event::{EventKind, Item, TextRole};
use crate::id::ItemId;
use crate::json;
use serde::{Deserialize, Serialize};

/// How much of the text since the last flush is kept to compare with: more than the longest answer
/// that was seen (235 kB), little enough to be held for every run. Beyond it lengths are compared.
const KEEP: usize = 1 << 20;

/// The open text of one role and its completion.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct OpenText {
    id: Option<ItemId>,
    /// The whole of it; only kept when somebody wants it.
    text: String,
}

impl OpenText {
    /// Adds text, opening the item where none is open.
    #[inline]
    pub(super) fn grow(
        &mut self,
        text: &[u8],
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
            let body = body(role, String::new());
            out.push(EventKind::ItemStarted { item: Item { id, body } });
            id
        };
        let text = match depth {
            Depth::Skim => skimmed(text),
            Depth::Full => {
                let text = json::text(text);
                self.text.push_str(&text);
                text
            }
        };
        out.push(EventKind::ItemDelta { id, role, text });
    }

    /// Completes the item where one is open.
    #[inline]
    pub(super) fn close(&mut self, role: TextRole, out: &mut Vec<EventKind>) {
        if let Some(id) = self.id.take() {
            let body = body(role, std::mem::take(&mut self.text));
            out.push(EventKind::ItemCompleted { item: Item { id, body } });
        }
    }
}

/// Messages for the user.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Messages {
    open: OpenText,
    /// Text since the last flush, at most [`KEEP`] of it.
    #[serde(with = "crate::saved::bytes")]
    kept: Vec<u8>,
    /// The length of all of it.
    len: usize,
    /// Where in it the open message began.
    item_from: usize,
    /// A flush has confirmed `kept`; it stays only in case a reconnect brings it again.
    flushed: bool,
    /// Where in it the last reconnect was.
    resumed_at: Option<usize>,
    /// After a reconnect: how much of `kept` has come again.
    replayed: Option<usize>,
}

impl Messages {
    /// A piece.
    pub(super) fn delta(
        &mut self,
        text: &[u8],
        depth: Depth,
        ids: &mut Ids,
        out: &mut Vec<EventKind>,
    ) {
        if text.is_empty() {
            return;
        }
        if self.flushed {
            self.forget();
        }
        let Some(at) = self.replayed else {
            return self.grow(text, depth, ids, out);
        };
        let rest = self.kept.get(at..).unwrap_or_default();
        if rest.starts_with(text) {
            self.replayed = Some(at + text.len()).filter(|at| *at < self.kept.len());
        } else if let Some(new) = text.strip_prefix(rest) {
            self.replayed = None;
            self.grow(new, depth, ids, out);
        } else {
            // The model took another turn (or this is no replay at all): what was held back is new.
            self.replayed = None;
            if at > 0 {
                self.open.close(TextRole::Message, out);
                let mut held = self.kept.get(..at).unwrap_or_default().to_vec();
                held.extend_from_slice(text);
                self.grow(&held, depth, ids, out);
            } else {
                self.grow(text, depth, ids, out);
            }
        }
    }

    /// A flush, or a message that comes whole.
    pub(super) fn whole(
        &mut self,
        text: &[u8],
        depth: Depth,
        ids: &mut Ids,
        out: &mut Vec<EventKind>,
    ) {
        if text.is_empty() {
            return;
        }
        if !self.flushed && self.len > 0 {
            // A flush has everything since the last one; or, as far as one can know, only what came
            // since the message was broken off by something else, or since a reconnect.
            let from = [Some(0), Some(self.item_from), self.resumed_at];
            let new = from.into_iter().flatten().find_map(|from| self.beyond(from, text));
            if let Some(new) = new {
                if !new.is_empty() {
                    self.grow(new, depth, ids, out);
                }
                return self.confirm(out);
            }
            let replay_was_shorter =
                self.replayed.is_some_and(|at| self.kept.get(..at) == Some(text));
            if replay_was_shorter || self.kept.trim_ascii() == text.trim_ascii() {
                return self.confirm(out);
            }
        }
        self.open.close(TextRole::Message, out);
        self.forget();
        self.grow(text, depth, ids, out);
        self.confirm(out);
    }

    /// Something else begins: the open message is complete. Its flush may still come.
    pub(super) fn boundary(&mut self, out: &mut Vec<EventKind>) {
        self.open.close(TextRole::Message, out);
        self.replayed = None;
        self.resumed_at = None;
        if self.flushed {
            self.forget();
        }
    }

    /// The agent reconnects: text since the last flush, or the last message, may come again.
    pub(super) fn retry(&mut self) {
        if self.len > 0 {
            self.flushed = false;
            self.resumed_at = Some(self.len);
            self.replayed = Some(0);
        }
    }

    /// The turn is over.
    pub(super) fn end(&mut self, out: &mut Vec<EventKind>) {
        self.open.close(TextRole::Message, out);
        self.forget();
    }

    /// What `text` has beyond the text since `from`, where it begins with that.
    fn beyond<'t>(&self, from: usize, text: &'t [u8]) -> Option<&'t [u8]> {
        let expected = self.len - from;
        let kept = self.kept.get(from..).unwrap_or_default();
        (expected > 0 && text.starts_with(kept)).then(|| text.get(expected..)).flatten()
    }

    fn grow(&mut self, text: &[u8], depth: Depth, ids: &mut Ids, out: &mut Vec<EventKind>) {
        if self.open.id.is_none() {
            self.item_from = self.len;
        }
        let room = KEEP.saturating_sub(self.kept.len()).min(text.len());
        self.kept.extend_from_slice(text.get(..room).unwrap_or_default());
        self.len += text.len();
        self.open.grow(text, TextRole::Message, depth, ids, out);
    }

    fn confirm(&mut self, out: &mut Vec<EventKind>) {
        self.open.close(TextRole::Message, out);
        self.flushed = true;
        self.resumed_at = None;
        self.replayed = None;
        self.item_from = 0;
    }

    fn forget(&mut self) {
        self.kept.clear();
        self.len = 0;
        self.item_from = 0;
        self.flushed = false;
        self.resumed_at = None;
        self.replayed = None;
    }
}
