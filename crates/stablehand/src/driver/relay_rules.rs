//! Rules between an agent and its client: what the agent asks the client for is judged on its way.
//!
//! Owns what becomes of a line of the agent under a policy: it passes, it is withheld and answered by
//! us, or it waits until the client has said whether it may. A permission that the rules leave to a
//! person is passed on, since a person is at the client; a file or a terminal that they leave to one
//! is asked about first, in our own words. What cannot be read for certain does not pass: readers may
//! differ about a line with two methods, and one of them acts on it. Without rules nothing is judged.

use super::Driver;
use super::approvals::{Approvals, STOPPING, decided_by};
use super::relay::Relay;
use crate::gate::Gate;
use serde_json::Value;
use stablehand_core::Moment;
use stablehand_core::actor::{Actor, ActorKind};
use stablehand_core::decode::{AcpQuestion, AcpRequest};
use stablehand_core::event::{Choice, EventKind, Tool};
use stablehand_core::id::CallId;
use stablehand_core::interaction::Permission;
use stablehand_core::json::{Object, Scan};
use stablehand_core::line::{Line, Part};
use stablehand_core::record::{PolicyDecided, Withheld};
use stablehand_core::speak::Answer;
use stablehand_policy::{Action, Decision};
use std::collections::VecDeque;
use std::sync::Arc;

/// So many requests that the client has to answer are remembered.
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
    /// Permission requests that were left to the client.
    left_to_client: VecDeque<AcpRequest>,
}

/// A line that was judged.
#[derive(Debug)]
struct Judged {
    what: AcpRequest,
    call: Option<CallId>,
    tool: Option<Box<Tool>>,
    line: Vec<u8>,
    /// None where it could not be read.
    decision: Option<Decision>,
}

