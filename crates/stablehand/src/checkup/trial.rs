//! The keeper, tried: the demo agent is run through it, leaves a process behind on purpose, and
//! that process must be gone.

use super::{CheckFinding, CheckLevel, Checkup};
use crate::agent::{Agent, PlanRequest};
use crate::error_chain;
use crate::manage::native::{self, Enough, Finished};
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::Value;
use stablehand_core::time::human;
use std::time::{Duration, Instant};

/// The scene takes a second; a busy machine may need some more.
const LIMIT: Duration = Duration::from_secs(20);

/// The prompt for a scene that leaves a server running.
const PROMPT: &[u8] = b"leave an orphan, please";

/// Checks the keeper and the cgroup.
pub(super) fn check(about: &Checkup) -> Vec<CheckFinding> {
    let began = Instant::now();
    let plan = Agent::built_in()
        .and_then(|demo| demo.plan(about.program.clone(), &PlanRequest::default()).ok());
    let Some(plan) = plan else {
        return vec![CheckFinding::new(
            "keeper",
            CheckLevel::Broken,
            "there is no demo agent to try it with",
        )];
    };
    match native::run(&about.keeper, &plan.launch, PROMPT, LIMIT, Enough::Exit) {
        Ok(finished) => vec![keeper(&finished, began.elapsed()), cgroup(&finished)],
        Err(error) => {
            let text = format!("a trial run of the demo agent failed: {}", error_chain(&error));
            let fix = "see that our own program can be executed where it is, and that processes \
                       can be started at all (ulimit -u)";
            vec![CheckFinding::new("keeper", CheckLevel::Broken, text).fix(fix)]
        }
    }
}

fn keeper(finished: &Finished, took: Duration) -> CheckFinding {
    if !has_result(&finished.output.stdout) {
        return CheckFinding::new("keeper", CheckLevel::Broken, "the demo agent gave no result")
            .fix("run `stablehand run --agent demo orphan` to see why");
    }
    let alive = |pid: u32| {
        i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH))
    };
    let left = finished.leaked.iter().any(|row| alive(row.pid)) || !finished.survivors.is_empty();
    let took = human(took);
    match (left, finished.leaked.len()) {
        (true, _) => {
            CheckFinding::new("keeper", CheckLevel::Broken, "a process outlived the trial run")
                .fix("stop it by hand; runs may leave processes behind on this system")
        }
        (false, 0) => CheckFinding::new(
            "keeper",
            CheckLevel::Note,
            format!("the demo agent ran in {took}; no orphan was made, so none could be caught"),
        ),
        (false, n) => {
            let what = if n == 1 { "an orphan" } else { "orphans" };
            let text = format!("the demo agent ran in {took} and left {what}, which is gone");
            CheckFinding::ok("keeper", text)
        }
    }
}

fn cgroup(finished: &Finished) -> CheckFinding {
    match &finished.cgroup {
        Some(_) => {
            CheckFinding::ok("cgroup", "version 2 is delegated; a tree can be killed at once")
        }
        None => CheckFinding::new(
            "cgroup",
            CheckLevel::Note,
            "version 2 is not delegated to us; trees are ended process by process, which works too",
        )
        .fix("nothing needed; `systemd-run --user --scope -p Delegate=yes` would give us one"),
    }
}

/// Whether the stream has a result that is no error.
fn has_result(stdout: &[u8]) -> bool {
    stdout.split(|byte| *byte == b'\n').any(|line| {
        serde_json::from_slice::<Value>(line).is_ok_and(|line| {
            line.get("type").and_then(Value::as_str) == Some("result")
                && line.get("is_error").and_then(Value::as_bool) == Some(false)
        })
    })
}
