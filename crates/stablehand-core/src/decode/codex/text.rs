//! What the model says, once: pieces, and the whole that repeats them.
//!
//! `exec` tells a message whole; the app server streams pieces and then tells the whole. Owned
//! here: which text is new, and where an item begins and ends. An item opens with its first text:
//! messages that stay empty are not told. All text comes by `item.delta`; `item.completed` repeats
//! the whole.

use super::super::Depth;
pub(super) use super::super::kit::Ids;
use super::super::kit::{body, skimmed, skimmed_value};
use super::wire;
use crate::event::{EventKind, Item, TextRole};
use crate::id::ItemId;
use crate::json::{self, Value};
use serde::{Deserialize, Serialize};

/// How much of a text is compared with its repetition; beyond it lengths are. Reading at either
/// depth must decide alike, and skimming must not hold more than this.
const KEEP: usize = 1 << 20;

/// So many texts are open at once at the most: two per thread of work, and few threads.
const MOST_OPEN: usize = 64;

/// Where events go, and how much of them is wanted.
#[derive(Debug)]
pub(super) struct Pen<'o> {
    pub(super) depth: Depth,
    pub(super) ids: &'o mut Ids,
    pub(super) out: &'o mut Vec<EventKind>,
}

/// A text as it stands on the line.
#[derive(Debug)]
pub(super) enum Whole<'a> {
    One(Value<'a>),
    /// Paragraphs.
    Parts(Value<'a>),
}

impl Whole<'_> {
    fn is_empty(&self) -> bool {
        match self {
            Whole::One(text) => {
                matches!(text.raw(), b"\"\"" | b"\"") || !text.raw().starts_with(b"\"")
            }
            Whole::Parts(list) => !wire::has_parts(*list),
        }
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Whole::One(text) => wire::append(*text, out),
            Whole::Parts(list) => wire::append_parts(*list, "\n\n", out),
        }
    }

    fn string(&self) -> String {
        match self {
            Whole::One(text) => text.cut_str().unwrap_or_default(),
            Whole::Parts(list) => wire::parts(*list, "\n\n").unwrap_or_default(),
        }
    }
}

/// The texts that are open.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Texts {
    open: Vec<Open>,
    /// The text at hand; kept to be used again.
    #[serde(skip)]
    scratch: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Open {
    /// The agent's id.
    #[serde(with = "crate::saved::bytes")]
    native: Vec<u8>,
    item: ItemId,
    role: TextRole,
    /// The text so far; when skimming, at most [`KEEP`] of it.
    #[serde(with = "crate::saved::bytes")]
    kept: Vec<u8>,
    /// The length of all of it.
    len: usize,
    /// Which part of a text of many parts the last piece was of.
    part: Part,
}

/// A part of a text: of its summary or of its content, and which.
pub(super) type Part = (bool, u64);

impl Texts {
    /// A piece of text.
    pub(super) fn piece(
        &mut self,
        native: &[u8],
        role: TextRole,
        part: Part,
        text: Value<'_>,
        pen: &mut Pen<'_>,
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let known = self.position(native);
        if known.is_some_and(|at| self.open.get(at).is_some_and(|open| open.part != part)) {
            scratch.extend_from_slice(b"\n\n");
        }
        let before = scratch.len();
        wire::append(text, &mut scratch);
        if scratch.len() > before {
            let at = known.unwrap_or_else(|| self.open(native, role, part, pen));
            if let Some(open) = self.open.get_mut(at) {
                open.part = part;
                open.grow(&scratch, pen.depth, pen.out);
            }
        }
        self.scratch = scratch;
    }

