//! The monitor: what we believe about a running agent, and when we give up on it.
//!
//! A pure state machine: [`Monitor::handle`] takes an input and the time and appends actions;
//! [`Monitor::deadline`] says when to call again with [`Input::Tick`] if nothing else happens. It
//! owns every decision about time, tools and limits. It has no clock, stops nothing, writes nothing
//! and knows no agent; it leaves the outcome of a run to whoever read its terminal event.
//!
//! **Phases.** Starting (nothing heard) → prompted (the session is named, the model has not
//! answered; an echo of the prompt is no answer) → working, in a tool → finishing (the terminal
//! event came) → ended. Something new after the terminal event takes finishing back: some streams
//! hold two results, and the last one wins. A straggling completion of a call that began before it
//! does not.
//!
//! **What counts.** Anything from the agent is a sign of life and restarts silence limits. Text,
//! tools and turns are also progress. Usage, retries, reconnects, notices, empty and blank deltas, noise,
//! lines that nobody understands, and what was said before (the same beginning or end of a call, the
//! same question, an echo or a result with nothing new since the last one) are not; when only those
//! come, the no-progress limit runs. A silence in which nothing at all came is left to the silence limits.
//!
//! **Time.** Limits run on a clock that stands still while our own reader blocks us or a person is
//! asked. While our reader blocks us two limits run all the same: the wall clock, and the one on how
//! long it may do that. The clock also leaves out the time in which we ourselves did not run. An
//! `approval.requested` in the stream does not hold that clock by itself: in a run that nobody
//! attends nobody may ever answer. Whoever passes the question on says so with [`Input::ApprovalPending`].
//!
//! **Tools.** A call with a declared timeout may run for that and the grace, from its own start,
//! and while anything new comes it gets the grace again. A call without one is judged by the
//! silence limit of its class. Only when all open calls are past their limits is that a verdict. A
//! background call is never open.
//!
//! **Presumed complete.** Completions get lost, so a call whose successor has begun is no longer a
//! reason to wait or to judge. Two things show a successor. A call of another step (both name one)
//! shows it for certain. An item of text or reasoning that began after the call shows it, unless
//! the call's declared time is still running: then a late word of the same answer is as likely, and
//! the call is merely doubted: it still holds a verdict off for its own time, and it never
//! brings one sooner than the idle limit would. While a sub-agent is open nothing is presumed,
//! because its words cannot be told from the main agent's. A sibling of the same step, or output,
//! takes a presumption back. A completion that comes after all is no news.
//!
//! **Background tasks.** A command, watch or agent that works in the background is no open call. While
//! an agent does, silence has the limit of sub-agents. A result that comes while any task is open
//! (`turn.result`) is not the end: the agent may wake. Silence then has a limit of its own, and passing
//! it is a verdict. Once no task is open, the agent has the exit grace to wake; then that result was the
//! last one ([`Action::ResultStands`]).

mod budget;
mod clock;
mod judge;
mod limits;
mod livelock;
mod message;
mod repeats;
mod tools;
mod trail;
mod waits;
mod words;

#[cfg(test)]
mod tests;

pub use limits::{ClassLimits, Limits, ToolDefault, WitnessPolicy, is_reasoning_model};
pub use message::{Action, Input, Judgement, Moved, Status};
pub use waits::{TimeLimit, Wait};

use crate::event::{EventKind, Health, Item, ItemBody, TextRole, Tool, Unrecognized};
use crate::id::{ItemId, digest64};
use crate::redact::Redactor;
use crate::time::Moment;
use budget::{Breach, Budget};
use clock::Clock;
use livelock::Repetition;
use repeats::{Repeats, is_blank};
use std::sync::Arc;
use std::time::Duration;
use tools::{Completion, ToolTable, View};
use trail::Trail;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Prompted,
    Working,
}

/// The last thing of substance that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    Message,
    Reasoning,
    Tool,
}

#[derive(Clone, Copy, Debug)]
struct Finishing {
    since: Moment,
    overdue: bool,
}

#[derive(Clone, Debug)]
struct SoftStop {
    breach: Breach,
    until: Moment,
}

