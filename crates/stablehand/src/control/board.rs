//! What a session can be asked at this moment: whether it takes prompts, and which approvals wait.
//!
//! The driver writes it, and everybody who sends requests reads it first, so that a request is
//! refused at once and with its reason. One lock holds the board and the queue together: a prompt
//! that is accepted is in the queue before the session can be over.

use super::{Always, Subject};
use serde::{Deserialize, Serialize};
use stablehand_core::actor::Actor;
use stablehand_core::id::TurnId;
use stablehand_policy::PromptRules;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// So many answers are remembered for those who come too late.
const MOST_ANSWERED: usize = 256;

/// Why a session does not take a prompt, or another request.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refused {
    /// The session takes the prompt that it was started with, and no other.
    #[error("the session takes one prompt only; start it with `conversation` for more")]
    OneTurn,
    /// Somebody has said that no prompt comes any more.
    #[error("the session is finishing; no further prompt is taken")]
    Finishing,
    /// The session is over.
    #[error("the session is over")]
    Over,
    /// The host does not have the session.
    #[error("there is no such session here; `open` it first")]
    NoSession,
    /// A rule about prompts denies the prompt.
    #[error("the prompt is {why}")]
    Denied {
        /// By which rule, and why.
        why: String,
    },
    /// The turn is over, or was never begun.
    #[error("there is no such turn any more")]
    NoTurn,
}

/// Why an answer to an approval does not count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Another answer came first.
    #[error("`{id}` was already answered by {by}")]
    AlreadyAnswered {
        /// The approval.
        id: String,
        /// Who answered it.
        by: Actor,
    },
    /// The host does not have the session.
    #[error("there is no such session here; `open` it first")]
    NoSession,
    /// "Always" was the answer, and no rule could be written. The approval still waits.
    #[error("`{id}` cannot be allowed for always: {why}")]
    NoRule {
        /// The approval.
        id: String,
        /// Why not.
        why: String,
    },
    /// The approval does not wait for an answer: it was taken back, or never asked.
    #[error("no approval `{id}` waits for an answer")]
    NotWaiting {
        /// The approval.
        id: String,
    },
}

/// The board of one session.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Posted>>);

/// What is on it.
#[derive(Debug, Default)]
pub(super) struct Posted {
    /// Why no prompt is taken, where none is.
    pub(super) refuses: Option<Refused>,
    /// What prompts are held against.
    pub(super) prompt_rules: PromptRules,
    turn: Option<TurnId>,
    waiting: Vec<Waiting>,
    answered: VecDeque<(String, Actor)>,
}

/// An approval that waits.
#[derive(Debug)]
struct Waiting {
    id: String,
    /// Who has answered it, where the driver has not heard of that yet.
    claimed: Option<Actor>,
    subject: Subject,
}

impl Board {
    pub(super) fn lock(&self) -> MutexGuard<'_, Posted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says from now on why no prompt is taken; what was said before and is graver stays.
    pub fn refuse_prompts(&self, why: Refused) {
        let mut posted = self.lock();
        if posted.refuses != Some(Refused::Over) {
            posted.refuses = Some(why);
        }
    }

    /// Holds every prompt against these rules from now on.
    pub(crate) fn hold_prompts(&self, rules: PromptRules) {
        self.lock().prompt_rules = rules;
    }

    /// The turn that is on.
    pub fn turn(&self) -> Option<TurnId> {
        self.lock().turn
    }

    pub(crate) fn set_turn(&self, turn: Option<TurnId>) {
        self.lock().turn = turn;
    }

    /// An approval waits for an answer.
    pub(crate) fn waits(&self, id: &str, subject: Subject) {
        self.lock().waiting.push(Waiting { id: id.to_owned(), claimed: None, subject });
    }

    /// What "always" would mean as the answer to an approval that waits.
    pub fn always(&self, id: &str) -> Option<Always> {
        // Making a rule takes a while, and others need the board.
        let waiting = self.lock().waiting.iter().find(|open| open.id == id)?.subject.clone();
        Some(waiting.always())
    }

    /// An approval was answered, and the agent has it.
    pub(crate) fn answered(&self, id: &str, by: &Actor) {
        let mut posted = self.lock();
        posted.waiting.retain(|open| open.id != id);
        if posted.answered.len() == MOST_ANSWERED {
            posted.answered.pop_front();
        }
        posted.answered.push_back((id.to_owned(), by.clone()));
    }

    /// An answer was not valid: the approval waits for another one.
    pub(crate) fn still_waits(&self, id: &str) {
        let mut posted = self.lock();
        if let Some(open) = posted.waiting.iter_mut().find(|open| open.id == id) {
            open.claimed = None;
        }
    }

    /// Only these approvals still wait.
    pub(crate) fn only(&self, is_open: impl Fn(&str) -> bool) {
        self.lock().waiting.retain(|open| is_open(&open.id));
    }

    /// The approvals that wait for an answer.
    pub fn waiting(&self) -> Vec<String> {
        self.lock().waiting.iter().map(|open| open.id.clone()).collect()
    }

    /// Claims an approval for the first who answers it.
    pub(super) fn claim(&self, id: &str, by: &Actor) -> Result<Subject, AnswerError> {
        let mut posted = self.lock();
        let already =
            |by: &Actor| Err(AnswerError::AlreadyAnswered { id: id.to_owned(), by: by.clone() });
        if let Some(open) = posted.waiting.iter_mut().find(|open| open.id == id) {
            if let Some(first) = &open.claimed {
                return already(first);
            }
            open.claimed = Some(by.clone());
            return Ok(open.subject.clone());
        }
        match posted.answered.iter().rfind(|(answered, _)| answered == id) {
            Some((_, first)) => already(first),
            None => Err(AnswerError::NotWaiting { id: id.to_owned() }),
        }
    }
}
