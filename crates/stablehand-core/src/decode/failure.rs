//! From an agent's words to a kind of failure.
//!
//! Agents report most failures as free text, on either stream, and word them alike. This is the
//! one list of such wordings; what is done about a failure is decided elsewhere.

use crate::event::FailureKind;

/// Texts longer than this are looked at only so far: an error says what it is at its beginning.
const LOOK: usize = 4096;

/// Tried in order: the more telling wordings come first.
const WORDINGS: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::Approval,
        &[
            "workspace trust required",
            "workspace is not trusted",
            "not running in a trusted directory",
        ],
    ),
    (
        FailureKind::Auth,
        &[
            "authentication required",
            "authentication failed",
            "not logged in",
            "api key is invalid",
            "invalid api key",
            "invalid x-api-key",
            "incorrect api key",
            "api key not valid",
            "must specify the gemini_api_key",
            "set an auth method",
            "unauthorized",
            "unauthenticated",
            "agent login",
            "invalid_api_key",
            "missing environment variable",
            "token has expired",
        ],
    ),
    (
        FailureKind::BadModel,
        &[
            "cannot use this model",
            "named models unavailable",
            "model not found",
            "unknown model",
            "is not found for api version",
            "model_not_found",
        ],
    ),
    (
        FailureKind::ContextLength,
        &[
            "context length",
            "context window",
            "prompt is too long",
            "too many tokens",
            "input token count",
            "context_length",
        ],
    ),
    (
        FailureKind::Quota,
        &[
            "usage limit",
            "spend limit",
            "spending limit",
            "quota",
            "out of credits",
            "credit balance",
            "actionrequirederror",
            "upgrade your plan",
        ],
    ),
    (
        FailureKind::RateLimit,
        &["rate limit", "rate_limit", "too many requests", "resource_exhausted"],
    ),
    (FailureKind::Overloaded, &["overloaded", "at capacity", "service unavailable", "high demand"]),
    (
        FailureKind::Network,
        &[
            "econnrefused",
            "econnreset",
            "enotfound",
            "etimedout",
            "eai_again",
            "getaddrinfo",
            "socket hang up",
            "fetch failed",
            "network error",
            "connection error",
            "unable to connect",
            "request timed out",
            "connection lost",
            "api error: terminated",
            "[unavailable]",
            "[deadline_exceeded]",
            "stream disconnected",
            "error sending request",
            "connection refused",
            "connection reset",
        ],
    ),
    (
        FailureKind::BadRequest,
        &[
            "invalid_argument",
            "failed to claim persistent session",
            "is already in use",
            "no conversation found",
            "bad request",
            "invalid_request_error",
            "unknown option",
        ],
    ),
    (
        FailureKind::Internal,
        &[
            "[internal]",
            "exceeded max retries",
            "internal error",
            "retriableerror",
            "failed to run step",
        ],
    ),
];

/// The kind of failure that a text speaks of, where it does.
pub fn failure_of(text: &str) -> Option<FailureKind> {
    let head = text.get(..text.floor_char_boundary(LOOK)).unwrap_or(text).to_ascii_lowercase();
    WORDINGS
        .iter()
        .find(|(_, wordings)| wordings.iter().any(|wording| head.contains(wording)))
        .map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_wordings_are_told_apart() {
        let cases = [
            (
                "Error: Authentication required. Please run 'agent login' first",
                Some(FailureKind::Auth),
            ),
            ("⚠ Warning: The provided API key is invalid.", Some(FailureKind::Auth)),
            ("⚠ Workspace Trust Required", Some(FailureKind::Approval)),
            ("Cannot use this model: x. Available models: y", Some(FailureKind::BadModel)),
            (
                "ActionRequiredError: Named models unavailable Free plans can only use Auto",
                Some(FailureKind::BadModel),
            ),
            ("You've hit your usage limit", Some(FailureKind::Quota)),
            ("RetriableError: [invalid_argument] Error", Some(FailureKind::BadRequest)),
            ("T: [internal] Failed to run step, exceeded max retries", Some(FailureKind::Internal)),
            ("Error: Session ID \"x\" is already in use.", Some(FailureKind::BadRequest)),
            ("429 Too Many Requests", Some(FailureKind::RateLimit)),
            (
                "[API Error: {\"error\":{\"code\":400,\"message\":\"API key not valid.\",\"status\":\"INVALID_ARGUMENT\"}}]",
                Some(FailureKind::Auth),
            ),
            ("[API Error: terminated]", Some(FailureKind::Network)),
            ("Gemini CLI is not running in a trusted directory.", Some(FailureKind::Approval)),
            ("all is well", None),
        ];
        for (text, kind) in cases {
            assert_eq!(failure_of(text), kind, "{text}");
        }
    }
}
