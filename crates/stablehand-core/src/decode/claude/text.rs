//! What the model says, once: whole blocks, and the pieces that came before them.
//!
//! Without partial messages every block of text comes once, whole. With them its pieces come first
//! and the whole repeats them, before or after the end of the block is told. A request that is made
//! again streams its pieces again. Owned here: which text is new, and where an item begins and
//! ends. Rule for whoever listens: all text comes by `item.delta`; `item.completed` repeats it.

use super::super::Depth;
pub(super) use super::super::kit::Ids;
use super::super::kit::{body, skimmed};
use crate::event::{EventKind, Item, TextRole};
use crate::id::ItemId;
use crate::json;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How much of a streamed block is compared with its whole: more than the longest answer that was
/// seen (235 kB), little enough to be held for every run. Beyond it lengths are compared.
const KEEP: usize = 1 << 20;

/// So many streamed blocks may wait for their whole; an agent that never sends one must not take
/// our memory.
const MOST_WAITING: usize = 64;

/// Buffers larger than this are given back.
const SPARE: usize = 256 << 10;

/// Texts from this length on are told in the buffer that they came in, where they fill it: the system
/// clears the pages of a copy first.
const LONG: usize = 16 << 10;

/// Blocks that were streamed and have not come whole yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Texts {
    waiting: VecDeque<Block>,
    /// The last one of them is being streamed, under this index of its message.
    live: Option<u64>,
    #[serde(skip)]
    spare: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Block {
    role: TextRole,
    item: ItemId,
    is_open: bool,
    /// What was streamed; when only skimmed, at most [`KEEP`] of it.
    #[serde(with = "crate::saved::bytes")]
    kept: Vec<u8>,
    len: usize,
    /// The request failed: the same may be streamed again, or come whole under another name.
    is_stale: bool,
    /// Its message was streamed to the end: nothing of it will be streamed again.
    is_ended: bool,
    /// How much of it has been streamed again.
    replayed: Option<usize>,
}

/// Where events go, and how much of them is wanted.
pub(super) struct Sink<'o> {
    pub(super) ids: &'o mut Ids,
    pub(super) depth: Depth,
    pub(super) out: &'o mut Vec<EventKind>,
}

impl Texts {
    /// A piece of the block at `index` of the message that is being streamed.
    pub(super) fn piece(&mut self, role: TextRole, index: u64, text: &[u8], sink: &mut Sink<'_>) {
        if text.is_empty() {
            return;
        }
        let goes_on =
            self.live == Some(index) && self.waiting.back().is_some_and(|block| block.role == role);
        if !goes_on {
            self.begin(role, index, sink);
        }
        let Some(block) = self.waiting.back_mut() else {
            return;
        };
        let Some(at) = block.replayed else {
            return block.grow(text, sink);
        };
        let rest = block.compared().get(at..).unwrap_or_default();
        if rest.starts_with(text) {
            block.replayed = Some(at + text.len()).filter(|at| *at < block.compared().len());
        } else if let Some(new) = text.strip_prefix(rest) {
            block.replayed = None;
            block.grow(new, sink);
        } else {
            // Another answer this time: what was held back is new, and so is the item.
            let mut held = block.kept.get(..at).unwrap_or_default().to_vec();
            held.extend_from_slice(text);
            block.close(sink);
            self.waiting.pop_back();
            self.push(role, sink);
            if let Some(block) = self.waiting.back_mut() {
                block.grow(&held, sink);
            }
        }
    }

    /// Whether a whole can be a repetition: otherwise its text is not looked at when skimming.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A block that comes whole; with `is_cut`, as far as it got when it was broken off. A long
    /// text is taken, to be told as it is.
    pub(super) fn whole(
        &mut self,
        role: TextRole,
        text: &mut Vec<u8>,
        is_cut: bool,
        sink: &mut Sink<'_>,
    ) {
        if text.is_empty() {
            return;
        }
        let streamed = self.waiting.iter().position(|block| {
            block.role == role
                && (block.begins(text) || is_cut && block.compared().starts_with(text))
        });
        let Some(mut block) = streamed.and_then(|at| self.take(at)) else {
            return lone(role, text, sink);
        };
        let goes_on = text.starts_with(block.compared());
        if let Some(new) = text.get(block.len..).filter(|new| goes_on && !new.is_empty()) {
            if !block.is_open {
                block = Block::open(role, block.kept, sink);
            }
            block.grow(new, sink);
        }
        block.close(sink);
        self.recycle(block);
    }

    /// The end of a block was told; its whole may still come.
    pub(super) fn stop(&mut self) {
        self.live = None;
    }

    /// Something else begins: what is open is complete, but for what is being streamed right now.
    pub(super) fn boundary(&mut self, sink: &mut Sink<'_>) {
        let done = self.waiting.len() - usize::from(self.live.is_some());
        for block in self.waiting.iter_mut().take(done) {
            if !block.is_stale {
                block.close(sink);
            }
        }
    }

