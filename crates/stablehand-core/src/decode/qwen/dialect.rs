//! Qwen Code's row in the table of dialects.

use super::decoder;
use crate::decode::{Decode, DialectRow};

/// `qwen --output-format stream-json`.
pub(in crate::decode) struct QwenDialect;

impl DialectRow for QwenDialect {
    const NAME: &'static str = "qwen";
    const SETTINGS_PATHS: &'static [&'static str] = &[".qwen/settings.json"];

    fn decoder() -> Box<dyn Decode> {
        Box::new(decoder())
    }
}
