//! What is wanted of a session, and starting it.

use super::plan::{AgentStart, RunPlan, Start};
use super::runs::{AllRuns, Asked, Runs};
use super::{Handle, Session, turns};
use crate::agent::{Agent, Form, Mode, PlanError, PlanRequest};
use crate::continuation::Continuations;
use crate::control;
use crate::driver::{Approvals, Faces, Stages, StatusCell};
use crate::frames::{Feed, How, Past};
use crate::gate::{Attendance, Gate};
use crate::hooks::{HookError, HookSetup};
use crate::host::ControlSocket;
use crate::keeper::KeeperProgram;
use crate::log::{Durability, Listener, Log, LogError, LogOptions};
use crate::recovery::{CONTINUE_PROMPT, Tries};
use crate::redact::Redaction;
use crate::surroundings::{Surroundings, is_initialised};
use stablehand_core::actor::{Actor, ActorKind};
use stablehand_core::id::{SessionId, SessionKey};
use stablehand_core::mcp::McpServer;
use stablehand_core::monitor::Limits;
use stablehand_core::record::{DecisionRecord, Level, SettingsChosen};
use stablehand_core::speak::Prompt;
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
    /// They become `approval.requested` events, and [`Handle::approve`] or [`Handle::deny`] answers
    /// them; nobody does within the patience: denied. An agent that cannot ask is treated as with
    /// [`Policy::Deny`].
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
    agent: Agent,
    prompt: Option<Prompt>,
    conversation: bool,
    policy: Policy,
    patience: Option<Duration>,
    program: Option<PathBuf>,
    request: PlanRequest,
    acp: bool,
    limits: Option<Limits>,
    stages: Stages,
    log_dir: Option<PathBuf>,
    keeper: Option<KeeperProgram>,
    env: Vec<(OsString, Option<OsString>)>,
    surroundings: Option<Surroundings>,
    context: Option<String>,
    continuations: Continuations,
    warnings: Vec<String>,
    redaction: Option<Redaction>,
    hooks: Option<HookSetup>,
    retries: u32,
    continue_prompt: String,
    key: SessionKey,
    by: Actor,
    past: Option<Vec<Past>>,
}

impl SessionSpec {
    pub(super) fn new(agent: Agent) -> Self {
        SessionSpec {
            agent,
            prompt: None,
            conversation: false,
            policy: Policy::default(),
            patience: Some(PATIENCE),
            program: None,
            request: PlanRequest { partial_output: true, ..PlanRequest::default() },
            acp: false,
            limits: None,
            stages: Stages::default(),
            log_dir: None,
            keeper: None,
            env: Vec::new(),
            surroundings: None,
            context: None,
            continuations: Continuations::default(),
            warnings: Vec::new(),
            redaction: None,
            hooks: None,
            retries: 0,
            continue_prompt: CONTINUE_PROMPT.to_owned(),
            key: crate::new_session_key(),
            by: ActorKind::Program.into(),
            past: None,
        }
    }

