//! Fields of the decisions about a run: its process, its prompt, its session and its end.

use super::LogWord;
use crate::actor::Actor;
use crate::event::{EndedBy, FailureKind, ProcessRow, SessionEnd, Usage, VerdictKind};
use crate::id::{RunId, SessionId};
use serde::{Deserialize, Serialize};

/// The start of a run, or the attempt to start it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RunStart {
    /// Our id of the run.
    pub run: RunId,
    /// The agent's name.
    pub agent: String,
    /// The agent's process; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The process that owns the agent's tree; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeper_pid: Option<u32>,
    /// The command line of the agent, without secrets.
    pub argv: Vec<String>,
    /// The folder that the agent is started in.
    pub cwd: Option<String>,
    /// The length of its prompt; absent where it was not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_bytes: Option<u64>,
    /// The session that it continues.
    pub resumed_from: Option<SessionId>,
    /// `pty` at a terminal; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The columns of that terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// The rows of that terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// What records tell of this run, and not the agent's stream: `turns`, `approvals`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<String>,
    /// Why it could not be started, for people; absent where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What an agent is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PromptGiven {
    /// The length of all of it.
    pub bytes: u64,
    /// The first 256 KiB.
    pub text: Option<String>,
    /// Whether that is not all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The type of each image that comes with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

/// How much an agent read of its prompt before it closed its input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PromptRefused {
    /// Bytes that it took.
    pub taken: u64,
    /// Bytes that there were.
    pub of: u64,
}

/// A prompt that is typed at a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PromptTyped {
    /// Its length.
    pub bytes: u64,
    /// For people.
    pub text: String,
}

/// The size of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TerminalResized {
    /// Its columns.
    pub cols: Option<u16>,
    /// Its rows.
    pub rows: Option<u16>,
}

/// After which silence an agent is asked to leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AskedToLeave {
    /// How long it wrote nothing.
    pub quiet_ms: u64,
    /// For people.
    pub text: String,
}

/// The session, as the agent names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SessionStarted {
    /// Its id.
    pub session_id: Option<SessionId>,
    /// The model.
    pub model: Option<String>,
    /// The folder that the agent says it works in.
    pub cwd: Option<String>,
}

/// A signal to us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SignalReceived {
    /// Its number.
    pub signal: Option<i32>,
    /// Who asked for the stop; absent where a signal to us did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The face that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

impl SignalReceived {
    /// A stop by a signal to us, or by a request.
    pub fn new(signal: i32, by: Option<Actor>) -> SignalReceived {
        let kind = by.as_ref().map(|by| by.by.to_string());
        SignalReceived { signal: Some(signal), by: kind, via: by.and_then(|by| by.via) }
    }
}

/// A stage of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopStage {
    /// The agent is asked to stop, as by Ctrl-C.
    Interrupt,
    /// The agent is told to end.
    Terminate,
    /// Everything below us is killed.
    Kill,
}

/// A step of a stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AgentKilled {
    /// Which step.
    pub stage: LogWord<StopStage>,
    /// Why the agent is stopped.
    pub reason: String,
    /// The processes that were alive before it.
    pub left: Vec<ProcessRow>,
    /// For people.
    pub text: String,
}

/// Processes that could not be stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TreeNotEmpty {
    /// Which.
    pub left: Vec<ProcessRow>,
    /// For people.
    pub text: String,
}

/// How a process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AgentExited {
    /// Its exit code, where it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether we stopped it.
    pub forced: bool,
    /// Processes that it left, and that were then stopped.
    pub leaked: Vec<ProcessRow>,
    /// Processes that are still alive.
    pub survivors: Vec<ProcessRow>,
}

impl AgentExited {
    /// Returns true if the agent ended its process itself, without a failure: a result that it gave
    /// while background tasks were open was its last one then.
    pub fn left_by_itself(&self) -> bool {
        !self.forced && self.exit_code == Some(0)
    }
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RunEnded {
    /// In one word.
    pub outcome: Option<LogWord<SessionEnd>>,
    /// Who ended it.
    pub ended_by: Option<LogWord<EndedBy>>,
    /// Our exit code for this run.
    pub exit_code: Option<i64>,
    /// The session.
    pub session_id: Option<SessionId>,
    /// What went wrong, where the agent says so.
    pub failure: Option<LogWord<FailureKind>>,
    /// The verdict that stopped it.
    pub verdict: Option<LogWord<VerdictKind>>,
    /// Whether the process had to be stopped.
    pub forced: bool,
    /// How long it took.
    pub elapsed_ms: Option<u64>,
    /// How much the agent wrote.
    pub stdout_bytes: Option<u64>,
    /// What it used, as far as it says so.
    pub usage: Option<Usage>,
    /// The last text, where no terminal event ended the run.
    pub last_text: Option<String>,
    /// Tool calls that were denied, the first eight: a success may be none because of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// For people.
    pub text: Option<String>,
}

/// Another run of the same turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RetryScheduled {
    /// Its number, from 2 on.
    pub attempt: u32,
    /// The wait before it.
    pub after_ms: u64,
    /// The session that it continues.
    pub session_id: Option<SessionId>,
    /// Whether the prompt is the same; otherwise it is the one to go on.
    pub same_prompt: bool,
    /// For people.
    pub text: String,
}

/// The prompt after a hang.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PromptAfterHang {
    /// What the agent is asked.
    pub prompt: String,
    /// How many hangs there were in a row.
    pub in_a_row: u32,
    /// For people.
    pub text: String,
}
