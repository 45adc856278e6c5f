//! From the records of a log to what the monitor was told, and when.
//!
//! Owns which records are inputs, the decoder that turns raw ones into events, and the way from the
//! time of a record to the moment of its run. Compares and judges nothing.

use super::decision::Decision;
use stablehand_core::decode::{Decode, Depth, Dialect};
use stablehand_core::event::{EventKind, Health};
use stablehand_core::facts::Facts;
use stablehand_core::id::RunId;
use stablehand_core::json::{self, Memo};
use stablehand_core::line::{Line, Part, WHOLE_LIMIT};
use stablehand_core::monitor::{Input, Limits, Moved};
use stablehand_core::record::{
    DecisionKind, DecisionRecord, LogReader, LoggedDecision, MonitorTold, Record, RunStart, Stream,
};
use stablehand_core::replay::{overheard, size_of};
use stablehand_core::time::{Moment, UnixMillis};
use std::time::Duration;

/// A run, as it began.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Our id of it.
    pub run: RunId,
    /// The agent.
    pub agent: String,
    /// When.
    pub began: UnixMillis,
    /// How it is read.
    pub dialect: Dialect,
}

/// What a record means for whoever judges again.
#[derive(Debug)]
pub enum Step<'a> {
    /// A run began.
    Began(&'a Header),
    /// These limits held in it; older logs do not say.
    Limited {
        /// The limits.
        limits: &'a Limits,
        /// Verdicts were written down, and nobody was stopped.
        observe_only: bool,
    },
    /// The monitor was told this.
    Told {
        /// What.
        input: Input<'a>,
        /// When.
        at: Moment,
    },
    /// The monitor decided this.
    Decided {
        /// What.
        decision: Decision,
        /// When it was put down: for what a tick brought about, the moment of the tick.
        at: Moment,
    },
    /// A verdict was given that nobody acted on, and the monitor went on.
    Resumed {
        /// When.
        at: Moment,
    },
    /// The run is over.
    Ended {
        /// When.
        at: Moment,
    },
}

/// Reads a log's records in order.
pub struct Tape {
    log: LogReader,
    decoder: Box<dyn Decode>,
    memo: Memo,
    kinds: Vec<EventKind>,
    /// The line of standard output that comes in parts.
    long: LongLine,
    header: Option<Header>,
    facts: Facts,
    stdout_bytes: u64,
    /// What the wall clock would have shown at the beginning of the run.
    anchor: UnixMillis,
}

#[derive(Debug, Default)]
struct LongLine {
    bytes: Vec<u8>,
    /// Its beginning was told, because it is too long to be told whole.
    told: bool,
}

impl Default for Tape {
    fn default() -> Self {
        let log = LogReader::default();
        Tape {
            decoder: log.dialect().decoder(),
            log,
            memo: Memo::default(),
            kinds: Vec::new(),
            long: LongLine::default(),
            header: None,
            facts: Facts::default(),
            stdout_bytes: 0,
            anchor: UnixMillis(0),
        }
    }
}

