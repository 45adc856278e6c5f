//! An agent that speaks the protocol itself, supervised, with nothing lost in between.

use crate::choice::ChoiceArgs;
use crate::failure::Failure;

/// Passes it through.
pub(super) fn main(_command: &str, _choice: &ChoiceArgs) -> Result<u8, Failure> {
    Err(Failure::new("not there yet"))
}
