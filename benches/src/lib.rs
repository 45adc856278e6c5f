//! What the measuring commands share: the stream, the processes around it, figures and tables.
//!
//! Each command is a binary of its own in `bin/`; `bench-agent` plays every other process that a
//! measurement needs (the agent that writes, the reader that counts), so that all tools under test
//! have the same producer and the same consumer. How to measure honestly, and what every figure
//! means, is in `benches/README.md`.

pub mod agent;
pub mod chain;
pub mod corpus;
pub mod logs;
pub mod options;
pub mod proc;
pub mod report;
pub mod spawning;
pub mod stats;
pub mod stream;

/// Anything that broke a measurement; its text is all that is wanted.
pub type Failure = Box<dyn std::error::Error>;

/// The result of a step of a measurement.
pub type Outcome<T> = Result<T, Failure>;
