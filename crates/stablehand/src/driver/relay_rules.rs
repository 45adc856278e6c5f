//! Rules between an agent and its client: what the agent asks the client for is judged on its way.
//!
//! Owns what becomes of a line of the agent under a policy: it passes, it is withheld and answered by
//! us, or it waits until the client has said whether it may. A permission that the rules leave to a
//! person is passed on, since a person is at the client; a file or a terminal that they leave to one
//! is asked about first, in our own words. What cannot be read for certain does not pass: readers may
//! differ about a line with two methods, and one of them acts on it. Without rules nothing is judged.

use super::Driver;
use super::approvals::{Approvals, decided_by, deny};
use super::relay::Relay;
use crate::gate::Gate;
use serde_json::Value;
use stablehand_core::Moment;
use stablehand_core::actor::{Actor, ActorKind};
use stablehand_core::decode::{AcpQuestion, AcpRequest};
use stablehand_core::event::{Choice, EventKind, ItemBody, Tool};
use stablehand_core::id::CallId;
use stablehand_core::json::{Object, Scan};
use stablehand_core::line::{Line, Part};
use stablehand_core::record::{PolicyDecided, Withheld};
use stablehand_core::speak::Answer;
use stablehand_policy::{Action, Decision};
use std::collections::VecDeque;
use std::sync::Arc;

/// So many calls and inputs are remembered.
const MOST: usize = 64;

/// The rules of a relay, and what is under way.
#[derive(Debug, Default)]
pub(super) struct Rulings {
    gate: Option<Arc<Gate>>,
    /// What our own questions to the client are called, so that two of us in a row differ.
    name: String,
    asked: u64,
    /// What passes of the present chunk.
    passed: Vec<u8>,
    /// A long line that does not pass is under way.
    drops_line: bool,
    /// What was judged with the last chunk.
    judged: Vec<Judged>,
    /// Lines that wait for the client's word, by the ids of our questions.
    waiting: Vec<(String, Judged)>,
    /// What the client has said to those.
    answered: Vec<(Judged, bool)>,
    /// Calls that were asked about, and inputs that a person allowed.
    asked_about: VecDeque<CallId>,
    allowed: VecDeque<String>,
    /// Calls that were over with the last chunk, and that nobody was asked about.
    unasked: Vec<Tool>,
}

/// A line that was judged.
#[derive(Debug)]
struct Judged {
    what: AcpRequest,
    tool: Option<Box<Tool>>,
    line: Vec<u8>,
    /// None where it could not be read.
    decision: Option<Decision>,
}

impl Rulings {
    pub(super) fn new(approvals: &Approvals, run: &str) -> Rulings {
        let gate = match approvals {
            Approvals::Policy { gate, .. } => Some(Arc::clone(gate)),
            Approvals::Allow | Approvals::Deny | Approvals::Ask { .. } => None,
        };
        Rulings { gate, name: run.to_owned(), ..Rulings::default() }
    }

    /// Whether the client has a question of ours.
    pub(super) fn is_asking(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What passes of the chunk; none where all of it does.
    pub(super) fn passed(&self) -> Option<&[u8]> {
        self.gate.as_ref().map(|_| self.passed.as_slice())
    }

    pub(super) fn pass_anew(&mut self) {
        self.passed.clear();
    }

    /// Whether a line of the agent passes now.
    pub(super) fn passes(
        &mut self,
        line: &Line<'_>,
        scan: &Scan<'_>,
        events: &[EventKind],
    ) -> bool {
        let Some(gate) = self.gate.clone() else { return true };
        for event in events {
            self.saw(event);
        }
        let passes = match line.part {
            Part::Middle | Part::Last => !self.drops_line,
            Part::Whole | Part::First => self.judge(&gate, line, scan, events),
        };
        self.drops_line = !passes && !line.newline;
        if passes {
            self.passed.extend_from_slice(line.bytes);
            self.passed.extend(line.newline.then_some(b'\n'));
        }
        passes
    }

    fn judge(
        &mut self,
        gate: &Gate,
        line: &Line<'_>,
        scan: &Scan<'_>,
        events: &[EventKind],
    ) -> bool {
        let what = AcpRequest::read(line, scan);
        let (tool, decision) = match &what.question {
            AcpQuestion::None => return true,
            AcpQuestion::Unreadable => (None, None),
            AcpQuestion::Permission => {
                let tool = events.iter().find_map(|event| match event {
                    EventKind::ApprovalRequested { tool, .. } => tool.clone(),
                    _ => None,
                });
                let decision = gate.judge_call(tool.as_deref(), &Value::Null, None);
                (tool, Some(decision))
            }
            AcpQuestion::Tools(ways) => {
                let judge =
                    |tool: &Tool| gate.judge_call(Some(tool), &what.arguments, what.cwd.as_deref());
                let strictest =
                    ways.iter().map(judge).max_by_key(|decision| match decision.action {
                        Action::Allow => 0,
                        Action::Ask => 1,
                        Action::Deny => 2,
                    });
                (ways.first().cloned().map(Box::new), strictest)
            }
        };
        let action = decision.as_ref().map_or(Action::Deny, |decision| decision.action);
        let is_permission = matches!(what.question, AcpQuestion::Permission);
        // A permission that is left to a person is the client's to give.
        let passes = match action {
            Action::Allow => !is_permission,
            Action::Ask => is_permission,
            Action::Deny => false,
        };
        let mut bytes = Vec::new();
        if !passes && !is_permission && line.part == Part::Whole {
            bytes.extend_from_slice(line.bytes);
            bytes.push(b'\n');
        }
        self.judged.push(Judged { what, tool, line: bytes, decision });
        passes
    }

    /// An event of the agent.
    fn saw(&mut self, event: &EventKind) {
        match event {
            EventKind::ApprovalRequested { call: Some(call), .. } => {
                keep(&mut self.asked_about, call.clone());
            }
            EventKind::ItemCompleted { item } => {
                let ItemBody::Tool(tool) = &item.body else { return };
                let was_asked = self.asked_about.contains(&tool.call)
                    || self.allowed.iter().any(|input| input == tool.headline());
                if tool.was_done() && !was_asked {
                    self.unasked.push((**tool).clone());
                }
            }
            _ => {}
        }
    }

    /// Whether this answers a question of ours.
    pub(super) fn answered(&mut self, object: &Object<'_>) -> bool {
        if self.waiting.is_empty() || object.get("method").is_some() {
            return false;
        }
        let id = object.get("id").and_then(stablehand_core::json::Value::string);
        let Some(place) = self.waiting.iter().position(|(open, _)| Some(open) == id.as_ref())
        else {
            return false;
        };
        let (_, judged) = self.waiting.remove(place);
        let outcome = object.get("result").and_then(|result| result.get("outcome"));
        let allows = outcome.and_then(|outcome| outcome.get("optionId"));
        self.answered.push((judged, allows.is_some_and(|option| option.is_str("allow"))));
        true
    }
}

fn keep<T>(queue: &mut VecDeque<T>, what: T) {
    if queue.len() == MOST {
        queue.pop_front();
    }
    queue.push_back(what);
}

impl Driver<'_> {
    /// Puts on record what was judged with a chunk, before anybody acts on it.
    pub(super) fn record_rulings(&mut self) {
        let Some(relay) = &self.relay else { return };
        for judged in &relay.rulings.judged {
            let id = judged.what.id_text();
            if judged.decision.is_some() {
                let method = Some(judged.what.method.clone());
                let decision = judged.decision.clone();
                self.log.decide(PolicyDecided { id, method, decision }, None);
            } else {
                let text = "a line that cannot be judged for certain was kept from the client";
                self.log.decide(Withheld { id, text: text.to_owned() }, None);
            }
        }
    }

