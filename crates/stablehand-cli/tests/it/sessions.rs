//! `stablehand sessions`: what is left of runs, shown, exported, followed and resumed.

mod export;
mod find;
mod imported;
mod ls;
mod prune;
mod resume;
mod search;
mod show;
mod stats;
mod tail;

use crate::support::bins;
use serde_json::{Value, json};
use stablehand_core::record::DecisionKind;
use stablehand_testkit::{Run, TestEnv};
use std::fs;
use std::path::{Path, PathBuf};

/// A token of the form that everybody knows, in two parts: this file is none that holds one.
fn token() -> String {
    ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].concat()
}

/// `stablehand sessions` with the test's folder of logs.
fn sessions<'e>(env: &'e TestEnv, words: &[&str]) -> Run<'e> {
    let folder = env.log_dir().display().to_string();
    env.stablehand("sessions").args(words.iter().copied()).args(["--log-dir", folder.as_str()])
}

/// A log that was written by hand: its records, one after the other.
struct Written {
    lines: Vec<String>,
    at: i64,
}

impl Written {
    fn new(dialect: &str) -> Written {
        let mut log = Written { lines: Vec::new(), at: 1_790_994_297_000 };
        log.decision(DecisionKind::LogOpened.name(), json!({ "v": 1, "dialect": dialect }));
        log
    }

    /// What follows is so much later.
    fn later(&mut self, ms: i64) -> &mut Written {
        self.at += ms;
        self
    }

    fn decision(&mut self, msg: &str, fields: Value) -> &mut Written {
        let mut record = json!({ "time": "2026-10-03T02:24:57.441Z", "level": "INFO", "msg": msg });
        record["ts"] = self.at.into();
        let Value::Object(fields) = fields else { panic!("fields are an object") };
        for (name, value) in fields {
            record[name] = value;
        }
        self.lines.push(record.to_string());
        self
    }

    fn spawned(&mut self, run: &str, agent: &str, more: Value) -> &mut Written {
        let mut fields = json!({
            "run": run, "agent": agent,
            "event": { "type": "process.spawned", "pid": 1, "argv": ["agent", "<b>"] },
        });
        let Value::Object(more) = more else { panic!("fields are an object") };
        for (name, value) in more {
            fields[name] = value;
        }
        self.decision("agent_spawned", fields)
    }

    fn ended(&mut self, outcome: &str) -> &mut Written {
        let event = json!({ "type": "session.ended", "end": outcome, "ended_by": "agent" });
        self.decision("run_ended", json!({ "outcome": outcome, "text": "over", "event": event }))
    }

    fn raw(&mut self, line: &Value) -> &mut Written {
        let record = format!(
            r#"{{"time":"2026-10-03T02:24:57.441Z","level":"DEBUG","msg":"raw_event","recv_ts":{},"raw":{line}}}"#,
            self.at
        );
        self.lines.push(record);
        self
    }

    /// The beginning of a session in Cursor's words.
    fn session(&mut self, id: &str, cwd: &Path) -> &mut Written {
        self.raw(
            &json!({ "type": "system", "subtype": "init", "session_id": id, "model": "Pony 2",
                         "cwd": cwd }),
        );
        self.decision("session_started", json!({ "session_id": id, "model": "Pony 2", "cwd": cwd }))
    }

    fn user(&mut self, text: &str) -> &mut Written {
        self.raw(&json!({ "type": "user", "message": { "role": "user",
                         "content": [{ "type": "text", "text": text }] } }))
    }

    fn says(&mut self, text: &str) -> &mut Written {
        self.raw(&json!({ "type": "assistant", "message": { "role": "assistant",
                         "content": [{ "type": "text", "text": text }] } }))
    }

    fn save(&self, env: &TestEnv, name: &str) -> PathBuf {
        // What nobody ran would not be judged as it is written here.
        env.damages_logs();
        fs::create_dir_all(env.log_dir()).unwrap();
        let path = env.log_dir().join(name);
        fs::write(&path, self.lines.join("\n") + "\n").unwrap();
        path
    }
}

/// An empty place.
fn place() -> TestEnv {
    TestEnv::new(bins())
}
