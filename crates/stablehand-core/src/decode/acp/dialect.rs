//! The Agent Client Protocol's row in the table of dialects.

use super::{AcpDecoder, AcpSpeaker};
use crate::decode::{Decode, DialectRow};
use crate::speak::{Opening, Speak};

/// What any agent writes that speaks the protocol.
pub(in crate::decode) struct AcpDialect;

impl DialectRow for AcpDialect {
    const NAME: &'static str = "acp";

    fn decoder() -> Box<dyn Decode> {
        Box::new(AcpDecoder::default())
    }

    fn speaker(opening: &Opening) -> Option<Box<dyn Speak>> {
        Some(Box::new(AcpSpeaker::new(opening.clone())))
    }
}
