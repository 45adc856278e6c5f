//! Reads the process table of Linux from `/proc/*/stat`.
//!
//! Only parsing and reading; the walk over the result is in `tree.rs`.

use super::{NAME_BYTES, Process};
use nix::unistd::{SysconfVar, sysconf};
use std::fs::File;
use std::io::Read;

/// Longest `stat` line that is read: 52 numbers of at most 20 digits and a name of at most 64 bytes.
const STAT_BYTES: usize = 2048;

/// Every process that can be seen. Empty where `/proc` is not mounted.
pub(super) fn processes() -> Vec<Process> {
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ticks = ticks_per_second();
    folder
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| read(pid, ticks))
        .collect()
}

/// When process `pid` started, or nothing if there is no such process.
pub(super) fn started(pid: u32) -> Option<u64> {
    read(pid, 1).map(|process| process.started)
}

fn read(pid: u32, ticks: u64) -> Option<Process> {
    let mut buffer = [0_u8; STAT_BYTES];
    let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
    // The kernel gives the whole line to one read that is large enough.
    let len = file.read(&mut buffer).ok()?;
    parse(buffer.get(..len)?, ticks)
}

/// So much of a command line is reported.
const COMMAND_BYTES: usize = 512;

/// The command line of process `pid`, its arguments with spaces between them, cut where it is long.
pub(super) fn command(pid: u32) -> Option<String> {
    let mut buffer = [0_u8; COMMAND_BYTES];
    let mut file = File::open(format!("/proc/{pid}/cmdline")).ok()?;
    let len = file.read(&mut buffer).ok()?;
    let line = String::from_utf8_lossy(buffer.get(..len)?).replace('\0', " ");
    let line = line.trim_end();
    (!line.is_empty()).then(|| line.to_owned())
}

fn ticks_per_second() -> u64 {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    ticks.and_then(|ticks| u64::try_from(ticks).ok()).filter(|ticks| *ticks > 0).unwrap_or(100)
}

/// Parses one `stat` line.
///
/// The name stands in parentheses and may itself hold parentheses, spaces and newlines; what
/// follows it never holds a closing one, so the last one ends the name.
fn parse(line: &[u8], ticks: u64) -> Option<Process> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let pid = number(line.get(..open)?.trim_ascii())?;
    let mut fields =
        line.get(close + 1..)?.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());

    let state = *fields.next()?.first()?;
    let parent = number(fields.next()?)?;
    let group = number(fields.next()?)?;
    let session = number(fields.next()?)?;
    // Skipped: tty_nr tpgid flags minflt cminflt majflt cmajflt.
    let mut times = fields.by_ref().skip(7);
    let mut used = 0_u64;
    for _ in ["utime", "stime", "cutime", "cstime"] {
        used = used.saturating_add(number(times.next()?)?);
    }
    // Skipped: priority nice num_threads itrealvalue.
    let started = number(fields.nth(4)?)?;

    let mut process = Process {
        pid: u32::try_from(pid).ok()?,
        ppid: u32::try_from(parent).ok()?,
        pgid: u32::try_from(group).ok()?,
        sid: u32::try_from(session).ok()?,
        state,
        cpu_ms: used.saturating_mul(1000) / ticks.max(1),
        started,
        name: [0; NAME_BYTES],
        name_len: 0,
    };
    process.set_name(line.get(open + 1..close)?);
    Some(process)
}

fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str = "S 10 20 30 0 -1 4194304 1 2 3 4 150 50 7 3 20 0 1 0 98765 1000 200\n";

    fn parse_named(name: &str) -> Process {
        parse(format!("42 ({name}) {REST}").as_bytes(), 100).unwrap()
    }

    #[test]
    fn reads_every_field_that_we_use() {
        let process = parse_named("sleep");
        assert_eq!((process.pid, process.ppid, process.pgid, process.sid), (42, 10, 20, 30));
        assert_eq!((process.state, process.cpu_ms, process.started), (b'S', 2100, 98765));
        assert_eq!(process.row().name, "sleep");
    }

    #[test]
    fn takes_any_name() {
        for name in ["a b", ") R 1 1 1 (", "((", "))", "", "line\nbreak", "42 (x) S 9"] {
            let process = parse_named(name);
            assert_eq!(process.row().name, name);
            assert_eq!((process.ppid, process.started), (10, 98765));
        }
    }

    #[test]
    fn keeps_names_that_are_not_text_or_too_long() {
        let mut line = b"42 (\xff\xfe) ".to_vec();
        line.extend_from_slice(REST.as_bytes());
        assert_eq!(parse(&line, 100).unwrap().row().name, "\u{fffd}\u{fffd}");
        let long = "x".repeat(100);
        assert_eq!(parse_named(&long).row().name.len(), NAME_BYTES);
    }

    #[test]
    fn refuses_what_is_not_a_stat_line() {
        for line in ["", "42", "42 (x", "x (y) S 1", "42 (x) S 1 2 3", ")(", "42 (x) "] {
            assert!(parse(line.as_bytes(), 100).is_none(), "{line:?}");
        }
    }

    #[test]
    fn sees_this_process() {
        let me = std::process::id();
        let found = processes().into_iter().find(|process| process.pid == me).unwrap();
        assert_eq!(started(me), Some(found.started));
        assert!(found.is_alive());
    }
}
