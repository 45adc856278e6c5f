//! The keeper with real processes: what the agent is given, what the keeper reports, and that
//! nothing is left whoever dies first.
//!
//! Linux only, where the keeper promises all of this. Every test has its own limit in time, and
//! every process that it starts ends by itself after half a minute.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stopped")]

#[path = "keeper/kill.rs"]
mod kill;
#[path = "keeper/launch.rs"]
mod launch;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand::keeper::{AgentPipes, Keeper, KeeperProgram, Launch, Report, Transport};
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const KEEPER: &str = env!("CARGO_BIN_EXE_keeper-for-tests");
const HOSTILE: &str = env!("CARGO_BIN_EXE_hostile-tree");

/// Longest wait for anything that should happen at once; generous, because the machine may be busy.
const SOON: Duration = Duration::from_secs(10);

fn keeper_program() -> KeeperProgram {
    KeeperProgram { program: PathBuf::from(KEEPER), args: vec!["__keeper".into()] }
}

/// The keeper in a place where no cgroup can be seen, so that its own loop has to do all the work.
/// Where we may not make such a place, we may as a rule not make cgroups either.
fn keeper_without_cgroup() -> KeeperProgram {
    let hide = "while read -r _ _ _ _ point rest; do case $rest in *' - cgroup2 '*) \
                umount -l \"$point\";; esac; done </proc/self/mountinfo; exec \"$0\" __keeper <&3";
    let may_hide = std::process::Command::new("unshare")
        .args(["-m", "true"])
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !may_hide {
        return keeper_program();
    }
    let hide = format!("exec 3<&0 </dev/null; {hide}");
    let args = ["-m", "sh", "-c", &hide, KEEPER];
    KeeperProgram { program: PathBuf::from("unshare"), args: args.map(OsString::from).to_vec() }
}

fn launch<A: Into<OsString>>(program: &str, args: impl IntoIterator<Item = A>) -> Launch {
    Launch {
        program: PathBuf::from(program),
        args: args.into_iter().map(Into::into).collect(),
        env: Vec::new(),
        cwd: None,
        transport: Transport::Pipe,
        release: None,
    }
}

fn sh(script: &str) -> Launch {
    launch("/bin/sh", ["-c", script])
}

fn start(launch: &Launch) -> (Keeper, AgentPipes) {
    Keeper::start(&keeper_program(), launch).unwrap()
}

fn wait_readable(fd: impl AsFd, deadline: Instant) -> bool {
    let rest = deadline.saturating_duration_since(Instant::now());
    let timeout = PollTimeout::try_from(rest).unwrap();
    poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLIN)], timeout).unwrap() > 0
}

/// The next report, or a failed test.
fn report(keeper: &mut Keeper) -> Report {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(report) = keeper.next_report() {
            return report;
        }
        assert!(wait_readable(keeper.fd(), deadline), "no report in time");
    }
}

/// Everything up to the pipe's end, or up to a newline if only a `line` is wanted.
fn read(pipe: &OwnedFd, line: bool) -> String {
    let deadline = Instant::now() + SOON;
    let mut text = Vec::new();
    loop {
        assert!(wait_readable(pipe, deadline), "got only {:?}", String::from_utf8_lossy(&text));
        let mut chunk = [0_u8; 4096];
        let len = nix::unistd::read(pipe, &mut chunk).unwrap();
        text.extend_from_slice(&chunk[..len]);
        if len == 0 || (line && text.ends_with(b"\n")) {
            return String::from_utf8(text).unwrap();
        }
    }
}

fn read_all(pipe: &OwnedFd) -> String {
    read(pipe, false)
}

fn read_line(pipe: &OwnedFd) -> String {
    read(pipe, true)
}

/// The pids that the members of a family have written, with their kinds.
fn members(folder: &Path) -> Vec<(String, u32)> {
    let mut members: Vec<(String, u32)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let pid = std::fs::read_to_string(entry.path()).unwrap().parse().unwrap();
            (entry.file_name().into_string().unwrap(), pid)
        })
        .collect();
    members.sort();
    members
}

/// Whether a process runs; one that has ended and waits to be reaped does not.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| {
        rest.split_whitespace().next().is_some_and(|state| !matches!(state, "Z" | "X"))
    })
}

fn alive(members: &[(String, u32)]) -> Vec<&str> {
    members.iter().filter(|(_, pid)| is_alive(*pid)).map(|(kind, _)| kind.as_str()).collect()
}

/// Waits until `done`, at most for `limit`.
fn eventually(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !done() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
