//! Reads the process table by way of `ps`, on systems without Linux's `/proc`.
//!
//! Best effort: session ids and start times are not known here, so a number that is reused between
//! the look and the signal cannot be told apart, and a daemon that has been re-parented to the
//! system's first process is not found any more.

use super::{NAME_BYTES, Process};
use std::process::{Command, Stdio};

/// Every process that `ps` shows, except `ps` itself. Empty where it cannot be run.
pub(super) fn processes() -> Vec<Process> {
    let child = Command::new("/bin/ps")
        .args(["-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "state="])
        .args(["-o", "time=", "-o", "comm="])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        return Vec::new();
    };
    let own = child.id();
    let Ok(output) = child.wait_with_output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(parse).filter(|process| process.pid != own).collect()
}

/// Start times are not known here; see the module's doc.
pub(super) fn started(_pid: u32) -> Option<u64> {
    None
}

/// Command lines are not read here.
pub(super) fn command(_pid: u32) -> Option<String> {
    None
}

fn parse(line: &str) -> Option<Process> {
    let mut fields = line.split_whitespace();
    let mut process = Process {
        pid: fields.next()?.parse().ok()?,
        ppid: fields.next()?.parse().ok()?,
        pgid: fields.next()?.parse().ok()?,
        sid: 0,
        state: *fields.next()?.as_bytes().first()?,
        cpu_ms: time_ms(fields.next()?),
        started: 0,
        name: [0; NAME_BYTES],
        name_len: 0,
    };
    let command = fields.collect::<Vec<_>>().join(" ");
    let name = command.rsplit('/').next().unwrap_or(&command);
    process.set_name(name.as_bytes());
    Some(process)
}

/// `[[days-]hours:]minutes:seconds[.fraction]` in milliseconds; zero for anything else.
fn time_ms(text: &str) -> u64 {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let mut seconds = 0.0_f64;
    for part in clock.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().unwrap_or(0.0);
    }
    let days = days.parse::<u64>().unwrap_or(0);
    days.saturating_mul(86_400_000).saturating_add((seconds * 1000.0) as u64)
}