impl Judged {
    /// Returns true if it is a permission request that a person at the client answers.
    fn is_left_to_client(&self) -> bool {
        let asks = self.decision.as_ref().is_some_and(|it| it.action == Action::Ask);
        asks && matches!(self.what.question, AcpQuestion::Permission)
    }
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
        let mut call = None;
        let (tool, decision) = match &what.question {
            AcpQuestion::None => return true,
            AcpQuestion::Unreadable => (None, None),
            AcpQuestion::Permission => {
                let asked = events.iter().find_map(|event| match event {
                    EventKind::ApprovalRequested { call, tool, .. } => Some((call, tool)),
                    _ => None,
                });
                let (asked_call, tool) =
                    asked.map(|(c, t)| (c.clone(), t.clone())).unwrap_or_default();
                call = asked_call;
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
        self.judged.push(Judged { what, call, tool, line: bytes, decision });
        passes
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

    /// Puts on record what was judged with a chunk, before anybody acts on it.
    /// The client may answer as soon as it has a request, so what it is about is remembered here.
    pub(super) fn record(&mut self, driver: &mut Driver<'_>) {
        for Judged { what, call, tool, decision, .. } in &self.judged {
            let id = what.id_text();
            driver.interaction.ask(&id, &what.method, call.as_ref(), tool.as_deref());
            if decision.is_some() {
                let method = Some(what.method.clone());
                let decision = decision.clone();
                driver.log.decide(PolicyDecided { id, method, decision }, None);
            } else {
                let text = "a line that cannot be judged for certain was kept from the client";
                driver.log.decide(Withheld { id, text: text.to_owned() }, None);
            }
        }
        let passed = self.judged.extract_if(.., |judged| judged.is_left_to_client());
        self.left_to_client.extend(passed.map(|judged| judged.what));
        let excess = self.left_to_client.len().saturating_sub(MOST);
        self.left_to_client.drain(..excess);
    }
}

impl Relay {
    /// Answers, asks, and stops, after each chunk.
    pub(super) fn carry_out_rulings(&mut self, driver: &mut Driver<'_>, now: Moment) {
        for judged in std::mem::take(&mut self.rulings.judged) {
            driver.stamp(now);
            self.settle_ruling(driver, judged);
        }
        driver.judge_tools(now);
    }

    fn settle_ruling(&mut self, driver: &mut Driver<'_>, judged: Judged) {
        let is_permission = matches!(judged.what.question, AcpQuestion::Permission);
        let Some(decision) = &judged.decision else {
            return self.refuse(
                driver,
                &judged,
                &ActorKind::Policy.into(),
                "denied: it cannot be read for certain",
            );
        };
        let by = decided_by(decision);
        let no = format!("denied: {}", decision.reason);
        let stopping = driver.requests.is_alarmed() || driver.stop.reason().is_some();
        match (decision.action, is_permission) {
            // Passed already.
            (Action::Ask, true) => {}
            (Action::Allow, false) => {
                driver.interaction.settle(&judged.what.id_text(), Permission::Granted);
            }
            (Action::Deny, _) => self.refuse(driver, &judged, &by, &no),
            // Whoever is being stopped is told yes by nobody.
            _ if stopping => {
                let why = format!("denied: {STOPPING}");
                self.refuse(driver, &judged, &ActorKind::Stop.into(), &why);
            }
            (Action::Allow, true) => match judged.what.permit(&Answer::Allow) {
                Some(line) => {
                    permit(driver, &judged, &by);
                    self.say_for_client(driver, "answer", &line);
                }
                None => {
                    self.refuse(driver, &judged, &by, "denied: it offers no way to allow it once");
                }
            },
            (Action::Ask, false) if judged.line.is_empty() => {
                self.refuse(driver, &judged, &by, "denied: it is too long to be asked about");
            }
            (Action::Ask, false) => self.ask_client(driver, judged),
        }
    }

    /// Takes the client's answer to a permission request that was left to it.
    pub(super) fn client_answered(&mut self, driver: &mut Driver<'_>, id: &str, option: &str) {
        let passed = &mut self.rulings.left_to_client;
        if let Some(at) = passed.iter().position(|what| what.id_text() == id)
            && let Some(what) = passed.remove(at)
        {
            driver.interaction.settle(id, what.permission_by(option));
        }
        driver.resolved(id, option.to_owned().into(), &ActorKind::Client.into(), None);
    }

    /// Says no, on record first.
    fn refuse(&mut self, driver: &mut Driver<'_>, judged: &Judged, by: &Actor, why: &str) {
        let line = match judged.what.question {
            AcpQuestion::Permission => {
                judged.what.permit(&Answer::Deny { message: why.to_owned() })
            }
            _ => judged.what.refuse(why),
        };
        driver.interaction.settle(&judged.what.id_text(), Permission::Denied);
        // What asks for no answer was only withheld.
        let Some(line) = line else { return };
        driver.resolved(&judged.what.id_text(), Choice::Deny, by, Some(why));
        self.say_for_client(driver, "answer", &line);
    }

    /// Asks the client in our own words whether what the agent wants of it may be.
    fn ask_client(&mut self, driver: &mut Driver<'_>, judged: Judged) {
        let rulings = &mut self.rulings;
        rulings.asked += 1;
        let id = format!("stablehand-ask-{}-{}", rulings.name, rulings.asked);
        let reason = judged.decision.as_ref().map(|decision| decision.reason.as_str());
        let line = judged.what.ask(&id, judged.tool.as_deref(), reason.unwrap_or_default());
        rulings.waiting.push((id, judged));
        self.tell_client(driver, "question", &line);
    }

    /// Carries out what the client said to our questions.
    pub(super) fn carry_out_asked(&mut self, driver: &mut Driver<'_>) {
        for (judged, allowed) in std::mem::take(&mut self.rulings.answered) {
            if !allowed {
                self.refuse(driver, &judged, &ActorKind::Client.into(), "denied by the user");
                continue;
            }
            permit(driver, &judged, &ActorKind::Client.into());
            self.pass_later(&judged.line);
            driver.log.flush();
            self.speak_to_client(driver, false);
        }
    }
}

/// Puts on record that a request is allowed.
fn permit(driver: &mut Driver<'_>, judged: &Judged, by: &Actor) {
    let id = judged.what.id_text();
    driver.interaction.settle(&id, Permission::Granted);
    driver.resolved(&id, Choice::Allow, by, None);
}