impl std::fmt::Debug for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tape").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Tape {
    /// The run that is on, or was last; none where it could not be started.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// What its stream has shown so far.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// How many bytes of its output are in the log so far.
    pub fn stdout_bytes(&self) -> u64 {
        self.stdout_bytes
    }

    /// The log, as far as it was read: its dialect, its header, its damage.
    pub fn log(&self) -> &LogReader {
        &self.log
    }

    /// A moment of the present run as wall-clock time.
    pub fn wall(&self, moment: Moment) -> UnixMillis {
        let ms = i64::try_from(moment.0.as_millis()).unwrap_or(i64::MAX);
        UnixMillis(self.anchor.0.saturating_add(ms))
    }

    /// Takes the next record, and tells what it means.
    pub fn record(&mut self, record: &Record<'_>, take: &mut dyn FnMut(Step<'_>)) {
        if self.log.take(record) {
            self.decoder = self.log.dialect().decoder();
        }
        match record {
            Record::Raw { stream, at, bytes, part, last, newline } => {
                let at = self.moment(*at);
                match stream {
                    Stream::Stdout => self.stdout(bytes, *part, *last, *newline, at, take),
                    Stream::Stderr => take(Step::Told { input: Input::Heard, at }),
                }
            }
            Record::Decision(decision) => self.decision(decision, take),
            Record::Foreign(_) | Record::Broken(_) => {}
        }
    }

    /// The moment of the present run that a record of this time tells of.
    pub(super) fn moment(&self, at: UnixMillis) -> Moment {
        Moment(at.since(self.anchor))
    }

    fn decision(&mut self, decision: &LoggedDecision<'_>, take: &mut dyn FnMut(Step<'_>)) {
        if decision.kind() == Some(DecisionKind::ClientSaid) {
            return overheard(decision, |object| self.decoder.overhear(object));
        }
        let Some(record) = decision.record() else { return };
        let at = self.moment(decision.at());
        match record {
            DecisionRecord::AgentSpawned(start) => self.began(decision.at(), start, take),
            DecisionRecord::SpawnFailed(_) => {
                self.header = None;
                self.facts = Facts::default();
                self.stdout_bytes = 0;
            }
            DecisionRecord::MonitorStarted(started) => {
                if let Some(limits) = &started.limits {
                    take(Step::Limited { limits, observe_only: started.observe_only });
                }
            }
            DecisionRecord::ClockStepped(step) => {
                self.anchor.0 = self.anchor.0.saturating_add(step.by_ms);
            }
            DecisionRecord::ScreenSettled(_) => self.settled(at, take),
            DecisionRecord::HookReceived(_) => take(Step::Told { input: Input::Heard, at }),
            DecisionRecord::WouldHaveKilled(_) | DecisionRecord::VerdictLifted(_) => {
                take(Step::Resumed { at });
            }
            DecisionRecord::RunEnded(_) => take(Step::Ended { at }),
            DecisionRecord::AgentExited(exited) if exited.left_by_itself() => self.stream_ended(),
            // Another result might have followed, had we not stopped the agent, or had it not crashed.
            DecisionRecord::AgentExited(_) => {}
            _ => {
                let event = match record {
                    DecisionRecord::HealthChanged(_) => decision.event(),
                    _ => None,
                };
                if let Some(input) = told(record, event.as_ref()) {
                    if matches!(input, Input::Prompted) {
                        self.facts.prompted();
                    }
                    take(Step::Told { input, at });
                }
                if let Some(decision) = Decision::of_record(record, event.as_ref()) {
                    take(Step::Decided { decision, at });
                }
                if let DecisionRecord::ResultStands(_) = record {
                    self.result_stands(at, take);
                }
            }
        }
        if let (Some(decoder), Some(size)) = (self.decoder.as_terminal(), size_of(record)) {
            decoder.terminal().resize(size);
        }
    }

    /// A result may only now turn out to be the last one.
    fn stream_ended(&mut self) {
        let mut left = Vec::new();
        self.decoder.finish(Depth::Skim, &mut left);
        for event in &left {
            if let EventKind::TurnEnded { .. } = event {
                self.facts.take(event);
            }
        }
    }

    /// A result was the last one of its turn: the decoder says so, and the monitor is told.
    fn result_stands(&mut self, at: Moment, take: &mut dyn FnMut(Step<'_>)) {
        self.decoder.finish(Depth::Skim, &mut self.kinds);
        for kind in self.kinds.drain(..) {
            let native = self.decoder.last_type();
            take(Step::Told { input: Input::Event { kind: &kind, native }, at });
            self.facts.take(&kind);
        }
    }

    fn began(&mut self, ts: UnixMillis, start: &RunStart, take: &mut dyn FnMut(Step<'_>)) {
        let dialect = self.log.dialect();
        self.decoder = dialect.decoder();
        self.memo = Memo::default();
        self.long = LongLine::default();
        self.facts = Facts::default();
        self.stdout_bytes = 0;
        self.anchor = ts;
        let header =
            Header { run: start.run.clone(), agent: start.agent.clone(), began: ts, dialect };
        take(Step::Began(self.header.insert(header)));
    }

    fn settled(&mut self, at: Moment, take: &mut dyn FnMut(Step<'_>)) {
        if let Some(screen) = self.decoder.as_terminal() {
            screen.settle(Depth::Skim, &mut self.kinds);
        }
        for kind in self.kinds.drain(..) {
            take(Step::Told { input: Input::Event { kind: &kind, native: "screen" }, at });
            self.facts.take(&kind);
        }
    }

    /// What came to standard output. A line that was cut into parts only for the log is told whole,
    /// as it was then; of one that is too long for that, the beginning.
    fn stdout(
        &mut self,
        bytes: &[u8],
        part: bool,
        last: bool,
        newline: bool,
        at: Moment,
        take: &mut dyn FnMut(Step<'_>),
    ) {
        self.stdout_bytes += bytes.len() as u64 + u64::from(newline);
        if self.log.dialect() == Dialect::Terminal {
            return self.line(bytes, Part::Middle, newline, at, take);
        }
        if !part {
            // Parts whose last one never came are a line that the log has lost.
            self.long = LongLine::default();
            return self.line(bytes, Part::Whole, newline, at, take);
        }
        if self.long.told {
            let part = if last { Part::Last } else { Part::Middle };
            self.long.told = !last;
            return self.line(bytes, part, newline, at, take);
        }
        self.long.bytes.extend_from_slice(bytes);
        // A part is cut between characters, so it may be a little shorter than the limit.
        let too_long = self.long.bytes.len() + 4 > WHOLE_LIMIT;
        if last || too_long {
            let whole = std::mem::take(&mut self.long.bytes);
            self.long.told = !last;
            let part = if last { Part::Whole } else { Part::First };
            self.line(&whole, part, newline, at, take);
        }
    }

    fn line(
        &mut self,
        bytes: &[u8],
        part: Part,
        newline: bool,
        at: Moment,
        take: &mut dyn FnMut(Step<'_>),
    ) {
        let line = Line { bytes, offset: 0, part, newline };
        let scan = if part == Part::Whole { self.memo.scan(bytes) } else { json::Scan::Text };
        self.decoder.line(&line, &scan, Depth::Skim, &mut self.kinds);
        if !newline {
            self.facts.saw_cut_line(&line, &scan);
        }
        if self.kinds.is_empty() {
            take(Step::Told { input: Input::Heard, at });
        }
        for kind in self.kinds.drain(..) {
            let native = self.decoder.last_type();
            take(Step::Told { input: Input::Event { kind: &kind, native }, at });
            self.facts.take(&kind);
        }
    }
}

/// What the monitor was told by a record that is there for this, or that says so beside what it
/// brought about.
fn told(record: &DecisionRecord, event: Option<&EventKind>) -> Option<Input<'static>> {
    match record {
        DecisionRecord::LimitsMoved(moved) => {
            let by = Duration::from_millis(moved.by_ms);
            match moved.cause? {
                Moved::Gap => Some(Input::Gap(by)),
                Moved::Suspension => Some(Input::Suspended(by)),
                Moved::Busy => None,
            }
        }
        DecisionRecord::HealthChanged(_) => match event {
            Some(EventKind::HealthChanged { to: Health::Ended, .. }) => Some(Input::AgentExited),
            _ => None,
        },
        DecisionRecord::MonitorTold(told) => match *told {
            MonitorTold::Backpressure { on } => Some(Input::Backpressure(on)),
            MonitorTold::Approval { on } => Some(Input::ApprovalPending(on)),
            MonitorTold::Resting { on } => Some(Input::Resting(on)),
            MonitorTold::Prompted => Some(Input::Prompted),
            MonitorTold::Heard => Some(Input::Heard),
            MonitorTold::SideChannel => Some(Input::SideChannel),
            MonitorTold::Witness { cpu_ms, window_ms, other_activity } => Some(Input::Witness {
                tree_cpu: Duration::from_millis(cpu_ms),
                window: Duration::from_millis(window_ms),
                other_activity,
            }),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_line_that_was_lost_are_not_joined_to_the_next() {
        let mut tape = Tape::default();
        let mut told = Vec::new();
        for line in [
            r#"{"msg":"raw_part","recv_ts":1,"raw_text":"{\"type\":\"assist"}"#,
            r#"{"msg":"raw_event","recv_ts":2,"raw":{"type":"thinking","subtype":"delta","text":"hm"}}"#,
            r#"{"msg":"raw_part","recv_ts":3,"last":true,"raw_text":"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}"}"#,
        ] {
            tape.record(&Record::read(line.as_bytes()), &mut |step| {
                if let Step::Told { input: Input::Event { native, .. }, .. } = step {
                    told.push(native.to_owned());
                }
            });
        }
        told.dedup();
        assert_eq!(told, ["thinking/delta", "system/init"]);
        assert!(tape.facts().session.is_some());
    }
}
