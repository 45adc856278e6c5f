//! Identifiers as types, so that one kind cannot stand in for another.
//!
//! Ids that an agent gave us ([`SessionId`], [`CallId`]) are hostile text: they may hold newlines,
//! slashes or nothing at all. They are never used as a path, a log line or a line-split key;
//! [`SessionId::file_stem`] is the one way from an id to a file name.

use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use uuid::Uuid;

/// Why a text is none of our ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not an id; an id is a UUID, such as 01a1eaf3-3b1e-73bd-b14d-1564984ffb37")]
pub struct IdError;

/// Defines an id of ours: a UUID, of which later ones sort behind earlier ones.
macro_rules! own_ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(#[cfg_attr(feature = "schema", schemars(with = "String"))] pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<$name, IdError> {
                text.parse().map($name).map_err(|_| IdError)
            }
        }
    )*};
}

own_ids! {
    /// Our id of a session: it stays the same over every process, log and resume of the conversation.
    SessionKey
    /// Our id of a turn: one accepted prompt and everything until the agent is done with it.
    TurnId
    /// Our id of a log file, whatever its name.
    LogId
}

impl SessionKey {
    /// Returns when it was made; none for a UUID that Stablehand did not make.
    pub fn made_at(&self) -> Option<UnixMillis> {
        let at = self.0.get_timestamp().filter(|_| self.0.get_version_num() == 7)?;
        let (seconds, nanos) = at.to_unix();
        i64::try_from(seconds * 1000 + u64::from(nanos / 1_000_000)).ok().map(UnixMillis)
    }
}

/// The agent's own name for a conversation, as it said it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SessionId(pub String);

impl SessionId {
    /// A name that is safe as one component of a path: the id itself where it is plain, otherwise
    /// a readable remainder with a hash, so that two different ids never meet in one file.
    pub fn file_stem(&self) -> String {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let bytes = self.0.as_bytes();
        let leads_well = bytes.first().is_some_and(u8::is_ascii_alphanumeric);
        if leads_well && bytes.len() <= 64 && bytes.iter().all(|b| plain(*b)) {
            return self.0.clone();
        }
        let kept: String =
            bytes.iter().filter(|b| plain(**b)).take(24).map(|b| char::from(*b)).collect();
        let kept = kept.trim_start_matches(['-', '_']);
        let digest = digest64(bytes);
        if kept.is_empty() { format!("x{digest:016x}") } else { format!("{kept}-{digest:016x}") }
    }

    /// Whether the id can be handed to an agent as the value of an option: an id that begins with
    /// a dash would be read as another option, and control characters have no business there.
    pub fn is_safe_argument(&self) -> bool {
        !self.0.is_empty()
            && !self.0.starts_with('-')
            && self.0.len() <= 256
            && !self.0.chars().any(char::is_control)
    }
}

/// Whether an agent is meant by a name: by its own, or by that of a family whose members are called
/// `family:member`.
pub fn is_called(agent: &str, name: &str) -> bool {
    agent.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The agent's own id of a tool call. It may contain a literal newline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CallId(pub String);

/// Our ordinal of an item within a stream: the first thing the agent said is 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ItemId(pub u64);

/// Our id of a run: one agent process, from spawn to reaped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RunId(pub String);

/// The position of an event in its log; dense, from 1, given by one owner.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Seq(pub u64);

/// A 64-bit digest for names and for noticing repetition. Not for security.
///
/// FNV-1a over eight-byte words: stable across releases, because file names depend on it.
pub fn digest64(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        hash = (hash ^ word).wrapping_mul(PRIME);
        hash ^= hash >> 29;
    }
    for byte in words.remainder() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    }
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ids_are_their_own_file_name() {
        let id = SessionId("bc35b7fc-795f-4ee1-96f2-ed549a69b12d".into());
        assert_eq!(id.file_stem(), id.0);
    }

    #[test]
    fn hostile_ids_become_harmless_and_stay_apart() {
        let hostile = [
            "../../x\n",
            "../../x",
            "/etc/passwd",
            "",
            "-f",
            "..",
            ".",
            "a b",
            "CON\0",
            &"y".repeat(10_000),
            "é",
            "_",
            "x/../../y",
        ];
        let mut seen = std::collections::HashSet::new();
        for id in hostile {
            let stem = SessionId(id.into()).file_stem();
            assert!(stem.len() <= 64, "{stem}");
            assert!(
                stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
                "{stem:?}"
            );
            assert!(stem.as_bytes()[0].is_ascii_alphanumeric(), "{stem:?}");
            assert!(seen.insert(stem), "two ids share a file name: {id:?}");
        }
    }

    #[test]
    fn ids_that_look_like_options_are_no_arguments() {
        assert!(!SessionId("--force".into()).is_safe_argument());
        assert!(!SessionId("a\nb".into()).is_safe_argument());
        assert!(!SessionId(String::new()).is_safe_argument());
        assert!(SessionId("abc-1".into()).is_safe_argument());
    }
}
