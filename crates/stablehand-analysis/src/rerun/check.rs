//! Whether decoder and monitor decide today what they decided then.
//!
//! Owns two queues that have to agree: what the monitor gives when it is told the same again, and
//! the records of what it gave. Raw records of one wake-up stand before the decisions that follow
//! from them, so both are matched in order. Ticks are not in the log: a decision that nothing else
//! explains was brought about by one, at the moment of its record, provided that a deadline had
//! come. Logs without limits are older than this check; of them only what needs no time is looked at.

use super::decision::Decision;
use super::ending::Deeds;
use super::tape::{Step, Tape};
use serde::Serialize;
use stablehand_core::decode::Dialect;
use stablehand_core::event::VerdictKind;
use stablehand_core::id::RunId;
use stablehand_core::monitor::{Action, Input, Limits, Monitor};
use stablehand_core::record::{DecisionRecord, LoggedDecision, Record};
use stablehand_core::time::{Moment, UnixMillis, human};
use std::collections::VecDeque;
use std::time::Duration;

/// So many differences are listed; the others are counted.
const MOST_LISTED: usize = 100;

/// After so many in one run the rest of it says nothing new.
const MOST_IN_RUN: usize = 20;

/// So many decisions are waited for at a time. A wake-up brings a handful; where there are more, the
/// records of them are lost.
const MOST_EXPECTED: usize = 10_000;

/// So many deadlines in a row may come of which nothing follows, such as that of a second limit on
/// use when a first was reached.
const MOST_SILENT_TICKS: usize = 16;

/// A deadline that nothing in the log answers for so long was missed. A loop that is late by more
/// than half a second says so itself.
const LATE: Duration = Duration::from_secs(3);

/// How two runs of the same log differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// It would be decided now, and is not in the log.
    Missing,
    /// It is in the log, and would not be decided now.
    Unexpected,
    /// A deadline had come and nothing was decided.
    Overslept,
    /// The run would end otherwise.
    Ending,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Of which sort.
    pub sort: Sort,
    /// In which run.
    pub run: RunId,
    /// At which line of the log, from one on.
    pub line: u64,
    /// When.
    pub at: UnixMillis,
    /// What would be decided now.
    pub expected: Option<String>,
    /// What the log says.
    pub recorded: Option<String>,
}

/// What was found in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Runs that were looked at.
    pub runs: u64,
    /// Those of an older version, which does not say what limits held.
    pub without_limits: u64,
    /// Those that have no end in the log.
    pub unfinished: u64,
    /// Those that the log has lost a part of, so that nothing can be said.
    pub lossy: u64,
    /// Decisions that were compared.
    pub decisions: u64,
    /// Lines that are no records.
    pub skipped: u64,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// How many there are.
    pub differing: u64,
}

/// Judges a log again.
#[derive(Debug, Default)]
pub struct Check {
    tape: Tape,
    report: Report,
    line: u64,
    run: Option<Run>,
}

/// A run that is judged again.
#[derive(Debug)]
struct Run {
    monitor: Monitor,
    /// What the log says held.
    limited: bool,
    deeds: Deeds,
    /// Decided now and not yet met in the log.
    expected: VecDeque<Decision>,
    actions: Vec<Action>,
    /// A deadline that was called missed.
    missed: Option<Moment>,
    /// When the monitor was last told something: a deadline that came about then was not due before.
    told_at: Moment,
    /// Something of this run is not in the log.
    lossy: bool,
    found: usize,
    compared: u64,
}

/// What a step of a run shows, before it is known where.
type Found = (Sort, Option<String>, Option<String>);

