//! The real agent programs under `stablehand run`, against a fake model, without a network.
//!
//! Owns the promises that only the real programs can prove: that we start them rightly, read what they
//! really write, and end them with all that they have started. Each case is a test for each program.
//! `tools/real-agents` installs the programs and runs this; without it every test says that it is
//! skipped. The fake model and the homes of the programs are the test kit's.

#[cfg(test)]
mod acp;
#[cfg(test)]
mod acpx;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod bytes;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod given;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod support;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod transcripts;
#[cfg(test)]
mod turns;
