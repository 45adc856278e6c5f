//! Fields of the decisions about an agent's hooks.

use crate::decision::Decision;
use crate::hook::Reply;
use crate::id::CallId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Our entries in an agent's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HooksInstalled {
    /// The file.
    pub path: String,
    /// Whether they were there for good.
    pub covered: bool,
    /// What a killed run had left.
    pub repaired: Option<String>,
}

/// A hook command that was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HooksTried {
    /// The agent's name of the event.
    pub hook: String,
    /// How long it took, in microseconds.
    pub took_us: Option<u64>,
}

/// A call of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HookReceived {
    /// The agent's name.
    pub agent: String,
    /// The agent's name of the event.
    pub hook: String,
    /// The number of the call.
    pub number: u64,
    /// The length of its payload.
    pub bytes: u64,
}

/// The answer to a call of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HookAnswered {
    /// The agent's name of the event.
    pub hook: String,
    /// The number of the call.
    pub number: u64,
    /// The answer.
    pub reply: HookReply,
}

/// What a hook was answered, without the values of variables: these may be secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum HookReply {
    /// The call may be made.
    Allow {
        /// True.
        allow: bool,
        /// With these arguments instead of its own.
        input: Option<Value>,
    },
    /// The call may not be made.
    Deny {
        /// Why.
        deny: String,
    },
    /// What the agent should know.
    Inform {
        /// For the model.
        context: Option<String>,
        /// The names of variables for the session.
        env: Vec<String>,
    },
    /// The agent is not to rest yet.
    GoOn {
        /// What it is told.
        go_on: String,
    },
    /// `nothing`, or what a newer version answers.
    Word(String),
}

impl Default for HookReply {
    fn default() -> HookReply {
        HookReply::Word("nothing".to_owned())
    }
}

impl From<&Reply> for HookReply {
    fn from(reply: &Reply) -> HookReply {
        match reply.clone() {
            Reply::Nothing => HookReply::default(),
            Reply::Allow { input } => HookReply::Allow { allow: true, input },
            Reply::Deny { reason } => HookReply::Deny { deny: reason },
            Reply::Inform { context, env } => {
                HookReply::Inform { context, env: env.into_iter().map(|(name, _)| name).collect() }
            }
            Reply::GoOn { prompt } => HookReply::GoOn { go_on: prompt },
        }
    }
}

/// A second question about the same call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HookPermitted {
    /// The agent's name of the event.
    pub hook: String,
    /// The number of the call.
    pub number: u64,
    /// For people.
    pub text: String,
}

/// A tool that was used without a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolNotAsked {
    /// The agent's id of the call.
    pub call_id: CallId,
    /// What the rules say, where they do not allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The rules do not allow it, and the run goes on all the same (`--on-unasked warn`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tolerated: bool,
    /// For people.
    pub text: String,
}

/// Entries of ours that somebody removed or changed during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HooksChanged {
    /// The file.
    pub path: String,
    /// For people.
    pub text: String,
}

/// An agent's file without our entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HooksRemoved {
    /// The file.
    pub path: String,
    /// What had to be done.
    pub ending: String,
}