/// What is believed about one run.
#[derive(Clone, Debug)]
pub struct Monitor {
    limits: Limits,
    clock: Clock,
    started: Moment,
    phase: Phase,
    finishing: Option<Finishing>,
    /// A result came that was not the last one, and the agent has not gone on since.
    has_early_result: bool,
    stalled: bool,
    ended: bool,
    approval: bool,
    backpressure: bool,
    /// Since when nothing but our own reader keeps the clock from running, on the caller's clock.
    blocked_since: Option<Moment>,
    /// How long it did so before.
    blocked: Duration,
    /// Between two turns of one process.
    resting: bool,
    health: Health,
    health_since: Moment,
    /// When anything was last heard.
    liveness: Moment,
    /// When anything new was last heard.
    progress: Moment,
    last: Last,
    /// Whether the machine slept and nothing was heard since.
    after_suspend: bool,
    /// When the witnesses were asked and have not answered.
    asked: Option<Moment>,
    extensions: u32,
    /// The verdict is put off until here by an extension.
    not_before: Moment,
    cpu: Option<(Duration, Duration)>,
    /// When background commands were stopped to let the result come.
    background_stopped: Option<Moment>,
    /// When a silence was last put on record.
    recorded: Moment,
    tools: ToolTable,
    repetition: Repetition,
    repeats: Repeats,
    budget: Budget,
    soft: Option<SoftStop>,
    trail: Trail,
    /// A digest of the session's id.
    session: Option<u64>,
}

impl Monitor {
    /// A monitor of an agent that was started at `now`.
    pub fn new(limits: Limits, now: Moment) -> Self {
        Monitor {
            limits,
            clock: Clock::default(),
            started: now,
            phase: Phase::Starting,
            finishing: None,
            has_early_result: false,
            stalled: false,
            ended: false,
            approval: false,
            backpressure: false,
            blocked_since: None,
            blocked: Duration::ZERO,
            resting: false,
            health: Health::Starting,
            health_since: now,
            liveness: now,
            progress: now,
            last: Last::Nothing,
            after_suspend: false,
            asked: None,
            extensions: 0,
            not_before: Moment::START,
            cpu: None,
            background_stopped: None,
            recorded: now,
            tools: ToolTable::default(),
            repetition: Repetition::default(),
            repeats: Repeats::new(),
            budget: Budget::default(),
            soft: None,
            trail: Trail::new(),
            session: None,
        }
    }

    /// From here on no secret is in what is said about commands.
    pub fn redact(&mut self, redactor: Arc<Redactor>) {
        self.tools.redact(redactor);
    }

    /// Takes an input and appends what follows from it.
    ///
    /// After a verdict, and after the exit, tools are still paired for the log; nothing else comes.
    pub fn handle(&mut self, input: Input<'_>, now: Moment, out: &mut Vec<Action>) {
        let t = self.clock.at(now);
        match input {
            Input::Event { kind, native } if self.only_goes_on(kind, native, t) => return,
            Input::Event { kind, native } => self.on_event(kind, native, t, out),
            Input::Heard | Input::SideChannel => self.alive(t),
            Input::Tick if self.blocked_since.is_some() => self.judge_blocked(now, out),
            Input::Tick => self.judge(t, out),
            Input::Gap(gap) => self.on_gap(gap, now, out),
            Input::Suspended(gap) => self.on_suspend(gap, t, out),
            Input::Backpressure(on) => {
                self.backpressure = on;
                self.hold(now);
            }
            Input::ApprovalPending(on) => {
                self.approval = on;
                self.hold(now);
            }
            Input::Resting(on) => {
                self.resting = on;
                self.hold(now);
                if !on {
                    self.restart(self.clock.at(now));
                }
            }
            Input::Prompted => self.on_prompted(t),
            Input::AgentExited => self.ended = true,
            Input::Witness { tree_cpu, window, other_activity } => {
                self.on_witness(tree_cpu, window, other_activity, t, out);
            }
        }
        // A gap moved the clock; holding it and letting it go did not.
        let t = match input {
            Input::Gap(_) => self.clock.at(now),
            _ => t,
        };
        if self.soft.is_some() || self.budget.breach.is_some() {
            self.judge_budget(t, out);
        }
        self.settle(t, out);
    }

    /// What is believed now.
    pub fn health(&self) -> Health {
        self.health
    }

