//! Grok CLI's row in the table of dialects.

use super::super::kit;
use super::GrokDecoder;
use super::tools::TABLE;
use crate::decode::{Decode, DialectRow, restored};
use crate::event::Tool;
use crate::json::Value;
use serde_json::value::RawValue;

/// `grok --output-format streaming-json`.
pub(in crate::decode) struct GrokDialect;

impl DialectRow for GrokDialect {
    const NAME: &'static str = "grok";
    const SETTINGS_PATHS: &'static [&'static str] =
        &[".grok/config.toml", ".grok/hooks", ".grok/settings.json"];

    fn decoder() -> Box<dyn Decode> {
        Box::new(GrokDecoder::default())
    }

    fn call(name: &str, args: Value<'_>) -> Tool {
        kit::call(TABLE, name, args)
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<GrokDecoder>(state)
    }
}
