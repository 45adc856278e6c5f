//! What a turn or a session used.

use serde::{Deserialize, Serialize};

/// Token counts; a field that the agent does not state is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tokens {
    /// Tokens sent, without cached ones.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
    /// Tokens read from a cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Tokens written to a cache.
    #[serde(default)]
    pub cache_write: u64,
    /// Tokens of reasoning, where stated apart.
    #[serde(default)]
    pub reasoning: u64,
    /// Cost in US dollars, where the agent states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Tokens {
    /// All tokens that somebody may have to pay for.
    pub fn total(&self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Both together; a cost that only one states is that one's.
    #[must_use]
    pub fn plus(&self, other: &Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (Some(mine), Some(theirs)) => Some(mine + theirs),
                (mine, theirs) => mine.or(theirs),
            },
        }
    }
}

/// Usage, and what it covers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Usage {
    /// Of one turn.
    Turn(Tokens),
    /// Of the session so far.
    Total(Tokens),
}

impl Usage {
    /// What two results of one turn used together; a total replaces what was known before.
    pub fn sum(before: Option<Usage>, more: Option<Usage>) -> Option<Usage> {
        match (before, more) {
            (Some(Usage::Turn(before)), Some(Usage::Turn(more))) => {
                Some(Usage::Turn(before.plus(&more)))
            }
            (before, more) => more.or(before),
        }
    }

    /// The counts, whatever they cover.
    pub fn tokens(&self) -> &Tokens {
        match self {
            Usage::Turn(tokens) | Usage::Total(tokens) => tokens,
        }
    }
}
