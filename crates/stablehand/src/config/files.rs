//! Which files hold: the user's, the project's, and those that were named.

use super::{ConfigError, Places};
use crate::agent::Agent;
use crate::bounded::read_text;
use stablehand_core::Dialect;
use stablehand_policy::settings::{SettingsFile, Whose};
use stablehand_policy::{Policy, RuleRef, profile};
use std::path::{Path, PathBuf};

/// The file that comes with a project.
const PROJECT_FILE: &str = "stablehand.toml";

/// A file of ours is no longer than this.
const MOST_BYTES: usize = 1 << 20;

/// A file that was read.
#[derive(Debug)]
pub struct SourceFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
    /// Whose it is.
    pub whose: Whose,
}

impl SourceFile {
    /// What it is, for a list.
    pub fn describe(&self) -> String {
        let whose = match self.whose {
            Whose::User => "the user's",
            Whose::Project => "the project's; it may only narrow",
            Whose::Named => "named on the command line",
        };
        format!("{} ({whose})", self.path.display())
    }
}

/// What a policy is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Policy files, the lowest first; without any, those of the user and the project.
    pub files: Vec<PathBuf>,
    /// Names of ready-made policies, on top of the files.
    pub profiles: Vec<String>,
    /// The folder that the agent works in; here, where none is named.
    pub workspace: Option<PathBuf>,
}

impl Sources {
    /// Words that are profiles or files.
    pub fn named_by(words: &[String], workspace: Option<&Path>) -> Sources {
        let (profiles, files): (Vec<_>, Vec<_>) =
            words.iter().cloned().partition(|word| profile(word).is_some());
        Sources {
            files: files.into_iter().map(PathBuf::from).collect(),
            profiles,
            workspace: workspace.map(Path::to_owned),
        }
    }

    /// Whether anything was named.
    pub fn is_named(&self) -> bool {
        !self.files.is_empty() || !self.profiles.is_empty()
    }

    /// The workspace, absolute.
    ///
    /// Rules compare paths as text. A name that is not UTF-8 has no exact text, and links in such a
    /// folder could not be followed, so no policy could hold an agent there.
    pub fn workspace(&self) -> Result<PathBuf, ConfigError> {
        let here = self.workspace.as_deref().unwrap_or(Path::new("."));
        let folder = here
            .canonicalize()
            .map_err(|source| ConfigError::NoFolder { folder: here.to_owned(), source })?;
        match folder.to_str() {
            Some(_) => Ok(folder),
            None => Err(ConfigError::FolderNotText { folder }),
        }
    }

    /// The files that hold, lowest first.
    pub fn files(&self, places: &Places) -> Result<Vec<SourceFile>, ConfigError> {
        if self.files.is_empty() {
            return found(places, Some(&self.workspace()?));
        }
        self.named_files()
    }

    /// The files that were named.
    pub fn named_files(&self) -> Result<Vec<SourceFile>, ConfigError> {
        let read = |path: &PathBuf| {
            let text = read_text(path, MOST_BYTES)
                .map_err(|source| ConfigError::Read { path: path.clone(), source })?;
            Ok(SourceFile { path: path.clone(), text, whose: Whose::Named })
        };
        self.files.iter().map(read).collect()
    }

    /// The policy, and the files that it came from.
    pub fn policy(&self, places: &Places) -> Result<(Policy, Vec<PathBuf>), ConfigError> {
        let files = self.files(places)?;
        let mut layers = Vec::new();
        for file in &files {
            let name = file.path.display().to_string();
            let read = SettingsFile::parse(&file.text, &name, file.whose).map_err(wrong)?;
            layers.extend(read.policy);
        }
        let policy = self.layered(layers)?;
        Ok((policy, files.into_iter().map(|file| file.path).collect()))
    }

    /// The policy of what was named alone.
    pub fn named(&self) -> Result<Policy, ConfigError> {
        let mut layers = Vec::new();
        for file in self.named_files()? {
            let name = file.path.display().to_string();
            layers.push(Policy::parse(&file.text, &name).map_err(wrong)?);
        }
        self.layered(layers)
    }

    fn layered(&self, mut layers: Vec<Policy>) -> Result<Policy, ConfigError> {
        layers.extend(self.named_profiles()?);
        let policy = Policy::layered(layers);
        // A rule for an agent that does not exist would silently hold for nobody.
        known_agents(policy.agents())?;
        Ok(policy)
    }

    /// The ready-made policies that were named.
    pub(super) fn named_profiles(&self) -> Result<Vec<Policy>, ConfigError> {
        let read = |name: &String| {
            let text = profile(name).unwrap_or_default();
            Policy::parse(text, &format!("profile:{name}")).map_err(wrong)
        };
        self.profiles.iter().map(read).collect()
    }
}

/// The user's file and the project's, where they are there.
pub(super) fn found(
    places: &Places,
    workspace: Option<&Path>,
) -> Result<Vec<SourceFile>, ConfigError> {
    let user = places.user_file.clone().map(|path| (path, Whose::User));
    let project = workspace.map(|folder| (folder.join(PROJECT_FILE), Whose::Project));
    let mut found = Vec::new();
    for (path, whose) in user.into_iter().chain(project) {
        match read_text(&path, MOST_BYTES) {
            Ok(text) => found.push(SourceFile { path, text, whose }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // A policy that is there and cannot be read must not count as none.
            Err(source) => return Err(ConfigError::Read { path, source }),
        }
    }
    Ok(found)
}

fn wrong(error: impl std::fmt::Display) -> ConfigError {
    ConfigError::Policy { text: error.to_string() }
}

/// The names that an agent can have in rules.
pub fn agent_names() -> Vec<&'static str> {
    let mut names: Vec<_> = Agent::ALL.iter().map(|agent| agent.name()).collect();
    names.extend(Dialect::ALL.iter().map(|dialect| dialect.name()));
    names.sort_unstable();
    names.dedup();
    names
}

/// Refuses a rule that is about an agent that does not exist.
pub(super) fn known_agents<'a>(
    mut about: impl Iterator<Item = (&'a str, &'a RuleRef)>,
) -> Result<(), ConfigError> {
    let names = agent_names();
    match about.find(|(agent, _)| !names.contains(agent) && Agent::by_name(agent).is_none()) {
        None => Ok(()),
        Some((agent, place)) => {
            Err(ConfigError::UnknownAgent { place: place.to_string(), agent: agent.to_owned() })
        }
    }
}
