//! Permission requests of a running agent: judged, announced, answered, and on record first.
//!
//! Carries out what core's [`Interaction`](stablehand_core::interaction::Interaction) decides. Every
//! request goes the same way: the policy judges, a person is asked where it says so, the answer goes
//! on record and then through the [channel](super::channel) by which it came. While one waits, the
//! monitor's clock stands still.

use super::Driver;
use super::channel::{Channel, Channels, Given};
use super::stop::StopReason;
use crate::control::Subject;
use crate::gate::{Attendance, Gate};
use serde_json::Value;
use stablehand_core::Moment;
use stablehand_core::actor::{Actor, ActorKind};
use stablehand_core::decision::OnUnasked;
use stablehand_core::event::{Choice, EventKind, Tool};
use stablehand_core::id::CallId;
use stablehand_core::interaction::{Asker, Reaction, deny};
use stablehand_core::monitor::Input;
use stablehand_core::record::{
    AnswerRefused, ApprovalRequested, ApprovalResolved, LeftAlone, PolicyDecided, ToolNotAsked,
};
use stablehand_core::speak::{Answer, Unanswerable};
use stablehand_core::text::excerpt;
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
    /// Returns who answers requests at the beginning of a run.
    pub(super) fn attendance(&self) -> Attendance {
        match self {
            Approvals::Ask { patience } => Attendance::Person { patience: *patience },
            Approvals::Policy { attendance, .. } => *attendance,
            Approvals::Allow | Approvals::Deny => Attendance::Nobody,
        }
    }

    /// Whether calls are judged one by one, by rules or by a person.
    pub fn judge(&self) -> bool {
        matches!(self, Approvals::Ask { .. } | Approvals::Policy { .. })
    }
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

