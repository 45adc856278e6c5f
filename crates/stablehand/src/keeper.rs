//! The keeper, seen from the supervisor: a small process per run that owns the agent's whole tree.
//!
//! ```text
//! supervisor (us)
//!   └─ keeper     its own session, adopts every orphan below it, one thread
//!        └─ agent its own process group, no terminal, default signals, three pipes to us;
//!                 or its own session at a pseudo-terminal, of which we hold the other side
//! ```
//!
//! The keeper is this program started again with a hidden argument ([`KeeperProgram`]), and talks
//! with us over a socket. The socket is also the lifeline: when our end closes, because the
//! [`Keeper`] was dropped or because we were killed, the keeper kills everything below it and
//! ends. So a tree never outlives its supervisor.
//!
//! Why a process of its own: adopted orphans must be reaped with `waitpid(-1)`, which in the
//! supervisor would steal the exit statuses of everybody's children; an orphan must belong to one
//! run; and something must still be there when the supervisor is killed. Spawning it is a plain
//! `posix_spawn` and costs the same whatever our own size.
//!
//! On Linux the promise is whole: orphans, daemons, other sessions and process groups, cleared
//! environments, and ignored signals make no difference, and `waitpid` proves that nobody is left.
//! What cannot be killed in five seconds (a process of another user, one that waits for a dead file
//! server) is named. On macOS and other systems there is no adoption of orphans; there it is best
//! effort with process groups and snapshots: a daemon that left the tree before the kill began is
//! not found.
//!
//! This file owns the handle and its types. It does not decide when to stop an agent.

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(not(target_os = "linux"))]
#[path = "keeper/no_cgroup.rs"]
mod cgroup;
mod isolate;
mod lost;
mod pipes;
mod pty;
mod serve;
mod spawn;
mod stop;
mod wire;

pub use pipes::AgentPipes;
pub(crate) use pty::set_size;
pub use serve::serve;

use crate::hooks::Release;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use serde::{Deserialize, Serialize};
use stablehand_core::event::{ProcessExit, ProcessRow};
use stablehand_core::terminal::TerminalSize;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;
use wire::{Channel, FailedStage, FromKeeper, LaunchRequest, ToKeeper};

/// How long the keeper and the agent may take to start.
const START_LIMIT: Duration = Duration::from_secs(10);

/// How long a dropped keeper may take to kill its tree: its own limit of five seconds, and a
/// second for a busy machine.
const DROP_LIMIT: Duration = Duration::from_secs(6);

/// How long a keeper that was killed may take to vanish.
const REAP_LIMIT: Duration = Duration::from_millis(500);

/// Orders that may wait for a keeper that does not read. It reads at once unless it was stopped.
const MAX_UNSENT_BYTES: usize = 64 << 10;

/// How to start ourselves as keeper: a program that calls [`serve`] when it gets these arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperProgram {
    /// Usually our own executable.
    pub program: PathBuf,
    /// Usually the hidden subcommand.
    pub args: Vec<OsString>,
}

/// What to start as agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The program. Without a slash it is looked up on the agent's `PATH`; a relative path with one
    /// starts from our own working directory, not from the agent's.
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// Changes to our own environment; `None` removes the variable.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Its working directory; ours where absent.
    pub cwd: Option<PathBuf>,
    /// What its standard streams are.
    pub transport: Transport,
    /// Hooks in a settings file that the keeper takes out, once the tree is gone, when we were
    /// killed. While we live that is our own business.
    pub release: Option<Release>,
}

/// What an agent's standard streams are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Three pipes.
    #[default]
    Pipe,
    /// Nothing to read, and one pipe for both outputs: what is printed stays in its order.
    Together,
    /// A pseudo-terminal of its own, which is also its controlling terminal: the agent leads a
    /// session, not only a process group.
    Pty {
        /// The size that it has from the start.
        size: TerminalSize,
    },
}

