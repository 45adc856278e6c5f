//! A process under test: started, fed, signalled, and never waited for longer than its deadline.
//!
//! Owns the threads that read its outputs and the kill at the deadline. A wait that fails shows the
//! standard error and the end of the log, because that is what one wants to see.

use crate::env::{Check, Input, Output, TestEnv};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How it ended.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Everything on standard output.
    pub stdout: Vec<u8>,
    /// Everything on standard error, lossy.
    pub stderr: String,
    /// From its start to its end.
    pub elapsed: Duration,
    /// The most memory it ever held, in KiB; 0 where the system does not say.
    pub peak_rss_kib: u64,
}

impl Finished {
    /// Fails unless it exited with that code.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        let shown: String = self.stdout_text().chars().take(4000).collect();
        let Finished { signal, elapsed, stderr, .. } = self;
        assert_eq!(
            self.code,
            Some(code),
            "signal {signal:?} after {elapsed:?}\nstderr: {stderr}\nstdout: {shown}"
        );
        self
    }

    /// Fails unless it took less than that.
    #[track_caller]
    pub fn assert_within(&self, limit: Duration) -> &Self {
        assert!(self.elapsed < limit, "took {:?}; stderr: {}", self.elapsed, self.stderr);
        self
    }

    /// Fails unless it took at least that.
    #[track_caller]
    pub fn assert_at_least(&self, limit: Duration) -> &Self {
        assert!(self.elapsed >= limit, "took only {:?}; stderr: {}", self.elapsed, self.stderr);
        self
    }

    /// Fails if it ever held more than a run may, whatever passes through it, the index being filled
    /// beside it.
    #[track_caller]
    pub fn assert_memory(&self) -> &Self {
        // An unoptimized program is itself larger by some megabytes.
        let most = if cfg!(debug_assertions) { 64 << 10 } else { 40 << 10 };
        assert!(self.peak_rss_kib < most, "held {} KiB", self.peak_rss_kib);
        self
    }

    /// Standard output as text, lossy.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard output as JSON lines.
    #[track_caller]
    pub fn stdout_json(&self) -> Vec<serde_json::Value> {
        let text = self.stdout_text();
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
    }
}

type Shared = Arc<Mutex<Vec<u8>>>;

/// A process that runs.
#[derive(Debug)]
pub struct Running<'e> {
    env: &'e TestEnv,
    child: Child,
    stdin: Option<ChildStdin>,
    manual_stdout: Option<ChildStdout>,
    stdout: Shared,
    stderr: Shared,
    readers: Vec<JoinHandle<()>>,
    started: Instant,
    deadline: Duration,
    ended: Option<(ExitStatus, Duration)>,
    peak_rss_kib: u64,
}