impl Driver<'_> {
    /// Judges a question that came through a channel, and answers it or lets it wait.
    pub(super) fn was_asked(&mut self, channel: &mut dyn Channel, asked: Asked<'_>, now: Moment) {
        if self.requests.is_alarmed() {
            let stop = ActorKind::Stop.into();
            return self.answer(channel, asked.id, asked.asker, &deny(STOPPING), &stop);
        }
        let decision = match &self.spec.approvals {
            Approvals::Policy { gate, .. } => {
                gate.judge_call(asked.tool, asked.arguments, asked.cwd)
            }
            Approvals::Allow => without_rules(Action::Allow, ""),
            Approvals::Ask { .. } if self.interaction.is_attended() => {
                without_rules(Action::Ask, "nobody answered in time")
            }
            Approvals::Ask { .. } | Approvals::Deny => {
                without_rules(Action::Deny, "nobody is there to ask")
            }
        };
        let has_rules = matches!(self.spec.approvals, Approvals::Policy { .. });
        // Without rules no policy decides: a setting does, or that nobody is there any more.
        let by = match &self.spec.approvals {
            Approvals::Policy { .. } => decided_by(&decision),
            Approvals::Allow | Approvals::Deny => ActorKind::Setting.into(),
            Approvals::Ask { .. } => ActorKind::Unattended.into(),
        };
        let reaction = self.interaction.request(asked.id, asked.asker, &decision, now);
        let waits = reaction == Reaction::Wait;
        let why = (waits && has_rules).then_some(decision.reason.as_str());
        self.announce(&asked, waits, why);
        if has_rules {
            let decision = Some(decision.clone());
            let decided = PolicyDecided { id: asked.id.to_owned(), method: None, decision };
            self.log.decide(decided, None);
        }
        match reaction {
            Reaction::Wait => {
                let gate = match &self.spec.approvals {
                    Approvals::Policy { gate, .. } => Some(Arc::clone(gate)),
                    _ => None,
                };
                let tool = asked.tool.cloned().map(Box::new);
                let why = why.unwrap_or_default().to_owned();
                self.requests.board().waits(asked.id, Subject { gate, tool, why });
            }
            Reaction::Answer(answer) => {
                self.answer(channel, asked.id, asked.asker, &answer, &by);
            }
        }
    }

    /// Puts a question on record, for all who show it: the one event of it.
    pub(super) fn announce(&mut self, asked: &Asked<'_>, waits: bool, why: Option<&str>) {
        let event = asked.event(waits, why);
        self.log.decide(ApprovalRequested { id: asked.id.to_owned() }, Some(&event));
    }

    /// Nobody answers any more: every question becomes what it is without anybody.
    pub(super) fn left_alone(&mut self, channels: &mut Channels) {
        let Some(waiting) = self.interaction.leave_alone() else { return };
        let text = "nobody is there to answer questions any more".to_owned();
        self.log.decide(LeftAlone { waiting: waiting.len() as u64, text }, None);
        for open in waiting {
            let by = ActorKind::Unattended.into();
            self.answer(channels.of(open.asker), &open.id, open.asker, &open.otherwise, &by);
        }
    }

    /// What nobody answered in time is answered for them, and the monitor knows whether anybody is
    /// waited for.
    pub(super) fn advance_questions(&mut self, channels: &mut Channels) {
        let now = self.clock.now();
        for open in self.interaction.expire(now) {
            let by = ActorKind::Timeout.into();
            self.answer(channels.of(open.asker), &open.id, open.asker, &open.otherwise, &by);
        }
        let by_client = channels.primary.waits_for_client();
        let (waits, waited) = self.interaction.take_held(by_client);
        if waits || waited {
            // What was taken back or settled elsewhere waits for nobody.
            self.requests.board().only(|id| self.interaction.waits(id));
        }
        if waits != waited {
            self.tell(Input::ApprovalPending(waits), now);
        }
    }

    /// The answer of somebody who was asked.
    pub(super) fn answer_of(
        &mut self,
        channels: &mut Channels,
        id: &str,
        answer: &Answer,
        by: &Actor,
    ) {
        let asker = self.interaction.asker_of(id).unwrap_or(Asker::Conversation);
        self.answer(channels.of(asker), id, asker, answer, by);
    }

    /// Answers a question through its channel, on record first.
    pub(super) fn answer(
        &mut self,
        channel: &mut dyn Channel,
        id: &str,
        asker: Asker,
        answer: &Answer,
        by: &Actor,
    ) {
        let mut given = answer.clone();
        let mut tried = channel.word(id, asker, &given);
        if matches!(tried, Err(Unanswerable::NoSuchAnswer { .. })) && !by.by.is_somebody() {
            // Nobody is there to choose better, and the agent waits.
            given = deny("it cannot be answered here");
            tried = channel.word(id, asker, &given);
        }
        match tried {
            Ok(worded) => {
                self.interaction.settle(id, (&given).into());
                let message = match &given {
                    Answer::Deny { message } => Some(message.as_str()),
                    _ => None,
                };
                self.resolved(id, (&given).into(), by, message);
                let by_person = by.by.is_somebody();
                let given = Given { worded: &worded, answer: &given, by_person };
                channel.deliver(self, asker, &given);
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
}

/// Tool calls that no request covered.
impl Driver<'_> {
    /// Judges the tools that the stream told of and no request covered. Where the rules do not allow
    /// one, the run is stopped: nobody can take it back, but the agent does nothing more. Where only a
    /// warning is wanted ([`OnUnasked`]), the record says so and the run goes on.
    pub(super) fn judge_tools(&mut self, now: Moment) {
        for tool in self.interaction.take_unasked() {
            if self.stop.reason().is_some() {
                return;
            }
            let (decision, on_unasked) = match &self.spec.approvals {
                Approvals::Policy { gate, .. } => {
                    (gate.judge_call(Some(&tool), &Value::Null, None), gate.on_unasked())
                }
                _ => (without_rules(Action::Allow, ""), OnUnasked::Warn),
            };
            // The agent need not ask again about a call that the rules leave to a person, after a
            // person has answered "always".
            let is_allowed = match decision.action {
                Action::Allow => true,
                Action::Ask => self.interaction.is_always_allowed(&tool),
                Action::Deny => false,
            };
            let tolerated = !is_allowed && on_unasked == OnUnasked::Warn;
            if is_allowed && self.spec.hooks.is_none() {
                // Only hooks promise to ask about everything.
                continue;
            }
            let (name, what) = (tool.name.as_bytes(), tool.headline().as_bytes());
            let what = format!("{} {}", excerpt(name, 60), excerpt(what, 200));
            let text = if is_allowed {
                format!("the agent used a tool that no hook asked about: {what}")
            } else {
                let why = excerpt(decision.reason.as_bytes(), 400);
                let then = if tolerated { "the run goes on" } else { "so the run is stopped" };
                format!(
                    "the agent ran a tool without asking, and the rules do not allow it, {then}: \
                     {what}: {why}"
                )
            };
            let decision = Some(decision).filter(|_| !is_allowed);
            let record = ToolNotAsked { call_id: tool.call, decision, tolerated, text };
            self.stamp(now);
            self.log.decide(record, None);
            if !is_allowed && !tolerated {
                self.stop.kill(StopReason::Unasked, now);
            }
        }
    }
}

/// Why requests are denied while the agent is being stopped.
pub(super) const STOPPING: &str = "the run is being stopped";

/// Returns the rule that decided, or the policy as a whole where its default did.
pub(super) fn decided_by(decision: &Decision) -> Actor {
    let rule = decision.rule.as_ref().map(|rule| ActorKind::Rule(rule.to_string()));
    rule.unwrap_or(ActorKind::Policy).into()
}

/// What is decided of every call alike, where there are no rules.
fn without_rules(action: Action, reason: &str) -> Decision {
    let (unattended, reason) = (Action::Deny, reason.to_owned());
    Decision { action, unattended, reason, rule: None, parts: Vec::new() }
}
