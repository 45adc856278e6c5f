//! When something is due, and what follows.
//!
//! The half of the monitor that looks at the clock: which moment is next, whether the agent is past
//! a limit, and the evidence for saying so. What the agent said is the other half's
//! ([`super`]).

use super::budget::Breach;
use super::livelock::Streak;
use super::{Action, Finishing, Judgement, Last, Monitor, Moved, Phase, SoftStop, words};
use crate::event::{Evidence, Health, Tool, ToolClass, VerdictKind};
use crate::text::excerpt;
use crate::time::{Moment, millis};
use std::time::Duration;

/// So long an answer of the witnesses is waited for.
const WITNESS_WAIT: Duration = Duration::from_secs(2);

/// A moment that never comes.
const NEVER: Moment = Moment(Duration::MAX);

/// The verdict on silence that would come next.
#[derive(Clone, Copy, Debug)]
struct Outlook {
    at: Moment,
    limit: Duration,
    kind: VerdictKind,
    /// Whether the limit is a guess of ours that other signs of life may correct.
    may_ask: bool,
}

impl Monitor {
    /// When to call again with a tick, if nothing happens before. It lies in the future after
    /// a tick was handled at it, so that nobody spins. Without one nothing will happen until the
    /// agent, or whoever holds the clock, does something.
    ///
    /// It is enough to ask before going to sleep; a tick that comes early does nothing.
    pub fn deadline(&self) -> Option<Moment> {
        if self.is_over() {
            return None;
        }
        if let Some(since) = self.blocked_since {
            let next = since.plus(self.limits.blocked).min(self.wall_while_blocked(since));
            return (next != NEVER).then_some(next);
        }
        if self.clock.is_held() {
            return None;
        }
        let next = match &self.finishing {
            Some(finishing) if finishing.overdue => NEVER,
            Some(finishing) => finishing.since.plus(self.limits.exit_grace),
            None => self.next_look(),
        };
        (next != NEVER).then(|| self.clock.outside(next))
    }

    /// What we know right now, without a verdict.
    pub fn snapshot(&self, now: Moment) -> Evidence {
        self.evidence(None, self.outlook().limit, self.clock.at(now))
    }

    fn is_over(&self) -> bool {
        self.ended || self.stalled
    }

    fn next_look(&self) -> Moment {
        let verdict = match self.asked {
            // Until the witnesses have answered, nothing else is said about silence.
            Some(asked) => asked.plus(WITNESS_WAIT),
            None => self.outlook().at.min(self.no_progress_at()),
        };
        let mut next = verdict.min(self.record_at());
        if self.health != Health::Quiet {
            next = next.min(self.quiet_at());
        }
        if let Some(at) = self.stop_background_at() {
            next = next.min(at);
        }
        if let Some(at) = self.result_stands_at() {
            next = next.min(at);
        }
        if let Some(soft) = &self.soft {
            next = next.min(soft.until);
        }
        next.min(self.wall_at())
    }

    /// The limit on silence while no tool is open.
    pub(super) fn silence_limit(&self) -> Duration {
        let limit = match self.phase {
            Phase::Starting => self.limits.startup,
            Phase::Prompted => self.limits.first_response,
            Phase::Working if self.awaits_tasks() => self.limits.background_wait,
            Phase::Working if self.tools.any_background_agent() => {
                self.limits.idle.max(self.limits.undeclared(ToolClass::SubAgent))
            }
            Phase::Working => self.limits.idle,
        };
        if self.after_suspend { limit.min(self.limits.after_suspend) } else { limit }
    }

    fn outlook(&self) -> Outlook {
        let may_ask = self.extensions < self.limits.witness.max_extensions;
        if self.tools.open() > 0 {
            return Outlook {
                at: self.tools.limit_at(self.view()).max(self.not_before),
                limit: self.tools.longest_limit(&self.limits),
                kind: VerdictKind::Tool,
                may_ask: may_ask && self.tools.any_undeclared(),
            };
        }
        let kind = match (self.phase, self.last) {
            _ if self.awaits_tasks() => VerdictKind::Background,
            (Phase::Starting, _) => VerdictKind::Startup,
            (Phase::Prompted, _) => VerdictKind::FirstResponse,
            (Phase::Working, Last::Message) => VerdictKind::IdleAfterText,
            (Phase::Working, Last::Tool) => VerdictKind::IdleAfterTool,
            (Phase::Working, Last::Nothing | Last::Reasoning) => VerdictKind::Idle,
        };
        let (from, limit) = if let Some(stopped) = self.background_stopped {
            (stopped.max(self.liveness), self.limits.result_grace)
        } else if let Some(stop) = self.stop_background_at() {
            // The background commands are stopped first; the agent gets its time after that.
            (stop, self.limits.result_grace)
        } else {
            (self.liveness, self.silence_limit())
        };
        Outlook { at: from.plus(limit).max(self.not_before), limit, kind, may_ask }
    }

