//! Counting what a run uses: answers, tool calls, tokens, cost.
//!
//! Owns the counters and notices that one of them passed its limit. What follows from that is the
//! monitor's business, because an open tool may finish first.

use crate::event::{Usage, VerdictKind};
use crate::monitor::limits::Limits;
use crate::monitor::words::span;
use std::time::Duration;

/// A limit that was passed, and the words for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Breach {
    pub(super) kind: VerdictKind,
    pub(super) why: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    tokens: u64,
    cost: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Budget {
    pub(super) turns: u64,
    pub(super) tool_calls: u64,
    /// Whether the model has spoken since the last tool result.
    answering: bool,
    step: Option<u64>,
    /// What finished turns used, and the current one so far.
    finished: Spent,
    current: Spent,
    /// What the agent states for the whole session.
    total: Spent,
    pub(super) breach: Option<Breach>,
    /// Kinds that a breach was noticed of: each is told once.
    told: Vec<VerdictKind>,
}

impl Budget {
    /// The model said something. An answer counts once, however many tools it asks for.
    pub(super) fn model_spoke(&mut self, step: Option<u64>, limits: &Limits) {
        let same_step = step.is_some() && step == self.step;
        if step.is_some() {
            self.step = step;
        }
        if self.answering || same_step {
            self.answering = true;
            return;
        }
        self.answering = true;
        self.turns += 1;
        if limits.max_turns.is_some_and(|max| self.turns > max) {
            let why = format!(
                "limit reached: answer {} of the model (limit {})",
                self.turns,
                limits.max_turns.unwrap_or_default()
            );
            self.exceed(VerdictKind::Turns, why);
        }
    }

    /// Whether the model has spoken since the last tool result, so that more words change nothing.
    pub(super) fn is_answering(&self) -> bool {
        self.answering
    }

    pub(super) fn tool_result(&mut self) {
        self.answering = false;
    }

    pub(super) fn tool_call(&mut self, limits: &Limits) {
        self.tool_calls += 1;
        if let Some(max) = limits.max_tool_calls
            && self.tool_calls > max
        {
            let why = format!("limit reached: tool call {} (limit {max})", self.tool_calls);
            self.exceed(VerdictKind::ToolCalls, why);
        }
    }

    /// The agent stated what it used. Within a turn each statement replaces the one before.
    pub(super) fn usage(&mut self, usage: &Usage, limits: &Limits) {
        let spent =
            Spent { tokens: usage.tokens().total(), cost: usage.tokens().cost_usd.unwrap_or(0.0) };
        let slot = match usage {
            Usage::Turn(_) => &mut self.current,
            Usage::Total(_) => &mut self.total,
        };
        slot.tokens = slot.tokens.max(spent.tokens);
        slot.cost = slot.cost.max(spent.cost);
        let (tokens, cost) = (self.tokens(), self.cost());
        if let Some(max) = limits.max_tokens
            && tokens > max
        {
            let why = format!("limit reached: {tokens} tokens (limit {max})");
            self.exceed(VerdictKind::Tokens, why);
        }
        if let Some(max) = limits.max_cost_usd
            && cost > max
        {
            let why = format!("limit reached: ${cost:.4} (limit ${max:.4})");
            self.exceed(VerdictKind::Cost, why);
        }
    }

    pub(super) fn turn_ended(&mut self) {
        self.finished.tokens = self.finished.tokens.saturating_add(self.current.tokens);
        self.finished.cost += self.current.cost;
        self.current = Spent::default();
        self.answering = false;
        self.step = None;
    }

    pub(super) fn wall_passed(&mut self, wall: Duration) {
        let why = format!("limit reached: wall clock (limit {})", span(wall));
        self.exceed(VerdictKind::WallClock, why);
    }

    pub(super) fn was_told(&self, kind: VerdictKind) -> bool {
        self.told.contains(&kind)
    }

    /// Tokens used so far.
    pub(super) fn tokens(&self) -> u64 {
        self.total.tokens.max(self.finished.tokens.saturating_add(self.current.tokens))
    }

    /// Dollars used so far.
    pub(super) fn cost(&self) -> f64 {
        self.total.cost.max(self.finished.cost + self.current.cost)
    }

    pub(super) fn exceed(&mut self, kind: VerdictKind, why: String) {
        if !self.told.contains(&kind) {
            self.told.push(kind);
            // The first one stands; it is enough to end the run.
            self.breach.get_or_insert(Breach { kind, why });
        }
    }
}
