//! A policy at work on the calls of one agent.
//!
//! Owns nothing but what a decision needs: the rules, the world around the workspace, the agent's
//! name. Who is asked, and what an agent is told, is the driver's; the rules and how they are read
//! are core's.

use crate::policy_world::FileWorld;
use serde_json::Value;
use stablehand_core::event::Tool;
use stablehand_core::policy::{Action, Call, Decision, Policy};
use std::time::Duration;

/// The rules for what one agent may do.
#[derive(Clone, Debug)]
pub struct Gate {
    policy: Policy,
    world: FileWorld,
    agent: String,
}

/// Who answers where the policy says `ask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    /// Nobody: the policy's `unattended` holds.
    Nobody,
    /// A person; after so long without an answer, `unattended` holds. No limit where absent.
    Person {
        /// How long.
        patience: Option<Duration>,
    },
}

impl Gate {
    /// The rules of `policy` for an agent in that world.
    pub fn new(policy: Policy, world: FileWorld, agent: impl Into<String>) -> Gate {
        Gate { policy, world, agent: agent.into() }
    }

    /// Whether a call may be made. What is asked about no call that we know is for a person.
    /// `arguments` is everything that the tool is given, where the agent says so.
    pub fn judge(&self, tool: Option<&Tool>, arguments: &Value, cwd: Option<&str>) -> Decision {
        let Some(tool) = tool else {
            return Decision {
                action: Action::Ask,
                unattended: Action::Deny,
                reason: "it is not about a tool call".to_owned(),
                rule: None,
                parts: Vec::new(),
            };
        };
        let call = Call {
            agent: &self.agent,
            tool: &tool.name,
            kind: tool.tool_kind,
            input: &tool.input,
            arguments,
            cwd,
        };
        self.policy.decide(&call, &self.world)
    }
}
