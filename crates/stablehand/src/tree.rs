//! The process table, read on demand: who descends from whom, and how much processor time they used.
//!
//! This file owns the snapshot and the walk over it; `tree/linux.rs` and `tree/other.rs` own how a
//! snapshot is read. Nothing here kills by policy: the keeper decides whom to signal, and this
//! module only makes sure that the signal reaches the process that was seen, not a later one that
//! got the same number.
//!
//! A snapshot is never exact, because processes come and go while it is taken. Whoever needs proof
//! that nothing is left must ask `waitpid`, as the keeper does.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use other as platform;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use stablehand_core::event::ProcessRow;

/// Every process below `root_pid`, without `root_pid` itself, parents before their children.
///
/// Processes that have ended but were not reaped yet are listed too, with state `Z`.
pub fn descendants(root_pid: u32) -> Vec<ProcessRow> {
    Snapshot::take().descendants(root_pid).into_iter().map(Process::row).collect()
}

/// Processor time of all `rows` together, that of their reaped children included.
///
/// Counting reaped children keeps the sum growing when a shell runs many short commands. Only the
/// difference between two looks means something.
pub fn cpu_ms(rows: &[ProcessRow]) -> u64 {
    rows.iter().fold(0, |sum, row| sum.saturating_add(row.cpu_ms))
}

/// Who is at work, or would be if the machine had a processor to spare: where everything is slow,
/// a share of processor time says little.
pub fn runnable(rows: &[ProcessRow]) -> Vec<u32> {
    rows.iter().filter(|row| row.state == 'R').map(|row| row.pid).collect()
}

/// Longest program name that is kept; the kernel itself cuts names at 15 bytes.
const NAME_BYTES: usize = 32;

/// One process at the time of the snapshot.
///
/// The name is stored in place, so that a snapshot of a busy machine is one allocation and the
/// keeper stays small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) ppid: u32,
    pub(crate) pgid: u32,
    pub(crate) sid: u32,
    pub(crate) state: u8,
    pub(crate) cpu_ms: u64,
    /// When it started, in the kernel's ticks: with the pid, this names one process for good.
    /// Zero where the platform does not tell.
    pub(crate) started: u64,
    name: [u8; NAME_BYTES],
    name_len: u8,
}

impl Process {
    /// Whether it has not ended yet. An unreaped process has.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Sends `signal`, unless the process is gone or its number belongs to another one by now.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Errno> {
        if self.started != 0 && platform::started(self.pid) != Some(self.started) {
            return Err(Errno::ESRCH);
        }
        kill(raw_pid(self.pid)?, signal)
    }

    /// The row that goes into reports and evidence.
    pub(crate) fn row(&self) -> ProcessRow {
        let name = self.name.get(..usize::from(self.name_len)).unwrap_or_default();
        ProcessRow {
            pid: self.pid,
            ppid: self.ppid,
            pgid: self.pgid,
            sid: self.sid,
            state: char::from(self.state),
            cpu_ms: self.cpu_ms,
            name: String::from_utf8_lossy(name).into_owned(),
            command: None,
        }
    }

    /// Returns its command line as far as it fits a report, where the platform tells it.
    pub(crate) fn command(&self) -> Option<String> {
        platform::command(self.pid)
    }

    fn set_name(&mut self, name: &[u8]) {
        let len = name.len().min(NAME_BYTES);
        for (slot, byte) in self.name.iter_mut().zip(name) {
            *slot = *byte;
        }
        self.name_len = len as u8;
    }
}

/// A pid as the system calls want it. Zero and numbers above `i32::MAX` are refused, because
/// `kill` would take them for a whole group or for everybody.
pub(crate) fn raw_pid(pid: u32) -> Result<Pid, Errno> {
    match i32::try_from(pid) {
        Ok(raw) if raw > 0 => Ok(Pid::from_raw(raw)),
        _ => Err(Errno::ESRCH),
    }
}

/// All processes that we could see, sorted by parent.
#[derive(Debug)]
pub(crate) struct Snapshot {
    by_parent: Vec<Process>,
}

impl Snapshot {
    /// Reads the process table.
    pub(crate) fn take() -> Snapshot {
        Snapshot::of(platform::processes())
    }

    fn of(mut processes: Vec<Process>) -> Snapshot {
        processes.sort_unstable_by_key(|process| (process.ppid, process.pid));
        Snapshot { by_parent: processes }
    }

    /// Everything below `root`, parents first.
    pub(crate) fn descendants(&self, root: u32) -> Vec<&Process> {
        let mut found: Vec<&Process> = Vec::new();
        // Numbers that were reused while the table was read can make a loop, so nobody is visited
        // twice.
        let mut seen = vec![false; self.by_parent.len()];
        let mut next = 0;
        let mut parent = root;
        loop {
            let first = self.by_parent.partition_point(|process| process.ppid < parent);
            let children = self.by_parent.iter().zip(seen.iter_mut()).skip(first);
            for (process, seen) in children.take_while(|(process, _)| process.ppid == parent) {
                if !*seen && process.pid != root {
                    *seen = true;
                    found.push(process);
                }
            }
            let Some(process) = found.get(next) else {
                return found;
            };
            parent = process.pid;
            next += 1;
        }
    }

    /// Whether `process` still seems to be there, on systems that do not tell start times.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn has_same(&self, process: &Process) -> bool {
        self.by_parent.iter().any(|other| {
            (other.pid, other.pgid, other.name) == (process.pid, process.pgid, process.name)
                && other.is_alive()
        })
    }

    /// Everything in session `sid`.
    pub(crate) fn session(&self, sid: u32) -> impl Iterator<Item = &Process> {
        self.by_parent.iter().filter(move |process| process.sid == sid)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn process(pid: u32, parent: u32) -> Process {
        Process {
            pid,
            ppid: parent,
            pgid: pid,
            sid: 1,
            state: b'S',
            cpu_ms: 10,
            started: 1,
            name: [0; NAME_BYTES],
            name_len: 0,
        }
    }

    fn pids(snapshot: &Snapshot, root: u32) -> Vec<u32> {
        snapshot.descendants(root).iter().map(|process| process.pid).collect()
    }

    #[test]
    fn walks_parents_before_children_and_leaves_others_alone() {
        let snapshot = Snapshot::of(vec![
            process(9, 7),
            process(7, 5),
            process(5, 1),
            process(6, 5),
            process(8, 1),
            process(10, 9),
        ]);
        assert_eq!(pids(&snapshot, 5), [6, 7, 9, 10]);
        assert_eq!(pids(&snapshot, 9), [10]);
        assert_eq!(pids(&snapshot, 10), [0_u32; 0]);
    }

    #[test]
    fn survives_a_loop_of_reused_numbers() {
        let snapshot = Snapshot::of(vec![process(5, 6), process(6, 5), process(7, 7)]);
        assert_eq!(pids(&snapshot, 5), [6]);
        assert_eq!(pids(&snapshot, 7), [0_u32; 0]);
    }

    #[test]
    fn never_signals_a_group_or_everybody_by_mistake() {
        assert!(raw_pid(0).is_err());
        assert!(raw_pid(u32::MAX).is_err());
        assert_eq!(raw_pid(7), Ok(Pid::from_raw(7)));
    }

    #[test]
    fn sums_processor_time_without_overflow() {
        let mut row = process(1, 0).row();
        assert_eq!(cpu_ms(&[row.clone(), row.clone()]), 20);
        row.cpu_ms = u64::MAX;
        assert_eq!(cpu_ms(&[row.clone(), row]), u64::MAX);
    }
}
