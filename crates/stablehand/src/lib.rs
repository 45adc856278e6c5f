//! Runs command-line coding agents so that a person can leave them alone.
//!
//! [`init`] comes first in `main`. One conversation is a [`Session`]:
//! `Session::builder(Agent::Claude).prompt("…").start()`, its events and its handle. Many of them, for
//! a server or an interface, are a [`Host`]: it starts, lists and goes on with sessions, and any number
//! of [`Subscription`]s follow each.
//!
//! The parts below it, in the order in which a byte meets them: the [`keeper`] owns the agent's process
//! tree; the [`driver`] reads its output and decides with `stablehand_core`'s monitor; the [`log`]
//! has every byte before anybody sees it; a [`sink`] passes bytes on and refills from the log when
//! its reader was slow. [`agent`] knows how each agent is started. This library never prints. It reads
//! no environment but in [`surroundings`], when asked to.

pub mod agent;
pub mod bounded;
pub mod checkup;
pub mod clock;
pub mod config;
pub mod context;
pub mod continuation;
pub mod control;
pub mod driver;
pub mod frames;
pub mod gate;
pub mod hook_call;
pub mod hooks;
pub mod host;
pub mod keeper;
pub mod lease;
pub mod log;
pub mod manage;
pub mod pages;
pub mod policy_world;
mod prompt_gate;
pub mod recovery;
pub mod redact;
pub mod sandbox;
pub mod session;
pub mod show;
pub mod sink;
pub mod surroundings;
pub mod tree;

pub use agent::{Agent, Mode};
pub use control::{AnswerError, Refused};
pub use frames::{Cursor, Frame, From, Subscription};
pub use host::Host;
pub use session::{Handle, Outcome, Policy, Session, SessionSpec, StartError, WaitError};
pub use stablehand_core as core;
pub use stablehand_core::actor::Actor;
pub use stablehand_core::event::{Event, EventKind};
pub use stablehand_core::id::{SessionKey, TurnId};
pub use stablehand_core::speak::Answer;
pub use stablehand_policy as policy;
pub use surroundings::{Surroundings, init};

/// A new id for a run; later ones sort behind earlier ones.
pub fn new_run_id() -> core::id::RunId {
    core::id::RunId(uuid::Uuid::now_v7().to_string())
}

/// A new id for a session; later ones sort behind earlier ones.
pub fn new_session_key() -> core::id::SessionKey {
    core::id::SessionKey(uuid::Uuid::now_v7())
}

/// A new id for a log; later ones sort behind earlier ones.
pub(crate) fn new_log_id() -> core::id::LogId {
    core::id::LogId(uuid::Uuid::now_v7())
}

/// A new id for a turn; later ones sort behind earlier ones.
pub(crate) fn new_turn_id() -> core::id::TurnId {
    core::id::TurnId(uuid::Uuid::now_v7())
}

/// An error with its causes, in one line.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}
