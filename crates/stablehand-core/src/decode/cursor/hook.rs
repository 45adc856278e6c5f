//! Cursor's hooks: its events, what they tell, and how they are answered.
//!
//! Owned here: the shapes of payloads and answers, as `hooks.json` of version 1 has them. Which tool
//! is of which kind is in `table`, as for the stream; hooks know the same tools by shorter names.
//! What a hook is asked for is said in [`crate::hook`].

use super::super::kit::hook::{
    ONLY_CHANGED, blocked, is_true, notice, number, other, said, session, short, shown, string,
    text, unpacked,
};
use super::super::kit::{cut, diff};
use crate::Dialect;
use crate::event::{ItemBody, Outcome, Tool, ToolInput};
use crate::hook::{
    AgentMoment, Answered, Heard, HookAnswers, HookEvent, Hooks, Reply, Role, Stopping,
};
use crate::id::CallId;
use serde_json::{Map, Value, json};

/// Cursor drops a context that is longer than this, all of it; it counts as JavaScript does.
const CONTEXT: usize = 10_000;

/// What stands where a context was cut.
const CUT: &str = "\n(The rest is left out: this is all that fits.)";

/// The hooks of Cursor's agent.
#[derive(Debug)]
pub(in super::super) struct CursorHooks;

const fn event(name: &'static str, role: Role, headless: bool) -> HookEvent {
    HookEvent { name, role, headless }
}

/// In print mode nothing comes of prompts, answers and stops; of the others marked `false` nobody
/// has seen one come there.
const EVENTS: &[HookEvent] = &[
    event("workspaceOpen", Role::Observe, false),
    event("sessionStart", Role::SessionStart, true),
    event("beforeSubmitPrompt", Role::Prompt, false),
    event("afterAgentThought", Role::Observe, false),
    event("preToolUse", Role::Permission, true),
    event("beforeShellExecution", Role::Permission, true),
    event("afterShellExecution", Role::Observe, true),
    event("beforeMCPExecution", Role::Permission, true),
    event("afterMCPExecution", Role::Observe, false),
    event("beforeReadFile", Role::Permission, true),
    event("afterFileEdit", Role::Observe, true),
    event("beforeTabFileRead", Role::Permission, false),
    event("afterTabFileEdit", Role::Observe, false),
    event("postToolUse", Role::Observe, true),
    event("postToolUseFailure", Role::Observe, true),
    event("subagentStart", Role::Permission, false),
    event("subagentStop", Role::SubagentStop, false),
    event("preCompact", Role::Observe, true),
    event("afterAgentResponse", Role::Observe, false),
    event("stop", Role::Stop, false),
    event("sessionEnd", Role::SessionEnd, true),
];

impl Hooks for CursorHooks {
    fn read(&self, event: &str, payload: &Value) -> Heard {
        let mut heard = Heard {
            session: session(payload, &["session_id", "conversation_id"]),
            ..Heard::default()
        };
        match event {
            "beforeSubmitPrompt" => heard.prompt = string(payload, "prompt"),
            "beforeShellExecution" | "afterShellExecution" => {
                hear("Shell", members(payload, &["command", "cwd"]), payload, &mut heard);
            }
            "beforeMCPExecution" | "afterMCPExecution" => {
                let name =
                    format!("MCP:{}", mcp_tool(text(payload, "tool_name").unwrap_or_default()));
                hear(&name, unpacked(payload.get("tool_input")), payload, &mut heard);
            }
            // What stands in the file is told too, but it is no argument.
            "beforeReadFile" => hear("Read", members(payload, &["file_path"]), payload, &mut heard),
            "beforeTabFileRead" => {
                hear("TabRead", members(payload, &["file_path"]), payload, &mut heard);
            }
            "subagentStart" => {
                let keys = ["subagent_type", "task", "subagent_model", "git_branch"];
                hear("Task", members(payload, &keys), payload, &mut heard);
                if let Some(tool) = &mut heard.tool {
                    tool.input = ToolInput::SubAgent { description: subagent(payload) };
                }
                heard.items.push(ItemBody::SubAgent { description: subagent(payload) });
                heard.other_agent = Some(other(payload, "subagent_id", AgentMoment::Begins));
            }
            "subagentStop" => {
                heard.items.push(ItemBody::SubAgent { description: subagent_end(payload) });
                heard.other_agent = Some(other(payload, "subagent_id", AgentMoment::Ends));
                let last_text = Some(string(payload, "summary").unwrap_or_default());
                heard.stop = Some(Stopping { last_text, ..stopping(payload) });
            }
            "afterFileEdit" | "afterTabFileEdit" => {
                let path = string(payload, "file_path").unwrap_or_default();
                let diff = diff::done(&path, payload.get("edits"));
                heard.items.push(ItemBody::FileChange { path, diff });
            }
            "afterAgentThought" => {
                let text = string(payload, "text");
                heard.items.extend(text.map(|text| ItemBody::Reasoning { text }));
            }
            "afterAgentResponse" => {
                let text = string(payload, "text");
                heard.items.extend(text.map(|text| ItemBody::Message { text }));
            }
            "preCompact" => heard.items.push(notice(&compaction(payload))),
            "stop" => heard.stop = Some(stopping(payload)),
            _ => {
                if let Some(name) = text(payload, "tool_name") {
                    hear(name, unpacked(payload.get("tool_input")), payload, &mut heard);
                }
            }
        }
        if let Some(tool) = &mut heard.tool {
            end(event, payload, tool);
        }
        heard
    }
}

