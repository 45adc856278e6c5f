//! Copilot CLI's row in the table of dialects.

use super::CopilotDecoder;
use crate::decode::{Decode, DialectRow};

/// `copilot --output-format json`.
pub(in crate::decode) struct CopilotDialect;

impl DialectRow for CopilotDialect {
    const NAME: &'static str = "copilot";

    fn decoder() -> Box<dyn Decode> {
        Box::new(CopilotDecoder::default())
    }
}
