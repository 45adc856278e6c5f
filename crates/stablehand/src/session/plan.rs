//! What the runs of a session have in common, and the one place that makes a [`RunSpec`] of it.
//!
//! Every way to run an agent plans here: one turn, a conversation, a terminal, hooks, and an agent
//! whose own client speaks to it. Starts nothing.

use super::build::StartError;
use crate::agent::{Agent, ExitMeaning, Form, PlanRequest};
use crate::continuation::Continuations;
use crate::driver::{Approvals, RunSpec, Stages, TalkSpec, TerminalRun};
use crate::hooks::{HookRun, HookSetup, HookWish, MOST_CONTEXT};
use crate::keeper::{KeeperProgram, Launch};
use crate::recovery::Tries;
use stablehand_core::Dialect;
use stablehand_core::id::SessionId;
use stablehand_core::monitor::Limits;
use stablehand_core::speak::Image;
use stablehand_core::terminal::TerminalSize;
use stablehand_policy::PromptRules;
use stablehand_policy::settings::context;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What the runs of a session have in common.
#[derive(Clone, Debug)]
pub(super) struct RunPlan {
    /// What is started.
    pub(super) start: Start,
    /// Variables for the agent; none takes one away.
    pub(super) env: Vec<(OsString, Option<OsString>)>,
    /// How our keeper is started.
    pub(super) keeper: KeeperProgram,
    /// What becomes of the agent's permission requests.
    pub(super) approvals: Approvals,
    /// When silence is too long.
    pub(super) limits: Limits,
    /// How an agent is stopped.
    pub(super) stages: Stages,
    /// Where the leases of sessions are kept; none are taken without.
    pub(super) leases: Option<PathBuf>,
    /// The context that a new session gets before its first prompt.
    pub(super) context: Option<String>,
    /// When the agent is told to go on after a turn that ended well.
    pub(super) continuations: Continuations,
    /// Which prompts the agent must not get.
    pub(super) prompt_rules: PromptRules,
    /// How its hooks reach us, where they are to.
    pub(super) hooks: Option<HookSetup>,
    /// Whether one process takes several prompts, where the agent can.
    pub(super) stays: bool,
    /// Judge, write the verdicts down, and stop nothing.
    pub(super) observe_only: bool,
    /// Warn of odd lines and calls in the agent's stream.
    pub(super) stream_warnings: bool,
    /// Keep a digest of what is read.
    pub(super) verify: bool,
}

/// What is started.
#[derive(Clone, Debug)]
pub(super) enum Start {
    /// An agent that we know, by its row.
    Agent(Box<AgentStart>),
    /// A command whose own client speaks the Agent Client Protocol to it.
    Relayed {
        /// The agent's name.
        name: String,
        /// How it is started.
        launch: Launch,
        /// What its exit codes mean.
        exit_codes: &'static [ExitMeaning],
    },
}

/// An agent that we know.
#[derive(Clone, Debug)]
pub(super) struct AgentStart {
    /// Which one.
    pub(super) agent: Agent,
    /// Its program.
    pub(super) program: PathBuf,
    /// How it is asked to work. The session to resume is an argument of [`RunPlan::spec`].
    pub(super) request: PlanRequest,
    /// The terminal that it gets instead of pipes.
    pub(super) terminal: Option<TerminalWish>,
}

/// A terminal for an agent.
#[derive(Clone, Copy, Debug)]
pub struct TerminalWish {
    /// Its size.
    pub size: TerminalSize,
    /// Whether it follows the size of our own.
    pub follow_size: bool,
    /// Ask the agent to leave once it has written nothing for so long.
    pub exit_when_quiet: Option<Duration>,
}

impl RunPlan {
    /// Plans runs that deny what the agent asks, take one turn, and have neither context nor hooks;
    /// the fields say what else is wanted.
    pub(super) fn new(start: Start, keeper: KeeperProgram, limits: Limits) -> RunPlan {
        RunPlan {
            start,
            env: Vec::new(),
            keeper,
            approvals: Approvals::Deny,
            limits,
            stages: Stages::default(),
            leases: None,
            context: None,
            continuations: Continuations::default(),
            prompt_rules: PromptRules::default(),
            hooks: None,
            stays: false,
            observe_only: false,
            stream_warnings: false,
            verify: false,
        }
    }

