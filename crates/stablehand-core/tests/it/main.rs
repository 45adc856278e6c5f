//! Tests of core that read files. One binary, one module per subject.

#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

mod events;
mod hooks;
mod lines;
mod log;
mod loss;
mod mutation;
mod recordings;
mod redact;
mod replay;
mod same_call;
#[cfg(feature = "schema")]
mod schema;
mod seek;
mod shape;
mod transcripts;
