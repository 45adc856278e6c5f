//! Claude Code's hooks: its events, what they tell, and how they are answered.
//!
//! Owned here: the shapes of payloads and answers, as version 2.1 has them. What tools are given is
//! read by `tools` and `table`, as for the stream. The stream tells edits, messages and plans, so
//! only what it does not tell is an item here.

use super::super::kit::hook::{
    ONLY_CHANGED, blocked, is_true, notice, number, other, said, session, short, shown, string,
    text, unpacked,
};
use super::super::kit::{cut, diff};
use super::flavor::CLAUDE;
use crate::Dialect;
use crate::event::{ItemBody, Outcome, Tool, ToolKind};
use crate::hook::{
    AgentMoment, Answered, Heard, HookAnswers, HookEvent, Hooks, Reply, Role, Stopping,
};
use crate::id::CallId;
use serde_json::{Value, json};

/// The hooks of Claude Code.
#[derive(Debug)]
pub(in super::super) struct ClaudeHooks;

const fn event(name: &'static str, role: Role, headless: bool) -> HookEvent {
    HookEvent { name, role, headless }
}

/// Left out are `WorktreeCreate` and `WorktreeRemove`, whose hook is to do the work itself, and
/// `MessageDisplay`, which comes for every piece of a text. What a person does at the terminal does not
/// happen in print mode; permission is asked for there too, where neither a hook nor a rule decides.
const EVENTS: &[HookEvent] = &[
    event("Setup", Role::Observe, true),
    event("SessionStart", Role::SessionStart, true),
    event("InstructionsLoaded", Role::Observe, true),
    event("UserPromptSubmit", Role::Prompt, true),
    event("UserPromptExpansion", Role::Prompt, true),
    event("PreToolUse", Role::Permission, true),
    event("PermissionRequest", Role::Permission, true),
    event("PermissionDenied", Role::Observe, true),
    event("PostToolUse", Role::Observe, true),
    event("PostToolUseFailure", Role::Observe, true),
    event("PostToolBatch", Role::Observe, true),
    event("Elicitation", Role::Observe, false),
    event("ElicitationResult", Role::Observe, false),
    event("SubagentStart", Role::Observe, true),
    event("SubagentStop", Role::SubagentStop, true),
    event("TaskCreated", Role::Observe, true),
    event("TaskCompleted", Role::Observe, true),
    event("TeammateIdle", Role::Observe, false),
    event("PreModelSwitch", Role::Observe, true),
    event("PostModelSwitch", Role::Observe, true),
    event("CwdChanged", Role::Observe, true),
    event("FileChanged", Role::Observe, false),
    event("DirectoryAdded", Role::Observe, false),
    event("ConfigChange", Role::Observe, false),
    event("Notification", Role::Observe, false),
    event("PreCompact", Role::Observe, true),
    event("PostCompact", Role::Observe, true),
    event("Stop", Role::Stop, true),
    event("StopFailure", Role::Observe, true),
    event("SessionEnd", Role::SessionEnd, true),
];

impl Hooks for ClaudeHooks {
    fn read(&self, event: &str, payload: &Value) -> Heard {
        let mut heard = Heard { session: session(payload, &["session_id"]), ..Heard::default() };
        if let Some(name) = text(payload, "tool_name") {
            hear(name, payload, &mut heard);
        }
        if let Some(tool) = &mut heard.tool {
            end(event, payload, tool);
        }
        let say = |key| text(payload, key).unwrap_or_default();
        match event {
            "UserPromptSubmit" | "UserPromptExpansion" => heard.prompt = string(payload, "prompt"),
            "Stop" => {
                // It only says whether a hook has made it go on, not how often.
                let rounds = u64::from(is_true(payload, "stop_hook_active"));
                heard.stop = Some(Stopping { completed: true, rounds, last_text: None });
            }
            "SubagentStart" => {
                let description = short(say("agent_type"));
                heard.items.push(ItemBody::SubAgent { description });
                heard.other_agent = Some(other(payload, "agent_id", AgentMoment::Begins));
            }
            "SubagentStop" => {
                let (kind, last) = (short(say("agent_type")), say("last_assistant_message"));
                let description = format!("{kind} (ended: {})", short(last));
                heard.items.push(ItemBody::SubAgent { description });
                heard.other_agent = Some(other(payload, "agent_id", AgentMoment::Ends));
                let rounds = u64::from(is_true(payload, "stop_hook_active"));
                let last_text = Some(last.to_owned());
                heard.stop = Some(Stopping { completed: true, rounds, last_text });
            }
            "PreCompact" => {
                let trigger = say("trigger");
                heard.items.push(notice(&format!("the agent shortens its context ({trigger})")));
            }
            "Notification" => heard.items.push(notice(say("message"))),
            "Elicitation" => {
                let asked = format!("{} asks: {}", say("mcp_server_name"), say("message"));
                heard.items.push(notice(&asked));
            }
            "ConfigChange" => {
                let changed = format!("settings changed: {} {}", say("source"), say("file_path"));
                heard.items.push(notice(changed.trim_end()));
            }
            "DirectoryAdded" => {
                let added = format!("the agent may now work in {}", say("directory"));
                heard.items.push(notice(&added));
            }
            "FileChanged" => {
                let path = say("file_path").to_owned();
                heard.items.push(ItemBody::FileChange { path, diff: None });
            }
            _ => {}
        }
        heard
    }
}

