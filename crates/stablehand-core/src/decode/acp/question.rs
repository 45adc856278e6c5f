//! What an agent asks: permission for a call, and answers of a person.
//!
//! The options are the agent's own ids; which of them allows and which rejects is in their kinds, for
//! whoever answers ([`super::speak`]).

use super::super::kit::{cut, first};
use crate::event::{EventKind, Tool};
use crate::json::Value;

/// The event for a request of permission.
pub(super) fn permission(id: Value<'_>, params: Value<'_>, tool: Option<Box<Tool>>) -> EventKind {
    let about = params.get("toolCall");
    let title = about.and_then(|about| first(about, &["title"]));
    let what = match (&tool, title) {
        (Some(tool), Some(title)) if title.contains(tool.headline()) => title,
        (Some(tool), _) if !tool.headline().is_empty() => {
            format!("{}: {}", tool.name, tool.headline())
        }
        (_, Some(title)) => title,
        (Some(tool), None) => tool.name.clone(),
        (None, None) => "go on".to_owned(),
    };
    let options = params.get("options").into_iter().flat_map(Value::elements);
    EventKind::ApprovalRequested {
        id: id_text(Some(id)),
        call: tool.as_ref().map(|tool| tool.call.clone()),
        what: cut(what),
        options: options.filter_map(|option| first(option, &["optionId"])).collect(),
        tool,
        why: None,
        waits: false,
    }
}

/// The event for a question to a person.
pub(super) fn elicitation(id: Value<'_>, params: Value<'_>) -> EventKind {
    EventKind::ApprovalRequested {
        id: id_text(Some(id)),
        call: None,
        what: cut(first(params, &["message"]).unwrap_or_else(|| "answer a question".to_owned())),
        options: ["accept", "decline", "cancel"].map(str::to_owned).to_vec(),
        tool: None,
        why: None,
        waits: false,
    }
}

/// The id of a request: a number or a string.
pub(super) fn id_text(id: Option<Value<'_>>) -> String {
    let Some(id) = id else { return String::new() };
    id.string().unwrap_or_else(|| String::from_utf8_lossy(id.raw()).into_owned())
}
