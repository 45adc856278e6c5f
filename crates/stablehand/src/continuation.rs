//! Rules for going on, at work on one session.
//!
//! Owns what was seen and how often each rule was used; one value goes from run to run of a session,
//! and the driver of the present run owns it. The decision itself is core's
//! ([`stablehand_core::continuation`]); telling the agent is the driver's.

use stablehand_core::continuation::{self, ContinueRule, Counts, Resting, Seen};
use stablehand_core::event::EventKind;
use stablehand_policy::RuleRef;
use std::sync::Arc;

/// When an agent, or a sub-agent of it, is told to go on, and how often that has been done.
#[derive(Clone, Debug, Default)]
pub struct Continuations {
    rules: Arc<[ContinueRule]>,
    counts: Counts,
    seen: Seen,
}

/// A decision to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continued {
    /// What the agent is told.
    pub prompt: String,
    /// The rule that says so.
    pub rule: RuleRef,
    /// How often that rule has been used, with this time.
    pub count: u32,
    /// How often it may be.
    pub max: u32,
    /// The agent's id of the sub-agent that goes on, where it is one; may be empty.
    pub sub_agent: Option<String>,
    index: usize,
}

impl Continuations {
    /// The rules that are for this agent; the first that fits counts.
    pub fn new(rules: impl IntoIterator<Item = ContinueRule>, agent: &str) -> Continuations {
        let rules = rules.into_iter().filter(|rule| rule.is_for(agent)).collect();
        Continuations { rules, ..Continuations::default() }
    }

    /// Whether there is no rule, so that nothing need be seen.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Takes an event of the session in; with its text, since rules may be about that.
    pub fn saw(&mut self, event: &EventKind) {
        self.seen.take(event);
    }

    /// What an agent that is about to rest is to be told, as far as is known now.
    pub fn proposed(&self) -> Option<Continued> {
        self.propose(self.main())
    }

    /// What a sub-agent that is about to rest is to be told. `id` is the agent's own id of it, and
    /// `last_text` the last that it said.
    pub fn proposed_to_subagent(&self, id: &str, last_text: &str) -> Option<Continued> {
        self.propose(Resting { subagent: Some(id), seen: &Seen::of_subagent(last_text) })
    }

    fn main(&self) -> Resting<'_> {
        Resting { subagent: None, seen: &self.seen }
    }

    fn propose(&self, resting: Resting<'_>) -> Option<Continued> {
        let (index, rule) = continuation::decide(&self.rules, resting, &self.counts)?;
        Some(Continued {
            prompt: rule.prompt.clone(),
            rule: rule.place.clone(),
            count: self.counts.of(index, resting.subagent) + 1,
            max: rule.max,
            sub_agent: resting.subagent.map(str::to_owned),
            index,
        })
    }

    /// It is told so: that counts, and another turn begins where it is the main agent.
    pub fn accept(&mut self, continued: &Continued) {
        self.counts.add(continued.index, continued.sub_agent.as_deref());
        if continued.sub_agent.is_none() {
            self.seen.begin_turn();
        }
    }

    /// Why it may rest although a rule fits.
    pub fn exhausted(&self) -> Option<String> {
        self.exhausted_for(self.main())
    }

    /// The same of a sub-agent.
    pub fn exhausted_for_subagent(&self, id: &str, last_text: &str) -> Option<String> {
        self.exhausted_for(Resting { subagent: Some(id), seen: &Seen::of_subagent(last_text) })
    }

    fn exhausted_for(&self, resting: Resting<'_>) -> Option<String> {
        let rule = continuation::used_up(&self.rules, resting, &self.counts)?;
        let total = self.counts.total(resting.rester());
        Some(if total >= continuation::MOST_IN_ALL {
            format!("it was told to go on {total} times, which is enough")
        } else {
            format!("{} was used {} times, which is all it allows", rule.place, rule.max)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_policy::settings::{Settings, SettingsFile, Whose};

    fn rules(text: &str, agent: &str) -> Continuations {
        let file = SettingsFile::parse(text, "f.toml", Whose::User).unwrap();
        Continuations::new(Settings::layered(vec![file], |_| false).continues, agent)
    }

    #[test]
    fn a_proposal_counts_once_it_is_accepted() {
        let text = "[[continue]]\nwhen = 'stopped without an answer'\nprompt = 'well?'\nmax = 2\n";
        let mut rules = rules(text, "any");
        assert_eq!(rules.proposed(), rules.proposed());
        for count in [1, 2] {
            let continued = rules.proposed().unwrap();
            assert_eq!(
                (continued.prompt.as_str(), continued.count, continued.max),
                ("well?", count, 2)
            );
            assert_eq!(rules.exhausted(), None);
            rules.accept(&continued);
        }
        assert_eq!(rules.proposed(), None);
        assert!(rules.exhausted().unwrap().contains("f.toml:1 was used 2 times"));
        rules.saw(&EventKind::TurnEnded {
            end: stablehand_core::event::TurnEnd::Done,
            text: Some("Here.".into()),
            usage: None,
            duration_ms: None,
        });
        assert_eq!(rules.exhausted(), None, "it answered; no rule fits");
    }

    #[test]
    fn rules_of_another_agent_are_no_rules_and_all_of_them_end() {
        let text = "[[continue]]\nmatches = ''\nagent = 'pony'\nprompt = 'go'\nmax = 1000\n";
        assert!(rules(text, "horse").is_empty());
        let mut rules = rules(text, "pony");
        let mut times = 0;
        while let Some(continued) = rules.proposed() {
            rules.accept(&continued);
            times += 1;
        }
        assert_eq!(times, continuation::MOST_IN_ALL);
        assert!(rules.exhausted().unwrap().contains("20 times"));
    }
}
