//! How a person, or a signal, speaks to a running driver.
//!
//! A [`Control`] can be cloned and used from any thread; the driver holds the one receiving end,
//! whose descriptor it polls. What is sent is never lost and never blocks the sender.

mod always;
mod board;

pub use always::Always;
pub(crate) use always::Subject;
pub use board::{AnswerError, Board, Refused};

use crate::gate::Remembered;
use crate::prompt_gate;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{pipe, read, write};
use stablehand_core::actor::Actor;
use stablehand_core::id::TurnId;
use stablehand_core::record::DecisionRecord;
use stablehand_core::speak::{Answer, Prompt};
use stablehand_core::terminal::TerminalSize;
use stablehand_policy::RuleRef;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The signal that a request to stop stands for.
const SIGTERM: i32 = 15;

/// What somebody wants of a running driver.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Request {
    /// Stop the run, beginning with an interrupt; a second one kills at once. Carries the signal
    /// number that our own exit status should show.
    Stop {
        /// 2 for Ctrl-C, 15 for SIGTERM, 1 for SIGHUP.
        signal: i32,
        /// Who wants that; absent where a signal to us does.
        by: Option<Actor>,
    },
    /// Write down what is going on, and go on.
    Dump,
    /// Whoever read our output is gone.
    ReaderGone,
    /// A further prompt, in a conversation. It waits until the turn that is on is over.
    Prompt(TurnRequest),
    /// End the turn, not the process; where the agent cannot, the process.
    Cancel {
        /// Which turn; the one that is on where absent. One that waits never begins.
        turn: Option<TurnId>,
        /// Who wants that.
        by: Actor,
    },
    /// An answer to a question of the agent.
    Answer {
        /// The id that it was asked under.
        id: String,
        /// The answer.
        answer: Answer,
        /// Who answers.
        by: Actor,
    },
    /// The answer "always" wrote a rule, and the gate has it. To be put on record.
    RuleWritten {
        /// The question that it came from.
        id: String,
        /// Where the rule stands.
        rule: RuleRef,
        /// The rule, as it was written.
        text: String,
    },
    /// Nobody answers questions any more: those that wait, and all that come, are decided as if
    /// nobody had ever been there.
    NobodyThere,
    /// No prompt comes any more: the process may end after the turn that is on.
    Finish,
    /// A line of a face's own for standard output, behind all that the agent wrote. It waits until
    /// no run is on.
    Insert(Vec<u8>),
    /// A decision of a face, to be put on record.
    Note(Box<DecisionRecord>),
    /// Our own terminal has another size; an agent at a terminal that follows ours gets it too.
    Resize(TerminalSize),
}

/// A prompt with the turn that it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRequest {
    /// The turn.
    pub turn: TurnId,
    /// Who prompts.
    pub by: Actor,
    /// The prompt.
    pub prompt: Prompt,
}

/// Speaks to a driver.
#[derive(Clone, Debug)]
pub struct Control {
    queue: Sender<Request>,
    board: Board,
}

/// What a driver listens to.
#[derive(Debug)]
pub struct Requests {
    queue: Receiver<Request>,
    board: Board,
}

/// A stop that was asked for and is not in the queue yet.
///
/// The thread that turns signals into requests may be late. The driver therefore looks at the source
/// of the signals itself, and that thread raises the alarm before it takes a signal from there: one
/// of the two always shows.
#[derive(Debug, Default)]
pub struct Alarm {
    raised: Arc<AtomicBool>,
    source: OnceLock<OwnedFd>,
}

impl Alarm {
    /// Says that a stop is on its way, if the source has one. To be called before it is taken.
    pub fn raise_if_pending(&self) {
        if self.source.get().is_some_and(is_readable) {
            self.raised.store(true, Ordering::SeqCst);
        }
    }

    /// Returns the flag that says so, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.raised)
    }

    /// Sets the descriptor that is readable while a signal to stop is pending. The first one stays.
    pub fn watch(&self, source: OwnedFd) {
        let _first = self.source.get_or_init(|| source);
    }

    fn is_raised(&self) -> bool {
        // The source first: what is no longer there has raised the alarm.
        self.source.get().is_some_and(is_readable) || self.raised.load(Ordering::SeqCst)
    }
}

fn is_readable(fd: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..))
}

/// The sending end.
#[derive(Debug)]
pub struct Sender<T> {
    queue: Arc<Mutex<VecDeque<T>>>,
    wake: Arc<OwnedFd>,
    alarm: Arc<Alarm>,
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver<T> {
    queue: Arc<Mutex<VecDeque<T>>>,
    wake: OwnedFd,
    alarm: Arc<Alarm>,
}

/// A pair of ends for requests.
pub fn control() -> std::io::Result<(Control, Requests)> {
    let (sender, receiver) = channel()?;
    let board = Board::default();
    let requests = Requests { queue: receiver, board: board.clone() };
    Ok((Control { queue: sender, board }, requests))
}

impl Control {
    /// Sends a request that needs no answer.
    pub fn send(&self, request: Request) {
        self.queue.send(request);
    }

    /// Hands a prompt on; its turn begins when those before it are over. One that a rule denies is
    /// refused now, and that is on record.
    pub fn prompt(&self, prompt: Prompt, by: Actor) -> Result<TurnId, Refused> {
        self.judge(&prompt, &by)?;
        let posted = self.board.lock();
        if let Some(why) = &posted.refuses {
            return Err(why.clone());
        }
        let turn = crate::new_turn_id();
        self.queue.send(Request::Prompt(TurnRequest { turn, by, prompt }));
        Ok(turn)
    }

