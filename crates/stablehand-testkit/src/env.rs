//! A place of its own for each test: home, log folder, record folder, script, clean environment.
//!
//! Owns the folders and the default flags (short limits, so that a test takes a second or two).
//! Running and waiting is [`crate::process`]'s. When the environment is dropped, whatever still runs
//! in it is ended, and its logs are judged again ([`crate::judged`]).

use crate::agent::{RECORD_VARIABLE, SCRIPT_VARIABLE};
use crate::census;
use crate::log::LogFile;
use crate::process::{Finished, Running};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The binaries of a test. Cargo tells only the tests of a crate where its binaries are, so they
/// are passed in.
#[derive(Debug, Clone)]
pub struct Bins {
    /// `cursor-wrap`.
    pub cursor_wrap: PathBuf,
    /// `stablehand`.
    pub stablehand: PathBuf,
    /// `fake-agent`.
    pub fake_agent: PathBuf,
}

impl Bins {
    /// The two binaries, and the fake agent beside them, which is built where it is missing.
    pub fn new(cursor_wrap: &str, stablehand: &str) -> Bins {
        let stablehand = PathBuf::from(stablehand);
        Bins {
            cursor_wrap: PathBuf::from(cursor_wrap),
            fake_agent: fake_agent_beside(&stablehand),
            stablehand,
        }
    }
}

/// `cargo test -p stablehand-cli` alone builds no binary of another crate, so we ask for it.
fn fake_agent_beside(binary: &Path) -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = binary.with_file_name("fake-agent");
        if !path.exists() {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut build = Command::new(cargo);
            build.args(["build", "--quiet", "-p", "stablehand-testkit", "--bin", "fake-agent"]);
            if binary.components().any(|part| part.as_os_str() == "release") {
                build.arg("--release");
            }
            build.stdout(Stdio::null()).status().expect("cargo builds the fake agent");
        }
        assert!(path.exists(), "no fake agent at {}", path.display());
        path
    })
    .clone()
}

/// A test's own place.
#[derive(Debug)]
pub struct TestEnv {
    bins: Bins,
    root: TempDir,
    marker: String,
    /// Logs are damaged here on purpose.
    unjudged: AtomicBool,
}

impl TestEnv {
    /// An empty place.
    pub fn new(bins: Bins) -> TestEnv {
        let root = TempDir::with_prefix("stablehand-test-").expect("a temporary folder");
        for folder in ["home", "record", "work"] {
            fs::create_dir(root.path().join(folder)).expect("a folder in it");
        }
        // The name of a temporary folder is random and nobody else has it.
        let marker = root.path().file_name().expect("a name").to_string_lossy().into_owned();
        TestEnv { bins, root, marker, unjudged: AtomicBool::new(false) }
    }

    /// A place with a script for the fake agent.
    pub fn with_script(bins: Bins, script: &str) -> TestEnv {
        let env = TestEnv::new(bins);
        env.script(script);
        env
    }

    /// Gives the fake agent its script; a mistake in it fails the test here.
    pub fn script(&self, script: &str) {
        crate::script::parse(script).expect("the script is well formed");
        fs::write(self.path("script"), script).expect("writing the script");
    }

