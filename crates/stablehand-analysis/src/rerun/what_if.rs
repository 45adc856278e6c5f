//! What would have been decided with other limits.
//!
//! Owns a monitor that is told everything the log has, ticks exactly at its deadlines, and whatever
//! became of the agent after the moment at which it would have given up. The agent's processes were
//! looked at only when the limits of then asked for it, so no witness is asked here: a verdict of
//! this kind may come earlier than a live one, never later.

use super::tape::{Header, Step, Tape};
use super::{judged_until, tick_until};
use serde::Serialize;
use stablehand_core::event::{Evidence, Health, VerdictKind};
use stablehand_core::id::RunId;
use stablehand_core::monitor::{Action, Input, Judgement, Limits, Monitor};
use stablehand_core::record::{DecisionRecord, LogWord, Record};
use stablehand_core::time::{Moment, UnixMillis, millis};
use std::time::Duration;

/// What became of a run, and what would have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The run.
    pub run: RunId,
    /// The agent.
    pub agent: String,
    /// When it began.
    pub began: UnixMillis,
    /// Whether the log says what limits held; otherwise these are today's.
    pub limits_known: bool,
    /// How it ended, in the log's word; none where the log breaks off.
    pub outcome: Option<String>,
    /// The verdict that stopped it, and when, in milliseconds from its beginning.
    pub actual: Option<(VerdictKind, u64)>,
    /// When it ended, in milliseconds from its beginning.
    pub ended_ms: u64,
    /// The verdict that would have been given.
    pub verdict: Option<Hypothesis>,
    /// When it would have been told to go, because it did not exit after its result.
    pub overdue_ms: Option<u64>,
}

/// A verdict that was not given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hypothesis {
    /// Which.
    pub kind: VerdictKind,
    /// When, in milliseconds from the beginning.
    pub at_ms: u64,
    /// The same as wall-clock time.
    pub at: UnixMillis,
    /// In words.
    pub text: String,
    /// What was believed of the agent.
    pub doing: Health,
    /// What it rests on.
    pub evidence: Evidence,
    /// After how many milliseconds the agent was heard again, which it would not have been.
    pub heard_after_ms: Option<u64>,
}

/// The limits to try on a run, from those that held; none are known of older logs.
pub type Change<'a> = Box<dyn FnMut(&Header, Option<&Limits>) -> Limits + 'a>;

/// Judges a log by other limits.
pub struct WhatIf<'a> {
    change: Change<'a>,
    tape: Tape,
    run: Option<Run>,
    findings: Vec<Finding>,
}

impl std::fmt::Debug for WhatIf<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WhatIf").field("tape", &self.tape).finish_non_exhaustive()
    }
}

struct Run {
    header: Header,
    monitor: Monitor,
    finding: Finding,
    /// The last moment that the log has.
    last: Moment,
    /// The agent was stopped here; what it said afterwards it said because of that.
    stopped: bool,
    observe_only: bool,
    actions: Vec<(Moment, Action)>,
}

impl<'a> WhatIf<'a> {
    /// With the limits that `change` says.
    pub fn new(change: impl FnMut(&Header, Option<&Limits>) -> Limits + 'a) -> Self {
        WhatIf { change: Box::new(change), tape: Tape::default(), run: None, findings: Vec::new() }
    }

    /// Takes the next record of the log.
    pub fn record(&mut self, record: &Record<'_>) {
        let WhatIf { change, tape, run, findings } = self;
        tape.record(record, &mut |step| match step {
            Step::Began(began) => {
                findings.extend(run.take().map(Run::finish));
                *run = Some(Run::new(began, change(began, None)));
            }
            Step::Limited { limits, observe_only } => {
                if let Some(run) = run {
                    run.observe_only = observe_only;
                    run.finding.limits_known = true;
                    run.monitor = monitor(change(&run.header, Some(limits)));
                }
            }
            Step::Told { input, at } => {
                if let Some(run) = run {
                    run.told(input, at);
                }
            }
            Step::Decided { at, .. } | Step::Resumed { at } | Step::Ended { at } => {
                if let Some(run) = run {
                    run.pass(at);
                }
            }
        });
        if let (Some(decision), Some(at)) = (record.decision(), record.at()) {
            if let Some(run) = &mut self.run {
                run.record(decision, self.tape.moment(at));
            }
            if let DecisionRecord::RunEnded(_) = decision {
                self.findings.extend(self.run.take().map(Run::finish));
            }
        }
        self.place();
    }

