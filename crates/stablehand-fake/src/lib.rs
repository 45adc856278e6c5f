//! A scripted agent in every dialect, for testing whatever runs agents.
//!
//! A program that starts coding agents has to be tested with agents that hang, crash, lose their
//! output, leave processes behind, ask and fail; real ones do that rarely, slowly and at a price.
//! This crate is such an agent: [`script`] is a text with one step a line, [`perform`] does what it
//! says with real processes, pipes and signals, [`hooks`] has the rules by which three of the agents run
//! the hooks of their users, and one small writer per dialect says it in the
//! agent's own JSON: Cursor, Claude Code, Codex (both protocols), Gemini CLI, OpenCode, Qwen Code, Grok CLI and Antigravity CLI. [`scene`]
//! has ready scripts, [`native`] reads the arguments that a real agent would be given, [`shim`]
//! writes programs that stand in for the real ones on PATH.
//!
//! The `stablehand fake-agent` command, the `demo` agent and the tests' `fake-agent` are thin users
//! of it. It decides nothing about supervision and knows nothing of the rest but the dialects' names.

pub mod act;
mod collect;
mod dialect;
mod duplex;
pub mod hooks;
mod json;
pub mod native;
pub mod perform;
pub mod pid;
pub mod scene;
pub mod script;
pub mod shim;
mod voice;

pub use dialect::{SPOKEN, is_server, program, version_line};
pub use voice::{Clock, DEFAULT_SESSION, Identity};
