//! From an agent's lines to events.
//!
//! One folder per dialect below this one; an agent's wire shapes never leave its folder. A decoder
//! never fails and never drops: what it does not know becomes [`EventKind::Unrecognized`]. It sees
//! one line at a time and keeps only what pairs beginnings with ends.

mod acp;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod failure;
mod gemini;
mod kit;
mod opencode;
mod questions;
mod qwen;
mod summary;
mod terminal;
mod transcript;

use crate::event::EventKind;
use crate::hook::{HookAnswers, Hooks};
use crate::json::{Object, Scan};
use crate::line::Line;
use crate::speak::{Opening, Speak};

pub use acp::{AcpDecoder, AcpQuestion, AcpRelay, AcpRequest, AcpSpeaker, ClientWord};
pub use claude::{ClaudeDecoder, ClaudeSpeaker};
pub use codex::{CodexAppDecoder, CodexAppSpeaker, CodexDecoder};
pub use copilot::CopilotDecoder;
pub use cursor::CursorDecoder;
pub use failure::failure_of;
pub use gemini::GeminiDecoder;
pub use opencode::OpenCodeDecoder;
pub use summary::{Summary, Totals};
pub use terminal::TerminalDecoder;
pub use transcript::{Beside, Timed, TranscriptDecode, TranscriptFiles, TranscriptForm};

/// How much of a line is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What the monitor and the log need: kinds, ids, tools with their input, timeout, outcome and
    /// digest. Texts and outputs are left empty. This is what the pass-through path pays for.
    Skim,
    /// Everything, for faces that show it.
    Full,
}

/// Reads one dialect.
pub trait Decode: Send {
    /// Takes one line, or one part of an oversized one, and appends what it said. `scan` is the
    /// result of [`crate::json::scan`] for a whole line; for a part the decoder reads what it can
    /// from the first and ignores the others.
    fn line(&mut self, line: &Line<'_>, scan: &Scan<'_>, depth: Depth, out: &mut Vec<EventKind>);

    /// The stream has ended: closes what is still open and cannot come any more (a message without
    /// its flush). Tools stay open; their end was not seen.
    fn finish(&mut self, depth: Depth, out: &mut Vec<EventKind>);

    /// The agent's own name for the last line's type, such as `tool_call/started`; empty for none.
    fn last_type(&self) -> &str;

    /// What somebody else said to the agent, where we stand between the two: some answers say
    /// nothing without their question.
    fn overhear(&mut self, _object: &Object<'_>) {}

    /// The decoder of a terminal, where this is one: what it says also depends on looks that are
    /// taken from outside, and on the size of the screen.
    fn as_terminal(&mut self) -> Option<&mut TerminalDecoder> {
        None
    }
}

/// The dialects that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// `cursor-agent --output-format stream-json`, all versions since 2025.
    Cursor,
    /// `gemini --output-format stream-json`.
    Gemini,
    /// `opencode run --format json`.
    OpenCode,
    /// `copilot --output-format json`.
    Copilot,
    /// `codex exec --json`.
    Codex,
    /// What `codex app-server` writes, its two-way protocol.
    CodexApp,
    /// `claude --output-format stream-json`, with and without partial messages, one-way or two-way.
    Claude,
    /// `qwen --output-format stream-json`.
    Qwen,
    /// The Agent Client Protocol, whoever speaks it.
    Acp,
    /// Whatever a program draws at a terminal. It has no terminal event: its exit decides.
    Terminal,
}

