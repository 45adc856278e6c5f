//! Every cause from a small log that has just what it rests on, and good runs that nobody accuses.
//!
//! Logs of real runs are in the tests of the command line; here is what takes hours, a broken
//! machine or bad luck to happen.

mod cases;
mod fold;

use super::{CauseKind, PostMortem, Report, Standing, Sure, Which};
use serde_json::{Value, json};
use stablehand_core::record::{DecisionKind, Record};

/// A log as it is being written down, a second a record.
struct Log {
    lines: Vec<String>,
    at: i64,
}

const START: i64 = 1_790_994_297_000;

impl Log {
    fn new() -> Log {
        let mut log = Log { lines: Vec::new(), at: START };
        let header = json!({ "v": 1, "program": "stablehand", "dialect": "cursor" });
        log.decide(DecisionKind::LogOpened.name(), header);
        log.spawned("r1")
    }

    /// A session that has begun, and a model that was asked.
    fn begun() -> Log {
        Log::new().init("Some Model").raw(json!({
            "type": "user", "message": { "role": "user", "content": [{ "type": "text", "text": "go" }] }
        }))
    }

    fn spawned(mut self, run: &str) -> Log {
        self.decide(
            "agent_spawned",
            json!({
                "run": run, "agent": "pony", "pid": 100, "keeper_pid": 99, "argv": ["pony"],
                "event": { "type": "process.spawned", "pid": 100, "argv": ["pony"] }
            }),
        );
        self
    }

    fn init(self, model: &str) -> Log {
        self.raw(json!({
            "type": "system", "subtype": "init", "session_id": "s-1", "model": model, "cwd": "/srv"
        }))
    }

    fn tick(&mut self) -> i64 {
        self.at += 1000;
        self.at
    }

    fn after(mut self, ms: i64) -> Log {
        self.at += ms;
        self
    }

    fn decide(&mut self, msg: &str, mut fields: Value) {
        fields["msg"] = msg.into();
        fields["ts"] = self.tick().into();
        self.lines.push(fields.to_string());
    }

    fn note(mut self, msg: &str, text: &str) -> Log {
        self.decide(msg, json!({ "text": text }));
        self
    }

    fn raw(mut self, line: Value) -> Log {
        let mut record = json!({ "msg": "raw_event", "recv_ts": self.tick() });
        record["raw"] = line;
        self.lines.push(record.to_string());
        self
    }

    fn text(mut self, text: &str) -> Log {
        let at = self.tick();
        self.lines.push(json!({ "msg": "raw_event", "recv_ts": at, "raw_text": text }).to_string());
        self
    }

    fn stderr(mut self, text: &str) -> Log {
        let at = self.tick();
        self.lines.push(json!({ "msg": "stderr", "recv_ts": at, "line": text }).to_string());
        self
    }

    fn line(mut self, line: &str) -> Log {
        self.lines.push(line.to_owned());
        self
    }

    fn says(self, text: &str) -> Log {
        self.raw(json!({
            "type": "assistant", "session_id": "s-1",
            "message": { "role": "assistant", "content": [{ "type": "text", "text": text }] }
        }))
    }

    fn shell(self, id: &str, command: &str) -> Log {
        self.raw(json!({
            "type": "tool_call", "subtype": "started", "call_id": id, "session_id": "s-1",
            "tool_call": { "shellToolCall": { "args": { "command": command } } }
        }))
    }

    fn shell_done(self, id: &str, command: &str) -> Log {
        self.raw(json!({
            "type": "tool_call", "subtype": "completed", "call_id": id, "session_id": "s-1",
            "tool_call": { "shellToolCall": {
                "args": { "command": command }, "result": { "success": { "exitCode": 0 } }
            } }
        }))
    }

    fn shell_printed(self, id: &str, command: &str, output: &str) -> Log {
        self.raw(json!({
            "type": "tool_call", "subtype": "completed", "call_id": id, "session_id": "s-1",
            "tool_call": { "shellToolCall": {
                "args": { "command": command },
                "result": { "success": { "exitCode": 0, "stdout": output } }
            } }
        }))
    }