    /// Returns true if the agent gave a result and may wake when one of its background tasks ends.
    fn awaits_tasks(&self) -> bool {
        self.has_early_result && self.tools.any_task()
    }

    /// When a result that came while background tasks were open is the last one, because none is open
    /// any more and the agent does not go on.
    fn result_stands_at(&self) -> Option<Moment> {
        let is_left = self.has_early_result && !self.tools.any_task() && self.tools.open() == 0;
        is_left.then(|| self.progress.plus(self.limits.exit_grace))
    }

    /// When background commands are to be stopped, where they may be what keeps the agent from
    /// ending: the model has spoken and nothing else is open.
    pub(super) fn stop_background_at(&self) -> Option<Moment> {
        let waits_for_them = self.phase == Phase::Working
            && self.last == Last::Message
            && self.tools.open() == 0
            && !self.has_early_result
            && !self.tools.any_background_agent()
            && self.background_stopped.is_none()
            && self.tools.any_stoppable();
        waits_for_them.then(|| {
            let patience = self.limits.background_grace.min(self.silence_limit());
            self.liveness.plus(patience)
        })
    }

    /// When signs of life without anything new are enough. Pure silence is not judged here.
    fn no_progress_at(&self) -> Moment {
        if self.liveness <= self.progress {
            return NEVER;
        }
        let mut at = self.progress.plus(self.no_progress_limit());
        if self.tools.open() > 0 {
            // A tool may take its time, but signs of life give it no more of it.
            let mut view = self.view();
            view.liveness = self.progress;
            at = at.max(self.tools.limit_at(view));
        }
        at
    }

    fn no_progress_limit(&self) -> Duration {
        let limit = self.limits.no_progress.max(self.silence_limit());
        if self.tools.any_background_agent() {
            limit.max(self.limits.undeclared(ToolClass::SubAgent))
        } else {
            limit
        }
    }

    fn record_at(&self) -> Moment {
        self.liveness.max(self.recorded).plus(self.limits.rhythm())
    }

    fn quiet_at(&self) -> Moment {
        if self.tools.open() > 0 {
            let soonest = self.liveness.plus(self.limits.rhythm());
            self.tools.quiet_at(self.view()).max(soonest)
        } else {
            let quiet_after = self.limits.quiet_after(self.silence_limit());
            self.liveness.plus(quiet_after)
        }
    }

    fn wall_at(&self) -> Moment {
        match self.limits.wall {
            Some(wall) if !self.budget.was_told(VerdictKind::WallClock) => {
                // The time in which our reader blocked us is time on the wall.
                self.started.plus(wall.saturating_sub(self.blocked))
            }
            _ => NEVER,
        }
    }

    /// The same on the caller's clock, while our reader blocks us. A result that was delivered is none
    /// the worse for it.
    fn wall_while_blocked(&self, since: Moment) -> Moment {
        match self.wall_at() {
            NEVER => NEVER,
            _ if self.finishing.is_some() => NEVER,
            wall => since.plus(wall.since(self.clock.at(since))),
        }
    }

    /// What is due while our reader blocks us.
    pub(super) fn judge_blocked(&mut self, now: Moment, out: &mut Vec<Action>) {
        let Some(since) = self.blocked_since.filter(|_| !self.is_over()) else { return };
        let t = self.clock.at(now);
        if now >= self.wall_while_blocked(since) {
            self.budget.wall_passed(self.limits.wall.unwrap_or_default());
            self.judge_budget(t, out);
        } else if now >= since.plus(self.limits.blocked) {
            let limit = self.limits.blocked;
            self.give_up(
                VerdictKind::Blocked,
                words::blocked(now.since(since), limit),
                limit,
                t,
                out,
            );
        }
    }

    /// Does everything that is due.
    pub(super) fn judge(&mut self, t: Moment, out: &mut Vec<Action>) {
        if self.is_over() || self.clock.is_held() {
            return;
        }
        if let Some(finishing) = &mut self.finishing {
            let due = t >= finishing.since.plus(self.limits.exit_grace);
            if due && !std::mem::replace(&mut finishing.overdue, true) {
                out.push(Action::ExitOverdue);
            }
            return;
        }
        if self.result_stands_at().is_some_and(|at| t >= at) {
            self.has_early_result = false;
            self.finishing = Some(Finishing { since: t, overdue: false });
            out.push(Action::ResultStands);
            return;
        }
        if t >= self.wall_at() {
            self.budget.wall_passed(self.limits.wall.unwrap_or_default());
        }
        self.judge_budget(t, out);
        if !self.stalled {
            self.judge_silence(t, out);
        }
        if !self.stalled && t >= self.record_at() {
            self.record(t, out);
        }
    }

