//! How long agents were silent in recorded runs, by the limit that a silence would have met.
//!
//! Owns one pass over a log that needs no value of any limit: a monitor that is never asked to judge
//! says before each sign of life what was waited for, and for how long. So every value of a limit can
//! be tried on the sums afterwards ([`super::tune`]); the tests hold this against the monitor itself.

use super::judged_until;
use super::tape::{Step, Tape};
use stablehand_core::event::VerdictKind;
use stablehand_core::monitor::{Input, Limits, Monitor, TimeLimit};
use stablehand_core::record::{DecisionRecord, Record};
use stablehand_core::time::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

/// The silences of one run that one limit would have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Silence {
    /// The longest after which the agent was heard again.
    pub survived: Duration,
    /// The longest, however it ended.
    pub longest: Duration,
}

/// The silence in which a run was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hang {
    /// The limit that ended it.
    pub limit: TimeLimit,
    /// How much of the limit was used up then.
    pub lasted: Duration,
    /// For how long nothing had been heard.
    pub quiet: Duration,
}

/// What a run shows about limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSilences {
    /// The agent.
    pub agent: String,
    /// The model, where it is named.
    pub model: Option<String>,
    /// By limit.
    pub silences: BTreeMap<TimeLimit, Silence>,
    /// How it was given up, where it was, for a silence.
    pub hang: Option<Hang>,
    /// It had to be told to go after its result.
    pub overdue: bool,
}

/// Collects the silences of runs.
#[derive(Debug, Default)]
pub struct Survey {
    tape: Tape,
    run: Option<Run>,
    runs: Vec<RunSilences>,
}

#[derive(Debug)]
struct Run {
    monitor: Monitor,
    seen: RunSilences,
    observe_only: bool,
    /// Given up or told to go: what comes now comes because of that.
    stopped: bool,
    actions: Vec<stablehand_core::monitor::Action>,
}

impl Survey {
    /// Takes the next record of the log.
    pub fn record(&mut self, record: &Record<'_>) {
        let Survey { tape, run, runs } = self;
        let mut over = false;
        tape.record(record, &mut |step| match step {
            Step::Began(header) => {
                runs.extend(run.take().map(|run| run.seen));
                *run = Some(Run::new(header.agent.clone()));
            }
            Step::Limited { limits, observe_only } => {
                if let Some(run) = run {
                    run.monitor = Monitor::new(without_counts(limits), Moment::START);
                    run.observe_only = observe_only;
                }
            }
            Step::Told { input, at } => {
                if let Some(run) = run {
                    run.told(input, at);
                }
            }
            Step::Ended { .. } => over = true,
            Step::Decided { .. } | Step::Resumed { .. } => {}
        });
        if let (Record::Decision(decision), Some(run)) = (record, &mut self.run) {
            match decision.record() {
                Some(
                    DecisionRecord::HangDetected(reached) | DecisionRecord::LimitReached(reached),
                ) if !reached.soft && !run.observe_only => {
                    run.given_up(reached.hard(), self.tape.moment(decision.at()));
                }
                Some(DecisionRecord::ExitOverdue(_)) => {
                    run.seen.overdue = true;
                    run.stopped = true;
                }
                Some(DecisionRecord::AgentKilled(_)) => run.stopped = true,
                _ => {}
            }
        }
        if let Some(run) = &mut self.run
            && let Some(model) = &self.tape.facts().model
        {
            run.seen.model = Some(model.clone());
        }
        if over {
            self.runs.extend(self.run.take().map(|run| run.seen));
        }
    }

    /// The runs so far, and how many lines were no records.
    pub fn finish(mut self) -> (Vec<RunSilences>, u64) {
        self.runs.extend(self.run.take().map(|run| run.seen));
        (self.runs, self.tape.log().skipped())
    }
}

/// Without what judges by counts, which would end the survey.
fn without_counts(limits: &Limits) -> Limits {
    Limits {
        wall: None,
        max_turns: None,
        max_tool_calls: None,
        max_tokens: None,
        max_cost_usd: None,
        livelock_kill: None,
        ..limits.clone()
    }
}

impl Run {
    fn new(agent: String) -> Run {
        Run {
            monitor: Monitor::new(Limits::modern(), Moment::START),
            seen: RunSilences { agent, ..RunSilences::default() },
            observe_only: false,
            stopped: false,
            actions: Vec::new(),
        }
    }

    fn told(&mut self, input: Input<'_>, at: Moment) {
        if self.stopped {
            return;
        }
        let alive = matches!(input, Input::Event { .. } | Input::Heard | Input::SideChannel);
        let exits = matches!(input, Input::AgentExited);
        for wait in self.monitor.waits(judged_until(input, at)) {
            let silence = self.seen.silences.entry(wait.limit).or_default();
            silence.longest = silence.longest.max(wait.lasted);
            // An exit after the result is what was waited for.
            if alive || (exits && wait.limit == TimeLimit::ExitGrace) {
                silence.survived = silence.survived.max(wait.lasted);
            }
        }
        self.monitor.handle(input, at, &mut self.actions);
        self.actions.clear();
    }

    fn given_up(&mut self, verdict: Option<VerdictKind>, at: Moment) {
        if self.stopped || verdict.is_none_or(VerdictKind::is_limit) {
            self.stopped = true;
            return;
        }
        self.stopped = true;
        let stale = verdict == Some(VerdictKind::NoProgress);
        let wait = self.monitor.waits(at).find(|it| stale == (it.limit == TimeLimit::NoProgress));
        let quiet = self.monitor.quiet_for(at);
        self.seen.hang = wait.map(|wait| Hang { limit: wait.limit, lasted: wait.lasted, quiet });
    }
}

/// The silences of one sequence of inputs, for tests of this module against the monitor.
#[cfg(test)]
pub(super) fn silences_of(
    limits: &Limits,
    inputs: &[(Moment, Input<'_>)],
) -> BTreeMap<TimeLimit, Silence> {
    let mut run = Run::new(String::new());
    run.monitor = Monitor::new(without_counts(limits), Moment::START);
    for (at, input) in inputs {
        run.told(*input, *at);
    }
    run.seen.silences
}
