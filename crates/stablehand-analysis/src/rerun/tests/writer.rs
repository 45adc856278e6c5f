//! A driver of a few lines: it tells a monitor what happens and writes the log of it.

use stablehand_core::decode::{Decode, Depth, Dialect};
use stablehand_core::event::{EventKind, SessionEnd, VerdictKind};
use stablehand_core::facts::Facts;
use stablehand_core::id::RunId;
use stablehand_core::json;
use stablehand_core::line::{Line, Part};
use stablehand_core::monitor::{Action, Input, Limits, Monitor};
use stablehand_core::record::{
    AgentExited, BackgroundStopped, DecisionRecord, LimitsMoved, LivelockSuspected, LogOpened,
    MonitorStarted, MonitorTold, NoFields, ResultStands, RunEnded, RunStart, Stamp, Stream,
    ToolCallCompleted, ToolCallOpened, VerdictReached, VerdictWaiting, WaitEnded, push_decision,
    push_line,
};
use stablehand_core::time::{Moment, UnixMillis, millis};
use std::time::Duration;

pub(super) const BEGAN: i64 = 1_790_994_297_441;

/// Writes a log as the driver does.
pub(super) struct Writer {
    monitor: Monitor,
    decoder: Box<dyn Decode>,
    facts: Facts,
    log: Vec<u8>,
    bytes: u64,
    pub(super) verdict: Option<VerdictKind>,
    pub(super) overdue: bool,
    observe_only: bool,
    pub(super) now: Moment,
}

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn stamp(at: Moment) -> Stamp {
    Stamp::new(UnixMillis(BEGAN + i64::try_from(at.0.as_millis()).expect("a time")))
}

impl Writer {
    pub(super) fn new(limits: &Limits, observe_only: bool) -> Writer {
        let mut writer = Writer {
            monitor: Monitor::new(limits.clone(), Moment::START),
            decoder: Dialect::Cursor.decoder(),
            facts: Facts::default(),
            log: Vec::new(),
            bytes: 0,
            verdict: None,
            overdue: false,
            observe_only,
            now: Moment::START,
        };
        writer.decide(LogOpened::new(Dialect::Cursor));
        let (run, agent) = (RunId("r1".into()), "cursor".to_owned());
        let start = RunStart { run, agent, ..RunStart::default() };
        writer.decide(DecisionRecord::AgentSpawned(start));
        let limits = Some(Box::new(limits.clone()));
        writer.decide(MonitorStarted { limits, observe_only });
        writer
    }

    fn decide(&mut self, record: impl Into<DecisionRecord>) {
        push_decision(&mut self.log, &stamp(self.now), &record.into(), None);
    }

    pub(super) fn line(&mut self, text: &str) {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        let scan = json::scan(line.bytes);
        push_line(&mut self.log, &stamp(self.now), Stream::Stdout, &line, &scan);
        self.bytes += text.len() as u64 + 1;
        let mut events = Vec::new();
        self.decoder.line(&line, &scan, Depth::Skim, &mut events);
        let mut actions = Vec::new();
        if events.is_empty() {
            self.monitor.handle(Input::Heard, self.now, &mut actions);
        }
        for kind in &events {
            let native = self.decoder.last_type();
            self.monitor.handle(Input::Event { kind, native }, self.now, &mut actions);
            self.facts.take(kind);
        }
        self.act(actions);
    }

