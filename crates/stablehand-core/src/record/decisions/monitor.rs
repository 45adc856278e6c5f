//! Fields of the decisions of the monitor, and of what it was told.

use super::LogWord;
use crate::event::{Evidence, Health, OpenTool, Outcome, ToolClass, VerdictKind};
use crate::id::CallId;
use crate::monitor::{Limits, Moved};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// What the monitor judges by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MonitorStarted {
    /// Every limit that holds, times in milliseconds, null for none.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")
    )]
    pub limits: Option<Box<Limits>>,
    /// Whether verdicts are written down and nothing is stopped.
    pub observe_only: bool,
}

/// Something that decisions depend on and that no other record says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MonitorTold {
    /// The agent is not read, or is again.
    Backpressure {
        /// Whether it begins.
        #[serde(default)]
        on: bool,
    },
    /// A question of the agent waits, or none does any more.
    Approval {
        /// Whether it begins.
        #[serde(default)]
        on: bool,
    },
    /// The agent waits for a prompt, or does not any more.
    Resting {
        /// Whether it begins.
        #[serde(default)]
        on: bool,
    },
    /// A prompt was given.
    Prompted,
    /// A sign of life that is no line.
    Heard,
    /// A sign of life beside the agent's output.
    SideChannel,
    /// What the agent's processes did.
    Witness {
        /// Processor time that they used.
        #[serde(default)]
        cpu_ms: u64,
        /// Within this time.
        #[serde(default)]
        window_ms: u64,
        /// Whether anything else speaks for work.
        #[serde(default)]
        other_activity: bool,
    },
    /// Something that a newer version told it.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A step of the wall clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClockStepped {
    /// By how much.
    pub by_ms: i64,
    /// For people.
    pub text: String,
}

/// A call that began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolCallOpened {
    /// The agent's id of it.
    pub call_id: CallId,
    /// Command, path or query.
    pub command: String,
    /// The class by which it is judged.
    pub class: Option<ToolClass>,
    /// The timeout that the agent declared.
    pub timeout_ms: Option<u64>,
    /// The limit that holds.
    pub limit_ms: u64,
}

/// A call that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolCallCompleted {
    /// The agent's id of it.
    pub call_id: CallId,
    /// How long it took.
    pub elapsed_ms: u64,
    /// Whether its completion never came, but its successor did.
    pub presumed: bool,
    /// How it ended, as far as the agent says so.
    pub outcome: Option<Outcome>,
}

/// A completion of a call that never began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolCallUnstarted {
    /// The agent's id of it.
    pub call_id: CallId,
    /// For people.
    pub text: String,
}

/// A call without a timeout of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolCallUndeclared {
    /// The agent's id of it.
    pub call_id: CallId,
    /// The class by which it is judged; the record is written once for each class.
    pub class: Option<ToolClass>,
    /// The limit that holds.
    pub limit_ms: u64,
    /// For people.
    pub text: String,
}

/// A call that is open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OpenCall {
    /// The agent's id of it.
    pub id: CallId,
    /// Command, path or query.
    pub command: String,
    /// The class by which it is judged.
    pub class: Option<ToolClass>,
    /// How long it has been open.
    pub elapsed_ms: u64,
    /// The timeout that the agent declared.
    pub timeout_ms: Option<u64>,
    /// The limit that holds.
    pub limit_ms: u64,
}

impl From<&OpenTool> for OpenCall {
    fn from(tool: &OpenTool) -> OpenCall {
        OpenCall {
            id: tool.call_id.clone(),
            command: tool.command.clone(),
            class: Some(tool.class),
            elapsed_ms: tool.elapsed_ms,
            timeout_ms: tool.timeout_ms,
            limit_ms: tool.limit_ms,
        }
    }
}

/// Open calls as single fields: `open_call_0_id`, `open_call_0_command`, `open_call_0_elapsed_ms`,
/// `open_call_0_timeout_ms`, and so on with 1. It is written and never read: the list has the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberedCalls(pub Vec<OpenCall>);

impl Serialize for NumberedCalls {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (at, call) in self.0.iter().enumerate() {
            map.serialize_entry(&format!("open_call_{at}_id"), &call.id)?;
            map.serialize_entry(&format!("open_call_{at}_command"), &call.command)?;
            map.serialize_entry(&format!("open_call_{at}_elapsed_ms"), &call.elapsed_ms)?;
            map.serialize_entry(&format!("open_call_{at}_timeout_ms"), &call.timeout_ms)?;
        }
        map.end()
    }
}

/// A silence, and what is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct VerdictWaiting {
    /// How long nothing was heard; 0 for a call that just began.
    pub idle_silence_ms: u64,
    /// How many calls are open.
    pub open_call_count: u64,
    /// Which.
    pub open_calls: Vec<OpenCall>,
    /// For people.
    pub text: String,
}

/// By how much limits moved, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LimitsMoved {
    /// By how much.
    pub by_ms: u64,
    /// What moved them; older logs say so only in words.
    pub cause: Option<Moved>,
    /// For people.
    pub text: String,
}

/// Calls that repeat themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LivelockSuspected {
    /// How many calls make one round.
    pub period: u64,
    /// How many rounds there were.
    pub rounds: u32,
    /// The first call of the round.
    pub command: String,
    /// For people.
    pub text: String,
}

/// Background commands that were stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BackgroundStopped {
    /// Their processes.
    pub pids: Vec<u32>,
    /// For people.
    pub text: String,
}

/// The last result of a turn, which came while background tasks were open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResultStands {
    /// What ended the wait for another result.
    pub by: LogWord<WaitEnded>,
    /// For people.
    pub text: String,
}

/// What ended the wait for another result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitEnded {
    /// No task was open any more, and the agent stayed quiet: a decision of the monitor.
    #[default]
    Quiet,
    /// A prompt waited for its turn.
    Prompt,
    /// A person cancelled the turn.
    Cancel,
}

/// A verdict and what it rests on. A limit that an open tool may still pass, and a verdict that is only
/// observed, have the first fields alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct VerdictReached {
    /// Which verdict.
    pub verdict: Option<LogWord<VerdictKind>>,
    /// For people.
    pub text: String,
    /// Whether an open tool may finish.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub soft: bool,
    /// How long nothing was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_silence_ms: Option<u64>,
    /// The limit that was passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_ms: Option<u64>,
    /// How many calls are open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_call_count: Option<u64>,
    /// Which. Each is also told by fields of its own, such as `open_call_0_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_calls: Option<Vec<OpenCall>>,
    /// The same calls, for readers of the log that know no lists.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub numbered_calls: NumberedCalls,
    /// The agent's word for the type of what it wrote last, without a subtype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_type: Option<String>,
    /// `terminal` where the verdict is not the monitor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
}

impl VerdictReached {
    /// The verdict, where it is one that this version knows and that does not wait for a tool.
    pub fn hard(&self) -> Option<VerdictKind> {
        self.verdict.as_ref().filter(|_| !self.soft)?.known().copied()
    }
}

/// The state of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct StateDump {
    /// For people.
    pub text: String,
    /// What we believe of the agent.
    pub health: Option<Health>,
    /// What that rests on.
    pub evidence: Option<Box<Evidence>>,
}