    /// What was found, run by run.
    pub fn finish(mut self) -> Vec<Finding> {
        self.findings.extend(self.run.take().map(Run::finish));
        self.place();
        self.findings
    }

    /// Gives the newest verdict its wall-clock time, while the clock of its run is at hand.
    fn place(&mut self) {
        let newest = match &mut self.run {
            Some(run) => Some(&mut run.finding),
            None => self.findings.last_mut(),
        };
        if let Some(verdict) = newest.and_then(|finding| finding.verdict.as_mut())
            && verdict.at == UnixMillis(0)
        {
            verdict.at = self.tape.wall(Moment::from_millis(verdict.at_ms));
        }
    }
}

/// Nobody can say what a look at the processes would have shown. And silences need not be put on
/// record: every deadline is a judgement then.
fn monitor(mut limits: Limits) -> Monitor {
    limits.witness.max_extensions = 0;
    limits.waiting_interval = Duration::MAX;
    Monitor::new(limits, Moment::START)
}

impl Run {
    fn new(header: &Header, limits: Limits) -> Run {
        Run {
            header: header.clone(),
            monitor: monitor(limits),
            finding: Finding {
                run: header.run.clone(),
                agent: header.agent.clone(),
                began: header.began,
                limits_known: false,
                outcome: None,
                actual: None,
                ended_ms: 0,
                verdict: None,
                overdue_ms: None,
            },
            last: Moment::START,
            stopped: false,
            observe_only: false,
            actions: Vec::new(),
        }
    }

    fn told(&mut self, input: Input<'_>, at: Moment) {
        self.last = self.last.max(at);
        if self.stopped || matches!(input, Input::Witness { .. }) {
            return;
        }
        self.tick(judged_until(input, at));
        if let Input::Event { .. } | Input::Heard | Input::SideChannel = input
            && let Some(verdict) = &mut self.finding.verdict
        {
            let after = millis(at.0).saturating_sub(verdict.at_ms);
            verdict.heard_after_ms.get_or_insert(after);
        }
        let mut actions = Vec::new();
        self.monitor.handle(input, at, &mut actions);
        self.actions.extend(actions.into_iter().map(|action| (at, action)));
        self.look();
    }

    fn pass(&mut self, at: Moment) {
        self.last = self.last.max(at);
        if !self.stopped {
            self.tick(at);
        }
    }

    fn tick(&mut self, until: Moment) {
        tick_until(&mut self.monitor, until, &mut self.actions);
        self.look();
    }

    fn look(&mut self) {
        for (at, action) in self.actions.drain(..) {
            match action {
                Action::Verdict(judgement) => {
                    self.finding.verdict.get_or_insert_with(|| hypothesis(*judgement, at));
                }
                Action::ExitOverdue => {
                    self.finding.overdue_ms.get_or_insert(millis(at.0));
                }
                _ => {}
            }
        }
    }

    fn record(&mut self, record: &DecisionRecord, at: Moment) {
        match record {
            DecisionRecord::HangDetected(reached) | DecisionRecord::LimitReached(reached)
                if !self.observe_only =>
            {
                if let Some(kind) = reached.hard().filter(|_| !self.stopped) {
                    self.finding.actual = Some((kind, millis(at.0)));
                    self.stopped = true;
                    // Had it been left alone, it would have gone on as it was.
                    self.tick(Moment(Duration::MAX));
                }
            }
            // Somebody ended it: what would have come next cannot be known.
            DecisionRecord::AgentKilled(_) => self.stopped = true,
            DecisionRecord::RunEnded(ended) => {
                self.finding.outcome = ended.outcome.as_ref().map(LogWord::text);
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Finding {
        self.finding.ended_ms = millis(self.last.0);
        self.finding
    }
}

fn hypothesis(judgement: Judgement, at: Moment) -> Hypothesis {
    Hypothesis {
        kind: judgement.kind,
        at_ms: millis(at.0),
        at: UnixMillis(0),
        text: judgement.text,
        doing: judgement.from,
        evidence: judgement.evidence,
        heard_after_ms: None,
    }
}
