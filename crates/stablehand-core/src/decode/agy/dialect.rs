//! Antigravity CLI's row in the table of dialects.

use super::AgyDecoder;
use crate::decode::{Decode, DialectRow, restored};
use serde_json::value::RawValue;

/// `agy --output-format stream-json`.
pub(in crate::decode) struct AgyDialect;

impl DialectRow for AgyDialect {
    const NAME: &'static str = "agy";
    const SETTINGS_PATHS: &'static [&'static str] = &[".agents/hooks.json"];

    fn decoder() -> Box<dyn Decode> {
        Box::new(AgyDecoder::default())
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<AgyDecoder>(state)
    }
}