impl<'e> Running<'e> {
    pub(crate) fn start(
        env: &'e TestEnv,
        mut command: Command,
        input: Input,
        output: Output,
        deadline: Duration,
    ) -> Running<'e> {
        command.stdin(Stdio::piped());
        let input = match input {
            Input::Terminal(terminal) => {
                command.stdin(terminal);
                Input::Open
            }
            other => other,
        };
        let started = Instant::now();
        let mut child = command.spawn().expect("starting the process under test");
        // The command holds our copies of a terminal's descriptors; the process must be the last.
        drop(command);
        let mut running = Running {
            env,
            stdin: child.stdin.take(),
            manual_stdout: None,
            stdout: Shared::default(),
            stderr: Shared::default(),
            readers: Vec::new(),
            started,
            deadline,
            ended: None,
            peak_rss_kib: 0,
            child,
        };
        if let Input::Bytes(bytes) = input
            && let Some(mut stdin) = running.stdin.take()
        {
            // A process that never reads must not stop the test; the thread ends with its pipe.
            std::thread::spawn(move || drop(stdin.write_all(&bytes)));
        }
        if let Some(stderr) = running.child.stderr.take() {
            running.collect(stderr, Arc::clone(&running.stderr));
        }
        if let Some(stdout) = running.child.stdout.take() {
            match output {
                Output::Manual => running.manual_stdout = Some(stdout),
                Output::Check(check) => {
                    let read = std::thread::spawn(move || check_all(stdout, check));
                    running.readers.push(read);
                }
                Output::Collect => {
                    running.collect(stdout, Arc::clone(&running.stdout));
                }
            }
        }
        running
    }

    fn collect(&mut self, mut from: impl Read + Send + 'static, into: Shared) {
        self.readers.push(std::thread::spawn(move || {
            let mut block = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = from.read(&mut block) {
                let bytes = block.get(..count).unwrap_or_default();
                into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            }
        }));
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process id")
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("signalling the process under test");
    }

    /// Writes a line to its standard input.
    pub fn type_line(&mut self, line: &str) {
        self.type_bytes(format!("{line}\n").as_bytes());
    }

    /// Writes bytes to its standard input, which need not be text.
    pub fn type_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        stdin.write_all(bytes).expect("writing to it");
    }

    /// Ends its standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Its unread standard output, see [`crate::env::Run::stdout_unread`].
    pub fn take_stdout(&mut self) -> ChildStdout {
        self.manual_stdout.take().expect("standard output was left unread")
    }

    /// Collects the standard output that was left unread so far.
    pub fn read_stdout_now(&mut self) {
        let stdout = self.take_stdout();
        self.collect(stdout, Arc::clone(&self.stdout));
    }

    /// Standard output so far.
    pub fn stdout_so_far(&self) -> String {
        text(&self.stdout)
    }

    /// Standard error so far.
    pub fn stderr_so_far(&self) -> String {
        text(&self.stderr)
    }

    /// Waits until standard output holds the text.
    #[track_caller]
    pub fn wait_for_stdout(&self, wanted: &str) {
        self.env
            .wait_for(&format!("`{wanted}` on stdout"), || self.stdout_so_far().contains(wanted));
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.ended.is_none() && self.poll().is_none()
    }

    /// Waits for its end and proves that nobody is left.
    #[track_caller]
    pub fn finish(self) -> Finished {
        let env = self.env;
        let finished = self.finish_alone();
        env.assert_nobody_left();
        finished
    }

    /// Waits for its end only; for tests in which other processes of the place live on.
    #[track_caller]
    pub fn finish_alone(mut self) -> Finished {
        while self.poll().is_none() {
            if self.started.elapsed() > self.deadline {
                self.fail_by_deadline();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.manual_stdout = None;
        self.join_readers();
        let (status, elapsed) = self.ended.expect("it has ended");
        Finished {
            code: status.code(),
            signal: status.signal(),
            stdout: std::mem::take(&mut self.stdout.lock().unwrap_or_else(PoisonError::into_inner)),
            stderr: self.stderr_so_far(),
            elapsed,
            peak_rss_kib: self.peak_rss_kib,
        }
    }

    fn poll(&mut self) -> Option<ExitStatus> {
        if let Some(peak) = peak_rss_kib(self.pid()) {
            self.peak_rss_kib = self.peak_rss_kib.max(peak);
        }
        let status = self.child.try_wait().expect("asking for its end")?;
        self.ended.get_or_insert((status, self.started.elapsed()));
        Some(status)
    }

    /// Somebody who inherited an output must not stop the test: after a second we take what is there.
    fn join_readers(&mut self) {
        let start = Instant::now();
        for reader in self.readers.drain(..) {
            while !reader.is_finished() && start.elapsed() < Duration::from_secs(1) {
                std::thread::sleep(Duration::from_millis(2));
            }
            let failed = reader.is_finished() && reader.join().is_err();
            assert!(!failed, "the check of standard output failed, see above");
        }
    }

    #[track_caller]
    fn fail_by_deadline(&mut self) -> ! {
        let living = self.env.living();
        drop(self.child.kill());
        drop(self.child.wait());
        self.join_readers();
        panic!(
            "still running after {:?}\nalive: {living:#?}\nstderr: {}\nstdout ends: {}\n{}",
            self.deadline,
            self.stderr_so_far(),
            tail(&self.stdout_so_far()),
            self.env.log_tail(),
        );
    }
}

impl Drop for Running<'_> {
    /// A test that failed half-way leaves its process running; here it ends.
    fn drop(&mut self) {
        if self.ended.is_none() {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

fn check_all(mut from: ChildStdout, Check(mut check): Check) {
    let mut block = vec![0; 1 << 20];
    let mut offset = 0;
    while let Ok(count @ 1..) = from.read(&mut block) {
        check(offset, block.get(..count).unwrap_or_default());
        offset += count as u64;
    }
    check(offset, &[]);
}

fn text(shared: &Shared) -> String {
    let bytes = shared.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn tail(text: &str) -> String {
    let skip = text.chars().count().saturating_sub(2000);
    text.chars().skip(skip).collect()
}

/// `VmHWM`: the kernel keeps the high-water mark, so that a sample misses no peak before it.
fn peak_rss_kib(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
