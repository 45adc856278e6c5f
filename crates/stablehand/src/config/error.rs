//! Why the configuration cannot be had, or cannot hold.

use crate::agent::{Agent, Form};
use crate::context::ContextError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why the configuration cannot be had, or cannot hold.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The workspace cannot be found.
    #[error("failed to find the folder `{}`", folder.display())]
    NoFolder {
        /// Which folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Rules compare paths as text, and the workspace's has none.
    #[error("cannot apply a policy in the folder `{}`: its path is not UTF-8", folder.display())]
    FolderNotText {
        /// Which folder.
        folder: PathBuf,
    },
    /// A policy is wrong.
    #[error("the policy is wrong: {text}")]
    Policy {
        /// What is wrong, and where.
        text: String,
    },
    /// A settings file is wrong.
    #[error("the settings are wrong: {text}")]
    Settings {
        /// What is wrong, and where.
        text: String,
    },
    /// A rule is about an agent that does not exist.
    #[error("{place} is about `{agent}`, and no agent is called so")]
    UnknownAgent {
        /// Where the rule stands.
        place: String,
        /// The name.
        agent: String,
    },
    /// The context cannot be had.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The agent is to run everything without asking, and rules are to decide.
    #[error("the policy of {files} cannot hold an agent that runs everything without asking")]
    ForceAndPolicy {
        /// The files of the policy.
        files: String,
    },
    /// Rules cannot hold the agent, run like this.
    #[error("{} {}, so a policy cannot hold it{}", agent.name(), why(*form), whose(found.as_deref()))]
    Unruly {
        /// Which agent.
        agent: Agent,
        /// How we would speak with it.
        form: Form,
        /// The files of a policy that nobody named.
        found: Option<String>,
    },
}

fn why(form: Form) -> &'static str {
    match form {
        Form::Acp => "does not ask permission before every tool in the Agent Client Protocol",
        Form::OneTurn | Form::TwoWay => "does not ask before it acts",
    }
}

fn whose(found: Option<&str>) -> String {
    found.map(|files| format!(" (of {files})")).unwrap_or_default()
}
