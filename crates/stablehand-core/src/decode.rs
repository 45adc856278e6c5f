//! From an agent's lines to events.
//!
//! One folder per dialect below this one; an agent's wire shapes never leave its folder. A decoder
//! never fails and never drops: what it does not know becomes [`EventKind::Unrecognized`]. It sees
//! one line at a time and keeps only what pairs beginnings with ends.

mod acp;
mod agy;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod failure;
mod gemini;
mod grok;
mod kit;
mod opencode;
mod questions;
mod qwen;
mod summary;
mod terminal;
mod transcript;

use crate::event::{EventKind, Tool};
use crate::hook::{HookAnswers, Hooks};
use crate::json::{self, Object, Scan};
use crate::line::Line;
use crate::speak::{Opening, Speak};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

pub use acp::{AcpDecoder, AcpQuestion, AcpRelay, AcpRequest, AcpSpeaker, ClientWord};
pub use agy::AgyDecoder;
pub use claude::{ClaudeDecoder, ClaudeSpeaker};
pub use codex::{CodexAppDecoder, CodexAppSpeaker, CodexDecoder};
pub use copilot::CopilotDecoder;
pub use cursor::CursorDecoder;
pub use failure::failure_of;
pub use gemini::GeminiDecoder;
pub use grok::GrokDecoder;
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
    /// its flush). Tools stay open; their end was not seen. A result that was not called the last one
    /// ends its turn now: this is also called when no other is waited for any more.
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

    /// Returns the state as JSON for [`Dialect::restore`]; `None` if this decoder cannot be restored.
    fn save(&self) -> Option<Box<RawValue>>;
}

/// What there is to know of one dialect, and of the agent that speaks it: a row of the table. What a
/// row does not have, the dialect does not have. Rows are types and not values, so that a program links
/// only the members that it uses: `stablehand-hook` is started before every tool, and needs no decoder.
trait DialectRow {
    /// The name on the command line and in logs.
    const NAME: &'static str;

    /// Files and folders of a project, in lower case, from which the agent takes its settings: a policy
    /// protects them.
    const SETTINGS_PATHS: &'static [&'static str] = &[];

    /// True if its lines are JSON-RPC messages. Their types are methods, which have slashes of their own.
    const NAMES_METHODS: bool = false;

    /// How the files of the agent's own transcripts are called, where we can read those.
    const TRANSCRIPT_FILES: Option<TranscriptFiles> = None;

    /// Makes a fresh decoder.
    fn decoder() -> Box<dyn Decode>;

    /// Makes a decoder that goes on from what [`Decode::save`] gave.
    fn restore(state: &RawValue) -> Option<Box<dyn Decode>>;

    /// Makes the speaker, where the agent listens.
    fn speaker(_opening: &Opening) -> Option<Box<dyn Speak>> {
        None
    }

    /// Makes a reader of the agent's own transcripts, where we can read those.
    fn transcript(_beside: &Beside) -> Option<Box<dyn TranscriptDecode>> {
        None
    }

    /// How the agent's hooks are answered, where we know enough of them to answer.
    fn hook_answers() -> Option<&'static dyn HookAnswers> {
        None
    }

    /// Reads a call by the tool's name and what it is given: the same reading as that of the stream, of
    /// requests for permission and of hooks.
    fn call(name: &str, args: json::Value<'_>) -> Tool {
        let row = kit::usual_row(name);
        kit::tool(String::new(), name, row, kit::given(name, row, Some(args)))
    }

    /// The same hooks, with what reads their payloads.
    fn hooks() -> Option<&'static dyn Hooks> {
        None
    }
}

