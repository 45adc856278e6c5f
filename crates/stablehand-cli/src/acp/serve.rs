//! An agent of the protocol that any other agent stands behind.

use crate::choice::ChoiceArgs;
use crate::failure::Failure;

/// Serves it.
pub(super) fn main(_choice: &ChoiceArgs) -> Result<u8, Failure> {
    Err(Failure::new("not there yet"))
}
