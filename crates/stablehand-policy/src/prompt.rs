//! `[[prompt]]`: rules about what an agent is asked, decided before the prompt reaches it.
//!
//! Owns the table, the patterns and the decision. A prompt is judged whole, as text; a rule that denies
//! beats one that warns, whatever the order and the file. Who refuses the prompt is the library's.

use super::file::{PolicyError, Words};
use crate::settings::place::position;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use stablehand_core::decision::{Action, Decision, RuleRef};
use std::sync::Arc;
use toml::Spanned;

/// A pattern that needs more memory than this is no pattern for a sentence.
const MOST_REGEX_BYTES: usize = 1 << 20;

/// What becomes of a prompt that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptAction {
    /// The prompt goes to the agent, with a warning on record.
    Warn,
    /// The prompt does not go to the agent.
    Deny,
}

impl PromptAction {
    /// Returns the word for it, as in the file.
    pub fn word(self) -> &'static str {
        match self {
            PromptAction::Warn => "warn",
            PromptAction::Deny => "deny",
        }
    }
}

/// A rule about prompts.
#[derive(Clone, Debug)]
pub struct PromptRule {
    /// Where it stands.
    pub place: RuleRef,
    /// What becomes of a prompt that it matches.
    pub action: PromptAction,
    /// Its patterns, of which one must be found in the prompt.
    pub matches: Vec<Regex>,
    /// Why, for the person who prompts.
    pub reason: Option<String>,
    /// For which agents; all where none is named.
    pub agents: Vec<String>,
}

/// The rules about prompts that hold for one agent.
#[derive(Clone, Debug, Default)]
pub struct PromptRules(Arc<[PromptRule]>);

/// `[[prompt]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptTable {
    name: Option<String>,
    matches: Spanned<Words>,
    action: Spanned<String>,
    reason: Option<String>,
    agent: Option<Spanned<Words>>,
}

/// Makes a regular expression of a pattern, or says why it is none.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(MOST_REGEX_BYTES).build().map_err(|error| {
        let why = error.to_string().replace('\n', " ");
        format!("`matches` is no regular expression: {why}")
    })
}

/// Makes rules of tables that were read from `text`.
pub(crate) fn compile(
    tables: &[Spanned<PromptTable>],
    text: &str,
    file: &str,
) -> Result<Vec<PromptRule>, PolicyError> {
    tables.iter().map(|table| rule(table, text, file)).collect()
}

fn rule(spanned: &Spanned<PromptTable>, text: &str, file: &str) -> Result<PromptRule, PolicyError> {
    let table = spanned.as_ref();
    let words = |words: &Spanned<Words>, key: &str| {
        let list = words.as_ref().list();
        if list.is_empty() || list.iter().any(String::is_empty) {
            let what = format!("`{key}` is empty; name something, or leave the rule out");
            return Err(PolicyError::new(text, file, Some(words.span()), what));
        }
        Ok(list)
    };
    let action = match table.action.as_ref().as_str() {
        "deny" => PromptAction::Deny,
        "warn" => PromptAction::Warn,
        other => {
            let what = format!(
                "`{}` is no action of a [[prompt]]; there are `deny` and `warn`",
                other.escape_debug()
            );
            return Err(PolicyError::new(text, file, Some(table.action.span()), what));
        }
    };
    let made = words(&table.matches, "matches")?.iter().map(|it| pattern(it)).collect();
    let matches: Result<Vec<Regex>, String> = made;
    let matches =
        matches.map_err(|what| PolicyError::new(text, file, Some(table.matches.span()), what))?;
    let line = position(text, spanned.span().start).0;
    Ok(PromptRule {
        place: RuleRef { name: table.name.clone(), file: file.to_owned(), line },
        action,
        matches,
        reason: table.reason.clone(),
        agents: table.agent.as_ref().map_or(Ok(Vec::new()), |agents| words(agents, "agent"))?,
    })
}

impl PromptRule {
    fn is_for(&self, agent: &str) -> bool {
        let is_called = |name: &String| stablehand_core::id::is_called(agent, name);
        self.agents.is_empty() || self.agents.iter().any(is_called)
    }
}

