//! Which limit an agent is waited for by, and how long it has been.
//!
//! Owns the reading of the monitor's state that limits can be chosen by: the silence so far, counted
//! as the limit itself would count it, whatever its value. Judges nothing.

use super::limits::ToolDefault;
use super::{Monitor, Phase};
use crate::event::ToolClass;
use crate::time::Moment;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A limit on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeLimit {
    /// From the start to the first event.
    Startup,
    /// From the first event to the model's first word.
    FirstResponse,
    /// Silence while no tool is open.
    Idle,
    /// What tools get on top of the time that they declared.
    ToolGrace,
    /// Silence of commands.
    Execute,
    /// Silence of tools of MCP servers.
    Mcp,
    /// Silence of other agents.
    SubAgent,
    /// Silence of tools that work here.
    Local,
    /// Silence of the network.
    Fetch,
    /// Silence of other tools.
    Other,
    /// Signs of life without anything new.
    NoProgress,
    /// From the result to the exit.
    ExitGrace,
}

impl TimeLimit {
    /// All of them.
    pub const ALL: [TimeLimit; 12] = [
        TimeLimit::Startup,
        TimeLimit::FirstResponse,
        TimeLimit::Idle,
        TimeLimit::ToolGrace,
        TimeLimit::Execute,
        TimeLimit::Mcp,
        TimeLimit::SubAgent,
        TimeLimit::Local,
        TimeLimit::Fetch,
        TimeLimit::Other,
        TimeLimit::NoProgress,
        TimeLimit::ExitGrace,
    ];

    /// The limit on tools of a class that declare no time.
    pub fn of_class(class: ToolClass) -> TimeLimit {
        match class {
            ToolClass::Execute => TimeLimit::Execute,
            ToolClass::Mcp => TimeLimit::Mcp,
            ToolClass::SubAgent => TimeLimit::SubAgent,
            ToolClass::Local => TimeLimit::Local,
            ToolClass::Fetch => TimeLimit::Fetch,
            ToolClass::Other => TimeLimit::Other,
        }
    }
}

/// A wait for the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The limit that would end it.
    pub limit: TimeLimit,
    /// How much of that limit is used up: a smaller one would have ended it by now.
    pub lasted: Duration,
}

impl Monitor {
    /// What the agent is waited for at this moment, by each limit that alone could end the wait. It
    /// does not depend on the values of the silence limits. Where several would have to agree (tools of
    /// several classes), or something else comes first (background work), there is none.
    pub fn waits(&self, now: Moment) -> impl Iterator<Item = Wait> {
        let t = self.clock.at(now);
        let idle = self.stalled || self.ended || self.clock.is_held();
        let (first, second) = match &self.finishing {
            _ if idle => (None, None),
            Some(finishing) if finishing.overdue => (None, None),
            Some(finishing) => (Some((TimeLimit::ExitGrace, finishing.since)), None),
            None => (self.silent_since(), self.stale_since(t)),
        };
        let wait =
            move |(limit, since): (TimeLimit, Moment)| Wait { limit, lasted: t.since(since) };
        first.into_iter().chain(second).map(wait).filter(|wait| !wait.lasted.is_zero())
    }

    fn silent_since(&self) -> Option<(TimeLimit, Moment)> {
        if self.tools.open() > 0 {
            let by_class = self.limits.tool_without_timeout == ToolDefault::ByClass;
            return self.tools.waited_since(self.view(), by_class);
        }
        let spoils = self.has_early_result
            || self.background_stopped.is_some()
            || self.stop_background_at().is_some();
        let limit = match self.phase {
            Phase::Starting => TimeLimit::Startup,
            Phase::Prompted => TimeLimit::FirstResponse,
            Phase::Working => TimeLimit::Idle,
        };
        (!spoils).then_some((limit, self.liveness))
    }

    /// Since when there is nothing new, where that is long enough to be judged at all.
    fn stale_since(&self, t: Moment) -> Option<(TimeLimit, Moment)> {
        if self.liveness <= self.progress || t <= self.progress.plus(self.silence_limit()) {
            return None;
        }
        if self.tools.open() > 0 {
            let mut view = self.view();
            view.liveness = self.progress;
            if t <= self.tools.limit_at(view) {
                return None;
            }
        }
        Some((TimeLimit::NoProgress, self.progress))
    }
}
