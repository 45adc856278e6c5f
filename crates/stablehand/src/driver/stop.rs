//! Stopping an agent in stages: ask, insist, kill.
//!
//! A pure machine: it says which stage has come, the driver does it. A second request is not asked
//! twice, it kills.

use stablehand_core::Moment;
use stablehand_core::event::VerdictKind;
use stablehand_core::record::StopStage;
use std::time::Duration;

/// How long each stage is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// From the interrupt to the termination signal: agents save their session here.
    pub interrupt: Duration,
    /// From the termination signal to the kill.
    pub terminate: Duration,
}

impl Default for Stages {
    fn default() -> Self {
        Stages { interrupt: Duration::from_secs(2), terminate: Duration::from_secs(3) }
    }
}

/// Why an agent is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// A verdict.
    Verdict(VerdictKind),
    /// It delivered its result and did not exit.
    ExitOverdue,
    /// A signal to us.
    Signal(i32),
    /// Whoever reads our output is gone.
    ReaderGone,
    /// The client that spoke to the agent is gone, and the agent did not leave.
    ClientGone,
    /// The log is required and cannot be written.
    LogFailed,
    /// Another run has the session.
    SessionTaken,
    /// Hooks were to hold it, and it does not call them.
    HooksInactive,
    /// Its settings file does not hold it any more.
    HooksChanged,
    /// It has done something that it should have asked for.
    Unasked,
    /// Somebody killed our keeper; nobody can prove any more that the tree is gone.
    KeeperLost,
}

impl StopReason {
    pub(super) fn text(self) -> String {
        match self {
            StopReason::Verdict(kind) => format!("{} verdict", crate::driver::notes::word(&kind)),
            StopReason::ExitOverdue => "it did not exit after its result".into(),
            StopReason::Signal(n) => format!("signal {n}"),
            StopReason::ReaderGone => "the reader of its output is gone".into(),
            StopReason::ClientGone => "its client is gone".into(),
            StopReason::LogFailed => "the log cannot be written".into(),
            StopReason::SessionTaken => "another run has this session".into(),
            StopReason::HooksInactive => "it does not run its hooks".into(),
            StopReason::HooksChanged => "its hooks were changed".into(),
            StopReason::Unasked => "it acted without asking".into(),
            StopReason::KeeperLost => "its keeper is gone".into(),
        }
    }
}

#[derive(Debug)]
pub(super) struct StopState {
    stages: Stages,
    reason: Option<StopReason>,
    /// The stage that comes next, and when.
    next: Option<(StopStage, Moment)>,
}

impl StopState {
    pub(super) fn new(stages: Stages) -> Self {
        StopState { stages, reason: None, next: None }
    }

    /// Why the run is being stopped, if it is.
    pub(super) fn reason(&self) -> Option<StopReason> {
        self.reason
    }

    /// Asks for a stop. The first reason stays, except that a person's word counts more than ours;
    /// a person's second word kills at once.
    pub(super) fn begin(&mut self, reason: StopReason, now: Moment) {
        let by_signal = |reason| matches!(reason, StopReason::Signal(_));
        match self.reason {
            None => {
                self.reason = Some(reason);
                self.next = Some((StopStage::Interrupt, now));
            }
            Some(earlier) if by_signal(reason) => {
                if by_signal(earlier) && self.next.is_some() {
                    self.next = Some((StopStage::Kill, now));
                } else if !by_signal(earlier) && earlier != StopReason::ExitOverdue {
                    self.reason = Some(reason);
                }
            }
            Some(_) => {}
        }
    }

    /// Asks for a stop that gives no time: every moment may do harm.
    pub(super) fn kill(&mut self, reason: StopReason, now: Moment) {
        self.reason.get_or_insert(reason);
        self.next = Some((StopStage::Kill, now));
    }

    /// The stage that is due, if one is.
    pub(super) fn due(&mut self, now: Moment) -> Option<StopStage> {
        let (stage, at) = self.next.filter(|(_, at)| *at <= now)?;
        let _ = at;
        self.next = match stage {
            StopStage::Interrupt => Some((StopStage::Terminate, now.plus(self.stages.interrupt))),
            StopStage::Terminate => Some((StopStage::Kill, now.plus(self.stages.terminate))),
            StopStage::Kill => None,
        };
        Some(stage)
    }

    /// When the next stage comes.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.next.map(|(_, at)| at)
    }

    /// The agent has ended; there is nobody left to ask.
    pub(super) fn agent_is_gone(&mut self) {
        self.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAGES: Stages =
        Stages { interrupt: Duration::from_millis(200), terminate: Duration::from_millis(300) };

    fn at(ms: u64) -> Moment {
        Moment::from_millis(ms)
    }

    #[test]
    fn it_asks_insists_and_kills() {
        let mut stop = StopState::new(STAGES);
        stop.begin(StopReason::Verdict(VerdictKind::Idle), at(0));
        assert_eq!(stop.due(at(0)), Some(StopStage::Interrupt));
        assert_eq!(stop.due(at(199)), None);
        assert_eq!(stop.due(at(200)), Some(StopStage::Terminate));
        assert_eq!(stop.due(at(499)), None);
        assert_eq!(stop.due(at(500)), Some(StopStage::Kill));
        assert_eq!((stop.due(at(900)), stop.deadline()), (None, None));
    }

    #[test]
    fn a_second_signal_kills_at_once() {
        let mut stop = StopState::new(STAGES);
        stop.begin(StopReason::Signal(2), at(0));
        assert_eq!(stop.due(at(0)), Some(StopStage::Interrupt));
        stop.begin(StopReason::Signal(2), at(10));
        assert_eq!(stop.due(at(10)), Some(StopStage::Kill));
        assert_eq!(stop.deadline(), None);
    }

    #[test]
    fn a_person_counts_more_than_a_verdict_but_not_more_than_a_result() {
        let mut stop = StopState::new(STAGES);
        stop.begin(StopReason::Verdict(VerdictKind::Idle), at(0));
        stop.begin(StopReason::Signal(15), at(1));
        assert_eq!(stop.reason(), Some(StopReason::Signal(15)));
        let mut stop = StopState::new(STAGES);
        stop.begin(StopReason::ExitOverdue, at(0));
        stop.begin(StopReason::Signal(15), at(1));
        assert_eq!(stop.reason(), Some(StopReason::ExitOverdue));
    }
}
