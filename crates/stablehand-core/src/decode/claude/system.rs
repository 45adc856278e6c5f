//! `system` lines and their kin: what the agent tells about itself.
//!
//! The family grows with every version. What needs an answer or changes what is believed has a
//! branch; what only ticks is known and silent; the rest is passed on where it has words.

use super::fields::Fields;
use super::tools::first;
use crate::event::NoticeLevel;
use crate::json::Value;

/// What a line of this family means.
#[derive(Debug)]
pub(super) enum Told {
    Nothing,
    Notice(NoticeLevel, String),
    /// A request is made again: which attempt it is, and what the agent says about it.
    Retry {
        attempt: u64,
        detail: Option<String>,
    },
    /// A word that is not known, what it stands for, and what the line says beside it.
    Strange {
        what: &'static str,
        word: Vec<u8>,
        text: Option<String>,
    },
}

/// Reads a `system` line that is neither the first line nor a retry nor a denial.
pub(super) fn system(fields: &Fields<'_, '_>) -> Told {
    let say = |key| fields.get(key).and_then(Value::string).filter(|text| !text.is_empty());
    match fields.subtype {
        // They tick, or they repeat what tools and turns say.
        b"thinking_tokens"
        | b"hook_started"
        | b"hook_progress"
        | b"task_started"
        | b"task_progress"
        | b"files_persisted"
        | b"session_state_changed"
        | b"elicitation_complete"
        | b"commands_changed" => Told::Nothing,
        b"status" => match say("compact_result").as_deref() {
            Some("failed") => {
                let why = say("compact_error").map(|why| format!(": {why}")).unwrap_or_default();
                Told::Notice(NoticeLevel::Warning, format!("compaction failed{why}"))
            }
            None | Some("success") => Told::Nothing,
            Some(other) => strange("compact_result", other),
        },
        b"task_updated" => task_updated(fields),
        b"session_writes_lost" => {
            let lost = fields.get("lost").into_iter().flat_map(Value::elements);
            let lost: Vec<String> = lost.filter_map(Value::string).collect();
            let code = say("error_code").unwrap_or_default();
            let text = format!("the agent could not write its {} ({code})", lost.join(" and "));
            Told::Notice(NoticeLevel::Error, text)
        }
        b"worker_shutting_down" => {
            let why = say("reason").map(|why| format!(": {why}")).unwrap_or_default();
            Told::Notice(NoticeLevel::Warning, format!("the agent is shutting down{why}"))
        }
        b"informational" => {
            let level = match say("level").as_deref() {
                Some("warning") => NoticeLevel::Warning,
                None | Some("info" | "notice" | "suggestion") => NoticeLevel::Info,
                Some(other) => {
                    let (what, word) = ("level", other.as_bytes().to_vec());
                    return Told::Strange { what, word, text: fields.words() };
                }
            };
            Told::Notice(level, fields.words().unwrap_or_default())
        }
        b"plugin_install" => match say("status").as_deref() {
            Some("failed") => {
                let (name, why) = (say("name"), say("error"));
                let text = format!(
                    "plugin {} was not installed: {}",
                    name.unwrap_or_default(),
                    why.unwrap_or_default()
                );
                Told::Notice(NoticeLevel::Warning, text)
            }
            None | Some("started" | "installed" | "completed") => Told::Nothing,
            Some(other) => strange("status of a plugin", other),
        },
        b"memory_recall" => {
            let memories = fields.get("memories").into_iter().flat_map(Value::elements);
            let paths: Vec<String> = memories.filter_map(|it| first(it, &["path"])).collect();
            Told::Notice(NoticeLevel::Info, format!("recalled {}", paths.join(", ")))
        }
        b"control_request_progress" => match say("status").as_deref() {
            Some("api_retry") => retry(fields),
            None | Some("started") => Told::Nothing,
            Some(other) => strange("status of a request", other),
        },
        b"model_refusal_no_fallback" | b"model_refusal_fallback" | b"mirror_error" => {
            Told::Notice(NoticeLevel::Warning, fields.words().unwrap_or_default())
        }
        b"notification" | b"local_command_output" => match fields.words() {
            Some(words) => Told::Notice(NoticeLevel::Info, words),
            None => Told::Nothing,
        },
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
                "completed" | "reported" => NoticeLevel::Info,
                _ => NoticeLevel::Warning,
            };
            Told::Notice(level, format!("a background task {status}{about}"))
        }
        subtype => Told::Strange { what: "subtype", word: subtype.to_vec(), text: fields.words() },
    }
}

