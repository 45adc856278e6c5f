//! The runs of one session: one process for all turns, or one for each.

use super::again::Again;
use super::build::StartError;
use super::plan::{RunPlan, Start};
use super::settle;
use super::turns::{self, Turns};
use crate::clock::{RunClock, unix_now};
use crate::control::{Refused, Request, Requests, TurnRequest};
use crate::driver::{self, Faces, RunReport, RunSpec};
use crate::lease::{Lease, LeaseError};
use crate::log::Log;
use crate::recovery::{CONTINUE_PROMPT, Tries};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand_core::actor::{Actor, ActorKind};
use stablehand_core::event::{SessionEnd, TurnEnd};
use stablehand_core::id::{SessionId, TurnId};
use stablehand_core::record::{DecisionRecord, SignalReceived, Verified};
use stablehand_core::speak::{Image, Prompt};
use std::time::Duration;

/// The runs of one session: as many as its turns, retries and continuations need.
#[derive(Debug)]
pub(super) struct Runs {
    /// What they have in common.
    pub(super) plan: RunPlan,
    /// The session that the next one continues.
    pub(super) resume: Option<SessionId>,
    /// The first prompt, where it is known before the agent is started.
    pub(super) prompt: Option<Asked>,
    /// The turn of the first prompt.
    pub(super) turn: TurnId,
    /// Who gives the first prompt.
    pub(super) by: Actor,
    /// Whether further prompts may come.
    pub(super) conversation: bool,
    /// Whether an agent that listens is not started before there is a prompt either.
    pub(super) waits_for_prompt: bool,
    /// How often the turn that is on was tried again, and may be.
    pub(super) tries: Tries,
    /// The prompt with which a run is resumed that may have changed something.
    pub(super) continue_prompt: String,
}

/// What an agent is asked. Unlike a [`Prompt`] it need not be text: it may come from a pipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The words.
    pub(super) bytes: Vec<u8>,
    /// What the agent is shown with them.
    pub(super) images: Vec<Image>,
}

impl Asked {
    /// Returns true if there is nothing to ask.
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.images.is_empty()
    }
}

impl From<Prompt> for Asked {
    fn from(prompt: Prompt) -> Asked {
        Asked { bytes: prompt.text.into_bytes(), images: prompt.images }
    }
}

/// How the runs of a session ended.
#[derive(Debug)]
pub(super) struct AllRuns {
    /// The last one.
    pub(super) report: RunReport,
    /// The signal that ended the wait for slow readers behind a run.
    pub(super) signal: Option<i32>,
    /// What they add up to.
    pub(super) totals: Totals,
    /// How long they took, with the waits between them.
    pub(super) duration: Duration,
}

/// What the runs of a session add up to.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// How the bytes of each run compared, where that was asked for.
    pub(super) verified: Vec<Verified>,
    /// How many tools were called.
    pub(super) tool_calls: u64,
    /// The model that was named last.
    pub(super) model: Option<String>,
}

/// What comes after a run.
#[derive(Debug)]
enum Next {
    Prompt(TurnRequest),
    End,
}

impl Runs {
    /// Plans one turn that is not tried again; the fields say what else is wanted.
    pub(super) fn new(plan: RunPlan, prompt: Option<Asked>) -> Runs {
        Runs {
            plan,
            resume: None,
            prompt,
            turn: crate::new_turn_id(),
            by: ActorKind::Program.into(),
            conversation: false,
            waits_for_prompt: false,
            tries: Tries::default(),
            continue_prompt: CONTINUE_PROMPT.to_owned(),
        }
    }

    /// Runs until the session is over, on this thread.
    pub(super) fn all(mut self, log: &mut Log, faces: &mut Faces, requests: &Requests) -> AllRuns {
        if !self.conversation {
            requests.board().refuse_prompts(Refused::OneTurn);
        }
        let mut turns = Turns::new(requests.board().clone());
        let clock = RunClock::start();
        let mut totals = Totals::default();
        let (report, signal) = self.run_all(log, faces, requests, &mut turns, &mut totals);
        turns.end(turns::end_of(&report), log);
        for request in requests.close() {
            turns::end_waiting(&request, log);
        }
        AllRuns { report, signal, totals, duration: clock.now().0 }
    }

