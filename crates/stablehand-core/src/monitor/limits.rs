//! The numbers that the monitor judges by, each with the reason for it.
//!
//! Owns the limits and the two sets of defaults. Reads no flags and no configuration: whoever runs
//! an agent fills these fields in. `Duration::MAX` turns a limit off.

mod ms;

use crate::event::ToolClass;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The value of limits that logs from before them lack.
fn off() -> Duration {
    Duration::MAX
}

/// The value of `background_wait` in logs from before it.
fn an_hour() -> Duration {
    secs(3600)
}

/// What a log lacks it need not say.
fn is_an_hour(limit: &Duration) -> bool {
    *limit == an_hour()
}

/// How long an agent may be silent, and how much it may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// From the start to the first event. A hang here is always safe to try again.
    #[serde(rename = "startup_ms", with = "ms")]
    pub startup: Duration,
    /// From the first event to the model's first word.
    #[serde(rename = "first_response_ms", with = "ms")]
    pub first_response: Duration,
    /// Silence of the model while no tool is open.
    #[serde(rename = "idle_ms", with = "ms")]
    pub idle: Duration,
    /// Whether nobody chose `idle`, so that [`Limits::for_model`] may.
    pub idle_is_default: bool,
    /// What a tool gets on top of the timeout that it declared.
    #[serde(rename = "tool_grace_ms", with = "ms")]
    pub tool_grace: Duration,
    /// The most that a declared timeout is believed; agents do declare a day.
    #[serde(rename = "tool_max_ms", with = "ms")]
    pub tool_max: Duration,
    /// Silence of a tool that declared no timeout, by class.
    pub class: ClassLimits,
    /// Whether `class` applies.
    pub tool_without_timeout: ToolDefault,
    /// From the terminal event to the exit of the process.
    #[serde(rename = "exit_grace_ms", with = "ms")]
    pub exit_grace: Duration,
    /// Silence after the model's text while only background commands are left: these may be what
    /// keeps the agent from ending.
    #[serde(rename = "background_grace_ms", with = "ms")]
    pub background_grace: Duration,
    /// Silence after a result that came while background tasks were open: the agent may wake when one
    /// ends, and gives its last answer then. Logs from before it have the limit that held then, which
    /// was that of sub-agents.
    #[serde(
        rename = "background_wait_ms",
        with = "ms",
        default = "an_hour",
        skip_serializing_if = "is_an_hour"
    )]
    pub background_wait: Duration,
    /// What the agent gets to deliver its result once the background commands were stopped.
    #[serde(rename = "result_grace_ms", with = "ms")]
    pub result_grace: Duration,
    /// Signs of life without anything new.
    #[serde(rename = "no_progress_ms", with = "ms")]
    pub no_progress: Duration,
    /// How long the agent is not read, because the disk is full and a reader of our output takes none
    /// of it.
    #[serde(rename = "blocked_ms", with = "ms", default = "off")]
    pub blocked: Duration,
    /// The whole run.
    #[serde(rename = "wall_ms", with = "ms::or_none", default)]
    pub wall: Option<Duration>,
    /// Answers of the model; one answer may ask for several tools.
    pub max_turns: Option<u64>,
    /// Tool calls.
    pub max_tool_calls: Option<u64>,
    /// Tokens, as far as the agent states them.
    pub max_tokens: Option<u64>,
    /// Cost in US dollars, as far as the agent states it.
    pub max_cost_usd: Option<f64>,
    /// What an open tool gets after one of the five limits above was reached.
    #[serde(rename = "limit_grace_ms", with = "ms")]
    pub limit_grace: Duration,
    /// So many equal calls with equal results in a row are worth a warning; 0 is never.
    pub livelock_warn: u32,
    /// So many are a verdict. Off by default: polling looks the same.
    pub livelock_kill: Option<u32>,
    /// How often a silence is put on record.
    #[serde(rename = "waiting_interval_ms", with = "ms")]
    pub waiting_interval: Duration,
    /// What other signs of life may do.
    pub witness: WitnessPolicy,
    /// The silence limit right after the machine slept: connections are probably dead.
    #[serde(rename = "after_suspend_ms", with = "ms")]
    pub after_suspend: Duration,
}

/// Silence limits of tools that declare no timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassLimits {
    /// Commands.
    #[serde(rename = "execute_ms", with = "ms")]
    pub execute: Duration,
    /// Tools of MCP servers.
    #[serde(rename = "mcp_ms", with = "ms")]
    pub mcp: Duration,
    /// Other agents.
    #[serde(rename = "sub_agent_ms", with = "ms")]
    pub sub_agent: Duration,
    /// Reading, editing, searching here.
    #[serde(rename = "local_ms", with = "ms")]
    pub local: Duration,
    /// The network.
    #[serde(rename = "fetch_ms", with = "ms")]
    pub fetch: Duration,
    /// Anything else.
    #[serde(rename = "other_ms", with = "ms")]
    pub other: Duration,
}

/// What limits a tool that declares no timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolDefault {
    /// Its class.
    ByClass,
    /// The idle limit, as the cursor-wrap document has it.
    Idle,
}

/// How far other signs of life are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessPolicy {
    /// How often one silence may be extended; 0 asks no witness at all.
    pub max_extensions: u32,
    /// The tree is busy from this share of one processor on.
    pub busy_cpu_percent: u32,
}

impl ClassLimits {
    /// The limit of one class.
    pub fn of(&self, class: ToolClass) -> Duration {
        match class {
            ToolClass::Execute => self.execute,
            ToolClass::Mcp => self.mcp,
            ToolClass::SubAgent => self.sub_agent,
            ToolClass::Local => self.local,
            ToolClass::Fetch => self.fetch,
            ToolClass::Other => self.other,
        }
    }
}

