//! Which agent, how, and within which limits: the arguments that every way of running one shares.

use crate::again::AgainArgs;
use crate::console;
use crate::duration;
use crate::env::Env;
use crate::failure::Failure;
use crate::limits::LimitArgs;
use crate::redact::RedactArgs;
use crate::settings::SettingsArgs;
use stablehand::agent::{Agent, BY_COMMAND, Form, Mode};
use stablehand::config::{Config, HeldBy};
use stablehand::driver::Stages;
use stablehand::gate::Gate;
use stablehand::redact::Redaction;
use stablehand::session::{Session, SessionSpec};
use stablehand::surroundings::Surroundings;
use stablehand_core::decision::OnUnasked;
use stablehand_core::monitor::Limits;
use stablehand_core::record::Level;
use stablehand_core::words;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) mod help;

use help::names;

/// The shared arguments.
#[derive(Clone, Debug, clap::Args)]
pub struct ChoiceArgs {
    /// Which agent, such as claude or codex; `stablehand agents` lists them all. demo is built in and
    /// needs no account. acp:'COMMAND' is any other that speaks the Agent Client Protocol, by its
    /// command line
    #[arg(long, value_name = "AGENT", default_value = Agent::DEFAULT.name())]
    pub agent: String,

    /// The agent's program [default: from PATH]
    #[arg(long, value_name = "PROGRAM")]
    pub agent_bin: Option<PathBuf>,

    /// The model, as the agent names it
    #[arg(long)]
    pub model: Option<String>,

    /// The folder to work in
    #[arg(long, value_name = "FOLDER")]
    pub workspace: Option<PathBuf>,

    /// Continue this session
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub resume: Option<String>,

    /// Continue the latest session of the workspace
    #[arg(long = "continue", conflicts_with = "resume")]
    pub continue_latest: bool,

    /// Let the agent run everything without asking
    #[arg(long)]
    pub force: bool,

    /// Rules that answer the agent's questions whether it may do something
    #[arg(long, value_name = "FILE|PROFILE", conflicts_with = "force", help = help::policy())]
    policy: Vec<String>,

    /// What to do when the agent runs a tool without asking that the policy does not allow: stop the
    /// run, or warn and go on [default: stop, or `on_unasked` of the policy]
    #[arg(long, value_name = "stop|warn", value_parser = on_unasked, conflicts_with = "force")]
    on_unasked: Option<OnUnasked>,

    /// Have the agent call us before every tool and tell us what it does, by its own hooks
    #[arg(long, help = help::hooks())]
    pub hooks: bool,

    /// Speak the Agent Client Protocol with the agent, and not its own
    #[arg(long, help = help::acp())]
    pub acp: bool,

    /// With --acp: how the agent logs in, in its own word [default: by the API keys that are set]
    #[arg(long, value_name = "METHOD")]
    login: Option<String>,

    #[command(flatten)]
    settings: SettingsArgs,

    /// What the agent may do at all: plan (make a plan, change nothing), ask (answer, change
    /// nothing) or edit (change files without asking). Not every agent has every mode
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Option<Mode>,

    /// Leave the agent's environment as it is: by default variables are set that keep tools from
    /// asking questions (such as CI, PAGER and those of git)
    #[arg(long)]
    pub keep_env: bool,

    #[command(flatten)]
    limits: LimitArgs,

    /// Where the log goes [default: `$STABLEHAND_HOME/logs`, or `stablehand/logs` in the XDG state folder]
    #[arg(long, value_name = "FOLDER", help_heading = "Log")]
    log_dir: Option<PathBuf>,

    /// What is said on standard error: debug, info, warn or error. The log always has everything
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = console::level, help_heading = "Log")]
    pub log_level: Level,

    /// Leave it to `stablehand sessions` to bring the log into the index, instead of doing so while
    /// the agent works (also: `STABLEHAND_NO_INDEX=1`)
    #[arg(long, help_heading = "Log")]
    no_index: bool,

    #[command(flatten)]
    redact: RedactArgs,

    /// How long the agent gets after the interrupt, and again after the termination signal
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    stop_grace: Option<Duration>,

    /// The prompt; several words are joined. Without it, standard input is read. `run` also adds
    /// standard input to a prompt, after an empty line; a `-` at the end waits for it however long it
    /// takes
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,

    /// Everything after -- goes to the agent as it is
    #[arg(last = true, value_name = "AGENT ARGS")]
    pub extra: Vec<OsString>,
}