    /// A path in this place.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(name)
    }

    /// `HOME`.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The working directory of what is run.
    pub fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Where the binaries log to unless a test says otherwise. They make it themselves.
    pub fn log_dir(&self) -> PathBuf {
        self.path("logs")
    }

    /// Where the fake agent notes what it was given.
    pub fn record_dir(&self) -> PathBuf {
        self.path("record")
    }

    /// What marks every process of this test, as the value of [`census::MARKER`].
    pub fn marker(&self) -> &str {
        &self.marker
    }

    /// The binaries.
    pub fn bins(&self) -> &Bins {
        &self.bins
    }

    /// `cursor-wrap` with the fake agent and short limits: idle 1 s, tool grace 300 ms, tick 100 ms.
    pub fn cursor_wrap(&self) -> Run<'_> {
        self.run(&self.bins.cursor_wrap)
            .flag("--agent-bin", &self.bins.fake_agent)
            .flag("--log-dir", self.log_dir())
            .flag("--idle-timeout", "1s")
            .flag("--tool-grace", "300ms")
            .flag("--tick-interval", "100ms")
    }

    /// `stablehand run` with the fake agent as Cursor and short limits: startup and idle 1 s, tool
    /// grace 300 ms, exit grace 500 ms.
    pub fn stablehand_run(&self) -> Run<'_> {
        self.stablehand("run")
            .flag("--agent", "cursor")
            .flag("--agent-bin", &self.bins.fake_agent)
            .flag("--log-dir", self.log_dir())
            .flag("--startup-timeout", "1s")
            .flag("--idle-timeout", "1s")
            .flag("--tool-grace", "300ms")
            .flag("--exit-grace", "500ms")
    }

    /// `stablehand` with a subcommand and nothing else.
    pub fn stablehand(&self, subcommand: &str) -> Run<'_> {
        let mut run = self.run(&self.bins.stablehand);
        run.before_flags.push(subcommand.into());
        run
    }

    /// The fake agent on its own.
    pub fn fake_agent(&self) -> Run<'_> {
        self.run(&self.bins.fake_agent)
    }

    pub(crate) fn run(&self, program: &Path) -> Run<'_> {
        Run {
            env: self,
            program: program.to_owned(),
            wrapper: Vec::new(),
            before_flags: Vec::new(),
            flags: Vec::new(),
            args: Vec::new(),
            variables: Vec::new(),
            stdin: Input::Bytes(Vec::new()),
            output: Output::Collect,
            stdout: None,
            stderr: None,
            directory: None,
            deadline: Duration::from_secs(20),
        }
    }

    /// A note of the fake agent, waited for: `2.stdin`, `1.argv.json`, a marker.
    pub fn record(&self, name: &str) -> String {
        let path = self.record_dir().join(name);
        self.wait_for(&format!("the record `{name}`"), || path.exists());
        String::from_utf8_lossy(&fs::read(&path).expect("a readable record")).into_owned()
    }

    /// Whether the fake agent made that note.
    pub fn has_record(&self, name: &str) -> bool {
        self.record_dir().join(name).exists()
    }

    /// The arguments of the n-th start of the agent, without the program.
    pub fn argv(&self, start: usize) -> Vec<String> {
        let argv: Vec<String> = serde_json::from_str(&self.record(&format!("{start}.argv.json")))
            .expect("recorded arguments");
        argv.into_iter().skip(1).collect()
    }

    /// The environment of the n-th start of the agent.
    pub fn agent_env(&self, start: usize) -> BTreeMap<String, String> {
        serde_json::from_str(&self.record(&format!("{start}.env.json"))).expect("an environment")
    }

    /// How often the agent was started.
    pub fn starts(&self) -> usize {
        (1..10_000).take_while(|start| self.has_record(&format!("{start}.started"))).count()
    }

    /// Every log file, oldest name first.
    pub fn logs(&self) -> Vec<LogFile> {
        LogFile::all_in(&self.log_dir())
    }

    /// The one log file.
    pub fn log(&self) -> LogFile {
        let mut logs = self.logs();
        assert_eq!(logs.len(), 1, "one log file per invocation, found {logs:?}");
        logs.remove(0)
    }

    /// Waits until the log has a record of that name.
    pub fn wait_for_log(&self, msg: &str) {
        self.wait_for(&format!("a log record `{msg}`"), || {
            self.logs().iter().any(|log| !log.all(msg).is_empty())
        });
    }

    /// Waits for something, at most ten seconds.
    pub fn wait_for(&self, what: &str, mut there: impl FnMut() -> bool) {
        let start = Instant::now();
        while !there() {
            let waited = start.elapsed();
            assert!(waited < Duration::from_secs(10), "waited for {what}\n{}", self.log_tail());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// This test damages logs, or makes some up: they are not judged again at its end.
    pub fn damages_logs(&self) {
        self.unjudged.store(true, Ordering::Relaxed);
    }

    /// Every process of this test that is alive.
    pub fn living(&self) -> BTreeMap<i32, String> {
        census::living(&self.marker, &self.record_dir())
    }

    /// Fails unless every process of this test is gone within two seconds.
    pub fn assert_nobody_left(&self) {
        let left = census::wait_until_gone(&self.marker, &self.record_dir());
        if !left.is_empty() {
            let log = self.log_tail();
            census::end_leftovers(&self.marker, &self.record_dir());
            panic!("processes left behind: {left:#?}\n{log}");
        }
    }

    /// The ends of the log files, for the text of a failure.
    pub fn log_tail(&self) -> String {
        let tails = LogFile::paths_in(&self.log_dir()).into_iter().map(|path| {
            let bytes = fs::read(&path).unwrap_or_default();
            let tail = bytes.get(bytes.len().saturating_sub(4000)..).unwrap_or_default();
            format!("--- end of {}\n{}\n", path.display(), String::from_utf8_lossy(tail))
        });
        tails.collect()
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        census::end_leftovers(&self.marker, &self.record_dir());
        if !self.unjudged.load(Ordering::Relaxed) && !std::thread::panicking() {
            let differences = crate::judged::differences_below(self.root.path());
            assert!(differences.is_empty(), "judged again, a log differs:\n{differences}");
        }
    }
}

/// What the process under test reads.
#[derive(Debug)]
pub(crate) enum Input {
    Bytes(Vec<u8>),
    Open,
    Terminal(Stdio),
}

/// What becomes of its standard output.
#[derive(Debug)]
pub(crate) enum Output {
    Collect,
    Manual,
    Check(Check),
}

type Look = dyn FnMut(u64, &[u8]) + Send;

/// A look at each block of standard output, with its offset; an empty block is the end.
pub(crate) struct Check(pub(crate) Box<Look>);

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Check")
    }
}

