//! The questions whether an agent may do something: one queue, whoever asks and however.
//!
//! Owns which questions wait, since when, and what becomes of one that nobody answers. Every
//! question goes the same way: the policy judges, a person is asked where it says so, the answer
//! goes on record and then to whoever asked: the conversation ([`super::talk`]) or a hook
//! ([`super::hooks`]). While one waits, the monitor's clock stands still; nobody is waited for
//! without a bound unless that was asked for.

use super::Driver;
use crate::control::Subject;
use crate::gate::{Attendance, Gate};
use serde_json::Value;
use stablehand_core::Moment;
use stablehand_core::actor::{Actor, ActorKind};
use stablehand_core::event::{Choice, EventKind, Tool};
use stablehand_core::id::CallId;
use stablehand_core::monitor::Input;
use stablehand_core::record::{
    AnswerRefused, ApprovalRequested, ApprovalResolved, LeftAlone, PolicyDecided,
};
use stablehand_core::speak::{Answer, Unanswerable};
use stablehand_policy::{Action, Decision};
use std::sync::Arc;
use std::time::Duration;

/// What becomes of the agent's questions.
#[derive(Clone, Debug)]
pub enum Approvals {
    /// They are allowed.
    Allow,
    /// They are denied.
    Deny,
    /// Somebody answers with [`crate::control::Request::Answer`]; after so long without an answer they are
    /// denied.
    Ask {
        /// No limit where absent.
        patience: Option<Duration>,
    },
    /// A policy answers, and where it says `ask`, somebody else.
    Policy {
        /// The rules.
        gate: Arc<Gate>,
        /// Who that is.
        attendance: Attendance,
    },
}

impl Approvals {
    /// How long a question waits for a person.
    fn patience(&self) -> Option<Duration> {
        match self {
            Approvals::Ask { patience }
            | Approvals::Policy { attendance: Attendance::Person { patience }, .. } => *patience,
            _ => None,
        }
    }

    /// Whether calls are judged one by one, by rules or by a person.
    pub fn judge(&self) -> bool {
        matches!(self, Approvals::Ask { .. } | Approvals::Policy { .. })
    }
}

/// Who asked, and so who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// The agent, in a conversation.
    Conversation,
    /// A hook that waits, by our number of it.
    Hook(u64),
    /// The agent, who wants something done for it, by our number of that.
    Service(u64),
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    /// The id to answer to.
    pub(super) id: &'a str,
    pub(super) asker: Asker,
    /// The agent's id of the call, where it has one.
    pub(super) call: Option<&'a CallId>,
    /// What is asked, for a person.
    pub(super) what: &'a str,
    /// The choices.
    pub(super) options: &'a [String],
    /// The call that it is about, where that is known.
    pub(super) tool: Option<&'a Tool>,
    /// Everything that the tool is given; `Null` where nobody says.
    pub(super) arguments: &'a Value,
    /// Where it works.
    pub(super) cwd: Option<&'a str>,
}

/// A question that waits for a person.
#[derive(Debug)]
struct Question {
    id: String,
    asker: Asker,
    since: Moment,
    /// What it becomes when nobody answers.
    otherwise: Answer,
}

impl Asked<'_> {
    /// As an event; `waits` where a person is to answer, with the policy's reason.
    fn event(&self, waits: bool, why: Option<&str>) -> EventKind {
        EventKind::ApprovalRequested {
            id: self.id.to_owned(),
            call: self.call.cloned(),
            what: self.what.to_owned(),
            options: self.options.to_vec(),
            tool: self.tool.cloned().map(Box::new),
            why: why.map(str::to_owned),
            waits,
        }
    }
}

/// The questions that wait.
#[derive(Debug)]
pub(super) struct Questions {
    approvals: Approvals,
    waiting: Vec<Question>,
    /// The monitor knows that somebody is waited for.
    held: bool,
}

impl Questions {
    pub(super) fn new(approvals: &Approvals) -> Questions {
        Questions { approvals: approvals.clone(), waiting: Vec::new(), held: false }
    }

    /// Forgets what was answered or taken back elsewhere.
    pub(super) fn settle(&mut self, id: &str) {
        self.waiting.retain(|open| open.id != id);
    }

    /// Forgets all that were asked so.
    pub(super) fn clear(&mut self, asked: impl Fn(Asker) -> bool) {
        self.waiting.retain(|open| !asked(open.asker));
    }

    /// The question that a hook waits for.
    pub(super) fn of_hook(&self, number: u64) -> Option<&str> {
        let asked = |open: &&Question| open.asker == Asker::Hook(number);
        self.waiting.iter().find(asked).map(|open| open.id.as_str())
    }
}

