//! Which files hold: the user's, the project's, and those on the command line.

use crate::env::Env;
use crate::failure::Failure;
use stablehand::Agent;
use stablehand::bounded::read_text;
use stablehand_core::Dialect;
use stablehand_policy::settings::{SettingsFile, Whose};
use stablehand_policy::{PROFILES, Policy, RuleRef, profile};
use std::path::{Path, PathBuf};

/// The file that comes with a project.
const PROJECT_FILE: &str = "stablehand.toml";

/// A file of ours is no longer than this.
const MOST_BYTES: usize = 1 << 20;

/// Where the policy comes from.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Sources {
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
pub(crate) struct Found {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What it says.
    pub(crate) text: String,
    /// Whose it is.
    pub(crate) whose: Whose,
}

impl Found {
    /// What it is, for a list.
    pub(crate) fn describe(&self) -> String {
        let whose = match self.whose {
            Whose::User => "the user's",
            Whose::Project => "the project's; it may only narrow",
            Whose::Named => "named on the command line",
        };
        format!("{} ({whose})", self.path.display())
    }
}

impl Sources {
    /// Words that are profiles or files.
    pub(crate) fn named_by(words: &[String], workspace: Option<&Path>) -> Sources {
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

    /// The workspace, absolute.
    ///
    /// Rules compare paths as text. A name that is not UTF-8 has no exact text, and links in such a
    /// folder could not be followed, so no policy could hold an agent there.
    pub(crate) fn workspace(&self) -> Result<PathBuf, Failure> {
        let here = self.workspace.as_deref().unwrap_or(Path::new("."));
        let folder = here.canonicalize().map_err(|error| {
            Failure::new(format!("failed to find the folder `{}`: {error}", here.display()))
        })?;
        if folder.to_str().is_none() {
            let folder = folder.display();
            return Err(Failure::usage(format!(
                "cannot apply a policy in the folder `{folder}`: its path is not UTF-8"
            ))
            .hint("rename the folder, or run without a policy (--no-policy)"));
        }
        Ok(folder)
    }

    /// The files that hold, lowest first.
    pub(super) fn files(&self, env: &Env) -> Result<Vec<Found>, Failure> {
        if self.files.is_empty() {
            return found(env, Some(&self.workspace()?));
        }
        self.named_files()
    }

    /// The files that were named on the command line.
    pub(crate) fn named_files(&self) -> Result<Vec<Found>, Failure> {
        let read = |path: &PathBuf| {
            let text = read_text(path, MOST_BYTES).map_err(|error| cannot_read(path, &error))?;
            Ok(Found { path: path.clone(), text, whose: Whose::Named })
        };
        self.files.iter().map(read).collect()
    }

    /// The policy, and the files that it came from.
    pub(super) fn policy(&self, env: &Env) -> Result<(Policy, Vec<PathBuf>), Failure> {
        let files = self.files(env)?;
        let mut layers = Vec::new();
        for file in &files {
            let name = file.path.display().to_string();
            let read = SettingsFile::parse(&file.text, &name, file.whose).map_err(wrong)?;
            layers.extend(read.policy);
        }
        layers.extend(self.named_profiles()?);
        let policy = Policy::layered(layers);
        check_agents(&policy)?;
        Ok((policy, files.into_iter().map(|file| file.path).collect()))
    }

    /// The policy of what was named on the command line alone.
    pub(super) fn named(&self) -> Result<Policy, Failure> {
        let mut layers = Vec::new();
        for file in self.named_files()? {
            let name = file.path.display().to_string();
            layers.push(Policy::parse(&file.text, &name).map_err(wrong)?);
        }
        layers.extend(self.named_profiles()?);
        let policy = Policy::layered(layers);
        check_agents(&policy)?;
        Ok(policy)
    }

    /// The ready-made policies that were named.
    pub(crate) fn named_profiles(&self) -> Result<Vec<Policy>, Failure> {
        let read = |name: &String| {
            let text = profile(name).unwrap_or_default();
            Policy::parse(text, &format!("profile:{name}")).map_err(wrong)
        };
        self.profiles.iter().map(read).collect()
    }
}

/// The user's file and the project's, where they are there.
pub(crate) fn found(env: &Env, workspace: Option<&Path>) -> Result<Vec<Found>, Failure> {
    let user = env.config_file().map(|path| (path, Whose::User));
    let project = workspace.map(|folder| (folder.join(PROJECT_FILE), Whose::Project));
    let mut found = Vec::new();
    for (path, whose) in user.into_iter().chain(project) {
        match read_text(&path, MOST_BYTES) {
            Ok(text) => found.push(Found { path, text, whose }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // A policy that is there and cannot be read must not count as none.
            Err(error) => return Err(cannot_read(&path, &error)),
        }
    }
    Ok(found)
}

/// A policy that cannot be read.
pub(super) fn wrong(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("the policy is wrong: {error}"))
        .hint("see docs/policy.md for the language")
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("failed to read `{}`: {error}", path.display()))
}

/// The names that an agent can have.
pub(crate) fn agent_names() -> Vec<&'static str> {
    let mut names: Vec<_> = Agent::ALL.iter().map(|agent| agent.name()).collect();
    names.extend(Dialect::ALL.iter().map(|dialect| dialect.name()));
    names.sort_unstable();
    names.dedup();
    names
}

/// A rule for an agent that does not exist would silently hold for nobody.
fn check_agents(policy: &Policy) -> Result<(), Failure> {
    known_agents(policy.agents())
}

/// Refuses a rule that is about an agent that does not exist.
pub(crate) fn known_agents<'a>(
    mut about: impl Iterator<Item = (&'a str, &'a RuleRef)>,
) -> Result<(), Failure> {
    let names = agent_names();
    match about.find(|(agent, _)| !names.contains(agent) && Agent::by_name(agent).is_none()) {
        None => Ok(()),
        Some((agent, place)) => {
            Err(Failure::new(format!("{place} is about `{agent}`, and no agent is called so"))
                .hint(format!("there are: {}", names.join(", "))))
        }
    }
}
