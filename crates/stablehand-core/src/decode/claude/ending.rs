//! The `result` line: how a turn ended, and what it used.
//!
//! `subtype` alone does not tell: a request that failed for good ends as `success` with `is_error`.
//! `usage` is of the turn and of the main conversation only; the cost is a running total of the
//! process (and of the session it resumed). Where the newest versions say what was used since the
//! last result, by all models and sub-agents, that is taken.

use super::super::failure_of;
use super::fields::Fields;
use super::tools::{cut, first};
use crate::event::{FailureKind, Tokens, TurnEnd, Usage};
use crate::json::Value;
use serde::{Deserialize, Serialize};

/// What the agent said of a request that failed for good, before the turn ended with it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RequestError {
    /// The agent's word: `authentication_failed`, `rate_limit` and so on.
    pub(super) word: String,
    /// The service's answer.
    pub(super) status: Option<u64>,
    pub(super) kind: String,
}

impl RequestError {
    pub(super) fn read(fields: &Fields<'_, '_>) -> RequestError {
        // The stream and the transcripts write names in two ways.
        let get = |key, other| fields.get(key).or_else(|| fields.get(other));
        RequestError {
            word: fields.get("error").and_then(Value::string).unwrap_or_default(),
            status: get("api_error_status", "apiErrorStatus").and_then(Value::u64),
            kind: get("api_error_type", "apiErrorType").and_then(Value::string).unwrap_or_default(),
        }
    }
}

/// How the turn ended, by the `result` line and what went before it.
pub(super) fn turn_end(
    fields: &Fields<'_, '_>,
    subtype: &[u8],
    interrupted: bool,
    error: Option<RequestError>,
) -> TurnEnd {
    let raw = |key| fields.get(key).and_then(Value::raw_str).unwrap_or_default();
    let (reason, stop) = (raw("terminal_reason"), raw("stop_reason"));
    let failed = fields.get("is_error").and_then(Value::bool) == Some(true);
    match subtype {
        _ if reason.starts_with(b"aborted") => return TurnEnd::Cancelled,
        b"error_during_execution" if interrupted => return TurnEnd::Cancelled,
        _ if reason == b"max_turns" || subtype.starts_with(b"error_max_") => return TurnEnd::Limit,
        _ if stop == b"refusal" => return TurnEnd::Refused,
        b"success" | b"" if !failed && stop == b"max_tokens" => return TurnEnd::Limit,
        b"success" | b"" if !failed => return TurnEnd::Done,
        _ => {}
    }
    let message = message(fields, subtype);
    let mut error = error.unwrap_or_default();
    error.status = fields
        .get("api_error_status")
        .and_then(Value::u64)
        .or(error.status)
        .or_else(|| status_in(&message));
    let failure = match reason {
        b"prompt_too_long" => FailureKind::ContextLength,
        _ => kind_of(&error, &message),
    };
    TurnEnd::Failed { failure, message: cut(message) }
}

/// Returns true if a result of that kind is known.
pub(super) fn is_known(subtype: &[u8]) -> bool {
    const KNOWN: &[&[u8]] = &[
        b"success",
        b"",
        b"error",
        b"error_during_execution",
        b"error_max_turns",
        b"error_max_budget_usd",
        b"error_max_structured_output_retries",
    ];
    KNOWN.contains(&subtype)
}

/// The agent's words for the limit that ended the turn, which the end itself does not have.
pub(super) fn limit(fields: &Fields<'_, '_>, end: &TurnEnd) -> Option<String> {
    if *end != TurnEnd::Limit {
        return None;
    }
    let errors: Vec<String> = fields.get("errors")?.elements().filter_map(Value::string).collect();
    Some(errors.join("\n")).filter(|words| !words.is_empty())
}

/// The agent's words for what went wrong.
fn message(fields: &Fields<'_, '_>, subtype: &[u8]) -> String {
    let said = fields.get("result").and_then(Value::cut_str).filter(|text| !text.is_empty());
    said.or_else(|| {
        let errors = fields.get("errors")?.elements().filter_map(Value::string);
        Some(errors.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty())
    })
    .or_else(|| {
        let error = fields.get("error")?;
        error.string().or_else(|| first(error, &["message", "type"]))
    })
    .unwrap_or_else(|| String::from_utf8_lossy(subtype).into_owned())
}

/// `API Error: 401 …`
fn status_in(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("API Error: ")?;
    let digits = rest.get(..3)?;
    digits.parse().ok().filter(|status| (400..600).contains(status))
}

