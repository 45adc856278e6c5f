//! The index of the logs: sessions, runs, turns, tools, questions, usage, files, full text.
//!
//! Owns the database beside the logs. The logs are the truth: whatever is here can be thrown away
//! and made again from them. Reads logs, never writes one; prints nothing.
//!
//! Many processes use one index at once. Whoever indexes a log commits its rows together with the
//! place up to which they reach, so a kill at any moment leaves a whole index that is merely
//! behind, and two who index the same log do not count anything twice. A run fills the index while
//! it goes on ([`Filler`]), and never waits for it; whoever asks brings it up to date first
//! ([`Store::refresh`]).

mod ask;
mod commit;
mod dump;
mod error;
mod fill;
mod folder;
mod import;
mod index;
mod lock;
pub mod lookup;
mod open;
pub mod prune;
pub mod query;
mod rebuild;
mod scan;
mod share;
mod signs;
mod state;
mod write;

pub use ask::{Answered, ask_refreshed};
pub use error::StoreError;
pub use fill::Filler;
pub use folder::logs_newest_first;
pub use import::{IMPORTS, Original, Source, Survey, Transcript, each_transcript, survey};
pub use open::{Access, FILE, Store};
pub use scan::{Advance, Budget, Refreshed};
pub use share::in_parts;