    fn judge_silence(&mut self, t: Moment, out: &mut Vec<Action>) {
        if self.stop_background_at().is_some_and(|at| t >= at) {
            self.background_stopped = Some(t);
            let pids = self.tools.take_background();
            out.push(Action::StopBackground { pids });
        }
        let outlook = self.outlook();
        if t >= outlook.at {
            match self.asked {
                None if outlook.may_ask => {
                    self.asked = Some(t);
                    out.push(Action::AskWitness);
                }
                Some(asked) if t < asked.plus(WITNESS_WAIT) => {}
                _ => self.judge_hang(outlook, t, out),
            }
            return;
        }
        if t >= self.no_progress_at() {
            let limit = self.no_progress_limit();
            let silent = t.since(self.progress);
            let last = self.trail.newest();
            let text = words::silence(VerdictKind::NoProgress, silent, limit, 0, last);
            self.give_up(VerdictKind::NoProgress, text, limit, t, out);
        }
    }

    fn judge_hang(&mut self, outlook: Outlook, t: Moment, out: &mut Vec<Action>) {
        let silent = t.since(self.liveness);
        let last = self.trail.newest();
        let text = if outlook.kind == VerdictKind::Tool {
            let open = self.tools.shown(t, &self.limits);
            words::tools(&open, self.limits.tool_grace)
        } else if outlook.kind == VerdictKind::Background {
            let tasks = self.tools.open_tasks(t);
            words::background(silent, outlook.limit, self.extensions, &tasks)
        } else if let Some(stopped) = self.background_stopped {
            words::no_result(t.since(stopped), outlook.limit, last)
        } else {
            words::silence(outlook.kind, silent, outlook.limit, self.extensions, last)
        };
        self.give_up(outlook.kind, text, outlook.limit, t, out);
    }

    pub(super) fn on_witness(
        &mut self,
        tree_cpu: Duration,
        window: Duration,
        other_activity: bool,
        t: Moment,
        out: &mut Vec<Action>,
    ) {
        self.cpu = Some((tree_cpu, window));
        if self.is_over() || self.clock.is_held() || self.finishing.is_some() {
            return;
        }
        let outlook = self.outlook();
        if self.asked.take().is_none() || t < outlook.at {
            return; // Nobody asked, or the question has settled itself.
        }
        let share = u128::from(self.limits.witness.busy_cpu_percent);
        let busy = !window.is_zero() && tree_cpu.as_nanos() * 100 >= window.as_nanos() * share;
        if !busy && !other_activity {
            self.judge_hang(outlook, t, out);
            return;
        }
        self.extensions += 1;
        let by = outlook.limit / 2;
        self.not_before = t.plus(by);
        let why = if busy {
            let (used, window) = (words::span(tree_cpu), words::span(window));
            format!("{}: {used} of processor time in {window}", words::BUSY)
        } else {
            "the agent is active beside its output".to_owned()
        };
        out.push(Action::LimitsMoved { by, cause: Moved::Busy, why });
    }

    pub(super) fn on_gap(&mut self, gap: Duration, now: Moment, out: &mut Vec<Action>) {
        self.clock.skip(gap, now);
        self.blocked_since = self.blocked_since.map(|since| since.plus(gap).min(now));
        self.asked = None;
        if !self.is_over() {
            let why = format!("{} for {}", words::STARVED, words::span(gap));
            out.push(Action::LimitsMoved { by: gap, cause: Moved::Gap, why });
        }
    }

    pub(super) fn on_suspend(&mut self, gap: Duration, t: Moment, out: &mut Vec<Action>) {
        if self.is_over() {
            return;
        }
        self.restart(t);
        self.after_suspend = true;
        let why = format!("{} for {}", words::SUSPENDED, words::span(gap));
        out.push(Action::LimitsMoved { by: gap, cause: Moved::Suspension, why });
    }

    pub(super) fn on_streak(&mut self, streak: Streak, tool: &Tool, out: &mut Vec<Action>) {
        let rounds = streak.rounds;
        let command = self.tools.short(tool.headline(), 60);
        if self.repetition.warn(streak, self.limits.livelock_warn) {
            out.push(Action::Livelock { period: streak.period, rounds, command: command.clone() });
        }
        if self.limits.livelock_kill.is_some_and(|kill| rounds >= kill) {
            let what = match streak.period {
                1 => "the same call".to_owned(),
                n => format!("the same {n} calls"),
            };
            let why = format!(
                "hang detected: {what} with the same result {rounds} times in a row, \
                 last `{command}`"
            );
            self.budget.exceed(VerdictKind::Livelock, why);
        }
    }