    /// The whole text, of which pieces may have come.
    pub(super) fn whole(
        &mut self,
        native: &[u8],
        role: TextRole,
        text: &Whole<'_>,
        pen: &mut Pen<'_>,
    ) {
        let Some(at) = self.position(native) else {
            return told_whole(role, text, pen);
        };
        let mut open = self.open.remove(at);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        text.append_to(&mut scratch);
        if let Some(rest) = open.beyond(&scratch) {
            if !rest.is_empty() {
                open.grow(rest, pen.depth, pen.out);
            }
            open.close(pen.depth, pen.out);
        } else {
            let says_no_more = open.says_no_more(&scratch);
            open.close(pen.depth, pen.out);
            if !says_no_more {
                // Something else than was streamed; it must not be lost.
                told_whole(role, text, pen);
            }
        }
        // One long message must not leave a large buffer behind for ever.
        scratch.clear();
        scratch.shrink_to(KEEP / 4);
        self.scratch = scratch;
    }

    /// Whatever is open is over.
    pub(super) fn close_all(&mut self, depth: Depth, out: &mut Vec<EventKind>) {
        for open in self.open.drain(..) {
            open.close(depth, out);
        }
    }

    fn position(&self, native: &[u8]) -> Option<usize> {
        self.open.iter().position(|open| open.native == native)
    }

    fn open(&mut self, native: &[u8], role: TextRole, part: Part, pen: &mut Pen<'_>) -> usize {
        if self.open.len() >= MOST_OPEN {
            self.open.remove(0).close(pen.depth, pen.out);
        }
        let item = pen.ids.next();
        pen.out.push(EventKind::ItemStarted {
            item: Item { id: item, body: body(role, String::new()) },
        });
        self.open.push(Open {
            native: native.to_vec(),
            item,
            role,
            kept: Vec::new(),
            len: 0,
            part,
        });
        self.open.len() - 1
    }
}

impl Open {
    fn grow(&mut self, text: &[u8], depth: Depth, out: &mut Vec<EventKind>) {
        self.len += text.len();
        let (kept, text) = match depth {
            Depth::Full => (text, json::text(text)),
            Depth::Skim => {
                let room = KEEP.saturating_sub(self.kept.len()).min(text.len());
                (text.get(..room).unwrap_or_default(), skimmed(text))
            }
        };
        self.kept.extend_from_slice(kept);
        out.push(EventKind::ItemDelta { id: self.item, role: self.role, text });
    }

    /// What `whole` has beyond the text so far, where it begins with that.
    fn beyond<'t>(&self, whole: &'t [u8]) -> Option<&'t [u8]> {
        whole.starts_with(self.compared()).then(|| whole.get(self.len..)).flatten()
    }

    /// Whether `whole` is the text so far, or its beginning, but for the space around it.
    fn says_no_more(&self, whole: &[u8]) -> bool {
        let compared = self.compared();
        compared.starts_with(whole)
            || (self.len <= KEEP && compared.trim_ascii() == whole.trim_ascii())
    }

    fn compared(&self) -> &[u8] {
        self.kept.get(..KEEP).unwrap_or(&self.kept)
    }

    fn close(self, depth: Depth, out: &mut Vec<EventKind>) {
        let text = match depth {
            Depth::Skim => String::new(),
            Depth::Full => json::into_text(self.kept),
        };
        let body = body(self.role, text);
        out.push(EventKind::ItemCompleted { item: Item { id: self.item, body } });
    }
}

/// A text that was never streamed: beginning, text and end at once.
fn told_whole(role: TextRole, text: &Whole<'_>, pen: &mut Pen<'_>) {
    if text.is_empty() {
        return;
    }
    let id = pen.ids.next();
    let text = match pen.depth {
        Depth::Skim => match text {
            Whole::One(text) => skimmed_value(*text),
            Whole::Parts(_) => String::new(),
        },
        Depth::Full => text.string(),
    };
    let began = Item { id, body: body(role, String::new()) };
    pen.out.push(EventKind::ItemStarted { item: began });
    pen.out.push(EventKind::ItemDelta { id, role, text: text.clone() });
    pen.out.push(EventKind::ItemCompleted { item: Item { id, body: body(role, text) } });
}
