//! `system` lines and their kin: what the agent tells about itself.
//!
//! The family grows with every version. What needs an answer or changes what is believed has a
//! branch; what only ticks is known and silent; the rest is passed on where it has words.

use super::fields::Fields;
use super::tools::first;
use crate::event::{EventKind, NoticeLevel};
use crate::json::Value;

/// What a line of this family means.
#[derive(Debug)]
pub(super) enum Told {
    Nothing,
    Notice(NoticeLevel, String),
}

/// Reads a `system` line that is neither the first line nor a retry nor a denial.
pub(super) fn system(fields: &Fields<'_, '_>) -> Told {
    let say = |key| fields.get(key).and_then(Value::string).filter(|text| !text.is_empty());
    match fields.subtype {
        // They tick, or they repeat what tools and turns say.
        b"status"
        | b"thinking_tokens"
        | b"hook_started"
        | b"hook_progress"
        | b"task_started"
        | b"task_progress"
        | b"task_updated"
        | b"files_persisted"
        | b"session_state_changed"
        | b"elicitation_complete"
        | b"commands_changed" => Told::Nothing,
        b"hook_response" => hook(fields),
        b"compact_boundary" => {
            let trigger = fields.get("compact_metadata").and_then(|it| first(it, &["trigger"]));
            let how = trigger.map(|trigger| format!(" ({trigger})")).unwrap_or_default();
            Told::Notice(NoticeLevel::Info, format!("the conversation was compacted{how}"))
        }
        b"task_notification" => {
            let status = say("status").unwrap_or_else(|| "reported".to_owned());
            let about = say("summary").map(|about| format!(": {about}")).unwrap_or_default();
            let level = match status.as_str() {
                "failed" => NoticeLevel::Warning,
                _ => NoticeLevel::Info,
            };
            Told::Notice(level, format!("a background task {status}{about}"))
        }
        subtype => match fields.words() {
            Some(words) if subtype.ends_with(b"error") => Told::Notice(NoticeLevel::Warning, words),
            Some(words) => Told::Notice(NoticeLevel::Info, words),
            None => Told::Nothing,
        },
    }
}

/// A hook that ended; only one that went wrong is worth a word.
fn hook(fields: &Fields<'_, '_>) -> Told {
    let say = |key| fields.get(key).and_then(Value::string).unwrap_or_default();
    let code = fields.get("exit_code").and_then(Value::i64).unwrap_or(0);
    let outcome = say("outcome");
    if code == 0 && matches!(outcome.as_str(), "success" | "") {
        return Told::Nothing;
    }
    let words = [say("stderr"), say("output")].into_iter().find(|words| !words.trim().is_empty());
    let words = words.map(|words| format!(": {}", words.trim())).unwrap_or_default();
    let text = format!("hook {} ended with {outcome}, exit code {code}{words}", say("hook_name"));
    Told::Notice(NoticeLevel::Warning, text)
}

/// Lines of other types that are no part of the conversation; `None` for a type that is not known.
pub(super) fn aside(fields: &Fields<'_, '_>) -> Option<Told> {
    Some(match fields.kind {
        b"tool_progress"
        | b"tool_use_summary"
        | b"prompt_suggestion"
        | b"keep_alive"
        | b"conversation_reset"
        | b"streamlined_text"
        | b"streamlined_tool_use_summary" => Told::Nothing,
        b"rate_limit_event" => {
            let info = fields.get("rate_limit_info");
            let say = |key| info.and_then(|info| first(info, &[key]));
            match say("status").as_deref() {
                None | Some("allowed") => Told::Nothing,
                Some(status) => {
                    let which = say("rateLimitType").unwrap_or_default();
                    let text = format!("rate limit {which}: {status}");
                    Told::Notice(NoticeLevel::Warning, text)
                }
            }
        }
        b"auth_status" => match fields.get("error").and_then(Value::string) {
            Some(error) => Told::Notice(NoticeLevel::Error, error),
            None => Told::Nothing,
        },
        b"error" => match fields.words() {
            Some(words) => Told::Notice(NoticeLevel::Error, words),
            None => return None,
        },
        _ => return None,
    })
}

/// `api_retry`, and `retry` of agents that count nothing.
pub(super) fn retry(fields: &Fields<'_, '_>) -> EventKind {
    let number = |key| fields.get(key).and_then(Value::u64);
    let error = fields.get("error").and_then(Value::string).filter(|text| !text.is_empty());
    let reason = || fields.get("data").and_then(|data| first(data, &["reason"]));
    let status = number("error_status").map(|status| format!(" ({status})"));
    let most = number("max_retries").map(|most| format!(", of {most}"));
    let delay = number("retry_delay_ms").map(|ms| format!(", in {ms} ms"));
    let parts = [error.or_else(reason), status, most, delay];
    let detail: String = parts.into_iter().flatten().collect();
    EventKind::RetryScheduled {
        attempt: number("attempt").unwrap_or(0),
        detail: Some(detail).filter(|detail| !detail.is_empty()),
    }
}
