//! What is redacted, by flags and environment: the one place where a redactor is made.

use stablehand::agent::secret_values;
use stablehand::redact::{Redaction, Redactor};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The flags.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct RedactArgs {
    /// Also take what looks like a secret out of the raw records of the log. What the agent wrote is then
    /// passed on unchanged, but can no longer be replayed byte for byte
    #[arg(long, conflicts_with = "no_redact", help_heading = "Secrets")]
    redact_raw: bool,

    /// Take nothing out: by default what looks like a secret is replaced in texts, events, messages
    /// and decision records
    #[arg(long, help_heading = "Secrets")]
    no_redact: bool,
}

impl RedactArgs {
    /// What is redacted in a run with these arguments for the agent.
    pub fn redaction(self, extra: &[OsString]) -> Option<Redaction> {
        if self.no_redact {
            return None;
        }
        let redactor = redactor(extra);
        Some(Redaction { redactor: Arc::new(redactor), raw: self.redact_raw })
    }
}

/// A redactor that knows the secrets of our environment and of these arguments.
pub fn redactor(extra: &[OsString]) -> Redactor {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut builder = Redactor::builder()
        // Not to be guessed, and the same for the whole invocation.
        .salt(RandomState::new().hash_one(std::process::id()))
        .variables(variables);
    for value in secret_values(extra) {
        builder = builder.value(value);
    }
    builder.build()
}
