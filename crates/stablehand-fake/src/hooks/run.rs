//! Processes of hooks: started together, read to their ends, ended when their time is over.
//!
//! Owns the processes. What is handed to them and what their answers mean is each agent's business.

use crate::collect::{Collector, DRAIN};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often running hooks are looked at.
const LOOK: Duration = Duration::from_millis(2);

/// How long a hook that was asked to end may take, where it is asked before it is made to.
const GRACE: Duration = Duration::from_secs(5);

/// A hook to run.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The shell.
    pub(super) shell: &'static str,
    /// What it runs.
    pub(super) script: String,
    /// What it reads; nothing where the script brings its own.
    pub(super) stdin: Option<String>,
    /// Where.
    pub(super) cwd: PathBuf,
    /// What is added to our own environment.
    pub(super) env: BTreeMap<String, String>,
    /// What is taken from it.
    pub(super) hidden: Vec<OsString>,
    /// How long it may take.
    pub(super) timeout: Duration,
    /// What happens after that.
    pub(super) late: Late,
}

/// What happens to a hook whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// Its process group is killed.
    KillGroup,
    /// The shell alone is asked to end, and is killed later.
    Terminate,
}

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ran {
    /// By itself.
    Exited {
        /// With which code; none for a signal.
        code: Option<i32>,
        /// What it wrote to its standard output.
        stdout: String,
        /// What it wrote to its standard error.
        stderr: String,
    },
    /// It took too long.
    TimedOut,
    /// It could not be started.
    NotStarted(String),
}

#[derive(Debug)]
struct Live {
    child: Child,
    stdout: Collector,
    stderr: Collector,
    late: Late,
    until: Instant,
    asked: bool,
}

/// Runs all of them at once; the answers are in the order of the jobs.
pub(super) fn together(jobs: &[Job]) -> Vec<Ran> {
    let mut live: Vec<Result<Live, Ran>> = jobs.iter().map(start).collect();
    loop {
        let mut runs = false;
        for one in &mut live {
            let Ok(running) = one else { continue };
            match running.look() {
                Some(ran) => *one = Err(ran),
                None => runs = true,
            }
        }
        if !runs {
            break;
        }
        std::thread::sleep(LOOK);
    }
    live.into_iter().filter_map(Result::err).collect()
}

fn start(job: &Job) -> Result<Live, Ran> {
    let mut command = Command::new(job.shell);
    command.args(["-c", &job.script]).current_dir(&job.cwd).process_group(0);
    for name in &job.hidden {
        command.env_remove(name);
    }
    command.envs(&job.env).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if job.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().map_err(|error| Ran::NotStarted(error.to_string()))?;
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), job.stdin.clone()) {
        // A hook may end without having read anything, or never read.
        std::thread::spawn(move || drop(pipe.write_all(text.as_bytes())));
    }
    Ok(Live {
        stdout: Collector::of(child.stdout.take()),
        stderr: Collector::of(child.stderr.take()),
        child,
        late: job.late,
        until: Instant::now() + job.timeout,
        asked: false,
    })
}

impl Live {
    fn look(&mut self) -> Option<Ran> {
        match self.child.try_wait() {
            Ok(Some(_)) if self.asked => return Some(Ran::TimedOut),
            Ok(Some(status)) => {
                let until = Instant::now() + DRAIN;
                let (stdout, stderr) = (self.stdout.text(until), self.stderr.text(until));
                return Some(Ran::Exited { code: status.code(), stdout, stderr });
            }
            Ok(None) => {}
            Err(error) => return Some(Ran::NotStarted(error.to_string())),
        }
        if Instant::now() < self.until {
            return None;
        }
        let pid = i32::try_from(self.child.id()).ok().map(Pid::from_raw);
        if self.late == Late::Terminate && !self.asked {
            self.asked = true;
            self.until = Instant::now() + GRACE;
            // It may be gone already, here and below.
            let _ = pid.map(|pid| kill(pid, Signal::SIGTERM));
            return None;
        }
        if self.late == Late::KillGroup {
            let _ = pid.map(|pid| killpg(pid, Signal::SIGKILL));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Some(Ran::TimedOut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pid::is_alive;

    pub(super) fn job(script: &str, timeout: Duration, late: Late) -> Job {
        Job {
            shell: "/bin/sh",
            script: script.to_owned(),
            stdin: Some("oats".to_owned()),
            cwd: PathBuf::from("/"),
            env: BTreeMap::from([("HAY".to_owned(), "dry".to_owned())]),
            hidden: vec!["PATH_THAT_NOBODY_HAS".into()],
            timeout,
            late,
        }
    }

    #[test]
    fn all_run_at_once_and_answer_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("second-was-here");
        let wait = format!(
            "i=0; while [ ! -e '{0}' ] && [ $i -lt 2000 ]; do sleep 0.01; i=$((i+1)); done; [ -e '{0}' ] && cat && echo $HAY",
            file.display()
        );
        let make = format!("touch '{}'; echo no >&2; exit 3", file.display());
        let time = Duration::from_secs(30);
        let jobs = [job(&wait, time, Late::KillGroup), job(&make, time, Late::KillGroup)];
        let exited = |code, stdout: &str, stderr: &str| Ran::Exited {
            code: Some(code),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        assert_eq!(together(&jobs), [exited(0, "oatsdry\n", ""), exited(3, "", "no\n")]);
    }

    #[test]
    fn a_late_hook_is_ended_with_its_group_or_asked_first() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("pid");
        let script = format!("sleep 60 & echo $! > '{}'; wait", pid_file.display());
        let time = Duration::from_millis(1500);
        assert_eq!(together(&[job(&script, time, Late::KillGroup)]), [Ran::TimedOut]);
        let pid = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while is_alive(pid) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        assert!(!is_alive(pid), "the child of the hook is gone too");
        let note = folder.path().join("note");
        let polite = format!(
            "trap 'echo bye > {}; exit 0' TERM; while :; do sleep 0.05; done",
            note.display()
        );
        assert_eq!(together(&[job(&polite, time, Late::Terminate)]), [Ran::TimedOut]);
        assert_eq!(std::fs::read_to_string(note).unwrap(), "bye\n");
    }

    #[test]
    fn what_cannot_be_started_says_so() {
        let mut lost = job("true", Duration::from_secs(5), Late::KillGroup);
        lost.cwd = PathBuf::from("/nowhere/at/all");
        assert!(matches!(&together(&[lost])[..], [Ran::NotStarted(_)]));
        let giant =
            job(&format!("true {}", "x".repeat(3 << 20)), Duration::from_secs(5), Late::KillGroup);
        assert!(matches!(&together(&[giant])[..], [Ran::NotStarted(_)]));
    }
}
