//! The rows, and the words for what is in them.

use crate::ledger::Entry;
use serde::Serialize;
use stablehand_core::event::Tokens;
use stablehand_core::time::UnixMillis;

/// One row; it replaces the one before with the same numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// A run.
    Run(Box<RunRow>),
    /// A turn.
    Turn(TurnRow),
    /// A tool call.
    Tool(Box<ToolRow>),
    /// A question whether a call may be made, and its answer.
    Question(Box<QuestionRow>),
    /// A verdict.
    Verdict(VerdictRow),
    /// A file that was used.
    File(FileRow),
    /// A piece of text, once and whole.
    Passage(Passage),
}

/// One run of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunRow {
    /// Its number in the log, from 0.
    pub run: u32,
    /// Our id of it.
    pub run_id: String,
    /// The agent's name, as it was asked for.
    pub agent: String,
    /// Its version, where it says so.
    pub agent_version: Option<String>,
    /// The agent's id of the session.
    pub session: Option<String>,
    /// The session that it was asked to continue.
    pub resumed_from: Option<String>,
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// Where it worked.
    pub workspace: Option<String>,
    /// What it was about: the beginning of the first prompt, or of the first answer.
    pub title: Option<String>,
    /// When it began.
    pub started: UnixMillis,
    /// When the last thing was told.
    pub last: UnixMillis,
    /// When it was over.
    pub ended: Option<UnixMillis>,
    /// How, in the word of `session.ended`; absent while it goes on.
    pub outcome: Option<String>,
    /// Who ended it.
    pub ended_by: Option<String>,
    /// What kind of failure, where the agent says so.
    pub failure: Option<String>,
    /// The verdict that ended it.
    pub verdict: Option<String>,
    /// Our exit status for it.
    pub exit_code: Option<i64>,
    /// The text for people about its end.
    pub note: Option<String>,
    /// Turns that were begun.
    pub turns: u32,
    /// Tool calls that were begun.
    pub tools: u32,
    /// Of these, how many did not work.
    pub tools_failed: u32,
    /// Questions.
    pub questions: u32,
    /// Requests that the agent tried again, and reconnections.
    pub retries: u32,
    /// Events.
    pub events: u64,
    /// What it used, where the agent says so.
    pub usage: Option<Tokens>,
    /// In turns, how long at least one tool was open and nobody was waited for.
    pub tool_ms: u64,
    /// In turns, how long a person was waited for.
    pub wait_ms: u64,
    /// In turns, the rest: the model.
    pub model_ms: u64,
    /// The longest time in a turn in which nothing was heard while nothing was open.
    pub silence_ms: u64,
}

impl RunRow {
    /// What it is a part of: the session that the agent named; until then the one that it was asked
    /// to continue, since one that fails before it names it is still of that one; else itself.
    pub fn chat(&self) -> &str {
        self.session.as_ref().or(self.resumed_from.as_ref()).unwrap_or(&self.run_id)
    }
}

/// One prompt and what followed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TurnRow {
    /// The run.
    pub run: u32,
    /// Its number in the run, from 0.
    pub turn: u32,
    /// When it began.
    pub started: UnixMillis,
    /// When the agent said that it was over.
    pub ended: Option<UnixMillis>,
    /// How, in the word of `turn.ended`.
    pub end: Option<String>,
    /// What kind of failure.
    pub failure: Option<String>,
    /// How long the agent says it took.
    pub agent_ms: Option<u64>,
    /// What it used.
    pub usage: Option<Tokens>,
}

/// One tool call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolRow {
    /// The run.
    pub run: u32,
    /// The turn.
    pub turn: Option<u32>,
    /// Its number in the run, from 0.
    pub tool: u32,
    /// The agent's id of the call.
    pub call: String,
    /// The agent's name of the tool.
    pub name: String,
    /// The sort of tool, in the word of the event model.
    pub kind: String,
    /// The command, path, query: its beginning.
    pub target: String,
    /// When it began.
    pub started: UnixMillis,
    /// When it was over.
    pub ended: Option<UnixMillis>,
    /// How, in the word of the event model; `interrupted` where the agent ended first.
    pub outcome: Option<String>,
    /// The exit code of a command, where there is one.
    pub exit_code: Option<i32>,
    /// How long by the agent's own clock.
    pub agent_ms: Option<u64>,
    /// Whether it went on in the background.
    pub background: bool,
}

/// One question and its answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuestionRow {
    /// The run.
    pub run: u32,
    /// Its number in the log, from 0.
    pub question: u32,
    /// What the ledger has about it.
    pub entry: Entry,
}

/// One verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictRow {
    /// The run.
    pub run: u32,
    /// Its number in the run, from 0.
    pub verdict: u32,
    /// When.
    pub at: UnixMillis,
    /// Which, in the word of the event model.
    pub kind: String,
    /// In words.
    pub text: String,
    /// For how long nothing had been heard.
    pub silence_ms: Option<u64>,
    /// The limit that was passed.
    pub limit_ms: Option<u64>,
    /// Whether it was only written down (`--observe-only`).
    pub observed_only: bool,
    /// Where it was only written down: whether the agent went on after it.
    pub false_alarm: Option<bool>,
}

/// A file that a run used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRow {
    /// The run.
    pub run: u32,
    /// The path, as the agent gave it.
    pub path: String,
    /// What for.
    pub how: FileUse,
    /// When first.
    pub at: UnixMillis,
    /// How often.
    pub times: u32,
}

/// What a file was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileUse {
    /// It was read or searched.
    Read,
    /// It was written.
    Edit,
    /// It was removed.
    Delete,
    /// It was moved.
    Move,
}

impl FileUse {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            FileUse::Read => "read",
            FileUse::Edit => "edit",
            FileUse::Delete => "delete",
            FileUse::Move => "move",
        }
    }
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Its number in the log, from 0.
    pub passage: u32,
    /// The run.
    pub run: u32,
    /// The turn.
    pub turn: Option<u32>,
    /// The tool call that it belongs to.
    pub tool: Option<u32>,
    /// What it is.
    pub kind: PassageKind,
    /// When it was whole.
    pub at: UnixMillis,
    /// The text; of a very long one its beginning and its end.
    pub text: String,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PassageKind {
    /// What the agent was asked.
    Prompt,
    /// What it answered.
    Message,
    /// What it thought.
    Reasoning,
    /// What a tool is called, once in each run.
    Tool,
    /// What a tool was given.
    Command,
    /// What a tool gave back.
    Output,
    /// What was changed in a file.
    Diff,
    /// What the agent wanted known, and its errors.
    Notice,
    /// What it wrote to its standard error.
    Stderr,
    /// What we decided: verdicts and the end.
    Decision,
}

impl PassageKind {
    /// All of them.
    pub const ALL: [PassageKind; 10] = [
        PassageKind::Prompt,
        PassageKind::Message,
        PassageKind::Reasoning,
        PassageKind::Tool,
        PassageKind::Command,
        PassageKind::Output,
        PassageKind::Diff,
        PassageKind::Notice,
        PassageKind::Stderr,
        PassageKind::Decision,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            PassageKind::Prompt => "prompt",
            PassageKind::Message => "message",
            PassageKind::Reasoning => "reasoning",
            PassageKind::Tool => "tool",
            PassageKind::Command => "command",
            PassageKind::Output => "output",
            PassageKind::Diff => "diff",
            PassageKind::Notice => "notice",
            PassageKind::Stderr => "stderr",
            PassageKind::Decision => "decision",
        }
    }

    /// The one of that word.
    pub fn by_word(word: &str) -> Option<PassageKind> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}