/// What the keeper can be told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// `SIGINT` to the agent's process group.
    Interrupt,
    /// `SIGTERM`, then `SIGCONT` so that a stopped process sees it, to the agent's process group.
    Terminate,
    /// `SIGINT` to the agent alone.
    InterruptAgent,
    /// `SIGTERM`, then `SIGCONT`, to the agent alone.
    TerminateAgent,
    /// `SIGTERM`, and two seconds later `SIGKILL`, to the group that process `pid` leads and to
    /// everything below it. Nothing happens if `pid` is not in the tree, or is the agent.
    KillGroup {
        /// The background process.
        pid: u32,
    },
    /// Ends the tree: `SIGTERM` and `SIGCONT` to everybody, `SIGKILL` after `polite` (at once if it
    /// is zero) until nobody is left, for at most five seconds. Answered by one
    /// [`Report::TreeGone`]; a second such order before the answer can only shorten the wait.
    KillTree {
        /// How long everybody has to end by themselves.
        polite: Duration,
    },
}

/// What the keeper tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The agent has ended. Others of its tree may live on.
    AgentExited(ProcessExit),
    /// A [`Order::KillTree`] is over.
    TreeGone {
        /// Everybody but the agent who was alive when the kill began.
        leaked: Vec<ProcessRow>,
        /// Who could not be killed in time; usually nobody.
        survivors: Vec<ProcessRow>,
    },
    /// The keeper itself is gone, although nobody asked it to be. What could be found of its tree
    /// was killed, without proof. Told exactly once, and nothing comes after it.
    Lost,
}

