//! What the hooks of all agents have in common: reading a payload that may be anything, and the two
//! ways to answer, by JSON and by the exit status.

use crate::event::{ItemBody, NoticeLevel};
use crate::hook::{AgentMoment, Answered, OtherAgent};
use crate::id::SessionId;
use crate::text::excerpt;
use serde_json::Value;

/// The most that a summary in words is long.
const SUMMARY: usize = 200;

/// Where a hook exits with this status, every agent takes it for a no.
const BLOCKED: u8 = 2;

/// A member that is a text and says something.
pub(in super::super) fn text<'v>(payload: &'v Value, key: &str) -> Option<&'v str> {
    payload.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The same, as a value of its own.
pub(in super::super) fn string(payload: &Value, key: &str) -> Option<String> {
    text(payload, key).map(str::to_owned)
}

/// A count; agents write some of them as fractions.
pub(in super::super) fn number(payload: &Value, key: &str) -> Option<u64> {
    let value = payload.get(key)?;
    value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0).map(|n| n.round() as u64))
}

pub(in super::super) fn is_true(payload: &Value, key: &str) -> bool {
    payload.get(key).and_then(Value::as_bool) == Some(true)
}

/// The first of these members that names the session.
pub(in super::super) fn session(payload: &Value, keys: &[&str]) -> Option<SessionId> {
    keys.iter().find_map(|key| string(payload, key)).map(SessionId)
}

/// A result as text: itself where it is one, else its JSON.
pub(in super::super) fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Words for one line of a list.
pub(in super::super) fn short(words: &str) -> String {
    excerpt(words.as_bytes(), SUMMARY)
}

/// Something that a person may want to know.
pub(in super::super) fn notice(text: &str) -> ItemBody {
    ItemBody::Notice { level: NoticeLevel::Info, text: super::cut(text.to_owned()) }
}

/// Another agent, by the member that has its id.
pub(in super::super) fn other(payload: &Value, id: &str, moment: AgentMoment) -> OtherAgent {
    OtherAgent { id: text(payload, id).map(short), moment }
}

/// What an agent is told in JSON.
pub(in super::super) fn said(answer: &Value) -> Answered {
    Answered { stdout: answer.to_string(), ..Answered::default() }
}

/// A refusal that needs no shape, for events that are not known. The reason never stands alone: one
/// that is empty, or happens to be JSON, would not be read as a reason by all.
pub(in super::super) fn blocked(reason: &str) -> Answered {
    Answered { stderr: format!("refused: {reason}\n"), exit: BLOCKED, ..Answered::default() }
}

/// Why a call is refused that may be made only with other arguments, where those cannot be told:
/// left alone it would be made with its own.
pub(in super::super) const ONLY_CHANGED: &str =
    "this call is allowed with other arguments only, and the agent cannot be told them here";

/// What a tool is given, where that can come as JSON in a string too.
pub(in super::super) fn unpacked(value: Option<&Value>) -> Value {
    match value {
        Some(Value::String(packed)) => match serde_json::from_str(packed) {
            Ok(object @ Value::Object(_)) => object,
            _ => Value::String(packed.clone()),
        },
        Some(other) => other.clone(),
        None => Value::Null,
    }
}
