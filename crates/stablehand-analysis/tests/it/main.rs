//! Tests of the analyses that read files. One binary, one module per subject.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail by a panic")]

mod chronicle;
mod damage;
mod everybody;
mod model;
mod timeline;
