//! Carrying out what was decided: by the monitor, by a person, by the end of the process.

use super::channel::Channels;
use super::stop::StopReason;
use super::streams::StdoutStream;
use super::{CLEAN_MAX, DRAIN_IDLE, DRAIN_MAX, Driver, POLITE, Phase, RunSpec, notes};
use crate::keeper::Order;
use crate::lease::{Lease, LeaseError};
use crate::log::Log;
use crate::sink::PassThrough;
use crate::tree;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use stablehand_core::event::{EventKind, Health, Outcome};
use stablehand_core::id::SessionId;
use stablehand_core::monitor::{Action, Input, Judgement};
use stablehand_core::record::{DecisionRecord, NoFields, StopStage, WaitEnded};
use stablehand_core::{Depth, Moment};
use std::time::Duration;

/// How long the tree is watched when the monitor asks whether it is busy.
const WITNESS_WINDOW: Duration = Duration::from_secs(1);

/// A look at the tree that is under way.
#[derive(Debug)]
pub(super) struct Sample {
    began: Moment,
    cpu_ms: u64,
    /// Who was at work, or waited for a processor.
    runnable: Vec<u32>,
    pub(super) due: Moment,
}

impl Driver<'_> {
    /// Does what the monitor wants done.
    pub(super) fn act(&mut self, channels: &mut Channels) {
        if !self.actions.is_empty() {
            self.act_at(self.clock.now());
        }
        if let Some(now) = self.verdict_at.take()
            && let Some(judgement) = self.judged.take()
        {
            if !channels.primary.cancel_turns(self, &judgement, now) {
                self.stop.begin(StopReason::Verdict(judgement.kind), now);
            }
            self.judged = Some(judgement);
        }
    }

    /// The same, for what was decided at this moment. A verdict is put on record at once; it concerns
    /// the channels, and is carried out by [`Driver::act`].
    pub(super) fn act_at(&mut self, now: Moment) {
        if self.actions.is_empty() {
            return;
        }
        self.stamp(now);
        // Carrying out one may bring about another.
        while !self.actions.is_empty() {
            for action in std::mem::take(&mut self.actions) {
                self.act_on(action, now);
            }
        }
        self.log.flush();
    }

    fn act_on(&mut self, action: Action, now: Moment) {
        let log = &mut *self.log;
        match action {
            Action::Health { from, to, why } => {
                let event = EventKind::HealthChanged { from, to, why, evidence: None };
                log.decide_known(DecisionRecord::HealthChanged(NoFields {}), Some(&event));
            }
            Action::Waiting { silence, open, why } => {
                log.decide_known(notes::waiting(silence, &open, why), None);
            }
            Action::LimitsMoved { by, cause, why } => {
                log.decide(notes::limits_moved(by, cause, why), None);
            }
            Action::ToolOpened(tool) => {
                log.decide_known(notes::opened(&tool), None);
                if let Some(odd) = self.odd.as_mut().and_then(|odd| odd.opened(&tool)) {
                    log.decide(odd, None);
                }
                // The decision to wait for it is a decision, too; in the rhythm of the others.
                let rhythm = self.spec.limits.waiting_interval;
                if self.waiting_noted.is_none_or(|noted| now.since(noted) >= rhythm) {
                    self.waiting_noted = Some(now);
                    let why = notes::why_wait(&tool);
                    let open = [tool];
                    log.decide_known(notes::waiting(Duration::ZERO, &open, why), None);
                }
            }
            Action::ToolClosed { call, presumed, elapsed, outcome } => {
                // Only what went wrong is told in the agent's words.
                let went_well = matches!(outcome, None | Some(Outcome::Success));
                let closed = notes::closed(call, presumed, elapsed, outcome);
                if went_well {
                    log.decide_known(closed, None);
                } else {
                    log.decide(closed, None);
                }
            }
            Action::AskWitness => {
                log.decide(DecisionRecord::WitnessAsked(NoFields {}), None);
                let rows = self.whole_tree();
                self.sample = Some(Sample {
                    began: now,
                    cpu_ms: tree::cpu_ms(&rows),
                    runnable: tree::runnable(&rows),
                    due: now.plus(WITNESS_WINDOW),
                });
            }
            Action::StopBackground { pids } => {
                log.decide(notes::background(&pids), None);
                for pid in pids {
                    let _lost_keeper_reports_itself = self.keeper.order(Order::KillGroup { pid });
                }
            }
            Action::SoftStop { verdict, why } => {
                log.decide(notes::soft_stop(verdict, why), None);
            }
            Action::Livelock { period, rounds, command } => {
                log.decide(notes::livelock(period, rounds, command), None);
            }
            Action::ResultStands => self.result_stands(WaitEnded::Quiet, now),
            Action::ExitOverdue => {
                log.decide(notes::exit_overdue(), None);
                self.stop.begin(StopReason::ExitOverdue, now);
            }
            Action::Verdict(judgement) => self.judged(*judgement, now),
        }
    }

    /// Takes the result that came while background tasks were open for the last one of its turn.
    pub(super) fn result_stands(&mut self, by: WaitEnded, now: Moment) {
        self.stamp(now);
        self.log.decide(notes::result_stands(by), None);
        let StdoutStream { decoder, events, .. } = &mut self.stdout;
        decoder.finish(Depth::Skim, events);
        for event in events.drain(..) {
            let input = Input::Event { kind: &event, native: decoder.last_type() };
            self.monitor.handle(input, now, &mut self.actions);
            self.facts.take(&event);
            self.interaction.saw(&event);
        }
    }

    pub(super) fn judged(&mut self, mut judgement: Judgement, now: Moment) {
        self.stamp(now);
        // Where the monitor judged, it says by what; whoever sits at the terminal does not.
        let of_monitor = judgement.evidence.verdict.is_some();
        self.look_at_screen(&mut judgement);
        let evidence = &mut judgement.evidence;
        evidence.processes = self.whole_tree();
        evidence.pipe_unread = self.stdout.fd().and_then(notes::unread);
        let event = EventKind::HealthChanged {
            from: judgement.from,
            to: Health::Stalled,
            why: judgement.text.clone(),
            evidence: Some(Box::new(judgement.evidence.clone())),
        };
        let last_event = self.spec.dialect.event_type(self.monitor.last_event());
        let verdict = notes::verdict(&judgement, last_event, of_monitor);
        self.log.decide(verdict, Some(&event));
        self.log.sync();
        if self.spec.observe_only {
            self.log.decide(notes::would_have_killed(&judgement), None);
            self.monitor.resume_after_verdict(now);
        } else {
            self.judged = Some(judgement);
            self.verdict_at = Some(now);
        }
    }

    /// Lets the monitor judge, once everything readable has been read.
    pub(super) fn judge_if_due(&mut self, channels: &mut Channels) {
        let now = self.moment();
        let sinks = [&self.faces.stdout, &self.faces.stderr];
        let congested =
            self.log.is_congested() || sinks.into_iter().flatten().any(PassThrough::is_congested);
        if congested != self.congested {
            self.congested = congested;
            self.tell(Input::Backpressure(congested), now);
        }
        if let Some(sample) = self.sample.take_if(|sample| sample.due <= now) {
            let rows = self.whole_tree();
            let cpu_ms = tree::cpu_ms(&rows);
            let still = tree::runnable(&rows);
            let input = Input::Witness {
                tree_cpu: Duration::from_millis(cpu_ms.saturating_sub(sample.cpu_ms)),
                window: now.since(sample.began),
                other_activity: sample.runnable.iter().any(|pid| still.contains(pid)),
            };
            self.tell(input, now);
        }
        if self.monitor.deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        if self.everything_is_read(channels) {
            let now = self.moment();
            if self.monitor.deadline().is_some_and(|deadline| deadline <= now) {
                self.tell(Input::Tick, now);
            }
        }
    }

    pub(super) fn stop_by_signal(&mut self, signal: i32) {
        self.stop.begin(StopReason::Signal(signal), self.clock.now());
    }

    pub(super) fn stop_for_lost_reader(&mut self) {
        self.stop.begin(StopReason::ReaderGone, self.clock.now());
    }

    pub(super) fn stop_for_failed_log(&mut self) {
        self.stop.begin(StopReason::LogFailed, self.clock.now());
    }

    /// The next stage of a stop, when its time has come.
    pub(super) fn advance_stop(&mut self, channels: &mut Channels) {
        let now = self.clock.now();
        let Some(stage) = self.stop.due(now) else { return };
        let left = tree::descendants(self.keeper.pid());
        self.stamp(now);
        let reason = self.stop.reason().map(StopReason::text).unwrap_or_default();
        self.log.decide(notes::killed(stage, reason, left), None);
        channels.each(|channel| channel.stop(self));
        // Not in the agent's tree, so no signal to that reaches them.
        self.kill_commands();
        self.log.flush();
        self.prompt.close();
        // Some agents take a hook that a signal ended for a yes, and one that is just being started
        // cannot keep itself from it: where hooks hold the agent, it is asked alone.
        let alone = self.spec.hooks.is_some() && self.spec.approvals.judge();
        let order = match stage {
            StopStage::Interrupt if alone => Order::InterruptAgent,
            StopStage::Terminate if alone => Order::TerminateAgent,
            StopStage::Interrupt => Order::Interrupt,
            StopStage::Terminate => Order::Terminate,
            StopStage::Kill => {
                self.phase = Phase::Cleaning { since: now };
                Order::KillTree { polite: Duration::ZERO }
            }
        };
        // A keeper that cannot be told anything reports its own loss.
        let _reported = self.keeper.order(order);
    }

    /// From exit to drained to clean.
    pub(super) fn advance_phase(&mut self) {
        let now = self.clock.now();
        if self.phase_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        match self.phase {
            Phase::Running | Phase::Over => {}
            Phase::Draining { .. } => {
                self.stop.agent_is_gone();
                self.phase = Phase::Cleaning { since: now };
                let _reported = self.keeper.order(Order::KillTree { polite: POLITE });
            }
            Phase::Cleaning { .. } => {
                self.log.decide(notes::not_clean(tree::descendants(self.keeper.pid())), None);
                self.survivors = tree::descendants(self.keeper.pid());
                self.phase = Phase::Over;
            }
        }
    }

    /// When the present phase is over, if nothing else ends it.
    pub(super) fn phase_deadline(&self) -> Option<Moment> {
        match self.phase {
            Phase::Running | Phase::Over => None,
            Phase::Draining { since, last_byte } => {
                if self.stdout.fd().is_none() && self.stderr.fd().is_none() {
                    return Some(since);
                }
                Some(last_byte.plus(DRAIN_IDLE).min(since.plus(DRAIN_MAX)))
            }
            Phase::Cleaning { since } => Some(since.plus(CLEAN_MAX)),
        }
    }

    pub(super) fn kill_group_ourselves(&self) {
        if let Ok(pid) = i32::try_from(self.keeper.agent_pid()) {
            let _gone_already = killpg(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// The agent has named its session: on the disk with it, and nobody else may run it.
    pub(super) fn session_started(&mut self) {
        self.facts.session_is_new = false;
        let Some(session) = self.facts.session.clone() else { return };
        self.log.decide(notes::session(&self.facts), None);
        self.log.sync();
        if self.spec.resumed_from.as_ref() != Some(&session) {
            self.take_lease(&session);
        }
    }

    fn take_lease(&mut self, session: &SessionId) {
        // A client has as many sessions as it likes, and may come back to one.
        let has_client = self.spec.is_relayed;
        if has_client && self.leases.iter().any(|(held, _)| held == session) {
            return;
        }
        match lease_of(self.spec, session, self.log) {
            Ok(lease) => {
                if !has_client {
                    self.leases.clear();
                }
                self.leases.extend(lease);
            }
            // Its other sessions have nothing to do with this one; it was said on record.
            Err(_) if has_client => {}
            Err(_) => self.stop.begin(StopReason::SessionTaken, self.clock.now()),
        }
    }

    /// Writes down what is going on, for a person who asked (SIGQUIT).
    pub(super) fn dump(&mut self) {
        let mut evidence = self.monitor.snapshot(self.clock.now());
        evidence.processes = self.whole_tree();
        evidence.pipe_unread = self.stdout.fd().and_then(notes::unread);
        evidence.screen = self.screen_lines();
        self.log.decide(notes::dump(self.monitor.health(), evidence), None);
        self.log.flush();
    }
}

/// The lease of a session that is to be continued; an error where another run has it.
pub(super) fn known_lease(
    spec: &RunSpec,
    log: &mut Log,
) -> Result<Option<(SessionId, Lease)>, LeaseError> {
    match &spec.resumed_from {
        Some(session) => lease_of(spec, session, log),
        None => Ok(None),
    }
}

/// A lease that cannot be written is no reason to stop; one that somebody has is.
fn lease_of(
    spec: &RunSpec,
    session: &SessionId,
    log: &mut Log,
) -> Result<Option<(SessionId, Lease)>, LeaseError> {
    let Some(folder) = &spec.leases else { return Ok(None) };
    match Lease::take(folder, &spec.agent, session) {
        Ok(lease) => Ok(Some((session.clone(), lease))),
        Err(error @ LeaseError::Taken { .. }) => {
            log.decide(DecisionRecord::SessionTaken(error.to_string().into()), None);
            Err(error)
        }
        Err(error) => {
            log.decide(DecisionRecord::LeaseFailed(error.to_string().into()), None);
            Ok(None)
        }
    }
}
