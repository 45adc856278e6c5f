//! The pure middle of Stablehand.
//!
//! Everything here is a function of values: bytes become lines ([`mod@line`]), lines become events
//! ([`decode`], [`event`]), events and a `now` become decisions ([`monitor`]), and all of it can be
//! written to and read back from the log ([`record`]) and folded into what a person reads
//! ([`transcript`]) or into why a run ended as it did ([`post_mortem`]). Whether a tool call may run is a function too ([`policy`]), and so is whether an
//! agent that rested is to go on ([`continuation`]) and what of a text is a secret ([`redact`]). There is no clock, no
//! file, no process and no task in this crate; Cargo and `clippy.toml` see to it. An agent's name
//! appears nowhere outside `decode/`, but for the forms of their makers' keys in `redact`.

// A file of tests that the fuzz targets share names this crate as they do.
#[cfg(test)]
extern crate self as stablehand_core;

pub mod chronicle;
pub mod continuation;
pub mod decode;
pub mod event;
pub mod facts;
pub mod hook;
pub mod id;
pub mod json;
pub mod ledger;
pub mod line;
pub mod mcp;
pub mod monitor;
pub mod policy;
pub mod post_mortem;
pub mod record;
pub mod redact;
pub mod replay;
pub mod rerun;
pub mod settings;
pub mod speak;
pub mod terminal;
pub mod text;
pub mod time;
pub mod timeline;
pub mod transcript;
pub mod unsaid;
pub mod wish;
pub mod words;

pub use decode::{Decode, Depth, Dialect};
pub use event::{Event, EventKind, Origin};
pub use line::{Line, LineFlaw, LineSplitter, Part};
pub use time::{Moment, UnixMillis};
