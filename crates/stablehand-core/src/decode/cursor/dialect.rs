//! Cursor's row in the table of dialects.

use super::{CursorDecoder, CursorHooks};
use crate::decode::{Decode, DialectRow};
use crate::hook::{HookAnswers, Hooks};

/// `cursor-agent --output-format stream-json`.
pub(in crate::decode) struct CursorDialect;

impl DialectRow for CursorDialect {
    const NAME: &'static str = "cursor";
    const SETTINGS_PATHS: &'static [&'static str] =
        &[".cursor/hooks.json", ".cursor/hooks", ".cursor/mcp.json", ".cursor/cli.json"];

    fn decoder() -> Box<dyn Decode> {
        Box::new(CursorDecoder::default())
    }

    fn hook_answers() -> Option<&'static dyn HookAnswers> {
        Some(&CursorHooks)
    }

    fn hooks() -> Option<&'static dyn Hooks> {
        Some(&CursorHooks)
    }
}