/// Why an agent could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no such program.
    #[error("the program `{}` was not found", program.display())]
    NotFound {
        /// As it was given.
        program: PathBuf,
    },
    /// It may not be executed: no permission, or a directory.
    #[error("the program `{}` cannot be executed", program.display())]
    NotExecutable {
        /// As it was given.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program is there, but the interpreter or loader that it names is not.
    #[error("the program `{}` needs an interpreter that was not found", program.display())]
    NoInterpreter {
        /// As it was given.
        program: PathBuf,
    },
    /// The working directory cannot be entered.
    #[error("the working directory `{}` cannot be entered", cwd.display())]
    BadWorkingDirectory {
        /// As it was given.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It could not be started for another reason.
    #[error("the program `{}` could not be started", program.display())]
    Failed {
        /// As it was given.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// We have no descriptors, memory or pseudo-terminals left.
    #[error("could not make the pipes or the terminal for the agent")]
    Pipes {
        /// What the system said.
        source: io::Error,
    },
    /// Another run has the session that is to be continued.
    #[error(transparent)]
    SessionTaken(crate::lease::LeaseError),
    /// The agent's hooks could not be set up, so nothing would hold it.
    #[error("{what}")]
    Hooks {
        /// What was tried.
        what: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The keeper did not start, or ended before it answered.
    #[error("the keeper `{}` could not be started", program.display())]
    Keeper {
        /// The keeper's program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The keeper neither started the agent nor said why not.
    #[error("the keeper `{}` did not answer in {} s", program.display(), limit.as_secs())]
    NoAnswer {
        /// The keeper's program.
        program: PathBuf,
        /// How long we waited.
        limit: Duration,
    },
}

/// Why an order could not be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// The keeper is gone; [`Report::Lost`] says so too.
    #[error("the keeper is gone")]
    Gone,
    /// Too many orders wait for it. It must have been stopped.
    #[error("the keeper does not take orders")]
    Stuck,
}

/// A running keeper with its agent.
///
/// Dropping it kills the whole tree at once, waits until the keeper has seen to that, and reaps the
/// keeper: a few milliseconds as a rule, about six seconds at most.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    channel: Channel,
    agent_pid: u32,
    cgroup: Option<PathBuf>,
    transport: Transport,
    lost: bool,
}

impl Keeper {
    /// Starts a keeper, and through it the agent. Waits until the agent runs or has failed to, for
    /// at most ten seconds.
    pub fn start(
        program: &KeeperProgram,
        launch: &Launch,
    ) -> Result<(Keeper, AgentPipes), SpawnError> {
        let deadline = Instant::now() + START_LIMIT;
        let (ours, agents) = match launch.transport {
            Transport::Pipe => pipes::make(),
            Transport::Together => pipes::make_together(),
            Transport::Pty { size } => pty::make(size),
        }
        .map_err(|source| SpawnError::Pipes { source })?;
        let keeper_error = |source| SpawnError::Keeper { program: program.program.clone(), source };
        let (here, there) = UnixStream::pair().map_err(keeper_error)?;
        let channel = Channel::new(here).map_err(keeper_error)?;
        // No `pre_exec`, no group, no directory: the standard library then uses `posix_spawn`.
        let child = Command::new(&program.program)
            .args(&program.args)
            .stdin(Stdio::from(OwnedFd::from(there)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(keeper_error)?;
        // From here on, dropping this reaps the keeper whatever happens.
        let mut keeper = Keeper {
            child,
            channel,
            agent_pid: 0,
            cgroup: None,
            transport: launch.transport,
            lost: false,
        };
        let answer = keeper.launch(launch, agents, deadline).map_err(|source| {
            if source.kind() == io::ErrorKind::TimedOut {
                SpawnError::NoAnswer { program: program.program.clone(), limit: START_LIMIT }
            } else {
                keeper_error(source)
            }
        })?;
        match answer {
            FromKeeper::Spawned { agent_pid, cgroup } => {
                keeper.agent_pid = agent_pid;
                keeper.cgroup = cgroup.map(|path| PathBuf::from(OsString::from_vec(path)));
                Ok((keeper, ours))
            }
            FromKeeper::Failed { stage: FailedStage::Keeper, errno } => {
                Err(keeper_error(io::Error::from_raw_os_error(errno)))
            }
            FromKeeper::Failed { stage, errno } => Err(launch_error(launch, stage, errno)),
            FromKeeper::AgentExited(_) | FromKeeper::TreeGone { .. } => {
                Err(keeper_error(io::ErrorKind::InvalidData.into()))
            }
        }
    }

    /// The keeper's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The agent's process id, which is also that of its process group.
    pub fn agent_pid(&self) -> u32 {
        self.agent_pid
    }

    /// The cgroup that the agent runs in, where the system lets us make one.
    pub fn cgroup(&self) -> Option<&std::path::Path> {
        self.cgroup.as_deref()
    }

    /// Readable when [`Keeper::next_report`] has something to tell. Ask that until it says `None`
    /// before polling again.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// The next report, if there is one. Does not block, but for at most half a second when the
    /// keeper was lost and its tree has to be looked for.
    pub fn next_report(&mut self) -> Option<Report> {
        if self.lost {
            return None;
        }
        // An order that found the socket full may go out now; a failure shows up below.
        let _failed = self.channel.flush();
        let open = self.channel.receive().unwrap_or(false);
        match self.channel.next() {
            Ok(Some(FromKeeper::AgentExited(exit))) => Some(Report::AgentExited(exit)),
            Ok(Some(FromKeeper::TreeGone { leaked, survivors })) => {
                Some(Report::TreeGone { leaked, survivors })
            }
            Ok(None) if open => None,
            Ok(None | Some(FromKeeper::Spawned { .. } | FromKeeper::Failed { .. })) | Err(_) => {
                self.lose();
                Some(Report::Lost)
            }
        }
    }

    /// Gives an order. Does not wait for it to be carried out.
    pub fn order(&mut self, order: Order) -> Result<(), KeeperError> {
        if self.lost {
            return Err(KeeperError::Gone);
        }
        if self.channel.unsent_bytes() > MAX_UNSENT_BYTES {
            return Err(KeeperError::Stuck);
        }
        // The agent may have stopped its keeper, by mistake or not.
        self.wake();
        let sent = self.channel.push(&ToKeeper::Order(order)).and_then(|()| self.channel.flush());
        sent.map_err(|_| KeeperError::Gone)
    }

    fn launch(
        &mut self,
        launch: &Launch,
        agents: [OwnedFd; 3],
        deadline: Instant,
    ) -> io::Result<FromKeeper> {
        self.channel.send_pipes(&agents.each_ref().map(AsFd::as_fd))?;
        // The agent must be the only one who holds them, or they would never end.
        drop(agents);
        self.channel.push(&ToKeeper::Launch(LaunchRequest::from(launch)))?;
        loop {
            self.channel.flush()?;
            let open = self.channel.receive()?;
            if let Some(answer) = self.channel.next()? {
                return Ok(answer);
            }
            if !open {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let mut flags = PollFlags::POLLIN;
            if self.channel.unsent_bytes() > 0 {
                flags |= PollFlags::POLLOUT;
            }
            let timeout = PollTimeout::try_from(rest).unwrap_or(PollTimeout::MAX);
            match poll(&mut [PollFd::new(self.channel.as_fd(), flags)], timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Lets a stopped keeper run. Its number is ours until we reap it.
    fn wake(&self) {
        if let Ok(pid) = crate::tree::raw_pid(self.child.id()) {
            let _gone = kill(pid, Signal::SIGCONT);
        }
    }

    /// The keeper has closed its end, or speaks nonsense. Makes sure that it is dead, and does what
    /// can still be done about its tree.
    fn lose(&mut self) {
        self.lost = true;
        // The handle remembers a reaped keeper and then signals nobody.
        let _gone = self.child.kill();
        self.sweep();
        // A keeper that even now does not vanish has to stay a zombie.
        let _stays = self.reap(REAP_LIMIT);
    }

    fn sweep(&self) {
        let session = match self.transport {
            Transport::Pty { .. } if self.agent_pid != 0 => Some(self.agent_pid),
            Transport::Pty { .. } | Transport::Pipe | Transport::Together => None,
        };
        lost::sweep(self.child.id(), session, self.cgroup.as_deref());
    }

    /// Waits for the keeper's end, but not for ever.
    fn reap(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + limit;
        let mut pause = Duration::from_micros(500);
        loop {
            let status = self.child.try_wait()?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Nobody wants to hear the reports any more, but a keeper that is lost already must be
        // found to be so before it is reaped.
        while self.next_report().is_some() {}
        // What we were to do at the end, we do ourselves; one that does not hear it sees that we live.
        let _unheard = self.channel.push(&ToKeeper::Farewell).and_then(|()| self.channel.flush());
        self.channel.close();
        if self.lost {
            return;
        }
        self.wake();
        match self.reap(DROP_LIMIT) {
            Ok(None) => self.lose(),
            // Somebody has killed it just now.
            Ok(Some(status)) if status.code().is_none() => {
                self.sweep();
            }
            Ok(Some(_)) | Err(_) => {}
        }
    }
}

fn launch_error(launch: &Launch, stage: FailedStage, errno: i32) -> SpawnError {
    let program = launch.program.clone();
    let source = io::Error::from_raw_os_error(errno);
    match (stage, Errno::from_raw(errno)) {
        (FailedStage::WorkingDirectory, _) => {
            SpawnError::BadWorkingDirectory { cwd: launch.cwd.clone().unwrap_or_default(), source }
        }
        (FailedStage::Interpreter, _) => SpawnError::NoInterpreter { program },
        (_, Errno::ENOENT | Errno::ENOTDIR) => SpawnError::NotFound { program },
        (_, Errno::EACCES | Errno::EPERM) => SpawnError::NotExecutable { program, source },
        _ => SpawnError::Failed { program, source },
    }
}
