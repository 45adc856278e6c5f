//! Starting and ending processes in the ways that are compared.

use crate::Outcome;
use crate::agent::{self, Role};
use crate::chain::Chain;
use crate::proc;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use stablehand::keeper::{AgentPipes, Keeper, KeeperProgram, Launch, Order, Report, Transport};
use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The argument that makes a keeper of `cursor-wrap`.
const KEEPER: &str = "__keeper";

/// Nothing here takes longer, unless it is broken.
const LIMIT: PollTimeout = PollTimeout::MAX;

/// `posix_spawn` of the agent alone, to its first byte.
pub fn plain(chain: &Chain) -> Outcome<Duration> {
    alone(chain.player(Role::Hello))
}

/// The same by `fork` and `exec`: what the standard library does as soon as it has to run anything
/// in the child, and what costs more the larger we are. Setting our own user id asks for it.
pub fn forked(chain: &Chain) -> Outcome<Duration> {
    let mut command = chain.player(Role::Hello);
    command.uid(nix::unistd::getuid().as_raw());
    alone(command)
}

/// `cursor-wrap -p` with the agent, to the first byte that comes out.
pub fn wrapped(chain: &Chain) -> Outcome<Duration> {
    let taken = alone(chain.wrapped(Role::Hello))?;
    chain.clear_logs()?;
    Ok(taken)
}

/// Before each start. A process that enters a cgroup waits for the kernel, unless another has just
/// done so: without a rest, one start would pay for the next.
const REST: Duration = Duration::from_millis(40);

fn alone(mut command: Command) -> Outcome<Duration> {
    std::thread::sleep(REST);
    let (mut reader, writer) = std::io::pipe()?;
    let began = Instant::now();
    let mut child = command.stdout(writer).spawn()?;
    reader.read_exact(&mut [0])?;
    let taken = began.elapsed();
    drop(command);
    std::io::copy(&mut reader, &mut std::io::sink())?;
    child.wait()?;
    Ok(taken)
}

/// Keeper and agent by the library, to the agent's first byte.
pub fn kept(chain: &Chain) -> Outcome<Duration> {
    std::thread::sleep(REST);
    let began = Instant::now();
    let (keeper, pipes) = start(chain, Role::Hello, &[])?;
    blocking(pipes.stdout)?.read_exact(&mut [0])?;
    let taken = began.elapsed();
    drop(keeper);
    Ok(taken)
}

fn start(chain: &Chain, role: Role, env: &[(&str, &str)]) -> Outcome<(Keeper, AgentPipes)> {
    let keeper = KeeperProgram { program: chain.wrap().to_owned(), args: vec![KEEPER.into()] };
    let mut all = vec![(agent::ROLE.into(), Some(role.name().into()))];
    all.extend(env.iter().map(|(name, value)| ((*name).into(), Some((*value).into()))));
    let launch = Launch {
        program: chain.agent().to_owned(),
        args: Vec::new(),
        env: all,
        cwd: None,
        transport: Transport::Pipe,
        release: None,
    };
    Ok(Keeper::start(&keeper, &launch)?)
}

fn blocking(fd: OwnedFd) -> Outcome<File> {
    fcntl(&fd, FcntlArg::F_SETFL(OFlag::empty()))?;
    Ok(File::from(fd))
}

/// Six processes in one group, killed by one signal; gone when the last has let go of the pipe.
pub fn group_killed(chain: &Chain) -> Outcome<Duration> {
    let (mut reader, writer) = std::io::pipe()?;
    let mut command = chain.player(Role::Tree);
    command.env(agent::LEAVES, "0").process_group(0).stdout(writer);
    let mut child = command.spawn()?;
    drop(command);
    reader.read_exact(&mut [0])?;
    let began = Instant::now();
    killpg(pid_of(&child)?, Signal::SIGKILL)?;
    std::io::copy(&mut reader, &mut std::io::sink())?;
    child.wait()?;
    Ok(began.elapsed())
}

/// Six processes, two of them in sessions of their own, killed by their keeper; gone when it says
/// so and the pipe agrees.
pub fn tree_killed(chain: &Chain) -> Outcome<Duration> {
    let (mut keeper, pipes) = start(chain, Role::Tree, &[(agent::LEAVES, "1")])?;
    let mut stdout = blocking(pipes.stdout)?;
    stdout.read_exact(&mut [0])?;
    let began = Instant::now();
    keeper.order(Order::KillTree { polite: Duration::ZERO })?;
    loop {
        match keeper.next_report() {
            Some(Report::TreeGone { survivors, .. }) if survivors.is_empty() => break,
            Some(Report::AgentExited(_)) => {}
            Some(other) => return Err(format!("the keeper reported {other:?}").into()),
            None => {
                poll(&mut [PollFd::new(keeper.fd(), PollFlags::POLLIN)], LIMIT)?;
            }
        }
    }
    std::io::copy(&mut stdout, &mut std::io::sink())?;
    Ok(began.elapsed())
}

fn pid_of(child: &Child) -> Outcome<Pid> {
    Ok(Pid::from_raw(i32::try_from(child.id())?))
}

/// A `cursor-wrap` that runs, its output read by us.
#[derive(Debug)]
pub struct Open {
    child: Child,
    stdout: PipeReader,
    buffer: Vec<u8>,
}

impl Open {
    /// Starts one with the agent in a role.
    pub fn start(chain: &Chain, role: Role, env: &[(&str, &str)]) -> Outcome<Open> {
        let (stdout, writer) = std::io::pipe()?;
        let mut command = chain.wrapped(role);
        let child = command.envs(env.iter().copied()).stdout(writer).spawn()?;
        Ok(Open { child, stdout, buffer: vec![0; 64 << 10] })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process id of its keeper, its only child.
    pub fn keeper(&self) -> Outcome<u32> {
        let children = proc::children_of(self.pid())?;
        children.first().copied().ok_or_else(|| "cursor-wrap has no keeper".into())
    }

    /// Waits for the first byte.
    pub fn first_byte(&mut self) -> Outcome<()> {
        Ok(self.stdout.read_exact(&mut [0])?)
    }

    /// Takes what is there; how many bytes, 0 at the end.
    pub fn read(&mut self) -> Outcome<usize> {
        Ok(self.stdout.read(&mut self.buffer)?)
    }

    /// Ends it, and waits until it has ended.
    pub fn stop(mut self) -> Outcome<()> {
        kill(pid_of(&self.child)?, Signal::SIGTERM)?;
        while self.read()? > 0 {}
        self.child.wait()?;
        Ok(())
    }
}
