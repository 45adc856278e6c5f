//! Notifications of `codex app-server` beside the conversation: which are known, and which say
//! something to a person.

use super::wire::said;
use crate::event::NoticeLevel;
use crate::json::Value;

/// What such a notification means.
#[derive(Debug)]
pub(super) enum Aside {
    /// Nothing that a person has to know: it ticks, or repeats what items and turns tell.
    Nothing,
    /// The session and its model, as older versions tell it.
    Session,
    Notice(NoticeLevel, String),
}

/// Methods that say nothing about the conversation, or nothing that its items do not tell.
const QUIET: &[&str] = &[
    "account/gatewayOAuth/changed",
    "account/rateLimits/updated",
    "account/updated",
    "app/list/updated",
    "authStatusChange",
    "command/exec/outputDelta",
    "externalAgentConfig/import/completed",
    "externalAgentConfig/import/progress",
    "fs/changed",
    "fuzzyFileSearch/sessionCompleted",
    "fuzzyFileSearch/sessionUpdated",
    "hook/started",
    "item/autoApprovalReview/started",
    "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/plan/delta",
    "item/reasoning/summaryPartAdded",
    "mcpServer/event/stream/notification",
    "model/safetyBuffering/updated",
    "model/verification",
    "process/exited",
    "process/outputDelta",
    "project/changed",
    "rawResponseItem/completed",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/archived",
    "thread/attachment/updated",
    "thread/closed",
    "thread/compacted",
    "thread/deleted",
    "thread/environment/connected",
    "thread/goal/cleared",
    "thread/name/updated",
    "thread/prediction/updated",
    "thread/project/updated",
    "thread/queue/changed",
    "thread/readState/changed",
    "thread/realtime/closed",
    "thread/realtime/item/completed",
    "thread/realtime/item/started",
    "thread/realtime/item/transcript/delta",
    "thread/realtime/itemAdded",
    "thread/realtime/outputAudio/delta",
    "thread/realtime/sdp",
    "thread/realtime/started",
    "thread/realtime/transcript/delta",
    "thread/realtime/transcript/done",
    "thread/section/changed",
    "thread/settings/updated",
    "thread/status/changed",
    "thread/unarchived",
    "turn/diff/updated",
    "turn/moderationMetadata",
];

/// Reads a notification; `None` for a method that is not known.
pub(super) fn read(method: &[u8], params: Value<'_>) -> Option<Aside> {
    let say = |key| said(params.get(key)).unwrap_or_default();
    let failed = |what: &str| match params.get("success").and_then(Value::bool) {
        Some(false) => {
            Aside::Notice(NoticeLevel::Warning, format!("{what} failed: {}", say("error")))
        }
        _ => Aside::Nothing,
    };
    Some(match method {
        b"sessionConfigured" => Aside::Session,
        b"account/login/completed" | b"loginChatGptComplete" => failed("the login"),
        b"mcpServer/oauthLogin/completed" => failed(&format!("the login to {}", say("name"))),
        b"windowsSandbox/setupCompleted" => failed("setting up the sandbox"),
        b"autoApprovalReview/strictReviewRequired" => Aside::Notice(
            NoticeLevel::Info,
            "automatic approval wants a strict review of this turn".to_owned(),
        ),
        b"item/autoApprovalReview/completed" => review(params),
        b"modelProvider/authRecoveryStarted" | b"modelProvider/authRecoveryCompleted" => {
            Aside::Notice(NoticeLevel::Info, say("message"))
        }
        b"thread/realtime/error" => Aside::Notice(NoticeLevel::Warning, say("message")),
        b"thread/reverted" => {
            Aside::Notice(NoticeLevel::Info, "the conversation was reverted".to_owned())
        }
        b"thread/environment/disconnected" => {
            let text = format!("environment {} disconnected", say("environmentId"));
            Aside::Notice(NoticeLevel::Warning, text)
        }
        b"thread/goal/updated" => goal(params),
        b"hook/completed" => hook(params),
        // The older protocol, told beside the newer one.
        _ if method.starts_with(b"codex/event/") => Aside::Nothing,
        _ if QUIET.iter().any(|quiet| quiet.as_bytes() == method) => Aside::Nothing,
        _ => return None,
    })
}

/// An automatic review of a call; one that was let through needs no word.
fn review(params: Value<'_>) -> Aside {
    let review = params.get("review").unwrap_or(params);
    let status = said(review.get("status")).unwrap_or_default();
    if matches!(status.as_str(), "approved" | "") {
        return Aside::Nothing;
    }
    let why = said(review.get("rationale")).map(|why| format!(": {why}")).unwrap_or_default();
    Aside::Notice(NoticeLevel::Warning, format!("automatic approval: {status}{why}"))
}

fn goal(params: Value<'_>) -> Aside {
    let goal = params.get("goal");
    let say = |key| said(goal.and_then(|goal| goal.get(key)));
    match (say("objective"), say("status")) {
        (Some(objective), status) => {
            let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
            Aside::Notice(NoticeLevel::Info, format!("goal: {objective}{status}"))
        }
        (None, _) => Aside::Nothing,
    }
}

/// A hook that ended; one that went well needs no word.
fn hook(params: Value<'_>) -> Aside {
    let run = params.get("run").unwrap_or(params);
    let say = |key| said(run.get(key)).unwrap_or_default();
    match say("status").as_str() {
        "completed" | "running" | "" => Aside::Nothing,
        status => {
            let text = format!("hook {} {status} {}", say("eventName"), say("statusMessage"));
            Aside::Notice(NoticeLevel::Warning, text.trim_end().to_owned())
        }
    }
}
