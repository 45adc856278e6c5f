//! From the parts of a call and the layers of a policy to a decision.

use super::call::{Call, World};
use super::parts::{self, Facet, Part};
use super::path::Fit;
use super::rule::{Rule, writes};
use super::{Layer, Origin, Policy};
use stablehand_core::decision::{Action, Decision, Judged, RuleRef};
use stablehand_core::event::ToolKind;

/// One part, judged, with what it becomes when nobody is there.
struct Verdict {
    judged: Judged,
    unattended: Action,
}

/// Decides a call.
pub(super) fn decide(policy: &Policy, call: &Call<'_>, world: &dyn World) -> Decision {
    let bench = Bench::new(policy);
    let mut verdicts: Vec<Verdict> = bench.tool(call, world).into_iter().collect();
    for part in parts::of(call, world) {
        verdicts.extend(bench.part(&part, call, world));
    }
    let action = verdicts.iter().map(|v| v.judged.action).max().unwrap_or(bench.default);
    let unattended = verdicts.iter().map(|v| v.unattended).max().unwrap_or(Action::Deny);
    let deciding = verdicts.iter().find(|v| v.judged.action == action);
    let reason =
        deciding.map_or_else(String::new, |v| format!("{}: {}", v.judged.part, v.judged.why));
    let rule = deciding.and_then(|v| v.judged.rule.clone());
    Decision {
        action,
        unattended,
        reason,
        rule,
        parts: verdicts.into_iter().map(|v| v.judged).collect(),
    }
}

/// The parts of a call that are not allowed, each with what was decided of it.
pub(super) fn not_allowed(
    policy: &Policy,
    call: &Call<'_>,
    world: &dyn World,
) -> Vec<(Part, Judged)> {
    let bench = Bench::new(policy);
    let judged = |part: Part| {
        let verdict = bench.part(&part, call, world)?;
        (verdict.judged.action != Action::Allow).then_some((part, verdict.judged))
    };
    parts::of(call, world).into_iter().filter_map(judged).collect()
}

/// The layers with what follows from their order.
struct Bench<'p> {
    policy: &'p Policy,
    default: Action,
    unattended: Action,
    project_is_trusted: bool,
}

impl<'p> Bench<'p> {
    fn new(policy: &'p Policy) -> Self {
        let own = |layer: &&Layer| layer.origin != Origin::Project;
        let trusted = policy.layers.iter().filter(own).any(|layer| layer.trust_project);
        let mut bench = Bench {
            policy,
            default: Action::Ask,
            unattended: Action::Deny,
            project_is_trusted: trusted,
        };
        for layer in &policy.layers {
            let may_widen = bench.may_widen(layer);
            let settle = |current: Action, said: Option<Action>| match said {
                Some(said) if may_widen => said,
                Some(said) => current.max(said),
                None => current,
            };
            bench.default = settle(bench.default, layer.default);
            bench.unattended = settle(bench.unattended, layer.unattended);
        }
        bench
    }

    fn may_widen(&self, layer: &Layer) -> bool {
        layer.origin != Origin::Project || self.project_is_trusted
    }

    fn rules(&self) -> impl Iterator<Item = (&'p Layer, &'p Rule, Option<Action>)> {
        self.policy.layers.iter().flat_map(|layer| {
            layer.rules.iter().map(move |(rule, unattended)| (layer, rule, *unattended))
        })
    }

