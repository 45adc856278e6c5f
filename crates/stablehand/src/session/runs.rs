//! The runs of one session: one process for all turns, or one for each.

use super::again::Again;
use super::build::StartError;
use crate::agent::{Agent, Form, PlanRequest};
use crate::continuation::Continuations;
use crate::control::{Request, Requests};
use crate::driver::{self, Approvals, Faces, RunReport, RunSpec, Stages, TalkSpec};
use crate::hooks::{HookError, HookRun, HookSetup, HookWish, MOST_CONTEXT};
use crate::keeper::KeeperProgram;
use crate::log::Log;
use crate::recovery::Tries;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand_core::Dialect;
use stablehand_core::event::SessionEnd;
use stablehand_core::id::SessionId;
use stablehand_core::monitor::Limits;
use stablehand_core::record::Level;
use stablehand_core::speak::Prompt;
use stablehand_policy::settings::context::before;
use std::ffi::OsString;
use std::path::PathBuf;

/// Everything that the runs have in common.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) agent: Agent,
    pub(super) program: PathBuf,
    pub(super) request: PlanRequest,
    pub(super) env: Vec<(OsString, Option<OsString>)>,
    pub(super) keeper: KeeperProgram,
    pub(super) prompt: Option<Prompt>,
    pub(super) conversation: bool,
    pub(super) approvals: Approvals,
    pub(super) limits: Limits,
    pub(super) stages: Stages,
    pub(super) leases: PathBuf,
    /// What a new session is told first.
    pub(super) context: Option<String>,
    pub(super) continuations: Continuations,
    /// How its hooks reach us, where they are to.
    pub(super) hooks: Option<HookSetup>,
    /// How often the turn that is on was tried again, and may be.
    pub(super) tries: Tries,
    pub(super) continue_prompt: String,
}

/// What comes after a run.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Prompt(Prompt),
    End,
}

impl Runs {
    /// How the agent is read.
    pub(super) fn dialect(&self) -> Dialect {
        let row = self.agent.row();
        match (self.request.form, &row.two_way) {
            (Form::Acp, _) => Dialect::Acp,
            (Form::TwoWay, Some(way)) => way.dialect,
            _ => row.dialect,
        }
    }

    /// Runs until the session is over.
    pub(super) fn all(
        mut self,
        log: &mut Log,
        faces: &mut Faces,
        requests: &Requests,
    ) -> RunReport {
        let mut prompt = self.prompt.take();
        // An agent that takes one turn a process is not started before there is one.
        if prompt.is_none() && !self.request.form.listens() {
            match wait_for_prompt(requests) {
                Next::Prompt(next) => prompt = Some(next),
                Next::End => return RunReport::without_run(SessionEnd::Success),
            }
        }
        loop {
            let prompt_now = self.taken(prompt.take().unwrap_or_default(), log);
            let spec = self.spec(&prompt_now);
            let mut report = match spec {
                Ok(spec) => driver::run(&spec, log, faces, requests),
                // It was planned once already, with another session.
                Err(_) => return RunReport::without_run(SessionEnd::Internal),
            };
            // A process that was to stay and did not is started again with the next prompt, like one
            // that takes a single turn.
            let continued = report.continued.take();
            self.continuations = std::mem::take(&mut report.continuations);
            if continued.is_none() && report.again {
                let given = report.prompt.take().unwrap_or(prompt_now);
                match self.again(given, &mut report, log, requests) {
                    Again::With(next) => {
                        prompt = Some(next);
                        continue;
                    }
                    Again::Not => {}
                    Again::Ended => return report,
                }
            }
            self.tries.tried = 0;
            let finished = self.request.form.listens() && report.finished;
            let over = !self.conversation || finished || is_final(&report);
            if over && continued.is_none() {
                return report;
            }
            // The newest id counts: an agent may continue under another one.
            let session = report.session.clone().filter(SessionId::is_safe_argument);
            if session.is_some() {
                self.request.resume = session;
                self.request.continue_latest = false;
            }
            if let Some(continued) = continued {
                prompt = Some(continued.prompt.into());
                continue;
            }
            match wait_for_prompt(requests) {
                Next::Prompt(next) => prompt = Some(next),
                Next::End => return report,
            }
        }
    }

