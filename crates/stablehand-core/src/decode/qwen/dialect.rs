//! Qwen Code's row in the table of dialects.

use super::super::claude::call;
use super::{TABLE, decoder, restored};
use crate::decode::{Decode, DialectRow};
use crate::event::Tool;
use crate::json::Value;
use serde_json::value::RawValue;

/// `qwen --output-format stream-json`.
pub(in crate::decode) struct QwenDialect;

impl DialectRow for QwenDialect {
    const NAME: &'static str = "qwen";
    const SETTINGS_PATHS: &'static [&'static str] = &[".qwen/settings.json"];

    fn decoder() -> Box<dyn Decode> {
        Box::new(decoder())
    }

    fn call(name: &str, args: Value<'_>) -> Tool {
        call(TABLE, name, args)
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        Some(Box::new(restored(state)?))
    }
}