    /// What is redacted.
    pub(crate) fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }

    /// The logs that the session has already; its agent is started with the next prompt.
    pub(crate) fn past(mut self, past: Vec<Past>) -> Self {
        self.past = Some(past);
        self
    }

    /// Our id of the session; a new one where it is not set. A conversation that is resumed keeps it.
    pub fn key(mut self, key: SessionKey) -> Self {
        self.key = key;
        self
    }

    /// Who gives the first prompt, and who prompts, answers and cancels through
    /// [`Session::handle`]; a program where it is not set.
    pub fn actor(mut self, by: Actor) -> Self {
        self.by = by;
        self
    }

    /// The first prompt. Without [`SessionSpec::conversation`] it is the only one.
    pub fn prompt(mut self, prompt: impl Into<Prompt>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// The session goes on after its first turn, until [`Handle::finish`].
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

    /// Speaks the Agent Client Protocol with the agent, where it can, and not its own.
    pub fn acp(mut self, wanted: bool) -> Self {
        self.acp = wanted;
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

    /// How often a turn that hung or broke off is tried again, where [`crate::recovery::next`] says
    /// that this is safe; never where nobody says so. The session's end is told with `again` then, and
    /// what follows is the same turn. [`Handle::cancel`] ends the wait.
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

    /// Starts the session on a thread of its own. Whether the agent itself could be started shows
    /// in the events and the outcome.
    pub fn start(self) -> Result<Session, StartError> {
        self.begin(None)
    }

    /// The same, and `listener` is told of every decision from `level` on as it is logged; it must
    /// not wait.
    pub fn start_with_listener(
        self,
        level: Level,
        listener: Listener,
    ) -> Result<Session, StartError> {
        self.begin(Some((level, listener)))
    }

    fn begin(mut self, listener: Option<(Level, Listener)>) -> Result<Session, StartError> {
        if self.prompt.is_none() && !self.conversation {
            return Err(StartError::NoPrompt);
        }
        let around = self.surroundings.take().unwrap_or_else(Surroundings::read);
        let keeper = match self.keeper.take() {
            Some(keeper) => keeper,
            None if is_initialised() => around.keeper().ok_or(StartError::NotInitialised)?,
            None => return Err(StartError::NotInitialised),
        };
        let folder = self.log_dir.take();
        let folder = folder.or_else(|| around.state.as_ref().map(|state| state.join("logs")));
        let folder = folder.ok_or(StartError::NoPlaceForLog)?;
        let leases = around.state.as_ref().unwrap_or(&folder).join("leases");
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(self.drop_servers());
        let redaction = self.redaction.take();
        let control_folder = folder.clone();
        let options = LogOptions {
            folder,
            prefix: "stablehand".to_owned(),
            durability: Durability::Group,
            required: false,
        };
        let (key, by) = (self.key, self.by.clone());
        let chosen = SettingsChosen {
            mode: self.request.mode.map(|mode| mode.name().to_owned()),
            model: self.request.model.clone(),
            workspace: self
                .request
                .workspace
                .as_ref()
                .and_then(|it| it.to_str())
                .map(str::to_owned),
        };
        let past = self.past.take();
        let waits_for_prompt = past.is_some();
        let runs = Runs { waits_for_prompt, ..self.runs(keeper, leases, around)? };
        let dialect = runs.plan.dialect();
        let mut log = Log::open(options, key, dialect, redaction.clone(), listener)?;
        if chosen != SettingsChosen::default() {
            log.decide(chosen, None);
        }
        for text in warnings {
            log.decide(DecisionRecord::SettingIgnored(text.into()), None);
        }
        log.flush();
        let (control, requests) = control::control().map_err(StartError::System)?;
        // A session that cannot be spoken to from outside is one all the same.
        let socket = ControlSocket::open(&control_folder, key, control.clone()).ok();
        let how = How { log: log.id(), dialect, redaction };
        let feed = Feed::new(log.source(), how, past.unwrap_or_default());
        let status = StatusCell::default();
        let mut faces = Faces { status: Some(status.clone()), ..Faces::default() };
        let path = log.path_cell();
        let thread = std::thread::Builder::new()
            .name("stablehand-session".into())
            .spawn(move || {
                let AllRuns { report, .. } = runs.all(&mut log, &mut faces, &requests, &mut ());
                turns::end_session(report.end, &mut log);
                drop(socket);
                let missed = log.missed();
                log.end();
                (report, missed)
            })
            .map_err(StartError::System)?;
        Ok(Session {
            handle: Handle { control, status, log: path, by },
            events: None,
            thread: Some(thread),
            feed,
            key,
        })
    }

    /// How the agent is spoken with.
    fn form(&self) -> Form {
        let row = self.agent.row();
        match (self.acp || row.speaks_only_acp(), &row.two_way) {
            (true, _) => Form::Acp,
            // Whoever has hooks is asked by them, and need not ask in another way too.
            (false, Some(_)) if self.hooks.is_none() => Form::TwoWay,
            (false, _) => Form::OneTurn,
        }
    }

    /// Takes away the servers that the agent does not take; whoever says so himself is asked later.
    fn drop_servers(&mut self) -> Vec<String> {
        let form = self.form();
        if form == Form::Acp {
            return Vec::new();
        }
        let (agent, takes) = (self.agent.name(), self.agent.takes_mcp(form));
        let dropped = self.request.mcp.extract_if(.., |server| !takes.takes(&server.transport));
        let refused = |server: McpServer| {
            let (name, word) = (server.name, server.transport.word());
            format!("{agent} takes no MCP server over {word}, so it has not got `{name}`")
        };
        dropped.map(refused).collect()
    }

    fn runs(
        self,
        keeper: KeeperProgram,
        leases: PathBuf,
        around: Surroundings,
    ) -> Result<Runs, StartError> {
        let row = self.agent.row();
        let form = self.form();
        let program = match self.program {
            Some(program) => program,
            None if row.is_built_in() => {
                return Err(StartError::NoProgram { agent: row.name });
            }
            None => self.agent.find(around.path.as_deref(), form)?,
        };
        let can_talk = form.listens();
        let mut request = self.request;
        request.form = form;
        request.force |= matches!(self.policy, Policy::Allow) && !can_talk;
        let ruled = matches!(self.policy, Policy::Rules(_));
        request.asks_always = ruled && self.hooks.is_none();
        let can_be_held = can_talk && self.agent.can_be_held(form, request.mode);
        if request.asks_always && !can_be_held {
            return Err(StartError::Unruly { agent: row.name });
        }
        let has_images = self.prompt.as_ref().is_some_and(|prompt| !prompt.images.is_empty());
        if has_images && !self.agent.takes_images(form) {
            return Err(StartError::NoImages { agent: row.name });
        }
        let mut limits = self.limits.unwrap_or_else(|| {
            let mut limits = Limits::modern();
            self.agent.adjust(&mut limits);
            limits
        });
        if let Some(model) = &request.model {
            limits = limits.for_model(model);
        }
        let mut env = around.non_interactive;
        env.extend(self.env);
        let resume = request.resume.take();
        let start = AgentStart { agent: self.agent, program, request, terminal: None };
        let plan = RunPlan {
            env,
            approvals: match self.policy {
                Policy::Deny => Approvals::Deny,
                Policy::Allow => Approvals::Allow,
                Policy::Ask => Approvals::Ask { patience: self.patience },
                Policy::Rules(gate) => Approvals::Policy {
                    gate,
                    attendance: match self.patience {
                        Some(Duration::ZERO) => Attendance::Nobody,
                        patience => Attendance::Person { patience },
                    },
                },
            },
            stages: self.stages,
            leases: Some(leases),
            context: self.context,
            continuations: self.continuations,
            hooks: self.hooks,
            stays: self.conversation,
            ..RunPlan::new(Start::Agent(Box::new(start)), keeper, limits)
        };
        let runs = Runs {
            resume,
            conversation: self.conversation,
            tries: Tries { tried: 0, allowed: self.retries },
            continue_prompt: self.continue_prompt,
            by: self.by,
            ..Runs::new(plan, self.prompt.map(Asked::from))
        };
        // Refused now rather than on a thread that nobody looks at.
        runs.spec(&Asked::default())?;
        Ok(runs)
    }
}
