//! A turn that hung or broke off, once more: the wait before it, and who may end that wait.
//!
//! Whether it is safe, and with which words, is [`recovery::next`]'s; the runs are [`super::runs`]'.

use super::runs::{Asked, Runs};
use super::turns::Turns;
use crate::control::{Request, Requests};
use crate::driver::{Ending, RunReport};
use crate::log::Log;
use crate::prompt_gate;
use crate::recovery::{self, Next};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand_core::event::{EndedBy, SessionEnd};
use stablehand_core::record::DecisionRecord;
use stablehand_core::speak::Prompt;
use std::time::{Duration, Instant};

/// What became of another try.
#[derive(Debug)]
pub(super) enum Again {
    /// The agent is asked this.
    With(Asked),
    /// Somebody cancelled it: the turn is over.
    Not,
    /// Somebody ended everything.
    Ended,
}

impl Runs {
    /// Announces another try of a turn, and waits for its time.
    pub(super) fn again(
        &mut self,
        given: Asked,
        report: &mut RunReport,
        log: &mut Log,
        requests: &Requests,
        turns: &Turns,
    ) -> Again {
        let next = recovery::next(report, report.tried, self.tries.allowed);
        if matches!(next, Next::Continue { .. }) {
            let rules = &self.plan.prompt_rules;
            let verdict = prompt_gate::judge(rules, &self.continue_prompt, &self.by, None);
            if let Some(verdict) = verdict {
                log.decide(verdict.record, None);
                if verdict.denied.is_some() {
                    return Again::Not;
                }
            }
        }
        let Some(scheduled) = recovery::on_record(report, report.tried, &next) else {
            return Again::Not;
        };
        log.decide(scheduled, None);
        log.flush();
        let (after, session, prompt) = match next {
            Next::Stop { .. } => return Again::Not,
            Next::Again { after } => (after, None, given),
            Next::AgainInSession { session, after } => (after, Some(session), given),
            Next::Continue { session, after } => {
                (after, Some(session), Prompt::from(self.continue_prompt.as_str()).into())
            }
        };
        let ended = |end, signal| Ending { end, by: EndedBy::Person, signal };
        match wait(after, requests, turns) {
            None => {}
            Some(Request::Stop { signal, .. }) => {
                report.end = ended(SessionEnd::Interrupted, Some(signal));
                return Again::Ended;
            }
            Some(Request::ReaderGone) => {
                report.end = ended(SessionEnd::ReaderGone, None);
                return Again::Ended;
            }
            Some(_) => {
                let text = "the turn is not tried again";
                log.decide(DecisionRecord::RetryCancelled(text.into()), None);
                return Again::Not;
            }
        }
        self.tries.tried = report.tried.saturating_add(1);
        if let Some(session) = session {
            self.continue_in(session);
        }
        Again::With(prompt)
    }
}

/// Waits, unless somebody says otherwise. Prompts and the end of them keep their places.
fn wait(how_long: Duration, requests: &Requests, turns: &Turns) -> Option<Request> {
    let until = Instant::now() + how_long;
    let ends = |request: &Request| match request {
        Request::Cancel { turn, .. } => turn.is_none_or(|turn| turns.is_on(turn)),
        request => matches!(request, Request::Stop { .. } | Request::ReaderGone),
    };
    loop {
        if let Some(request) = requests.take(ends) {
            return Some(request);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        let mut fds = [PollFd::new(requests.fd(), PollFlags::POLLIN)];
        let bound = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX);
        let _interrupted = poll(&mut fds, bound);
    }
}
