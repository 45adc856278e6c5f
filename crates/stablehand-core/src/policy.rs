//! Policy: whether a tool call may run, decided before it does.
//!
//! A [`Policy`] is rules in TOML, in layers; [`Policy::decide`] is a function of the policy, the
//! [`Call`] and what it asks of the [`World`]. It does no I/O, and never fails: what cannot be
//! understood is not allowed by a rule about something else.
//!
//! One principle runs through it: *an allow needs certainty, a deny needs only possibility*. A call is
//! taken apart (`parts`), a command line down to every simple command (`shell`, `wrap`); each
//! part needs its own permission; deny beats ask beats allow. docs/policy.md is the language.

mod call;
mod cases;
mod exact;
mod file;
mod hazard;
mod host;
mod judge;
mod network;
mod parts;
mod path;
mod pattern;
mod profile;
mod rule;
mod shell;
mod tools;
mod wild;
mod wrap;

#[cfg(test)]
mod tests;

pub use call::{Action, Call, Decision, Judged, RuleRef, World};
pub use cases::{CaseFailure, CaseTable};
pub use exact::NoExactRule;
pub use file::PolicyError;
pub use profile::{ALL as PROFILES, by_name as profile};
pub use tools::{input_of, kind_by_word, kind_of, word_of_kind};

use rule::Rule;
use serde_json::Value;

/// Rules in layers.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    layers: Vec<Layer>,
}

/// Whose word a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The user's: a file of theirs, a flag, a profile they chose.
    User,
    /// The project's: it comes with the repository and may be hostile, so it may only narrow.
    Project,
}

/// What one file says.
#[derive(Clone, Debug)]
struct Layer {
    origin: Origin,
    default: Option<Action>,
    unattended: Option<Action>,
    trust_project: bool,
    tools: Tools,
    /// Each with what its `ask` becomes when nobody is there.
    rules: Vec<(Rule, Option<Action>)>,
}

/// Which tools there are.
#[derive(Clone, Debug, Default)]
struct Tools {
    known_only: bool,
    known: Vec<String>,
    described: Vec<(String, Option<Value>, RuleRef)>,
}

impl Policy {
    /// Reads a policy file of the user's. `file` is its name in messages.
    pub fn parse(text: &str, file: &str) -> Result<Policy, PolicyError> {
        Ok(Policy { layers: file::layers(text, file)? })
    }

    /// Reads the file that comes with a project. What it denies and asks counts; what it allows
    /// counts only if a layer of the user's says `trust_project = true`.
    pub fn parse_project(text: &str, file: &str) -> Result<Policy, PolicyError> {
        let mut policy = Policy::parse(text, file)?;
        for layer in &mut policy.layers {
            layer.origin = Origin::Project;
            layer.trust_project = false;
        }
        Ok(policy)
    }

    /// Puts policies on top of each other. Rules of all of them count; the last word on the default
    /// is the topmost layer's that has one.
    #[must_use]
    pub fn layered(policies: impl IntoIterator<Item = Policy>) -> Policy {
        Policy { layers: policies.into_iter().flat_map(|policy| policy.layers).collect() }
    }

    /// The names of agents in its rules, with the rules' places: a name that no agent has is a
    /// mistake that only the face can see.
    pub fn agents(&self) -> impl Iterator<Item = (&str, &RuleRef)> {
        let rules = self.layers.iter().flat_map(|layer| &layer.rules);
        rules.flat_map(|(rule, _)| rule.agents.iter().map(|agent| (agent.as_str(), &rule.place)))
    }

    /// Decides a call.
    pub fn decide(&self, call: &Call<'_>, world: &dyn World) -> Decision {
        judge::decide(self, call, world)
    }
}
