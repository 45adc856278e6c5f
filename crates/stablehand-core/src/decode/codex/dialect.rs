//! Codex's two rows in the table of dialects: `exec`, and its two-way protocol.
//!
//! The agent keeps the same transcripts in both, and its settings stand once, with `exec`.

use super::transcript::FILES;
use super::{CodexAppDecoder, CodexAppSpeaker, CodexDecoder, CodexTranscript};
use crate::decode::{Beside, Decode, DialectRow, TranscriptDecode, TranscriptFiles, restored};
use crate::speak::{Opening, Speak};
use serde_json::value::RawValue;

/// `codex exec --json`.
pub(in crate::decode) struct CodexDialect;

impl DialectRow for CodexDialect {
    const NAME: &'static str = "codex";
    const SETTINGS_PATHS: &'static [&'static str] = &[".codex"];
    const TRANSCRIPT_FILES: Option<TranscriptFiles> = Some(FILES);

    fn decoder() -> Box<dyn Decode> {
        Box::new(CodexDecoder::default())
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<CodexDecoder>(state)
    }

    fn transcript(beside: &Beside) -> Option<Box<dyn TranscriptDecode>> {
        Some(Box::new(CodexTranscript::new(beside)))
    }
}

/// `codex app-server`.
pub(in crate::decode) struct CodexAppDialect;

impl DialectRow for CodexAppDialect {
    const NAME: &'static str = "codex-app";
    const NAMES_METHODS: bool = true;
    const TRANSCRIPT_FILES: Option<TranscriptFiles> = Some(FILES);

    fn decoder() -> Box<dyn Decode> {
        Box::new(CodexAppDecoder::default())
    }

    fn restore(state: &RawValue) -> Option<Box<dyn Decode>> {
        restored::<CodexAppDecoder>(state)
    }

    fn speaker(opening: &Opening) -> Option<Box<dyn Speak>> {
        Some(Box::new(CodexAppSpeaker::new(opening.clone())))
    }

    fn transcript(beside: &Beside) -> Option<Box<dyn TranscriptDecode>> {
        Some(Box::new(CodexTranscript::new(beside)))
    }
}
