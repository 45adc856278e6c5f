//! What the messages of a turn have used so far, before a result tells the sum.
//!
//! Every message states its own usage, on each of its lines. Where it is streamed, its beginning has a
//! first count and its end the last one. A run that is cut off has no result, and these are all that
//! is known.

use super::ending::of_conversation;
use crate::event::{EventKind, Tokens, Usage};
use crate::id::digest64;
use crate::json::Value;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many messages are remembered: those of agents that work side by side alternate.
const RECENT: usize = 32;

/// The usage of the turn so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Spent {
    sum: Tokens,
    /// Of the message that is being streamed.
    live: Tokens,
    /// Digests of the ids of the last messages.
    recent: VecDeque<u64>,
}

impl Spent {
    /// A line of a message: the first one counts.
    pub(super) fn line(
        &mut self,
        message: Option<Value<'_>>,
        id: Option<Value<'_>>,
    ) -> Option<EventKind> {
        if !self.is_new(id) {
            return None;
        }
        let used = usage_in(message?)?;
        self.sum = self.sum.plus(&used);
        (used.total() > 0).then(|| self.told())
    }

    /// A streamed message begins.
    pub(super) fn begins(&mut self, message: Value<'_>) {
        self.sum = self.sum.plus(&self.live);
        self.live = message.get("usage").map(of_conversation).unwrap_or_default();
        self.is_new(message.get("id"));
    }

    /// The count of the streamed message grew.
    pub(super) fn grows(&mut self, used: Value<'_>) -> Option<EventKind> {
        let used = of_conversation(used);
        self.live = Tokens {
            input: used.input.max(self.live.input),
            output: used.output.max(self.live.output),
            cache_read: used.cache_read.max(self.live.cache_read),
            cache_write: used.cache_write.max(self.live.cache_write),
            reasoning: used.reasoning.max(self.live.reasoning),
            cost_usd: None,
        };
        (self.live.total() > 0).then(|| self.told())
    }

    /// A result tells the sum; the next turn begins with nothing.
    pub(super) fn clear(&mut self) {
        self.sum = Tokens::default();
        self.live = Tokens::default();
    }

    fn told(&self) -> EventKind {
        EventKind::UsageUpdated { usage: Usage::Turn(self.sum.plus(&self.live)) }
    }

    fn is_new(&mut self, id: Option<Value<'_>>) -> bool {
        let Some(id) = id.and_then(Value::raw_str) else { return false };
        let id = digest64(id);
        if self.recent.contains(&id) {
            return false;
        }
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(id);
        true
    }
}

/// The usage that a message states. It stands behind the content, which may be long, so it is looked
/// for from the end. Within a string the quotes of such a member would be escaped.
fn usage_in(message: Value<'_>) -> Option<Tokens> {
    const MEMBER: &[u8] = b"\"usage\":";
    let raw = message.raw();
    let at = memchr::memmem::rfind(raw, MEMBER)? + MEMBER.len();
    let used = Value::new(raw.get(at..)?.trim_ascii_start());
    used.is_object().then(|| of_conversation(used))
}
