//! Going on after a turn: asking the rules, putting it on record, telling the agent.
//!
//! Owns the look back into the log, which alone has the texts that rules may be about: it is read
//! only where there are rules. Whether to go on is decided by [`Continuations`]; a person's word, a
//! stop, or a turn that did not end well come before any rule.

use super::stop::StopReason;
use super::{Driver, Ending};
use crate::continuation::{Continuations, Continued};
use crate::control::Request;
use crate::log::Fill;
use crate::prompt_gate;
use stablehand_core::actor::ActorKind;
use stablehand_core::event::{EventKind, SessionEnd, TurnEnd};
use stablehand_core::id::SessionId;
use stablehand_core::record::{DecisionRecord, Record, TurnContinued};
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect};

/// So much of the log is read back at the most: the agent's pipes wait meanwhile.
const READ_BACK: u64 = 64 << 20;

/// The rules of a run, and how far they have seen it.
#[derive(Debug)]
pub(super) struct Onward {
    pub(super) rules: Continuations,
    reader: EventReader,
    position: u64,
}

impl Onward {
    pub(super) fn new(rules: Continuations, dialect: Dialect, began: u64) -> Self {
        Onward { rules, reader: EventReader::new(dialect, Depth::Full), position: began }
    }
}

impl Driver<'_> {
    /// What the agent is to be told instead of resting: decided, counted and on record. The caller
    /// tells it, in whichever way it listens.
    fn continuation(&mut self, how: &str) -> Option<Continued> {
        self.see_what_was_said();
        let rules = &self.onward.rules;
        let (proposed, exhausted) = (rules.proposed(), rules.exhausted());
        self.settle_continuation(proposed, exhausted, how)
    }

    /// Puts a proposal on record and counts it, or says why nothing comes of it.
    fn settle_continuation(
        &mut self,
        proposed: Option<Continued>,
        exhausted: Option<String>,
        how: &str,
    ) -> Option<Continued> {
        let Some(continued) = proposed else {
            if let Some(why) = exhausted {
                self.not_continued(&why);
            }
            return None;
        };
        let by = ActorKind::Rule(continued.rule.to_string()).into();
        let rules = &self.spec.prompt_rules;
        if let Some(verdict) = prompt_gate::judge(rules, &continued.prompt, &by, None) {
            self.log.decide(verdict.record, None);
            if let Some(why) = verdict.denied {
                self.not_continued(&format!("the prompt is {why}"));
                return None;
            }
        }
        self.onward.rules.accept(&continued);
        let Continued { prompt, rule, count, max, sub_agent, .. } = &continued;
        let who = if sub_agent.is_some() { "the sub-agent" } else { "the agent" };
        let event = EventKind::TurnContinued {
            prompt: prompt.clone(),
            by: rule.to_string(),
            count: *count,
            max: *max,
            sub_agent: sub_agent.clone(),
        };
        let record = DecisionRecord::Continued(TurnContinued {
            rule: Some(rule.clone()),
            count: *count,
            max: *max,
            prompt: prompt.clone(),
            sub_agent: sub_agent.clone(),
            text: format!("{rule} has {who} go on ({count} of {max}), {how}"),
        });
        self.log.decide(record, Some(&event));
        Some(continued)
    }

    /// After a turn of a conversation: the same process goes on, where a rule says so.
    pub(super) fn continuation_of_turn(&mut self) -> Option<Continued> {
        let may_be_told = !self.interaction.is_cancelled() && self.prompt.is_open();
        if !may_be_told || !self.may_go_on(self.facts.result.as_ref()) {
            return None;
        }
        self.continuation("in the same process")
    }

    /// An agent that asks before it rests: the same turn goes on, where a rule says so.
    pub(super) fn continue_by_hook(&mut self) -> Option<String> {
        if !self.may_go_on(Some(&TurnEnd::Done)) {
            return None;
        }
        self.continuation("in the same turn, by its hook").map(|continued| continued.prompt)
    }

    /// A sub-agent that is about to rest: it goes on, where a rule for sub-agents says so.
    pub(super) fn continue_subagent(&mut self, id: &str, last_text: &str) -> Option<String> {
        if self.stop.reason().is_some() || self.requests.is_alarmed() {
            return None;
        }
        let rules = &self.onward.rules;
        let proposed = rules.proposed_to_subagent(id, last_text);
        let exhausted = rules.exhausted_for_subagent(id, last_text);
        let continued = self.settle_continuation(proposed, exhausted, "by its hook");
        continued.map(|continued| continued.prompt)
    }

    /// After a process that takes one turn: whoever runs it resumes the session, where a rule says so.
    pub(super) fn continue_session(&mut self, ending: Ending) -> Option<Continued> {
        let one_turn = self.spec.talk.is_none() && ending.end == SessionEnd::Success;
        if !one_turn || !self.may_go_on(Some(&TurnEnd::Done)) {
            return None;
        }
        let safe = self.facts.session.as_ref().is_some_and(SessionId::is_safe_argument);
        if safe && self.survivors.is_empty() {
            return self.continuation("in a new process that resumes the session");
        }
        self.see_what_was_said();
        self.onward.rules.proposed()?;
        self.not_continued(match &self.facts.session {
            _ if !self.survivors.is_empty() => "processes of the last turn are still alive",
            None => "the agent did not name its session, so it cannot be resumed",
            Some(_) => "the name of the session cannot be given to the agent safely",
        });
        None
    }

    fn may_go_on(&self, result: Option<&TurnEnd>) -> bool {
        !self.onward.rules.is_empty()
            && result == Some(&TurnEnd::Done)
            && matches!(self.stop.reason(), None | Some(StopReason::ExitOverdue))
            && !self.requests.has(|request| matches!(request, Request::Prompt(_)))
    }

    fn not_continued(&mut self, why: &str) {
        let text = format!("the agent is not told to go on: {why}");
        self.log.decide(DecisionRecord::NotContinued(text.into()), None);
    }

    /// Reads back what the log got since the last look.
    fn see_what_was_said(&mut self) {
        self.log.flush();
        let newest = self.log.position().saturating_sub(READ_BACK);
        let mut tail = self.log.tail(self.onward.position.max(newest));
        let mut told = Vec::new();
        while let Ok(Fill::Grew | Fill::Lost(_)) = tail.fill() {
            while let Some(line) = tail.next() {
                self.onward.reader.tell(&Record::read(line.bytes), &mut told);
                told.drain(..).for_each(|fact| self.onward.rules.saw(&fact.kind));
            }
        }
        self.onward.position = tail.position();
    }
}
