//! Commands that a script really runs.
//!
//! Owns one running command: its process, what it has written so far, and its end within a time.
//! Whoever performs the script decides how to wait.

use crate::act::Ending;
use crate::collect::{Collector, DRAIN};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The exit code of a command that took too long, as `timeout` has it.
const TIMED_OUT: i32 = 124;

/// Whether a command is in our process group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// In ours: what ends us ends it.
    Ours,
    /// In its own, so that it can be ended and we go on.
    Own,
}

/// A command that runs.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    group: Group,
    began: Instant,
    timeout: Option<Duration>,
    stdout: Collector,
    stderr: Collector,
}

impl Running {
    /// Starts it with nothing to read, and with what hooks have added to the environment.
    pub(super) fn start(
        command: &str,
        cwd: &Path,
        timeout: Option<Duration>,
        group: Group,
        env: &BTreeMap<String, String>,
    ) -> io::Result<Running> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).envs(env).stdin(Stdio::null());
        if cwd.is_dir() {
            shell.current_dir(cwd);
        }
        if group == Group::Own {
            shell.process_group(0);
        }
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let stdout = Collector::of(child.stdout.take());
        let stderr = Collector::of(child.stderr.take());
        Ok(Running { child, group, began: Instant::now(), timeout, stdout, stderr })
    }

    /// Its end, if it has ended or must.
    pub(super) fn ended(&mut self) -> io::Result<Option<Ending>> {
        if let Some(status) = self.child.try_wait()? {
            use std::os::unix::process::ExitStatusExt;
            let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
            return Ok(Some(self.ending(code.unwrap_or(-1))));
        }
        if self.timeout.is_some_and(|timeout| self.began.elapsed() > timeout) {
            self.kill();
            return Ok(Some(self.ending(TIMED_OUT)));
        }
        Ok(None)
    }

    /// Ends it.
    pub(super) fn kill(&mut self) {
        if self.group == Group::Own
            && let Ok(pid) = i32::try_from(self.child.id())
        {
            // It may be gone already.
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn ending(&mut self, code: i32) -> Ending {
        let took = self.began.elapsed();
        let until = Instant::now() + DRAIN;
        let stdout = self.stdout.text(until);
        let stderr = self.stderr.text(until);
        Ending::Exited { code, stdout, stderr, took }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(command: &str, timeout: Option<Duration>) -> Running {
        let env = BTreeMap::new();
        Running::start(command, Path::new("/"), timeout, Group::Own, &env).unwrap()
    }

    fn end_of(command: &str, timeout: Option<Duration>) -> Ending {
        let mut running = start(command, timeout);
        loop {
            if let Some(ending) = running.ended().unwrap() {
                return ending;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn a_command_ends_with_its_code_and_its_output() {
        let Ending::Exited { code, stdout, stderr, .. } =
            end_of("echo out; echo err >&2; exit 3", None)
        else {
            panic!("a command ends by exiting")
        };
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (3, "out\n", "err\n"));
    }

    #[test]
    fn one_that_takes_too_long_is_ended_and_a_background_process_holds_nobody_up() {
        let ending = end_of("sleep 30", Some(Duration::from_millis(100)));
        assert!(matches!(ending, Ending::Exited { code: TIMED_OUT, .. }), "{ending:?}");
        let began = Instant::now();
        let ending = end_of("sleep 5 & echo started", None);
        assert!(
            matches!(ending, Ending::Exited { code: 0, ref stdout, .. } if stdout == "started\n")
        );
        assert!(began.elapsed() < Duration::from_secs(4));
    }
}