impl HookAnswers for CursorHooks {
    fn events(&self) -> &'static [HookEvent] {
        EVENTS
    }

    /// A denial is JSON with exit status 0. Status 2 would deny too, but the model would be given
    /// the JSON as the reason; and what Cursor does not understand on an event that asks for
    /// permission blocks the call whatever the status. So nothing is safer than this, and nothing
    /// reads better. `ask` is never said: nobody is there to be asked, and it is not enforced.
    fn answer(&self, event: &str, reply: &Reply) -> Answered {
        match reply {
            Reply::Nothing => said(&json!({})),
            Reply::Deny { reason } => self.deny(event, reason),
            Reply::Allow { input } => self.allow(event, input.as_ref()),
            Reply::Inform { context, env } => inform(event, context.as_deref(), env),
            Reply::GoOn { prompt } => match event {
                "stop" | "subagentStop" => said(&json!({ "followup_message": prompt })),
                _ => said(&json!({})),
            },
        }
    }
}

impl CursorHooks {
    fn deny(&self, event: &str, reason: &str) -> Answered {
        match event {
            "preToolUse" | "beforeShellExecution" | "beforeMCPExecution" => said(&json!({
                "permission": "deny", "user_message": reason, "agent_message": reason,
            })),
            "beforeReadFile" | "beforeTabFileRead" | "subagentStart" => {
                said(&json!({ "permission": "deny", "user_message": reason }))
            }
            "sessionStart" | "beforeSubmitPrompt" => {
                said(&json!({ "continue": false, "user_message": reason }))
            }
            _ if self.event(event).is_some() => said(&json!({})),
            _ => blocked(reason),
        }
    }

    fn allow(&self, event: &str, input: Option<&Value>) -> Answered {
        match (event, self.role(event), input) {
            ("preToolUse", _, Some(input @ Value::Object(_))) => {
                said(&json!({ "permission": "allow", "updated_input": input }))
            }
            (_, Role::Permission, Some(_)) => self.deny(event, ONLY_CHANGED),
            (_, Role::Permission, None) if self.event(event).is_some() => {
                said(&json!({ "permission": "allow" }))
            }
            (_, Role::SessionStart | Role::Prompt, _) => said(&json!({ "continue": true })),
            _ => said(&json!({})),
        }
    }
}

fn inform(event: &str, context: Option<&str>, env: &[(String, String)]) -> Answered {
    let mut answer = Map::new();
    if event == "sessionStart" {
        let env = env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        answer.insert("env".to_owned(), env.collect());
    }
    let listens = matches!(
        event,
        "sessionStart"
            | "beforeSubmitPrompt"
            | "preToolUse"
            | "postToolUse"
            | "postToolUseFailure"
            | "subagentStart"
            | "subagentStop"
    );
    if let Some(context) = context.filter(|_| listens) {
        answer.insert("additional_context".to_owned(), fitting(context).into());
    }
    said(&Value::Object(answer))
}

/// As much of a context as Cursor takes, cut at the end of a line where there is one.
fn fitting(context: &str) -> String {
    let units = |text: &str| text.encode_utf16().count();
    if units(context) <= CONTEXT {
        return context.to_owned();
    }
    let mut room = CONTEXT - units(CUT);
    let mut head: String = context
        .chars()
        .take_while(|c| {
            let fits = c.len_utf16() <= room;
            room = room.saturating_sub(c.len_utf16());
            fits
        })
        .collect();
    if let Some(end) = head.rfind('\n').filter(|end| *end > 0) {
        head.truncate(end);
    }
    head + CUT
}

/// Writes down the call that a payload is about.
fn hear(name: &str, arguments: Value, payload: &Value, heard: &mut Heard) {
    let mut tool = Box::new(Dialect::Cursor.read_call(name, &arguments));
    if let (ToolInput::Mcp { server, .. }, true) = (&mut tool.input, name.starts_with("MCP:")) {
        *server = string(payload, "mcp_server_name").unwrap_or_default();
    }
    let call = ["tool_use_id", "tool_call_id"].iter().find_map(|key| string(payload, key));
    tool.call = CallId(call.unwrap_or_default());
    tool.duration_ms = number(payload, "duration");
    tool.diff = diff::proposed(&tool, &arguments);
    let root = payload.get("workspace_roots").and_then(|roots| roots.get(0));
    let root = root.and_then(Value::as_str).map(str::to_owned);
    heard.cwd = string(payload, "cwd").or(root);
    heard.arguments = arguments;
    heard.tool = Some(tool);
}

