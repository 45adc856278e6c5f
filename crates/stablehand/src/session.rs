//! The whole library in one type: a conversation with an agent, supervised.
//!
//! [`Session::builder`] says what is wanted, [`SessionSpec::start`] starts it, and then there
//! are two ends: its events, everything that happens, and a [`Handle`], everything that can be said.
//! Many turns go through one process where the agent can ([`crate::agent::Row::two_way`]), and
//! through one process each, resumed, where it cannot; whoever reads the events need not care.
//!
//! Owns the thread on which the driver runs, and the order of its runs. What a run is, is the
//! driver's ([`crate::driver`]).

mod again;
mod build;
mod outcome;
mod plan;
mod runs;
mod settle;
mod start;
mod turns;

pub use build::{Policy, SessionSpec, StartError};
pub use outcome::Outcome;
pub use plan::TerminalWish;
pub use start::{Attach, output_lost};
pub(crate) use turns::{Turns, end_waiting};

use crate::agent::Agent;
use crate::control::{Always, AnswerError, Control, Refused, Request};
use crate::driver::{StatusCell, StatusLine};
use crate::frames::{Feed, From, Subscription};
use crate::log::{LogSource, PathCell};
use outcome::LastWords;
use runs::AllRuns;
use stablehand_core::actor::Actor;
use stablehand_core::id::{SessionKey, TurnId};
use stablehand_core::record::DecisionRecord;
use stablehand_core::speak::{Answer, Prompt};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use thiserror::Error;

/// A conversation with an agent. Dropping it stops the agent and everything that it started.
///
/// ```no_run
/// use stablehand::{Agent, Policy, Session};
///
/// stablehand::init();
/// let mut session = Session::builder(Agent::Claude)
///     .prompt("Which tests are slow?")
///     .policy(Policy::Deny)
///     .start()?;
/// for event in session.events() {
///     println!("{} {}", event.seq.0, event.event.name());
/// }
/// let outcome = session.wait()?;
/// println!("{:?} after {:?}, log in {}", outcome.end(), outcome.duration(), outcome.log.display());
/// println!("{}", outcome.final_text().unwrap_or_default());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    handle: Handle,
    events: Option<Subscription>,
    thread: Option<JoinHandle<(AllRuns, u64)>>,
    feed: Arc<Feed>,
    source: LogSource,
    words: LastWords,
    key: SessionKey,
}

/// What can be said to a running session, from any thread.
#[derive(Clone, Debug)]
pub struct Handle {
    control: Control,
    status: StatusCell,
    log: PathCell,
    by: Actor,
}

/// Why nobody can say how a session ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The thread that ran it broke down. The agent's tree is gone all the same.
    #[error("the session broke down; its log is `{}`", log.display())]
    BrokeDown {
        /// The log.
        log: PathBuf,
    },
}

impl Session {
    /// A session with this agent.
    pub fn builder(agent: Agent) -> SessionSpec {
        SessionSpec::new(agent)
    }

    /// Our id of it, which stays the same when it is resumed.
    pub fn key(&self) -> SessionKey {
        self.key
    }

    /// What can be said to it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Everything that happens, from the beginning: a blocking iterator, which goes on where it
    /// was left. It need not be read; the log has everything.
    pub fn events(&mut self) -> impl Iterator<Item = stablehand_core::Event> {
        let feed = &self.feed;
        let subscribe = || Subscription::new(Arc::clone(feed), From::Start);
        let events = self.events.get_or_insert_with(subscribe);
        events.map(|frame| frame.event.clone())
    }

    /// The events once more, for another reader: on another thread, or as a stream.
    pub fn subscribe(&self, from: From) -> Subscription {
        Subscription::new(Arc::clone(&self.feed), from)
    }

    /// Where the log is now. Its name changes once, when the agent has named the session.
    pub fn log(&self) -> PathBuf {
        self.handle.log()
    }