fn mode(name: &str) -> Result<Mode, String> {
    Mode::by_name(name).ok_or_else(|| format!("`{name}` is no mode; choose plan, ask or edit"))
}

fn on_unasked(word: &str) -> Result<OnUnasked, String> {
    match word {
        "stop" => Ok(OnUnasked::Stop),
        "warn" => Ok(OnUnasked::Warn),
        _ => Err("choose stop or warn".to_owned()),
    }
}

impl ChoiceArgs {
    /// The agent that was named.
    pub fn agent(&self) -> Result<Agent, Failure> {
        let agent = agent_named(&self.agent)?;
        if self.login.is_some() && !self.speaks_acp(agent) {
            return Err(Failure::usage("--login is about the Agent Client Protocol")
                .hint("add --acp, or use `stablehand login`"));
        }
        Ok(agent)
    }

    /// How the agent logs in, in its own word, where it wants that said.
    pub fn login(&self, agent: Agent) -> Option<String> {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let by_what_is_set = || agent.login(is_set).map(str::to_owned);
        self.login.clone().or_else(by_what_is_set).filter(|_| self.speaks_acp(agent))
    }

    /// Whether the Agent Client Protocol is spoken: where that is asked for, or nothing else can be.
    pub fn speaks_acp(&self, agent: Agent) -> bool {
        self.acp || agent.row().speaks_only_acp()
    }

    /// How we speak with an agent that is to listen.
    fn spoken(&self, agent: Agent) -> Form {
        if self.speaks_acp(agent) { Form::Acp } else { Form::TwoWay }
    }

    /// How we speak with it in a conversation: with hooks each turn is a process, unless another
    /// protocol is spoken.
    pub fn form_in_talk(&self, agent: Agent) -> Form {
        match self.spoken(agent) {
            Form::TwoWay if self.hooks || agent.row().two_way.is_none() => Form::OneTurn,
            form => form,
        }
    }

    /// Whether it listens while it works, in a conversation.
    pub fn listens(&self, agent: Agent) -> bool {
        self.form_in_talk(agent).listens()
    }

    /// Its program.
    pub fn program(&self, agent: Agent, env: &Env) -> Result<PathBuf, Failure> {
        match &self.agent_bin {
            Some(program) => Ok(program.clone()),
            // An agent without a program of its own is built into ours.
            None if agent.row().is_built_in() => Ok(env.program.clone()),
            None => Ok(agent.find(env.path.as_deref(), self.spoken(agent))?),
        }
    }

    /// The limits, for this agent and model.
    pub fn limits(&self, agent: Agent) -> Limits {
        let limits = self.limits.limits(agent);
        match &self.model {
            Some(model) => limits.for_model(model),
            None => limits,
        }
    }

    /// The limits, for an agent that may be none of ours.
    pub fn limits_of(&self, agent: Option<Agent>) -> Limits {
        self.limits.instead_of(None, agent)
    }

    /// What the user's file, the project's and the flags say, read now.
    pub(crate) fn config(&self, env: &Env) -> Result<Config, Failure> {
        let request =
            self.settings.request(&self.policy, self.on_unasked, self.workspace.as_deref());
        Ok(Config::read(&request, &env.places())?)
    }

    /// The rules that hold.
    pub(crate) fn gate(&self, agent: Agent, config: &Config) -> Result<Option<Arc<Gate>>, Failure> {
        let (form, mode) = (self.spoken(agent), self.mode);
        let by = HeldBy { form, mode, hooks: self.hooks, force: self.force };
        Ok(config.gate(agent, by)?)
    }

    /// A session as it was chosen, with what the settings say, but for the policy.
    pub(crate) fn spec(
        &self,
        env: &Env,
        agent: Agent,
        config: &Config,
        again: &AgainArgs,
    ) -> Result<SessionSpec, Failure> {
        let spec = Session::builder(agent)
            .surroundings(self.surroundings(env))
            .program(self.program(agent, env)?)
            .keeper(env.keeper())
            .form(self.form_in_talk(agent))
            .limits(self.limits(agent))
            .stages(self.stages())
            .args(self.extra.iter().cloned())
            .continue_latest(self.continue_latest)
            .force(self.force)
            .login(self.login(agent))
            .retries(again.retries)
            .continue_prompt(&again.continue_prompt)
            .context(config.context.text.clone())
            .continuations(config.continuations(agent))
            .prompt_rules(config.prompt_rules(agent.name()))
            .max_output(config.max_output)
            .ignored_settings(config.ignored().to_vec())
            .variables(config.variables());
        let spec = if self.hooks { spec.hooks(env.hook_setup()?) } else { spec };
        let spec = apply(spec, self.model.as_ref(), SessionSpec::model);
        let spec = apply(spec, self.mode, SessionSpec::mode);
        let spec = apply(spec, self.workspace.as_ref(), SessionSpec::workspace);
        Ok(apply(spec, self.resume.as_ref(), SessionSpec::resume))
    }

