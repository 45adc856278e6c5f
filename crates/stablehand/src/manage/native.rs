//! One native command of an agent, started by the keeper, bounded in time and output.
//!
//! Standard input is given and closed. Whatever the command leaves running is ended with it: a
//! question must never leave a process behind. What the output means is the parser's business.

use crate::keeper::{AgentPipes, Keeper, KeeperProgram, Launch, Order, Report, SpawnError};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{read, write};
use stablehand_core::event::{ProcessExit, ProcessRow};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The most that is kept of each stream. Codex prints 745 KB for its list of models.
pub const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// After the exit, what is still in the pipes is read until they are quiet for so long.
const QUIET: Duration = Duration::from_millis(100);

/// What is left gets so long to end by itself: agents write their databases then.
const POLITE: Duration = Duration::from_millis(500);

/// The keeper's own limit of five seconds, and a second for a busy machine.
const GONE_LIMIT: Duration = Duration::from_secs(7);

/// What a command printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Standard output, at most [`MAX_OUTPUT_BYTES`].
    pub stdout: Vec<u8>,
    /// Standard error, at most as much.
    pub stderr: Vec<u8>,
    /// How it ended; unknown where we had what we wanted before it did.
    pub exit: ProcessExit,
    /// Something did not fit.
    pub cut: bool,
}

impl Output {
    /// Whether it exited with this code.
    pub fn exited(&self, code: i32) -> bool {
        self.exit == ProcessExit::Code(code)
    }
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What it printed.
    pub output: Output,
    /// Who was alive when the command had ended; all of them were ended too.
    pub leaked: Vec<ProcessRow>,
    /// Who could not be ended.
    pub survivors: Vec<ProcessRow>,
    /// The cgroup that it ran in, where the system lets us make one.
    pub cgroup: Option<PathBuf>,
}

/// Why there is no output.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NativeError {
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It took too long and was ended.
    #[error("no answer in {} s", limit.as_secs_f32())]
    TimedOut {
        /// How long it had.
        limit: Duration,
        /// What it had said by then.
        output: Output,
    },
    /// The keeper was killed in the middle.
    #[error("the keeper was lost")]
    KeeperLost,
}

/// When a command has said enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enough {
    /// When it ends.
    Exit,
    /// After its first line on standard output, or when it ends: it may stay for ever after that.
    FirstLine,
}

/// Runs a command to its end and ends what it leaves behind.
pub fn run(
    keeper: &KeeperProgram,
    launch: &Launch,
    input: &[u8],
    limit: Duration,
    enough: Enough,
) -> Result<Finished, NativeError> {
    let deadline = Instant::now() + limit;
    let (keeper, pipes) = Keeper::start(keeper, launch)?;
    let mut command = Command::new(keeper, pipes, input);
    let end = command.listen(deadline, enough);
    let cgroup = command.keeper.cgroup().map(Into::into);
    let (leaked, survivors) = command.end_tree();
    let output = command.into_output();
    match end {
        End::Lost => Err(NativeError::KeeperLost),
        End::TimedOut => Err(NativeError::TimedOut { limit, output }),
        End::Enough => Ok(Finished { output, leaked, survivors, cgroup }),
    }
}

enum End {
    Enough,
    TimedOut,
    Lost,
}

struct Command<'a> {
    keeper: Keeper,
    stdin: Option<OwnedFd>,
    stdout: Stream,
    stderr: Stream,
    input: &'a [u8],
    exit: Option<ProcessExit>,
}

/// One of the two streams and what is kept of it.
struct Stream {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    cut: bool,
}

impl Stream {
    fn new(pipe: OwnedFd) -> Stream {
        Stream { pipe: Some(pipe), bytes: Vec::new(), cut: false }
    }

    /// Reads what is there; true when something was. What does not fit is read all the same, so
    /// that the command can end.
    fn read(&mut self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut block = [0; 16 << 10];
        match read(pipe, &mut block) {
            Ok(0) => {
                self.pipe = None;
                false
            }
            Ok(n) => {
                let room = MAX_OUTPUT_BYTES.saturating_sub(self.bytes.len());
                self.cut |= n > room;
                self.bytes.extend_from_slice(block.get(..n.min(room)).unwrap_or_default());
                true
            }
            Err(Errno::EAGAIN | Errno::EINTR) => false,
            Err(_) => {
                self.pipe = None;
                false
            }
        }
    }
}

