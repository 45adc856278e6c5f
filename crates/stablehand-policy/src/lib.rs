//! Policy: whether a tool call may run and a prompt may be sent, decided before it is.
//!
//! A [`Policy`] is rules in TOML, in layers; [`Policy::decide`] is a function of the policy, the
//! [`Call`] and what it asks of the [`World`]. It does no I/O, and never fails: what cannot be
//! understood is not allowed by a rule about something else.
//!
//! One principle runs through it: *an allow needs certainty, a deny needs only possibility*. A call is
//! taken apart (`parts`), a command line down to every simple command (`shell`, `wrap`); each
//! part needs its own permission; deny beats ask beats allow. docs/policy.md is the language.
//!
//! [`settings`] reads the files that a policy stands in, with the tables beside it.

mod argument;
mod call;
mod cases;
mod exact;
mod file;
mod folders;
mod hazard;
mod host;
mod inner;
mod judge;
mod network;
mod options;
mod parts;
mod path;
mod pattern;
mod profile;
mod prompt;
mod protect;
mod rule;
mod sandbox;
pub mod settings;
mod shell;
mod wild;
mod wrap;

#[cfg(test)]
mod tests;

pub use call::{Call, World};
pub use cases::{CaseFailure, CaseTable};
pub use exact::NoExactRule;
pub use file::PolicyError;
pub use profile::{ALL as PROFILES, by_name as profile};
pub use prompt::{PromptAction, PromptRule, PromptRules};
pub use sandbox::{Access, Bounds};
pub use stablehand_core::decision::{Action, Decision, Judged, OnUnasked, RuleRef};

use crate::settings::{SettingsFile, Whose};
pub(crate) use file::{PolicyTable, Words, compile};
use rule::Rule;
use serde_json::Value;

/// Rules in layers.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    layers: Vec<Layer>,
}

/// Whose word a layer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Origin {
    /// The user's: a file of theirs, a flag, a profile they chose.
    #[default]
    User,
    /// The project's: it comes with the repository and may be hostile, so it may only narrow.
    Project,
}

/// What one file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    origin: Origin,
    default: Option<Action>,
    unattended: Option<Action>,
    on_unasked: Option<OnUnasked>,
    trust_project: bool,
    tools: Tools,
    /// Each with what its `ask` becomes when nobody is there.
    rules: Vec<(Rule, Option<Action>)>,
    /// Rules about prompts, which can only narrow.
    prompts: Vec<PromptRule>,
    /// What the kernel is to hold beside the rules.
    sandbox: Option<sandbox::SandboxTable>,
}

/// Which tools there are.
#[derive(Clone, Debug, Default)]
struct Tools {
    known_only: bool,
    known: Vec<String>,
    described: Vec<(String, Option<Value>, RuleRef)>,
}

impl Policy {
    /// Reads the `[policy]` of a file of the user's. `file` is its name in messages. The other tables
    /// of [`crate::settings`] may stand beside it, and must be right too.
    pub fn parse(text: &str, file: &str) -> Result<Policy, PolicyError> {
        Ok(SettingsFile::parse(text, file, Whose::User)?.policy.unwrap_or_default())
    }

    /// Reads the file that comes with a project. What it denies and asks counts; what it allows
    /// counts only if a layer of the user's says `trust_project = true`.
    pub fn parse_project(text: &str, file: &str) -> Result<Policy, PolicyError> {
        Ok(SettingsFile::parse(text, file, Whose::Project)?.policy.unwrap_or_default())
    }

    /// A policy of these layers, the lowest first.
    pub(crate) fn of(layers: Vec<Layer>) -> Policy {
        Policy { layers }
    }

    /// The same as the word of a project.
    pub(crate) fn of_project(mut self) -> Policy {
        for layer in &mut self.layers {
            layer.origin = Origin::Project;
            layer.trust_project = false;
        }
        self
    }

    /// Whether the user lets a project's file widen.
    pub fn trusts_project(&self) -> bool {
        self.layers.iter().any(|layer| layer.trust_project)
    }

    /// Returns what becomes of a run whose agent runs a tool unasked that the rules do not allow: the
    /// word of the topmost layer that has one. A project's may only be stricter.
    pub fn on_unasked(&self) -> OnUnasked {
        let trusts = self.trusts_project();
        let may_say = |layer: &&Layer| {
            layer.origin == Origin::User || trusts || layer.on_unasked == Some(OnUnasked::Stop)
        };
        let mut words = self.layers.iter().filter(may_say).filter_map(|layer| layer.on_unasked);
        words.next_back().unwrap_or_default()
    }

    /// Adds rules about prompts, which stand beside the `[policy]` of a file.
    pub(crate) fn with_prompts(mut self, prompts: Vec<PromptRule>) -> Policy {
        if !prompts.is_empty() {
            self.layers.push(Layer { prompts, ..Layer::default() });
        }
        self
    }

    /// The rules about prompts of all layers.
    pub fn prompts(&self) -> impl Iterator<Item = &PromptRule> {
        self.layers.iter().flat_map(|layer| &layer.prompts)
    }

    /// The rules about prompts that are for this agent.
    pub fn prompt_rules(&self, agent: &str) -> PromptRules {
        PromptRules::new(self.prompts(), agent)
    }

    /// Returns true if its rules are about prompts and none is about calls.
    pub fn is_about_prompts_only(&self) -> bool {
        self.says_nothing() && self.prompts().next().is_some()
    }

    /// Whether nothing in it is about calls: a file may say no more than `trust_project`.
    pub fn says_nothing(&self) -> bool {
        self.layers.iter().all(|layer| {
            layer.default.is_none()
                && layer.unattended.is_none()
                && layer.rules.is_empty()
                && layer.sandbox.is_none()
                && !layer.tools.known_only
                && layer.tools.known.is_empty()
                && layer.tools.described.is_empty()
        })
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
        self.layers.iter().flat_map(|layer| {
            let calls = layer.rules.iter().map(|(rule, _)| (&rule.agents, &rule.place));
            let prompts = layer.prompts.iter().map(|rule| (&rule.agents, &rule.place));
            let all = calls.chain(prompts);
            all.flat_map(|(agents, place)| agents.iter().map(move |it| (it.as_str(), place)))
        })
    }

    /// Decides a call.
    pub fn decide(&self, call: &Call<'_>, world: &dyn World) -> Decision {
        judge::decide(self, call, world)
    }
}
