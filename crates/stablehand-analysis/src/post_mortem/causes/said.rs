//! What the agent said was wrong, in its terminal event or in passing, and what it was denied.
//!
//! What its words mean is `decode`'s list of wordings; here is what each kind asks for.

use super::{CauseKind, Finding};
use crate::post_mortem::Sure;
use crate::post_mortem::advice::BY_HAND;
use crate::post_mortem::facts::{Facts, Seen};
use crate::post_mortem::words;
use stablehand_core::event::{FailureKind, SessionEnd, TurnEnd};

/// From so many attempts in a row on, trying again is what the agent was doing.
const IN_VAIN: u64 = 2;

/// The terminal event says it.
pub(super) fn by_the_end(facts: &Facts) -> Option<Finding> {
    if facts.outcome() != Some(SessionEnd::AgentError) {
        return None;
    }
    let end = facts.end.as_ref()?;
    let seen = facts.turn_end.as_ref().map_or(&end.seen, |(seen, _)| seen);
    let stated = |kind, why: &str| Finding::new(kind, Sure::Certain, why).seen(seen);
    match facts.turn_end.as_ref().map(|(_, end)| end) {
        Some(TurnEnd::Refused) => {
            let why = "The model refused to do what it was asked.";
            Some(stated(CauseKind::ModelRefused, why).change("word the prompt differently"))
        }
        Some(TurnEnd::Limit) => {
            let why = "The agent reached a limit of its own: turns, tokens or budget.";
            let finding = stated(CauseKind::AgentLimit, why);
            let finding = finding.change("raise that limit in the agent's settings or arguments");
            Some(finding.changes(facts.resume()))
        }
        Some(TurnEnd::Cancelled) => Some(
            stated(CauseKind::TurnCancelled, "The turn was cancelled.").changes(facts.resume()),
        ),
        Some(TurnEnd::Failed { failure, .. }) => Some(failure_of(facts, *failure, seen)),
        Some(TurnEnd::Done | TurnEnd::Stopped { .. }) | None => {
            Some(failure_of(facts, end.failure?, seen))
        }
    }
}

fn failure_of(facts: &Facts, kind: FailureKind, seen: &Seen) -> Finding {
    if kind == FailureKind::Internal {
        // It is what is left when its words say nothing else.
        let why =
            "The agent reported an error, in words that name nothing that is known to go wrong.";
        return Finding { why: why.to_owned(), ..failure(facts, kind, Sure::Possible, seen) };
    }
    failure(facts, kind, Sure::Likely, seen)
}

/// It said so on either stream, did nothing new after that, and then ended or went quiet.
pub(super) fn in_passing(facts: &Facts) -> Option<Finding> {
    let is_open = matches!(
        facts.outcome(),
        Some(SessionEnd::NoResult | SessionEnd::Truncated | SessionEnd::Hung)
    );
    let spoken = facts.spoken.last().filter(|_| is_open)?;
    let went_on = facts.progress > spoken.progress;
    if went_on && facts.fatal().is_some() {
        return None; // It got over it, and what it hung in came later.
    }
    let vague = went_on || spoken.kind == FailureKind::Internal;
    let sure = if vague { Sure::Possible } else { Sure::Likely };
    Some(failure(facts, spoken.kind, sure, &spoken.seen))
}

fn failure(facts: &Facts, kind: FailureKind, sure: Sure, seen: &Seen) -> Finding {
    let agent = facts.agent_flag();
    let (cause, changes): (CauseKind, Vec<String>) = match kind {
        FailureKind::Auth => (
            CauseKind::NotLoggedIn,
            vec![format!("log in: `stablehand login{agent}`"), facts.look_at_agent()],
        ),
        FailureKind::RateLimit => (
            CauseKind::RateLimited,
            vec!["wait, or run fewer agents at once".to_owned(), facts.try_again()],
        ),
        FailureKind::Quota => (
            CauseKind::QuotaUsedUp,
            vec![
                "wait until the quota is renewed, or use another plan, account or model".to_owned(),
            ],
        ),
        FailureKind::Overloaded => (
            CauseKind::ServiceOverloaded,
            vec![facts.try_again(), "use another model: `--model`".to_owned()],
        ),
        FailureKind::ContextLength => (
            CauseKind::ConversationTooLong,
            vec![
                "begin a new session with a summary instead of resuming this one".to_owned(),
                "give it less to read at once, or a model with a longer context".to_owned(),
            ],
        ),
        FailureKind::Network => (
            CauseKind::NetworkFailed,
            vec!["look at the network, proxy and firewall".to_owned(), facts.try_again()],
        ),
        FailureKind::BadModel => (
            CauseKind::ModelUnavailable,
            vec![format!("choose one of `stablehand models{agent}`: `--model`")],
        ),
        FailureKind::BadRequest if facts.resumed => (
            CauseKind::ResumeRefused,
            vec![format!("see which sessions it knows here: `stablehand chats ls{agent}`")],
        ),
        FailureKind::BadRequest => {
            (CauseKind::RequestRefused, vec![facts.update(), BY_HAND.to_owned()])
        }
        FailureKind::Approval => {
            (CauseKind::NotTrusted, vec![format!("{BY_HAND}: it asks once"), facts.let_it()])
        }
        FailureKind::Tool => (CauseKind::ToolFailed, facts.resume().into_iter().collect()),
        _ => (CauseKind::AgentFailed, vec![facts.try_again(), facts.update()]),
    };
    let why = match cause {
        CauseKind::ResumeRefused => "the session that it was to resume is not there, or in use",
        _ => words::of_failure(kind),
    };
    let why = format!("By its own words: {why}.");
    Finding::new(cause, sure, why).seen(seen).changes(changes)
}

/// It tried again and again until it was stopped, or gave up.
pub(super) fn retries_in_vain(facts: &Facts) -> Option<Finding> {
    let gave_up = matches!(
        facts.outcome(),
        Some(SessionEnd::NoResult | SessionEnd::Truncated | SessionEnd::Hung)
    );
    if !gave_up || facts.tries_in_vain() < IN_VAIN {
        return None;
    }
    let why = format!(
        "The agent tried to reach its model {} times in a row, and got no answer.",
        facts.tries_in_vain()
    );
    let finding = Finding::new(CauseKind::RetriesInVain, Sure::Likely, why);
    let finding = finding.all_seen(facts.retries.iter());
    Some(
        finding
            .change("look at the network, proxy and firewall, and at the service's status page")
            .change(facts.try_again()),
    )
}

/// Something that it wanted to do was denied.
pub(super) fn denied(facts: &Facts) -> Option<Finding> {
    let refusal = facts.refusals.last()?;
    let count = facts.refusals.count();
    let times = words::count(count, "question", "questions");
    let by_nobody = facts.refusals.iter().any(|refusal| refusal.by_nobody);
    let (kind, why, change) = if by_nobody {
        let why = format!("{times} of the agent got no for an answer, because nobody answered.");
        (CauseKind::NobodyAnswered, why, facts.let_it())
    } else {
        let why = format!("{times} of the agent got no for an answer.");
        let change = "see which rule it was: `stablehand sessions show LOG --approvals`".to_owned();
        (CauseKind::Denied, why, change)
    };
    let finding = Finding::new(kind, Sure::Possible, why).seen(&refusal.seen).change(change);
    let may_explain =
        matches!(facts.outcome(), Some(SessionEnd::AgentError | SessionEnd::NoResult));
    Some(if may_explain {
        finding
    } else {
        // That it was denied is certain; that anything came of it is not said here.
        Finding { sure: Sure::Certain, ..finding }.beside()
    })
}