    /// The prompt as the agent takes it: without images where it cannot be shown any.
    fn taken(&self, prompt: Prompt, log: &mut Log) -> Prompt {
        if prompt.images.is_empty() || self.agent.takes_images(self.request.form) {
            return prompt;
        }
        let text =
            format!("{} takes no images, so it is told that there are some", self.agent.name());
        log.decide(Level::Warn, "left_out", &serde_json::json!({ "text": text }), None);
        prompt.in_words().into()
    }

    pub(super) fn spec(&self, prompt: &Prompt) -> Result<RunSpec, StartError> {
        // A session that is resumed has been told already.
        let new = self.request.resume.is_none() && !self.request.continue_latest;
        let mut context = self.context.clone().filter(|_| new);
        let mut request = self.request.clone();
        let hooks = match &self.hooks {
            Some(setup) => {
                // A hook tells it, if it can tell so much.
                let by_hook = context.take_if(|context| context.len() <= MOST_CONTEXT);
                let hooks = self.hook_run(setup, by_hook)?;
                request.extra.extend(hooks.args);
                // We decide, and nobody else.
                request.force |= hooks.needs_force && self.approvals.judge();
                Some(hooks.spec)
            }
            None => None,
        };
        let mut plan = self.agent.plan(self.program.clone(), &request)?;
        plan.launch.env.extend(self.env.iter().cloned());
        let text = match context.take_if(|_| !prompt.is_empty()) {
            Some(context) => before(&context, &prompt.text),
            None => prompt.text.clone(),
        };
        Ok(RunSpec {
            run: crate::new_run_id(),
            agent: self.agent.name().to_owned(),
            dialect: plan.dialect,
            launch: plan.launch,
            keeper: self.keeper.clone(),
            prompt: text.into_bytes(),
            talk: plan.opening.map(|opening| TalkSpec {
                opening,
                stays: self.conversation,
                images: prompt.images.clone(),
                context,
                acts_unasked: self.request.form.acts_unasked(),
            }),
            approvals: self.approvals.clone(),
            hooks,
            exit_codes: self.agent.row().exit_codes,
            limits: self.limits.clone(),
            stages: self.stages,
            observe_only: false,
            resumed_from: self.request.resume.clone(),
            leases: Some(self.leases.clone()),
            verify: false,
            terminal: None,
            continuations: self.continuations.clone(),
            tries: self.tries,
        })
    }
}

impl Runs {
    /// What the agent needs so that its hooks call us.
    fn hook_run(&self, setup: &HookSetup, context: Option<String>) -> Result<HookRun, HookError> {
        let here = self.request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        let wish = HookWish {
            agent: self.agent,
            program: &setup.program,
            places: &setup.places,
            state: &setup.state,
            workspace: &here,
            context,
            env: Vec::new(),
        };
        wish.plan()
    }
}

/// Whether no prompt can follow. A turn that failed, hung or was cancelled can be followed by
/// another; a process that cannot be started, or a stop by somebody's wish, cannot.
fn is_final(report: &RunReport) -> bool {
    match report.end.end {
        SessionEnd::SpawnFailed | SessionEnd::Internal | SessionEnd::ReaderGone => true,
        // Without a signal it was a turn that somebody cancelled, and so with an interrupt.
        SessionEnd::Interrupted => report.end.signal.is_some_and(|signal| signal != 2),
        SessionEnd::Success
        | SessionEnd::AgentError
        | SessionEnd::NoResult
        | SessionEnd::Truncated
        | SessionEnd::Hung
        | SessionEnd::LimitReached => report.session.is_none(),
    }
}

/// Waits for what comes next; a conversation may wait for ever.
fn wait_for_prompt(requests: &Requests) -> Next {
    loop {
        match requests.next() {
            Some(Request::Prompt(prompt)) => return Next::Prompt(prompt),
            Some(Request::Finish | Request::Stop { .. } | Request::ReaderGone) => return Next::End,
            // There is no turn to cancel and no question to answer.
            Some(
                Request::Cancel
                | Request::Answer { .. }
                | Request::RuleWritten { .. }
                | Request::NobodyThere
                | Request::Dump
                | Request::Resize(_),
            ) => {}
            None => {
                let mut fds = [PollFd::new(requests.fd(), PollFlags::POLLIN)];
                let _interrupted = poll(&mut fds, PollTimeout::NONE);
            }
        }
    }
}
