//! The ways an agent can talk to us, behind one trait.
//!
//! A run has one primary channel (a [pipe](Pipe), a [two-way](super::two_way) conversation, a
//! [relay](super::relay) between the agent and its own client, or a [terminal](super::terminal)),
//! and [hooks](super::hooks) beside it, where they are wanted. A channel knows how the agent is
//! prompted, interrupted and answered, and what its lines mean for that. The driver owns everything
//! else: reading the agent's streams, the log, the monitor, the stop. A channel gets the driver with
//! every call and never another channel, so nothing can be called in a circle.

use super::hooks::HookServer;
use super::stop::StopReason;
use super::{Driver, Ending, RunReport};
use nix::poll::PollFlags;
use stablehand_core::Moment;
use stablehand_core::actor::Actor;
use stablehand_core::event::EventKind;
use stablehand_core::interaction::Asker;
use stablehand_core::json::Scan;
use stablehand_core::line::Line;
use stablehand_core::monitor::Judgement;
use stablehand_core::record::TurnCancelled;
use stablehand_core::speak::{Answer, Prompt, Unanswerable};
use std::os::fd::BorrowedFd;

/// A descriptor to wait for, and what for.
pub(super) type Wanted<'a> = (BorrowedFd<'a>, PollFlags);

/// A way the agent talks to us. The defaults are those of an agent that is told nothing while it
/// works.
pub(super) trait Channel {
    /// Says the first words to the agent.
    fn open(&mut self, _driver: &mut Driver<'_>) {}

    /// Takes a line of the agent and its events. On the pass-through path: it does no I/O.
    fn hear(&mut self, _line: &Line<'_>, _scan: &Scan<'_>, _events: &[EventKind]) {}

    /// Puts on record what the lines of a chunk mean, before anybody gets the chunk.
    fn record(&mut self, _driver: &mut Driver<'_>) {}

    /// Takes a chunk that is in the log. Returns true if it has passed the chunk on itself.
    fn pass_on(&mut self, _driver: &mut Driver<'_>, _now: Moment) -> bool {
        false
    }

    /// Adds the descriptors to wait for.
    fn wants<'a>(&'a self, _driver: &'a Driver<'_>, _wanted: &mut Vec<Wanted<'a>>) {}

    /// Reads or writes what it can, after one of its descriptors was ready.
    fn ready(&mut self, _driver: &mut Driver<'_>) {}

    /// Does what follows from what was heard, and what is due.
    fn advance(&mut self, _driver: &mut Driver<'_>) {}

    /// Returns when something is due, if nothing happens before.
    fn deadline(&self, _driver: &Driver<'_>) -> Option<Moment> {
        None
    }

    /// Returns true if the agent takes prompts while it runs.
    fn takes_prompts(&self) -> bool {
        false
    }

    /// Gives a further prompt to an agent at rest.
    fn prompt(&mut self, _driver: &mut Driver<'_>, _prompt: Prompt) {}

    /// Interrupts the turn for a person; without a way to do so, ends the process.
    fn interrupt(&mut self, driver: &mut Driver<'_>, by: &Actor) {
        let text = "the turn is cancelled, and ends with its process";
        driver.log.decide(cancelled(by, text, true), None);
        driver.stop_by_signal(2);
    }

    /// Asks the agent to end its turns because of a verdict. Returns false if it cannot be asked, and
    /// has to be stopped.
    fn cancel_turns(
        &mut self,
        _driver: &mut Driver<'_>,
        _judgement: &Judgement,
        _now: Moment,
    ) -> bool {
        false
    }

    /// Words an answer to a permission request.
    fn word(&mut self, id: &str, _asker: Asker, _answer: &Answer) -> Result<Vec<u8>, Unanswerable> {
        Err(Unanswerable::NotOpen { id: id.to_owned() })
    }

    /// Delivers an answer that was worded so and is on record.
    fn deliver(&mut self, _driver: &mut Driver<'_>, _asker: Asker, _given: &Given<'_>) {}

    /// Returns true if the agent waits for a client of its own.
    fn waits_for_client(&self) -> bool {
        false
    }

    /// Stops asking and telling: the agent is being stopped.
    fn stop(&mut self, _driver: &mut Driver<'_>) {}

    /// Takes the loss of whoever reads the agent's output.
    fn reader_gone(&mut self, driver: &mut Driver<'_>) {
        driver.stop_for_lost_reader();
    }

    /// Ends its part of the run, after the last byte.
    fn finish(&mut self, _driver: &mut Driver<'_>) {}

    /// Returns how the run ended, where the channel knows more than the agent's last words tell.
    fn conclude(&self, ending: Ending, _stopped: Option<StopReason>) -> Ending {
        ending
    }

    /// Tells whoever still waits how the run ended.
    fn report(&mut self, _driver: &mut Driver<'_>, _report: &RunReport) {}
}

/// An answer that is given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given<'a> {
    /// In the words of whoever asked.
    pub(super) worded: &'a [u8],
    pub(super) answer: &'a Answer,
    pub(super) by_person: bool,
}

/// The channels of a run.
pub(super) struct Channels {
    pub(super) primary: Box<dyn Channel>,
    pub(super) hooks: Option<HookServer>,
}

impl Channels {
    /// Calls each of them.
    pub(super) fn each(&mut self, mut call: impl FnMut(&mut dyn Channel)) {
        call(self.primary.as_mut());
        if let Some(hooks) = &mut self.hooks {
            call(hooks);
        }
    }

    /// Returns the one through which a permission request came.
    pub(super) fn of(&mut self, asker: Asker) -> &mut dyn Channel {
        match (asker, &mut self.hooks) {
            (Asker::Hook(_), Some(hooks)) => hooks,
            _ => self.primary.as_mut(),
        }
    }

    /// Returns when something is due in one of them.
    pub(super) fn deadline(&self, driver: &Driver<'_>) -> Option<Moment> {
        let hooks = self.hooks.as_ref().and_then(|hooks| hooks.deadline(driver));
        self.primary.deadline(driver).into_iter().chain(hooks).min()
    }
}

/// An agent that reads one prompt from its standard input, and then works.
#[derive(Debug)]
pub(super) struct Pipe;

impl Channel for Pipe {}

/// Makes the record of a turn that somebody cancelled.
pub(super) fn cancelled(by: &Actor, text: &str, ends_process: bool) -> TurnCancelled {
    TurnCancelled {
        by: Some(by.by.to_string()),
        via: by.via.clone(),
        turn: None,
        text: text.to_owned(),
        ends_process,
    }
}
