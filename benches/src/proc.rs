//! What the system knows about a process: processor time and memory.

use crate::Outcome;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Waits for a child, and tells the processor time of it and of everybody whom it has waited for.
///
/// The difference of two looks at all our children's time is that of the one that was reaped in
/// between: the same figure as `wait4` gives, without its unsafe call. Not for use by two threads.
pub fn wait_with_cpu(child: &mut Child) -> Outcome<(ExitStatus, Duration)> {
    let before = children()?;
    let status = child.wait()?;
    Ok((status, children()?.saturating_sub(before)))
}

fn children() -> Outcome<Duration> {
    used(UsageWho::RUSAGE_CHILDREN)
}

/// Our own processor time, all threads.
pub fn own_cpu() -> Outcome<Duration> {
    used(UsageWho::RUSAGE_SELF)
}

fn used(who: UsageWho) -> Outcome<Duration> {
    let usage = getrusage(who)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(micros)?))
}

/// Processor time of a living process, all its living threads, to the nanosecond. (The figures in
/// `stat` come in hundredths of a second, too coarse for something that idles.)
pub fn cpu_of(pid: u32) -> Outcome<Duration> {
    let mut total = Duration::ZERO;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let nanos = text.split_whitespace().next().unwrap_or("0").parse()?;
        total += Duration::from_nanos(nanos);
    }
    Ok(total)
}

/// A size from `/proc/PID/status`, such as `VmHWM`, in KiB.
pub fn memory_kib(pid: u32, field: &str) -> Outcome<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let value = line.and_then(|line| line.split_whitespace().next());
    Ok(value.ok_or_else(|| format!("no `{field}` for process {pid}"))?.parse()?)
}

/// The children of a process.
pub fn children_of(pid: u32) -> Outcome<Vec<u32>> {
    // A session starts its processes from a thread of its own.
    let mut found = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("children"))?;
        found.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    Ok(found)
}

/// The one-minute load average, for the head of a table.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// Nanoseconds of the monotonic clock, which all processes share.
pub fn now_ns() -> Outcome<u64> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
    Ok(u64::try_from(now.num_nanoseconds())?)
}
