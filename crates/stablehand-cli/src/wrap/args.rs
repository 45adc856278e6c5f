//! The command line of `cursor-wrap`.

use crate::console;
use crate::duration;
use crate::shell::Format;
use clap::Parser;
use stablehand_core::record::Level;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Runs cursor-agent so that it cannot hang, leave processes behind or lose output.
#[derive(Debug, Parser)]
#[command(name = "cursor-wrap", version, max_term_width = 100, after_help = crate::failure::WRAP_EXIT_CODES)]
pub struct WrapArgs {
    /// One turn: the prompt from the arguments, or from standard input to its end
    #[arg(short = 'p', long)]
    pub print: bool,

    /// What standard output carries [default: stream-json with -p, text without]
    #[arg(long, value_name = "stream-json|text", value_parser = format)]
    output_format: Option<Format>,

    /// Silence, while no tool runs, after which the agent is taken to hang
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration::parse_positive)]
    pub idle_timeout: Duration,

    /// What a tool gets on top of the timeout that it declared
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration::parse)]
    pub tool_grace: Duration,

    /// How often a silence is put on record
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration::parse_positive)]
    pub tick_interval: Duration,

    /// Where the log goes [default: ~/.cursor-wrap/logs]
    #[arg(long, value_name = "FOLDER")]
    pub log_dir: Option<PathBuf>,

    /// What is said on standard error: debug, info, warn or error [default: info with -p, warn
    /// without]. The log always has everything
    #[arg(long, value_name = "LEVEL", value_parser = console::level)]
    pub log_level: Option<Level>,

    /// Sync the log to the disk before any output is passed on, and not within 100 ms
    #[arg(long)]
    pub log_sync: bool,

    /// The agent's program [default: cursor-agent, agent or `cursor agent`, from PATH]
    #[arg(long, value_name = "PROGRAM")]
    pub agent_bin: Option<PathBuf>,

    /// The model, as the agent names it
    #[arg(long)]
    pub model: Option<String>,

    /// The folder to work in
    #[arg(long, value_name = "FOLDER")]
    pub workspace: Option<PathBuf>,

    /// Let the agent run everything without asking
    #[arg(
        long,
        value_name = "true|false",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    pub force: bool,

    /// Continue this session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub resume: Option<String>,

    /// In a conversation: what to tell the agent after it hung, instead of asking for a prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt_after_hang: Option<String>,

    /// How often in a row --prompt-after-hang is used
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub max_hang_retries: u32,

    /// The prompt; several words are joined
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,

    /// Everything after -- goes to the agent as it is
    #[arg(last = true, value_name = "AGENT ARGS")]
    pub extra: Vec<OsString>,
}

impl WrapArgs {
    /// What standard output carries.
    pub fn format(&self) -> Format {
        self.output_format.unwrap_or(if self.print { Format::StreamJson } else { Format::Text })
    }
}

fn format(name: &str) -> Result<Format, String> {
    match name {
        "stream-json" => Ok(Format::StreamJson),
        "text" => Ok(Format::Text),
        _ => Err(format!("`{name}` is not an output format; choose stream-json or text")),
    }
}
