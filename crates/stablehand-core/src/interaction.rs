//! Turns, permission requests, and which tool calls the requests cover.
//!
//! A pure state machine, like [`crate::monitor`]: it is told what the agent, the rules and the people
//! say, and when; it returns what follows, and [`Interaction::deadline`] says when to call
//! [`Interaction::expire`] if nothing else happens. It has no clock, words no answer, writes nothing
//! and judges nothing: what the rules say of a call is an input ([`Decision`]).
//!
//! **Turns.** A turn begins with a prompt and ends when the agent says so. An interrupted turn has
//! [`CANCEL_GRACE`] to end.
//!
//! **Permission requests.** The rules decide. A request that they leave to a person waits, if a person
//! attends; without an answer in time it becomes what the rules say for an absent person.
//!
//! **Was this tool call asked about?** One rule for every channel. A call is judged when it is over,
//! because a stream may tell of its beginning before the request arrives. A granted request covers
//! one call of the same id, or else of the same content. A denied, withdrawn or unanswered one covers
//! none that succeeded.

mod calls;
#[cfg(test)]
mod tests;

pub use calls::Permission;

use crate::decision::{Action, Decision};
use crate::event::{EventKind, ItemBody, Tool, TurnEnd};
use crate::id::CallId;
use crate::speak::{Answer, Prompt};
use crate::time::Moment;
use calls::{Calls, is_judged};
use std::time::Duration;

/// The time that an interrupted turn has to end; then the process is stopped.
pub const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// Who answers where the rules say `ask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    /// No person attends: the rules' `unattended` holds.
    Nobody,
    /// A person; after so long without an answer, `unattended` holds. No limit where absent.
    Person {
        /// How long.
        patience: Option<Duration>,
    },
}

/// Who sent a permission request, and so who gets the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The agent, in a conversation.
    Conversation,
    /// A hook that waits, by our number of it.
    Hook(u64),
    /// The agent, which wants something done for it, by our number of that.
    Service(u64),
}

/// A permission request that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The id to answer to.
    pub id: String,
    /// Who sent it.
    pub asker: Asker,
    /// Since when it waits.
    pub since: Moment,
    /// What it becomes without an answer.
    pub otherwise: Answer,
}

/// What becomes of a new permission request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It waits for a person.
    Wait,
    /// It is answered at once.
    Answer(Answer),
}

/// The turns and permission requests of one run.
#[derive(Clone, Debug)]
pub struct Interaction {
    attendance: Attendance,
    waiting: Vec<Waiting>,
    /// A request waited for a person at the last look.
    held: bool,
    turn: Turn,
    calls: Calls,
    /// Calls that are over are held against the requests.
    judges: bool,
    /// Calls that are over and not yet held against them.
    done: Vec<Tool>,
}

/// The turn that is on, and those before it.
#[derive(Clone, Debug, Default)]
struct Turn {
    on: bool,
    /// A turn ended since the last look.
    ended: bool,
    prompt: Option<Prompt>,
    prompts: u32,
    /// A person interrupted the last turn.
    cancelled: bool,
    /// When an interrupted turn must be over.
    end_by: Option<Moment>,
    /// No prompt comes any more.
    last: bool,
}

impl Interaction {
    /// A run that takes one prompt and whose tool calls are not judged.
    pub fn new(attendance: Attendance) -> Interaction {
        Interaction {
            attendance,
            waiting: Vec::new(),
            held: false,
            turn: Turn { last: true, ..Turn::default() },
            calls: Calls::default(),
            judges: false,
            done: Vec::new(),
        }
    }

    /// Takes prompts until [`Interaction::finish`].
    #[must_use]
    pub fn open_ended(mut self, is_open_ended: bool) -> Interaction {
        self.turn.last = !is_open_ended;
        self
    }

    /// Holds tool calls that are over against the requests.
    #[must_use]
    pub fn judging(mut self, judges: bool) -> Interaction {
        self.judges = judges;
        self
    }

    /// Takes an event of the agent's stream.
    pub fn saw(&mut self, event: &EventKind) {
        match event {
            EventKind::ItemStarted { item } => {
                if let ItemBody::Tool(tool) = &item.body {
                    self.calls.begin(tool);
                }
            }
            EventKind::ItemCompleted { item } => {
                if let ItemBody::Tool(tool) = &item.body {
                    self.calls.end(tool);
                    if self.judges {
                        self.done.push((**tool).clone());
                    }
                }
            }
            EventKind::TurnEnded { .. } => {
                self.turn.ended = true;
                self.turn.on = false;
                self.turn.end_by = None;
                self.calls.end_turn();
            }
            _ => {}
        }
    }

    /// Returns when something is due.
    pub fn deadline(&self) -> Option<Moment> {
        let first = self.waiting.first().zip(self.patience());
        let answer = first.map(|(open, patience)| open.since.plus(patience));
        answer.into_iter().chain(self.turn.end_by).min()
    }
}

/// Turns.
impl Interaction {
    /// Begins a turn with this prompt, or goes on with the one that is on.
    pub fn prompted(&mut self, prompt: Prompt) {
        self.turn.on = true;
        self.turn.cancelled = false;
        self.turn.prompts = self.turn.prompts.saturating_add(1);
        self.turn.prompt = Some(prompt);
    }

    /// Interrupts the turn for a person, which also answers every request of the conversation.
    pub fn interrupt(&mut self, now: Moment) {
        self.turn.cancelled = true;
        self.turn.end_by = Some(now.plus(CANCEL_GRACE));
        self.withdraw(|asker| asker == Asker::Conversation);
    }

    /// Takes no further prompt.
    pub fn finish(&mut self) {
        self.turn.last = true;
    }

