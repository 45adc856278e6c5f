//! Approvals: who answers the agent's questions, a person at this terminal or a program.
//!
//! Owns the flags, who is there, and the thread that asks. Events go in ([`Feed`]), requests to the
//! driver come out; what a question is and how long it waits is the driver's, what may be done
//! without one the policy's. `run` and `talk` ask in the same way.

mod feed;
pub(crate) mod keyboard;
mod person;
mod program;
mod show;

pub use feed::{Feed, Told};
pub(crate) use feed::{Note, Question};

use crate::duration;
use crate::env::Env;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::signals::Attention;
use keyboard::Keyboard;
use stablehand::control::{self, Control, Sender};
use stablehand::gate::Gate;
use stablehand::session::Policy;
use stablehand_core::actor::Actor;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The face of a person at the terminal, in records.
pub(crate) const FACE: &str = "terminal";

/// Returns who runs a command: a person where there is a terminal, a program elsewhere.
pub(crate) fn actor(env: &Env) -> Actor {
    if env.stderr_is_terminal { Actor::person(FACE) } else { Actor::program("command-line") }
}

/// So long a question may take to leave the screen when it is over.
const REST: Duration = Duration::from_secs(1);

/// Who answers questions, and how long they wait.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AskArgs {
    /// Ask nobody, even at a terminal: what a policy would ask is decided by its `unattended`
    #[arg(long, help_heading = "Approvals")]
    unattended: bool,

    /// How long a question waits for an answer; then it is decided as if nobody were there
    /// [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_positive, help_heading = "Approvals")]
    approval_timeout: Option<Duration>,

    /// A program answers instead of a person: JSON lines on this descriptor, which it opened for us.
    /// On a socket it is also told the questions
    #[arg(long, value_name = "N", conflicts_with = "unattended", help_heading = "Approvals")]
    approve_fd: Option<i32>,
}

/// Who is there to answer.
#[derive(Clone, Debug)]
pub enum Who {
    /// Nobody.
    Nobody,
    /// A person at the terminal.
    Person,
    /// A program, at the other end of this.
    Program(Arc<OwnedFd>),
}

/// Who answers, how patiently, and by which rules.
#[derive(Clone, Debug)]
pub struct Attendant {
    /// Who.
    pub who: Who,
    /// How long a question waits; for ever where absent.
    pub patience: Option<Duration>,
    /// The rules that ask, where there are any.
    pub gate: Option<Arc<Gate>>,
    /// Whether nobody wants colours.
    plain: bool,
}

impl AskArgs {
    /// Who is there.
    pub fn attendant(&self, gate: Option<Arc<Gate>>, env: &Env) -> Result<Attendant, Failure> {
        let who = match self.approve_fd {
            Some(number) => Who::Program(Arc::new(program::descriptor(number)?)),
            None if self.unattended || !Keyboard::is_there(env) => Who::Nobody,
            None => Who::Person,
        };
        let plain = env.no_color || env.dumb;
        Ok(Attendant { who, patience: self.approval_timeout, gate, plain })
    }

    /// Refuses a program that would never be asked anything.
    pub fn check_asks(&self, asks: bool, agent: &str) -> Result<(), Failure> {
        if self.approve_fd.is_none() || asks {
            return Ok(());
        }
        Err(Failure::usage(format!("{agent} would ask nothing, so --approve-fd has no use"))
            .hint("add --policy, or --transport two-way where the agent has it"))
    }
}

impl Attendant {
    /// Whether anybody is there.
    pub fn is_there(&self) -> bool {
        !matches!(self.who, Who::Nobody)
    }

    /// What becomes of the agent's questions; with `force` they are allowed where no rules hold.
    pub fn policy(&self, force: bool) -> Policy {
        match &self.gate {
            Some(gate) => Policy::Rules(Arc::clone(gate)),
            None if force => Policy::Allow,
            None if self.is_there() => Policy::Ask,
            None => Policy::Deny,
        }
    }

    /// For a session: zero is nobody.
    pub fn session_patience(&self) -> Option<Duration> {
        if self.is_there() { self.patience } else { Some(Duration::ZERO) }
    }
}

/// The thread that asks.
#[derive(Debug)]
pub struct Asking {
    notes: Sender<Note>,
    thread: Option<JoinHandle<()>>,
    /// A program answers, which is quicker than a person.
    is_program: bool,
}

impl Asking {
    /// Starts it; none where nobody is there.
    pub fn start(
        attendant: &Attendant,
        control: Control,
        screen: &Screen,
        attention: &Attention,
    ) -> std::io::Result<Option<Asking>> {
        let (notes, inbox) = control::channel()?;
        let gate = attendant.gate.clone();
        let (screen, attention) = (screen.clone(), attention.clone());
        let thread = std::thread::Builder::new().name("approvals".into());
        let thread = match &attendant.who {
            Who::Nobody => return Ok(None),
            Who::Person => {
                let style = show::Style { colour: !attendant.plain };
                let keyboard = Keyboard::open(attention.clone())?;
                let person =
                    person::Person::new(inbox, control, gate, screen, attention, keyboard, style);
                thread.spawn(move || person.run())?
            }
            Who::Program(line) => {
                let program = program::Program::new(Arc::clone(line), inbox, control, screen)?;
                thread.spawn(move || program.run())?
            }
        };
        let is_program = matches!(attendant.who, Who::Program(_));
        Ok(Some(Asking { notes, thread: Some(thread), is_program }))
    }

    /// Where events go in.
    pub fn feed(&self) -> Feed {
        Feed::new(self.notes.clone(), self.is_program)
    }

    /// Waits until no question is on the screen, after all that was fed so far.
    pub fn rest(&self) {
        let (done, rested): (_, Receiver<()>) = sync_channel(1);
        self.notes.send(Note::Rest(done));
        let _gave_up = rested.recv_timeout(REST);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.notes.send(Note::End);
        let began = Instant::now();
        // The terminal must be as it was before we leave; a thread that is stuck must not keep us.
        while let Some(thread) = &self.thread
            && !thread.is_finished()
            && began.elapsed() < REST
        {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
