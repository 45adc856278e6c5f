//! What a policy decides about a tool call, as the log records it.
//!
//! Owns the values alone. `stablehand-policy` makes them; the analyses read them back from logs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What to do with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Let it run.
    Allow,
    /// Ask a person.
    Ask,
    /// Refuse it.
    Deny,
}

impl Action {
    /// The word in policies and messages.
    pub fn word(self) -> &'static str {
        match self {
            Action::Allow => "allow",
            Action::Ask => "ask",
            Action::Deny => "deny",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What becomes of a run whose agent ran a tool without asking, where the rules do not allow the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnasked {
    /// It is stopped.
    #[default]
    Stop,
    /// It goes on, with a warning on record.
    Warn,
}

/// Where a rule stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleRef {
    /// The rule's own name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file, or `profile:NAME`.
    pub file: String,
    /// The line of its table.
    pub line: usize,
}

impl fmt::Display for RuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "rule `{name}` ({}:{})", self.file, self.line),
            None => write!(f, "the rule at {}:{}", self.file, self.line),
        }
    }
}

/// One part of a call and what was decided of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// What it is: `command git status`, `write to /w/a.txt`.
    pub part: String,
    /// What was decided.
    pub action: Action,
    /// By which rule; absent where nothing matched and the default holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// Why, in plain words.
    pub why: String,
}

/// What a policy says of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The strictest of what was decided of the parts.
    pub action: Action,
    /// What an `ask` becomes when nobody is there to be asked; otherwise the action itself.
    pub unattended: Action,
    /// Why: for the person, and for the agent that is told no.
    pub reason: String,
    /// The rule that decided; absent where the default did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// Each part with its own decision.
    pub parts: Vec<Judged>,
}
