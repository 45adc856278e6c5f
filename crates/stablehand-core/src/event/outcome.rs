//! How a tool call ended, and the one mapping from that to a class, a sign and words.
//!
//! Every face and analysis that shows an outcome asks here, so an unknown outcome is never shown as
//! a success by one of them.

use serde::{Deserialize, Serialize};

/// How a tool call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// It worked.
    Success,
    /// It ran and failed.
    Failure {
        /// The exit code of a command, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The agent's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The user or a hook said no.
    Rejected {
        /// The reason given, may be empty.
        reason: String,
    },
    /// The agent's own permissions forbid it.
    Denied {
        /// The reason given, may be empty.
        reason: String,
    },
    /// It took longer than it may.
    TimedOut,
    /// It could not be started.
    SpawnError {
        /// The agent's words.
        message: String,
    },
    /// The agent does not say, or says something new.
    Unknown,
}

/// What an outcome comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutcomeClass {
    /// The call worked.
    Success,
    /// The call was made and failed.
    Failure,
    /// A person, a rule or the agent itself refused the call, or cancelled it.
    Refusal,
    /// The agent does not say.
    Unknown,
}

impl OutcomeClass {
    /// Returns the sign before a call in text.
    pub fn sign(self) -> char {
        match self {
            OutcomeClass::Success => '✓',
            OutcomeClass::Failure | OutcomeClass::Refusal => '✗',
            OutcomeClass::Unknown => '?',
        }
    }
}

impl Outcome {
    /// Returns what it comes to.
    pub fn class(&self) -> OutcomeClass {
        match self {
            Outcome::Success => OutcomeClass::Success,
            Outcome::Failure { .. } | Outcome::TimedOut | Outcome::SpawnError { .. } => {
                OutcomeClass::Failure
            }
            Outcome::Rejected { .. } | Outcome::Denied { .. } => OutcomeClass::Refusal,
            Outcome::Unknown => OutcomeClass::Unknown,
        }
    }

    /// Returns it in words; a reason is as long as the agent made it.
    pub fn describe(&self) -> String {
        let with = |word: &str, why: &str| match why.trim() {
            "" => word.to_owned(),
            why => format!("{word}: {why}"),
        };
        match self {
            Outcome::Success => "ok".to_owned(),
            Outcome::Failure { exit_code: Some(code), .. } => format!("exit {code}"),
            Outcome::Failure { message, .. } => {
                with("failed", message.as_deref().unwrap_or_default())
            }
            Outcome::Rejected { reason } => with("rejected", reason),
            Outcome::Denied { reason } => with("denied", reason),
            Outcome::TimedOut => "timed out".to_owned(),
            Outcome::SpawnError { message } => with("not started", message),
            Outcome::Unknown => "outcome unknown".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_success_has_the_sign_and_the_word_of_one() {
        let text = |text: &str| text.to_owned();
        let failure = |exit_code, message: Option<&str>| Outcome::Failure {
            exit_code,
            message: message.map(str::to_owned),
        };
        let table = [
            (Outcome::Success, OutcomeClass::Success, '✓', "ok"),
            (failure(Some(3), Some("no")), OutcomeClass::Failure, '✗', "exit 3"),
            (failure(None, Some("no oats\n")), OutcomeClass::Failure, '✗', "failed: no oats"),
            (failure(None, None), OutcomeClass::Failure, '✗', "failed"),
            (
                Outcome::Rejected { reason: text("cancelled") },
                OutcomeClass::Refusal,
                '✗',
                "rejected: cancelled",
            ),
            (Outcome::Denied { reason: text(" ") }, OutcomeClass::Refusal, '✗', "denied"),
            (Outcome::TimedOut, OutcomeClass::Failure, '✗', "timed out"),
            (
                Outcome::SpawnError { message: text("gone") },
                OutcomeClass::Failure,
                '✗',
                "not started: gone",
            ),
            (Outcome::Unknown, OutcomeClass::Unknown, '?', "outcome unknown"),
        ];
        for (outcome, class, sign, words) in table {
            assert_eq!(
                (outcome.class(), outcome.class().sign(), outcome.describe().as_str()),
                (class, sign, words)
            );
        }
    }
}
