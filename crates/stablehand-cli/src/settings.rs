//! What holds for a run beside its flags: the user's file, the project's, and those that were named.
//!
//! Everything is read once, before anything is started. Which tables there are and what a project may
//! say is `stablehand_policy::settings`; this finds the files, adds the flags, and says
//! what was ignored.

use crate::env::Env;
use crate::failure::Failure;
use crate::policy::find::{self, Sources, known_agents};
use serde_json::{Value, json};
use stablehand::Agent;
use stablehand::agent::is_agents_own;
use stablehand::context::{self, ContextText};
use stablehand::continuation::Continuations;
use stablehand::gate::Gate;
use stablehand::policy_world::FileWorld;
use stablehand::session::SessionBuilder;
use stablehand_core::continuation::{ContinueRule, When};
use stablehand_policy::Policy;
use stablehand_policy::settings::variable::{self, Variable};
use stablehand_policy::settings::{Settings, SettingsFile, Whose};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// What holds.
#[derive(Debug)]
pub(crate) struct Held {
    /// The files, described.
    files: Vec<String>,
    /// The rules about calls, where there are any.
    policy: Option<Rules>,
    /// What a new session is told first.
    pub(crate) context: ContextText,
    env: Vec<Variable>,
    continues: Vec<ContinueRule>,
    ignored: Vec<String>,
}

/// Rules about calls, and whose they are.
#[derive(Debug)]
struct Rules {
    policy: Policy,
    files: Vec<PathBuf>,
    /// Nobody named them on the command line.
    found: bool,
}

impl Rules {
    fn gate(&self, agent: &str, workspace: Option<&Path>, env: &Env) -> Result<Arc<Gate>, Failure> {
        let workspace = Sources::named_by(&[], workspace).workspace()?;
        let real = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
        // What is allowed for always is the user's word, so it never goes into a project's file.
        let named = self.files.last().filter(|_| !self.found).cloned();
        let learned = named.or_else(|| env.config_file());
        let files: Vec<PathBuf> = self.files.iter().chain(&learned).map(real).collect();
        let world = FileWorld::new(&workspace, env.home.as_deref(), &files);
        let gate = Gate::new(self.policy.clone(), world, agent);
        Ok(Arc::new(gate.with_rules_file(learned)))
    }
}

impl Held {
    /// Reads everything.
    pub(crate) fn read(
        args: &SettingsArgs,
        policies: &[String],
        workspace: Option<&Path>,
        env: &Env,
    ) -> Result<Held, Failure> {
        let sources = Sources::named_by(policies, workspace);
        // A workspace that is not there is told by whoever wants to work in it.
        let folder = workspace.unwrap_or(Path::new(".")).canonicalize().ok();
        let found = if args.no_config { Vec::new() } else { find::found(env, folder.as_deref())? };
        let mut files = Vec::new();
        let (mut read, mut rules) = (Vec::new(), Vec::new());
        for file in found.into_iter().chain(sources.named_files()?) {
            let name = file.path.display().to_string();
            let settings = SettingsFile::parse(&file.text, &name, file.whose).map_err(wrong)?;
            files.push(file.describe());
            rules.push((file.whose, file.path, settings.policy.clone()));
            read.push(settings);
        }
        let settings = Settings::layered(read, is_agents_own);
        known_agents(settings.agents())?;
        let policy = if args.no_policy { None } else { policy(rules, &sources)? };
        let here = folder.unwrap_or_default();
        let context = context::read(&settings.context, &args.context, &here, env.home.as_deref())?;
        let mut variables = settings.env;
        for variable in &args.env {
            variables.retain(|lower| lower.name != variable.name);
            variables.push(variable.clone());
        }
        let ignored = settings.ignored.into_iter().chain(context.ignored.iter().cloned());
        Ok(Held {
            files,
            policy,
            ignored: ignored.collect(),
            context,
            env: variables,
            continues: settings.continues,
        })
    }

    /// The rules of the user's and the project's files and nothing else of theirs, for a hook without
    /// a run above it.
    pub(crate) fn found_gate(
        workspace: &Path,
        agent: Agent,
        env: &Env,
    ) -> Result<Option<Arc<Gate>>, Failure> {
        let mut rules = Vec::new();
        for file in find::found(env, workspace.canonicalize().ok().as_deref())? {
            let name = file.path.display().to_string();
            let settings = SettingsFile::parse(&file.text, &name, file.whose).map_err(wrong)?;
            rules.push((file.whose, file.path, settings.policy));
        }
        let sources = Sources::named_by(&[], Some(workspace));
        let Some(rules) = policy(rules, &sources)? else { return Ok(None) };
        rules.gate(agent.name(), Some(workspace), env).map(Some)
    }

