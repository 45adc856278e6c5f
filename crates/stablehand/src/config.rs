//! What holds for a run beside its flags: the user's file, the project's, and those that were named.
//!
//! Everything is read once, before anything is started. Values in, values out: the caller says where
//! the home and the user's file are and what was asked for; this finds, reads and merges the files.
//! Which tables there are and what a project may say is in [`stablehand_policy::settings`].

mod error;
mod files;
mod limits;
mod rules;

pub use error::ConfigError;
pub use files::{SourceFile, Sources, agent_names};
pub use limits::{LimitChanges, Profile, ToolClassLimit};

use crate::agent::{Agent, Form, Mode, is_agents_own};
use crate::context::{self, ContextText};
use crate::continuation::Continuations;
use crate::gate::Gate;
use files::{found, known_agents};
use rules::Rules;
use serde_json::{Value, json};
use stablehand_core::continuation::{ContinueRule, When};
use stablehand_core::decision::OnUnasked;
use stablehand_core::size::MaxOutput;
use stablehand_policy::settings::variable::Variable;
use stablehand_policy::settings::{Settings, SettingsFile};
use stablehand_policy::{PromptRule, PromptRules};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where files are looked for, as the environment says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The user's own settings file, which need not be there.
    pub user_file: Option<PathBuf>,
}

/// What was asked for, on top of the files.
#[derive(Clone, Debug, Default)]
pub struct ConfigRequest {
    /// Policies: files, or the names of ready-made ones.
    pub policies: Vec<String>,
    /// The folder that the agent works in; here, where none is named.
    pub workspace: Option<PathBuf>,
    /// Files for the agent's context.
    pub context: Vec<PathBuf>,
    /// Variables for the agent.
    pub env: Vec<Variable>,
    /// What becomes of a run whose agent runs a tool unasked that the policy does not allow; what the
    /// policy says, where absent.
    pub on_unasked: Option<OnUnasked>,
    /// Hold the agent to no policy, whatever the files say.
    pub no_policy: bool,
    /// How much of a tool's output faces show; what the files say, where absent.
    pub max_output: Option<MaxOutput>,
    /// Read neither the user's file nor the project's.
    pub no_files: bool,
}

/// What holds.
#[derive(Debug)]
pub struct Config {
    places: Places,
    workspace: Option<PathBuf>,
    /// The files, described.
    files: Vec<String>,
    policy: Option<Rules>,
    on_unasked: Option<OnUnasked>,
    /// The context that a new session gets before its first prompt.
    pub context: ContextText,
    env: Vec<Variable>,
    continues: Vec<ContinueRule>,
    /// How much of a tool's output faces show.
    pub max_output: MaxOutput,
    ignored: Vec<String>,
}

/// How an agent is to be run, as far as it matters for a policy.
#[derive(Clone, Copy, Debug)]
pub struct HeldBy {
    /// How we speak with it.
    pub form: Form,
    /// What it may do at all.
    pub mode: Option<Mode>,
    /// Whether it calls us by its hooks.
    pub hooks: bool,
    /// Whether it is told to approve everything.
    pub force: bool,
}

impl Config {
    /// Reads everything.
    pub fn read(request: &ConfigRequest, places: &Places) -> Result<Config, ConfigError> {
        let workspace = request.workspace.as_deref();
        let sources = Sources::named_by(&request.policies, workspace);
        // The run itself reports a workspace that is not there.
        let folder = workspace.unwrap_or(Path::new(".")).canonicalize().ok();
        let found = if request.no_files { Vec::new() } else { found(places, folder.as_deref())? };
        let (mut files, mut read, mut rules) = (Vec::new(), Vec::new(), Vec::new());
        for file in found.into_iter().chain(sources.named_files()?) {
            let settings = parse(&file)?;
            files.push(file.describe());
            rules.push((file.whose, file.path, settings.policy.clone()));
            read.push(settings);
        }
        let settings = Settings::layered(read, is_agents_own);
        known_agents(settings.agents())?;
        let policy = if request.no_policy { None } else { Some(Rules::of(rules, &sources)?) };
        let here = folder.unwrap_or_default();
        let home = places.home.as_deref();
        let context = context::read(&settings.context, &request.context, &here, home)?;
        let mut variables = settings.env;
        for variable in &request.env {
            variables.retain(|lower| lower.name != variable.name);
            variables.push(variable.clone());
        }
        let ignored = settings.ignored.into_iter().chain(context.ignored.iter().cloned());
        Ok(Config {
            places: places.clone(),
            workspace: request.workspace.clone(),
            files,
            policy,
            on_unasked: request.on_unasked,
            ignored: ignored.collect(),
            context,
            env: variables,
            continues: settings.continues,
            max_output: request.max_output.or(settings.max_output).unwrap_or_default(),
        })
    }