/// A command line in the making.
#[derive(Debug)]
pub struct Run<'e> {
    env: &'e TestEnv,
    program: PathBuf,
    wrapper: Vec<String>,
    before_flags: Vec<PathBuf>,
    flags: Vec<(String, PathBuf)>,
    args: Vec<OsString>,
    variables: Vec<(String, OsString)>,
    stdin: Input,
    output: Output,
    stdout: Option<Stdio>,
    stderr: Option<Stdio>,
    directory: Option<PathBuf>,
    deadline: Duration,
}

impl<'e> Run<'e> {
    /// A flag with its value; one that was there is replaced.
    #[must_use]
    pub fn flag(mut self, name: &str, value: impl Into<PathBuf>) -> Self {
        let value = value.into();
        match self.flags.iter_mut().find(|(known, _)| known == name) {
            Some(flag) => flag.1 = value,
            None => self.flags.push((name.to_owned(), value)),
        }
        self
    }

    /// Leaves a default flag away.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.flags.retain(|(known, _)| known != name);
        self
    }

    /// Another subcommand with the same flags.
    #[must_use]
    pub fn instead_of(mut self, old: &str, new: &str) -> Self {
        for word in self.before_flags.iter_mut().filter(|word| *word == old) {
            *word = new.into();
        }
        self
    }

    /// Starts it through another program, which must become it: `setsid --ctty`.
    #[must_use]
    pub fn through<'a>(mut self, wrapper: impl IntoIterator<Item = &'a str>) -> Self {
        self.wrapper = wrapper.into_iter().map(str::to_owned).collect();
        self
    }

    /// Further arguments, after the flags.
    #[must_use]
    pub fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.args.extend(args.into_iter().map(OsString::from));
        self
    }

    /// One further argument, which need not be UTF-8.
    #[must_use]
    pub fn raw_arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// An environment variable; one that was there is replaced.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// What it reads on standard input, which then ends. Nothing, unless said.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Input::Bytes(bytes.into());
        self
    }

    /// Standard input that the test writes with [`Running::type_line`].
    #[must_use]
    pub fn stdin_open(mut self) -> Self {
        self.stdin = Input::Open;
        self
    }

    /// Standard input from a terminal.
    #[must_use]
    pub fn stdin_terminal(mut self, terminal: impl Into<Stdio>) -> Self {
        self.stdin = Input::Terminal(terminal.into());
        self
    }

    /// Standard error to a terminal; what is written there is not in [`Finished`].
    #[must_use]
    pub fn stderr_terminal(mut self, terminal: impl Into<Stdio>) -> Self {
        self.stderr = Some(terminal.into());
        self
    }

    /// Standard output to a terminal; what is written there is not in [`Finished`].
    #[must_use]
    pub fn stdout_terminal(mut self, terminal: impl Into<Stdio>) -> Self {
        self.stdout = Some(terminal.into());
        self
    }

    /// Where it is run, instead of [`TestEnv::work`].
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Leaves standard output unread until the test takes it with [`Running::take_stdout`].
    #[must_use]
    pub fn stdout_unread(mut self) -> Self {
        self.output = Output::Manual;
        self
    }

    /// Gives standard output to `check` block by block, with its offset, and keeps none of it. The
    /// end is an empty block.
    #[must_use]
    pub fn stdout_check(mut self, check: impl FnMut(u64, &[u8]) + Send + 'static) -> Self {
        self.output = Output::Check(Check(Box::new(check)));
        self
    }

    /// The time after which it is killed and the test fails; 20 s unless said.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Starts it.
    pub fn start(self) -> Running<'e> {
        let mut command = match self.wrapper.split_first() {
            None => Command::new(&self.program),
            Some((wrapper, args)) => {
                let mut command = Command::new(wrapper);
                command.args(args).arg(&self.program);
                command
            }
        };
        command.args(&self.before_flags);
        for (name, value) in &self.flags {
            command.arg(name).arg(value);
        }
        let directory = self.directory.unwrap_or_else(|| self.env.work());
        command.args(&self.args).current_dir(directory);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.env.home())
            .env("LANG", "C.UTF-8")
            .env(census::MARKER, &self.env.marker)
            .env(SCRIPT_VARIABLE, self.env.path("script"))
            .env(RECORD_VARIABLE, self.env.record_dir())
            .envs(self.variables);
        command.stdout(self.stdout.unwrap_or_else(Stdio::piped));
        command.stderr(self.stderr.unwrap_or_else(Stdio::piped));
        Running::start(self.env, command, self.stdin, self.output, self.deadline)
    }

    /// Runs it to its end, and proves that nobody is left.
    pub fn finish(self) -> Finished {
        self.start().finish()
    }
}