impl Check {
    /// Takes the next record of the log; every line counts, also one that is no record.
    pub fn record(&mut self, record: &Record<'_>) {
        self.line += 1;
        let at = record.at().unwrap_or_default();
        if let (Some(decision), Some(run)) = (record.decision(), &mut self.run) {
            run.deeds.record(decision);
        }
        match (record.decision(), &mut self.run) {
            (Some(DecisionRecord::LogRecovered(recovered)), Some(run)) => {
                run.lossy |= recovered.lost_bytes > 0;
            }
            // The beginning of the run is gone with its limits: nothing can be judged again.
            (Some(DecisionRecord::LogTruncated(_)), run) => {
                run.get_or_insert_with(Run::new).lossy = true;
            }
            _ => {}
        }
        let Check { tape, report, run, .. } = self;
        let mut found: Vec<Found> = Vec::new();
        let mut ended = false;
        let dialect = tape.header().map(|header| header.dialect);
        tape.record(record, &mut |step| match step {
            Step::Began(_) => {
                report.unfinished += u64::from(run.is_some());
                report.runs += 1;
                *run = Some(Run::new());
            }
            Step::Limited { limits, observe_only } => {
                if let Some(run) = run {
                    run.limit(limits, observe_only);
                }
            }
            Step::Told { input, at } => {
                if let Some(run) = run {
                    run.told(input, at, dialect, &mut found);
                }
            }
            Step::Decided { decision, at } => {
                if let Some(run) = run {
                    run.decided(&decision, at, dialect, &mut found);
                }
            }
            Step::Resumed { at } => {
                if let Some(run) = run {
                    run.monitor.resume_after_verdict(at);
                }
            }
            Step::Ended { .. } => ended = true,
        });
        match record {
            Record::Decision(decision) if ended => self.end(decision, &mut found),
            Record::Decision(decision)
                if matches!(decision.record(), Some(DecisionRecord::SpawnFailed(_))) =>
            {
                self.close();
            }
            _ => {}
        }
        for (sort, expected, recorded) in found {
            self.differs(sort, at, expected, recorded);
        }
        if ended {
            self.close();
        }
    }

    /// What was found, once the log has ended.
    pub fn finish(mut self) -> Report {
        self.report.unfinished += u64::from(self.run.is_some());
        self.report.skipped = self.tape.log().skipped();
        self.close();
        self.report
    }

    fn end(&mut self, ended: &LoggedDecision<'_>, found: &mut Vec<Found>) {
        let nobody = Deeds::default();
        let (deeds, lossy) = match &mut self.run {
            Some(run) => {
                for left in run.expected.drain(..) {
                    found.push((Sort::Missing, Some(left.to_string()), None));
                }
                (&run.deeds, run.lossy)
            }
            None => (&nobody, false),
        };
        if !lossy {
            for other in deeds.compare(&self.tape, ended.fields()) {
                found.push((Sort::Ending, Some(other.expected), Some(other.recorded)));
            }
        }
    }

    fn close(&mut self) {
        if let Some(run) = self.run.take() {
            self.report.without_limits += u64::from(!run.limited);
            self.report.lossy += u64::from(run.lossy);
            self.report.decisions += run.compared;
        }
    }

    fn differs(
        &mut self,
        sort: Sort,
        at: UnixMillis,
        expected: Option<String>,
        recorded: Option<String>,
    ) {
        if let Some(run) = &mut self.run {
            run.found += 1;
            if run.lossy || (run.found > MOST_IN_RUN && sort != Sort::Ending) {
                return;
            }
        }
        self.report.differing += 1;
        if self.report.differences.len() < MOST_LISTED {
            let run = self.tape.header().map(|header| header.run.clone());
            self.report.differences.push(Difference {
                sort,
                run: run.unwrap_or_else(|| RunId(String::new())),
                line: self.line,
                at,
                expected,
                recorded,
            });
        }
    }
}

impl Run {
    /// A run of which no limits are known: nobody is ever judged.
    fn new() -> Run {
        Run {
            monitor: Monitor::new(Limits::none(), Moment::START),
            limited: false,
            deeds: Deeds::default(),
            expected: VecDeque::new(),
            actions: Vec::new(),
            missed: None,
            told_at: Moment::START,
            lossy: false,
            found: 0,
            compared: 0,
        }
    }

    fn limit(&mut self, limits: &Limits, observe_only: bool) {
        self.monitor = Monitor::new(limits.clone(), Moment::START);
        self.limited = true;
        if observe_only {
            self.deeds.observe_only();
        }
    }

