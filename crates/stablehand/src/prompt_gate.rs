//! Rules about prompts at work: what they say of one prompt, and the record of that.
//!
//! Every way by which a prompt can reach an agent asks here first: the start of a session, a further
//! prompt, a rule to go on, an editor that is passed through, and an agent's hook.

use stablehand_core::actor::Actor;
use stablehand_core::record::{DecisionRecord, PromptJudged};
use stablehand_policy::{Action, PromptRules};

/// What a rule says of a prompt.
#[derive(Debug)]
pub(crate) struct PromptVerdict {
    /// Why the prompt may not be sent; none where the rule only warns.
    pub(crate) denied: Option<String>,
    /// What goes on record.
    pub(crate) record: DecisionRecord,
}

/// Judges a prompt; none where no rule is about it. `hook` names the agent's hook that told of it.
pub(crate) fn judge(
    rules: &PromptRules,
    prompt: &str,
    by: &Actor,
    hook: Option<&str>,
) -> Option<PromptVerdict> {
    if rules.is_empty() {
        return None;
    }
    let decision = rules.decide(prompt);
    let rule = Some(decision.rule?);
    let judged = PromptJudged {
        rule,
        by: by.by.to_string(),
        via: by.via.clone(),
        hook: hook.map(str::to_owned),
        bytes: prompt.len() as u64,
        text: format!("the prompt is {}", decision.reason),
    };
    Some(match decision.action {
        Action::Deny => PromptVerdict {
            denied: Some(decision.reason),
            record: DecisionRecord::PromptDenied(judged),
        },
        Action::Allow | Action::Ask => {
            PromptVerdict { denied: None, record: DecisionRecord::PromptWarned(judged) }
        }
    })
}