    /// What an agent with these arguments has around it.
    pub(crate) fn surroundings(&self, env: &Env) -> Surroundings {
        let mut around = Surroundings::default();
        around.path.clone_from(&env.path);
        around.state = env.state().ok();
        if !self.keep_env {
            around.non_interactive = env.non_interactive();
        }
        around
    }

    /// What is redacted.
    pub fn redaction(&self) -> Option<Redaction> {
        let mut args = self.extra.clone();
        let command = self.agent.strip_prefix(BY_COMMAND).and_then(|line| words::split(line).ok());
        args.extend(command.into_iter().flatten().map(OsString::from));
        self.redact.redaction(&args)
    }

    /// Whether the log is indexed while it grows.
    pub fn indexes(&self, env: &Env) -> bool {
        !self.no_index && !env.no_index
    }

    /// How the agent is stopped.
    pub fn stages(&self) -> Stages {
        let stages = |grace| Stages { interrupt: grace, terminate: grace };
        self.stop_grace.map_or_else(Stages::default, stages)
    }

    /// Where the log goes.
    pub fn log_dir(&self, env: &Env) -> Result<PathBuf, Failure> {
        match &self.log_dir {
            Some(folder) => Ok(folder.clone()),
            None => Ok(env.state()?.join("logs")),
        }
    }
}

/// Sets what was given.
fn apply<T>(
    spec: SessionSpec,
    value: Option<T>,
    set: impl FnOnce(SessionSpec, T) -> SessionSpec,
) -> SessionSpec {
    match value {
        Some(value) => set(spec, value),
        None => spec,
    }
}

/// Returns the next step where a policy cannot hold an agent. `found` names the files of a policy that
/// we found ourselves.
pub(crate) fn unruly_hint(agent: Agent, form: Form, found: Option<&str>) -> String {
    let hint = next_step(agent, form);
    match found {
        Some(_) => format!("{hint}; or run it without the policy: --no-policy"),
        None => hint,
    }
}

/// How an agent can be run so that a policy holds it, or which agents can be.
fn next_step(agent: Agent, form: Form) -> String {
    let row = agent.row();
    let by_acp = form == Form::Acp;
    if row.hooks.is_some() {
        let instead = if by_acp { "use --hooks instead of --acp" } else { "add --hooks" };
        return format!("{instead}: then it has to ask before every tool");
    }
    if by_acp && agent.can_be_held(Form::TwoWay, None) {
        return "leave out --acp: in its own protocol it asks; or confine it: --mode ask"
            .to_owned();
    }
    if !by_acp && agent.can_be_held(Form::Acp, None) {
        return "add --acp: then it asks about what it does not take for harmless".to_owned();
    }
    let by_hooks = names(|agent| agent.row().hooks.is_some()).join(", ");
    let asking = names(|agent| agent.can_be_held(Form::TwoWay, None)).join(", ");
    format!(
        "put the rules into the agent's own settings, or choose an agent that a policy can hold: \
         {asking}; with --hooks: {by_hooks}"
    )
}

/// The agent of that name, or which there are.
pub fn agent_named(name: &str) -> Result<Agent, Failure> {
    if let Some(line) = name.strip_prefix(BY_COMMAND) {
        return Agent::by_command(line).map_err(|error| {
            Failure::usage(format!("`{name}` names no agent: {error}"))
                .hint("write its command line as for a shell, such as acp:'gemini --acp'")
        });
    }
    Agent::by_name(name).ok_or_else(|| {
        let known: Vec<_> = Agent::ALL.iter().map(|agent| agent.name()).collect();
        Failure::usage(format!("no agent is called `{name}`"))
            .hint(format!("choose one of: {}; or acp:'COMMAND'", known.join(", ")))
    })
}