impl HookAnswers for ClaudeHooks {
    fn events(&self) -> &'static [HookEvent] {
        EVENTS
    }

    /// JSON and exit status 0, but for the few events that listen to the status alone.
    fn answer(&self, event: &str, reply: &Reply) -> Answered {
        match reply {
            Reply::Deny { reason } => self.deny(event, reason),
            Reply::Allow { input } => self.allow(event, input.as_ref()),
            // Variables go into a file that the payload does not name.
            Reply::Nothing | Reply::Inform { context: None, .. } => Answered::default(),
            Reply::Inform { context: Some(context), .. } => inform(event, context),
            Reply::GoOn { prompt } => match event {
                "Stop" | "SubagentStop" => said(&json!({ "decision": "block", "reason": prompt })),
                "TeammateIdle" => {
                    Answered { stderr: format!("{prompt}\n"), exit: 2, ..Answered::default() }
                }
                _ => Answered::default(),
            },
        }
    }
}

impl ClaudeHooks {
    fn deny(&self, event: &str, reason: &str) -> Answered {
        match event {
            "PreToolUse" | "PreModelSwitch" => specific(&json!({
                "hookEventName": event,
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            })),
            "PermissionRequest" => specific(&json!({
                "hookEventName": event,
                "decision": { "behavior": "deny", "message": reason },
            })),
            "Elicitation" | "ElicitationResult" => {
                specific(&json!({ "hookEventName": event, "action": "decline" }))
            }
            "UserPromptSubmit"
            | "UserPromptExpansion"
            | "PostToolUse"
            | "PostToolBatch"
            | "ConfigChange"
            | "PreCompact" => said(&json!({ "decision": "block", "reason": reason })),
            "SessionStart" | "Setup" => said(&json!({ "continue": false, "stopReason": reason })),
            "TaskCreated" | "TaskCompleted" => blocked(reason),
            // To refuse a rest would be to make it work on.
            _ if self.event(event).is_some() => Answered::default(),
            _ => blocked(reason),
        }
    }

    fn allow(&self, event: &str, input: Option<&Value>) -> Answered {
        match (event, input) {
            ("PreToolUse", Some(input @ Value::Object(_))) => specific(&json!({
                "hookEventName": event, "permissionDecision": "allow", "updatedInput": input,
            })),
            ("PreToolUse" | "PreModelSwitch", None) => {
                specific(&json!({ "hookEventName": event, "permissionDecision": "allow" }))
            }
            ("PermissionRequest", Some(input @ Value::Object(_))) => specific(&json!({
                "hookEventName": event,
                "decision": { "behavior": "allow", "updatedInput": input },
            })),
            ("PermissionRequest", None) => {
                specific(&json!({ "hookEventName": event, "decision": { "behavior": "allow" } }))
            }
            (_, Some(_)) if self.role(event) == Role::Permission => self.deny(event, ONLY_CHANGED),
            _ => Answered::default(),
        }
    }
}

/// On a stop, context would make the agent work on.
fn inform(event: &str, context: &str) -> Answered {
    match event {
        "SessionStart"
        | "Setup"
        | "UserPromptSubmit"
        | "UserPromptExpansion"
        | "PreToolUse"
        | "PostToolUse"
        | "PostToolUseFailure"
        | "PostToolBatch"
        | "SubagentStart"
        | "PostModelSwitch"
        | "Notification" => {
            specific(&json!({ "hookEventName": event, "additionalContext": context }))
        }
        _ => Answered::default(),
    }
}

fn specific(output: &Value) -> Answered {
    said(&json!({ "hookSpecificOutput": output }))
}

/// Writes down the call that a payload is about.
fn hear(name: &str, payload: &Value, heard: &mut Heard) {
    let arguments = unpacked(payload.get("tool_input"));
    let mut tool = Box::new(Dialect::Claude.read_call(name, &arguments));
    tool.call = CallId(string(payload, "tool_use_id").unwrap_or_default());
    tool.duration_ms = number(payload, "duration_ms");
    tool.diff = diff::proposed(&tool, &arguments);
    heard.cwd = string(payload, "cwd");
    heard.arguments = arguments;
    heard.tool = Some(tool);
}

/// Writes down how a call ended, where the event is about an end.
fn end(event: &str, payload: &Value, tool: &mut Tool) {
    match event {
        "PostToolUse" => {
            let response = payload.get("tool_response").unwrap_or(&Value::Null);
            tool.outcome = Some(if is_true(response, "interrupted") {
                let message = Some("interrupted by the user".to_owned());
                Outcome::Failure { exit_code: None, message }
            } else {
                Outcome::Success
            });
            tool.background |= text(response, "backgroundTaskId").is_some();
            let streams = ["stdout", "stderr"].iter().filter_map(|key| text(response, key));
            let streams = streams.map(|text| text.trim_end_matches('\n'));
            let streams = streams.collect::<Vec<_>>().join("\n");
            tool.output =
                if response.get("stdout").is_some() { Some(streams) } else { shown(response) };
        }
        "PostToolUseFailure" => {
            let error = text(payload, "error").unwrap_or_default();
            let exit_code = match tool.tool_kind {
                ToolKind::Execute => (CLAUDE.exit_code)(error, /* is_error */ true),
                _ => None,
            };
            let message = Some(cut(error.to_owned())).filter(|message| !message.is_empty());
            tool.outcome = Some(Outcome::Failure { exit_code, message });
        }
        "PermissionDenied" => {
            let reason = cut(string(payload, "reason").unwrap_or_default());
            tool.outcome = Some(Outcome::Denied { reason });
        }
        _ => {}
    }
}
