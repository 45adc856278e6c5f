//! The script of the fake agent, as `stablehand_fake::script` has it; tests write it for Cursor
//! unless they say otherwise.

use stablehand_core::Dialect;
pub use stablehand_fake::script::{ChildKind, ChildPlan, EventKind, ScriptError, Step, Writes};

/// Reads a script for Cursor's dialect into its sections.
pub fn parse(text: &str) -> Result<Vec<Vec<Step>>, ScriptError> {
    stablehand_fake::script::parse(text, Dialect::Cursor)
}