impl<'a> Command<'a> {
    fn new(keeper: Keeper, pipes: AgentPipes, input: &'a [u8]) -> Self {
        Command {
            keeper,
            stdin: Some(pipes.stdin),
            stdout: Stream::new(pipes.stdout),
            stderr: Stream::new(pipes.stderr),
            input,
            exit: None,
        }
    }

    fn listen(&mut self, deadline: Instant, enough: Enough) -> End {
        let mut quiet_since = None;
        loop {
            self.feed();
            let heard = self.stdout.read() | self.stderr.read();
            while let Some(report) = self.keeper.next_report() {
                match report {
                    Report::AgentExited(exit) => self.exit = Some(exit),
                    Report::Lost => return End::Lost,
                    Report::TreeGone { .. } => {}
                }
            }
            if enough == Enough::FirstLine && self.stdout.bytes.contains(&b'\n') {
                return End::Enough;
            }
            let now = Instant::now();
            if heard {
                quiet_since = None;
            } else if self.exit.is_some() {
                // A process that was left behind may hold the pipes open for ever.
                let since = *quiet_since.get_or_insert(now);
                let closed = self.stdout.pipe.is_none() && self.stderr.pipe.is_none();
                if closed || now.duration_since(since) >= QUIET {
                    return End::Enough;
                }
            }
            if now >= deadline {
                return if self.exit.is_some() { End::Enough } else { End::TimedOut };
            }
            if !heard {
                let rest = deadline.duration_since(now);
                self.wait(if self.exit.is_some() { rest.min(QUIET) } else { rest });
            }
        }
    }

    /// Writes what is left of the input, and closes it after the last byte.
    fn feed(&mut self) {
        while let Some(stdin) = &self.stdin {
            match write(stdin, self.input) {
                Ok(n) if n < self.input.len() => {
                    self.input = self.input.get(n..).unwrap_or_default();
                }
                Err(Errno::EAGAIN) => return,
                Err(Errno::EINTR) => {}
                // All written, or nobody reads it.
                Ok(_) | Err(_) => self.stdin = None,
            }
        }
    }

    fn wait(&self, limit: Duration) {
        let mut wanted = vec![PollFd::new(self.keeper.fd(), PollFlags::POLLIN)];
        for stream in [&self.stdout, &self.stderr] {
            if let Some(pipe) = &stream.pipe {
                wanted.push(PollFd::new(pipe.as_fd(), PollFlags::POLLIN));
            }
        }
        if let Some(stdin) = &self.stdin {
            wanted.push(PollFd::new(stdin.as_fd(), PollFlags::POLLOUT));
        }
        // Whatever it says, the loop looks at everything again.
        let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
        let _interrupted = poll(&mut wanted, timeout);
    }

    /// Ends whoever is left, and says who that was.
    fn end_tree(&mut self) -> (Vec<ProcessRow>, Vec<ProcessRow>) {
        let deadline = Instant::now() + GONE_LIMIT;
        if self.keeper.order(Order::KillTree { polite: POLITE }).is_err() {
            return Default::default();
        }
        loop {
            // A dying command may want to print before it ends.
            while self.stdout.read() | self.stderr.read() {}
            match self.keeper.next_report() {
                Some(Report::TreeGone { leaked, survivors }) => return (leaked, survivors),
                Some(Report::Lost) => return Default::default(),
                Some(Report::AgentExited(_)) => {}
                None if Instant::now() >= deadline => return Default::default(),
                None => self.wait(QUIET),
            }
        }
    }

    fn into_output(self) -> Output {
        Output {
            exit: self.exit.unwrap_or(ProcessExit::Unknown),
            cut: self.stdout.cut || self.stderr.cut,
            stdout: self.stdout.bytes,
            stderr: self.stderr.bytes,
        }
    }
}
