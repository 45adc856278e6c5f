//! Three processes in a row: the writer, the tool under test, the reader.
//!
//! With `cat` and `jq` the writer is piped into the tool; `cursor-wrap` starts it as its agent. In
//! both cases it is the same program with the same stream, and the same reader behind.

use crate::Outcome;
use crate::agent::{self, Role};
use crate::options::sibling;
use crate::proc::wait_with_cpu;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The tool in the middle.
#[derive(Clone, Debug)]
pub enum Tool {
    /// None: the writer's pipe is the reader's.
    Direct,
    /// A filter from standard input to standard output.
    Filter(PathBuf, Vec<String>),
    /// `cursor-wrap -p`, its log on.
    Wrap,
}

/// What a row of processes took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// From the writer's first write to the reader's last byte.
    pub stream: Duration,
    /// From the first start to the last exit.
    pub whole: Duration,
    /// Processor time of the tool, all its threads, without the processes that it started.
    pub tool_cpu: Duration,
    /// That of the keeper, where there is one.
    pub keeper_cpu: Duration,
    /// Bytes that the reader got.
    pub bytes: u64,
    /// Their hash, where it was asked for.
    pub hash: u64,
}

/// Where everything is.
#[derive(Debug)]
pub struct Chain {
    agent: PathBuf,
    wrap: PathBuf,
    folder: PathBuf,
}

impl Chain {
    /// A chain with its files in `folder`.
    pub fn new(folder: &Path) -> Outcome<Chain> {
        let (agent, wrap) = (sibling("bench-agent")?, sibling("cursor-wrap")?);
        Ok(Chain { agent, wrap, folder: folder.to_owned() })
    }

    /// The program that plays all parts.
    pub fn agent(&self) -> &Path {
        &self.agent
    }

    /// `cursor-wrap`.
    pub fn wrap(&self) -> &Path {
        &self.wrap
    }

    /// A process in a role.
    pub fn player(&self, role: Role) -> Command {
        let mut command = Command::new(&self.agent);
        command.env(agent::ROLE, role.name()).stdin(Stdio::null());
        command
    }

    /// `cursor-wrap -p` with the agent in a role. Its log goes to [`Chain::logs`].
    pub fn wrapped(&self, role: Role) -> Command {
        let mut command = Command::new(&self.wrap);
        command.env(agent::ROLE, role.name());
        self.wrap_arguments(&mut command);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The arguments of `cursor-wrap`, for those who start it through something else.
    pub fn wrap_arguments(&self, command: &mut Command) {
        command.arg("-p").arg("--agent-bin").arg(&self.agent);
        command.arg("--log-dir").arg(self.logs()).arg("measure");
    }

    /// Where the logs are.
    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// Removes all logs, so that no round pays for an earlier one.
    pub fn clear_logs(&self) -> Outcome<()> {
        match std::fs::remove_dir_all(self.logs()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Where the reader leaves its figures.
    pub fn reader_report(&self) -> PathBuf {
        self.folder.join("reader")
    }

    fn writer_report(&self) -> PathBuf {
        self.folder.join("writer")
    }

    /// Runs writer, tool and reader to their end. `writer` and `reader` are the roles; `env` is for
    /// all of them.
    pub fn run(
        &self,
        tool: &Tool,
        (writer, reader): (Role, Role),
        env: &[(&str, &str)],
    ) -> Outcome<Taken> {
        for old in [self.writer_report(), self.reader_report()] {
            let _not_there = std::fs::remove_file(old);
        }
        let with_env = |mut command: Command| {
            command.envs(env.iter().copied());
            command.env(agent::WRITER_REPORT, self.writer_report());
            command.env(agent::READER_REPORT, self.reader_report());
            command
        };
        let began = Instant::now();
        let (input, output) = std::io::pipe()?;
        let mut sink = with_env(self.player(reader)).stdin(input).spawn()?;
        let mut source = None;
        // Each command is dropped at once: it holds a copy of the pipe that must end.
        let mut middle = match tool {
            Tool::Direct => with_env(self.player(writer)).stdout(output).spawn()?,
            Tool::Filter(program, args) => {
                let (from, to) = std::io::pipe()?;
                source = Some(with_env(self.player(writer)).stdout(to).spawn()?);
                Command::new(program).args(args).stdin(from).stdout(output).spawn()?
            }
            Tool::Wrap => with_env(self.wrapped(writer)).stdout(output).spawn()?,
        };
        if let Some(mut source) = source {
            reap(&mut source, "the writer")?;
        }
        let cpu = reap(&mut middle, "the tool")?;
        reap(&mut sink, "the reader")?;
        let whole = began.elapsed();
        if reader != Role::Count {
            return Ok(Taken { whole, ..Taken::default() });
        }
        let [first, own, keeper] = figures(&self.writer_report())?;
        let [bytes, last, hash] = figures(&self.reader_report())?;
        let (mut tool_cpu, mut keeper_cpu) = (cpu, Duration::ZERO);
        if matches!(tool, Tool::Wrap) {
            // Whoever reaps a process answers for its time as well.
            keeper_cpu = Duration::from_micros(keeper);
            tool_cpu = cpu.saturating_sub(Duration::from_micros(own) + keeper_cpu);
        }
        let stream = Duration::from_nanos(last.saturating_sub(first));
        Ok(Taken { stream, whole, tool_cpu, keeper_cpu, bytes, hash })
    }
}

fn figures<const N: usize>(path: &Path) -> Outcome<[u64; N]> {
    let all = agent::figures(path)?;
    all.try_into().map_err(|_| format!("unexpected figures in `{}`", path.display()).into())
}

fn reap(child: &mut Child, who: &str) -> Outcome<Duration> {
    let (status, cpu) = wait_with_cpu(child)?;
    if status.success() {
        return Ok(cpu);
    }
    Err(format!("{who} ended with {status}").into())
}