    /// Answers, asks, and stops, after each chunk.
    pub(super) fn carry_out_rulings(&mut self, now: Moment) {
        let Some(relay) = &mut self.relay else { return };
        let judged = std::mem::take(&mut relay.rulings.judged);
        let unasked = std::mem::take(&mut relay.rulings.unasked);
        for judged in judged {
            self.stamp(now);
            self.settle_ruling(judged);
        }
        for tool in unasked {
            self.judge_unasked(&tool, now);
        }
    }

    fn settle_ruling(&mut self, judged: Judged) {
        let is_permission = matches!(judged.what.question, AcpQuestion::Permission);
        let Some(decision) = &judged.decision else {
            return self.refuse(
                &judged,
                &ActorKind::Policy.into(),
                "denied: it cannot be read for certain",
            );
        };
        let by = decided_by(decision);
        let no = format!("denied: {}", decision.reason);
        let stopping = self.requests.is_alarmed() || self.stop.reason().is_some();
        match (decision.action, is_permission) {
            // Passed already: the client's to answer, or allowed.
            (Action::Ask, true) | (Action::Allow, false) => {}
            (Action::Deny, _) => self.refuse(&judged, &by, &no),
            // Whoever is being stopped is told yes by nobody.
            _ if stopping => {
                self.refuse(&judged, &ActorKind::Stop.into(), "denied: the run is being stopped");
            }
            (Action::Allow, true) => match judged.what.permit(&Answer::Allow) {
                Some(line) => {
                    self.resolved(&judged.what.id_text(), Choice::Allow, &by, None);
                    self.say_for_client("answer", &line);
                }
                None => self.refuse(&judged, &by, "denied: it offers no way to allow it once"),
            },
            (Action::Ask, false) if judged.line.is_empty() => {
                self.refuse(&judged, &by, "denied: it is too long to be asked about");
            }
            (Action::Ask, false) => self.ask_client(judged),
        }
    }

    /// Says no, on record first.
    fn refuse(&mut self, judged: &Judged, by: &Actor, why: &str) {
        let line = match judged.what.question {
            AcpQuestion::Permission => judged.what.permit(&deny(why)),
            _ => judged.what.refuse(why),
        };
        // What asks for no answer was only withheld.
        let Some(line) = line else { return };
        self.resolved(&judged.what.id_text(), Choice::Deny, by, Some(why));
        self.say_for_client("answer", &line);
    }

    /// Asks the client in our own words whether what the agent wants of it may be.
    fn ask_client(&mut self, judged: Judged) {
        let Some(Relay { rulings, .. }) = &mut self.relay else { return };
        rulings.asked += 1;
        let id = format!("stablehand-ask-{}-{}", rulings.name, rulings.asked);
        let reason = judged.decision.as_ref().map(|decision| decision.reason.as_str());
        let line = judged.what.ask(&id, judged.tool.as_deref(), reason.unwrap_or_default());
        rulings.waiting.push((id, judged));
        self.tell_client("question", &line);
    }

    /// Carries out what the client said to our questions.
    pub(super) fn carry_out_asked(&mut self) {
        let Some(relay) = &mut self.relay else { return };
        for (judged, allowed) in std::mem::take(&mut relay.rulings.answered) {
            if !allowed {
                self.refuse(&judged, &ActorKind::Client.into(), "denied by the user");
                continue;
            }
            self.resolved(&judged.what.id_text(), Choice::Allow, &ActorKind::Client.into(), None);
            let Some(relay) = &mut self.relay else { return };
            if let Some(tool) = &judged.tool {
                keep(&mut relay.rulings.allowed, tool.headline().to_owned());
            }
            relay.pass_later(&judged.line);
            self.log.flush();
            self.speak_to_client(false);
        }
    }
}
