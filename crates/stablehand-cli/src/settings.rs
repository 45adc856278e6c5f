//! The flags of settings. Finding and merging the files is the library's ([`stablehand::config`]).

use stablehand::config::ConfigRequest;
use stablehand_core::decision::OnUnasked;
use stablehand_core::size::MaxOutput;
use stablehand_policy::settings::variable::{self, Variable};
use std::path::{Path, PathBuf};

/// The flags of settings.
#[derive(Clone, Debug, clap::Args)]
pub struct SettingsArgs {
    /// A file that the agent is told before its first prompt; several are told in order. Also
    /// `[context]` in the settings
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    context: Vec<PathBuf>,

    /// A variable for the agent and its tools; also `[env]` in the settings
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, help_heading = "Settings")]
    env: Vec<Variable>,

    /// Show this much of each tool's output in text, events and editors, or none for all of it; the log
    /// has all of it [default: 50KiB]. Also `max` of `[output]` in the settings
    #[arg(long, value_name = "SIZE", help_heading = "Settings")]
    max_output: Option<MaxOutput>,

    /// Hold the agent to no policy, whatever the settings say
    #[arg(long, conflicts_with = "policy", help_heading = "Settings")]
    pub no_policy: bool,

    /// Read neither the user's `config.toml` nor the project's `stablehand.toml`
    #[arg(long, help_heading = "Settings")]
    no_config: bool,
}

fn variable(text: &str) -> Result<Variable, String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    match variable::fault(name, value) {
        Some(fault) => Err(fault),
        None => Ok(Variable { name: name.to_owned(), value: value.to_owned(), place: None }),
    }
}

impl SettingsArgs {
    /// What is asked for by these flags and those about policies.
    pub(crate) fn request(
        &self,
        policies: &[String],
        on_unasked: Option<OnUnasked>,
        workspace: Option<&Path>,
    ) -> ConfigRequest {
        ConfigRequest {
            policies: policies.to_vec(),
            workspace: workspace.map(Path::to_owned),
            context: self.context.clone(),
            env: self.env.clone(),
            on_unasked,
            no_policy: self.no_policy,
            max_output: self.max_output,
            no_files: self.no_config,
        }
    }
}