    /// The rules for an agent, where there are any.
    pub(crate) fn gate(
        &self,
        agent: Agent,
        workspace: Option<&Path>,
        env: &Env,
    ) -> Result<Option<Arc<Gate>>, Failure> {
        self.gate_named(agent.name(), workspace, env)
    }

    /// The same for an agent that may be none of ours.
    pub(crate) fn gate_named(
        &self,
        agent: &str,
        workspace: Option<&Path>,
        env: &Env,
    ) -> Result<Option<Arc<Gate>>, Failure> {
        self.policy.as_ref().map(|rules| rules.gate(agent, workspace, env)).transpose()
    }

    /// The files of a policy that nobody named, for a message; none where it was named, or where
    /// there is none.
    pub(crate) fn found_policy(&self) -> Option<String> {
        let rules = self.policy.as_ref().filter(|rules| rules.found)?;
        let files: Vec<_> =
            rules.files.iter().map(|file| format!("`{}`", file.display())).collect();
        Some(files.join(" and "))
    }

    /// Whether there is a policy.
    pub(crate) fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// When this agent is told to go on.
    pub(crate) fn continuations(&self, agent: Agent) -> Continuations {
        Continuations::new(self.continues.iter().cloned(), agent.name())
    }

    /// The variables, for the agent's environment.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (OsString, Option<OsString>)> {
        let pair = |it: &Variable| (it.name.clone().into(), Some(it.value.clone().into()));
        self.env.iter().map(pair)
    }

    /// A session to which all of it applies, but for the policy.
    pub(crate) fn apply(&self, builder: SessionBuilder, agent: Agent) -> SessionBuilder {
        let builder = builder
            .context(self.context.text.clone())
            .continuations(self.continuations(agent))
            .ignored_settings(self.ignored.clone());
        let set = |builder: SessionBuilder, variable: &Variable| {
            builder.env(variable.name.as_str(), variable.value.as_str())
        };
        self.env.iter().fold(builder, set)
    }

    /// What does not hold, and why.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// What holds, for `--dry-run`. Values of variables are not part of it.
    pub(crate) fn describe(&self, agent: Agent) -> Value {
        let rules = self.continues.iter().filter(|rule| rule.is_for(agent.name()));
        let rule = |rule: &ContinueRule| {
            json!({
                "rule": rule.place.to_string(),
                "when": rule.when.map(When::words),
                "matches": rule.matches.as_ref().map(regex_text),
                "prompt": rule.prompt,
                "max": rule.max,
            })
        };
        json!({
            "files": self.files,
            "policy": self.policy.as_ref().map(|rules| texts(&rules.files)),
            "context": {
                "files": texts(&self.context.files),
                "bytes": self.context.text.as_ref().map_or(0, String::len),
            },
            "env": self.env.iter().map(|variable| &variable.name).collect::<Vec<_>>(),
            "continue": rules.map(rule).collect::<Vec<_>>(),
            "ignored": self.ignored,
        })
    }
}

fn texts(paths: &[PathBuf]) -> Vec<Cow<'_, str>> {
    paths.iter().map(|path| path.to_string_lossy()).collect()
}

fn regex_text(pattern: &impl ToString) -> String {
    pattern.to_string()
}

/// The rules that hold: those of the files that were named, or else of those that were found; ready-made
/// ones on top. As for `policy check`.
fn policy(
    rules: Vec<(Whose, PathBuf, Option<Policy>)>,
    sources: &Sources,
) -> Result<Option<Rules>, Failure> {
    let named = rules.iter().any(|(whose, ..)| *whose == Whose::Named);
    let profiles = sources.named_profiles()?;
    let (mut files, mut layers) = (Vec::new(), Vec::new());
    for (whose, path, policy) in rules {
        // A file without rules about calls changes nothing, unless it was named for them.
        let says = policy.as_ref().is_some_and(|policy| !policy.says_nothing());
        if (whose == Whose::Named) == named {
            if named || says {
                files.push(path);
            }
            layers.extend(policy);
        }
    }
    if files.is_empty() && profiles.is_empty() {
        return Ok(None);
    }
    let found = !named && profiles.is_empty();
    layers.extend(profiles);
    let policy = Policy::layered(layers);
    known_agents(policy.agents())?;
    Ok(Some(Rules { policy, files, found }))
}

fn wrong(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("the settings are wrong: {error}"))
        .hint("see docs/settings.md and docs/policy.md for the language")
}
