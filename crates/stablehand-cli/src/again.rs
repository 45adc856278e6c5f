//! Whether something that failed is tried again: the arguments that every way of running has.

use stablehand::recovery;

/// How often, and with which words.
#[derive(Clone, Debug, clap::Args)]
pub struct AgainArgs {
    /// How often a turn that hung or broke off is tried again, where that is safe
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,

    /// What an agent is told that was interrupted after it may have changed something
    #[arg(long, value_name = "TEXT", default_value = recovery::CONTINUE_PROMPT, hide_default_value = true)]
    pub continue_prompt: String,
}
