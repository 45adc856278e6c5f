//! A conversation at the command line: prompts in, turns followed, signals told apart.

use super::show::Note;
use super::{Shell, by_signal};
use crate::failure::{self, Failure};
use crate::input::{Desk, Prompt, Prompts};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand::control::{Receiver, Refused, Request, Requests};
use stablehand_core::event::{SessionEnd, TurnEnd};

/// What the first interrupt of a turn does; any other signal ends the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// It ends the turn, as a person's wish.
    Cancel,
    /// It goes to the session as the signal that it is.
    Pass,
}

/// How a turn ended.
#[derive(Clone, Debug)]
pub struct TurnOver {
    /// The turn itself.
    pub end: TurnEnd,
    /// The agent's process, where that ended with it.
    pub run: SessionEnd,
}

/// What follows a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follow {
    /// The next prompt of the input.
    Ask,
    /// This prompt.
    With(String),
    /// Nothing: the session ends.
    Leave,
}

/// How a conversation came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The input is at its end.
    InputEnded,
    /// The session is over, or what followed a turn was nothing.
    Over,
    /// A signal ended it.
    Signal(i32),
}

impl Left {
    /// The exit status, where a signal ended it.
    pub fn by_signal(self) -> Option<u8> {
        match self {
            Left::Signal(signal) => Some(by_signal(signal)),
            Left::InputEnded | Left::Over => None,
        }
    }
}

/// How a turn ended, for the loop.
enum After {
    Turn(TurnOver),
    Over,
    Signal(i32),
}

impl Shell {
    /// Talks until the input, the session or a signal ends it. `is_busy` where the session began with
    /// a prompt. `after` is asked after each turn, with the signal that was passed on in it.
    pub fn converse(
        &mut self,
        prompts: &mut Prompts,
        mut is_busy: bool,
        interrupt: Interrupt,
        mut after: impl FnMut(&Shell, TurnOver, Option<i32>) -> Follow,
    ) -> Result<Left, Failure> {
        loop {
            let mut follow = Follow::Ask;
            if is_busy {
                let (ended, passed) = self.turn(interrupt);
                if let Some(asking) = &self.asking {
                    // The prompt needs the terminal that a question may still have.
                    asking.rest();
                }
                let is_late = |turn: &TurnOver| turn.run != SessionEnd::Interrupted;
                match (ended, passed) {
                    // The turn was over before the session had the signal, which ended it all.
                    (After::Turn(turn), Some(signal)) if is_late(&turn) => {
                        return Ok(Left::Signal(signal));
                    }
                    (After::Turn(turn), _) => follow = after(self, turn, passed),
                    (After::Over, _) => return Ok(Left::Over),
                    (After::Signal(signal), _) => return Ok(Left::Signal(signal)),
                }
            }
            let text = match follow {
                Follow::With(text) => text,
                Follow::Leave => return Ok(Left::Over),
                Follow::Ask => match self.next_prompt(prompts)? {
                    Prompt::Text(text) => text,
                    Prompt::End => return Ok(Left::InputEnded),
                    Prompt::Signal(signal) => return Ok(Left::Signal(signal)),
                },
            };
            match self.handle.prompt(text) {
                Ok(_) => is_busy = true,
                Err(why @ Refused::Denied { .. }) => {
                    self.tell(&failure::denied_prompt(why.to_string()));
                    self.has_denied = true;
                    is_busy = false;
                }
                Err(_) => return Ok(Left::Over), // Its outcome says why.
            }
        }
    }

    fn next_prompt(&self, prompts: &mut Prompts) -> Result<Prompt, Failure> {
        let Some(requests) = &self.requests else { return Ok(Prompt::End) };
        self.attention.set(false);
        prompts.next(&Desk { screen: &self.screen, requests, attention: &self.attention })
    }

    /// Follows one turn to its end, and returns the signal that was passed on to the session.
    fn turn(&self, interrupt: Interrupt) -> (After, Option<i32>) {
        let (Some(view), Some(requests)) = (&self.view, &self.requests) else {
            return (After::Over, None);
        };
        self.attention.set(true);
        self.draw();
        let ended = self.follow_turn(interrupt, &view.notes, requests);
        self.screen.finish();
        self.attention.set(false);
        ended
    }

    fn follow_turn(
        &self,
        interrupt: Interrupt,
        notes: &Receiver<Note>,
        requests: &Requests,
    ) -> (After, Option<i32>) {
        let mut passed = None;
        let mut interrupts = 0;
        loop {
            match notes.next() {
                Some(Note::TurnOver(turn)) => return (After::Turn(turn), passed),
                Some(Note::Over) => return (After::Over, passed),
                None => {}
            }
            match (requests.next(), interrupt) {
                (Some(Request::Stop { signal: 2, .. }), Interrupt::Cancel) if interrupts == 0 => {
                    interrupts += 1;
                    self.handle.cancel();
                    continue;
                }
                (Some(Request::Stop { signal, .. }), Interrupt::Cancel) => {
                    self.handle.stop();
                    return (After::Signal(signal), passed);
                }
                (Some(request @ Request::Stop { signal, .. }), Interrupt::Pass) => {
                    passed = Some(signal);
                    self.handle.control().send(request);
                    continue;
                }
                (Some(request @ (Request::Dump | Request::Resize(_))), _) => {
                    self.handle.control().send(request);
                    continue;
                }
                (Some(_), _) => continue,
                (None, _) => {}
            }
            let mut fds = [
                PollFd::new(requests.fd(), PollFlags::POLLIN),
                PollFd::new(notes.fd(), PollFlags::POLLIN),
            ];
            let _interrupted = poll(&mut fds, PollTimeout::NONE);
        }
    }
}
