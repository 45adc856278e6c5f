//! Fields of the decisions about the log itself, and about what reads it.

use crate::decode::Dialect;
use crate::id::{CallId, SessionKey};
use crate::record::FORMAT;
use serde::{Deserialize, Serialize};

/// How a log is to be read. Old logs lack some of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LogOpened {
    /// The version of the format.
    pub v: Option<i64>,
    /// An id of this log, whatever its name.
    pub log: Option<String>,
    /// Our id of the session, the same in every log of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
    /// The program that writes it.
    pub program: Option<String>,
    /// The version of that program.
    pub version: Option<String>,
    /// The name of the dialect that the agent speaks.
    pub dialect: Option<String>,
    /// Whether raw records are redacted, so that they are not what the agent wrote.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redacted_raw: bool,
}

impl LogOpened {
    /// The header of a log in today's format.
    pub fn new(dialect: Dialect) -> LogOpened {
        LogOpened {
            v: Some(FORMAT.into()),
            dialect: Some(dialect.name().to_owned()),
            ..LogOpened::default()
        }
    }

    /// The dialect, where it is one that this version knows.
    pub fn dialect(&self) -> Option<Dialect> {
        self.dialect.as_deref().and_then(Dialect::by_name)
    }
}

/// What was chosen for a session, where something was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SettingsChosen {
    /// The mode, by our name of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The model, as the agent names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The folder to work in. An agent may be started in another one and told this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Who deleted a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SessionDeleted {
    /// A person or a program.
    pub by: String,
    /// The face that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

/// Why the log cannot be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LogDegraded {
    /// The error of the system.
    pub error: String,
    /// The file.
    pub path: String,
    /// For people.
    pub text: String,
}

/// What a log that could not be written for a while has lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LogRecovered {
    /// How many bytes of records are lost.
    pub lost_bytes: u64,
}

/// What another program took out of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LogTruncated {
    /// How many bytes are gone.
    pub bytes: u64,
    /// The file.
    pub path: String,
    /// For people.
    pub text: String,
}

/// What another program did to the file of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LogMoved {
    /// Where the file was.
    pub path: String,
    /// True where it has no name any more, false where it has another.
    pub deleted: bool,
    /// For people.
    pub text: String,
}

/// Why our standard output cannot be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OutputFailed {
    /// The error of the system.
    pub error: String,
    /// For people.
    pub text: String,
}

/// What was not shown, because it was gone from the log before, or its reader took nothing any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OutputLost {
    /// How many bytes of the log.
    pub bytes: u64,
    /// For people.
    pub text: String,
}

/// What `--verify` found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Verified {
    /// Bytes that the agent wrote.
    pub in_bytes: u64,
    /// Their digest.
    pub in_sha256: Option<String>,
    /// Bytes that were written out; null where the output is not the agent's own.
    pub out_bytes: Option<u64>,
    /// Their digest.
    pub out_sha256: Option<String>,
    /// Bytes of the agent's that the log holds.
    pub log_bytes: u64,
    /// Their digest.
    pub log_sha256: String,
    /// Whether all that can be compared is the same.
    pub identical: bool,
    /// For people.
    pub text: String,
}

/// Output of a tool of which faces show the beginning only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OutputCut {
    /// The agent's id of the call; empty where its output comes in pieces.
    pub call_id: CallId,
    /// How much there was, as far as it is known.
    pub bytes: u64,
    /// How much of it is shown.
    pub shown_bytes: u64,
    /// For people.
    pub text: String,
}
