//! The index of the logs: sessions, runs, turns, tools, questions, usage, files, full text.
//!
//! Owns the database beside the logs. The logs are the truth: whatever is here can be thrown away
//! and made again from them. Reads logs, never writes one; starts nothing and prints nothing.
//!
//! Many processes use one index at once. Whoever indexes a log commits its rows together with the
//! place up to which they reach, so a kill at any moment leaves a whole index that is merely
//! behind, and two who index the same log do not count anything twice.

mod error;
mod import;
mod index;
mod open;
mod scan;
mod write;

pub use error::StoreError;
pub use import::{IMPORTS, Source, Survey, Transcript, each_transcript, survey};
pub use index::{Indexer, Progress};
pub use open::{FILE, Store};
pub use scan::{Budget, Refreshed};
