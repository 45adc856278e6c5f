//! The Agent Client Protocol's row in the table of dialects.

use super::{AcpDecoder, AcpSpeaker};
use crate::decode::{Decode, DialectRow, restored};
use crate::speak::{Opening, Speak};
use serde_json::value::RawValue;

/// What any agent writes that speaks the protocol.
pub(in crate::decode) struct AcpDialect;

impl DialectRow for AcpDialect {
    const NAME: &'static str = "acp";
    const NAMES_METHODS: bool = true;

    fn decoder() -> Box<dyn Decode> {
        Box::new(AcpDecoder::default())
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<AcpDecoder>(state)
    }

    fn speaker(opening: &Opening) -> Option<Box<dyn Speak>> {
        Some(Box::new(AcpSpeaker::new(opening.clone())))
    }
}
