//! The flags that say where a policy comes from.

use stablehand::config::Sources;
use stablehand_policy::{PROFILES, profile};
use std::path::PathBuf;

/// Where the policy comes from.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SourceArgs {
    /// A policy file; several are put on top of each other. Without it: the user's
    /// `stablehand/config.toml` in the XDG config folder, and `stablehand.toml` in the workspace
    #[arg(long = "policy", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// A ready-made policy on top of the files: read-only, workspace-write, no-network or yolo
    #[arg(long = "profile", value_name = "PROFILE", value_parser = profile_name)]
    profiles: Vec<String>,

    /// The folder that the agent works in [default: here]
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<PathBuf>,
}

impl SourceArgs {
    /// The same for the library.
    pub(crate) fn sources(&self) -> Sources {
        Sources {
            files: self.files.clone(),
            profiles: self.profiles.clone(),
            workspace: self.workspace.clone(),
        }
    }
}

fn profile_name(name: &str) -> Result<String, String> {
    let names: Vec<_> = PROFILES.iter().map(|(name, _)| *name).collect();
    profile(name).map(|_| name.to_owned()).ok_or_else(|| format!("there are: {}", names.join(", ")))
}
