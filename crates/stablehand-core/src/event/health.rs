//! What we believe about an agent, and what a verdict rests on.

use crate::event::ToolClass;
use crate::id::CallId;
use serde::{Deserialize, Serialize};

/// What the monitor believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Health {
    /// Started, nothing heard yet.
    Starting,
    /// The model works: it talks, or is expected to.
    Working,
    /// At least one tool runs in the foreground.
    InTool,
    /// Somebody must decide; no limit runs.
    AwaitingApproval,
    /// Between two turns of a conversation; no limit runs.
    AwaitingPrompt,
    /// Silent for longer than usual, not yet long enough for a verdict.
    Quiet,
    /// Our own reader is slow; no limit runs.
    Backpressure,
    /// The terminal event has come; the process should exit.
    Finishing,
    /// A verdict: it will not come back by itself.
    Stalled,
    /// The process has ended.
    Ended,
}

/// Why a run was stopped, or would have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VerdictKind {
    /// Nothing was heard after the start.
    Startup,
    /// The session began, but the model never answered.
    FirstResponse,
    /// Silence, nothing said in this turn yet.
    Idle,
    /// Silence after the model had spoken: perhaps the answer was complete.
    IdleAfterText,
    /// Silence after a tool had given its result.
    IdleAfterTool,
    /// Every open tool is past its time.
    Tool,
    /// Signs of life, but nothing new.
    NoProgress,
    /// The same calls with the same results, again and again.
    Livelock,
    /// The wall-clock limit.
    WallClock,
    /// The limit on turns.
    Turns,
    /// The limit on tool calls.
    ToolCalls,
    /// The limit on tokens.
    Tokens,
    /// The limit on cost.
    Cost,
    /// The disk is full, and the reader of our output takes none of it.
    Blocked,
    /// The agent gave its answer, and background tasks that it had open reported nothing in time.
    Background,
}

impl VerdictKind {
    /// Whether this is a limit that somebody set, rather than a belief that the agent hangs.
    pub fn is_limit(self) -> bool {
        match self {
            VerdictKind::WallClock
            | VerdictKind::Turns
            | VerdictKind::ToolCalls
            | VerdictKind::Tokens
            | VerdictKind::Cost
            | VerdictKind::Blocked
            | VerdictKind::Background => true,
            VerdictKind::Startup
            | VerdictKind::FirstResponse
            | VerdictKind::Idle
            | VerdictKind::IdleAfterText
            | VerdictKind::IdleAfterTool
            | VerdictKind::Tool
            | VerdictKind::NoProgress
            | VerdictKind::Livelock => false,
        }
    }
}

/// A tool that was open when we judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenTool {
    /// The agent's id of the call.
    pub call_id: CallId,
    /// Command, path or query.
    pub command: String,
    /// The class by which it was judged.
    pub class: ToolClass,
    /// How long it had been open.
    pub elapsed_ms: u64,
    /// The timeout that the agent declared; absent where it said nothing.
    pub timeout_ms: Option<u64>,
    /// The limit that we applied, with grace.
    pub limit_ms: u64,
}

/// A background task that was open when we judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenTask {
    /// The agent's word for its kind; `agent` for another agent.
    pub task: String,
    /// What it is.
    pub description: String,
    /// How long it had been open.
    pub elapsed_ms: u64,
}

/// One process of the agent's tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessRow {
    /// Process id.
    pub pid: u32,
    /// Its parent.
    pub ppid: u32,
    /// Its group.
    pub pgid: u32,
    /// Its session.
    pub sid: u32,
    /// The kernel's one letter.
    pub state: char,
    /// Processor time used so far.
    pub cpu_ms: u64,
    /// The kernel's name of the program.
    pub name: String,
    /// Its command line, where it was looked at: for processes that outlived the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What a verdict rests on. This is what belongs into a bug report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Which verdict, where there is one.
    pub verdict: Option<VerdictKind>,
    /// The limit that was passed.
    pub limit_ms: u64,
    /// For how long nothing had been heard.
    pub silence_ms: u64,
    /// The agent's last event types, newest last.
    pub last_events: Vec<String>,
    /// Tools that were open in the foreground.
    pub open_tools: Vec<OpenTool>,
    /// Tasks that were open in the background.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_tasks: Vec<OpenTask>,
    /// How often we had already waited longer because the tree was busy.
    pub extensions: u32,
    /// Processor time of the tree between the last two looks, and the time between them.
    pub cpu_ms: Option<u64>,
    /// See `cpu_ms`.
    pub cpu_window_ms: Option<u64>,
    /// Unread bytes in the agent's output pipe.
    pub pipe_unread: Option<u64>,
    /// The agent's processes.
    pub processes: Vec<ProcessRow>,
    /// The last lines on its screen, where it runs at a terminal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub screen: Vec<String>,
}
