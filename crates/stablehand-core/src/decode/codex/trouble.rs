//! Codex's words for what goes wrong.
//!
//! A retry is told as an error that says `Reconnecting... 1/5 (why)` and ends nothing. A request
//! that the model's service refused comes as the body of the answer, JSON in a string. The app
//! server adds a name (`codexErrorInfo`); `exec` has the words only.

use super::super::failure::failure_of;
pub(super) use super::super::kit::cut;
use super::wire::said;
use crate::event::{FailureKind, TurnEnd};
use crate::json::{self, Scan, Value};

/// The number of the attempt, where a message announces one.
pub(super) fn attempt(message: &str) -> Option<u64> {
    let rest = message.strip_prefix("Reconnecting")?.trim_start_matches(['.', '…', ' ']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    // An announcement without a number is one all the same.
    Some(rest.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(1))
}

/// How a turn ended that failed: `error` has a `message`, and perhaps the name of what happened.
pub(super) fn end(error: Option<Value<'_>>) -> TurnEnd {
    let message = error
        .and_then(|error| said(error.get("message")).or_else(|| said(Some(error))))
        .unwrap_or_else(|| "the turn failed".to_owned());
    let info = error.and_then(|error| error.get("codexErrorInfo"));
    let (name, status) = info.map_or((&b""[..], None), named);
    if name == b"cyberPolicy" || is_refusal(&message) {
        return TurnEnd::Refused;
    }
    if name == b"sessionBudgetExceeded" {
        return TurnEnd::Limit;
    }
    if matches!(message.as_str(), "interrupted" | "turn interrupted" | "Turn interrupted") {
        return TurnEnd::Cancelled;
    }
    let failure = by_name(name)
        .or_else(|| failure_of(&message))
        .or_else(|| status.or_else(|| status_in(&message)).map(by_status))
        .or_else(|| by_loose_name(name))
        .unwrap_or(FailureKind::Internal);
    TurnEnd::Failed { failure, message: cut(unpacked(message)) }
}

/// The words of an answer that came as JSON in a string.
pub(super) fn unpacked(message: String) -> String {
    let text = message.trim();
    if !text.starts_with('{') {
        return message;
    }
    let Scan::Object(object) = json::scan(text.as_bytes()) else {
        return message;
    };
    let inner = object
        .get("error")
        .and_then(|error| said(error.get("message")).or_else(|| said(Some(error))))
        .or_else(|| said(object.get("message")))
        .or_else(|| said(object.get("detail")));
    inner.unwrap_or(message)
}

/// `"name"` or `{"name":{"httpStatusCode":n}}`.
fn named(info: Value<'_>) -> (&[u8], Option<u64>) {
    if let Some(name) = info.raw_str() {
        return (name, None);
    }
    let Some((name, details)) = info.members().next() else {
        return (b"", None);
    };
    (name, details.get("httpStatusCode").and_then(Value::u64))
}

/// Names that leave no doubt.
fn by_name(name: &[u8]) -> Option<FailureKind> {
    Some(match name {
        b"contextWindowExceeded" => FailureKind::ContextLength,
        b"usageLimitExceeded" => FailureKind::Quota,
        b"serverOverloaded" => FailureKind::Overloaded,
        b"modelCap" => FailureKind::RateLimit,
        b"unauthorized" => FailureKind::Auth,
        b"sandboxError" => FailureKind::Tool,
        _ => return None,
    })
}

/// Names that say less than the message may.
fn by_loose_name(name: &[u8]) -> Option<FailureKind> {
    Some(match name {
        b"badRequest" => FailureKind::BadRequest,
        b"internalServerError" => FailureKind::Internal,
        b"httpConnectionFailed"
        | b"responseStreamConnectionFailed"
        | b"responseStreamDisconnected"
        | b"responseTooManyFailedAttempts" => FailureKind::Network,
        _ => return None,
    })
}

fn is_refusal(message: &str) -> bool {
    let says = |words: &str| memchr::memmem::find(message.as_bytes(), words.as_bytes()).is_some();
    says("usage policy") && says("flagged")
}

/// The number behind the first `status`.
fn status_in(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("status")?;
    let rest = rest.trim_start_matches([':', ' ', '=']);
    rest.get(..3)?.parse().ok()
}

fn by_status(status: u64) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Auth,
        402 => FailureKind::Quota,
        404 => FailureKind::BadModel,
        408 => FailureKind::Network,
        413 => FailureKind::ContextLength,
        429 => FailureKind::RateLimit,
        502..=504 | 529 => FailureKind::Overloaded,
        400..=499 => FailureKind::BadRequest,
        _ => FailureKind::Internal,
    }
}