impl Driver<'_> {
    /// Judges a question, and answers it or lets it wait.
    pub(super) fn was_asked(&mut self, asked: Asked<'_>, now: Moment) {
        if self.requests.is_alarmed() {
            return self.answer(asked.id, asked.asker, &deny(STOPPING), &ActorKind::Stop.into());
        }
        match self.questions.approvals.clone() {
            Approvals::Ask { .. } => {
                self.announce(&asked, true, None);
                self.let_wait(&asked, "", deny("denied: nobody answered in time"), now);
            }
            Approvals::Allow => {
                self.announce(&asked, false, None);
                self.answer(asked.id, asked.asker, &Answer::Allow, &ActorKind::Policy.into());
            }
            Approvals::Deny => {
                self.announce(&asked, false, None);
                let no = deny("denied: nobody is there to ask");
                self.answer(asked.id, asked.asker, &no, &ActorKind::Policy.into());
            }
            Approvals::Policy { gate, attendance } => {
                let decision = gate.judge_call(asked.tool, asked.arguments, asked.cwd);
                self.rule(&asked, &decision, attendance, now);
            }
        }
    }

    /// Puts a question on record, for all who show it: the one event of it.
    pub(super) fn announce(&mut self, asked: &Asked<'_>, waits: bool, why: Option<&str>) {
        let event = asked.event(waits, why);
        self.log.decide(ApprovalRequested { id: asked.id.to_owned() }, Some(&event));
    }

    /// Carries out what the policy says, and puts it on record first.
    fn rule(
        &mut self,
        asked: &Asked<'_>,
        decision: &Decision,
        attendance: Attendance,
        now: Moment,
    ) {
        let is_for_person =
            decision.action == Action::Ask && matches!(attendance, Attendance::Person { .. });
        let why = is_for_person.then_some(decision.reason.as_str());
        self.announce(asked, is_for_person, why);
        let decided = PolicyDecided {
            id: asked.id.to_owned(),
            method: None,
            decision: Some(decision.clone()),
        };
        self.log.decide(decided, None);
        let by = decided_by(decision);
        let answer = |action| match action {
            Action::Allow => Answer::Allow,
            Action::Ask | Action::Deny => deny(&format!("denied: {}", decision.reason)),
        };
        match (decision.action, attendance) {
            (Action::Ask, Attendance::Person { .. }) => {
                self.let_wait(asked, &decision.reason, answer(decision.unattended), now);
            }
            (Action::Ask, Attendance::Nobody) => {
                self.answer(asked.id, asked.asker, &answer(decision.unattended), &by);
            }
            (action, _) => self.answer(asked.id, asked.asker, &answer(action), &by),
        }
    }

    /// Nobody answers any more: every question becomes what it is without anybody.
    pub(super) fn left_alone(&mut self) {
        match &mut self.questions.approvals {
            Approvals::Policy { attendance, .. } => *attendance = Attendance::Nobody,
            approvals @ Approvals::Ask { .. } => *approvals = Approvals::Deny,
            Approvals::Allow | Approvals::Deny => return,
        }
        let waiting = std::mem::take(&mut self.questions.waiting);
        let text = "nobody is there to answer questions any more".to_owned();
        self.log.decide(LeftAlone { waiting: waiting.len() as u64, text }, None);
        for open in waiting {
            self.answer(&open.id, open.asker, &open.otherwise, &ActorKind::Unattended.into());
        }
    }

    /// The agent is being stopped: no hook is waited for any more, and none says yes.
    pub(super) fn turn_hooks_down(&mut self) {
        let of_hook = |open: &mut Question| matches!(open.asker, Asker::Hook(_));
        let waiting: Vec<Question> = self.questions.waiting.extract_if(.., of_hook).collect();
        for open in waiting {
            self.answer(&open.id, open.asker, &deny(STOPPING), &ActorKind::Stop.into());
        }
    }

    fn let_wait(&mut self, asked: &Asked<'_>, why: &str, otherwise: Answer, now: Moment) {
        let gate = match &self.questions.approvals {
            Approvals::Policy { gate, .. } => Some(Arc::clone(gate)),
            _ => None,
        };
        let tool = asked.tool.cloned().map(Box::new);
        self.requests.board().waits(asked.id, Subject { gate, tool, why: why.to_owned() });
        self.questions.waiting.push(Question {
            id: asked.id.to_owned(),
            asker: asked.asker,
            since: now,
            otherwise,
        });
    }

    /// When the first question has waited long enough.
    pub(super) fn question_deadline(&self) -> Option<Moment> {
        let patience = self.questions.approvals.patience();
        self.questions.waiting.first().zip(patience).map(|(open, p)| open.since.plus(p))
    }

    /// What nobody answered in time is answered for them, and the monitor knows whether anybody is
    /// waited for.
    pub(super) fn advance_questions(&mut self) {
        let now = self.clock.now();
        if let Some(patience) = self.questions.approvals.patience() {
            let late = |open: &Question| open.since.plus(patience) <= now;
            let due: Vec<Question> =
                self.questions.waiting.extract_if(.., |open| late(open)).collect();
            for open in due {
                self.answer(&open.id, open.asker, &open.otherwise, &ActorKind::Timeout.into());
            }
        }
        let by_client = self.relay.as_ref().is_some_and(super::Relay::waits_for_client);
        let waits = by_client || !self.questions.waiting.is_empty();
        if self.questions.held || waits {
            // What was taken back or settled elsewhere waits for nobody.
            let waiting = &self.questions.waiting;
            self.requests.board().only(|id| waiting.iter().any(|open| open.id == id));
        }
        if waits != self.questions.held {
            self.questions.held = waits;
            self.tell(Input::ApprovalPending(waits), now);
        }
    }

    /// The answer of somebody who was asked.
    pub(super) fn answer_of(&mut self, id: &str, answer: &Answer, by: &Actor) {
        let open = self.questions.waiting.iter().find(|open| open.id == id);
        let asker = open.map_or(Asker::Conversation, |open| open.asker);
        self.answer(id, asker, answer, by);
    }

    /// Answers a question, on record first.
    pub(super) fn answer(&mut self, id: &str, asker: Asker, answer: &Answer, by: &Actor) {
        let mut given = answer.clone();
        let mut tried = self.word(id, asker, &given);
        if matches!(tried, Err(Unanswerable::NoSuchAnswer { .. })) && !by.by.is_somebody() {
            // Nobody is there to choose better, and the agent waits.
            given = deny("denied: it cannot be answered here");
            tried = self.word(id, asker, &given);
        }
        match tried {
            Ok(worded) => {
                self.questions.settle(id);
                let message = match &given {
                    Answer::Deny { message } => Some(message.as_str()),
                    _ => None,
                };
                self.resolved(id, (&given).into(), by, message);
                self.deliver(asker, &worded, &given, by.by.is_somebody());
            }
            Err(error) => {
                self.requests.board().still_waits(id);
                let refused = AnswerRefused {
                    id: id.to_owned(),
                    choice: answer.word().to_owned(),
                    by: Some(by.by.to_string()),
                    via: by.via.clone(),
                    text: error.to_string(),
                };
                self.log.decide(refused, None);
            }
        }
    }

    /// Puts on record what became of a question.
    pub(super) fn resolved(&mut self, id: &str, choice: Choice, by: &Actor, message: Option<&str>) {
        self.requests.board().answered(id, by);
        let record = ApprovalResolved {
            id: id.to_owned(),
            choice: choice.to_string(),
            by: by.by.to_string(),
            via: by.via.clone(),
            message: message.map(str::to_owned),
        };
        let event = EventKind::ApprovalResolved { id: id.to_owned(), choice, by: by.clone() };
        self.log.decide(record, Some(&event));
    }

    /// The answer in the words of whoever asked.
    fn word(&mut self, id: &str, asker: Asker, answer: &Answer) -> Result<Vec<u8>, Unanswerable> {
        match asker {
            Asker::Conversation => self.word_in_talk(id, answer),
            Asker::Hook(number) => self.word_for_hook(id, number, answer),
            Asker::Service(number) => self.word_for_service(id, number, answer),
        }
    }

    fn deliver(&mut self, asker: Asker, worded: &[u8], answer: &Answer, by_person: bool) {
        match asker {
            Asker::Conversation => self.say_answer(worded),
            Asker::Hook(number) => self.answer_hook(number, worded, answer, by_person),
            Asker::Service(number) => self.serve_or_refuse(number, answer),
        }
    }
}

/// What whoever asks is told while the agent is being stopped.
pub(super) const STOPPING: &str = "denied: the run is being stopped";

/// The rule that decided, or the policy as a whole.
pub(super) fn decided_by(decision: &Decision) -> Actor {
    let rule = decision.rule.as_ref().map(|rule| ActorKind::Rule(rule.to_string()));
    rule.unwrap_or(ActorKind::Policy).into()
}

pub(super) fn deny(message: &str) -> Answer {
    Answer::Deny { message: message.to_owned() }
}
