//! Who asked for something, or decided it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who prompted, answered or cancelled, and through which face.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Actor {
    /// Who.
    pub by: ActorKind,
    /// The face of ours that it came through, such as `talk`, `acp` or `web`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

/// Sorts of actors. In JSON it is one word, or the place of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum ActorKind {
    /// A person.
    Person,
    /// A program that uses the library or a protocol of ours.
    Program,
    /// The agent itself.
    Agent,
    /// The agent's own client, in a connection that we pass on.
    Client,
    /// The policy, without a rule that is about the call.
    Policy,
    /// A rule, by its file and line; or a source that the agent names.
    Rule(String),
    /// A setting that holds for every request alike, such as `--approvals allow`; there are no rules.
    Setting,
    /// The time for an answer is over.
    Timeout,
    /// No face answers.
    Unattended,
    /// The run is being stopped.
    Stop,
}

impl Actor {
    /// A person at a face.
    pub fn person(face: &str) -> Actor {
        Actor { by: ActorKind::Person, via: Some(face.to_owned()) }
    }

    /// A program that speaks through a face.
    pub fn program(face: &str) -> Actor {
        Actor { by: ActorKind::Program, via: Some(face.to_owned()) }
    }
}

impl From<ActorKind> for Actor {
    fn from(by: ActorKind) -> Actor {
        Actor { by, via: None }
    }
}

impl From<String> for ActorKind {
    fn from(word: String) -> ActorKind {
        match word.as_str() {
            "person" => ActorKind::Person,
            "program" => ActorKind::Program,
            "agent" => ActorKind::Agent,
            "client" => ActorKind::Client,
            "policy" => ActorKind::Policy,
            "setting" => ActorKind::Setting,
            "timeout" => ActorKind::Timeout,
            "unattended" => ActorKind::Unattended,
            "stop" => ActorKind::Stop,
            _ => ActorKind::Rule(word),
        }
    }
}

impl From<ActorKind> for String {
    fn from(kind: ActorKind) -> String {
        match kind {
            ActorKind::Rule(rule) => rule,
            kind => kind.as_str().to_owned(),
        }
    }
}

impl ActorKind {
    /// Returns the word for it, as in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            ActorKind::Person => "person",
            ActorKind::Program => "program",
            ActorKind::Agent => "agent",
            ActorKind::Client => "client",
            ActorKind::Policy => "policy",
            ActorKind::Rule(rule) => rule,
            ActorKind::Setting => "setting",
            ActorKind::Timeout => "timeout",
            ActorKind::Unattended => "unattended",
            ActorKind::Stop => "stop",
        }
    }

    /// Returns true if somebody chose, and neither a rule nor a clock.
    pub fn is_somebody(&self) -> bool {
        matches!(self, ActorKind::Person | ActorKind::Program)
    }
}

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.via {
            Some(face) => write!(f, "{} ({face})", self.by),
            None => self.by.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_one_word_and_read_back() {
        for word in [
            "person",
            "program",
            "agent",
            "client",
            "policy",
            "setting",
            "timeout",
            "unattended",
            "stop",
        ] {
            let kind = ActorKind::from(word.to_owned());
            assert!(!matches!(kind, ActorKind::Rule(_)), "{word}");
            assert_eq!(String::from(kind), word);
        }
        let rule = Actor::from(ActorKind::from("rules.toml:3".to_owned()));
        assert_eq!(serde_json::to_string(&rule).unwrap(), r#"{"by":"rules.toml:3"}"#);
        let person: Actor = serde_json::from_str(r#"{"by":"person","via":"acp"}"#).unwrap();
        assert_eq!(person, Actor::person("acp"));
    }
}