    /// Whether the tool is known and its arguments are as they should be.
    fn tool(&self, call: &Call<'_>, world: &dyn World) -> Option<Verdict> {
        let refuse = |why: String, rule: Option<RuleRef>| {
            let part = format!("tool {}", call.tool);
            let judged = Judged { part, action: Action::Deny, rule, why };
            Some(Verdict { judged, unattended: Action::Deny })
        };
        let layers = &self.policy.layers;
        if layers.iter().any(|layer| layer.tools.known_only) {
            let known = layers.iter().filter(|layer| self.may_widen(layer)).any(|layer| {
                let named = |rule: &Rule| {
                    rule.action != Action::Deny
                        && rule
                            .tools
                            .iter()
                            .any(|tool| ToolKind::by_word(tool).is_none() && tool == call.tool)
                };
                layer.tools.known.iter().any(|name| name == call.tool)
                    || layer.tools.described.iter().any(|(name, _, _)| name == call.tool)
                    || layer.rules.iter().any(|(rule, _)| named(rule))
            });
            if !known {
                let why = "the policy knows no tool of that name (tools.known_only)";
                return refuse(why.to_owned(), None);
            }
        }
        let described = layers.iter().flat_map(|layer| &layer.tools.described);
        for (name, schema, place) in described {
            if let Some(schema) = schema.as_ref().filter(|_| name == call.tool)
                && let Some(error) = world.schema_error(schema, call.arguments)
            {
                let why = format!(
                    "its arguments do not fit the schema at {}:{}: {error}",
                    place.file, place.line
                );
                return refuse(why, Some(place.clone()));
            }
        }
        None
    }

    fn part(&self, part: &Part, call: &Call<'_>, world: &dyn World) -> Option<Verdict> {
        let mut asked: Option<(&Rule, Option<Action>, Fit)> = None;
        for (layer, rule, unattended) in self.rules() {
            if rule.action == Action::Allow {
                continue;
            }
            let fit = rule.may_concern(part, call, world);
            match (rule.action, fit) {
                (_, Fit::No) => {}
                (Action::Deny, Fit::Possible | Fit::Certain) => {
                    return Some(self.by_rule(part, Action::Deny, rule, fit, None));
                }
                // A project's own file cannot say that nobody need be asked.
                (_, fit) if asked.is_none() => {
                    asked = Some((rule, unattended.filter(|_| self.may_widen(layer)), fit));
                }
                _ => {}
            }
        }
        if let Some((rule, unattended, fit)) = asked {
            return Some(self.by_rule(part, Action::Ask, rule, fit, unattended));
        }
        let allows = |(layer, rule, _): &(&Layer, &Rule, Option<Action>)| {
            rule.action == Action::Allow && self.may_widen(layer) && rule.allows(part, call, world)
        };
        if let Some((_, rule, _)) = self.rules().find(allows) {
            return part
                .needs_permission
                .then(|| self.by_rule(part, Action::Allow, rule, Fit::Certain, None));
        }
        if let Facet::Path(places) = &part.facet
            && writes(part.kind)
            && let Some(name) = places.protected(world)
        {
            let why = format!("`{name}` is protected: only a rule that names it can allow this");
            return Some(self.verdict(part, self.default.max(Action::Ask), None, why, None));
        }
        if !part.needs_permission {
            return None;
        }
        let mut nearly = self
            .rules()
            .filter(|(layer, rule, _)| rule.action == Action::Allow && self.may_widen(layer));
        let why = nearly
            .find_map(|(_, rule, _)| rule.near_miss(part))
            .unwrap_or_else(|| "no rule is about it".to_owned());
        let why = format!("{why}; the default is {}", self.default);
        Some(self.verdict(part, self.default, None, why, None))
    }

    fn by_rule(
        &self,
        part: &Part,
        action: Action,
        rule: &Rule,
        fit: Fit,
        unattended: Option<Action>,
    ) -> Verdict {
        let mut why = match action {
            Action::Allow => format!("allowed by {}", rule.place),
            Action::Ask => format!("{} asks", rule.place),
            Action::Deny => format!("denied by {}", rule.place),
        };
        let doubtful = matches!(part.facet, Facet::Opaque { .. }) || fit == Fit::Conceivable;
        if rule.action != Action::Allow && doubtful {
            why.push_str(" (it may be what the rule is about)");
        }
        if let Some(reason) = &rule.reason {
            why.push_str(": ");
            why.push_str(reason);
        }
        self.verdict(part, action, Some(rule.place.clone()), why, unattended)
    }

    fn verdict(
        &self,
        part: &Part,
        action: Action,
        rule: Option<RuleRef>,
        why: String,
        unattended: Option<Action>,
    ) -> Verdict {
        let unattended = match action {
            Action::Ask => unattended.unwrap_or(self.unattended),
            action => action,
        };
        Verdict { judged: Judged { part: part.what.clone(), action, rule, why }, unattended }
    }
}
