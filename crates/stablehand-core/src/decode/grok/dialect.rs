//! Grok CLI's row in the table of dialects.

use super::GrokDecoder;
use crate::decode::{Decode, DialectRow, restored};
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

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<GrokDecoder>(state)
    }
}
