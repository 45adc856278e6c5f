//! Waiting for whatever comes first, and reading it.

use super::channel::{Channel, Channels};
use super::inform::whole;
use super::stop::StopReason;
use super::{Driver, GAP, HEARTBEAT, Phase, SUSPENSION};
use crate::keeper::Report;
use crate::sink::PassThrough;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand_core::event::ProcessExit;
use stablehand_core::monitor::Input;
use stablehand_core::record::DecisionRecord;
use std::time::Duration;

/// The longest that a full pipe of ours keeps us from reading the agent.
const PAUSE: Duration = Duration::from_millis(10);

/// What a descriptor is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Stdout,
    Stderr,
    Prompt,
    Channel,
    Hooks,
    Keeper,
    Requests,
    StdoutSink,
    StderrSink,
}

impl Driver<'_> {
    /// One wait, and one reading of everything that is there.
    pub(super) fn wait(&mut self, channels: &mut Channels) {
        let before = self.moment();
        let mut planned = self.time_to_next_deadline(channels, before);
        let pause = self.pauses(before);
        if pause {
            planned = planned.min(PAUSE);
        }
        let ready = self.poll(channels, planned, pause);
        self.mark = self.clock.now();
        let slept = self.mark.since(before);
        if slept > planned + GAP {
            // We were stopped or starved. Whatever the agent said meanwhile is still in its pipe,
            // and the time counts for nobody.
            let gap = slept.saturating_sub(planned);
            self.tell(Input::Gap(whole(gap)), self.mark);
        }
        let suspended = self.clock.take_suspension();
        if suspended > SUSPENSION {
            self.tell(Input::Suspended(whole(suspended)), self.clock.now());
        }
        self.follow_wall_clock();
        if ready.contains(&Source::Stdout) {
            self.read_stdout(channels);
        }
        if ready.contains(&Source::Stderr) {
            self.read_stderr();
        }
        if ready.contains(&Source::Channel) {
            self.act(channels);
            channels.primary.ready(self);
        }
        if ready.contains(&Source::Prompt) {
            self.write_prompt();
        }
        for (source, sink) in [
            (Source::StdoutSink, &mut self.faces.stdout),
            (Source::StderrSink, &mut self.faces.stderr),
        ] {
            if let Some(sink) = sink.as_mut().filter(|_| ready.contains(&source)) {
                if sink.is_holding() {
                    sink.offer(self.stdout.last_chunk());
                } else {
                    sink.pump();
                }
            }
        }
        self.log.flush();
        // While nothing but the agent's output moves, asking the others would cost as many system
        // calls as passing it on. What they say makes their descriptors ready.
        let only_output = ready.iter().all(|s| matches!(s, Source::Stdout | Source::StdoutSink));
        let streaming = only_output && !ready.is_empty() && self.phase == Phase::Running;
        if !streaming || self.stop.reason().is_some() {
            self.serve_requests(channels);
            self.serve_keeper();
        }
        self.serve_losses(channels.primary.as_mut());
    }

    /// Whether to leave the agent's output in its pipe for a moment, because our reader has not
    /// taken the last chunk whole. One that is nearly quick enough catches up meanwhile, as it
    /// would behind `cat`, and the detour through the log is spared; a slow one gets no more than
    /// this moment, and the agent's pipe holds far more than it can write in it.
    fn pauses(&mut self, now: stablehand_core::Moment) -> bool {
        if !self.faces.stdout.as_ref().is_some_and(PassThrough::is_holding) {
            self.held_since = None;
            return false;
        }
        now.since(*self.held_since.get_or_insert(now)) < PAUSE
    }

    /// The present moment, for whoever is about to judge by it. We may have been stopped anywhere,
    /// not only while we waited: what passed since the last look, beyond what our own work takes,
    /// counts for nobody.
    pub(super) fn moment(&mut self) -> stablehand_core::Moment {
        let now = self.clock.now();
        let passed = now.since(self.mark);
        if passed > GAP {
            self.tell(Input::Gap(passed), now);
        }
        self.mark = now;
        now
    }

    fn time_to_next_deadline(&self, channels: &Channels, now: stablehand_core::Moment) -> Duration {
        let mut next = now.plus(HEARTBEAT);
        let deadlines = [
            self.monitor.deadline(),
            self.stop.deadline(),
            self.phase_deadline(),
            self.interaction.deadline(),
            channels.deadline(self),
            self.sample.as_ref().map(|sample| sample.due),
            self.shown.deadline(),
        ];
        for deadline in deadlines.into_iter().flatten() {
            next = next.min(deadline);
        }
        next.since(now)
    }

    fn poll(&self, channels: &Channels, bound: Duration, pause: bool) -> Vec<Source> {
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(7);
        let mut sources = Vec::with_capacity(7);
        let mut add = |fd, flags, source| {
            fds.push(PollFd::new(fd, flags));
            sources.push(source);
        };
        if let Some(fd) = self.stdout.fd().filter(|_| !self.congested && !pause) {
            add(fd, PollFlags::POLLIN, Source::Stdout);
        }
        if let Some(fd) = self.stderr.fd().filter(|_| !self.congested) {
            add(fd, PollFlags::POLLIN, Source::Stderr);
        }
        if let Some(fd) = self.prompt.fd() {
            add(fd, PollFlags::POLLOUT, Source::Prompt);
        }
        add(self.keeper.fd(), PollFlags::POLLIN, Source::Keeper);
        add(self.requests.fd(), PollFlags::POLLIN, Source::Requests);
        let mut wanted = Vec::new();
        channels.primary.wants(self, &mut wanted);
        let of_primary = wanted.len();
        if let Some(hooks) = &channels.hooks {
            hooks.wants(self, &mut wanted);
        }
        for (at, (fd, flags)) in wanted.into_iter().enumerate() {
            add(fd, flags, if at < of_primary { Source::Channel } else { Source::Hooks });
        }
        for (sink, source) in
            [(&self.faces.stdout, Source::StdoutSink), (&self.faces.stderr, Source::StderrSink)]
        {
            if let Some(fd) = sink.as_ref().and_then(PassThrough::wants_write) {
                add(fd, PollFlags::POLLOUT, source);
            } else if let Some(fd) = sink.as_ref().and_then(PassThrough::watches) {
                // Nothing to write, but a reader that goes away shows here.
                add(fd, PollFlags::empty(), source);
            }
        }
        let timeout =
            PollTimeout::try_from(bound.as_nanos().div_ceil(1_000_000)).unwrap_or(PollTimeout::MAX);
        if poll(&mut fds, timeout).is_err() {
            return Vec::new(); // A signal; the loop comes round again.
        }
        let hit = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        sources.into_iter().zip(&fds).filter(|(_, fd)| hit(fd)).map(|(source, _)| source).collect()
    }

    /// A reader or a log that failed us ends the run.
    fn serve_losses(&mut self, channel: &mut dyn Channel) {
        if let Some(sink) = &mut self.faces.stdout
            && sink.is_gone()
        {
            sink.report_failure(self.log);
            channel.reader_gone(self);
        }
        if self.log.has_failed() {
            self.stop_for_failed_log();
        }
    }

    pub(super) fn serve_keeper(&mut self) {
        while let Some(report) = self.keeper.next_report() {
            let now = self.clock.now();
            match report {
                Report::AgentExited(exit) => {
                    self.exit = Some(exit);
                    self.tell(Input::AgentExited, now);
                    if self.phase == Phase::Running {
                        self.phase = Phase::Draining { since: now, last_byte: now };
                    }
                }
                Report::TreeGone { leaked, survivors } => {
                    self.leaked = leaked;
                    self.survivors = survivors;
                    self.phase = Phase::Over;
                }
                Report::Lost => self.keeper_was_lost(),
            }
        }
    }

    /// Somebody killed the keeper. What it held is no longer ours to reap, but can be signalled.
    fn keeper_was_lost(&mut self) {
        if self.phase == Phase::Over {
            return;
        }
        self.stamp_now();
        let text = "the keeper process ended unexpectedly; stopping the agent's group";
        self.log.decide(DecisionRecord::KeeperLost(text.into()), None);
        self.kill_group_ourselves();
        self.exit.get_or_insert(ProcessExit::Unknown);
        self.stop.begin(StopReason::KeeperLost, self.clock.now());
        self.phase = Phase::Over;
    }
}