/// Makes the enumeration and everything that depends on a dialect of the same lines.
macro_rules! dialects {
    ($($(#[$doc:meta])* $dialect:ident => $row:ty,)*) => {
        /// The dialects that can be read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Dialect {
            $($(#[$doc])* $dialect,)*
        }

        impl Dialect {
            /// All of them, for `--help` and tests.
            pub const ALL: &'static [Dialect] = &[$(Dialect::$dialect),*];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Dialect::$dialect => <$row>::NAME,)*
                }
            }

            /// Files and folders of a project, in lower case, from which the agent that speaks so takes
            /// its settings. A write to one of them changes what the agent does later.
            pub fn settings_paths(self) -> &'static [&'static str] {
                match self {
                    $(Dialect::$dialect => <$row>::SETTINGS_PATHS,)*
                }
            }

            /// Returns the type of an event alone, without its subtype, of what [`Decode::last_type`]
            /// gave.
            pub fn event_type(self, name: &str) -> &str {
                let names_methods = match self {
                    $(Dialect::$dialect => <$row>::NAMES_METHODS,)*
                };
                if names_methods { name } else { name.split('/').next().unwrap_or(name) }
            }

            /// A fresh decoder.
            pub fn decoder(self) -> Box<dyn Decode> {
                match self {
                    $(Dialect::$dialect => <$row>::decoder(),)*
                }
            }

            /// A decoder that goes on from what [`Decode::save`] gave in the same version of this crate.
            pub fn restore(self, state: &RawValue) -> Option<Box<dyn Decode>> {
                match self {
                    $(Dialect::$dialect => <$row>::restore(state),)*
                }
            }

            /// The speaker of this dialect, where the agent listens.
            pub fn speaker(self, opening: &Opening) -> Option<Box<dyn Speak>> {
                match self {
                    $(Dialect::$dialect => <$row>::speaker(opening),)*
                }
            }

            /// A reader for a transcript that the agent that speaks so keeps of itself, where we
            /// know it.
            pub fn transcript(self, beside: &Beside) -> Option<Box<dyn TranscriptDecode>> {
                match self {
                    $(Dialect::$dialect => <$row>::transcript(beside),)*
                }
            }

            /// How the files of those transcripts are called.
            pub fn transcript_files(self) -> Option<TranscriptFiles> {
                match self {
                    $(Dialect::$dialect => <$row>::TRANSCRIPT_FILES,)*
                }
            }

            /// How to answer the hooks of the agent that speaks so, without a reader of their payloads.
            pub fn hook_answers(self) -> Option<&'static dyn HookAnswers> {
                match self {
                    $(Dialect::$dialect => <$row>::hook_answers(),)*
                }
            }

            /// Reads a call of the agent that speaks so, by the tool's name and what it is given: kind,
            /// input and all else that a policy judges.
            pub fn read_call(self, name: &str, arguments: &serde_json::Value) -> Tool {
                // Whatever `serde_json` writes can be read again.
                let text = arguments.to_string();
                let args = json::Value::new(text.as_bytes());
                match self {
                    $(Dialect::$dialect => <$row>::call(name, args),)*
                }
            }

            /// The hooks of the agent that speaks so, where it has some that we know.
            pub fn hooks(self) -> Option<&'static dyn Hooks> {
                match self {
                    $(Dialect::$dialect => <$row>::hooks(),)*
                }
            }
        }
    };
}

dialects! {
    /// `cursor-agent --output-format stream-json`, all versions since 2025.
    Cursor => cursor::CursorDialect,
    /// `claude --output-format stream-json`, with and without partial messages, one-way or two-way.
    Claude => claude::ClaudeDialect,
    /// `codex exec --json`.
    Codex => codex::CodexDialect,
    /// What `codex app-server` writes, its two-way protocol.
    CodexApp => codex::CodexAppDialect,
    /// `gemini --output-format stream-json`.
    Gemini => gemini::GeminiDialect,
    /// `opencode run --format json`.
    OpenCode => opencode::OpenCodeDialect,
    /// `copilot --output-format json`.
    Copilot => copilot::CopilotDialect,
    /// `qwen --output-format stream-json`.
    Qwen => qwen::QwenDialect,
    /// `grok --output-format streaming-json`.
    Grok => grok::GrokDialect,
    /// `agy --output-format stream-json`.
    Agy => agy::AgyDialect,
    /// The Agent Client Protocol, whoever speaks it.
    Acp => acp::AcpDialect,
    /// Whatever a program draws at a terminal. It has no terminal event: its exit decides.
    Terminal => terminal::TerminalDialect,
}

impl Dialect {
    /// The dialect that a log is read in until its first record names another.
    pub const DEFAULT: Dialect = Dialect::Cursor;

    /// The dialect of that name.
    pub fn by_name(name: &str) -> Option<Dialect> {
        Self::ALL.iter().copied().find(|dialect| dialect.name() == name)
    }
}

impl Serialize for Dialect {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Dialect {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Dialect::by_name(&name).ok_or_else(|| D::Error::custom("no dialect has that name"))
    }
}

/// Reads the state of a decoder, for a row.
fn restored<D: Decode + DeserializeOwned + 'static>(state: &RawValue) -> Option<Box<dyn Decode>> {
    Some(Box::new(serde_json::from_str::<D>(state.get()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_type_has_no_subtype_and_a_method_is_whole() {
        assert_eq!(Dialect::Cursor.event_type("thinking/completed"), "thinking");
        assert_eq!(Dialect::Claude.event_type("assistant"), "assistant");
        assert_eq!(Dialect::Codex.event_type("item.started/command_execution"), "item.started");
        assert_eq!(Dialect::CodexApp.event_type("thread/started"), "thread/started");
        assert_eq!(Dialect::Acp.event_type("session/update"), "session/update");
    }

    #[test]
    fn rows_are_whole() {
        let mut names: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        for dialect in Dialect::ALL {
            let name = dialect.name();
            assert_eq!(Dialect::by_name(name), Some(*dialect));
            assert_eq!(dialect.hooks().is_some(), dialect.hook_answers().is_some(), "{name}");
            let reader = dialect.transcript(&Beside::default());
            assert_eq!(reader.is_some(), dialect.transcript_files().is_some(), "{name}");
            // The policy compares paths in lower case, part by part.
            for path in dialect.settings_paths() {
                assert_eq!(*path, path.to_lowercase());
                assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")), "{path}");
            }
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Dialect::ALL.len());
    }
}
