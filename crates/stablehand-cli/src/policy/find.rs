//! Which policy files hold: the user's, the project's, and those on the command line.

use crate::env::Env;
use crate::failure::Failure;
use stablehand::Agent;
use stablehand_core::Dialect;
use stablehand_core::policy::{PROFILES, Policy, profile};
use std::path::{Path, PathBuf};

/// The file that comes with a project.
const PROJECT_FILE: &str = "stablehand.toml";

/// Where the policy comes from.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Sources {
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

fn profile_name(name: &str) -> Result<String, String> {
    let names: Vec<_> = PROFILES.iter().map(|(name, _)| *name).collect();
    profile(name).map(|_| name.to_owned()).ok_or_else(|| format!("there are: {}", names.join(", ")))
}

/// A file that was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Where it is.
    path: PathBuf,
    text: String,
    of_project: bool,
}

impl Found {
    /// What it is, for a list.
    pub(super) fn describe(&self) -> String {
        let whose =
            if self.of_project { "the project's; it may only narrow" } else { "the user's" };
        format!("{} ({whose})", self.path.display())
    }
}

impl Sources {
    /// Words that are profiles or files.
    pub(super) fn named_by(words: &[String], workspace: Option<&Path>) -> Sources {
        let (profiles, files): (Vec<_>, Vec<_>) =
            words.iter().cloned().partition(|word| profile(word).is_some());
        Sources {
            files: files.into_iter().map(PathBuf::from).collect(),
            profiles,
            workspace: workspace.map(Path::to_owned),
        }
    }

    /// Whether anything was named on the command line.
    pub(super) fn is_named(&self) -> bool {
        !self.files.is_empty() || !self.profiles.is_empty()
    }

    /// The file that was named last.
    pub(super) fn last_file(&self) -> Option<PathBuf> {
        self.files.last().cloned()
    }

    /// The workspace, absolute.
    pub(super) fn workspace(&self) -> Result<PathBuf, Failure> {
        let here = self.workspace.as_deref().unwrap_or(Path::new("."));
        here.canonicalize().map_err(|error| {
            Failure::new(format!("failed to find the folder `{}`: {error}", here.display()))
        })
    }

    /// The files that hold, lowest first.
    pub(super) fn files(&self, env: &Env) -> Result<Vec<Found>, Failure> {
        if !self.files.is_empty() {
            let read = |path: &PathBuf| {
                let text =
                    std::fs::read_to_string(path).map_err(|error| cannot_read(path, &error))?;
                Ok(Found { path: path.clone(), text, of_project: false })
            };
            return self.files.iter().map(read).collect();
        }
        let project = self.workspace()?.join(PROJECT_FILE);
        let candidates =
            env.config_file().map(|path| (path, false)).into_iter().chain([(project, true)]);
        let mut found = Vec::new();
        for (path, of_project) in candidates {
            match std::fs::read_to_string(&path) {
                Ok(text) => found.push(Found { path, text, of_project }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // A policy that is there and cannot be read must not count as none.
                Err(error) => return Err(cannot_read(&path, &error)),
            }
        }
        Ok(found)
    }

    /// The policy, and the files that it came from.
    pub(super) fn policy(&self, env: &Env) -> Result<(Policy, Vec<PathBuf>), Failure> {
        let files = self.files(env)?;
        let mut layers = Vec::new();
        for file in &files {
            let name = file.path.display().to_string();
            let read = if file.of_project { Policy::parse_project } else { Policy::parse };
            layers.push(read(&file.text, &name).map_err(wrong)?);
        }
        layers.extend(self.named_profiles()?);
        let policy = Policy::layered(layers);
        check_agents(&policy)?;
        Ok((policy, files.into_iter().map(|file| file.path).collect()))
    }

    /// The policy of what was named on the command line alone.
    pub(super) fn named(&self) -> Result<Policy, Failure> {
        let mut layers = Vec::new();
        for path in &self.files {
            let text = std::fs::read_to_string(path).map_err(|error| cannot_read(path, &error))?;
            layers.push(Policy::parse(&text, &path.display().to_string()).map_err(wrong)?);
        }
        layers.extend(self.named_profiles()?);
        let policy = Policy::layered(layers);
        check_agents(&policy)?;
        Ok(policy)
    }

    fn named_profiles(&self) -> Result<Vec<Policy>, Failure> {
        let read = |name: &String| {
            let text = profile(name).unwrap_or_default();
            Policy::parse(text, &format!("profile:{name}")).map_err(wrong)
        };
        self.profiles.iter().map(read).collect()
    }
}

/// A policy that cannot be read.
pub(super) fn wrong(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("the policy is wrong: {error}"))
        .hint("see docs/policy.md for the language")
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("failed to read the policy `{}`: {error}", path.display()))
}

/// The names that an agent can have.
pub(super) fn agent_names() -> Vec<&'static str> {
    let mut names: Vec<_> = Agent::ALL.iter().map(|agent| agent.name()).collect();
    names.extend(Dialect::ALL.iter().map(|dialect| dialect.name()));
    names.sort_unstable();
    names.dedup();
    names
}

/// A rule for an agent that does not exist would silently hold for nobody.
fn check_agents(policy: &Policy) -> Result<(), Failure> {
    let names = agent_names();
    match policy.agents().find(|(agent, _)| !names.contains(agent)) {
        None => Ok(()),
        Some((agent, place)) => {
            Err(Failure::new(format!("{place} is about `{agent}`, and no agent is called so"))
                .hint(format!("there are: {}", names.join(", "))))
        }
    }
}
