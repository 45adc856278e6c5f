//! What is wanted of a session: its builder. Starting it is [`super::start`]'s.

use super::plan::TerminalWish;
use super::runs::Asked;
use crate::agent::{Agent, ExitMeaning, Form, Mode, PlanError, PlanRequest};
use crate::continuation::Continuations;
use crate::driver::Stages;
use crate::frames::Past;
use crate::gate::Gate;
use crate::hooks::{HookError, HookSetup};
use crate::keeper::{KeeperProgram, Launch};
use crate::lease::LeaseError;
use crate::log::{Durability, LogError};
use crate::recovery::CONTINUE_PROMPT;
use crate::redact::Redaction;
use crate::surroundings::Surroundings;
use stablehand_core::actor::{Actor, ActorKind};
use stablehand_core::id::{SessionId, SessionKey};
use stablehand_core::mcp::McpServer;
use stablehand_core::monitor::Limits;
use stablehand_core::size::MaxOutput;
use stablehand_core::speak::Prompt;
use stablehand_policy::PromptRules;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// How long somebody has to answer a question of the agent, unless the program says otherwise.
const PATIENCE: Duration = Duration::from_mins(5);

/// What becomes of the agent's questions whether it may do something.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Policy {
    /// They are denied. An agent that cannot ask does what its own careful mode lets it.
    #[default]
    Deny,
    /// They are allowed. An agent that cannot ask is started with its own word for that.
    Allow,
    /// They become `approval.requested` events, and [`Handle::approve`](super::Handle::approve) or
    /// [`Handle::deny`](super::Handle::deny) answers them. Without an answer within the patience they are
    /// denied. An agent that cannot ask is treated as with [`Policy::Deny`].
    Ask,
    /// Rules answer them, and what these leave open becomes a question as with [`Policy::Ask`]. An
    /// agent that cannot ask is not started: nothing would hold it.
    Rules(Arc<Gate>),
}