    /// The rules of the user's and the project's files and nothing else of theirs, for a hook without
    /// a run above it: those about calls, where there are any, and those about prompts.
    pub fn found_rules(
        workspace: &Path,
        agent: Agent,
        places: &Places,
    ) -> Result<(Option<Arc<Gate>>, PromptRules), ConfigError> {
        let mut rules = Vec::new();
        for file in found(places, workspace.canonicalize().ok().as_deref())? {
            let settings = parse(&file)?;
            rules.push((file.whose, file.path, settings.policy));
        }
        let sources = Sources::named_by(&[], Some(workspace));
        let rules = Rules::of(rules, &sources)?;
        let prompts = rules.prompts(agent.name());
        if !rules.judges_calls {
            return Ok((None, prompts));
        }
        let gate = rules.gate(agent.name(), Some(workspace), places)?;
        Ok((Some(Arc::new(gate)), prompts))
    }

    /// The rules about prompts for an agent, which need nothing of it.
    pub fn prompt_rules(&self, agent: &str) -> PromptRules {
        self.policy.as_ref().map(|rules| rules.prompts(agent)).unwrap_or_default()
    }

    fn calls(&self) -> Option<&Rules> {
        self.policy.as_ref().filter(|rules| rules.judges_calls)
    }

    /// The rules for an agent, where there are any. An agent that they cannot hold is refused: a policy
    /// that does not hold must not be taken for one that does.
    pub fn gate(&self, agent: Agent, by: HeldBy) -> Result<Option<Arc<Gate>>, ConfigError> {
        if !self.has_policy() {
            return Ok(None);
        }
        let found = self.found_policy();
        if let (Some(files), true) = (&found, by.force) {
            return Err(ConfigError::ForceAndPolicy { files: files.clone() });
        }
        if !agent.can_be_held(by.form, by.mode) && !by.hooks {
            return Err(ConfigError::Unruly { agent, form: by.form, found });
        }
        self.gate_named(agent.name())
    }

    /// The same for an agent that may be none of ours, and is not asked whether it can be held.
    pub fn gate_named(&self, agent: &str) -> Result<Option<Arc<Gate>>, ConfigError> {
        let Some(rules) = self.calls() else { return Ok(None) };
        let gate = rules.gate(agent, self.workspace.as_deref(), &self.places)?;
        Ok(Some(Arc::new(gate.with_on_unasked(self.on_unasked))))
    }

    /// The files of a policy that nobody named, for a message; none where it was named, or where
    /// there is none.
    pub fn found_policy(&self) -> Option<String> {
        let rules = self.calls().filter(|rules| rules.found)?;
        let files: Vec<_> =
            rules.files.iter().map(|file| format!("`{}`", file.display())).collect();
        Some(files.join(" and "))
    }

    /// Whether there is a policy about calls.
    pub fn has_policy(&self) -> bool {
        self.calls().is_some()
    }

    /// When this agent is told to go on.
    pub fn continuations(&self, agent: Agent) -> Continuations {
        Continuations::new(self.continues.iter().cloned(), agent.name())
    }

    /// The variables, for the agent's environment.
    pub fn variables(&self) -> impl Iterator<Item = (OsString, Option<OsString>)> {
        let pair = |it: &Variable| (it.name.clone().into(), Some(it.value.clone().into()));
        self.env.iter().map(pair)
    }

    /// What does not hold, and why.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// What holds, as JSON for a person. Values of variables are not part of it.
    pub fn describe(&self, agent: Agent) -> Value {
        let rules = self.continues.iter().filter(|rule| rule.is_for(agent.name()));
        let rule = |rule: &ContinueRule| {
            json!({
                "rule": rule.place.to_string(),
                "of": rule.of.word(),
                "when": rule.when.map(When::words),
                "matches": rule.matches.as_ref().map(ToString::to_string),
                "prompt": rule.prompt,
                "max": rule.max,
            })
        };
        let prompts = self.prompt_rules(agent.name());
        let prompt = |rule: &PromptRule| {
            json!({
                "rule": rule.place.to_string(),
                "matches": rule.matches.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "action": rule.action.word(),
            })
        };
        json!({
            "files": self.files,
            "policy": self.calls().map(|rules| texts(&rules.files)),
            "prompt": prompts.iter().map(prompt).collect::<Vec<_>>(),
            "context": {
                "files": texts(&self.context.files),
                "bytes": self.context.text.as_ref().map_or(0, String::len),
            },
            "env": self.env.iter().map(|variable| &variable.name).collect::<Vec<_>>(),
            "continue": rules.map(rule).collect::<Vec<_>>(),
            "max_output": self.max_output.0,
            "ignored": self.ignored,
        })
    }
}

fn parse(file: &SourceFile) -> Result<SettingsFile, ConfigError> {
    let name = file.path.display().to_string();
    SettingsFile::parse(&file.text, &name, file.whose)
        .map_err(|error| ConfigError::Settings { text: error.to_string() })
}

fn texts(paths: &[PathBuf]) -> Vec<Cow<'_, str>> {
    paths.iter().map(|path| path.to_string_lossy()).collect()
}
