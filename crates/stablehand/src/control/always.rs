//! The answer "always": a rule where rules hold, the agent's own memory elsewhere.
//!
//! Owns what it would mean for an approval, and writes the rule. A rule goes to a file, so this is
//! done on the thread of the caller that answers, never on the driver's.

use crate::clock::unix_now;
use crate::gate::{Gate, Remembered};
use serde::{Deserialize, Serialize};
use stablehand_core::event::Tool;
use std::sync::Arc;

/// What "always" would mean as the answer to an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Always {
    /// The agent itself remembers it, for its session.
    Session,
    /// A rule is written.
    Rule {
        /// The rule, as TOML.
        text: String,
        /// The file that it is written to.
        file: String,
    },
    /// It cannot be said, for this reason.
    No(String),
}

/// What an approval is about, as far as "always" needs it.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// The rules that asked; none where no rules hold.
    pub(crate) gate: Option<Arc<Gate>>,
    /// The call.
    pub(crate) tool: Option<Box<Tool>>,
    /// Why it is asked.
    pub(crate) why: String,
}

impl Subject {
    /// What "always" would mean.
    pub(super) fn always(&self) -> Always {
        let Some(gate) = &self.gate else { return Always::Session };
        let Some(file) = gate.rules_file() else {
            return Always::No("there is no file for rules".to_owned());
        };
        let Some(tool) = &self.tool else {
            return Always::No("it is not about a tool call".to_owned());
        };
        match gate.exact_rule(tool) {
            Ok(text) => Always::Rule { text, file: file.display().to_string() },
            Err(why) => Always::No(why.to_string()),
        }
    }

    /// Writes the rule; none where the agent itself is to remember it.
    pub(super) fn remember(&self) -> Result<Option<Remembered>, String> {
        let Some(gate) = &self.gate else { return Ok(None) };
        let Some(tool) = &self.tool else {
            return Err("it is not about a tool call".to_owned());
        };
        let written = gate.remember(tool, unix_now(), &self.why);
        written.map(Some).map_err(|error| crate::error_chain(&error))
    }
}
