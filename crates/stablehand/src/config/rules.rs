//! The rules about calls and prompts that hold, and the gate that they make.

use super::files::known_agents;
use super::{ConfigError, Places, Sources};
use crate::gate::Gate;
use crate::policy_world::FileWorld;
use stablehand_policy::settings::Whose;
use stablehand_policy::{Policy, PromptRules};
use std::path::{Path, PathBuf};

/// Rules about calls and prompts, and whose they are.
#[derive(Debug)]
pub(super) struct Rules {
    policy: Policy,
    /// The files with rules about calls.
    pub(super) files: Vec<PathBuf>,
    /// Whether calls are judged; there may be rules about prompts alone.
    pub(super) judges_calls: bool,
    /// Nobody named them.
    pub(super) found: bool,
}

impl Rules {
    /// The rules that hold: those of the files that were named, or else of those that were found;
    /// ready-made ones on top.
    pub(super) fn of(
        rules: Vec<(Whose, PathBuf, Option<Policy>)>,
        sources: &Sources,
    ) -> Result<Rules, ConfigError> {
        let named = rules.iter().any(|(whose, ..)| *whose == Whose::Named);
        let profiles = sources.named_profiles()?;
        let (mut files, mut layers) = (Vec::new(), Vec::new());
        for (whose, path, policy) in rules {
            // A file without rules about calls changes nothing, unless it was named for them.
            let says = policy.as_ref().is_some_and(|policy| !policy.says_nothing());
            let prompts_only = policy.as_ref().is_some_and(Policy::is_about_prompts_only);
            if (whose == Whose::Named) == named {
                if (named && !prompts_only) || says {
                    files.push(path);
                }
                layers.extend(policy);
            }
        }
        let judges_calls = !files.is_empty() || !profiles.is_empty();
        let found = !named && profiles.is_empty();
        layers.extend(profiles);
        let policy = Policy::layered(layers);
        known_agents(policy.agents())?;
        Ok(Rules { policy, files, judges_calls, found })
    }

    /// The rules about prompts for an agent.
    pub(super) fn prompts(&self, agent: &str) -> PromptRules {
        self.policy.prompt_rules(agent)
    }

    /// The gate for an agent in a workspace.
    pub(super) fn gate(
        &self,
        agent: &str,
        workspace: Option<&Path>,
        places: &Places,
    ) -> Result<Gate, ConfigError> {
        let workspace = Sources::named_by(&[], workspace).workspace()?;
        let real = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
        // What is allowed for always is the user's word, so it never goes into a project's file.
        let named = self.files.last().filter(|_| !self.found).cloned();
        let learned = named.or_else(|| places.user_file.clone());
        let files: Vec<PathBuf> = self.files.iter().chain(&learned).map(real).collect();
        let world = FileWorld::new(&workspace, places.home.as_deref(), &files);
        let gate = Gate::new(self.policy.clone(), world, agent);
        Ok(gate.with_rules_file(learned))
    }
}
