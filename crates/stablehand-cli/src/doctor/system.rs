//! What the system gives us: adoption of orphans, pipes, descriptors, time, a terminal.

use super::{Finding, Level};
use crate::env::Env;
use nix::sys::resource::{Resource, getrlimit};
use stablehand::clock::unix_now;
use std::time::UNIX_EPOCH;

/// A run needs about twenty descriptors; below this it may not get them.
const NEEDED_FILES: u64 = 64;

/// Agents themselves open some hundreds.
const COMFORTABLE_FILES: u64 = 256;

/// What agents need who do not wait for their reader; see `docs/processes.md`.
#[cfg(target_os = "linux")]
const PIPE_BYTES: i32 = 1 << 20;

/// Findings about the system.
pub(super) fn look(env: &Env) -> Vec<Finding> {
    vec![orphans(), pipes(), files(), clock(env), terminal(env), path(env)]
}

#[cfg(target_os = "linux")]
fn orphans() -> Finding {
    match nix::sys::prctl::get_child_subreaper() {
        Ok(_) => Finding::ok("orphans", "the system lets the keeper adopt them"),
        Err(e) => Finding::new("orphans", Level::Broken, format!("they cannot be adopted: {e}"))
            .fix("a Linux kernel of version 3.4 or newer is needed, and prctl must be allowed"),
    }
}

#[cfg(not(target_os = "linux"))]
fn orphans() -> Finding {
    let text = "this system has no adoption of orphans; trees are ended with best effort";
    Finding::new("orphans", Level::Note, text)
}

#[cfg(target_os = "linux")]
fn pipes() -> Finding {
    use nix::fcntl::{FcntlArg, fcntl};
    let made = std::io::pipe();
    let size = made.ok().map(|(_reader, writer)| {
        let _refused = fcntl(&writer, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
        fcntl(&writer, FcntlArg::F_GETPIPE_SZ).unwrap_or(0)
    });
    judge_pipe(size)
}

#[cfg(target_os = "linux")]
fn judge_pipe(bytes: Option<i32>) -> Finding {
    match bytes {
        None => Finding::new("pipes", Level::Broken, "no pipe can be made")
            .fix("close programs, or raise the limit of descriptors (ulimit -n)"),
        Some(bytes) if bytes < PIPE_BYTES => {
            let text = format!("a pipe holds {} KiB, 1024 would be better", bytes >> 10);
            Finding::new("pipes", Level::Warning, text).fix(
                "as root: sysctl fs.pipe-max-size=1048576, and fs.pipe-user-pages-soft=65536 where \
                 many runs go on at once; some agents lose output that their pipe cannot hold",
            )
        }
        Some(_) => Finding::ok("pipes", "a pipe holds 1 MiB"),
    }
}

#[cfg(not(target_os = "linux"))]
fn pipes() -> Finding {
    Finding::new("pipes", Level::Note, "their size cannot be set on this system")
}

fn files() -> Finding {
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, hard)) => judge_files(soft, hard),
        Err(e) => Finding::new("files", Level::Note, format!("the limit is unknown: {e}")),
    }
}

fn judge_files(soft: u64, hard: u64) -> Finding {
    let text = format!("{soft} may be open at once");
    let fix = format!("ulimit -n {}", hard.min(4096));
    match soft {
        ..NEEDED_FILES => Finding::new("files", Level::Broken, text).fix(fix),
        NEEDED_FILES..COMFORTABLE_FILES => Finding::new("files", Level::Warning, text).fix(fix),
        _ => Finding::ok("files", text),
    }
}

/// A program cannot be newer than now.
fn clock(env: &Env) -> Finding {
    let built = env.program.metadata().and_then(|meta| meta.modified()).ok();
    let built = built.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    judge_clock(unix_now().0, built.and_then(|since| i64::try_from(since.as_millis()).ok()))
}

fn judge_clock(now_ms: i64, built_ms: Option<i64>) -> Finding {
    const DAY_MS: i64 = 86_400_000;
    let time = stablehand_core::time::UnixMillis(now_ms).rfc3339();
    match built_ms {
        Some(built) if now_ms.saturating_add(DAY_MS) < built => {
            let text = format!("it is said to be {time}, which is before this program was made");
            Finding::new("clock", Level::Warning, text)
                .fix("set the clock (timedatectl set-ntp true); logins fail with a wrong one")
        }
        _ => Finding::ok("clock", time),
    }
}

fn terminal(env: &Env) -> Finding {
    let kind = std::env::var("TERM").unwrap_or_default();
    if !env.stdout_is_terminal {
        return Finding::ok("terminal", "standard output is none: no colours, no status line");
    }
    let width = terminal_size::terminal_size().map_or(0, |(width, _)| width.0);
    if kind.is_empty() || kind == "dumb" {
        let text = "TERM is not set, or dumb: no status line";
        return Finding::new("terminal", Level::Note, text).fix("export TERM=xterm-256color");
    }
    Finding::ok("terminal", format!("{kind}, {width} columns"))
}

fn path(env: &Env) -> Finding {
    match &env.path {
        Some(path) => {
            let folders = std::env::split_paths(path).count();
            Finding::ok("PATH", format!("{folders} folders are searched for agents"))
        }
        None => Finding::new("PATH", Level::Warning, "it is not set, so no agent can be found")
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
            [Level::Broken, Level::Warning, Level::Ok]
        );
        assert_eq!(files[0].fix.as_deref(), Some("ulimit -n 4096"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_small_pipe_is_a_warning_and_none_is_broken() {
        let levels = [None, Some(4096), Some(PIPE_BYTES)].map(|size| judge_pipe(size).level);
        assert_eq!(levels, [Level::Broken, Level::Warning, Level::Ok]);
    }

    #[test]
    fn a_clock_that_is_before_our_own_making_is_wrong() {
        let made = 1_790_000_000_000;
        assert_eq!(judge_clock(0, Some(made)).level, Level::Warning);
        assert_eq!(judge_clock(made, Some(made)).level, Level::Ok);
        assert_eq!(judge_clock(0, None).level, Level::Ok);
    }
}
