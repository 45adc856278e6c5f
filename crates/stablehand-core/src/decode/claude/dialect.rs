//! Claude Code's row in the table of dialects.

use super::calls;
use super::table::TABLE;
use super::transcript::FILES;
use super::{ClaudeDecoder, ClaudeHooks, ClaudeSpeaker, ClaudeTranscript};
use crate::decode::{Beside, Decode, DialectRow, TranscriptDecode, TranscriptFiles, restored};
use crate::event::Tool;
use crate::hook::{HookAnswers, Hooks};
use crate::json::Value;
use crate::speak::{Opening, Speak};
use serde_json::value::RawValue;

/// `claude --output-format stream-json`, one-way or two-way.
pub(in crate::decode) struct ClaudeDialect;

impl DialectRow for ClaudeDialect {
    const NAME: &'static str = "claude";
    const SETTINGS_PATHS: &'static [&'static str] =
        &[".claude/settings.json", ".claude/settings.local.json", ".claude/hooks"];
    const TRANSCRIPT_FILES: Option<TranscriptFiles> = Some(FILES);

    fn decoder() -> Box<dyn Decode> {
        Box::new(ClaudeDecoder::default())
    }

    fn call(name: &str, args: Value<'_>) -> Tool {
        calls::call(TABLE, name, args)
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<ClaudeDecoder>(state)
    }

    fn speaker(_opening: &Opening) -> Option<Box<dyn Speak>> {
        Some(Box::new(ClaudeSpeaker::default()))
    }

    fn transcript(beside: &Beside) -> Option<Box<dyn TranscriptDecode>> {
        Some(Box::new(ClaudeTranscript::new(beside)))
    }

    fn hook_answers() -> Option<&'static dyn HookAnswers> {
        Some(&ClaudeHooks)
    }

    fn hooks() -> Option<&'static dyn Hooks> {
        Some(&ClaudeHooks)
    }
}
