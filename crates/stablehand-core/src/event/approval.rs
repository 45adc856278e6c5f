//! What was chosen when an agent asked.

use crate::speak::Answer;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The answer to an approval. In JSON it is one word.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum Choice {
    /// Yes, this once.
    Allow,
    /// Yes, this once, with another input.
    AllowWith,
    /// Yes, and from now on.
    AllowAlways,
    /// No.
    Deny,
    /// The agent took the question back, or its turn ended first.
    Cancelled,
    /// An option of the question, or the agent's own word.
    Option(String),
}

impl Choice {
    /// Returns the word for it, as in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            Choice::Allow => "allow",
            Choice::AllowWith => "allow_with",
            Choice::AllowAlways => "allow_always",
            Choice::Deny => "deny",
            Choice::Cancelled => "cancelled",
            Choice::Option(option) => option,
        }
    }
}

impl From<String> for Choice {
    fn from(word: String) -> Choice {
        match word.as_str() {
            "allow" => Choice::Allow,
            "allow_with" => Choice::AllowWith,
            "allow_always" => Choice::AllowAlways,
            "deny" => Choice::Deny,
            "cancelled" => Choice::Cancelled,
            _ => Choice::Option(word),
        }
    }
}

impl From<Choice> for String {
    fn from(choice: Choice) -> String {
        match choice {
            Choice::Option(option) => option,
            choice => choice.as_str().to_owned(),
        }
    }
}

impl From<&Answer> for Choice {
    fn from(answer: &Answer) -> Choice {
        match answer {
            Answer::Allow => Choice::Allow,
            Answer::AllowWith { .. } => Choice::AllowWith,
            Answer::AllowAlways => Choice::AllowAlways,
            Answer::Deny { .. } => Choice::Deny,
            Answer::Choose(option) => Choice::Option(option.clone()),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
