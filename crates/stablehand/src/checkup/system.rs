//! What the system gives us: adoption of orphans, pipes, descriptors, time, a search path.

use super::{CheckFinding, CheckLevel, Checkup};
use crate::clock::unix_now;
use nix::sys::resource::{Resource, getrlimit};
use std::ffi::OsStr;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// A run needs about twenty descriptors; below this it may not get them.
const NEEDED_FILES: u64 = 64;

/// Agents themselves open some hundreds.
const COMFORTABLE_FILES: u64 = 256;

/// What agents need who do not wait for their reader; see `docs/processes.md`.
#[cfg(target_os = "linux")]
const PIPE_BYTES: i32 = 1 << 20;

/// Checks the system.
pub(super) fn check(about: &Checkup) -> Vec<CheckFinding> {
    vec![orphans(), pipes(), files(), clock(&about.program), path(about.path.as_deref())]
}

#[cfg(target_os = "linux")]
fn orphans() -> CheckFinding {
    match nix::sys::prctl::get_child_subreaper() {
        Ok(_) => CheckFinding::ok("orphans", "the system lets the keeper adopt them"),
        Err(e) => {
            CheckFinding::new("orphans", CheckLevel::Broken, format!("they cannot be adopted: {e}"))
                .fix("a Linux kernel of version 3.4 or newer is needed, and prctl must be allowed")
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn orphans() -> CheckFinding {
    let text = "this system has no adoption of orphans; trees are ended with best effort";
    CheckFinding::new("orphans", CheckLevel::Note, text)
}

#[cfg(target_os = "linux")]
fn pipes() -> CheckFinding {
    use nix::fcntl::{FcntlArg, fcntl};
    let made = std::io::pipe();
    let size = made.ok().map(|(_reader, writer)| {
        let _refused = fcntl(&writer, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
        fcntl(&writer, FcntlArg::F_GETPIPE_SZ).unwrap_or(0)
    });
    judge_pipe(size)
}

#[cfg(target_os = "linux")]
fn judge_pipe(bytes: Option<i32>) -> CheckFinding {
    match bytes {
        None => CheckFinding::new("pipes", CheckLevel::Broken, "no pipe can be made")
            .fix("close programs, or raise the limit of descriptors (ulimit -n)"),
        Some(bytes) if bytes < PIPE_BYTES => {
            let text = format!("a pipe holds {} KiB, 1024 would be better", bytes >> 10);
            CheckFinding::new("pipes", CheckLevel::Warning, text).fix(
                "as root: sysctl fs.pipe-max-size=1048576, and fs.pipe-user-pages-soft=65536 where \
                 many runs go on at once; some agents lose output that their pipe cannot hold",
            )
        }
        Some(_) => CheckFinding::ok("pipes", "a pipe holds 1 MiB"),
    }
}

#[cfg(not(target_os = "linux"))]
fn pipes() -> CheckFinding {
    CheckFinding::new("pipes", CheckLevel::Note, "their size cannot be set on this system")
}

fn files() -> CheckFinding {
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, hard)) => judge_files(soft, hard),
        Err(e) => {
            CheckFinding::new("files", CheckLevel::Note, format!("the limit is unknown: {e}"))
        }
    }
}

fn judge_files(soft: u64, hard: u64) -> CheckFinding {
    let text = format!("{soft} may be open at once");
    let fix = format!("ulimit -n {}", hard.min(4096));
    match soft {
        ..NEEDED_FILES => CheckFinding::new("files", CheckLevel::Broken, text).fix(fix),
        NEEDED_FILES..COMFORTABLE_FILES => {
            CheckFinding::new("files", CheckLevel::Warning, text).fix(fix)
        }
        _ => CheckFinding::ok("files", text),
    }
}

/// A program cannot be newer than now.
fn clock(program: &Path) -> CheckFinding {
    let built = program.metadata().and_then(|meta| meta.modified()).ok();
    let built = built.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    judge_clock(unix_now().0, built.and_then(|since| i64::try_from(since.as_millis()).ok()))
}

fn judge_clock(now_ms: i64, built_ms: Option<i64>) -> CheckFinding {
    const DAY_MS: i64 = 86_400_000;
    let time = stablehand_core::time::UnixMillis(now_ms).rfc3339();
    match built_ms {
        Some(built) if now_ms.saturating_add(DAY_MS) < built => {
            let text = format!("it is said to be {time}, which is before this program was made");
            CheckFinding::new("clock", CheckLevel::Warning, text)
                .fix("set the clock (timedatectl set-ntp true); logins fail with a wrong one")
        }
        _ => CheckFinding::ok("clock", time),
    }
}

fn path(path: Option<&OsStr>) -> CheckFinding {
    match path {
        Some(path) => {
            let folders = std::env::split_paths(path).count();
            CheckFinding::ok("PATH", format!("{folders} folders are searched for agents"))
        }
        None => CheckFinding::new(
            "PATH",
            CheckLevel::Warning,
            "it is not set, so no agent can be found",
        )
        .fix("set it, or give --agent-bin"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_judged_by_what_runs_need() {
        let files = [20, 100, 1024].map(|soft| judge_files(soft, 1 << 20));
        assert_eq!(
            files.each_ref().map(|finding| finding.level),
            [CheckLevel::Broken, CheckLevel::Warning, CheckLevel::Ok]
        );
        assert_eq!(files[0].fix.as_deref(), Some("ulimit -n 4096"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_small_pipe_is_a_warning_and_none_is_broken() {
        let levels = [None, Some(4096), Some(PIPE_BYTES)].map(|size| judge_pipe(size).level);
        assert_eq!(levels, [CheckLevel::Broken, CheckLevel::Warning, CheckLevel::Ok]);
    }

    #[test]
    fn a_clock_that_is_before_our_own_making_is_wrong() {
        let made = 1_790_000_000_000;
        assert_eq!(judge_clock(0, Some(made)).level, CheckLevel::Warning);
        assert_eq!(judge_clock(made, Some(made)).level, CheckLevel::Ok);
        assert_eq!(judge_clock(0, None).level, CheckLevel::Ok);
    }
}
