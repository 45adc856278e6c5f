//! OpenCode's row in the table of dialects.

use super::super::kit;
use super::tools::TABLE;
use super::transcript::FILES;
use super::{OpenCodeDecoder, OpenCodeTranscript};
use crate::decode::{Beside, Decode, DialectRow, TranscriptDecode, TranscriptFiles, restored};
use crate::event::Tool;
use crate::json::Value;
use serde_json::value::RawValue;

/// `opencode run --format json`.
pub(in crate::decode) struct OpenCodeDialect;

impl DialectRow for OpenCodeDialect {
    const NAME: &'static str = "opencode";
    const SETTINGS_PATHS: &'static [&'static str] = &[".opencode", "opencode.json"];
    const TRANSCRIPT_FILES: Option<TranscriptFiles> = Some(FILES);

    fn decoder() -> Box<dyn Decode> {
        Box::new(OpenCodeDecoder::default())
    }

    fn call(name: &str, args: Value<'_>) -> Tool {
        kit::call(TABLE, name, args)
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<OpenCodeDecoder>(state)
    }

    fn transcript(beside: &Beside) -> Option<Box<dyn TranscriptDecode>> {
        Some(Box::new(OpenCodeTranscript::new(beside)))
    }
}