impl Limits {
    /// The idle limit of models that may think in silence: gaps of 12 minutes have been recorded.
    const REASONING_IDLE: Duration = secs(900);

    /// The limits of `stablehand run`.
    pub fn modern() -> Self {
        Limits {
            startup: secs(60),
            // A model that thinks before its first word is as silent as one that thinks later.
            first_response: secs(300),
            idle: secs(300),
            idle_is_default: true,
            tool_grace: secs(30),
            tool_max: secs(3600),
            class: ClassLimits {
                execute: secs(600),
                mcp: secs(600),
                sub_agent: secs(3600),
                local: secs(120),
                fetch: secs(300),
                other: secs(900),
            },
            tool_without_timeout: ToolDefault::ByClass,
            exit_grace: secs(5),
            background_grace: secs(30),
            // A build takes ten minutes, and an agent in the background thinks as long as one that is
            // talked to: gaps of 12 minutes have been recorded.
            background_wait: secs(900),
            result_grace: secs(30),
            no_progress: secs(1800),
            // A person who reads page by page may take that long.
            blocked: secs(300),
            wall: None,
            max_turns: None,
            max_tool_calls: None,
            max_tokens: None,
            max_cost_usd: None,
            limit_grace: secs(60),
            livelock_warn: 5,
            livelock_kill: None,
            waiting_interval: secs(30),
            witness: WitnessPolicy { max_extensions: 3, busy_cpu_percent: 2 },
            after_suspend: secs(60),
        }
    }

    /// No limits at all: nobody is ever judged, and no silence is put on record.
    pub fn none() -> Self {
        let off = Duration::MAX;
        Limits {
            startup: off,
            first_response: off,
            idle: off,
            idle_is_default: false,
            tool_grace: off,
            tool_max: off,
            class: ClassLimits {
                execute: off,
                mcp: off,
                sub_agent: off,
                local: off,
                fetch: off,
                other: off,
            },
            exit_grace: off,
            background_grace: off,
            background_wait: off,
            result_grace: off,
            no_progress: off,
            blocked: off,
            limit_grace: off,
            livelock_warn: 0,
            waiting_interval: off,
            witness: WitnessPolicy { max_extensions: 0, ..Limits::modern().witness },
            after_suspend: off,
            ..Limits::modern()
        }
    }

    /// The limits of the cursor-wrap document: one idle limit for everything that declares no time
    /// of its own, no witnesses, and a record per tick while it is silent.
    pub fn cursor_wrap(idle: Duration, tool_grace: Duration, tick: Duration) -> Self {
        let modern = Limits::modern();
        // Both halves of the wait for background commands together are the idle limit, so that a
        // hang is found as fast with them as without.
        let background_grace = modern.background_grace.min(idle / 2);
        Limits {
            startup: idle,
            first_response: idle,
            idle,
            idle_is_default: false,
            tool_grace,
            tool_without_timeout: ToolDefault::Idle,
            background_grace,
            background_wait: idle,
            result_grace: idle.saturating_sub(background_grace),
            waiting_interval: tick,
            witness: WitnessPolicy { max_extensions: 0, ..modern.witness },
            ..modern
        }
    }

    /// The limits for a model: one that reasons may be silent for longer, unless somebody chose
    /// the idle limit.
    #[must_use]
    pub fn for_model(mut self, model: &str) -> Self {
        self.adopt_model(model);
        self
    }

    pub(super) fn adopt_model(&mut self, model: &str) {
        if self.idle_is_default && is_reasoning_model(model) {
            self.idle = self.idle.max(Self::REASONING_IDLE);
            self.first_response = self.first_response.max(Self::REASONING_IDLE);
        }
    }

    /// The silence limit of a tool without a timeout.
    pub(super) fn undeclared(&self, class: ToolClass) -> Duration {
        match self.tool_without_timeout {
            ToolDefault::ByClass => self.class.of(class),
            ToolDefault::Idle => self.idle,
        }
    }

    /// The rhythm of records; never so fast that writing them becomes the work.
    pub(super) fn rhythm(&self) -> Duration {
        self.waiting_interval.max(Duration::from_millis(10))
    }

    /// The silence after which a person should hear of it.
    pub(super) fn quiet_after(&self, limit: Duration) -> Duration {
        (limit / 4).max(self.rhythm())
    }
}

/// Returns true if a model's name speaks of reasoning. A wrong yes costs minutes, a wrong no costs
/// work.
pub fn is_reasoning_model(model: &str) -> bool {
    let name = model.to_ascii_lowercase();
    name.contains("think")
        || name.contains("reason")
        || name.contains("gpt-5")
        || name.contains("gpt 5")
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
            matches!(word, "high" | "xhigh" | "opus" | "o1" | "o3" | "o4" | "r1" | "max")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_models_get_more_time_unless_somebody_chose() {
        for model in [
            "claude-4.5-sonnet-thinking",
            "GPT-5.4 xhigh",
            "claude-opus-4",
            "o3",
            "o4-mini",
            "deepseek-r1",
            "deepseek-reasoner",
            "sonnet max",
        ] {
            let limits = Limits::modern().for_model(model);
            assert_eq!(limits.idle, secs(900), "{model}");
            assert_eq!(limits.first_response, secs(900), "{model}");
        }
        for model in ["auto", "composer-1", "sonnet-4.5", "gpt-4o", "maximal"] {
            assert_eq!(Limits::modern().for_model(model).idle, secs(300), "{model}");
        }
        let chosen = Limits::cursor_wrap(secs(60), secs(30), secs(5));
        assert_eq!(chosen.clone().for_model("opus"), chosen);
    }
}
