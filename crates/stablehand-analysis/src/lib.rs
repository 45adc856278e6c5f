//! What a log tells when it is read again.
//!
//! Each module folds the records of a log ([`stablehand_core::record`]) into one answer: when things
//! happened ([`timeline`]), why a run ended as it did ([`post_mortem`]), what was asked and decided
//! ([`ledger`]), the rows of the index ([`chronicle`]), and whether the monitor would decide the same
//! again or by other limits ([`rerun`]). [`history`] folds events into what was said and done, and
//! [`document`] renders that. Everything here is a function of values: no clock, no file, no process
//! and no task; Cargo and `clippy.toml` enforce it. The callers read the files.

pub mod chronicle;
pub mod document;
pub mod history;
pub mod ledger;
mod markup;
pub mod post_mortem;
pub mod rerun;
pub mod timeline;