impl Dialect {
    /// All of them, for `--help` and tests.
    pub const ALL: &'static [Dialect] = &[
        Dialect::Cursor,
        Dialect::Claude,
        Dialect::Codex,
        Dialect::CodexApp,
        Dialect::Gemini,
        Dialect::OpenCode,
        Dialect::Copilot,
        Dialect::Qwen,
        Dialect::Acp,
        Dialect::Terminal,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Cursor => "cursor",
            Dialect::Gemini => "gemini",
            Dialect::OpenCode => "opencode",
            Dialect::Copilot => "copilot",
            Dialect::Codex => "codex",
            Dialect::CodexApp => "codex-app",
            Dialect::Claude => "claude",
            Dialect::Qwen => "qwen",
            Dialect::Acp => "acp",
            Dialect::Terminal => "terminal",
        }
    }

    /// The dialect of that name.
    pub fn by_name(name: &str) -> Option<Dialect> {
        Self::ALL.iter().copied().find(|dialect| dialect.name() == name)
    }

    /// A fresh decoder.
    pub fn decoder(self) -> Box<dyn Decode> {
        match self {
            Dialect::Cursor => Box::new(CursorDecoder::default()),
            Dialect::Gemini => Box::new(GeminiDecoder::default()),
            Dialect::OpenCode => Box::new(OpenCodeDecoder::default()),
            Dialect::Copilot => Box::new(CopilotDecoder::default()),
            Dialect::Codex => Box::new(CodexDecoder::default()),
            Dialect::CodexApp => Box::new(CodexAppDecoder::default()),
            Dialect::Claude => Box::new(ClaudeDecoder::default()),
            Dialect::Qwen => Box::new(qwen::decoder()),
            Dialect::Acp => Box::new(AcpDecoder::default()),
            Dialect::Terminal => Box::new(TerminalDecoder::default()),
        }
    }

    /// Whoever speaks to the agent in this dialect, where it listens.
    pub fn speaker(self, opening: &Opening) -> Option<Box<dyn Speak>> {
        match self {
            Dialect::Claude => Some(Box::new(ClaudeSpeaker::default())),
            Dialect::CodexApp => Some(Box::new(CodexAppSpeaker::new(opening.clone()))),
            Dialect::Acp => Some(Box::new(AcpSpeaker::new(opening.clone()))),
            Dialect::Cursor
            | Dialect::Gemini
            | Dialect::OpenCode
            | Dialect::Copilot
            | Dialect::Codex
            | Dialect::Qwen
            | Dialect::Terminal => None,
        }
    }

    /// A reader for a transcript that the agent that speaks so keeps of itself, where we know it.
    pub fn transcript(self, beside: &Beside) -> Option<Box<dyn TranscriptDecode>> {
        match self {
            Dialect::Claude => Some(Box::new(claude::ClaudeTranscript::new(beside))),
            Dialect::Codex | Dialect::CodexApp => {
                Some(Box::new(codex::CodexTranscript::new(beside)))
            }
            Dialect::Gemini => Some(Box::new(gemini::GeminiTranscript::new(beside))),
            Dialect::OpenCode => Some(Box::new(opencode::OpenCodeTranscript::new(beside))),
            _ => None,
        }
    }

    /// How the files of those transcripts are called.
    pub fn transcript_files(self) -> Option<TranscriptFiles> {
        match self {
            Dialect::Claude => Some(claude::TRANSCRIPT_FILES),
            Dialect::Codex | Dialect::CodexApp => Some(codex::TRANSCRIPT_FILES),
            Dialect::Gemini => Some(gemini::TRANSCRIPT_FILES),
            Dialect::OpenCode => Some(opencode::TRANSCRIPT_FILES),
            _ => None,
        }
    }

    /// How the hooks of the agent that speaks so are answered, for whoever reads none.
    pub fn hook_answers(self) -> Option<&'static dyn HookAnswers> {
        match self {
            Dialect::Cursor => Some(&cursor::CursorHooks),
            Dialect::Claude => Some(&claude::ClaudeHooks),
            Dialect::Gemini => Some(&gemini::GeminiHooks),
            _ => None,
        }
    }

    /// The hooks of the agent that speaks so, where it has some that we know.
    pub fn hooks(self) -> Option<&'static dyn Hooks> {
        match self {
            Dialect::Cursor => Some(&cursor::CursorHooks),
            Dialect::Claude => Some(&claude::ClaudeHooks),
            Dialect::Gemini => Some(&gemini::GeminiHooks),
            // Too little is known of theirs to answer for anybody.
            Dialect::OpenCode
            | Dialect::Copilot
            | Dialect::Codex
            | Dialect::CodexApp
            | Dialect::Qwen
            | Dialect::Acp
            | Dialect::Terminal => None,
        }
    }
}
