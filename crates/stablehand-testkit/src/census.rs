//! Who is still running: the proof that a run left no process behind.
//!
//! Owns the search by two traces: the environment marker that every process of a test inherits, and
//! the process ids that the fake agent and its children note (a child that cleared its environment
//! has only that). A noted id counts only with the same start time, because the kernel uses ids
//! again. Without `/proc` only the noted ids are looked at.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
pub use stablehand_fake::pid::is_alive;

use stablehand_fake::pid::state_and_start;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The environment variable that marks every process of a test.
pub const MARKER: &str = "STABLEHAND_TEST";

/// How long a process may take to disappear after the run has ended.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The processes of a test that are alive, with their command lines. Zombies are not alive.
pub fn living(marker: &str, record: &Path) -> BTreeMap<i32, String> {
    let mut found = BTreeMap::new();
    for (pid, started) in noted(record) {
        let alive = match state_and_start(pid) {
            Some((state, now)) => state != 'Z' && (started == 0 || now == started),
            None => !Path::new("/proc/self").exists() && kill(Pid::from_raw(pid), None).is_ok(),
        };
        if alive {
            found.insert(pid, command_line(pid));
        }
    }
    let trace = format!("{MARKER}={marker}").into_bytes();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_ours = environment.split(|byte| *byte == 0).any(|variable| variable == trace);
        if is_ours && state_and_start(pid).is_some_and(|(state, _)| state != 'Z') {
            found.insert(pid, command_line(pid));
        }
    }
    found
}

/// Waits until nobody is left, at most [`PATIENCE`]; gives back who stayed.
pub fn wait_until_gone(marker: &str, record: &Path) -> BTreeMap<i32, String> {
    let start = Instant::now();
    loop {
        let left = living(marker, record);
        if left.is_empty() || start.elapsed() > PATIENCE {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends whatever is left, by process id, so that a failed test leaks nothing.
pub fn end_leftovers(marker: &str, record: &Path) {
    // A hopping child may move between the look and the kill; a few rounds catch it.
    for _ in 0..20 {
        let left = living(marker, record);
        if left.is_empty() {
            return;
        }
        for pid in left.into_keys() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Process id and start time from every `*.pid` file.
fn noted(record: &Path) -> Vec<(i32, u64)> {
    let files = fs::read_dir(record).into_iter().flatten().flatten();
    let pid_files = files.filter(|file| file.path().extension().is_some_and(|end| end == "pid"));
    let mut pids = Vec::new();
    for file in pid_files {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        pids.extend(text.lines().filter_map(|line| {
            let (pid, started) = line.split_once(' ')?;
            Some((pid.parse().ok()?, started.parse().ok()?))
        }));
    }
    pids
}

fn command_line(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