pub(super) fn kind_of(error: &RequestError, message: &str) -> FailureKind {
    let wording = failure_of(message);
    if wording == Some(FailureKind::ContextLength) {
        return FailureKind::ContextLength;
    }
    let by_word = match error.word.as_str() {
        "authentication_failed" | "oauth_org_not_allowed" => Some(FailureKind::Auth),
        "billing_error" => Some(FailureKind::Quota),
        "model_not_found" => Some(FailureKind::BadModel),
        "overloaded" => Some(FailureKind::Overloaded),
        // A plan that is used up is told in the same way.
        "rate_limit" if wording == Some(FailureKind::Quota) => wording,
        "rate_limit" => Some(FailureKind::RateLimit),
        _ => None,
    };
    let by_status = || match error.status? {
        401 | 403 => Some(FailureKind::Auth),
        402 => Some(FailureKind::Quota),
        404 if message.contains("model") => Some(FailureKind::BadModel),
        413 => Some(FailureKind::ContextLength),
        429 if wording == Some(FailureKind::Quota) => wording,
        429 => Some(FailureKind::RateLimit),
        503 | 529 => Some(FailureKind::Overloaded),
        400..=499 => wording.or(Some(FailureKind::BadRequest)),
        500..=599 => Some(FailureKind::Internal),
        _ => None,
    };
    let by_kind = || match error.kind.as_str() {
        "authentication_error" | "permission_error" => Some(FailureKind::Auth),
        "billing_error" => Some(FailureKind::Quota),
        "rate_limit_error" => Some(FailureKind::RateLimit),
        "overloaded_error" => Some(FailureKind::Overloaded),
        "request_too_large" => Some(FailureKind::ContextLength),
        "timeout_error" => Some(FailureKind::Network),
        "invalid_request_error" => Some(FailureKind::BadRequest),
        _ => None,
    };
    by_word.or_else(by_status).or_else(by_kind).or(wording).unwrap_or(match error.word.as_str() {
        "invalid_request" => FailureKind::BadRequest,
        _ => FailureKind::Internal,
    })
}

/// What the turn used. `cost_before` is the total that the last result stated, and then this one's.
pub(super) fn usage(fields: &Fields<'_, '_>, cost_before: &mut f64) -> Option<Usage> {
    let total = fields.get("total_cost_usd").and_then(Value::f64);
    let before = match total {
        Some(total) => std::mem::replace(cost_before, total),
        None => *cost_before,
    };
    let since = fields.get("model_usage_since_last_result").filter(|since| since.is_object());
    if let Some(tokens) = since.and_then(of_models) {
        return Some(Usage::Turn(tokens));
    }
    let mut tokens = of_conversation(fields.get("usage").filter(|used| used.is_object())?);
    // A total that fell was begun anew.
    tokens.cost_usd = total.map(|total| if total >= before { total - before } else { total });
    Some(Usage::Turn(tokens))
}

/// The sum over `{<model>:{inputTokens,…}}`; nothing where no model is named.
fn of_models(models: Value<'_>) -> Option<Tokens> {
    let mut sum: Option<Tokens> = None;
    for (_, model) in models.members() {
        let sum = sum.get_or_insert_default();
        for (key, value) in model.members() {
            let n = value.u64().unwrap_or(0);
            match key {
                b"inputTokens" => sum.input = sum.input.saturating_add(n),
                b"outputTokens" => sum.output = sum.output.saturating_add(n),
                b"cacheReadInputTokens" => sum.cache_read = sum.cache_read.saturating_add(n),
                b"cacheCreationInputTokens" => {
                    sum.cache_write = sum.cache_write.saturating_add(n);
                }
                b"thinkingTokens" => sum.reasoning = sum.reasoning.saturating_add(n),
                b"costUSD" => {
                    let cost = value.f64().filter(|cost| cost.is_finite()).unwrap_or(0.0);
                    *sum.cost_usd.get_or_insert(0.0) += cost;
                }
                _ => {}
            }
        }
    }
    sum
}

pub(super) fn of_conversation(used: Value<'_>) -> Tokens {
    let mut tokens = Tokens::default();
    for (key, value) in used.members() {
        let n = || value.u64().unwrap_or(0);
        match key {
            b"input_tokens" => tokens.input = n(),
            b"output_tokens" => tokens.output = n(),
            b"cache_read_input_tokens" => tokens.cache_read = n(),
            b"cache_creation_input_tokens" => tokens.cache_write = n(),
            b"output_tokens_details" => {
                tokens.reasoning = value.get("thinking_tokens").and_then(Value::u64).unwrap_or(0);
            }
            _ => {}
        }
    }
    tokens
}
