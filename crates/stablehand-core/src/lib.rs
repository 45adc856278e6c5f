//! The pure middle of Stablehand.
//!
//! Everything here is a function of values: bytes become lines ([`mod@line`]), lines become events
//! ([`decode`], [`event`]), events and a `now` become decisions ([`monitor`]), and all of it can be
//! written to and read back from the log ([`record`], [`replay`]). Whether an agent that rested is to go
//! on is a function too ([`continuation`]), and so is what of a text is a secret ([`redact`]). There
//! is no clock, no file, no process and no task in this crate; Cargo and `clippy.toml` see to it. An
//! agent's name appears nowhere outside `decode/`, but for the forms of their makers' keys in
//! `redact`. Rules about tool calls are `stablehand-policy`'s; what a log tells later is
//! `stablehand-analysis`'s.

// A file of tests that `stablehand-analysis` shares names this crate as it does.
#[cfg(test)]
extern crate self as stablehand_core;

pub mod actor;
pub mod continuation;
pub mod decision;
pub mod decode;
pub mod event;
pub mod facts;
pub mod hook;
pub mod id;
pub mod interaction;
pub mod json;
pub mod line;
pub mod mcp;
pub mod monitor;
pub mod record;
pub mod redact;
pub mod replay;
mod saved;
pub mod size;
pub mod speak;
pub mod terminal;
pub mod text;
pub mod time;
pub mod unsaid;
pub mod wish;
pub mod words;

pub use decode::{Decode, Depth, Dialect};
pub use event::{Event, EventKind, Origin};
pub use line::{Line, LineSplitter, Part};
pub use time::{Moment, UnixMillis};
