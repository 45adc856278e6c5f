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
    let mut best = WORDINGS.len();
    let mut last = 0;
    for (at, byte) in head.bytes().enumerate() {
        // Nearly no four letters of a text are the beginning of a wording, and one look tells.
        last = last >> 8 | u32::from(byte) << 24;
        let (word, bit) = place_of(last);
        if BEGINNINGS.get(word).is_some_and(|bits| bits & bit != 0) {
            let from = head.as_bytes().get(at.saturating_sub(3)..).unwrap_or_default();
            let begins = |wording: &&str| {
                wording.as_bytes().first_chunk() == Some(&last.to_le_bytes())
                    && from.starts_with(wording.as_bytes())
            };
            let mut before = WORDINGS.iter().take(best);
            best = before.position(|(_, wordings)| wordings.iter().any(begins)).unwrap_or(best);
        }
    }
    WORDINGS.get(best).map(|(kind, _)| *kind)
}

/// The first four letters of all wordings, hashed to bits: no wording is shorter.
const BEGINNINGS: [u64; 256] = {
    let mut bits = [0; 256];
    let mut kind = 0;
    while kind < WORDINGS.len() {
        let wordings = WORDINGS[kind].1;
        let mut i = 0;
        while i < wordings.len() {
            let b = wordings[i].as_bytes();
            let (word, bit) = place_of(u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            bits[word] |= bit;
            i += 1;
        }
        kind += 1;
    }
    bits
};

const fn place_of(letters: u32) -> (usize, u64) {
    let hash = letters.wrapping_mul(0x9e37_79b1) >> 18;
    ((hash >> 6) as usize, 1 << (hash & 63))
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

    #[test]
    fn every_wording_is_found_wherever_it_stands_and_the_first_kind_wins() {
        for (place, (_, wordings)) in WORDINGS.iter().enumerate() {
            for wording in *wordings {
                // A wording may hold one of a kind that comes first.
                let holds = |(_, others): &&(FailureKind, &[&str])| {
                    others.iter().any(|other| wording.contains(other))
                };
                let expected = WORDINGS.iter().take(place + 1).find(holds).map(|(kind, _)| *kind);
                for text in [
                    (*wording).to_owned(),
                    format!("✓ {}!", wording.to_ascii_uppercase()),
                    format!("failed to run step, {wording}"),
                ] {
                    assert_eq!(failure_of(&text), expected, "{text}");
                }
            }
        }
        assert_eq!(failure_of("quot"), None);
        assert_eq!(failure_of(&format!("{}quota", "é".repeat(LOOK))), None);
    }
}
