//! What the app server asks of us: approvals, answers, tools to run.
//!
//! A server request waits until it is answered, so every one of them becomes an approval, also of a
//! kind that is not known yet. The options are the agent's own words; whoever answers sends one of
//! them back under the id.

use super::shell;
use super::wire::said;
use crate::event::EventKind;
use crate::id::CallId;
use crate::json::Value;

/// What people may answer where the agent does not say.
const DECISIONS: &[&str] = &["accept", "acceptForSession", "decline", "cancel"];

/// The event for a server request; `about` is what the call it is about was given.
pub(super) fn asked(
    method: &str,
    id: Option<Value<'_>>,
    params: Value<'_>,
    about: Option<&str>,
) -> EventKind {
    let get = |key| said(params.get(key));
    let reason = get("reason").map(|reason| format!(" ({reason})")).unwrap_or_default();
    let what = match method {
        "item/commandExecution/requestApproval" | "execCommandApproval" => {
            let command =
                get("command").map(|command| shell::unwrapped(&command)).or_else(|| argv(params));
            let command = command.or_else(|| about.map(ToOwned::to_owned));
            let place = get("cwd").map(|cwd| format!(" in {cwd}")).unwrap_or_default();
            format!("run `{}`{place}{reason}", command.unwrap_or_default())
        }
        "item/fileChange/requestApproval" | "applyPatchApproval" => {
            let files = about.map(ToOwned::to_owned).or_else(|| get("grantRoot"));
            format!("change {}{reason}", files.unwrap_or_else(|| "files".to_owned()))
        }
        "item/permissions/requestApproval" => format!("grant more permissions{reason}"),
        "item/tool/call" => format!("run the tool {}", get("tool").unwrap_or_default()),
        "mcpServer/elicitation/request" => {
            let server = get("serverName").unwrap_or_default();
            format!("{server} asks: {}", get("message").unwrap_or_default())
        }
        _ if params.get("questions").is_some() => questions(params),
        other => other.to_owned(),
    };
    let call = get("itemId").or_else(|| get("callId")).map(CallId);
    EventKind::ApprovalRequested {
        id: id_text(id),
        call,
        what,
        options: options(method, params),
        tool: None,
        why: None,
        waits: false,
    }
}

/// The id of a request: a number or a string.
pub(super) fn id_text(id: Option<Value<'_>>) -> String {
    let Some(id) = id else {
        return String::new();
    };
    id.string().unwrap_or_else(|| String::from_utf8_lossy(id.raw()).into_owned())
}

/// A command that is given word by word, in the older form.
fn argv(params: Value<'_>) -> Option<String> {
    let words: Vec<String> = params.get("command")?.elements().filter_map(Value::string).collect();
    match words.as_slice() {
        [] => None,
        [_, flag, script] if flag == "-lc" || flag == "-c" => Some(script.clone()),
        words => Some(words.join(" ")),
    }
}

fn questions(params: Value<'_>) -> String {
    let all = params.get("questions").into_iter().flat_map(Value::elements);
    all.filter_map(|question| said(question.get("question"))).collect::<Vec<_>>().join("\n")
}

fn options(method: &str, params: Value<'_>) -> Vec<String> {
    if let Some(available) = params.get("availableDecisions").filter(|list| !list.is_null()) {
        // A decision with details is an object with one key.
        let word = |decision: Value<'_>| {
            decision.string().or_else(|| {
                let (key, _) = decision.members().next()?;
                Some(String::from_utf8_lossy(key).into_owned())
            })
        };
        return available.elements().filter_map(word).collect();
    }
    if let Some(questions) = params.get("questions") {
        let first = questions.elements().next();
        let options = first.and_then(|question| question.get("options"));
        let labels = options.into_iter().flat_map(Value::elements);
        return labels.filter_map(|option| said(option.get("label"))).collect();
    }
    let words: &[&str] = match method {
        "execCommandApproval" | "applyPatchApproval" => {
            &["approved", "approved_for_session", "denied", "abort"]
        }
        "mcpServer/elicitation/request" => &["accept", "decline", "cancel"],
        method if method.ends_with("/requestApproval") => DECISIONS,
        _ => &[],
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}
