//! The whole library in one type: a conversation with an agent, supervised.
//!
//! [`Session::builder`] says what is wanted, [`SessionBuilder::start`] starts it, and then there
//! are two ends: [`Events`], everything that happens, and a [`Handle`], everything that can be said.
//! Many turns go through one process where the agent can ([`crate::agent::Row::two_way`]), and
//! through one process each, resumed, where it cannot; whoever reads the events need not care.
//!
//! Owns the thread on which the driver runs, and the order of its runs. What a run is, is the
//! driver's ([`crate::driver`]).

mod again;
mod build;
mod plan;
mod queue;
mod runs;

pub use build::{Policy, SessionBuilder, StartError};
pub use plan::{AgentStart, RunPlan, Start, TerminalWish};
pub use queue::{EventStream, Events};
pub use runs::{AllRuns, Asked, Between, Runs};

use crate::agent::Agent;
use crate::control::{Control, Request};
use crate::driver::{RunReport, StatusCell, StatusLine};
use crate::follow::Follower;
use crate::log::PathCell;
use stablehand_core::event::SessionEnd;
use stablehand_core::id::SessionId;
use stablehand_core::speak::{Answer, Prompt};
use std::path::PathBuf;
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
/// println!("{:?}, log in {}", outcome.end(), outcome.log.display());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    handle: Handle,
    events: Option<Events>,
    thread: Option<JoinHandle<(RunReport, u64)>>,
    /// Feeds the events; it ends with the log.
    _follower: Follower,
    log: PathCell,
}

/// What can be said to a running session, from any thread.
#[derive(Clone, Debug)]
pub struct Handle {
    control: Control,
    status: StatusCell,
}

/// How a session ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The last run.
    pub report: RunReport,
    /// The log, which has everything.
    pub log: PathBuf,
    /// Bytes of the log that the events lack, because another program truncated it before they were
    /// read; 0 where nothing is missing.
    pub missed_bytes: u64,
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
    pub fn builder(agent: Agent) -> SessionBuilder {
        SessionBuilder::new(agent)
    }

    /// What can be said to it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Everything that happens, from the beginning: a blocking iterator. It need not be read; what
    /// nobody reads is in the log.
    pub fn events(&mut self) -> impl Iterator<Item = stablehand_core::Event> {
        self.events.as_mut().into_iter().flatten()
    }

    /// Takes the events out, to be read elsewhere: on another thread, or as a stream
    /// ([`Events::into_stream`]). None where that was done before.
    pub fn take_events(&mut self) -> Option<Events> {
        self.events.take()
    }

    /// Where the log is now. Its name changes once, when the agent has named the session.
    pub fn log(&self) -> PathBuf {
        self.log.get()
    }

    /// Waits until the session is over: after the turn, or in a conversation after
    /// [`Handle::finish`]. Its tree is gone then.
    pub fn wait(mut self) -> Result<Outcome, WaitError> {
        // Whoever waits does not read, and need not.
        let report = self.thread.take().and_then(|thread| thread.join().ok());
        let log = self.log.get();
        match report {
            Some((report, missed_bytes)) => Ok(Outcome { report, log, missed_bytes }),
            None => Err(WaitError::BrokeDown { log }),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // The second word kills at once.
            self.handle.control.send(Request::Stop { signal: 15 });
            self.handle.control.send(Request::Stop { signal: 15 });
            let _broke_down = thread.join();
        }
    }
}

impl Handle {
    /// A further prompt, in a conversation; it waits until the turn that is on is over.
    /// Images that the agent does not take ([`Agent::takes_images`]) are named in words instead.
    pub fn prompt(&self, prompt: impl Into<Prompt>) {
        self.control.send(Request::Prompt(prompt.into()));
    }

    /// Ends the turn that is on. Where the agent can only be ended as a whole, it is, and the next
    /// prompt resumes its session.
    pub fn cancel(&self) {
        self.control.send(Request::Cancel);
    }

    /// Answers a question, by the id of its `approval.requested`.
    pub fn answer(&self, id: impl Into<String>, answer: Answer) {
        self.control.send(Request::Answer { id: id.into(), answer });
    }

    /// Allows what was asked, this once.
    pub fn approve(&self, id: impl Into<String>) {
        self.answer(id, Answer::Allow);
    }

    /// Denies what was asked, and tells the agent why.
    pub fn deny(&self, id: impl Into<String>, why: impl Into<String>) {
        self.answer(id, Answer::Deny { message: why.into() });
    }

    /// No prompt comes any more: the session ends after those that were given.
    pub fn finish(&self) {
        self.control.send(Request::Finish);
    }

    /// Stops the agent and everything that it started; a second time, at once.
    pub fn stop(&self) {
        self.control.send(Request::Stop { signal: 15 });
    }

    /// The same in requests, for whoever speaks to single runs as well.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Where a face can look at any time what the agent is doing.
    pub fn status_cell(&self) -> StatusCell {
        self.status.clone()
    }

    /// Whoever read what we print is gone: stops everything, as for [`Handle::stop`], and the
    /// outcome says why.
    pub fn reader_gone(&self) {
        self.control.send(Request::ReaderGone);
    }

    /// What the agent is doing, once it has begun.
    pub fn status(&self) -> Option<StatusLine> {
        self.status.get()
    }
}

impl Outcome {
    /// How it ended, in one word.
    pub fn end(&self) -> SessionEnd {
        self.report.end.end
    }

    /// Whether the agent delivered its result.
    pub fn is_success(&self) -> bool {
        self.end() == SessionEnd::Success
    }

    /// The agent's id of the session, to resume it by.
    pub fn session(&self) -> Option<&SessionId> {
        self.report.session.as_ref()
    }
}