    /// Holds a prompt against the rules, without the board's lock: a long prompt takes a while.
    fn judge(&self, prompt: &Prompt, by: &Actor) -> Result<(), Refused> {
        let rules = {
            let posted = self.board.lock();
            if let Some(why) = &posted.refuses {
                return Err(why.clone());
            }
            posted.prompt_rules.clone()
        };
        let Some(verdict) = prompt_gate::judge(&rules, &prompt.text, by, None) else {
            return Ok(());
        };
        self.queue.send(Request::Note(Box::new(verdict.record)));
        verdict.denied.map_or(Ok(()), |why| Err(Refused::Denied { why }))
    }

    /// Answers an approval. The first valid answer wins.
    pub fn answer(&self, id: &str, answer: Answer, by: Actor) -> Result<(), AnswerError> {
        if answer == Answer::AllowAlways {
            return self.allow_always(id, by).map(drop);
        }
        let claimed = self.board.claim(id, &by);
        // An answer that does not count is on record too.
        self.queue.send(Request::Answer { id: id.to_owned(), answer, by });
        claimed.map(drop)
    }

    /// Allows an approval, now and from now on. Where rules asked, a rule for exactly this call is
    /// written first, which may wait for a disk; returns where it stands. Where none can be
    /// written, the approval waits on. Without rules the agent itself remembers it.
    pub fn allow_always(&self, id: &str, by: Actor) -> Result<Option<RuleRef>, AnswerError> {
        let claimed = self.board.claim(id, &by);
        let written = match &claimed {
            Ok(subject) => subject.remember(),
            Err(_) => Ok(None),
        };
        let written = written.map_err(|why| {
            self.board.still_waits(id);
            AnswerError::NoRule { id: id.to_owned(), why }
        })?;
        let (answer, rule) = match written {
            None => (Answer::AllowAlways, None),
            Some(Remembered::Known) => (Answer::Allow, None),
            Some(Remembered::Written { rule, text }) => {
                let id = id.to_owned();
                self.queue.send(Request::RuleWritten { id, rule: rule.clone(), text });
                (Answer::Allow, Some(rule))
            }
        };
        self.queue.send(Request::Answer { id: id.to_owned(), answer, by });
        claimed.map(|_| rule)
    }

    /// Takes no further prompt; the process may end after those that were given.
    pub fn finish(&self) {
        self.board.refuse_prompts(Refused::Finishing);
        self.queue.send(Request::Finish);
    }

    /// Stops the agent and everything that it started; a second time, at once.
    pub fn stop(&self, by: Actor) {
        self.queue.send(Request::Stop { signal: SIGTERM, by: Some(by) });
    }

    /// What the session can be asked.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Says that a stop is on its way before it can be sent. Until the stop is here, the driver
    /// allows nothing.
    pub fn alarm(&self) -> Arc<Alarm> {
        Arc::clone(&self.queue.alarm)
    }
}

impl Requests {
    /// What the session can be asked.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Ends it all: no prompt is accepted from now on. Returns those that never got their turn.
    pub fn close(&self) -> Vec<TurnRequest> {
        self.board.refuse_prompts(Refused::Over);
        let prompt = |request: &Request| matches!(request, Request::Prompt(_));
        std::iter::from_fn(|| match self.queue.take(prompt) {
            Some(Request::Prompt(request)) => Some(request),
            _ => None,
        })
        .collect()
    }
}

impl std::ops::Deref for Requests {
    type Target = Receiver<Request>;

    fn deref(&self) -> &Receiver<Request> {
        &self.queue
    }
}

/// A pair of ends for anything that is to be waited for together with other descriptors.
pub fn channel<T>() -> std::io::Result<(Sender<T>, Receiver<T>)> {
    let (reader, writer) = pipe()?;
    for end in [&reader, &writer] {
        fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        fcntl(end, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
    }
    let queue = Arc::new(Mutex::new(VecDeque::new()));
    let alarm = Arc::new(Alarm::default());
    Ok((
        Sender { queue: Arc::clone(&queue), wake: Arc::new(writer), alarm: Arc::clone(&alarm) },
        Receiver { queue, wake: reader, alarm },
    ))
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender {
            queue: Arc::clone(&self.queue),
            wake: Arc::clone(&self.wake),
            alarm: Arc::clone(&self.alarm),
        }
    }
}

impl<T> Sender<T> {
    /// Sends something.
    pub fn send(&self, what: T) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(what);
        // A full pipe has already woken whoever listens.
        let _woken = write(&*self.wake, b"x");
    }
}

impl<T> Receiver<T> {
    /// Whether a stop is on its way.
    pub fn is_alarmed(&self) -> bool {
        self.alarm.is_raised()
    }

    /// The stop has come.
    pub fn calm(&self) {
        self.alarm.raised.store(false, Ordering::SeqCst);
    }

    /// Readable when something waits.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// The next one, if any.
    pub fn next(&self) -> Option<T> {
        self.take(|_| true)
    }

    /// Whether one that is wanted waits; it keeps its place.
    pub fn has(&self, wanted: impl Fn(&T) -> bool) -> bool {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).iter().any(wanted)
    }

    /// The next one that is wanted; the others keep their places.
    pub fn take(&self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let mut drain = [0; 64];
        while matches!(read(&self.wake, &mut drain), Ok(1..)) {}
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let at = queue.iter().position(wanted)?;
        queue.remove(at)
    }
}
