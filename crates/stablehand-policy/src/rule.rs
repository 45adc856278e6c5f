//! A rule, and how a part of a call fits it.

use super::call::{Call, World};
use super::host::HostPattern;
use super::parts::{Facet, Part};
use super::path::{Fit, PathPatterns};
use super::pattern::Pattern;
use super::wild;
use stablehand_core::decision::{Action, RuleRef};
use stablehand_core::event::ToolKind;
use stablehand_core::id::is_called;

/// A rule, ready for use.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) place: RuleRef,
    pub(crate) action: Action,
    pub(crate) reason: Option<String>,
    pub(crate) agents: Vec<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) about: About,
    /// Variables that may be set before the command.
    pub(crate) env: Variables,
    /// Whether the program may lie in any folder.
    pub(crate) any_folder: bool,
    /// Whether it covers protected files as well.
    pub(crate) protected: bool,
}

/// What a rule is about, beside agent and tool.
#[derive(Clone, Debug)]
pub(crate) enum About {
    Anything,
    /// Assignments alone.
    Variables,
    Commands(Vec<Pattern>),
    Paths(PathPatterns),
    Hosts(Vec<HostPattern>),
    /// Server and tool, as wildcards.
    Mcp(Vec<(String, String)>),
}

/// Which variables a command may carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variables {
    /// These.
    Named(Vec<String>),
    /// Any.
    Any,
}

impl Variables {
    fn cover(&self, names: &[String]) -> bool {
        match self {
            Variables::Any => true,
            Variables::Named(allowed) => names.iter().all(|name| allowed.contains(name)),
        }
    }
}

impl Rule {
    /// Whether it allows the part; only certainty counts.
    pub(crate) fn allows(&self, part: &Part, call: &Call<'_>, world: &dyn World) -> bool {
        let agent =
            self.agents.is_empty() || self.agents.iter().any(|name| is_called(call.agent, name));
        let tool = self.tools.is_empty()
            || self.tools.iter().any(|tool| match ToolKind::by_word(tool) {
                // A server can do anything, whatever kind the agent gives its tool.
                Some(kind) if matches!(part.facet, Facet::Mcp { .. }) => kind == ToolKind::Other,
                Some(kind) => kind == part.kind || kind == call.kind,
                None => tool == call.tool,
            });
        agent && tool && self.covers(part, world)
    }

    fn covers(&self, part: &Part, world: &dyn World) -> bool {
        if let Facet::Path(places) = &part.facet
            && writes(part.kind)
            && !self.protected
            && let Some(name) = places.protected(world)
            && !matches!(&self.about, About::Paths(patterns) if patterns.names(&name))
        {
            return false;
        }
        match (&self.about, &part.facet) {
            (About::Anything, _) => true,
            (About::Variables, Facet::Command(simple)) => {
                simple.words.is_empty() && self.env.cover(&simple.env)
            }
            (About::Commands(patterns), Facet::Command(simple)) => {
                self.env.cover(&simple.env)
                    && patterns.iter().any(|pattern| pattern.covers(simple, self.any_folder))
            }
            (About::Paths(patterns), Facet::Path(places)) => patterns.covers(places, world),
            (About::Hosts(patterns), Facet::Host(host)) => patterns.iter().any(|p| p.covers(host)),
            (About::Mcp(names), Facet::Mcp { server, tool }) => names.iter().any(|(s, t)| {
                wild::matches(&wild::parse(s), server) && wild::matches(&wild::parse(t), tool)
            }),
            _ => false,
        }
    }

    /// How well the part fits a rule that forbids or asks; possibility counts.
    pub(crate) fn may_concern(&self, part: &Part, call: &Call<'_>, world: &dyn World) -> Fit {
        let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
        let means =
            |name: &String| is_called(&call.agent.to_ascii_lowercase(), &name.to_ascii_lowercase());
        if !self.agents.is_empty() && !self.agents.iter().any(means) {
            return Fit::No;
        }
        let opaque = matches!(part.facet, Facet::Opaque { .. });
        let tool = self.tools.is_empty()
            || self.tools.iter().any(|tool| {
                let kind = ToolKind::by_word(tool);
                same(tool, call.tool) || kind == Some(part.kind) || kind == Some(call.kind)
            });
        if !tool {
            // What nobody can judge may write, delete or fetch.
            let kinds = self.tools.iter().filter_map(|tool| ToolKind::by_word(tool));
            let runs =
                |kind| !matches!(kind, ToolKind::Think | ToolKind::SwitchMode | ToolKind::Other);
            return if opaque && kinds.into_iter().any(runs) { Fit::Conceivable } else { Fit::No };
        }
        match (&self.about, &part.facet) {
            (About::Anything, _) => Fit::Certain,
            (About::Variables, Facet::Command(simple)) => {
                let set = |name: &String| match &self.env {
                    Variables::Any => true,
                    Variables::Named(names) => names.contains(name),
                };
                if simple.env.iter().any(set) { Fit::Certain } else { Fit::No }
            }
            (About::Commands(_), Facet::Opaque { text: true }) => Fit::Possible,
            (_, Facet::Opaque { .. }) => Fit::Conceivable,
            (About::Commands(patterns), Facet::Command(simple)) => {
                if patterns.iter().any(|pattern| pattern.may_be(simple)) {
                    Fit::Possible
                } else {
                    Fit::No
                }
            }
            (About::Paths(patterns), Facet::Path(places)) => patterns.may_cover(places, world),
            (About::Hosts(patterns), Facet::Host(host)) => {
                patterns.iter().map(|pattern| pattern.may_cover(host)).max().unwrap_or(Fit::No)
            }
            (About::Mcp(names), Facet::Mcp { server, tool }) => {
                let fits = |(s, t): &(String, String)| {
                    wild::matches_any_case(&wild::parse(s), server)
                        && wild::matches_any_case(&wild::parse(t), tool)
                };
                if names.iter().any(fits) { Fit::Certain } else { Fit::No }
            }
            _ => Fit::No,
        }
    }

    /// Why an allow rule that was nearly right does not hold; for the explanation.
    pub(crate) fn near_miss(&self, part: &Part) -> Option<String> {
        match (&self.about, &part.facet) {
            (About::Commands(patterns), Facet::Command(simple)) => {
                if patterns.iter().any(|pattern| pattern.covers(simple, self.any_folder))
                    && !self.env.cover(&simple.env)
                {
                    return Some(format!(
                        "{} does not cover the variables that are set",
                        self.place
                    ));
                }
                let why = patterns.iter().find_map(|pattern| pattern.near_miss(simple))?;
                Some(format!("{} does not cover it: {why}", self.place))
            }
            _ => None,
        }
    }
}

/// Whether the kind changes files.
pub(crate) fn writes(kind: ToolKind) -> bool {
    matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move)
}