    /// A limit on use was passed: at once where no tool is open, otherwise when it is done or its
    /// grace is over.
    pub(super) fn judge_budget(&mut self, t: Moment, out: &mut Vec<Action>) {
        let blocked = self.blocked_since.is_some();
        if self.is_over() || (self.clock.is_held() && !blocked) || self.finishing.is_some() {
            return;
        }
        let soft = match self.soft.take() {
            Some(soft) => soft,
            None => match self.budget.breach.take() {
                Some(breach) => self.soften(breach, t, out),
                None => return,
            },
        };
        // While our reader blocks us nobody would hear of the end of a tool.
        if self.tools.open() == 0 || blocked || t >= soft.until {
            let Breach { kind, why } = soft.breach;
            let limit = match kind {
                VerdictKind::WallClock => self.limits.wall.unwrap_or_default(),
                // The others are no times; the words have them.
                _ => Duration::ZERO,
            };
            self.give_up(kind, why, limit, t, out);
        } else {
            self.soft = Some(soft);
        }
    }

    fn soften(&self, breach: Breach, t: Moment, out: &mut Vec<Action>) -> SoftStop {
        if self.tools.open() > 0 {
            out.push(Action::SoftStop { verdict: breach.kind, why: breach.why.clone() });
        }
        SoftStop { breach, until: t.plus(self.limits.limit_grace) }
    }

    fn record(&mut self, t: Moment, out: &mut Vec<Action>) {
        self.recorded = t;
        let silence = t.since(self.liveness);
        let open = self.tools.shown(t, &self.limits);
        let left = self.outlook().at.since(t);
        let why = words::waiting(silence, left, &open, self.trail.newest());
        out.push(Action::Waiting { silence, open, why });
    }

    fn give_up(
        &mut self,
        kind: VerdictKind,
        text: String,
        limit: Duration,
        t: Moment,
        out: &mut Vec<Action>,
    ) {
        let evidence = self.evidence(Some(kind), limit, t);
        self.stalled = true;
        self.soft = None;
        let from = std::mem::replace(&mut self.health, Health::Stalled);
        self.health_since = t;
        out.push(Action::Verdict(Box::new(Judgement { kind, from, text, evidence })));
    }

    fn evidence(&self, verdict: Option<VerdictKind>, limit: Duration, t: Moment) -> Evidence {
        Evidence {
            verdict,
            limit_ms: millis(limit),
            silence_ms: millis(t.since(self.liveness)),
            last_events: self.trail.names(),
            open_tools: self.tools.shown(t, &self.limits),
            background_tasks: self.tools.open_tasks(t),
            extensions: self.extensions,
            cpu_ms: self.cpu.map(|(used, _)| millis(used)),
            cpu_window_ms: self.cpu.map(|(_, window)| millis(window)),
            pipe_unread: None,
            processes: Vec::new(),
            screen: Vec::new(),
        }
    }

    /// What the state amounts to.
    pub(super) fn believed(&self, t: Moment) -> Health {
        if self.ended {
            Health::Ended
        } else if self.stalled {
            Health::Stalled
        } else if self.approval {
            Health::AwaitingApproval
        } else if self.backpressure {
            Health::Backpressure
        } else if self.resting {
            Health::AwaitingPrompt
        } else if self.finishing.is_some() {
            Health::Finishing
        } else if t > self.liveness && t >= self.quiet_at() {
            Health::Quiet
        } else if self.tools.open() > 0 {
            Health::InTool
        } else if self.phase == Phase::Starting {
            Health::Starting
        } else {
            Health::Working
        }
    }

    /// Says so where the belief changed.
    pub(super) fn settle(&mut self, t: Moment, out: &mut Vec<Action>) {
        let to = self.believed(t);
        if to != self.health {
            let why = self.why(to, t);
            let from = std::mem::replace(&mut self.health, to);
            self.health_since = t;
            out.push(Action::Health { from, to, why });
        }
    }

    fn why(&self, to: Health, t: Moment) -> String {
        match to {
            Health::Starting => "the agent was started".to_owned(),
            Health::Working => format!("last event {}", excerpt(self.last_event().as_bytes(), 60)),
            Health::InTool => match self.tools.shown(t, &self.limits).as_slice() {
                [one] => words::tool_began(&one.command, one.class),
                many => format!("{} tools are open", many.len()),
            },
            Health::AwaitingApproval => "somebody is asked; no limit runs".to_owned(),
            Health::AwaitingPrompt => "the turn is over; no limit runs".to_owned(),
            Health::Quiet => format!("no output for {}", words::span(t.since(self.liveness))),
            Health::Backpressure => "the disk is full and the reader of our output is slow; limits on silence do not run".to_owned(),
            Health::Finishing => "the agent says that the turn is over".to_owned(),
            Health::Stalled => "a verdict was given".to_owned(),
            Health::Ended => "the process has ended".to_owned(),
        }
    }
}
