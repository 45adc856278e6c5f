//! Limits by profile, and what somebody changed in them.

use crate::agent::Agent;
use stablehand_core::event::ToolClass;
use stablehand_core::monitor::{ClassLimits, Limits};
use std::time::Duration;

/// A set of limits with a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The usual ones.
    #[default]
    Standard,
    /// For slow models and machines: three times as long.
    Patient,
    /// The usual ones, and two hours of wall clock.
    Ci,
    /// Those of `cursor-wrap`.
    CursorWrap,
}

/// The silence limit of a class of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolClassLimit {
    /// Which class.
    pub class: ToolClass,
    /// How long.
    pub limit: Duration,
}

/// What somebody changed; nothing is as the profile and the agent have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitChanges {
    /// From the start to the first event.
    pub startup: Option<Duration>,
    /// From the first event to the model's first word; the idle limit, where only that is changed.
    pub first_response: Option<Duration>,
    /// Silence while no tool is open.
    pub idle: Option<Duration>,
    /// Extra time after a tool's own timeout.
    pub tool_grace: Option<Duration>,
    /// The most that a declared timeout is believed.
    pub tool_max: Option<Duration>,
    /// Silence of tools without a declared timeout, for all classes.
    pub tool: Option<Duration>,
    /// The same for single classes.
    pub classes: Vec<ToolClassLimit>,
    /// From the terminal event to the exit.
    pub exit_grace: Option<Duration>,
    /// Silence after the answer while background work is left: commands that keep the result back, and
    /// tasks that may wake the agent after its result.
    pub background_grace: Option<Duration>,
    /// Time for the result once those were stopped.
    pub result_grace: Option<Duration>,
    /// Signs of life without anything new.
    pub no_progress: Option<Duration>,
    /// How long a reader may keep us from reading, on a full disk.
    pub blocked: Option<Duration>,
    /// Time for an open tool after a limit on use.
    pub limit_grace: Option<Duration>,
    /// How often a silence may be extended.
    pub max_extensions: Option<u32>,
    /// Rounds of the same calls that are a verdict.
    pub livelock: Option<u32>,
    /// The whole run.
    pub wall: Option<Duration>,
    /// Answers of the model.
    pub max_turns: Option<u64>,
    /// Tool calls.
    pub max_tool_calls: Option<u64>,
    /// Tokens.
    pub max_tokens: Option<u64>,
    /// US dollars.
    pub max_cost_usd: Option<f64>,
}

impl Profile {
    /// Its limits, with what the agent needs.
    pub fn limits(self, agent: Option<Agent>) -> Limits {
        let secs = Duration::from_secs;
        let mut limits = match self {
            Profile::Standard => Limits::modern(),
            Profile::CursorWrap => Limits::cursor_wrap(secs(60), secs(30), secs(5)),
            Profile::Ci => Limits { wall: Some(secs(7200)), ..Limits::modern() },
            Profile::Patient => {
                let mut limits = Limits::modern();
                let times = [
                    &mut limits.startup,
                    &mut limits.first_response,
                    &mut limits.idle,
                    &mut limits.no_progress,
                    &mut limits.tool_max,
                    &mut limits.background_wait,
                ];
                for slot in times.into_iter().chain(slots(&mut limits.class)) {
                    *slot = slot.saturating_mul(3);
                }
                limits
            }
        };
        if let Some(agent) = agent {
            agent.adjust(&mut limits);
        }
        limits
    }
}

impl LimitChanges {
    /// The limits with these changes.
    pub fn apply(&self, mut limits: Limits) -> Limits {
        let set = |slot: &mut Duration, value: Option<Duration>| *slot = value.unwrap_or(*slot);
        set(&mut limits.startup, self.startup);
        set(&mut limits.first_response, self.first_response.or(self.idle));
        set(&mut limits.idle, self.idle);
        limits.idle_is_default &= self.idle.is_none();
        set(&mut limits.tool_grace, self.tool_grace);
        set(&mut limits.tool_max, self.tool_max);
        set(&mut limits.exit_grace, self.exit_grace);
        set(&mut limits.background_grace, self.background_grace);
        set(&mut limits.background_wait, self.background_grace);
        set(&mut limits.result_grace, self.result_grace);
        set(&mut limits.no_progress, self.no_progress);
        set(&mut limits.blocked, self.blocked);
        set(&mut limits.limit_grace, self.limit_grace);
        if let Some(limit) = self.tool {
            slots(&mut limits.class).for_each(|slot| *slot = limit);
        }
        for ToolClassLimit { class, limit } in &self.classes {
            *slot(&mut limits.class, *class) = *limit;
        }
        let extensions = &mut limits.witness.max_extensions;
        *extensions = self.max_extensions.unwrap_or(*extensions);
        limits.livelock_kill = self.livelock.or(limits.livelock_kill);
        limits.wall = self.wall.or(limits.wall);
        limits.max_turns = self.max_turns.or(limits.max_turns);
        limits.max_tool_calls = self.max_tool_calls.or(limits.max_tool_calls);
        limits.max_tokens = self.max_tokens.or(limits.max_tokens);
        limits.max_cost_usd = self.max_cost_usd.or(limits.max_cost_usd);
        limits
    }
}

fn slots(class: &mut ClassLimits) -> impl Iterator<Item = &mut Duration> {
    let ClassLimits { execute, mcp, sub_agent, local, fetch, other } = class;
    [execute, mcp, sub_agent, local, fetch, other].into_iter()
}

fn slot(limits: &mut ClassLimits, class: ToolClass) -> &mut Duration {
    match class {
        ToolClass::Execute => &mut limits.execute,
        ToolClass::Mcp => &mut limits.mcp,
        ToolClass::SubAgent => &mut limits.sub_agent,
        ToolClass::Local => &mut limits.local,
        ToolClass::Fetch => &mut limits.fetch,
        _ => &mut limits.other,
    }
}
