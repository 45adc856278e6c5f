//! What the tests of the other crates stand on: a scripted agent and a place to run it in.
//!
//! [`script`] and [`agent`] are the `fake-agent` binary: a program that takes any arguments and does
//! what a small text file says, one step a line, from a polite answer to a daemon that ignores every
//! signal (`stablehand-fake` has how). [`mod@env`] gives a test its own home, log folder and clean
//! environment, [`process`] runs a binary in it under a deadline, [`census`] proves that nothing was
//! left running, [`log`] reads what was logged, and [`judged`] judges it again. [`fixtures`] finds the recordings.
//!
//! [`llm`] is a fake model service that the real agent programs can be pointed at, and [`real`]
//! prepares a home for each of these programs.
//!
//! [`browser`] opens the pages that we write, in a real Chromium where there is one.
//!
//! It knows the binaries only from outside: their flags, exit codes and log format. Nothing of the
//! product depends on it.
#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "the kit serves tests, and a test fails by panicking"
)]

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct TheExampleInTheReadme;

pub mod agent;
pub mod browser;
pub mod census;
pub mod env;
pub mod fixtures;
pub mod judged;
pub mod llm;
pub mod log;
pub mod process;
pub mod real;
pub mod script;

pub use env::{Bins, Run, TestEnv};
pub use llm::FakeLlm;
pub use log::LogFile;
pub use process::{Finished, Running};
