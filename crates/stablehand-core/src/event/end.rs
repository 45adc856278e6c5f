//! How turns, processes and sessions end.

use super::VerdictKind;
use serde::{Deserialize, Serialize};

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TurnEnd {
    /// The agent is done.
    Done,
    /// The model refused.
    Refused,
    /// A limit of the agent's own (turns, tokens) was reached.
    Limit,
    /// Somebody cancelled it.
    Cancelled,
    /// It failed.
    Failed {
        /// What kind of failure.
        failure: FailureKind,
        /// The agent's words.
        message: String,
    },
    /// A verdict of ours ended it: the agent hung, or a limit was reached.
    Stopped {
        /// Which verdict.
        verdict: VerdictKind,
        /// Why, for a person.
        message: String,
    },
}

/// What went wrong, as far as the agent tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// Not logged in, or a bad key.
    Auth,
    /// Too many requests.
    RateLimit,
    /// A quota or plan is used up.
    Quota,
    /// The model's service is overloaded.
    Overloaded,
    /// The conversation is too long.
    ContextLength,
    /// The network failed.
    Network,
    /// No such model, or not for this account.
    BadModel,
    /// The request was wrong.
    BadRequest,
    /// The workspace is not trusted, or an approval is missing.
    Approval,
    /// A tool failed.
    Tool,
    /// Anything else inside the agent.
    Internal,
    /// The agent ended without a result.
    NoResult,
    /// The agent could not be started.
    NotStarted,
}

/// The status with which a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessExit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Nobody can tell any more.
    Unknown,
}

/// How a run ended, in one word for machines and people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    /// The agent delivered its result.
    Success,
    /// The agent reported an error.
    AgentError,
    /// The agent ended without a terminal event.
    NoResult,
    /// The agent ended in the middle of a line, without a terminal event.
    Truncated,
    /// The agent hung and was stopped.
    Hung,
    /// A limit on time, turns, tools, tokens or cost was reached.
    LimitReached,
    /// A person or a signal ended the run.
    Interrupted,
    /// Whoever read our output went away.
    ReaderGone,
    /// The agent could not be started.
    SpawnFailed,
    /// Stablehand itself failed.
    Internal,
}

/// Who ended the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The agent, by itself.
    Agent,
    /// A verdict of ours.
    Supervisor,
    /// A person, a signal.
    Person,
}
