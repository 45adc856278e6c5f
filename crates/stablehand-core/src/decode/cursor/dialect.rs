//! Cursor's row in the table of dialects.

use super::tools::call;
use super::{CursorDecoder, CursorHooks};
use crate::decode::{Decode, DialectRow, restored};
use crate::event::Tool;
use crate::hook::{HookAnswers, Hooks};
use crate::json::Value;
use serde_json::value::RawValue;

/// `cursor-agent --output-format stream-json`.
pub(in crate::decode) struct CursorDialect;

impl DialectRow for CursorDialect {
    const NAME: &'static str = "cursor";
    const SETTINGS_PATHS: &'static [&'static str] =
        &[".cursor/hooks.json", ".cursor/hooks", ".cursor/mcp.json", ".cursor/cli.json"];

    fn decoder() -> Box<dyn Decode> {
        Box::new(CursorDecoder::default())
    }

    fn call(name: &str, args: Value<'_>) -> Tool {
        call(name, args)
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<CursorDecoder>(state)
    }

    fn hook_answers() -> Option<&'static dyn HookAnswers> {
        Some(&CursorHooks)
    }

    fn hooks() -> Option<&'static dyn Hooks> {
        Some(&CursorHooks)
    }
}