    fn result(self) -> Log {
        self.raw(json!({
            "type": "result", "subtype": "success", "is_error": false, "result": "done",
            "session_id": "s-1"
        }))
    }

    fn failed(self, message: &str) -> Log {
        self.raw(json!({
            "type": "result", "subtype": "error", "is_error": true, "result": message,
            "session_id": "s-1"
        }))
    }

    fn verdict(mut self, kind: &str, evidence: Value) -> Log {
        let whole = with(
            json!({
                "verdict": kind, "limit_ms": 300_000, "silence_ms": 301_000, "last_events": [],
                "open_tools": [], "extensions": 0, "cpu_ms": 0, "cpu_window_ms": 1000,
                "pipe_unread": 0, "processes": [process(100, "pony", 'S')]
            }),
            evidence,
        );
        let why = format!("hang detected: {kind}");
        self.decide(
            "hang_detected",
            json!({ "verdict": kind, "text": why, "event": {
                "type": "health.changed", "from": "working", "to": "stalled", "why": why,
                "evidence": whole
            } }),
        );
        self
    }

    fn exited(self, code: i32) -> Log {
        self.gone(json!({ "exit_code": code, "signal": null }))
    }

    fn killed_by(self, signal: i32) -> Log {
        self.gone(json!({ "exit_code": null, "signal": signal }))
    }

    fn gone(mut self, how: Value) -> Log {
        let fields = with(json!({ "forced": false, "leaked": [], "survivors": [] }), how);
        self.decide("agent_exited", fields);
        self
    }

    fn ended(self, outcome: &str) -> Log {
        self.ended_with(outcome, json!({}))
    }

    fn ended_with(mut self, outcome: &str, more: Value) -> Log {
        let fields = with(
            json!({
                "outcome": outcome, "ended_by": "agent", "exit_code": 1, "elapsed_ms": 5000,
                "stdout_bytes": 1234, "text": format!("it ended: {outcome}")
            }),
            more,
        );
        self.decide("run_ended", fields);
        self
    }

    /// As a run ends that a verdict has stopped.
    fn hung(self, kind: &str, evidence: Value) -> Log {
        self.verdict(kind, evidence)
            .gone(json!({ "signal": 2, "forced": true }))
            .ended_with("hung", json!({ "verdict": kind, "exit_code": 2 }))
    }

    fn read(&self, which: Which) -> Option<Report> {
        let mut post_mortem = PostMortem::of(which);
        for line in &self.lines {
            post_mortem.record(&Record::read(line.as_bytes()));
        }
        post_mortem.report()
    }

    fn report(&self) -> Report {
        self.read(Which::Troubled).expect("a run")
    }
}

/// The fields, and more of them instead.
fn with(mut fields: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut fields, more) {
        fields.extend(more);
    }
    fields
}

fn process(pid: u32, name: &str, state: char) -> Value {
    json!({
        "pid": pid, "ppid": 99, "pgid": 100, "sid": 99, "state": state, "cpu_ms": 10, "name": name
    })
}

fn open_tool(command: &str, class: &str) -> Value {
    json!({
        "call_id": "c1", "command": command, "class": class, "elapsed_ms": 601_000,
        "timeout_ms": null, "limit_ms": 600_000
    })
}

/// The causes and remarks of a report, without their words.
fn kinds(report: &Report) -> (Vec<(CauseKind, Sure)>, Vec<CauseKind>) {
    let causes = report.causes.iter().map(|cause| (cause.cause, cause.sure)).collect();
    (causes, report.remarks.iter().map(|remark| remark.cause).collect())
}

/// The agent tells that it tries again.
fn retry(attempt: u64) -> Value {
    json!({ "type": "retry", "subtype": "starting", "attempt": attempt })
}