/// A tool's own name; some versions put `MCP:` before it here too.
fn mcp_tool(name: &str) -> &str {
    name.strip_prefix("MCP:").unwrap_or(name)
}

/// Some members of a payload, as the arguments of the call that it is about.
fn members(payload: &Value, keys: &[&str]) -> Value {
    let there = keys.iter().filter_map(|key| {
        let value = payload.get(key).filter(|value| !value.is_null() && *value != "")?;
        Some(((*key).to_owned(), value.clone()))
    });
    Value::Object(there.collect())
}

/// Writes down how a call ended, where the event is about an end.
fn end(event: &str, payload: &Value, tool: &mut Tool) {
    match event {
        "postToolUse" => {
            let output = payload.get("tool_output").and_then(shown);
            let told = output.as_deref().and_then(|output| serde_json::from_str(output).ok());
            let code = told.as_ref().and_then(|told: &Value| told.get("exitCode")?.as_i64());
            tool.outcome = Some(match code.and_then(|code| i32::try_from(code).ok()) {
                None | Some(0) => Outcome::Success,
                exit_code => Outcome::Failure { exit_code, message: None },
            });
            tool.output = output;
        }
        "postToolUseFailure" => {
            let message = string(payload, "error_message").map(cut);
            tool.outcome = Some(match text(payload, "failure_type") {
                Some("timeout") => Outcome::TimedOut,
                Some("permission_denied") => {
                    Outcome::Denied { reason: message.unwrap_or_default() }
                }
                _ if is_true(payload, "is_interrupt") => Outcome::Rejected {
                    reason: message.unwrap_or_else(|| "interrupted".to_owned()),
                },
                _ => Outcome::Failure { exit_code: None, message },
            });
        }
        // How the command ended is not told.
        "afterShellExecution" => {
            tool.outcome = Some(Outcome::Unknown);
            tool.output = string(payload, "output");
        }
        "afterMCPExecution" => {
            let result = unpacked(payload.get("result_json"));
            tool.outcome = Some(match &result {
                Value::Object(_) if is_true(&result, "isError") => {
                    Outcome::Failure { exit_code: None, message: None }
                }
                Value::Object(_) => Outcome::Success,
                _ => Outcome::Unknown,
            });
            tool.output = payload.get("result_json").and_then(shown);
        }
        _ => {}
    }
}

/// How an agent comes to rest.
fn stopping(payload: &Value) -> Stopping {
    Stopping {
        completed: text(payload, "status") == Some("completed"),
        rounds: number(payload, "loop_count").unwrap_or(0),
        last_text: None,
    }
}

fn subagent(payload: &Value) -> String {
    let task = ["task", "description", "subagent_type"];
    short(task.iter().find_map(|key| text(payload, key)).unwrap_or_default())
}

/// What another agent was to do, and what came of it.
fn subagent_end(payload: &Value) -> String {
    let ends = ["status", "error_message", "summary"].iter().filter_map(|key| text(payload, key));
    let ends: Vec<_> = ends.map(short).collect();
    format!("{} ({})", subagent(payload), ends.join(": "))
}

/// Versions that do not know how full the context is say 0.
fn compaction(payload: &Value) -> String {
    let trigger = text(payload, "trigger").map(|trigger| format!(" ({trigger})"));
    let used = |key| number(payload, key).filter(|n| *n > 0);
    let percent = used("context_usage_percent").map(|percent| format!(", {percent}% of it used"));
    let messages = used("message_count").map(|messages| format!(", {messages} messages"));
    let told = Some("the agent shortens its context".to_owned());
    [told, trigger, percent, messages].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_fits_or_is_cut_at_a_line() {
        let units = |text: &str| text.encode_utf16().count();
        let fits = "é".repeat(CONTEXT);
        assert_eq!(fitting(&fits), fits);
        // A horse is two units in JavaScript.
        for long in ["x".repeat(CONTEXT + 1), "\u{1f40e}".repeat(CONTEXT / 2 + 1)] {
            let cut = fitting(&long);
            assert!((CONTEXT - 1..=CONTEXT).contains(&units(&cut)), "{}", units(&cut));
            assert!(cut.ends_with(CUT));
        }
        let lines = "oats and hay\n".repeat(CONTEXT / 10);
        let cut = fitting(&lines);
        assert!(units(&cut) <= CONTEXT);
        assert!(cut.ends_with(&format!("oats and hay{CUT}")), "{cut}");
    }
}