    /// The last run, and the signal that ended the wait behind it.
    fn run_all(
        &mut self,
        log: &mut Log,
        faces: &mut Faces,
        requests: &Requests,
        turns: &mut Turns,
        totals: &mut Totals,
    ) -> (RunReport, Option<i32>) {
        let over = |report| (report, None);
        let mut prompt = self.prompt.take();
        // The turn that the next run begins with; none where it goes on with one.
        let mut turn =
            prompt.as_ref().filter(|asked| !asked.is_empty()).map(|_| (self.turn, self.by.clone()));
        // An agent that takes one turn a process is not started before there is one.
        if prompt.is_none() && (self.waits_for_prompt || !self.listens()) {
            match wait_for_prompt(requests, log, faces) {
                Next::Prompt(next) => {
                    turn = Some((next.turn, next.by));
                    prompt = Some(next.prompt.into());
                }
                Next::End => return over(RunReport::without_run(SessionEnd::Success)),
            }
        }
        loop {
            let prompt_now = self.taken(prompt.take().unwrap_or_default(), log);
            // It was planned once already, with another session.
            let Ok(spec) = self.spec(&prompt_now) else {
                return over(RunReport::without_run(SessionEnd::Internal));
            };
            let began = log.position();
            if let Some(sink) = &mut faces.stdout {
                sink.restart_count();
            }
            if let Some((turn, by)) = turn.take() {
                log.set_time(unix_now());
                turns.begin(turn, &by, &prompt_now.bytes, &spec.run, log);
            }
            let mut report = driver::run(&spec, log, faces, requests, turns);
            totals.tool_calls = totals.tool_calls.saturating_add(report.tool_calls);
            totals.model = report.model.clone().or_else(|| totals.model.take());
            if !report.again && report.continued.is_none() {
                turns.end(turns::end_of(&report), log);
            }
            if let Some(status) = &faces.status {
                status.clear();
            }
            let signal = settle::settle(&report, log, faces, requests);
            if self.plan.verify {
                totals.verified.push(settle::verify(&report, began, log, faces));
            }
            if signal.is_some() {
                return (report, signal);
            }
            // A process that was to stay and did not is started again with the next prompt, like one
            // that takes a single turn.
            let continued = report.continued.take();
            self.plan.continuations = std::mem::take(&mut report.continuations);
            if continued.is_none() && report.again {
                let given = report.prompt.take().map_or(prompt_now, Asked::from);
                match self.again(given, &mut report, log, requests, turns) {
                    Again::With(next) => {
                        prompt = Some(next);
                        continue;
                    }
                    Again::Not => turns.end(TurnEnd::Cancelled, log),
                    Again::Ended => return over(report),
                }
            }
            self.tries.tried = 0;
            let finished = self.listens() && report.finished;
            let is_last = !self.conversation || finished || self.is_final(&report);
            if is_last && continued.is_none() {
                return over(report);
            }
            // The newest id counts: an agent may continue under another one.
            if let Some(session) = report.session.clone().filter(SessionId::is_safe_argument) {
                self.continue_in(session);
            }
            if let Some(continued) = continued {
                prompt = Some(Prompt::from(continued.prompt).into());
                continue;
            }
            match wait_for_prompt(requests, log, faces) {
                Next::Prompt(next) => {
                    turn = Some((next.turn, next.by));
                    prompt = Some(next.prompt.into());
                }
                Next::End => return over(report),
            }
        }
    }

    /// The prompt as the agent takes it: without images where it cannot be shown any.
    fn taken(&self, prompt: Asked, log: &mut Log) -> Asked {
        let Start::Agent(start) = &self.plan.start else { return prompt };
        if prompt.images.is_empty() || start.agent.takes_images(start.request.form) {
            return prompt;
        }
        let text =
            format!("{} takes no images, so it is told that there are some", start.agent.name());
        log.decide(DecisionRecord::LeftOut(text.into()), None);
        let text = String::from_utf8_lossy(&prompt.bytes).into_owned();
        Prompt::from(Prompt { text, images: prompt.images }.in_words()).into()
    }

    /// The run for this prompt.
    pub(super) fn spec(&self, prompt: &Asked) -> Result<RunSpec, StartError> {
        self.plan.spec(&prompt.bytes, &prompt.images, self.resume.clone(), self.tries)
    }

    /// Refuses early where another run has the session that is to be continued; the driver takes the
    /// lease itself.
    pub(super) fn check_lease(&self) -> Result<(), LeaseError> {
        if let (Some(session), Some(leases)) = (&self.resume, &self.plan.leases)
            && let Start::Agent(start) = &self.plan.start
            && let Err(error @ LeaseError::Taken { .. }) =
                Lease::take(leases, start.agent.name(), session)
        {
            return Err(error);
        }
        Ok(())
    }

    /// Whether the agent takes prompts while it runs.
    fn listens(&self) -> bool {
        match &self.plan.start {
            Start::Agent(start) => start.request.form.listens(),
            Start::Relayed { .. } => false,
        }
    }

    /// From here on this session is continued.
    pub(super) fn continue_in(&mut self, session: SessionId) {
        self.resume = Some(session);
    }

    /// Returns true if no prompt can follow. A turn that failed, hung or was cancelled can be followed
    /// by another; a process that cannot be started, or a stop by somebody's wish, cannot. Where the
    /// agent never named its session, only one that hung can: nothing was said that would be lost.
    fn is_final(&self, report: &RunReport) -> bool {
        match report.end.end {
            SessionEnd::SpawnFailed | SessionEnd::Internal | SessionEnd::ReaderGone => true,
            // Without a signal it was a turn that somebody cancelled, and so with an interrupt.
            SessionEnd::Interrupted => report.end.signal.is_some_and(|signal| signal != 2),
            SessionEnd::Hung => false,
            SessionEnd::Success
            | SessionEnd::AgentError
            | SessionEnd::NoResult
            | SessionEnd::Truncated
            | SessionEnd::LimitReached => report.session.is_none() && self.resume.is_none(),
        }
    }
}

/// Waits for what comes next; a conversation may wait for ever.
fn wait_for_prompt(requests: &Requests, log: &mut Log, faces: &mut Faces) -> Next {
    loop {
        match requests.next() {
            Some(Request::Prompt(request)) => return Next::Prompt(request),
            Some(Request::Stop { signal, by }) => {
                log.set_time(unix_now());
                log.decide(SignalReceived::new(signal, by), None);
                return Next::End;
            }
            Some(Request::Finish | Request::ReaderGone) => return Next::End,
            Some(Request::Note(record)) => {
                log.set_time(unix_now());
                log.decide(*record, None);
            }
            Some(Request::Insert(line)) => {
                if let Some(sink) = &mut faces.stdout {
                    sink.insert(&line);
                }
            }
            // There is no turn to cancel and no question to answer.
            Some(
                Request::Cancel { .. }
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
