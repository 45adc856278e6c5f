//! A policy at work on the calls of one agent.
//!
//! Owns the rules, the world around the workspace and the agent's name, and so the rules that come
//! when somebody says "always": they are written to a file of the user's and hold from then on. Who is
//! asked, and what an agent is told, is the driver's; the rules and how they are read are
//! `stablehand_policy`'s.

mod remember;

pub use remember::{RememberError, Remembered};
pub use stablehand_core::interaction::Attendance;

use crate::policy_world::FileWorld;
use serde_json::Value;
use stablehand_core::decision::OnUnasked;
use stablehand_core::event::Tool;
use stablehand_policy::{Action, Call, Decision, NoExactRule, Policy};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

/// The rules for what one agent may do.
#[derive(Debug)]
pub struct Gate {
    /// They grow when somebody says "always".
    policy: RwLock<Policy>,
    /// Held by whoever writes a rule; a decision never waits for a disk.
    writing: Mutex<()>,
    world: FileWorld,
    agent: String,
    /// Where such rules are written; nowhere without.
    rules_file: Option<PathBuf>,
    /// What was asked for instead of the policy's own word.
    on_unasked: Option<OnUnasked>,
}

impl Gate {
    /// The rules of `policy` for an agent in that world.
    pub fn new(policy: Policy, world: FileWorld, agent: impl Into<String>) -> Gate {
        let (policy, writing) = (RwLock::new(policy), Mutex::new(()));
        Gate { policy, writing, world, agent: agent.into(), rules_file: None, on_unasked: None }
    }

    /// Where rules are written when somebody says "always": a file of the user's, never a project's.
    #[must_use]
    pub fn with_rules_file(mut self, file: Option<PathBuf>) -> Gate {
        self.rules_file = file;
        self
    }

    /// Where rules are written when somebody says "always".
    pub fn rules_file(&self) -> Option<&Path> {
        self.rules_file.as_deref()
    }

    /// Says what becomes of a run whose agent runs a tool unasked that the rules do not allow, instead of
    /// the policy.
    #[must_use]
    pub fn with_on_unasked(mut self, on_unasked: Option<OnUnasked>) -> Gate {
        self.on_unasked = on_unasked;
        self
    }

    /// Returns what becomes of a run whose agent runs a tool unasked that the rules do not allow.
    pub fn on_unasked(&self) -> OnUnasked {
        self.on_unasked.unwrap_or_else(|| self.rules().on_unasked())
    }

    /// Whether a call may be made. What is asked about no call that we know is for a person.
    pub fn judge(&self, tool: Option<&Tool>) -> Decision {
        self.judge_call(tool, &Value::Null, None)
    }

    /// The same with everything that the tool is given, and where it works.
    pub fn judge_call(
        &self,
        tool: Option<&Tool>,
        arguments: &Value,
        cwd: Option<&str>,
    ) -> Decision {
        let Some(tool) = tool else {
            return Decision {
                action: Action::Ask,
                unattended: Action::Deny,
                reason: "it is not about a tool call".to_owned(),
                rule: None,
                parts: Vec::new(),
            };
        };
        self.rules().decide(&self.call(tool, arguments, cwd), &self.world)
    }

    /// The rules, as TOML, that "always" would write for a call.
    pub fn exact_rule(&self, tool: &Tool) -> Result<String, NoExactRule> {
        self.rules().exact_rule(&self.call(tool, &Value::Null, None), &self.world)
    }

    fn call<'a>(&'a self, tool: &'a Tool, arguments: &'a Value, cwd: Option<&'a str>) -> Call<'a> {
        Call {
            agent: &self.agent,
            tool: &tool.name,
            kind: tool.tool_kind,
            input: &tool.input,
            also: &tool.also,
            arguments,
            cwd,
        }
    }

    fn rules(&self) -> std::sync::RwLockReadGuard<'_, Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner)
    }
}
