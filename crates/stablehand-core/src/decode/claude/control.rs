//! The two-way protocol, as far as the agent writes it: what it asks of us.
//!
//! `control_request` lines want an answer under their id, which is written to the agent's input and
//! is no part of this stream; `control_response` lines answer requests of ours;
//! `control_cancel_request` takes a question back.

use super::super::Depth;
use super::calls::{self, Calls};
use super::fields::Fields;
use super::proposal;
use super::system::Told;
use super::table::Row;
use super::tools::{self, cut, first};
use crate::event::{EventKind, NoticeLevel, ToolInput};
use crate::id::CallId;
use crate::json::Value;

/// What a `control_request` asks; `Err` has what to tell where it asks for nothing that we know.
pub(super) fn request(
    fields: &Fields<'_, '_>,
    table: &[Row],
    calls: &mut Calls,
    depth: Depth,
) -> Result<EventKind, Told> {
    let id = fields.get("request_id").and_then(Value::string).unwrap_or_default();
    let request = fields.get("request").unwrap_or(Value::new(b"{}"));
    let say = |key| first(request, &[key]);
    let subtype = say("subtype").unwrap_or_default();
    match subtype.as_str() {
        "can_use_tool" => {
            let call = say("tool_use_id");
            if let Some(call) = &call {
                calls.asked(call, &id);
            }
            let name = say("tool_name").unwrap_or_default();
            let input = request.get("input");
            let (what, options) = permission(table, &name, input);
            let call = call.map(CallId);
            // The call itself was told without what it would change.
            let about = call.clone().unwrap_or_else(|| CallId(id.clone()));
            let mut tool =
                calls::tool_of(about, name.clone(), tools::given(table, &name, input), None);
            tool.diff = input
                .filter(|_| depth == Depth::Full)
                .and_then(|input| proposal::diff(tool.headline(), input));
            Ok(EventKind::ApprovalRequested {
                id,
                call,
                what: cut(what),
                options,
                tool: Some(Box::new(tool)),
                why: None,
                waits: false,
            })
        }
        "elicitation" => {
            let server = say("mcp_server_name").unwrap_or_default();
            let what = format!("{server}: {}", say("message").unwrap_or_default());
            let options = ["accept", "decline", "cancel"].map(str::to_owned).to_vec();
            Ok(EventKind::ApprovalRequested {
                id,
                call: None,
                what: cut(what),
                options,
                tool: None,
                why: None,
                waits: false,
            })
        }
        "hook_callback" => {
            let input = request.get("input");
            let name = input.and_then(|input| first(input, &["hook_event_name"]));
            let payload = match (depth, input) {
                (Depth::Full, Some(input)) => serde_json::from_slice(input.raw()).ok(),
                _ => None,
            };
            Ok(EventKind::HookReceived {
                name: name.or_else(|| say("callback_id")).unwrap_or_default(),
                tool: say("tool_use_id").map(CallId),
                payload: payload.unwrap_or_default(),
            })
        }
        "mcp_message" => Err(Told::Nothing),
        _ => Err(Told::Notice(NoticeLevel::Info, format!("the agent requests `{subtype}`"))),
    }
}

/// An answer to a request of ours: only a refusal is worth a word.
pub(super) fn response(fields: &Fields<'_, '_>) -> Told {
    let response = fields.get("response").unwrap_or(Value::new(b"{}"));
    match response.get("subtype").and_then(Value::raw_str).unwrap_or_default() {
        b"success" | b"" => return Told::Nothing,
        b"error" => {}
        other => return Told::Strange { what: "subtype", word: other.to_vec(), text: None },
    }
    let error = response.get("error");
    let words = error.and_then(|error| error.string().or_else(|| first(error, &["message"])));
    let words = words.unwrap_or_else(|| "no reason given".to_owned());
    Told::Notice(NoticeLevel::Warning, format!("the agent refused a request: {words}"))
}

/// What is asked about a call, and the choices.
fn permission(table: &[Row], name: &str, input: Option<Value<'_>>) -> (String, Vec<String>) {
    if let Some(questions) = input.and_then(|input| input.get("questions")) {
        let asked = questions.elements().filter_map(|it| first(it, &["question", "header"]));
        let what = asked.collect::<Vec<_>>().join("\n");
        let options = questions.elements().next().and_then(|it| it.get("options"));
        let options = options.into_iter().flat_map(Value::elements);
        return (what, options.filter_map(|it| first(it, &["label"])).collect());
    }
    let given = tools::given(table, name, input);
    let headline = match &given.input {
        // The tool's name says both already.
        ToolInput::Mcp { .. } => "",
        input => input.headline(),
    };
    let what = format!("{name} {headline}").trim_end().to_owned();
    (what, ["allow", "deny"].map(str::to_owned).to_vec())
}
