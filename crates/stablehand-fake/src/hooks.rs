//! Hooks: the programs of others that an agent runs while it works, by each agent's own rules.
//!
//! Owns the words between the agent and its rules: what happens (`Moment`), to whom (`Who`), and
//! what the hooks have said to it (`Reply`). One file per agent below this one has its files, its
//! payloads and what it makes of the answers, written from the published rules of that agent and
//! from nothing of Stablehand's own: a fake that shared our reading of them would hide our mistakes.
//! When something happens, and what a reply changes, is `perform`'s business.

mod claude;
mod cursor;
mod gemini;
mod matcher;
mod run;
mod settings;

use crate::act::{Ending, Todo, Work};
use serde_json::Value;
use stablehand_core::Dialect;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The environment variable with the path of Gemini CLI's settings of the machine.
pub const SYSTEM_SETTINGS: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

/// Which hooks an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// None: a program from before there were hooks.
    Off,
    /// Only those around shell commands, as Cursor's programs of 2025.
    Old,
    /// Those that the program runs without a terminal.
    #[default]
    Print,
    /// All of them, as with a person at the terminal.
    All,
}

impl Mode {
    /// Every mode, for messages.
    pub const ALL: [Mode; 4] = [Mode::Off, Mode::Old, Mode::Print, Mode::All];

    /// Its word in a script and on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Off => "none",
            Mode::Old => "old",
            Mode::Print => "print",
            Mode::All => "all",
        }
    }

    /// The mode of that word.
    pub fn from_word(word: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// Where an agent finds its hooks, and what it hands to them.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Which are run.
    pub mode: Mode,
    /// The folder of the project.
    pub workspace: PathBuf,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// Settings of the command line, each a file or JSON (Claude Code's `--settings`).
    pub settings: Vec<String>,
    /// The settings of the machine (Gemini CLI's `GEMINI_CLI_SYSTEM_SETTINGS_PATH`).
    pub system_settings: Option<PathBuf>,
    /// What the process was given; some agents hide a part of it from their hooks.
    pub environment: Vec<(OsString, OsString)>,
}

impl Surroundings {
    /// An agent without hooks.
    pub fn none() -> Surroundings {
        Surroundings { mode: Mode::Off, ..Surroundings::default() }
    }
}

/// Something that hooks are run for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment<'a> {
    /// The session begins.
    SessionBegins,
    /// Somebody has asked for something.
    Prompt(&'a str),
    /// A tool is about to be run.
    Before(Asked<'a>),
    /// It has ended, or was refused.
    After(Asked<'a>, &'a Ending),
    /// A thought is over.
    Thought(&'a str),
    /// A message is over.
    Message(&'a str),
    /// The conversation is made shorter.
    Compacts,
    /// The turn is about to end.
    TurnEnds {
        /// The last message.
        text: &'a str,
        /// Whether it failed.
        failed: bool,
        /// How often hooks have kept it going.
        round: u32,
    },
    /// The process is about to end.
    SessionEnds {
        /// Whether it failed.
        failed: bool,
    },
}

/// A call that hooks hear of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Its id in the stream.
    pub(crate) id: &'a str,
    /// What it is to do.
    pub(crate) tool: Tool<'a>,
    /// What the file held before, for a file that was written.
    pub(crate) old: &'a str,
    /// How long it ran.
    pub(crate) took: Duration,
}

/// The tool of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tool<'a> {
    /// One that all agents have.
    Work(&'a Work),
    /// The list of things to do.
    Plan(&'a [Todo]),
    /// One of Cursor's own, as `lsToolCall`.
    Own {
        /// Its key.
        kind: &'a str,
        /// Its arguments, or its result when it has ended.
        value: &'a Value,
    },
}

/// Who runs the hooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who<'a> {
    /// The session's id.
    pub(crate) session: &'a str,
    /// The request's.
    pub(crate) request: &'a str,
    /// The model.
    pub(crate) model: Option<&'a str>,
    /// Whether the session goes on from an earlier one.
    pub(crate) resumed: bool,
    /// The time, as RFC 3339.
    pub(crate) now: &'a str,
    /// What was asked.
    pub(crate) prompt: &'a str,
    /// What earlier hooks have added to the environment.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// Which hooks are run.
    pub(crate) mode: Mode,
    /// How long the session has lasted.
    pub(crate) lasted: Duration,
}

/// What the hooks of a moment have said together.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Reply {
    /// It must not happen.
    pub(crate) refused: Option<Refusal>,
    /// What they say about asking a person.
    pub(crate) consent: Consent,
    /// Do this instead.
    pub(crate) instead: Option<Work>,
    /// For the model.
    pub(crate) context: Vec<String>,
    /// For the environment of later hooks and commands.
    pub(crate) env: BTreeMap<String, String>,
    /// The turn goes on with this.
    pub(crate) next: Option<String>,
    /// The turn ends now, for this reason.
    pub(crate) halt: Option<String>,
    /// For standard error.
    pub(crate) stderr: Vec<String>,
    /// What was run, for the record.
    pub(crate) log: Vec<Value>,
}

/// Why something must not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// In the words that the model reads.
    pub(crate) reason: String,
    /// Whether the agent calls it a missing permission instead of a rejection.
    pub(crate) is_permission: bool,
}

/// What hooks say about asking a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Nothing.
    #[default]
    Open,
    /// Nobody needs to be asked.
    Given,
    /// Somebody has to be asked.
    Needed,
}

/// The rules of one agent, with the hooks that it has found.
pub(crate) trait Rules: Debug {
    /// Runs the hooks of a moment and says what came of it.
    fn fire(&mut self, moment: &Moment<'_>, who: &Who<'_>) -> Reply;

    /// What was found at the start, for the record.
    fn found(&self) -> Vec<Value>;
}

/// The rules of an agent that has any hook files; nothing otherwise, and then nothing costs.
pub(crate) fn load(dialect: Dialect, around: &Surroundings) -> Option<Box<dyn Rules>> {
    if around.mode == Mode::Off {
        return None;
    }
    match dialect {
        Dialect::Cursor => cursor::load(around),
        Dialect::Claude => claude::load(around),
        Dialect::Gemini => gemini::load(around),
        _ => None,
    }
}

/// The folder of a file, for hooks that run beside it.
fn folder_of(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

/// What a file holds, for hooks that are handed it; an invented text where it cannot be read.
fn content_of(workspace: &Path, path: &str) -> String {
    std::fs::read(workspace.join(path)).map_or_else(
        |_| crate::act::FILE.to_owned(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}