    /// Returns true if the agent gave a result, has not gone on since, and only commands and watches
    /// in the background may wake it: the turn can end now.
    pub fn may_end_turn(&self) -> bool {
        self.has_early_result && !self.tools.any_background_agent()
    }

    /// The limits in force; a model that the session named may have changed them.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The agent's name of the last event type; empty where nothing was heard.
    pub fn last_event(&self) -> &str {
        self.trail.newest()
    }

    /// For how long nothing was heard; time that does not count is left out.
    pub fn quiet_for(&self, now: Moment) -> Duration {
        self.clock.at(now).since(self.liveness)
    }

    /// What a status line shows.
    pub fn status(&self, now: Moment) -> Status {
        let t = self.clock.at(now);
        Status {
            health: self.health,
            since: t.since(self.health_since),
            quiet: t.since(self.liveness),
            open: self.tools.shown(t, &self.limits),
            background: self.tools.background(),
            tool_calls: self.budget.tool_calls,
            turns: self.budget.turns,
            tokens: self.budget.tokens(),
            cost_usd: self.budget.cost(),
        }
    }

    /// Goes on after a verdict that nobody acted on. Every limit begins anew; a limit on use that
    /// was reached is not told again.
    pub fn resume_after_verdict(&mut self, now: Moment) {
        let t = self.clock.at(now);
        self.stalled = false;
        self.soft = None;
        self.repetition.reset();
        if let Some(since) = &mut self.blocked_since {
            self.blocked += now.since(*since);
            *since = now;
        }
        self.restart(t);
        self.health = self.believed(t);
        self.health_since = t;
    }

    /// The common case, kept short because nearly every event is one: another word in the middle
    /// of an answer, while no tool is open and nothing is due. It does what `on_text` would do.
    fn only_goes_on(&mut self, kind: &EventKind, native: &str, t: Moment) -> bool {
        let EventKind::ItemDelta { role, text, .. } = kind else {
            return false;
        };
        let last = match role {
            TextRole::Message => Last::Message,
            TextRole::Reasoning => Last::Reasoning,
            TextRole::ToolOutput => return false,
        };
        let steady = !is_blank(text)
            && self.health == Health::Working
            && self.phase == Phase::Working
            && self.budget.is_answering()
            && self.budget.breach.is_none()
            && self.soft.is_none();
        if !steady {
            return false;
        }
        self.note(kind, native);
        self.last = last;
        self.repeats.news();
        self.progressed(t);
        true
    }

