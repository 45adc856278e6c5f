//! Tests of the hooks in settings files; what they share is here.

mod files;
mod merging;
mod random;
mod surveys;

use super::{Answers, HookForm, HookPlan};
use crate::agent::Agent;
use stablehand_core::hook::{HookEvent, Role};
use std::path::Path;

const fn event(name: &'static str, role: Role) -> HookEvent {
    HookEvent { name, role, headless: true }
}

/// A table for tests, so that they do not change with an agent.
pub(super) const EVENTS: &[HookEvent] = &[
    event("start", Role::SessionStart),
    event("before", Role::Permission),
    event("after", Role::Observe),
];

pub(super) fn form(agent: Agent) -> HookForm {
    agent.row().hooks.unwrap()
}

/// The agents whose files differ in shape.
pub(super) const AGENTS: [Agent; 3] = [Agent::Cursor, Agent::Claude, Agent::Gemini];

pub(super) fn plan(agent: Agent) -> HookPlan {
    plan_for(agent, "/opt/it's here/stablehand")
}

pub(super) fn plan_for(agent: Agent, program: &str) -> HookPlan {
    let program = Path::new(program);
    HookPlan::new(agent.name(), form(agent), EVENTS, program, Answers::Alone).unwrap()
}
