//! Lines of Copilot CLI beside the conversation: which are known, and which say something to a person.

use super::super::kit::{cut, first};
use crate::event::{EventKind, NoticeLevel};
use crate::id::CallId;
use crate::json::Value;

/// Types that tick, or that say again what messages, calls and results tell.
const QUIET: &[&str] = &[
    "abort",
    "assistant.fusion_phase_activity",
    "assistant.fusion_phase_completed",
    "assistant.fusion_phase_failed",
    "assistant.fusion_phase_started",
    "assistant.idle",
    "assistant.intent",
    "assistant.message_start",
    "assistant.server_tool_progress",
    "assistant.streaming_delta",
    "assistant.tool_call_delta",
    "auto_mode_switch.completed",
    "capabilities.changed",
    "command.completed",
    "command.execute",
    "command.queued",
    "commands.changed",
    "external_tool.completed",
    "external_tool.requested",
    "factory.run_settled",
    "factory.run_started",
    "factory.run_updated",
    "hook.progress",
    "hook.start",
    "mcp.headers_refresh_completed",
    "mcp.headers_refresh_required",
    "mcp.oauth_completed",
    "mcp.prompts.list_changed",
    "mcp.resources.list_changed",
    "mcp.tools.list_changed",
    "mcp_app.tool_call_complete",
    // What failed for good is told by `session.error`.
    "model.call_failure",
    "model.call_final_result",
    "model.call_finished",
    "pending_messages.modified",
    "sampling.completed",
    "sampling.requested",
    "session.auto_mode_resolved",
    "session.auto_tier_recommendation",
    "session.auto_tier_switch_failed",
    "session.autopilot_objective_changed",
    "session.background",
    "session.background_tasks_changed",
    "session.binary_asset",
    "session.canvas.closed",
    "session.canvas.opened",
    "session.canvas.recorded",
    "session.canvas.registry_changed",
    "session.canvas.removed",
    "session.canvas.unavailable",
    "session.compaction_start",
    "session.completion_receipt",
    "session.context_changed",
    "session.context_cleared",
    "session.created",
    "session.custom_agents_updated",
    "session.custom_notification",
    "session.deleted",
    "session.extensions.attachments_pushed",
    "session.extensions_loaded",
    "session.foreground",
    "session.fusion_completed",
    "session.fusion_resolved",
    "session.fusion_route_failed",
    "session.fusion_route_started",
    "session.handoff",
    "session.idle",
    "session.managed_settings_enforced",
    "session.managed_settings_resolved",
    "session.mcp_server_needs_reconnect",
    "session.mcp_server_removed",
    "session.mcp_servers_loaded",
    "session.mode_changed",
    "session.mode_notice_delivered",
    "session.permissions_changed",
    "session.plan_changed",
    "session.remote_steerable_changed",
    "session.schedule_cancelled",
    "session.schedule_created",
    "session.schedule_rearmed",
    "session.session_limits_changed",
    "session.skills_loaded",
    "session.snapshot_rewind",
    "session.title_changed",
    "session.todos_changed",
    "session.tools_updated",
    "session.updated",
    "session.usage_checkpoint",
    "session.usage_info",
    "session.workspace_file_changed",
    "session_limits_exhausted.completed",
    "skill.invoked",
    "subagent.completed",
    "subagent.configured",
    "subagent.deselected",
    "subagent.selected",
    "subagent.started",
    "system.message",
    // The same as `tool.shell_output`, as a whole each time.
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.user_requested",
    "tool_search.activated",
    "ui.ephemeral_query",
];

/// What such a line means.
#[derive(Debug)]
pub(super) enum Aside {
    /// It ticks, or says again what other lines tell.
    Nothing,
    Notice(NoticeLevel, String),
    Unknown,
}

/// Reads a line of this sort.
pub(super) fn read(kind: &[u8], data: Value<'_>) -> Aside {
    let say = |key: &str| first(data, &[key]).unwrap_or_default();
    let succeeded = data.get("success").and_then(Value::bool);
    let warning = |text: String| Some((NoticeLevel::Warning, text));
    let told = match kind {
        b"subagent.failed" => {
            warning(format!("sub-agent {} failed: {}", say("agentDisplayName"), say("error")))
        }
        b"hook.end" if succeeded == Some(false) => {
            let error = data.get("error").and_then(|error| first(error, &["message"]));
            warning(format!("hook {} failed: {}", say("hookType"), error.unwrap_or_default()))
        }
        b"hook.end" => None,
        b"session.compaction_complete" if succeeded == Some(false) => {
            warning(format!("compaction failed: {}", say("error")))
        }
        b"session.compaction_complete" => {
            Some((NoticeLevel::Info, "the conversation was compacted".to_owned()))
        }
        b"session.truncation" => {
            Some((NoticeLevel::Info, "old messages were removed from the context".to_owned()))
        }
        b"session.model_change" => {
            Some((NoticeLevel::Info, format!("the model was changed to {}", say("newModel"))))
        }
        b"session.mcp_server_status_changed" => {
            let status = say("status");
            let is_quiet = matches!(
                status.as_str(),
                "" | "connected" | "pending" | "disabled" | "not_configured"
            );
            let text = || format!("MCP server {}: {status} {}", say("serverName"), say("error"));
            (!is_quiet).then(|| (NoticeLevel::Warning, text().trim_end().to_owned()))
        }
        b"mcp.oauth_required" => warning(format!("MCP server {} wants a login", say("serverName"))),
        b"session.shutdown" => {
            let reason = first(data, &["errorReason"]);
            reason.map(|reason| (NoticeLevel::Warning, format!("the agent shut down: {reason}")))
        }
        b"session.task_complete" => {
            first(data, &["summary"]).map(|summary| (NoticeLevel::Info, summary))
        }
        b"system.notification" => {
            first(data, &["content"]).map(|content| (NoticeLevel::Info, content))
        }
        b"auto_mode_switch.requested" => {
            warning("the agent asks to change to another model: a rate limit is reached".to_owned())
        }
        b"session_limits_exhausted.requested" => {
            warning("the credits for this session are used up".to_owned())
        }
        _ if QUIET.iter().any(|quiet| quiet.as_bytes() == kind) => None,
        _ => return Aside::Unknown,
    };
    told.map_or(Aside::Nothing, |(level, text)| Aside::Notice(level, text))
}

/// What a person is asked.
pub(super) fn question(data: Value<'_>) -> EventKind {
    let choices = data.get("choices").or_else(|| data.get("actions"));
    let choices = choices.into_iter().flat_map(Value::elements).filter_map(Value::string);
    let what = first(data, &["question", "message", "summary", "planContent"]);
    EventKind::ApprovalRequested {
        id: first(data, &["requestId"]).unwrap_or_default(),
        call: first(data, &["toolCallId"]).map(CallId),
        what: cut(what.unwrap_or_else(|| "answer a question".to_owned())),
        options: choices.collect(),
        tool: None,
        why: None,
        waits: false,
    }
}

/// The answer to such a question.
pub(super) fn answer(data: Value<'_>) -> EventKind {
    let choice = first(data, &["answer", "action", "selectedAction", "outcome"]);
    let id = first(data, &["requestId"]).unwrap_or_default();
    EventKind::resolved(id, choice.unwrap_or_else(|| "answered".to_owned()), "agent")
}