/// Why a session cannot be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The agent cannot be started so.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It cannot be given hooks.
    #[error(transparent)]
    Hooks(#[from] HookError),
    /// Rules cannot hold an agent that does not ask ([`Agent::can_be_held`]).
    #[error("{agent} does not ask permission before every tool, so a policy cannot hold it")]
    Unruly {
        /// Which agent.
        agent: &'static str,
    },
    /// The agent cannot be shown images.
    #[error("{agent} takes no images")]
    NoImages {
        /// Which agent.
        agent: &'static str,
    },
    /// A rule about prompts denies the first prompt; the log says so.
    #[error("the prompt is {why}")]
    PromptDenied {
        /// By which rule, and why.
        why: String,
    },
    /// There is neither a prompt nor a conversation to wait for one.
    #[error("there is no prompt; give one with `prompt`, or wait for one with `conversation`")]
    NoPrompt,
    /// Nobody said where the log goes, and there is no home for it.
    #[error("there is no place for the log; give one with `log_dir`, or set HOME")]
    NoPlaceForLog,
    /// This program cannot be a keeper.
    #[error(
        "this program did not call `stablehand::init()` first in `main`; do that, or name a \
         program that does with `keeper`"
    )]
    NotInitialised,
    /// The agent is built into another program.
    #[error("{agent} has no program of its own; name one with `program`")]
    NoProgram {
        /// Which agent.
        agent: &'static str,
    },
    /// Another run has the session that is to be resumed.
    #[error(transparent)]
    Taken(#[from] LeaseError),
    /// The log cannot be made.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The system has no thread or pipe for it.
    #[error("could not set up the session")]
    System(#[source] io::Error),
}

/// A session, as it is asked for.
#[derive(Clone, Debug)]
#[must_use = "nothing happens until `start`"]
pub struct SessionSpec {
    pub(super) subject: Subject,
    pub(super) prompt: Option<Asked>,
    pub(super) conversation: bool,
    pub(super) policy: Policy,
    pub(super) patience: Option<Duration>,
    pub(super) program: Option<PathBuf>,
    pub(super) request: PlanRequest,
    pub(super) form: Option<Form>,
    pub(super) terminal: Option<TerminalWish>,
    pub(super) limits: Option<Limits>,
    pub(super) stages: Stages,
    pub(super) log_dir: Option<PathBuf>,
    pub(super) log_prefix: String,
    pub(super) durability: Durability,
    pub(super) log_required: bool,
    pub(super) keeper: Option<KeeperProgram>,
    pub(super) env: Vec<(OsString, Option<OsString>)>,
    pub(super) surroundings: Option<Surroundings>,
    pub(super) context: Option<String>,
    pub(super) continuations: Continuations,
    pub(super) prompt_rules: PromptRules,
    pub(super) warnings: Vec<String>,
    pub(super) redaction: Option<Redaction>,
    pub(super) max_output: MaxOutput,
    pub(super) hooks: Option<HookSetup>,
    pub(super) retries: u32,
    pub(super) continue_prompt: String,
    pub(super) observe_only: bool,
    pub(super) stream_warnings: bool,
    pub(super) verify: bool,
    pub(super) key: Option<SessionKey>,
    pub(super) by: Actor,
    pub(super) past: Option<Vec<Past>>,
}

/// What a session runs.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// An agent by its row, to which we speak.
    Agent(Agent),
    /// A command to which a client of its own speaks the Agent Client Protocol.
    Relayed { name: String, launch: Launch, exit_codes: &'static [ExitMeaning] },
}

impl SessionSpec {
    pub(super) fn new(agent: Agent) -> Self {
        SessionSpec::of(Subject::Agent(agent))
    }

    /// A session with a command that speaks the Agent Client Protocol to a client of its own. The
    /// client's side is [`Faces::client`](crate::driver::Faces::client) and standard output.
    pub fn relayed(name: String, launch: Launch, exit_codes: &'static [ExitMeaning]) -> Self {
        // The client prompts the agent itself.
        let asked = Some(Asked::default());
        let subject = Subject::Relayed { name, launch, exit_codes };
        SessionSpec { prompt: asked, ..SessionSpec::of(subject) }
    }

    fn of(subject: Subject) -> Self {
        SessionSpec {
            subject,
            prompt: None,
            conversation: false,
            policy: Policy::default(),
            patience: Some(PATIENCE),
            program: None,
            request: PlanRequest { partial_output: true, ..PlanRequest::default() },
            form: None,
            terminal: None,
            limits: None,
            stages: Stages::default(),
            log_dir: None,
            log_prefix: "stablehand".to_owned(),
            durability: Durability::Group,
            log_required: false,
            keeper: None,
            env: Vec::new(),
            surroundings: None,
            context: None,
            continuations: Continuations::default(),
            prompt_rules: PromptRules::default(),
            warnings: Vec::new(),
            redaction: None,
            max_output: MaxOutput::default(),
            hooks: None,
            retries: 0,
            continue_prompt: CONTINUE_PROMPT.to_owned(),
            observe_only: false,
            stream_warnings: false,
            verify: false,
            key: None,
            by: ActorKind::Program.into(),
            past: None,
        }
    }

    /// Returns the agent that it runs; none where a client of the agent's own speaks to it.
    pub fn agent(&self) -> Option<Agent> {
        match self.subject {
            Subject::Agent(agent) => Some(agent),
            Subject::Relayed { .. } => None,
        }
    }

    /// What is redacted, and how much of a tool's output subscribers get.
    pub(crate) fn shaping(&self) -> (Option<&Redaction>, MaxOutput) {
        (self.redaction.as_ref(), self.max_output)
    }

    /// The logs that the session has already; its agent is started with the next prompt.
    pub(crate) fn past(mut self, past: Vec<Past>) -> Self {
        self.past = Some(past);
        self
    }

    /// Our id of the session. Where it is not set, a session that is resumed by the agent's id keeps the
    /// one of its log, and any other gets a new one.
    pub fn key(mut self, key: SessionKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Who gives the first prompt, and who prompts, answers and cancels through
    /// [`Session::handle`](super::Session::handle); a program where it is not set.
    pub fn actor(mut self, by: Actor) -> Self {
        self.by = by;
        self
    }

    /// The first prompt. Without [`SessionSpec::conversation`] it is the only one.
    pub fn prompt(mut self, prompt: impl Into<Prompt>) -> Self {
        self.prompt = Some(prompt.into().into());
        self
    }

    /// The same in bytes that need not be text, such as those of a pipe.
    pub fn prompt_bytes(mut self, bytes: Vec<u8>) -> Self {
        self.prompt = Some(Asked { bytes, images: Vec::new() });
        self
    }

    /// The session goes on after its first turn, until [`Handle::finish`](super::Handle::finish).
    pub fn conversation(mut self) -> Self {
        self.conversation = true;
        self
    }

    /// What becomes of the agent's questions; they are denied where nobody says otherwise.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How long a question waits for an answer with [`Policy::Ask`] and [`Policy::Rules`]; for ever
    /// with none, and with zero nobody is asked at all. Five minutes where nobody says otherwise.
    pub fn patience(mut self, patience: Option<Duration>) -> Self {
        self.patience = patience;
        self
    }

    /// The agent's program; from the search path where nobody says otherwise.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// How we speak with the agent. Where it is not set: both ways on its pipes where the agent can
    /// and has no hooks, else one prompt a process.
    pub fn form(mut self, form: Form) -> Self {
        self.form = Some(form);
        self
    }

    /// Gives the agent a terminal instead of pipes, and its interactive form.
    pub fn terminal(mut self, wish: Option<TerminalWish>) -> Self {
        self.terminal = wish;
        self
    }

    /// Whether the agent writes its texts in pieces, as they come, where it can; it does unless it is
    /// told otherwise.
    pub fn partial_output(mut self, wanted: bool) -> Self {
        self.request.partial_output = wanted;
        self
    }

    /// How the agent logs in, in its own word, where it wants that said
    /// ([`Agent::login`](crate::agent::Agent::login)).
    pub fn login(mut self, method: Option<String>) -> Self {
        self.request.login = method;
        self
    }

    /// The model, as the agent names it.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.request.model = Some(model.into());
        self
    }

    /// What the agent may do at all.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.request.mode = Some(mode);
        self
    }

    /// The folder to work in; ours where nobody says otherwise.
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.request.workspace = Some(folder.into());
        self
    }

    /// Continue this session of the agent.
    pub fn resume(mut self, session: impl Into<String>) -> Self {
        self.request.resume = Some(SessionId(session.into()));
        self
    }

    /// Continue the latest session of the workspace.
    pub fn continue_latest(mut self, wanted: bool) -> Self {
        self.request.continue_latest = wanted;
        self
    }

    /// The agent's own word for approving everything, also where it could ask.
    pub fn force(mut self, wanted: bool) -> Self {
        self.request.force = wanted;
        self
    }

    /// Servers of tools for this session. What the agent does not take ([`Agent::takes_mcp`]) is left
    /// out, and the log says so. Values of variables and headers are not written down.
    pub fn mcp_servers(mut self, servers: Vec<McpServer>) -> Self {
        self.request.mcp = servers;
        self
    }

    /// More arguments for the agent, as they are.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.request.extra.extend(args.into_iter().map(Into::into));
        self
    }

    /// A variable for the agent and its tools, in addition to our own environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    /// Several of them; a variable without a value is taken away.
    pub fn variables(
        mut self,
        variables: impl IntoIterator<Item = (OsString, Option<OsString>)>,
    ) -> Self {
        self.env.extend(variables);
        self
    }

    /// What the agent is told before the first prompt, where the session is a new one; see
    /// [`crate::context::read`].
    pub fn context(mut self, context: Option<String>) -> Self {
        self.context = context;
        self
    }

    /// When the agent is told to go on after a turn that ended well. Where each turn is a process,
    /// another one follows, also in a session of one prompt.
    pub fn continuations(mut self, rules: Continuations) -> Self {
        self.continuations = rules;
        self
    }

    /// Which prompts are denied, and which are warned about, before the agent gets them; none where
    /// nobody says so. A denied first prompt is [`StartError::PromptDenied`], a later one
    /// [`Refused::Denied`](crate::Refused::Denied).
    pub fn prompt_rules(mut self, rules: PromptRules) -> Self {
        self.prompt_rules = rules;
        self
    }

    /// How often a turn that hung or broke off is tried again, where [`crate::recovery::next`] says
    /// that this is safe; never where nobody says so. The session's end is told with `again` then, and
    /// what follows is the same turn. [`Handle::cancel`](super::Handle::cancel) ends the wait.
    pub fn retries(mut self, allowed: u32) -> Self {
        self.retries = allowed;
        self
    }

    /// What an agent is told that was interrupted after it may have changed something;
    /// [`CONTINUE_PROMPT`] where nobody says otherwise.
    pub fn continue_prompt(mut self, text: impl Into<String>) -> Self {
        self.continue_prompt = text.into();
        self
    }

    /// Settings that do not hold, and why: they are the first records of the log.
    pub fn ignored_settings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Has the agent call us before every tool, by its own hooks: then [`Policy::Rules`] and
    /// [`Policy::Ask`] hold it also where it does not ask by itself. Each turn is a process of its own
    /// then, which gets the hooks and gives back the files that they stand in.
    pub fn hooks(mut self, setup: HookSetup) -> Self {
        self.hooks = Some(setup);
        self
    }

    /// When silence is too long, and how much may be used; [`Limits::modern`], as the agent needs
    /// them, where nobody says otherwise.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// How the agent is stopped.
    pub fn stages(mut self, stages: Stages) -> Self {
        self.stages = stages;
        self
    }

    /// Where the log goes; `logs` in our state folder where nobody says otherwise.
    pub fn log_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.log_dir = Some(folder.into());
        self
    }

    /// The name with which the log's file begins, and which its first record gives as our program's.
    pub fn log_prefix(mut self, program: &str) -> Self {
        program.clone_into(&mut self.log_prefix);
        self
    }

    /// When records reach the disk itself; in groups where it is not set.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Stops the agent when the log cannot be written.
    pub fn log_required(mut self, required: bool) -> Self {
        self.log_required = required;
        self
    }

    /// Judges and puts on record what would have been done, but stops nothing.
    pub fn observe_only(mut self, wanted: bool) -> Self {
        self.observe_only = wanted;
        self
    }

    /// Puts warnings on record for lines that are no JSON, for completions of calls that never began and
    /// for tools that declare no timeout. Agents that tell of a tool only when it is over would be
    /// warned of all the time, so it is off by default.
    pub fn stream_warnings(mut self, wanted: bool) -> Self {
        self.stream_warnings = wanted;
        self
    }

    /// Compares what was read with what was passed on and logged, by SHA-256, after each run
    /// ([`Outcome::verified`](super::Outcome::verified)).
    pub fn verify(mut self, wanted: bool) -> Self {
        self.verify = wanted;
        self
    }

    /// The program that is started as keeper; this one where nobody says otherwise.
    pub fn keeper(mut self, keeper: KeeperProgram) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// What surrounds us, instead of what the environment says.
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = Some(surroundings);
        self
    }

    /// How much of one tool's output subscribers get; 50 KiB by default. What is cut
    /// has its whole size in [`Tool::output_bytes`](stablehand_core::event::Tool::output_bytes), and is
    /// put on record once a run. The log has all of it.
    pub fn max_output(mut self, most: MaxOutput) -> Self {
        self.max_output = most;
        self
    }

    /// Takes secrets out of events, decision records and the outcome, and with
    /// [`Redaction::with_raw`] out of all of the log. Nothing is redacted where nobody asks for it. The
    /// values of variables have to be handed in: this library does not read them.
    ///
    /// ```
    /// use stablehand::redact::Redactor;
    /// use stablehand::{Agent, Session};
    /// let redactor = Redactor::builder().variables(std::env::vars()).build();
    /// let builder = Session::builder(Agent::Claude).redact(redactor);
    /// # drop(builder);
    /// ```
    pub fn redact(mut self, redaction: impl Into<Redaction>) -> Self {
        self.redaction = Some(redaction.into());
        self
    }
}