    /// The message that was streamed is complete; its blocks may still come whole.
    pub(super) fn message_ended(&mut self) {
        self.live = None;
        for block in &mut self.waiting {
            block.is_ended = true;
        }
    }

    /// A new message begins, or a request is made again: what was broken off may be streamed again.
    pub(super) fn again(&mut self, sink: &mut Sink<'_>) {
        self.live = None;
        self.waiting.retain_mut(|block| {
            if block.is_ended {
                block.close(sink);
            }
            block.is_stale = true;
            block.replayed = None;
            !block.is_ended
        });
    }

    /// The turn is over.
    pub(super) fn end(&mut self, sink: &mut Sink<'_>) {
        self.live = None;
        while let Some(mut block) = self.waiting.pop_front() {
            block.close(sink);
            self.recycle(block);
        }
    }

    fn begin(&mut self, role: TextRole, index: u64, sink: &mut Sink<'_>) {
        self.live = None;
        let stale = self.waiting.iter().position(|block| block.is_stale && block.role == role);
        if let Some(mut block) = stale.and_then(|at| self.waiting.remove(at)) {
            block.is_stale = false;
            block.replayed = Some(0).filter(|_| block.is_open);
            if block.is_open {
                self.waiting.push_back(block);
                self.live = Some(index);
                return;
            }
        }
        self.boundary(sink);
        self.push(role, sink);
        self.live = Some(index);
    }

    fn push(&mut self, role: TextRole, sink: &mut Sink<'_>) {
        if self.waiting.len() >= MOST_WAITING
            && let Some(mut oldest) = self.waiting.pop_front()
        {
            oldest.close(sink);
        }
        let kept = std::mem::take(&mut self.spare);
        self.waiting.push_back(Block::open(role, kept, sink));
    }

    fn take(&mut self, at: usize) -> Option<Block> {
        if at + 1 == self.waiting.len() {
            self.live = None;
        }
        self.waiting.remove(at)
    }

    fn recycle(&mut self, block: Block) {
        if block.kept.capacity() <= SPARE {
            self.spare = block.kept;
        }
    }
}

impl Block {
    fn open(role: TextRole, mut kept: Vec<u8>, sink: &mut Sink<'_>) -> Block {
        kept.clear();
        let item = sink.ids.next();
        let body = body(role, String::new());
        sink.out.push(EventKind::ItemStarted { item: Item { id: item, body } });
        Block {
            role,
            item,
            is_open: true,
            kept,
            len: 0,
            is_stale: false,
            is_ended: false,
            replayed: None,
        }
    }

    fn grow(&mut self, text: &[u8], sink: &mut Sink<'_>) {
        let room = match sink.depth {
            Depth::Skim => KEEP.saturating_sub(self.kept.len()).min(text.len()),
            Depth::Full => text.len(),
        };
        self.kept.extend_from_slice(text.get(..room).unwrap_or_default());
        self.len += text.len();
        let text = match sink.depth {
            Depth::Skim => skimmed(text),
            Depth::Full => json::text(text),
        };
        sink.out.push(EventKind::ItemDelta { id: self.item, role: self.role, text });
    }

    fn close(&mut self, sink: &mut Sink<'_>) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let text = match sink.depth {
            Depth::Skim => String::new(),
            Depth::Full => json::text(&self.kept),
        };
        let item = Item { id: self.item, body: body(self.role, text) };
        sink.out.push(EventKind::ItemCompleted { item });
    }

    /// Whether the whole is this block, or goes on from it.
    fn begins(&self, whole: &[u8]) -> bool {
        let compared = self.compared();
        (whole.starts_with(compared) && whole.len() >= self.len) || self.is_same_but_space(whole)
    }

    fn is_same_but_space(&self, whole: &[u8]) -> bool {
        self.len <= KEEP && self.compared().trim_ascii() == whole.trim_ascii()
    }

    /// What is compared, at either depth.
    fn compared(&self) -> &[u8] {
        self.kept.get(..KEEP).unwrap_or(&self.kept)
    }
}

/// A whole block that was not streamed.
fn lone(role: TextRole, text: &mut Vec<u8>, sink: &mut Sink<'_>) {
    let id = sink.ids.next();
    let text = match sink.depth {
        Depth::Skim => skimmed(text),
        Depth::Full if text.len() >= LONG && text.len() >= text.capacity() / 2 => {
            json::into_text(std::mem::take(text))
        }
        Depth::Full => json::text(text),
    };
    let item = |text| Item { id, body: body(role, text) };
    sink.out.push(EventKind::ItemStarted { item: item(String::new()) });
    sink.out.push(EventKind::ItemDelta { id, role, text: text.clone() });
    sink.out.push(EventKind::ItemCompleted { item: item(text) });
}