    /// Returns true when the session is over and its tree is gone.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(crate) fn feed(&self) -> Arc<Feed> {
        Arc::clone(&self.feed)
    }

    /// Waits until the session is over: after the turn, or in a conversation after
    /// [`Handle::finish`]. Its tree is gone then.
    pub fn wait(mut self) -> Result<Outcome, WaitError> {
        // Whoever waits does not read, and need not.
        let report = self.thread.take().and_then(|thread| thread.join().ok());
        let log = self.log();
        match report {
            Some((runs, lost_bytes)) => {
                let (source, words) = (self.source.clone(), self.words.clone());
                Ok(Outcome::new(runs, log, lost_bytes, source, words))
            }
            None => Err(WaitError::BrokeDown { log }),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // The second word kills at once.
            self.handle.stop();
            self.handle.stop();
            let _broke_down = thread.join();
        }
    }
}

impl Handle {
    /// The same for another actor: what is asked through it is on record as theirs.
    #[must_use]
    pub fn acting(&self, by: Actor) -> Handle {
        Handle { by, ..self.clone() }
    }

    /// Gives a further prompt, in a conversation; it waits until the turns before it are over.
    /// Exactly one `turn.ended` follows for the turn that is returned. Images that the agent does
    /// not take ([`Agent::takes_images`]) are named in words instead.
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> Result<TurnId, Refused> {
        self.control.prompt(prompt.into(), self.by.clone())
    }

    /// Ends the turn that is on. Where the agent can only be ended as a whole, it is, and the next
    /// prompt resumes its session.
    pub fn cancel(&self) {
        self.control.send(Request::Cancel { turn: None, by: self.by.clone() });
    }

    /// Ends one turn: the one that is on, or one that waits. One that is over stays as it is.
    pub fn cancel_turn(&self, turn: TurnId) {
        self.control.send(Request::Cancel { turn: Some(turn), by: self.by.clone() });
    }

    /// Answers an approval, by the id of its `approval.requested`. The first valid answer wins.
    pub fn answer(&self, id: &str, answer: Answer) -> Result<(), AnswerError> {
        self.control.answer(id, answer, self.by.clone())
    }

    /// What [`Answer::AllowAlways`] would mean for an approval that waits: the rule that it would
    /// write, or that the agent itself remembers it. None where the approval does not wait.
    pub fn always(&self, id: &str) -> Option<Always> {
        self.control.board().always(id)
    }

    /// Allows what was asked, this once.
    pub fn approve(&self, id: &str) -> Result<(), AnswerError> {
        self.answer(id, Answer::Allow)
    }

    /// Denies what was asked, and tells the agent why.
    pub fn deny(&self, id: &str, why: impl Into<String>) -> Result<(), AnswerError> {
        self.answer(id, Answer::Deny { message: why.into() })
    }

    /// The approvals that wait for an answer.
    pub fn approvals(&self) -> Vec<String> {
        self.control.board().waiting()
    }

    /// The turn that is on.
    pub fn turn(&self) -> Option<TurnId> {
        self.control.board().turn()
    }

    /// Takes no further prompt: the session ends after those that were given.
    pub fn finish(&self) {
        self.control.finish();
    }

    /// Stops the agent and everything that it started; a second time, at once.
    pub fn stop(&self) {
        self.control.stop(self.by.clone());
    }

    /// Where the log is now. Its name changes once, when the agent has named the session.
    pub fn log(&self) -> PathBuf {
        self.log.get()
    }

    /// The same in requests, for callers that speak to single runs as well.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Puts a decision of the face on record.
    pub fn note(&self, record: impl Into<DecisionRecord>) {
        self.control.send(Request::Note(Box::new(record.into())));
    }

    /// Writes a line of the face's own to standard output, behind all that the agent wrote, as soon
    /// as no run is on.
    pub fn insert(&self, line: impl Into<Vec<u8>>) {
        self.control.send(Request::Insert(line.into()));
    }

    /// Where a face can look at any time what the agent is doing.
    pub fn status_cell(&self) -> StatusCell {
        self.status.clone()
    }

    /// Stops everything because the reader of the output is gone; the outcome says so.
    pub fn reader_gone(&self) {
        self.control.send(Request::ReaderGone);
    }

    /// Does the same because the output cannot be written, and puts the reason on record.
    pub fn output_failed(&self, error: &std::io::Error) {
        self.control.send(Request::Note(Box::new(crate::sink::output_failed(error).into())));
        self.control.send(Request::ReaderGone);
    }

    /// What the agent is doing, once it has begun.
    pub fn status(&self) -> Option<StatusLine> {
        self.status.get()
    }
}
