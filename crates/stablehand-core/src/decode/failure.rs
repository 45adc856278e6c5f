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
    let head = text.get(..text.floor_char_boundary(LOOK)).unwrap_or(text).as_bytes();
    let mut best = WORDINGS.len();
    // Nearly no four letters of a text belong to a wording, and one look tells. Every other place
    // is enough, since each wording has an entry for the letters from its second one on.
    for (n, four) in head.windows(4).step_by(2).enumerate() {
        let letters = folded(four.first_chunk().copied().unwrap_or_default());
        let (word, bit) = place_of(letters);
        if BEGINNINGS.get(word).is_some_and(|bits| bits & bit != 0) {
            best = best_at(head, 2 * n, letters, best);
        }
    }
    WORDINGS.get(best).map(|(kind, _)| *kind)
}

/// The place of the first kind with a wording that has these letters at `at`, or the best so far
/// where that comes first.
fn best_at(text: &[u8], at: usize, letters: u32, mut best: usize) -> usize {
    let mut next = FIRST.get(bucket_of(letters));
    while let Some(entry) = next.and_then(|at| ENTRIES.get(usize::from(*at))) {
        let wording = entry.wording.as_bytes();
        let begins = || {
            let text = text.get(at.checked_sub(entry.before)?..)?.get(..wording.len())?;
            text.eq_ignore_ascii_case(wording).then_some(())
        };
        if entry.letters == letters && entry.kind < best && begins().is_some() {
            best = entry.kind;
        }
        next = Some(&entry.next);
    }
    best
}

/// A wording, to be found by four of its letters: no wording has fewer than five.
#[derive(Clone, Copy)]
struct Entry {
    letters: u32,
    /// How many stand before those.
    before: usize,
    /// The place of its kind.
    kind: usize,
    wording: &'static str,
    /// The next entry of its bucket; beyond the end for none.
    next: u8,
}

const COUNT: usize = {
    let (mut count, mut kind) = (0, 0);
    while kind < WORDINGS.len() {
        count += 2 * WORDINGS[kind].1.len();
        kind += 1;
    }
    // The last number of a byte stands for none.
    assert!(count < u8::MAX as usize);
    count
};

const BUCKETS: usize = 64;

static FIRST: [u8; BUCKETS] = TABLE.0;
static ENTRIES: [Entry; COUNT] = TABLE.1;

const TABLE: ([u8; BUCKETS], [Entry; COUNT]) = {
    let mut first = [u8::MAX; BUCKETS];
    let mut entries = [Entry { letters: 0, before: 0, kind: 0, wording: "", next: u8::MAX }; COUNT];
    let (mut at, mut kind) = (0, 0);
    while kind < WORDINGS.len() {
        let wordings = WORDINGS[kind].1;
        let mut i = 0;
        while i < 2 * wordings.len() {
            let (wording, before) = (wordings[i / 2], i % 2);
            let b = wording.as_bytes();
            let letters = folded([b[before], b[before + 1], b[before + 2], b[before + 3]]);
            let next = first[bucket_of(letters)];
            entries[at] = Entry { letters, before, kind, wording, next };
            first[bucket_of(letters)] = at as u8;
            (at, i) = (at + 1, i + 1);
        }
        kind += 1;
    }
    (first, entries)
};

/// Large letters and small ones alike, and some signs: the wording itself is compared after that.
const fn folded(letters: [u8; 4]) -> u32 {
    u32::from_le_bytes(letters) | 0x2020_2020
}

const fn bucket_of(letters: u32) -> usize {
    (letters.wrapping_mul(0x9e37_79b1) >> 26) as usize
}

/// The letters of all entries, hashed to bits.
static BEGINNINGS: [u64; 256] = {
    let mut bits = [0; 256];
    let mut at = 0;
    while at < COUNT {
        let (word, bit) = place_of(TABLE.1[at].letters);
        bits[word] |= bit;
        at += 1;
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
                    format!("at an odd place: {wording}, then more"),
                ] {
                    assert_eq!(failure_of(&text), expected, "{text}");
                }
            }
        }
        assert_eq!(failure_of("quot"), None);
        assert_eq!(failure_of(&format!("{}quota", "é".repeat(LOOK))), None);
    }
}