impl PromptRules {
    /// The rules among these that are for this agent.
    pub(crate) fn new<'r>(rules: impl Iterator<Item = &'r PromptRule>, agent: &str) -> PromptRules {
        PromptRules(rules.filter(|rule| rule.is_for(agent)).cloned().collect())
    }

    /// Returns true if no rule is about prompts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules.
    pub fn iter(&self) -> impl Iterator<Item = &PromptRule> {
        self.0.iter()
    }

    /// Decides a prompt: denied by the first rule that denies it, else allowed. A prompt that a rule
    /// warns about is allowed, and the decision names that rule.
    pub fn decide(&self, prompt: &str) -> Decision {
        let matches =
            |rule: &&PromptRule| rule.matches.iter().any(|pattern| pattern.is_match(prompt));
        let found = self.0.iter().filter(matches).max_by(|one, other| {
            // The first of several with the same action counts.
            one.action.cmp(&other.action).then(std::cmp::Ordering::Greater)
        });
        let Some(rule) = found else {
            let reason = "no rule is about this prompt".to_owned();
            return decision(Action::Allow, reason, None);
        };
        let (action, verb) = match rule.action {
            PromptAction::Deny => (Action::Deny, "denied by"),
            PromptAction::Warn => (Action::Allow, "allowed with a warning by"),
        };
        let why = rule.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        decision(action, format!("{verb} {}{why}", rule.place), Some(rule.place.clone()))
    }
}

fn decision(action: Action, reason: String, rule: Option<RuleRef>) -> Decision {
    Decision { action, unattended: action, reason, rule, parts: Vec::new() }
}

#[cfg(test)]
mod tests {
    use crate::Policy;
    use crate::settings::{SettingsFile, Whose};
    use stablehand_core::decision::Action;

    fn error(text: &str) -> String {
        Policy::parse(text, "f.toml").unwrap_err().to_string()
    }

    #[test]
    fn the_strictest_rule_decides_and_of_those_the_first() {
        let text = r#"
            [[prompt]]
            name = "late"
            matches = "deploy"
            action = "warn"
            [[prompt]]
            name = "keys"
            matches = ["BEGIN [A-Z ]*PRIVATE KEY", "(?i)password:"]
            action = "deny"
            reason = "keys stay here"
            [[prompt]]
            name = "more"
            matches = "password"
            action = "deny"
            agent = "claude"
        "#;
        let policy = Policy::parse(text, "f.toml").unwrap();
        let decide = |agent: &str, prompt: &str| {
            let decision = policy.prompt_rules(agent).decide(prompt);
            let name = decision.rule.and_then(|rule| rule.name).unwrap_or_default();
            (decision.action, name, decision.reason)
        };
        let nothing = "no rule is about this prompt".to_owned();
        assert_eq!(decide("codex", "feed"), (Action::Allow, String::new(), nothing));
        let (action, name, reason) = decide("codex", "deploy, PASSWORD: oats");
        assert_eq!((action, name.as_str()), (Action::Deny, "keys"));
        assert_eq!(reason, "denied by rule `keys` (f.toml:6): keys stay here");
        assert_eq!(decide("claude", "password: oats").1, "keys", "the first that denies");
        assert_eq!(decide("claude", "my password").1, "more");
        assert_eq!(decide("codex", "my password").0, Action::Allow);
        let (action, name, reason) = decide("codex", "deploy it");
        assert_eq!((action, name.as_str()), (Action::Allow, "late"));
        assert!(reason.starts_with("allowed with a warning by rule `late`"), "{reason}");
        assert!(policy.says_nothing(), "it is about no call");
    }

    #[test]
    fn mistakes_have_their_place_and_say_what_there_is() {
        let table = [
            ("[[prompt]]\naction = 'deny'\n", "missing field `matches`"),
            ("[[prompt]]\nmatches = 'x'\n", "missing field `action`"),
            ("[[prompt]]\nmatches = ''\naction = 'deny'\n", "`matches` is empty"),
            ("[[prompt]]\nmatches = '('\naction = 'deny'\n", "is no regular expression"),
            ("[[prompt]]\nmatches = 'x'\naction = 'ask'\n", "there are `deny` and `warn`"),
            ("[[prompt]]\nmatches = 'x'\naction = 'deny'\npath = 'y'\n", "unknown field `path`"),
        ];
        for (text, expected) in table {
            let error = error(text);
            assert!(error.starts_with("f.toml:") && error.contains(expected), "{text}: {error}");
        }
        assert!(error("\n[[prompt]]\nmatches = 'x'\naction = 'ask'\n").starts_with("f.toml:4:"));
    }

    #[test]
    fn a_projects_rule_about_prompts_holds_since_it_only_narrows() {
        let text = "[[prompt]]\nmatches = 'x'\naction = 'deny'\n";
        let file = SettingsFile::parse(text, "stablehand.toml", Whose::Project).unwrap();
        let rules = file.policy.unwrap().prompt_rules("claude");
        assert_eq!(rules.decide("x").action, Action::Deny);
    }
}