    fn on_event(&mut self, kind: &EventKind, native: &str, t: Moment, out: &mut Vec<Action>) {
        match kind {
            EventKind::ItemDelta { text, .. } if is_blank(text) => {
                self.note(kind, native);
                self.begun();
                self.alive(t);
            }
            // Without its text, where the stream is only skimmed: that it came is what counts.
            EventKind::ItemDelta { id, role, .. } => {
                self.note(kind, native);
                match role {
                    TextRole::Message => self.on_words(*id, Last::Message, t, out),
                    TextRole::Reasoning => self.on_words(*id, Last::Reasoning, t, out),
                    TextRole::ToolOutput => {
                        self.tools.output_came(*id, t);
                        self.new_activity(t);
                    }
                }
            }
            EventKind::ItemStarted { item } => {
                self.note(kind, native);
                self.on_item_started(item, t, out);
            }
            EventKind::ItemCompleted { item } => {
                self.note(kind, native);
                self.on_item_completed(item, t, out);
            }
            EventKind::SessionStarted { native_id, model, .. } => {
                self.note(kind, native);
                let named = Some(digest64(native_id.0.as_bytes()));
                if let Some(model) = model {
                    self.limits.adopt_model(model);
                }
                self.begun();
                if self.session == named {
                    self.alive(t);
                } else {
                    self.session = named;
                    self.progressed(t);
                }
            }
            EventKind::TurnStarted { .. } => {
                self.note(kind, native);
                if !self.repeats.turn_began() {
                    // The echo of the same prompt.
                    self.begun();
                    return self.alive(t);
                }
                let woke = std::mem::take(&mut self.has_early_result);
                if woke || self.finishing.take().is_some() || self.phase == Phase::Starting {
                    self.phase = Phase::Prompted;
                    self.last = Last::Nothing;
                }
                self.progressed(t);
            }
            EventKind::TurnEnded { usage, .. } => {
                self.note(kind, native);
                if let Some(usage) = usage {
                    self.budget.usage(usage, &self.limits);
                }
                self.on_turn_ended(t, out);
            }
            EventKind::TurnResult { usage, .. } => {
                self.note(kind, native);
                if let Some(usage) = usage {
                    self.budget.usage(usage, &self.limits);
                }
                self.budget.turn_ended();
                self.tools.calls_ended(t, out);
                self.answered();
                if self.repeats.turn_ended() {
                    self.progressed(t);
                } else {
                    self.alive(t);
                }
                self.has_early_result = true;
            }
            EventKind::UsageUpdated { usage } => {
                self.note(kind, native);
                self.begun();
                self.budget.usage(usage, &self.limits);
                self.alive(t);
            }
            EventKind::RetryScheduled { .. } | EventKind::ConnectionChanged { .. } => {
                self.note(kind, native);
                self.begun();
                self.alive(t);
            }
            EventKind::ApprovalRequested { .. } | EventKind::ApprovalResolved { .. } => {
                self.note(kind, native);
                self.begun();
                let is_new = self.repeats.is_new_question(kind);
                self.new_activity_if(is_new, t);
            }
            EventKind::Unrecognized { why, .. } => {
                self.note(kind, native);
                if !matches!(why, Unrecognized::Noise | Unrecognized::Torn) {
                    self.begun();
                }
                self.alive(t);
            }
            EventKind::ProcessStderr { .. } | EventKind::HookReceived { .. } => self.alive(t),
            // Our own words say nothing about the agent.
            EventKind::TurnContinued { .. }
            | EventKind::ProcessSpawned { .. }
            | EventKind::ProcessExited { .. }
            | EventKind::HealthChanged { .. }
            | EventKind::RunEnded { .. }
            | EventKind::SessionEnded { .. } => {}
        }
    }

    fn on_item_started(&mut self, item: &Item, t: Moment, out: &mut Vec<Action>) {
        match &item.body {
            ItemBody::Message { .. } => self.on_text(item.id, Last::Message, t, out),
            ItemBody::Reasoning { .. } => self.on_text(item.id, Last::Reasoning, t, out),
            ItemBody::Tool(tool) => self.on_tool_started(item.id, tool, t, out),
            ItemBody::Notice { .. } => self.alive(t),
            ItemBody::SubAgent { description } => {
                self.tools.task_began(item.id, None, description, t);
                self.answered();
                self.new_activity(t);
            }
            ItemBody::BackgroundTask { task, description } => {
                self.tools.task_began(item.id, Some(task), description, t);
                self.answered();
                self.new_activity(t);
            }
            ItemBody::Plan { .. } | ItemBody::FileChange { .. } => {
                self.answered();
                let is_new = self.repeats.is_new_plan(item);
                self.new_activity_if(is_new, t);
            }
        }
    }

    fn on_item_completed(&mut self, item: &Item, t: Moment, out: &mut Vec<Action>) {
        match &item.body {
            ItemBody::Tool(tool) => self.on_tool_completed(tool, t, out),
            ItemBody::SubAgent { .. } | ItemBody::BackgroundTask { .. } => {
                self.tools.task_ended(item.id);
                self.answered();
                self.new_activity(t);
            }
            _ => self.on_item_started(item, t, out),
        }
    }

    /// The beginning or the end of a text: its words are what is new.
    fn on_text(&mut self, item: ItemId, last: Last, t: Moment, out: &mut Vec<Action>) {
        self.tools.text_began(item, t, out);
        self.answered();
        self.budget.model_spoke(None, &self.limits);
        self.last = last;
        self.alive(t);
    }

    fn on_words(&mut self, item: ItemId, last: Last, t: Moment, out: &mut Vec<Action>) {
        self.on_text(item, last, t, out);
        self.new_activity(t);
    }

    fn on_tool_started(&mut self, item: ItemId, tool: &Tool, t: Moment, out: &mut Vec<Action>) {
        self.answered();
        let step = tool.step.as_deref().map(|step| digest64(step.as_bytes()));
        self.budget.model_spoke(step, &self.limits);
        if self.tools.start(item, tool, t, &self.limits, out) {
            self.budget.tool_call(&self.limits);
        }
        self.last = Last::Tool;
        let is_new = self.repeats.is_new_start(tool);
        self.new_activity_if(is_new, t);
    }

