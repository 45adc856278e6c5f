//! Process ids that are still good when they are read: an id with the time at which its process
//! began, because the kernel uses ids again.
//!
//! Everything comes from `/proc`; without it a process counts as gone.

use std::fs;

/// This process as a line of a pid file: its id and its start time.
pub fn own_line() -> String {
    let pid = nix::unistd::getpid().as_raw();
    format!("{pid} {}\n", state_and_start(pid).map_or(0, |(_, start)| start))
}

/// Whether a process is there and no zombie.
pub fn is_alive(pid: i32) -> bool {
    state_and_start(pid).is_some_and(|(state, _)| state != 'Z')
}

/// Fields 3 and 22 of `/proc/PID/stat`; the name in field 2 may hold anything, so we count from its
/// closing bracket.
pub fn state_and_start(pid: i32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}
