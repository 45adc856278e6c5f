//! Runs command-line coding agents so that a person can leave them alone.
//!
//! The parts, in the order in which a byte meets them: the [`keeper`] owns the agent's process
//! tree; the [`driver`] reads its output and decides with `stablehand_core`'s monitor; the [`log`]
//! has every byte before anybody sees it; a [`sink`] passes bytes on and refills from the log when
//! its reader was slow. [`agent`] knows how each agent is started. This library never prints, reads
//! no environment variable and no home directory: the faces do, and hand values in.

pub mod clock;
pub mod control;
pub mod lease;
pub mod log;
pub mod sink;

pub use stablehand_core as core;
