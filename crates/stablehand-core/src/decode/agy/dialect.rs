//! Antigravity CLI's row in the table of dialects.

use super::super::kit;
use super::AgyDecoder;
use super::tools::TABLE;
use crate::decode::{Decode, DialectRow, restored};
use crate::event::Tool;
use crate::json::Value;
use serde_json::value::RawValue;

/// `agy --output-format stream-json`.
pub(in crate::decode) struct AgyDialect;

impl DialectRow for AgyDialect {
    const NAME: &'static str = "agy";
    const SETTINGS_PATHS: &'static [&'static str] = &[".agents/hooks.json"];

    fn decoder() -> Box<dyn Decode> {
        Box::new(AgyDecoder::default())
    }

    fn call(name: &str, args: Value<'_>) -> Tool {
        kit::call(TABLE, name, args)
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<AgyDecoder>(state)
    }
}
