//! The limits of `stablehand run`, each a flag, over a profile.

use crate::duration;
use clap::{Args, ValueEnum};
use stablehand::agent::Agent;
use stablehand::config::{self, LimitChanges, ToolClassLimit};
use stablehand_core::event::ToolClass;
use stablehand_core::monitor::Limits;
use std::time::Duration;

/// A named set of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Right for most work: minutes of silence are normal, fifteen for reasoning models
    Standard,
    /// Three times as patient everywhere, for very long thinking and slow tools
    Patient,
    /// For unattended jobs: standard, and two hours in all
    Ci,
    /// The numbers of cursor-wrap: 60 s of silence, 30 s of grace for tools
    CursorWrap,
}

/// The heading of the limits in the help. Each flag names it, because `next_help_heading` would also
/// move the flags that follow the limits below it.
const HEADING: &str = "Limits (durations like 90s, 1m30s; defaults of the standard profile)";

/// Limits on silence and on use.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct LimitArgs {
    /// The set of limits that the flags below start from [default: standard]
    #[arg(long, value_enum, help_heading = HEADING)]
    profile: Option<Profile>,

    /// From the start to the first event [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_positive, help_heading = HEADING)]
    startup_timeout: Option<Duration>,

    /// From the first event to the model's first word [default: 5m, 15m for reasoning models]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_positive, help_heading = HEADING)]
    first_response_timeout: Option<Duration>,

    /// Silence while no tool runs [default: 5m, 15m for reasoning models]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_positive, help_heading = HEADING)]
    idle_timeout: Option<Duration>,

    /// What a tool gets on top of the timeout that it declared [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = HEADING)]
    tool_grace: Option<Duration>,

    /// Silence of any tool that declared no timeout, instead of the limit of its class
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_positive, help_heading = HEADING)]
    tool_timeout: Option<Duration>,

    /// The same for one class of tools, as CLASS=DURATION; may be repeated [default: execute 10m,
    /// mcp 10m, sub-agent 1h, local 2m, fetch 5m, other 15m]
    #[arg(long, value_name = "CLASS=DURATION", value_parser = class_limit, help_heading = HEADING)]
    class_timeout: Vec<ToolClassLimit>,

    /// The most that a tool's declared timeout is believed [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_positive, help_heading = HEADING)]
    tool_max: Option<Duration>,

    /// From the result to the exit of the process [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = HEADING)]
    exit_grace: Option<Duration>,

    /// Silence after the answer while background work is left: commands that keep the result back are
    /// stopped then [default: 30s]; a run whose result came is cut [default: 15m]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = HEADING)]
    background_grace: Option<Duration>,

    /// What the agent gets to deliver its result once its background commands were stopped
    /// [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = HEADING)]
    result_grace: Option<Duration>,

    /// Signs of life without anything new [default: 30m]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_positive, help_heading = HEADING)]
    no_progress_timeout: Option<Duration>,

    /// How long the agent waits for a reader of our output while the disk is full [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_positive, help_heading = HEADING)]
    blocked_timeout: Option<Duration>,

    /// How often a silence may be extended because the agent's processes are busy [default: 3]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    max_extensions: Option<u32>,

    /// Stop an agent that gets the same result from the same call so many times in a row
    #[arg(long, value_name = "N", help_heading = HEADING)]
    livelock: Option<u32>,

    /// The whole run
    #[arg(long, visible_alias = "max-time", value_name = "DURATION", value_parser = duration::parse_positive, help_heading = HEADING)]
    max_wall: Option<Duration>,

    /// Answers of the model
    #[arg(long, value_name = "N", help_heading = HEADING)]
    max_turns: Option<u64>,

    /// Tool calls
    #[arg(long, value_name = "N", help_heading = HEADING)]
    max_tool_calls: Option<u64>,

    /// Tokens, where the agent states them
    #[arg(long, value_name = "N", help_heading = HEADING)]
    max_tokens: Option<u64>,

    /// US dollars, where the agent states them
    #[arg(long, value_name = "USD", help_heading = HEADING)]
    max_cost: Option<f64>,

    /// What an open tool gets to finish after one of the five limits above was reached
    /// [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = HEADING)]
    limit_grace: Option<Duration>,
}

impl LimitArgs {
    /// The limits that were asked for; where nobody asked, what the agent needs.
    pub fn limits(&self, agent: Agent) -> Limits {
        self.instead_of(None, Some(agent))
    }

    /// Whether any was asked for.
    pub fn any(&self) -> bool {
        *self != LimitArgs::default()
    }

    /// The limits of a recorded run with what is asked for instead; those of a profile where one is
    /// named, or where nobody knows what held.
    pub fn instead_of(&self, known: Option<&Limits>, agent: Option<Agent>) -> Limits {
        let limits = match (known, self.profile) {
            (Some(known), None) => known.clone(),
            (_, profile) => profile.map(config::Profile::from).unwrap_or_default().limits(agent),
        };
        self.changes().apply(limits)
    }

    fn changes(&self) -> LimitChanges {
        LimitChanges {
            startup: self.startup_timeout,
            first_response: self.first_response_timeout,
            idle: self.idle_timeout,
            tool_grace: self.tool_grace,
            tool_max: self.tool_max,
            tool: self.tool_timeout,
            classes: self.class_timeout.clone(),
            exit_grace: self.exit_grace,
            background_grace: self.background_grace,
            result_grace: self.result_grace,
            no_progress: self.no_progress_timeout,
            blocked: self.blocked_timeout,
            limit_grace: self.limit_grace,
            max_extensions: self.max_extensions,
            livelock: self.livelock,
            wall: self.max_wall,
            max_turns: self.max_turns,
            max_tool_calls: self.max_tool_calls,
            max_tokens: self.max_tokens,
            max_cost_usd: self.max_cost,
        }
    }
}

fn class_limit(text: &str) -> Result<ToolClassLimit, String> {
    let (name, limit) =
        text.split_once('=').ok_or_else(|| format!("`{text}` is not CLASS=DURATION"))?;
    let class = match name {
        "execute" => ToolClass::Execute,
        "mcp" => ToolClass::Mcp,
        "sub-agent" => ToolClass::SubAgent,
        "local" => ToolClass::Local,
        "fetch" => ToolClass::Fetch,
        "other" => ToolClass::Other,
        _ => {
            return Err(format!(
                "`{name}` is no class of tools; choose execute, mcp, sub-agent, local, fetch or other"
            ));
        }
    };
    Ok(ToolClassLimit { class, limit: duration::parse_positive(limit)? })
}

impl From<Profile> for config::Profile {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Standard => config::Profile::Standard,
            Profile::Patient => config::Profile::Patient,
            Profile::Ci => config::Profile::Ci,
            Profile::CursorWrap => config::Profile::CursorWrap,
        }
    }
}
