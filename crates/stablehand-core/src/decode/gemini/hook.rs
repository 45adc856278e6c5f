//! Gemini CLI's hooks: its events, what they tell, and how they are answered.
//!
//! Owned here: the shapes of payloads and answers. What tools are given is read by `tools`, how they
//! end by `outcome`, as for the stream. Calls have no id here.

use super::super::kit::diff;
use super::super::kit::hook::{
    ONLY_CHANGED, blocked, is_true, notice, said, session, shown, string, text, unpacked,
};
use super::outcome;
use crate::Dialect;
use crate::event::{Tool, ToolInput};
use crate::hook::{Answered, Heard, HookAnswers, HookEvent, Hooks, Reply, Role, Stopping};
use serde_json::{Value, json};

/// The hooks of Gemini CLI.
#[derive(Debug)]
pub(in super::super) struct GeminiHooks;

const fn event(name: &'static str, role: Role, headless: bool) -> HookEvent {
    HookEvent { name, role, headless }
}

/// Left out is `AfterModel`, which comes for every piece of a text. The one notification there is
/// says that somebody is asked, which needs a terminal.
const EVENTS: &[HookEvent] = &[
    event("SessionStart", Role::SessionStart, true),
    event("BeforeAgent", Role::Prompt, true),
    event("BeforeModel", Role::Observe, true),
    event("BeforeToolSelection", Role::Observe, true),
    event("BeforeTool", Role::Permission, true),
    event("Notification", Role::Observe, false),
    event("AfterTool", Role::Observe, true),
    event("PreCompress", Role::Observe, true),
    event("AfterAgent", Role::Stop, true),
    event("SessionEnd", Role::SessionEnd, true),
];

impl Hooks for GeminiHooks {
    fn read(&self, event: &str, payload: &Value) -> Heard {
        let mut heard = Heard { session: session(payload, &["session_id"]), ..Heard::default() };
        if let Some(name) = text(payload, "tool_name") {
            hear(name, payload, &mut heard);
        }
        match event {
            "BeforeAgent" => heard.prompt = string(payload, "prompt"),
            "AfterTool" => {
                if let Some(tool) = &mut heard.tool {
                    end(payload.get("tool_response").unwrap_or(&Value::Null), tool);
                }
            }
            "AfterAgent" => {
                // It only says whether a hook has made it go on, not how often.
                let rounds = u64::from(is_true(payload, "stop_hook_active"));
                heard.stop = Some(Stopping { completed: true, rounds, last_text: None });
            }
            "Notification" => heard.items.extend(text(payload, "message").map(notice)),
            // It comes before every request, and is true only where somebody asked for it.
            "PreCompress" if text(payload, "trigger") == Some("manual") => {
                heard.items.push(notice("the agent shortens its context (manual)"));
            }
            _ => {}
        }
        heard
    }
}

impl HookAnswers for GeminiHooks {
    fn events(&self) -> &'static [HookEvent] {
        EVENTS
    }

    /// JSON and exit status 0; that an allow is said makes no difference, since the agent's own
    /// rules still hold. There is no way to set variables.
    fn answer(&self, event: &str, reply: &Reply) -> Answered {
        match (reply, event) {
            (Reply::Deny { reason }, _) => self.deny(event, reason),
            (Reply::Allow { input: None }, "BeforeTool") => said(&json!({ "decision": "allow" })),
            // Gemini lays these over the model's arguments: what is not among them may stay.
            (Reply::Allow { input: Some(input @ Value::Object(_)) }, "BeforeTool") => {
                let changed = json!({ "hookEventName": event, "tool_input": input });
                said(&json!({ "decision": "allow", "hookSpecificOutput": changed }))
            }
            (Reply::Allow { input: Some(_) }, _) if self.role(event) == Role::Permission => {
                self.deny(event, ONLY_CHANGED)
            }
            (
                Reply::Inform { context: Some(context), .. },
                "SessionStart" | "BeforeAgent" | "AfterTool",
            ) => {
                let told = json!({ "hookEventName": event, "additionalContext": context });
                said(&json!({ "hookSpecificOutput": told }))
            }
            (Reply::GoOn { prompt }, "AfterAgent") => {
                said(&json!({ "decision": "deny", "reason": prompt }))
            }
            _ => said(&json!({})),
        }
    }
}

impl GeminiHooks {
    fn deny(&self, event: &str, reason: &str) -> Answered {
        match event {
            "BeforeTool" | "AfterTool" | "BeforeAgent" | "BeforeModel" | "AfterModel" => {
                said(&json!({ "decision": "deny", "reason": reason }))
            }
            // It cannot be stopped, but the person can be told.
            "SessionStart" => said(&json!({ "systemMessage": reason })),
            // To refuse a rest would be to make it work on.
            _ if self.event(event).is_some() => said(&json!({})),
            _ => blocked(reason),
        }
    }
}

/// Writes down the call that a payload is about.
fn hear(name: &str, payload: &Value, heard: &mut Heard) {
    let arguments = unpacked(payload.get("tool_input"));
    let mut tool = Dialect::Gemini.read_call(name, &arguments);
    if let Some(context) = payload.get("mcp_context").filter(|context| context.is_object()) {
        let server = string(context, "server_name").unwrap_or_default();
        let name = string(context, "tool_name").unwrap_or_else(|| name.to_owned());
        tool.input = ToolInput::Mcp { server, tool: name };
        tool.also.clear();
    }
    tool.diff = diff::proposed(&tool, &arguments);
    heard.cwd = string(payload, "cwd");
    heard.arguments = arguments;
    heard.tool = Some(Box::new(tool));
}

/// Writes down how a call ended.
fn end(response: &Value, tool: &mut Tool) {
    let error = response.get("error").filter(|error| !error.is_null());
    tool.outcome = Some(if let Some(error) = error {
        let kind = text(error, "type").unwrap_or_default();
        let words = string(error, "message").or_else(|| shown(error));
        outcome::of_error(kind.as_bytes(), words)
    } else {
        let display = response.get("returnDisplay").unwrap_or(&Value::Null);
        outcome::success(tool, display.to_string().as_bytes())
    });
    let display = string(response, "returnDisplay");
    tool.output = display.or_else(|| response.get("llmContent").and_then(shown));
}
