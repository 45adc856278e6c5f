//! Tests of the policy that read files. One binary, one module per subject.

#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

mod policy;
