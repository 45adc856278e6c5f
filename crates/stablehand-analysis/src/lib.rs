//! What a log tells when it is read again.
//!
//! Each module folds the records of a log ([`stablehand_core::record`]) into one answer: when things
//! happened ([`timeline`]), why a run ended as it did ([`post_mortem`]), what was asked and decided
//! ([`ledger`]), the rows of the index ([`chronicle`]), and whether the monitor would decide the same
//! again or by other limits ([`rerun`]). Everything here is a function of values: no clock, no file,
//! no process and no task; Cargo and `clippy.toml` see to it. The callers read the files.

pub mod chronicle;
pub mod ledger;
pub mod post_mortem;
pub mod rerun;
pub mod timeline;
