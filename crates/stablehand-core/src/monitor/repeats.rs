//! Tells what is new from what an agent says again.
//!
//! Owns the digests of the last calls, completions, questions and plans, and whether a turn has brought
//! anything since it began or ended. Decides nothing: what is said again is a sign of life, no progress.

use crate::event::{EventKind, Item, ItemBody, Tool};
use crate::id::digest64;

/// So many are remembered; an agent that goes round in a longer circle is not noticed here.
const KEPT: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Repeats {
    /// The last digests; 0 is none.
    recent: [u64; KEPT],
    next: usize,
    /// Something new came since the last beginning of a turn.
    since_start: bool,
    /// And since the last result.
    since_result: bool,
}

impl Repeats {
    pub(super) fn new() -> Repeats {
        Repeats { recent: [0; KEPT], next: 0, since_start: true, since_result: true }
    }

    /// Something new came.
    pub(super) fn news(&mut self) {
        (self.since_start, self.since_result) = (true, true);
    }

    /// Returns true if this beginning of a turn is not one more of the same.
    pub(super) fn turn_began(&mut self) -> bool {
        std::mem::take(&mut self.since_start)
    }

    /// Returns true if this result is not one more of the same.
    pub(super) fn turn_ended(&mut self) -> bool {
        std::mem::take(&mut self.since_result)
    }

    /// Returns true if a call is announced for the first time, or tells more than before.
    pub(super) fn is_new_start(&mut self, tool: &Tool) -> bool {
        self.is_new(&["start", &tool.call.0, &tool.name, tool.headline()], 0)
    }

    /// Returns true if a call ends for the first time, or otherwise than before.
    pub(super) fn is_new_end(&mut self, tool: &Tool) -> bool {
        self.is_new(&["end", &tool.call.0, &tool.name, tool.headline()], tool.digest)
    }

    /// Returns true if a question was not asked before.
    pub(super) fn is_new_question(&mut self, kind: &EventKind) -> bool {
        match kind {
            EventKind::ApprovalRequested { id, what, .. } => {
                self.is_new(&["question", id, what], 0)
            }
            _ => true,
        }
    }

    /// Returns true if a plan is not the one from before.
    pub(super) fn is_new_plan(&mut self, item: &Item) -> bool {
        let plan = match &item.body {
            ItemBody::Plan { .. } => serde_json::to_string(&item.body).unwrap_or_default(),
            _ => return true,
        };
        self.is_new(&["plan", &plan], 0)
    }

    fn is_new(&mut self, parts: &[&str], digest: u64) -> bool {
        let mut bytes = digest.to_le_bytes().to_vec();
        for part in parts {
            bytes.extend_from_slice(&digest64(part.as_bytes()).to_le_bytes());
        }
        let digest = digest64(&bytes).max(1);
        if self.recent.contains(&digest) {
            return false;
        }
        if let Some(slot) = self.recent.get_mut(self.next) {
            *slot = digest;
        }
        self.next = (self.next + 1) % KEPT;
        true
    }
}

/// Returns true if a piece of text has nothing to read. A piece that was only skimmed is empty, and a
/// decoder gives a space where it was blank.
pub(super) fn is_blank(text: &str) -> bool {
    !text.is_empty() && text.trim_start().is_empty()
}
