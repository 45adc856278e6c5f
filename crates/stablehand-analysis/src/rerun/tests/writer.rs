//! A driver of a few lines: it tells a monitor what happens and writes the log of it.

use serde_json::{Value, json};
use stablehand_core::decode::{Decode, Depth, Dialect};
use stablehand_core::event::VerdictKind;
use stablehand_core::facts::Facts;
use stablehand_core::json;
use stablehand_core::line::{Line, Part};
use stablehand_core::monitor::{Action, Input, Limits, Monitor};
use stablehand_core::record::{Level, Stamp, Stream, push_decision, push_line};
use stablehand_core::time::{Moment, UnixMillis};
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
        writer.decide("log_opened", &json!({ "v": 1, "dialect": "cursor" }));
        writer.decide("agent_spawned", &json!({ "run": "r1", "agent": "cursor" }));
        let fields = json!({ "limits": limits, "observe_only": observe_only });
        writer.decide("monitor_started", &fields);
        writer
    }

    fn decide(&mut self, message: &str, fields: &Value) {
        push_decision(&mut self.log, &stamp(self.now), Level::Debug, message, fields, None);
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

    pub(super) fn tell(&mut self, input: Input<'_>, fields: Option<Value>) {
        if let Some(fields) = fields {
            self.decide("monitor_told", &fields);
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
                Action::Health { from, to, .. } => {
                    let event = json!({ "type": "health.changed", "from": from, "to": to });
                    self.decide("health_changed", &json!({ "event": event }));
                }
                Action::Waiting { silence, .. } => {
                    let silent = u64::try_from(silence.as_millis()).expect("a time");
                    self.decide("verdict_waiting", &json!({ "idle_silence_ms": silent }));
                }
                Action::LimitsMoved { by, cause, .. } => {
                    let by = u64::try_from(by.as_millis()).expect("a time");
                    self.decide("limits_moved", &json!({ "by_ms": by, "cause": cause }));
                }
                Action::AskWitness => self.decide("witness_asked", &json!({})),
                Action::StopBackground { pids } => {
                    self.decide("background_stopped", &json!({ "pids": pids }));
                }
                Action::ToolOpened(tool) => {
                    self.decide("tool_call_opened", &json!({ "call_id": tool.call_id }));
                    self.decide("verdict_waiting", &json!({ "idle_silence_ms": 0 }));
                }
                Action::ToolClosed { call, presumed, outcome, .. } => {
                    let fields =
                        json!({ "call_id": call, "presumed": presumed, "outcome": outcome });
                    self.decide("tool_call_completed", &fields);
                }
                Action::SoftStop { verdict, .. } => {
                    self.decide("limit_reached", &json!({ "verdict": verdict, "soft": true }));
                }
                Action::Verdict(judgement) => self.judged(judgement.kind),
                Action::ExitOverdue => {
                    self.overdue = true;
                    self.decide("exit_overdue", &json!({}));
                }
                Action::Livelock { period, rounds, .. } => {
                    let fields = json!({ "period": period, "rounds": rounds });
                    self.decide("livelock_suspected", &fields);
                }
            }
        }
    }

    fn judged(&mut self, kind: VerdictKind) {
        let message = if kind.is_limit() { "limit_reached" } else { "hang_detected" };
        self.decide(message, &json!({ "verdict": kind }));
        if self.observe_only {
            self.decide("would_have_killed", &json!({ "verdict": kind }));
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
            Some(kind) if self.facts.end() != stablehand_core::event::SessionEnd::Success => {
                json!(if kind.is_limit() { "limit_reached" } else { "hung" })
            }
            _ => json!(self.facts.end()),
        };
        self.decide("agent_exited", &json!({ "exit_code": 0 }));
        let fields = json!({
            "outcome": end,
            "session_id": self.facts.session,
            "usage": self.facts.usage,
            "stdout_bytes": self.bytes,
            "verdict": self.verdict,
        });
        self.decide("run_ended", &fields);
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
