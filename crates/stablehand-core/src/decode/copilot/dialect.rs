//! Copilot CLI's row in the table of dialects.

use super::super::kit;
use super::CopilotDecoder;
use super::tools::TABLE;
use crate::decode::{Decode, DialectRow, restored};
use crate::event::Tool;
use crate::json::Value;
use serde_json::value::RawValue;

/// `copilot --output-format json`.
pub(in crate::decode) struct CopilotDialect;

impl DialectRow for CopilotDialect {
    const NAME: &'static str = "copilot";

    fn decoder() -> Box<dyn Decode> {
        Box::new(CopilotDecoder::default())
    }

    fn call(name: &str, args: Value<'_>) -> Tool {
        kit::call(TABLE, name, args)
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<CopilotDecoder>(state)
    }
}
