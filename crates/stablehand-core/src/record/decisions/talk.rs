//! Fields of the decisions about a conversation: what was said to whom, asked and answered.

use crate::decision::{Decision, RuleRef};
use crate::event::{EndedBy, SessionEnd, TurnEnd};
use crate::id::{RunId, TurnId};
use crate::line::{Line, Part};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What was written to an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToldAgent {
    /// `opening`, `prompt`, `interrupt`, `answer`, `reply` or `service`.
    pub what: String,
    /// The lines, as they were written.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<serde_json::Value>>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<Box<RawValue>>>,
    /// A prompt that has to wait for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether it has to wait.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// A line of a client to its agent. It may be long, so it is written without a copy.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClientLine<'a> {
    /// The line, where it is no JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    /// The line in base64, where it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b64: Option<String>,
    /// Whether it is a part of a line of more than 4 MiB.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// Whether no newline ended it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The line, where it is JSON.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "any_json")]
    pub line: Option<Cow<'a, RawValue>>,
}

/// A line of a client that was read back.
pub type OwnClientLine = ClientLine<'static>;

impl<'a> ClientLine<'a> {
    /// The fields for a line, or for a part of one.
    pub fn of(line: &Line<'a>) -> ClientLine<'a> {
        let whole = line.part == Part::Whole;
        let json: Option<&RawValue> =
            whole.then(|| serde_json::from_slice(line.bytes).ok()).flatten();
        let text = if json.is_none() { str::from_utf8(line.bytes).ok() } else { None };
        ClientLine {
            b64: (json.is_none() && text.is_none()).then(|| STANDARD.encode(line.bytes)),
            text: text.map(Cow::Borrowed),
            part: !whole,
            cut: !line.newline && matches!(line.part, Part::Whole | Part::Last),
            line: json.map(Cow::Borrowed),
        }
    }
}

/// Reads a line that is there, be it `null`.
fn any_json<'de, 'a, D>(line: D) -> Result<Option<Cow<'a, RawValue>>, D::Error>
where
    D: Deserializer<'de>,
{
    Box::<RawValue>::deserialize(line).map(|line| Some(Cow::Owned(line)))
}

/// What we wrote to a client.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToldClient {
    /// `verdict`, `question` or `error`.
    pub what: String,
    /// The lines, as they were written.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    pub lines: Vec<Box<RawValue>>,
}

/// A client that is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClientLeft {
    /// How many sessions had a turn on.
    pub open: Option<u64>,
    /// For people.
    pub text: String,
}

/// A line that a client does not get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Withheld {
    /// The id of the agent's request.
    pub id: String,
    /// For people.
    pub text: String,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ApprovalResolved {
    /// The question.
    pub id: String,
    /// `allow`, `allow_with`, `allow_always`, `deny`, or an option of the agent's.
    pub choice: String,
    /// Who answered: a rule, `policy`, `setting`, `person`, `program`, `client`, `agent`, `timeout`,
    /// `unattended` or `stop`.
    pub by: String,
    /// The face that a person or a program answered through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// What the agent is told with a denial.
    pub message: Option<String>,
}

/// What a policy says of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PolicyDecided {
    /// The question.
    pub id: String,
    /// The method of a request to the agent's client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// What it says.
    pub decision: Option<Decision>,
}

/// A rule that an answer wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RuleWritten {
    /// The question.
    pub id: String,
    /// Where the rule stands.
    pub rule: Option<RuleRef>,
    /// The rule.
    pub text: String,
}

/// Questions that nobody answers any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeftAlone {
    /// How many wait.
    pub waiting: u64,
    /// For people.
    pub text: String,
}

/// A question of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ApprovalRequested {
    /// The id to answer to; `hook-N` for a hook.
    pub id: String,
}

/// An answer that cannot be given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AnswerRefused {
    /// The question that it names.
    pub id: String,
    /// The answer.
    pub choice: String,
    /// Who gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The face that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// For people.
    pub text: String,
}

/// A turn that begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TurnStarted {
    /// Our id of it.
    pub turn: Option<TurnId>,
    /// The run that takes it.
    pub run: RunId,
    /// Who prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The face that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The length of the prompt.
    pub bytes: u64,
}

/// A turn that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TurnEnded {
    /// Our id of it.
    pub turn: Option<TurnId>,
    /// How it ended.
    pub end: Option<TurnEnd>,
}

/// A session that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SessionEnded {
    /// How its last run ended.
    pub outcome: Option<SessionEnd>,
    /// Who ended it.
    pub ended_by: Option<EndedBy>,
}

/// A turn that was interrupted, or taken back before it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TurnCancelled {
    /// Who cancelled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The face that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The turn, where it waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// For people.
    pub text: String,
    /// Whether the process ends with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ends_process: bool,
}

/// What an agent is told after its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TurnContinued {
    /// The rule that says so.
    pub rule: Option<RuleRef>,
    /// How often that rule was used, with this time.
    pub count: u32,
    /// How often it may be.
    pub max: u32,
    /// What the agent is told.
    pub prompt: String,
    /// The agent's id of the sub-agent that goes on, where it is one; may be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<String>,
    /// For people.
    pub text: String,
}

/// What a rule says of a prompt. The prompt itself is not here: the rule may be there because of what
/// stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PromptJudged {
    /// The rule.
    pub rule: Option<RuleRef>,
    /// Who prompted.
    pub by: String,
    /// The face that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The agent's name of the hook that told us of the prompt, where it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// The length of the prompt.
    pub bytes: u64,
    /// For people.
    pub text: String,
}