    /// How the agent's output is read.
    pub(super) fn dialect(&self) -> Dialect {
        match &self.start {
            Start::Relayed { .. } => Dialect::Acp,
            Start::Agent(start) if start.terminal.is_some() => Dialect::Terminal,
            Start::Agent(start) => {
                let row = start.agent.row();
                match (start.request.form, &row.two_way) {
                    (Form::Acp, _) => Dialect::Acp,
                    (Form::TwoWay, Some(way)) => way.dialect,
                    _ => row.dialect,
                }
            }
        }
    }

    /// One run: this prompt, in a new session or in that one.
    pub(super) fn spec(
        &self,
        prompt: &[u8],
        images: &[Image],
        resume: Option<SessionId>,
        tries: Tries,
    ) -> Result<RunSpec, StartError> {
        let mut spec = RunSpec {
            run: crate::new_run_id(),
            is_relayed: matches!(self.start, Start::Relayed { .. }),
            agent: String::new(),
            dialect: self.dialect(),
            launch: Launch::default(),
            keeper: self.keeper.clone(),
            prompt: prompt.to_vec(),
            prompt_is_argument: false,
            talk: None,
            approvals: self.approvals.clone(),
            hooks: None,
            exit_codes: &[],
            limits: self.limits.clone(),
            stages: self.stages,
            observe_only: self.observe_only,
            stream_warnings: self.stream_warnings,
            resumed_from: resume,
            leases: self.leases.clone(),
            verify: self.verify,
            terminal: None,
            continuations: self.continuations.clone(),
            prompt_rules: self.prompt_rules.clone(),
            tries,
        };
        match &self.start {
            Start::Agent(start) => self.fill(start, images, &mut spec)?,
            Start::Relayed { name, launch, exit_codes } => {
                spec.agent.clone_from(name);
                spec.launch = launch.clone();
                spec.exit_codes = exit_codes;
            }
        }
        spec.launch.env.extend(self.env.iter().cloned());
        Ok(spec)
    }

    /// What follows from the agent's row.
    fn fill(
        &self,
        start: &AgentStart,
        images: &[Image],
        spec: &mut RunSpec,
    ) -> Result<(), StartError> {
        let mut request = start.request.clone();
        request.resume.clone_from(&spec.resumed_from);
        // A session that is resumed by its id need not be the latest.
        request.continue_latest &= request.resume.is_none();
        // A session that goes on has its context already.
        let new = request.resume.is_none() && !request.continue_latest;
        let mut context = self.context.clone().filter(|_| new);
        if let Some(setup) = &self.hooks {
            // A hook gives the context, where that is not too much for one.
            let by_hook = context.take_if(|context| context.len() <= MOST_CONTEXT);
            let hooks = hook_run(start, setup, by_hook)?;
            request.extra.extend(hooks.args);
            // Our policy decides, and nobody else.
            request.force |= hooks.needs_force && self.approvals.judge();
            spec.hooks = Some(hooks.spec);
        }
        let is_asked = !spec.prompt.is_empty() || !images.is_empty();
        if let Some(context) = context.take_if(|_| is_asked) {
            spec.prompt = context::before_bytes(&context, &spec.prompt);
        }
        request.prompt.clone_from(&spec.prompt);
        let program = start.program.clone();
        let plan = match start.terminal {
            None => start.agent.plan(program, &request)?,
            Some(wish) => {
                let text = String::from_utf8_lossy(&spec.prompt);
                let (plan, run) =
                    start.agent.plan_at_terminal(program, &request, &text, wish.size)?;
                spec.terminal = Some(TerminalRun {
                    exit_when_quiet: wish.exit_when_quiet,
                    follow_size: wish.follow_size,
                    ..run
                });
                plan
            }
        };
        start.agent.name().clone_into(&mut spec.agent);
        spec.dialect = plan.dialect;
        spec.launch = plan.launch;
        spec.prompt_is_argument = plan.prompt_is_argument;
        spec.exit_codes = start.agent.row().exit_codes;
        spec.talk = plan.opening.map(|opening| TalkSpec {
            opening,
            stays: self.stays,
            images: images.to_vec(),
            context,
        });
        Ok(())
    }
}

/// What the agent needs so that its hooks call us.
fn hook_run(
    start: &AgentStart,
    setup: &HookSetup,
    context: Option<String>,
) -> Result<HookRun, StartError> {
    let here = start.request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let wish = HookWish {
        agent: start.agent,
        program: &setup.program,
        places: &setup.places,
        state: &setup.state,
        workspace: &here,
        context,
        env: Vec::new(),
    };
    Ok(wish.plan()?)
}
