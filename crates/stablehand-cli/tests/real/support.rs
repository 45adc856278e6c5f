//! What the modules share: a test for each program, and what a run told.

use serde_json::Value;
use stablehand_testkit::real::{FOLDER_VARIABLE, Real, RealAgent};
use stablehand_testkit::{Bins, Finished, Run, Running};
use std::time::{Duration, Instant};

/// One test for each program and each case, so that the runner shows and spreads them: what every
/// agent that we run must do.
macro_rules! for_all_agents {
    ($($case:ident),* $(,)?) => {
        crate::support::for_each_of!(
            [
                claude Claude, codex Codex, gemini Gemini, opencode OpenCode, copilot Copilot,
                qwen Qwen, grok Grok
            ]
            $($case),*
        );
    };
}
pub(crate) use for_all_agents;

/// The same for the three programs that start soon, where a fourth would show nothing new.
macro_rules! for_quick_agents {
    ($($case:ident),* $(,)?) => {
        crate::support::for_each_of!([claude Claude, codex Codex, gemini Gemini] $($case),*);
    };
}
pub(crate) use for_quick_agents;

/// The same for the four programs that take part in most cases: more would take too long.
macro_rules! for_main_agents {
    ($($case:ident),* $(,)?) => {
        crate::support::for_each_of!(
            [claude Claude, codex Codex, gemini Gemini, opencode OpenCode] $($case),*
        );
    };
}
pub(crate) use for_main_agents;

/// The same for some of the programs.
macro_rules! for_each_of {
    ($agents:tt $($case:ident),* $(,)?) => {
        $(crate::support::for_each_of!(@case $case $agents);)*
    };
    (@case $case:ident [$($name:ident $agent:ident),*]) => {
        mod $case {
            use crate::support::with;
            use stablehand_testkit::real::RealAgent;

            $(#[test]
            fn $name() {
                with(RealAgent::$agent, super::$case);
            })*
        }
    };
}
pub(crate) use for_each_of;

/// Plays a case with a program, and proves that nobody is left.
pub(crate) fn with(agent: RealAgent, case: fn(&Real)) {
    let bins = Bins::new(env!("CARGO_BIN_EXE_cursor-wrap"), env!("CARGO_BIN_EXE_stablehand"));
    let Some(real) = Real::prepare(agent, bins) else {
        eprintln!("SKIPPED: {FOLDER_VARIABLE} names no folder of programs: use tools/real-agents");
        return;
    };
    case(&real);
    real.assert_nobody_left();
}

/// Starts the scene with the long command and waits until that command runs. The stream does not say
/// so in every case: OpenCode speaks of a tool only when it has ended.
pub(crate) fn in_a_tool<'r>(real: &'r Real, run: Run<'r>) -> Running<'r> {
    let mut running = run.args(["Run it."]).start();
    let since = Instant::now();
    let is_sleeper = |line: &String| line.trim_end().ends_with(" -c import time; time.sleep(300)");
    while !real.living().values().any(is_sleeper) {
        assert!(
            running.is_running() && since.elapsed() < Duration::from_mins(1),
            "no long command among {:#?}\n{}",
            real.living(),
            real.env.log_tail()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    running
}

/// The events of a run.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) finished: Finished,
    pub(crate) events: Vec<Value>,
}

/// Runs to the end with events on standard output.
#[track_caller]
pub(crate) fn told(run: Run<'_>) -> Told {
    Told::from(run.flag("--output-format", "events").finish())
}

impl From<Finished> for Told {
    #[track_caller]
    fn from(finished: Finished) -> Told {
        let events = finished.stdout_json().iter().map(|line| line["event"].clone()).collect();
        Told { finished, events }
    }
}

impl Told {
    /// Fails unless the run succeeded, by its exit code and by its events.
    #[track_caller]
    pub(crate) fn assert_success(&self) -> &Self {
        self.finished.assert_code(0);
        assert_eq!(self.one("turn.ended")["end"]["kind"], "done");
        assert_eq!(self.events.last().unwrap()["end"], "success");
        assert_eq!(self.all("unrecognized"), Vec::<&Value>::new());
        self
    }

    pub(crate) fn all(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    #[track_caller]
    pub(crate) fn one(&self, kind: &str) -> &Value {
        let found = self.all(kind);
        assert_eq!(found.len(), 1, "events `{kind}` in {:#?}", self.events);
        found[0]
    }

    /// The agent's id of the session.
    #[track_caller]
    pub(crate) fn session(&self) -> String {
        self.one("session.started")["native_id"].as_str().unwrap().to_owned()
    }

    /// The whole messages of the agent.
    pub(crate) fn messages(&self) -> Vec<&str> {
        let items = self.all("item.completed").into_iter().map(|event| &event["item"]);
        items
            .filter(|item| item["kind"] == "message")
            .filter_map(|item| item["text"].as_str())
            .collect()
    }

    /// The tool calls that were completed. Each must have been started before, by the same id.
    #[track_caller]
    pub(crate) fn tools(&self) -> Vec<&Value> {
        let is_tool = |event: &&Value| event["item"]["kind"] == "tool";
        let started: Vec<&Value> = self.all("item.started").into_iter().filter(is_tool).collect();
        let completed: Vec<&Value> = self
            .all("item.completed")
            .into_iter()
            .filter(is_tool)
            .map(|event| &event["item"])
            .collect();
        for tool in &completed {
            let pairs = started.iter().filter(|event| {
                event["item"]["id"] == tool["id"] && event["item"]["call"] == tool["call"]
            });
            assert_eq!(pairs.count(), 1, "a start of {tool} among {started:#?}");
        }
        assert_eq!(started.len(), completed.len(), "{:#?}", self.events);
        completed
    }
}

/// The command of a tool call.
pub(crate) fn command(tool: &Value) -> &str {
    tool["input"]["command"].as_str().unwrap_or_default()
}