    fn told(
        &mut self,
        input: Input<'_>,
        at: Moment,
        dialect: Option<Dialect>,
        found: &mut Vec<Found>,
    ) {
        if !matches!(input, Input::Gap(_) | Input::Suspended(_)) {
            self.was_awake(at, found);
        }
        self.give(input, at, dialect, found);
    }

    /// Somebody should have judged before, where a deadline is long over.
    fn was_awake(&mut self, at: Moment, found: &mut Vec<Found>) {
        for _ in 0..MOST_SILENT_TICKS {
            let due = |it: &Moment| at > self.told_at.max(*it).plus(LATE);
            let Some(deadline) = self.monitor.deadline().filter(due) else { return };
            if !self.limited || self.missed == Some(deadline) {
                return;
            }
            // A tick that had nothing to say is in no log.
            let mut ticked = self.monitor.clone();
            ticked.handle(Input::Tick, deadline, &mut self.actions);
            if self.actions.is_empty() {
                self.monitor = ticked;
                continue;
            }
            self.actions.clear();
            self.missed = Some(deadline);
            let what = format!("a judgement {} before", human(at.since(deadline)));
            found.push((Sort::Overslept, Some(what), None));
        }
    }

    fn give(
        &mut self,
        input: Input<'_>,
        at: Moment,
        dialect: Option<Dialect>,
        found: &mut Vec<Found>,
    ) {
        self.monitor.handle(input, at, &mut self.actions);
        self.told_at = at;
        for action in self.actions.drain(..) {
            let decision = at_terminal(Decision::of_action(&action), dialect);
            // Without limits there is no telling when, and most else depends on that.
            if self.limited || matches!(decision, Decision::ToolOpened(_)) {
                self.expected.push_back(decision);
            }
            if self.expected.len() > MOST_EXPECTED
                && let Some(lost) = self.expected.pop_front()
            {
                found.push((Sort::Missing, Some(lost.to_string()), None));
            }
        }
    }

    fn decided(
        &mut self,
        recorded: &Decision,
        at: Moment,
        dialect: Option<Dialect>,
        found: &mut Vec<Found>,
    ) {
        if !self.limited && !matches!(recorded, Decision::ToolOpened(_)) {
            return;
        }
        self.compared += 1;
        let due = self.monitor.deadline().is_some_and(|deadline| deadline <= at);
        if self.expected.is_empty() && self.limited && due {
            self.was_awake(at, found);
            self.give(Input::Tick, at, dialect, found);
        }
        let place = self.expected.iter().position(|decision| decision.is_told_by(recorded));
        let Some(place) = place else {
            found.push((Sort::Unexpected, None, Some(recorded.to_string())));
            return;
        };
        for left in self.expected.drain(..=place).take(place) {
            found.push((Sort::Missing, Some(left.to_string()), None));
        }
    }
}

/// At a terminal every silence is a wait for input; what the monitor thinks of it is not recorded.
fn at_terminal(decision: Decision, dialect: Option<Dialect>) -> Decision {
    match decision {
        Decision::Verdict(Some(
            VerdictKind::FirstResponse
            | VerdictKind::Idle
            | VerdictKind::IdleAfterText
            | VerdictKind::IdleAfterTool,
        )) if dialect == Some(Dialect::Terminal) => Decision::Verdict(Some(VerdictKind::Idle)),
        decision => decision,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_without_decisions_is_checked_in_bounded_memory() {
        let mut check = Check::default();
        check.record(&Record::read(br#"{"msg":"agent_spawned","ts":1,"run":"r1"}"#));
        for call in 0..MOST_EXPECTED + 50 {
            let line = format!(
                r#"{{"msg":"raw_event","recv_ts":2,"raw":{{"type":"tool_call","subtype":"started","call_id":"c{call}","tool_call":{{"shellToolCall":{{"args":{{"command":"ls"}}}}}}}}}}"#
            );
            check.record(&Record::read(line.as_bytes()));
        }
        let expected = check.run.as_ref().map(|run| run.expected.len());
        assert_eq!(expected, Some(MOST_EXPECTED));
        let report = check.finish();
        assert_eq!((report.differing, report.unfinished), (MOST_IN_RUN as u64, 1));
    }
}