    fn on_tool_completed(&mut self, tool: &Tool, t: Moment, out: &mut Vec<Action>) {
        self.answered();
        let completion = self.tools.complete(tool, t, out);
        if completion == Completion::Unannounced {
            self.budget.tool_call(&self.limits);
        }
        self.budget.tool_result();
        if let Some(streak) = self.repetition.note(tool.digest) {
            self.on_streak(streak, tool, out);
        }
        if completion == Completion::Late && self.finishing.is_some() {
            // A straggler of what is over: the process is still expected to exit.
            self.alive(t);
            return;
        }
        self.last = Last::Tool;
        let is_new = self.repeats.is_new_end(tool);
        self.new_activity_if(is_new, t);
    }

    fn on_turn_ended(&mut self, t: Moment, out: &mut Vec<Action>) {
        self.has_early_result = false;
        self.budget.turn_ended();
        self.tools.turn_ended(t, out);
        self.answered();
        // The agent is done by itself; should it go on after all, the limit stands.
        if let Some(soft) = self.soft.take() {
            self.budget.breach.get_or_insert(soft.breach);
        }
        if self.repeats.turn_ended() {
            self.progressed(t);
        } else {
            self.alive(t);
            // The same result again puts nothing off: the process is still expected to exit.
            if self.finishing.is_some() {
                return;
            }
        }
        self.finishing = Some(Finishing { since: t, overdue: false });
    }

    /// What ended was an earlier turn.
    fn on_prompted(&mut self, t: Moment) {
        self.has_early_result = false;
        self.finishing = None;
        if self.phase != Phase::Starting {
            self.phase = Phase::Prompted;
        }
        self.last = Last::Nothing;
        self.repeats.news();
        self.restart(t);
    }

    fn note(&mut self, kind: &EventKind, native: &str) {
        self.trail.note(if native.is_empty() { kind.name() } else { native });
    }

    /// The agent speaks, the model not yet.
    fn begun(&mut self) {
        if self.phase == Phase::Starting {
            self.phase = Phase::Prompted;
        }
    }

    fn answered(&mut self) {
        self.phase = Phase::Working;
    }

    /// A sign of life.
    fn alive(&mut self, t: Moment) {
        self.liveness = t;
        self.asked = None;
        self.extensions = 0;
        self.not_before = Moment::START;
        self.after_suspend = false;
    }

    /// Something new.
    fn progressed(&mut self, t: Moment) {
        self.alive(t);
        self.progress = t;
        self.background_stopped = None;
    }

    /// Something new that also shows that the turn is not over.
    fn new_activity(&mut self, t: Moment) {
        self.finishing = None;
        self.repeats.news();
        self.progressed(t);
    }

    /// The same, unless it was said before.
    fn new_activity_if(&mut self, is_new: bool, t: Moment) {
        if is_new {
            self.new_activity(t);
        } else {
            self.alive(t);
        }
    }

    /// Every limit on silence begins anew.
    fn restart(&mut self, t: Moment) {
        self.alive(t);
        self.progress = t;
        self.recorded = t;
        self.tools.restart(t);
        self.background_stopped = self.background_stopped.map(|_| t);
        if let Some(finishing) = &mut self.finishing {
            finishing.since = t;
        }
        if let Some(soft) = &mut self.soft {
            soft.until = t.plus(self.limits.limit_grace);
        }
    }

    fn hold(&mut self, now: Moment) {
        // An answer of the witnesses would come while nobody waits for it.
        self.asked = None;
        self.clock.hold(self.approval || self.backpressure || self.resting, now);
        let blocked = self.backpressure && !self.approval && !self.resting;
        match self.blocked_since {
            None if blocked => self.blocked_since = Some(now),
            Some(since) if !blocked => {
                self.blocked += now.since(since);
                self.blocked_since = None;
            }
            None | Some(_) => {}
        }
    }

    fn view(&self) -> View<'_> {
        View { limits: &self.limits, liveness: self.liveness, progress: self.progress }
    }
}
