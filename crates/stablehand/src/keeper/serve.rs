//! The keeper process: one thread that owns the agent's tree until its supervisor lets go of it.
//!
//! It waits for three things only, all in one `poll`: an order, the end of a child, and the end of
//! the supervisor, which closes the socket however it died. It never waits for anything else, and
//! never for the supervisor to read. How a tree is brought down is decided in `stop.rs`; how the
//! agent is started, in `spawn.rs`.

use super::Order;
use super::cgroup::Cgroup;
use super::isolate;
use super::spawn::{SpawnFailure, spawn};
use super::stop::{GroupStop, Step, Stop, group_of};
use super::wire::{Channel, FailedStage, FromKeeper, ToKeeper};
use crate::hooks::{self, Release};
use crate::keeper::Launch;
use crate::pages;
use crate::tree::{Process, Snapshot, raw_pid};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use stablehand_core::event::ProcessExit;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How long the launch request may take to come, and how long a failure may take to be told.
const START_LIMIT: Duration = Duration::from_secs(10);

/// How many ended children are reaped before the keeper looks at anything else.
const REAPS_AT_ONCE: usize = 1024;

/// Exit code when somebody else than a supervisor started us.
const NO_SUPERVISOR: i32 = 64;

/// The keeper's whole life. Returns its exit code.
///
/// The binary must call it for its hidden subcommand before it opens, starts or registers anything:
/// every descriptor above the standard three is closed.
pub fn serve() -> i32 {
    // There is a keeper for each run, so it is to be small at its peak as well: each step of the start
    // gives back what of the program it has touched.
    pages::give_back();
    isolate::close_inherited();
    let Ok(ended_children) = isolate::handle_signals() else {
        return NO_SUPERVISOR;
    };
    let Ok(mut channel) = isolate::take_socket().and_then(Channel::new) else {
        return NO_SUPERVISOR;
    };
    pages::give_back();
    let Ok((launch, pipes)) = receive_launch(&mut channel) else {
        return NO_SUPERVISOR;
    };
    pages::give_back();
    let cgroup = Cgroup::create();
    let started = isolate::own_the_tree()
        .map_err(|errno| SpawnFailure::new(FailedStage::Keeper, &errno.into()))
        .and_then(|()| spawn(&launch, pipes, cgroup.as_ref()));
    let afterwards = launch.release.clone();
    drop(launch);
    match started {
        Ok(agent) => {
            let mut server = Server::new(channel, ended_children, agent, cgroup);
            server.afterwards = afterwards;
            server.run()
        }
        Err(failure) => {
            if let Some(cgroup) = cgroup {
                cgroup.remove();
            }
            tell_failure(&mut channel, &failure);
            1
        }
    }
}

fn receive_launch(channel: &mut Channel) -> io::Result<(Launch, [OwnedFd; 3])> {
    let limit = Instant::now() + START_LIMIT;
    let pipes = loop {
        match channel.receive_pipes() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => break received?,
        }
        wait(channel, PollFlags::POLLIN, limit)?;
    };
    loop {
        if !channel.receive()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match channel.next()? {
            Some(ToKeeper::Launch(request)) => return Ok((request.into(), pipes)),
            Some(ToKeeper::Order(_) | ToKeeper::Farewell) => {
                return Err(io::ErrorKind::InvalidData.into());
            }
            None => wait(channel, PollFlags::POLLIN, limit)?,
        }
    }
}

fn tell_failure(channel: &mut Channel, failure: &SpawnFailure) {
    let message = FromKeeper::Failed { stage: failure.stage, errno: failure.errno };
    let limit = Instant::now() + START_LIMIT;
    // A supervisor that does not listen any more needs no answer.
    let mut told = channel.push(&message).and_then(|()| channel.flush());
    while told.is_ok() && channel.unsent_bytes() > 0 {
        told = wait(channel, PollFlags::POLLOUT, limit).and_then(|()| channel.flush());
    }
}