    /// Returns true once after the time of an interrupted turn is over.
    pub fn is_overdue(&mut self, now: Moment) -> bool {
        self.turn.end_by.take_if(|by| *by <= now).is_some()
    }

    /// Returns true once after each chunk in which a turn ended.
    pub fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.turn.ended)
    }

    /// Returns true if a turn ended since the last look.
    pub fn has_ended(&self) -> bool {
        self.turn.ended
    }

    /// Returns true while a turn is on.
    pub fn in_turn(&self) -> bool {
        self.turn.on
    }

    /// Returns true if no prompt comes any more.
    pub fn is_last(&self) -> bool {
        self.turn.last
    }

    /// Returns true if a person interrupted the last turn.
    pub fn is_cancelled(&self) -> bool {
        self.turn.cancelled
    }

    /// Returns true if a person interrupted the last turn, and it ended so.
    pub fn was_cancelled(&self, result: Option<&TurnEnd>) -> bool {
        self.turn.cancelled && matches!(result, Some(TurnEnd::Cancelled))
    }

    /// Returns the number of prompts.
    pub fn prompts(&self) -> u32 {
        self.turn.prompts
    }

    /// Takes the last prompt.
    pub fn take_prompt(&mut self) -> Option<Prompt> {
        self.turn.prompt.take()
    }
}

/// Permission requests.
impl Interaction {
    /// Takes a request and what the rules say of it.
    pub fn request(
        &mut self,
        id: &str,
        asker: Asker,
        decision: &Decision,
        now: Moment,
    ) -> Reaction {
        let answer = |action| match action {
            Action::Allow => Answer::Allow,
            Action::Ask | Action::Deny => deny(&decision.reason),
        };
        if decision.action != Action::Ask {
            return Reaction::Answer(answer(decision.action));
        }
        let otherwise = answer(decision.unattended);
        if !self.is_attended() {
            return Reaction::Answer(otherwise);
        }
        self.waiting.push(Waiting { id: id.to_owned(), asker, since: now, otherwise });
        Reaction::Wait
    }

    /// Returns true if a person answers requests.
    pub fn is_attended(&self) -> bool {
        matches!(self.attendance, Attendance::Person { .. })
    }

    fn patience(&self) -> Option<Duration> {
        match self.attendance {
            Attendance::Person { patience } => patience,
            Attendance::Nobody => None,
        }
    }

    /// Takes out the requests whose time is over, each with its answer.
    pub fn expire(&mut self, now: Moment) -> Vec<Waiting> {
        let Some(patience) = self.patience() else { return Vec::new() };
        self.waiting.extract_if(.., |open| open.since.plus(patience) <= now).collect()
    }

    /// Nobody answers any more. Takes out every request, each with its answer; none where nobody
    /// answered before.
    pub fn leave_alone(&mut self) -> Option<Vec<Waiting>> {
        if !self.is_attended() {
            return None;
        }
        self.attendance = Attendance::Nobody;
        Some(std::mem::take(&mut self.waiting))
    }

    /// Takes out the requests of these askers, for an answer.
    pub fn take_waiting(&mut self, asked: impl Fn(Asker) -> bool) -> Vec<Waiting> {
        self.waiting.extract_if(.., |open| asked(open.asker)).collect()
    }

    /// Forgets the requests of these askers: nobody waits for an answer any more.
    pub fn withdraw(&mut self, asked: impl Fn(Asker) -> bool) {
        for open in self.take_waiting(asked) {
            self.calls.answer(&open.id, Permission::Denied);
        }
    }

    /// Takes the answer to a request, from us or from elsewhere.
    pub fn settle(&mut self, id: &str, permission: Permission) {
        self.waiting.retain(|open| open.id != id);
        self.calls.answer(id, permission);
    }

    /// Returns who sent a request that waits.
    pub fn asker_of(&self, id: &str) -> Option<Asker> {
        self.waiting.iter().find(|open| open.id == id).map(|open| open.asker)
    }

    /// Returns the request of an asker that waits.
    pub fn waiting_of(&self, asker: Asker) -> Option<&str> {
        self.waiting.iter().find(|open| open.asker == asker).map(|open| open.id.as_str())
    }

    /// Returns true if a request of this id waits.
    pub fn waits(&self, id: &str) -> bool {
        self.asker_of(id).is_some()
    }

    /// Returns whether somebody is waited for now and was at the last look. `elsewhere` says whether
    /// requests wait that are not ours.
    pub fn take_held(&mut self, elsewhere: bool) -> (bool, bool) {
        let waits = elsewhere || !self.waiting.is_empty();
        (waits, std::mem::replace(&mut self.held, waits))
    }
}

/// Tool calls.
impl Interaction {
    /// Takes a request about a call. `event` names the moment at which the agent asks: some ask
    /// twice about one call, at two events.
    pub fn ask(&mut self, id: &str, event: &str, call: Option<&CallId>, tool: Option<&Tool>) {
        if self.judges {
            self.calls.ask(id, event, call, tool);
        }
    }

    /// Returns what the stream has told of an open call.
    pub fn begun(&self, call: &CallId) -> Option<&Tool> {
        self.calls.begun(call)
    }

    /// Returns true if a person answered a request about a call like this one with "always", so that
    /// the agent asks no more.
    pub fn is_always_allowed(&self, tool: &Tool) -> bool {
        self.calls.is_always_allowed(tool)
    }

    /// Takes out the calls that are over, that rules are about, and that no request covered.
    pub fn take_unasked(&mut self) -> Vec<Tool> {
        let done = std::mem::take(&mut self.done);
        let calls = &mut self.calls;
        done.into_iter().filter(|tool| !calls.complete(tool) && is_judged(tool)).collect()
    }
}

/// Makes a denial of a reason.
pub fn deny(reason: &str) -> Answer {
    Answer::Deny { message: format!("denied: {reason}") }
}
