//! The dialects: from acts to an agent's own lines.
//!
//! Owns the table of what can be spoken, and what all writers share. One file per dialect below
//! this one; each keeps only what its lines need (ids, counts, what was said) and decides nothing
//! about time or processes. The shapes are those of recordings of the real programs.

mod acp;
mod agy;
mod claude;
mod codex;
mod codex_app;
mod cursor;
mod gemini;
mod grok;
mod opencode;
mod qwen;

use crate::act::{Act, Call, Ending};
use crate::voice::Voice;
use stablehand_core::Dialect;
use std::fmt::Debug;

pub(crate) use claude::given as claude_given;
pub(crate) use codex_app::{initialized, notification, thread, turn};
pub(crate) use gemini::given as gemini_given;

#[cfg(test)]
mod tests;

/// The dialects that can be spoken.
pub const SPOKEN: &[Dialect] = &[
    Dialect::Cursor,
    Dialect::Claude,
    Dialect::Codex,
    Dialect::CodexApp,
    Dialect::Gemini,
    Dialect::OpenCode,
    Dialect::Qwen,
    Dialect::Grok,
    Dialect::Agy,
    Dialect::Acp,
];

/// What an act becomes.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// Lines of standard output, without their newlines.
    pub(crate) lines: Vec<String>,
    /// Lines of standard error.
    pub(crate) errors: Vec<String>,
}

impl Said {
    pub(crate) fn line(&mut self, line: crate::json::Json) {
        self.lines.push(line.into_line());
    }

    pub(crate) fn error(&mut self, line: impl Into<String>) {
        self.errors.push(line.into());
    }
}

/// Writes one dialect.
pub(crate) trait Speak: Debug {
    /// Tells an act.
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said);

    /// Asks whether a call may run, and names the question; nothing where there is nobody to ask.
    fn ask(&mut self, _call: &Call, _voice: &mut Voice, _said: &mut Said) -> Option<String> {
        None
    }

    /// The id in the stream of a call that has begun, where it is not made of the script's.
    fn native(&self, _id: &str) -> Option<String> {
        None
    }

    /// Asks the same of a call that has begun.
    fn question(&mut self, _call: &Call, _voice: &mut Voice, _said: &mut Said) -> Option<String> {
        None
    }

    /// Tells that a hook has kept the turn from what it was about to do.
    fn blocked(&mut self, _reason: &str, _voice: &mut Voice, _said: &mut Said) {}

    /// The question was answered.
    fn answered(&mut self, _question: &str, _voice: &mut Voice, _said: &mut Said) {}

    /// The turn is broken off because somebody asked for that.
    fn interrupted(&mut self, _voice: &mut Voice, _said: &mut Said) {}

    /// What the process exits with, after what was told last.
    fn exit_code(&self) -> u8;
}

/// The writer of a dialect; none for a dialect that nobody speaks here.
pub(crate) fn writer(dialect: Dialect) -> Option<Box<dyn Speak>> {
    Some(match dialect {
        Dialect::Cursor => Box::new(cursor::Cursor::default()),
        Dialect::Claude => Box::new(claude::Claude::default()),
        Dialect::Codex => Box::new(codex::Codex::default()),
        Dialect::CodexApp => Box::new(codex_app::CodexApp::default()),
        Dialect::Gemini => Box::new(gemini::Gemini::default()),
        Dialect::OpenCode => Box::new(opencode::OpenCode::default()),
        Dialect::Qwen => Box::new(qwen::Qwen::default()),
        Dialect::Grok => Box::new(grok::Grok::default()),
        Dialect::Agy => Box::new(agy::Agy::default()),
        Dialect::Acp => Box::new(acp::Acp::default()),
        _ => return None,
    })
}

/// Whether a dialect tells text while it is made.
pub(crate) fn streams(dialect: Dialect, partial: bool) -> bool {
    match dialect {
        Dialect::Gemini | Dialect::Grok | Dialect::Agy | Dialect::CodexApp | Dialect::Acp => true,
        Dialect::Cursor | Dialect::Claude => partial,
        _ => false,
    }
}

/// Whether an agent of that dialect can need a permission: it asks for one, or denies what it would
/// have to ask about.
pub(crate) fn can_ask(dialect: Dialect) -> bool {
    let denies = matches!(dialect, Dialect::Grok | Dialect::Agy);
    denies || matches!(dialect, Dialect::Claude | Dialect::CodexApp | Dialect::Acp)
}

/// Returns true if the agent of that dialect stays and takes many turns, whatever its arguments.
pub fn is_server(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::CodexApp | Dialect::Acp)
}

/// What the program says of its version.
pub fn version_line(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Cursor => "2026.07.16-fa4e",
        Dialect::Claude => "2.1.325 (Claude Code)",
        Dialect::Codex | Dialect::CodexApp => "codex-cli 0.166.0",
        Dialect::Gemini => "0.61.0",
        Dialect::OpenCode => "1.18.33",
        Dialect::Qwen => "0.24.4",
        Dialect::Grok => "grok 1.0.41 (fa4e)",
        Dialect::Agy => "1.2.16",
        Dialect::Acp => "1.0.0",
        _ => "",
    }
}

/// The program of that dialect, as it stands on PATH.
pub fn program(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Cursor => "cursor-agent",
        Dialect::Claude => "claude",
        Dialect::Codex | Dialect::CodexApp => "codex",
        Dialect::Gemini => "gemini",
        Dialect::OpenCode => "opencode",
        Dialect::Copilot => "copilot",
        Dialect::Qwen => "qwen",
        Dialect::Grok => "grok",
        Dialect::Agy => "agy",
        _ => "",
    }
}

/// Text that came in pieces, for dialects that tell wholes.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    thought: String,
    message: String,
}

impl Pending {
    fn think(&mut self, piece: &str) {
        self.thought.push_str(piece);
    }

    fn say(&mut self, piece: &str) {
        self.message.push_str(piece);
    }

    fn thought(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.thought)).filter(|text| !text.is_empty())
    }

    fn message(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.message)).filter(|text| !text.is_empty())
    }
}

/// What a command wrote, on either stream.
pub(crate) fn output_of(ending: &Ending) -> String {
    match ending {
        Ending::Exited { stdout, stderr, .. } => format!("{stdout}{stderr}"),
        Ending::Well => String::new(),
        Ending::Refused { reason } => reason.clone(),
    }
}

/// The exit code of a command, where it ran.
fn code_of(ending: &Ending) -> Option<i32> {
    match ending {
        Ending::Exited { code, .. } => Some(*code),
        Ending::Well => Some(0),
        Ending::Refused { .. } => None,
    }
}

/// How long a command ran, in milliseconds.
fn took_ms(ending: &Ending) -> u64 {
    match ending {
        Ending::Exited { took, .. } => stablehand_core::time::millis(*took),
        _ => 0,
    }
}

/// A file that was made, as a unified diff.
fn diff_of(path: &str, content: &str) -> String {
    let count = content.lines().count();
    let lines = content.lines().fold(String::new(), |all, line| all + "\n+" + line);
    let span = if count == 1 { String::new() } else { format!(",{count}") };
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1{span} @@{lines}")
}