fn wait(channel: &Channel, flags: PollFlags, limit: Instant) -> io::Result<()> {
    let rest = limit.saturating_duration_since(Instant::now());
    if rest.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    match poll(&mut [PollFd::new(channel.as_fd(), flags)], poll_timeout(rest)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Rounded up, so that a poll never ends just before its deadline and spins.
fn poll_timeout(rest: Duration) -> PollTimeout {
    PollTimeout::try_from(rest + Duration::from_micros(999)).unwrap_or(PollTimeout::MAX)
}

/// Everything that the keeper knows once the agent runs.
struct Server {
    channel: Channel,
    ended_children: UnixStream,
    agent: u32,
    /// Until then its number, and that of its group, cannot belong to anybody else.
    agent_reaped: bool,
    cgroup: Option<Cgroup>,
    stop: Option<Stop>,
    groups: Vec<GroupStop>,
    /// The supervisor is gone.
    alone: bool,
    /// What is left to do when it did not go by itself.
    afterwards: Option<Release>,
}

impl Server {
    fn new(
        channel: Channel,
        ended_children: UnixStream,
        agent: u32,
        cgroup: Option<Cgroup>,
    ) -> Server {
        let mut server = Server {
            channel,
            ended_children,
            agent,
            agent_reaped: false,
            cgroup,
            stop: None,
            groups: Vec::new(),
            alone: false,
            afterwards: None,
        };
        let cgroup = server.cgroup.as_ref().map(|cgroup| cgroup.folder().as_os_str().as_bytes());
        let spawned = FromKeeper::Spawned { agent_pid: agent, cgroup: cgroup.map(<[u8]>::to_vec) };
        server.tell(&spawned);
        server
    }

    fn run(mut self) -> i32 {
        // The agent is on its way first; the loop below sees a failure again.
        let _seen_again = self.channel.flush();
        pages::give_back();
        loop {
            let childless = self.reap();
            let now = Instant::now();
            let groups = self.kill_late_groups(now);
            let tree = self.advance_stop(childless, now);
            if self.alone && self.stop.is_none() {
                break;
            }
            if !self.alone && self.channel.flush().is_err() {
                self.lose_supervisor();
                continue;
            }
            self.wait(groups.into_iter().chain(tree).min());
            self.hear();
        }
        self.release();
        if let Some(cgroup) = self.cgroup {
            cgroup.remove();
        }
        0
    }

    /// Gives a settings file back in the place of a supervisor that was killed. One that lives has
    /// said farewell, or else still holds its lock.
    fn release(&mut self) {
        // A report that nobody took may have kept us from hearing the last words.
        let _closed = self.channel.receive();
        while let Ok(Some(message)) = self.channel.next() {
            if matches!(message, ToKeeper::Farewell) {
                self.afterwards = None;
            }
        }
        if let Some(release) = self.afterwards.take() {
            // Nobody is there to be told; the next run tries again.
            let _put_right_later = hooks::release(&release);
        }
    }

    fn tell(&mut self, message: &FromKeeper) {
        if !self.alone && self.channel.push(message).is_err() {
            self.lose_supervisor();
        }
    }

    /// The lifeline: whoever wanted the agent is gone, so nobody is asked politely any more.
    fn lose_supervisor(&mut self) {
        if !self.alone {
            self.alone = true;
            self.begin_stop(Duration::ZERO);
        }
    }

    /// Sleeps until something happens, at most until `deadline`.
    fn wait(&self, deadline: Option<Instant>) {
        let timeout = deadline.map_or(PollTimeout::NONE, |deadline| {
            poll_timeout(deadline.saturating_duration_since(Instant::now()))
        });
        let mut flags = PollFlags::POLLIN;
        if self.channel.unsent_bytes() > 0 {
            flags |= PollFlags::POLLOUT;
        }
        let mut sources = [
            PollFd::new(self.ended_children.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.channel.as_fd(), flags),
        ];
        // A closed socket is always ready, and would keep us from sleeping.
        let count = if self.alone { 1 } else { 2 };
        // An interrupted sleep is a short one; the loop looks at everything anyway.
        let _woken = poll(sources.get_mut(..count).unwrap_or_default(), timeout);
    }

    /// Takes what has come since: ended children only as a wake-up, orders one by one.
    fn hear(&mut self) {
        let mut wakeups = [0_u8; 256];
        while matches!((&self.ended_children).read(&mut wakeups), Ok(len) if len > 0) {}
        if self.alone {
            return;
        }
        let open = self.channel.receive().unwrap_or(false);
        loop {
            match self.channel.next() {
                Ok(Some(ToKeeper::Order(order))) => self.obey(order),
                Ok(Some(ToKeeper::Farewell)) => self.afterwards = None,
                Ok(None) if open => return,
                Ok(None | Some(ToKeeper::Launch(_))) | Err(_) => return self.lose_supervisor(),
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Interrupt => self.signal_agent_group(&[Signal::SIGINT]),
            Order::Terminate => self.signal_agent_group(&[Signal::SIGTERM, Signal::SIGCONT]),
            Order::InterruptAgent => self.signal_agent(&[Signal::SIGINT]),
            Order::TerminateAgent => self.signal_agent(&[Signal::SIGTERM, Signal::SIGCONT]),
            Order::KillGroup { pid } => self.begin_group_stop(pid),
            Order::KillTree { polite } => self.begin_stop(polite),
        }
    }

    /// Reaps whoever has ended. True when the kernel says that we have no child at all, which is
    /// the only proof that the tree is gone.
    fn reap(&mut self) -> bool {
        for _ in 0..REAPS_AT_ONCE {
            match next_ended_child() {
                Ok(Some((pid, exit))) if pid == self.agent && !self.agent_reaped => {
                    self.agent_reaped = true;
                    self.tell(&FromKeeper::AgentExited(exit));
                }
                Ok(Some(_)) | Err(Errno::EINTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
        false
    }

    /// Everybody below us, parents first.
    fn descendants() -> Vec<Process> {
        let snapshot = Snapshot::take();
        snapshot.descendants(std::process::id()).into_iter().copied().collect()
    }

    fn signal_agent_group(&self, signals: &[Signal]) {
        // Once the agent is reaped, its group may be empty and the number somebody else's, so that
        // the members have to be looked up.
        let members = if self.agent_reaped { Self::descendants() } else { Vec::new() };
        for signal in signals {
            if self.agent_reaped {
                send(members.iter().filter(|process| process.pgid == self.agent), *signal);
            } else if let Ok(group) = raw_pid(self.agent) {
                // A group whose last member is just dying needs no signal.
                let _gone = killpg(group, *signal);
            }
        }
    }

    /// Once it is reaped, its number may be somebody else's.
    fn signal_agent(&self, signals: &[Signal]) {
        if let Some(agent) = raw_pid(self.agent).ok().filter(|_| !self.agent_reaped) {
            for signal in signals {
                let _gone = kill(agent, *signal);
            }
        }
    }

    fn begin_group_stop(&mut self, leader: u32) {
        let victims = group_of(leader, self.agent, &Self::descendants());
        if victims.is_empty() {
            return;
        }
        send(&victims, Signal::SIGTERM);
        send(&victims, Signal::SIGCONT);
        self.groups.push(GroupStop::new(leader, victims, Instant::now()));
    }

    /// Kills what is left of background groups whose time is up; returns when to look again.
    fn kill_late_groups(&mut self, now: Instant) -> Option<Instant> {
        for group in self.groups.extract_if(.., |group| group.until <= now) {
            send(&group.victims, Signal::SIGKILL);
            send(&group_of(group.leader, self.agent, &Self::descendants()), Signal::SIGKILL);
        }
        self.groups.iter().map(|group| group.until).min()
    }

    fn begin_stop(&mut self, polite: Duration) {
        let now = Instant::now();
        if let Some(stop) = &mut self.stop {
            stop.hurry(polite, now);
            return;
        }
        let mut found = Self::descendants();
        found.retain(Process::is_alive);
        let stop = Stop::new(found, polite, now).name_commands();
        if !polite.is_zero() {
            send(&stop.found, Signal::SIGTERM);
            send(&stop.found, Signal::SIGCONT);
        }
        self.stop = Some(stop);
    }

    /// Carries on with the end of the tree; returns when to look again.
    fn advance_stop(&mut self, childless: bool, now: Instant) -> Option<Instant> {
        let stop = self.stop.as_mut()?;
        let gone = childless && left_behind(&stop.found).is_empty();
        match stop.step(gone, now) {
            Step::Wait(until) => return Some(until),
            Step::Kill(again) => {
                let escaped = left_behind(&stop.found);
                if let Some(cgroup) = &self.cgroup {
                    cgroup.kill();
                }
                send(Self::descendants().iter().chain(&escaped), Signal::SIGKILL);
                return Some(again);
            }
            Step::Done => self.end_stop(&[]),
            Step::GiveUp => self.end_stop(&Self::descendants()),
        }
        None
    }

    fn end_stop(&mut self, survivors: &[Process]) {
        if let Some(stop) = self.stop.take() {
            let others = stop.found.iter().filter(|process| process.pid != self.agent);
            let leaked = others.map(|process| stop.row(process)).collect();
            let survivors = survivors.iter().filter(|process| process.is_alive());
            let survivors = survivors.map(|process| stop.row(process)).collect();
            self.tell(&FromKeeper::TreeGone { leaked, survivors });
        }
    }
}

/// Signals everybody; those who are gone or not ours to signal show up among the survivors.
fn send<'a>(processes: impl IntoIterator<Item = &'a Process>, signal: Signal) {
    for process in processes.into_iter().filter(|process| process.is_alive()) {
        let _gone = process.signal(signal);
    }
}

/// Those of `found` who live on but are not below us any more. Linux gives us every orphan, so
/// there is nobody.
#[cfg(target_os = "linux")]
fn left_behind(_found: &[Process]) -> Vec<Process> {
    Vec::new()
}

/// Those of `found` who live on. Elsewhere an orphan goes to the system's first process, and only
/// its number, group and name are left to know it by.
#[cfg(not(target_os = "linux"))]
fn left_behind(found: &[Process]) -> Vec<Process> {
    let snapshot = Snapshot::take();
    found.iter().filter(|process| snapshot.has_same(process)).copied().collect()
}

/// One ended child with its status, or nothing while all are running.
#[expect(unsafe_code, reason = "the safe wrapper loses the status of a real-time signal")]
fn next_ended_child() -> Result<Option<(u32, ProcessExit)>, Errno> {
    let mut status = 0;
    // SAFETY: `status` outlives the call, and nobody else in this process waits for children.
    let pid =
        Errno::result(unsafe { nix::libc::waitpid(-1, &raw mut status, nix::libc::WNOHANG) })?;
    let Some(pid) = u32::try_from(pid).ok().filter(|pid| *pid > 0) else {
        return Ok(None);
    };
    let status = ExitStatus::from_raw(status);
    let exit = match (status.code(), status.signal()) {
        (Some(code), _) => ProcessExit::Code(code),
        (None, Some(signal)) => ProcessExit::Signal(signal),
        (None, None) => ProcessExit::Unknown,
    };
    Ok(Some((pid, exit)))
}
