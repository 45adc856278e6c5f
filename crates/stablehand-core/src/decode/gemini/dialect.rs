//! Gemini CLI's row in the table of dialects.

use super::tools;
use super::transcript::FILES;
use super::{GeminiDecoder, GeminiHooks, GeminiTranscript};
use crate::decode::{Beside, Decode, DialectRow, TranscriptDecode, TranscriptFiles, restored};
use crate::event::Tool;
use crate::hook::{HookAnswers, Hooks};
use crate::json::Value;
use serde_json::value::RawValue;

/// `gemini --output-format stream-json`.
pub(in crate::decode) struct GeminiDialect;

impl DialectRow for GeminiDialect {
    const NAME: &'static str = "gemini";
    const SETTINGS_PATHS: &'static [&'static str] = &[".gemini/settings.json"];
    const TRANSCRIPT_FILES: Option<TranscriptFiles> = Some(FILES);

    fn decoder() -> Box<dyn Decode> {
        Box::new(GeminiDecoder::default())
    }

    fn call(name: &str, args: Value<'_>) -> Tool {
        tools::call(String::new(), name, Some(args))
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<GeminiDecoder>(state)
    }

    fn transcript(beside: &Beside) -> Option<Box<dyn TranscriptDecode>> {
        Some(Box::new(GeminiTranscript::new(beside)))
    }

    fn hook_answers() -> Option<&'static dyn HookAnswers> {
        Some(&GeminiHooks)
    }

    fn hooks() -> Option<&'static dyn Hooks> {
        Some(&GeminiHooks)
    }
}