    pub(super) fn tell(&mut self, input: Input<'_>, told: Option<MonitorTold>) {
        if let Some(told) = told {
            self.decide(told);
        }
        if matches!(input, Input::Prompted) {
            self.facts.prompted();
        }
        let mut actions = Vec::new();
        self.monitor.handle(input, self.now, &mut actions);
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match &action {
                Action::Health { from, to, why } => {
                    let (from, to, why) = (*from, *to, why.clone());
                    let event = EventKind::HealthChanged { from, to, why, evidence: None };
                    let record = DecisionRecord::HealthChanged(NoFields {});
                    push_decision(&mut self.log, &stamp(self.now), &record, Some(&event));
                }
                Action::Waiting { silence, .. } => self.waits(millis(*silence)),
                Action::LimitsMoved { by, cause, .. } => {
                    let (by_ms, cause) = (millis(*by), Some(*cause));
                    self.decide(LimitsMoved { by_ms, cause, ..LimitsMoved::default() });
                }
                Action::AskWitness => self.decide(DecisionRecord::WitnessAsked(NoFields {})),
                Action::StopBackground { pids } => {
                    let pids = pids.clone();
                    self.decide(BackgroundStopped { pids, ..BackgroundStopped::default() });
                }
                Action::ToolOpened(tool) => {
                    let call_id = tool.call_id.clone();
                    self.decide(ToolCallOpened { call_id, ..ToolCallOpened::default() });
                    self.waits(0);
                }
                Action::ToolClosed { call, presumed, outcome, .. } => {
                    self.decide(ToolCallCompleted {
                        call_id: call.clone(),
                        elapsed_ms: 0,
                        presumed: *presumed,
                        outcome: outcome.clone(),
                    });
                }
                Action::SoftStop { verdict, .. } => self.reached(*verdict, true),
                Action::Verdict(judgement) => self.judged(judgement.kind),
                Action::ResultStands => {
                    let by = WaitEnded::Quiet.into();
                    self.decide(ResultStands { by, text: String::new() });
                }
                Action::ExitOverdue => {
                    self.overdue = true;
                    self.decide(DecisionRecord::ExitOverdue("overdue".into()));
                }
                Action::Livelock { period, rounds, .. } => {
                    let (period, rounds) = (*period as u64, *rounds);
                    let suspected = LivelockSuspected::default();
                    self.decide(LivelockSuspected { period, rounds, ..suspected });
                }
            }
        }
    }

    fn waits(&mut self, idle_silence_ms: u64) {
        self.decide(VerdictWaiting { idle_silence_ms, ..VerdictWaiting::default() });
    }

    fn reached(&mut self, kind: VerdictKind, soft: bool) {
        let verdict = Some(kind.into());
        let reached = VerdictReached { verdict, soft, ..VerdictReached::default() };
        self.decide(if kind.is_limit() {
            DecisionRecord::LimitReached(reached)
        } else {
            DecisionRecord::HangDetected(reached)
        });
    }

    fn judged(&mut self, kind: VerdictKind) {
        self.reached(kind, false);
        if self.observe_only {
            let verdict = Some(kind.into());
            let spared = VerdictReached { verdict, ..VerdictReached::default() };
            self.decide(DecisionRecord::WouldHaveKilled(spared));
            self.monitor.resume_after_verdict(self.now);
        } else {
            self.verdict = Some(kind);
        }
    }

    /// Time passes; ticks come a little late.
    pub(super) fn pass(&mut self, by: Duration, late: Duration) {
        let until = self.now.plus(by);
        for _ in 0..1000 {
            let due = self.monitor.deadline().map(|at| whole(at).plus(late));
            let Some(due) = due.filter(|at| *at <= until) else { break };
            self.now = self.now.max(due);
            self.tell(Input::Tick, None);
        }
        self.now = until;
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.tell(Input::AgentExited, None);
        let end = match self.verdict {
            Some(kind) if self.facts.end() != SessionEnd::Success => {
                if kind.is_limit() {
                    SessionEnd::LimitReached
                } else {
                    SessionEnd::Hung
                }
            }
            _ => self.facts.end(),
        };
        self.decide(AgentExited { exit_code: Some(0), ..AgentExited::default() });
        self.decide(RunEnded {
            outcome: Some(end.into()),
            session_id: self.facts.session.clone(),
            usage: self.facts.usage,
            stdout_bytes: Some(self.bytes),
            verdict: self.verdict.map(Into::into),
            ..RunEnded::default()
        });
        self.log
    }
}

/// Moments of the driver are whole milliseconds; one that a tick has to wait for is rounded up.
fn whole(at: Moment) -> Moment {
    Moment(ms(u64::try_from(at.0.as_nanos().div_ceil(1_000_000)).expect("a time")))
}

pub(super) const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m"}"#;
pub(super) const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s1","usage":{"inputTokens":7,"outputTokens":3}}"#;

pub(super) fn text(n: u64) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"word {n}"}}]}},"session_id":"s1","timestamp_ms":{n}}}"#
    )
}

pub(super) fn shell(call: u64, done: bool, timeout: Option<u64>) -> String {
    let subtype = if done { "completed" } else { "started" };
    let timeout = timeout.map(|ms| format!(r#","timeout":{ms}"#)).unwrap_or_default();
    let result =
        if done { r#","result":{"success":{"exitCode":0,"stdout":"ok","stderr":""}}"# } else { "" };
    format!(
        r#"{{"type":"tool_call","subtype":"{subtype}","call_id":"c{call}","tool_call":{{"shellToolCall":{{"args":{{"command":"make"{timeout}}}{result}}}}},"session_id":"s1"}}"#
    )
}
