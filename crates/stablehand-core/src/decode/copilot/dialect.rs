//! Copilot CLI's row in the table of dialects.

use super::CopilotDecoder;
use crate::decode::{Decode, DialectRow, restored};
use serde_json::value::RawValue;

/// `copilot --output-format json`.
pub(in crate::decode) struct CopilotDialect;

impl DialectRow for CopilotDialect {
    const NAME: &'static str = "copilot";

    fn decoder() -> Box<dyn Decode> {
        Box::new(CopilotDecoder::default())
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<CopilotDecoder>(state)
    }
}