fn strange(what: &'static str, word: &str) -> Told {
    Told::Strange { what, word: word.as_bytes().to_vec(), text: None }
}

/// A task in the background; only one that went wrong is worth a word.
fn task_updated(fields: &Fields<'_, '_>) -> Told {
    let patch = fields.get("patch");
    let say = |key| patch.and_then(|patch| first(patch, &[key]));
    match say("status").as_deref() {
        Some(status @ ("failed" | "killed")) => {
            let what = say("description").map(|what| format!(" ({what})")).unwrap_or_default();
            let why = say("error").map(|why| format!(": {why}")).unwrap_or_default();
            Told::Notice(NoticeLevel::Warning, format!("a background task {status}{what}{why}"))
        }
        None | Some("pending" | "running" | "completed" | "paused") => Told::Nothing,
        Some(other) => strange("status of a task", other),
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
        b"tool_progress" => match fields.get("subagent_retry").filter(|it| it.is_object()) {
            Some(retry) => sub_agent_retry(retry),
            None => Told::Nothing,
        },
        b"conversation_reset" => {
            let trigger = fields.get("trigger").and_then(Value::string);
            let how = trigger.map(|trigger| format!(" ({trigger})")).unwrap_or_default();
            Told::Notice(NoticeLevel::Info, format!("the conversation was reset{how}"))
        }
        b"active_goal" => {
            let goal = fields.get("value").filter(|value| value.is_object());
            match goal.and_then(|goal| first(goal, &["condition"])) {
                Some(condition) => {
                    let reason = goal.and_then(|goal| first(goal, &["last_reason"]));
                    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                    Told::Notice(NoticeLevel::Info, format!("goal: {condition}{reason}"))
                }
                None => Told::Nothing,
            }
        }
        b"tool_use_summary"
        | b"prompt_suggestion"
        | b"keep_alive"
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

/// A request of a sub-agent that is made again.
fn sub_agent_retry(retry: Value<'_>) -> Told {
    let number = |key| retry.get(key).and_then(Value::u64);
    let why = first(retry, &["error_category"]).unwrap_or_default();
    let status = number("error_status").map(|status| format!(" ({status})")).unwrap_or_default();
    let most = number("max_retries").map(|most| format!(", of {most}")).unwrap_or_default();
    Told::Retry {
        attempt: number("attempt").unwrap_or(0),
        detail: Some(format!("of a sub-agent: {why}{status}{most}")),
    }
}

/// `api_retry`, and `retry` of agents that count nothing.
pub(super) fn retry(fields: &Fields<'_, '_>) -> Told {
    let number = |key| fields.get(key).and_then(Value::u64);
    let error = fields.get("error").and_then(Value::string).filter(|text| !text.is_empty());
    let reason = || fields.get("data").and_then(|data| first(data, &["reason"]));
    let status = number("error_status").map(|status| format!(" ({status})"));
    let most = number("max_retries").map(|most| format!(", of {most}"));
    let delay = number("retry_delay_ms").map(|ms| format!(", in {ms} ms"));
    let parts = [error.or_else(reason), status, most, delay];
    let detail: String = parts.into_iter().flatten().collect();
    Told::Retry {
        attempt: number("attempt").unwrap_or(0),
        detail: Some(detail).filter(|detail| !detail.is_empty()),
    }
}
