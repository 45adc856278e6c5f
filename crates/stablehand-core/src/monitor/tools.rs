//! The table of tool calls: which are open, which are believed to be over, which run in the
//! background.
//!
//! Owns when each call began, until when it may run and the rules by which a call whose completion
//! never came stops being a reason to wait (see the module doc of [`crate::monitor`]). Gives no
//! verdict.

use crate::event::{OpenTask, OpenTool, Outcome, Tool, ToolClass};
use crate::id::{CallId, ItemId, digest64};
use crate::monitor::limits::Limits;
use crate::monitor::{Action, TimeLimit};
use crate::redact::Redactor;
use crate::text::excerpt;
use crate::time::{Moment, millis};
use std::sync::Arc;
use std::time::Duration;

/// So many calls are kept. An agent that loses more completions than this is not worth the memory.
pub(super) const CAPACITY: usize = 1024;

/// So much of a command is kept; the log has the whole.
const COMMAND_CHARS: usize = 1000;

/// So much of a word for a task's kind.
const KIND_CHARS: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Open in the foreground: the agent waits for it.
    Open,
    /// Its completion never came, but its successor did.
    Presumed,
    /// It goes on while the agent does other things.
    Background,
}

#[derive(Clone, Debug)]
struct Call {
    /// A digest of the call id: ids are hostile and may be long.
    key: u64,
    id: CallId,
    item: ItemId,
    command: String,
    class: ToolClass,
    /// The declared timeout, within bounds; absent where the agent said nothing of use.
    timeout: Option<Duration>,
    step: Option<u64>,
    started: Moment,
    /// Where its limit runs from: its start, or when limits began anew.
    from: Moment,
    state: State,
    /// Whether the model spoke after it began, while its own time was still running.
    doubted: bool,
    /// Whether it was reported as closed: then its completion is no news.
    reported: bool,
    pid: Option<u32>,
}

/// What a look at the open calls needs to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) limits: &'a Limits,
    pub(super) liveness: Moment,
    pub(super) progress: Moment,
}

/// What a completion meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completion {
    /// Of a call that was open.
    Expected,
    /// Of a call that was already believed to be over.
    Late,
    /// Of a call that was never announced.
    Unannounced,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ToolTable {
    /// Oldest first.
    calls: Vec<Call>,
    open: usize,
    open_sub_agents: usize,
    /// Commands, watches and agents that go on although the call that started them is over.
    tasks: Vec<Task>,
    /// Takes secrets out of commands before they are cut short: everything that is said about a call
    /// later is made of this.
    redactor: Option<Arc<Redactor>>,
}

/// A task in the background.
#[derive(Clone, Debug)]
struct Task {
    item: ItemId,
    /// The agent's word for its kind; absent for another agent.
    kind: Option<String>,
    description: String,
    began: Moment,
}

impl Call {
    fn limit(&self, limits: &Limits) -> Duration {
        match self.timeout {
            Some(timeout) => timeout.saturating_add(limits.tool_grace),
            None => limits.undeclared(self.class),
        }
    }

    /// The moment from which this call is no reason to wait any longer.
    fn limit_at(&self, view: View<'_>) -> Moment {
        let own = if self.timeout.is_some() {
            // While anything new comes, the agent is not stuck on this call, late as it is.
            let settled = view.progress.plus(view.limits.tool_grace);
            self.from.plus(self.limit(view.limits)).max(settled)
        } else {
            self.from.max(view.liveness).plus(self.limit(view.limits))
        };
        if self.doubted { own.max(view.liveness.plus(view.limits.idle)) } else { own }
    }

    fn quiet_at(&self, view: View<'_>) -> Moment {
        if let Some(timeout) = self.timeout {
            // Silence within the declared time is what was announced.
            return self.from.plus(timeout);
        }
        let quiet_after = view.limits.quiet_after(self.limit(view.limits));
        self.from.max(view.liveness).plus(quiet_after)
    }

    fn shown(&self, now: Moment, limits: &Limits) -> OpenTool {
        OpenTool {
            call_id: self.id.clone(),
            command: self.command.clone(),
            class: self.class,
            elapsed_ms: millis(now.since(self.started)),
            timeout_ms: self.timeout.map(millis),
            limit_ms: millis(self.limit(limits)),
        }
    }

    fn closed(&self, now: Moment, presumed: bool, outcome: Option<Outcome>) -> Action {
        Action::ToolClosed {
            call: self.id.clone(),
            presumed,
            elapsed: now.since(self.started),
            outcome,
        }
    }
}

impl ToolTable {
    /// How many calls are open in the foreground.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// How many run in the background.
    pub(super) fn background(&self) -> usize {
        self.in_state(State::Background).count()
    }

    /// How many calls are remembered at all.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.calls.len()
    }

    fn in_state(&self, state: State) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| call.state == state)
    }

    /// A call was announced. Returns whether it is a new one.
    pub(super) fn start(
        &mut self,
        item: ItemId,
        tool: &Tool,
        now: Moment,
        limits: &Limits,
        out: &mut Vec<Action>,
    ) -> bool {
        let key = digest64(tool.call.0.as_bytes());
        let step = tool.step.as_deref().map(|step| digest64(step.as_bytes()));
        self.next_step(step, now, out);
        let state = if tool.background { State::Background } else { State::Open };
        let timeout = declared(tool, limits);
        if let Some(known) = self.calls.iter_mut().find(|call| call.key == key) {
            // Announced again: some agents do so to tell more. It began when it began, unless it
            // was believed to be over.
            if known.state == State::Presumed {
                known.started = now;
                known.from = now;
                known.reported = false;
            }
            known.state = state;
            known.timeout = timeout.or(known.timeout);
            known.step = step.or(known.step);
            known.pid = tool.pid.or(known.pid);
            self.recount();
            return false;
        }
        self.make_room(now, out);
        let headline = tool.headline();
        let headline = if headline.is_empty() { &tool.name } else { headline };
        let call = Call {
            key,
            id: bounded(&tool.call),
            item,
            command: self.short(headline, COMMAND_CHARS),
            class: tool.class(),
            timeout,
            step,
            started: now,
            from: now,
            state,
            doubted: false,
            reported: false,
            pid: tool.pid,
        };
        out.push(Action::ToolOpened(call.shown(now, limits)));
        self.calls.push(call);
        self.recount();
        true
    }

    /// A call's result came.
    pub(super) fn complete(
        &mut self,
        tool: &Tool,
        now: Moment,
        out: &mut Vec<Action>,
    ) -> Completion {
        let key = digest64(tool.call.0.as_bytes());
        let Some(index) = self.calls.iter().position(|call| call.key == key) else {
            if tool.background {
                self.remember_background(tool, key, now, out);
            }
            return Completion::Unannounced;
        };
        let call = &mut self.calls[index];
        let was = call.state;
        if !std::mem::replace(&mut call.reported, true) {
            out.push(call.closed(now, false, tool.outcome.clone()));
        }
        if tool.background {
            call.state = State::Background;
            call.pid = tool.pid.or(call.pid);
        } else {
            self.calls.remove(index);
        }
        self.recount();
        match was {
            State::Open => Completion::Expected,
            State::Presumed | State::Background => Completion::Late,
        }
    }

    pub(super) fn redact(&mut self, redactor: Arc<Redactor>) {
        self.redactor = Some(redactor);
    }

    /// A command as it may be said.
    pub(super) fn short(&self, command: &str, max: usize) -> String {
        match &self.redactor {
            Some(redactor) => excerpt(redactor.redact(command).as_bytes(), max),
            None => excerpt(command.as_bytes(), max),
        }
    }

    fn remember_background(&mut self, tool: &Tool, key: u64, now: Moment, out: &mut Vec<Action>) {
        self.make_room(now, out);
        self.calls.push(Call {
            key,
            id: bounded(&tool.call),
            item: ItemId(0),
            command: self.short(tool.headline(), COMMAND_CHARS),
            class: tool.class(),
            timeout: None,
            step: None,
            started: now,
            from: now,
            state: State::Background,
            doubted: false,
            reported: true,
            pid: tool.pid,
        });
    }

    /// The model speaks in an item that began after some of the open calls did.
    pub(super) fn text_began(&mut self, item: ItemId, now: Moment, out: &mut Vec<Action>) {
        if self.open == 0 || self.any_sub_agent() {
            return;
        }
        let mut presumed = false;
        for call in &mut self.calls {
            if call.state != State::Open || call.item >= item {
                continue;
            }
            let in_its_time = call.timeout.is_some_and(|t| now < call.from.plus(t));
            if in_its_time {
                call.doubted = true;
            } else {
                call.presume(now, out);
                presumed = true;
            }
        }
        if presumed {
            self.recount();
        }
    }

    /// A running call gave output: whatever was believed of it, it runs.
    pub(super) fn output_came(&mut self, item: ItemId, now: Moment) {
        let mut revived = false;
        for call in &mut self.calls {
            if call.item == item && call.state == State::Presumed {
                call.state = State::Open;
                call.from = call.from.max(now);
                revived = true;
            }
        }
        if revived {
            self.recount();
        }
    }

    /// A call of this step begins: calls of other steps must be over, calls of the same step are
    /// its siblings and still run.
    fn next_step(&mut self, step: Option<u64>, now: Moment, out: &mut Vec<Action>) {
        let Some(step) = step else { return };
        if self.any_sub_agent() {
            return;
        }
        for call in &mut self.calls {
            match (call.step, call.state) {
                (Some(other), State::Open) if other != step => call.presume(now, out),
                (Some(same), State::Presumed) if same == step => call.state = State::Open,
                _ => {}
            }
        }
        self.recount();
    }

    /// A task began in the background; one without a kind is another agent.
    pub(super) fn task_began(
        &mut self,
        item: ItemId,
        kind: Option<&str>,
        description: &str,
        now: Moment,
    ) {
        let is_known = self.tasks.iter().any(|open| open.item == item);
        if self.tasks.len() < CAPACITY && !is_known {
            let kind = kind.map(|kind| self.short(kind, KIND_CHARS));
            let description = self.short(description, COMMAND_CHARS);
            self.tasks.push(Task { item, kind, description, began: now });
        }
    }

    /// It is done.
    pub(super) fn task_ended(&mut self, item: ItemId) {
        self.tasks.retain(|open| open.item != item);
    }

    /// Whether anything works in the background.
    pub(super) fn any_task(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Whether any agent works in the background.
    pub(super) fn any_background_agent(&self) -> bool {
        self.tasks.iter().any(|task| task.kind.is_none())
    }

    /// The tasks that are open in the background, oldest first.
    pub(super) fn open_tasks(&self, now: Moment) -> Vec<OpenTask> {
        let shown = |task: &Task| OpenTask {
            task: task.kind.clone().unwrap_or_else(|| "agent".to_owned()),
            description: task.description.clone(),
            elapsed_ms: millis(now.since(task.began)),
        };
        self.tasks.iter().map(shown).collect()
    }

    /// Whether any other agent is at work, whose words cannot be told from the first one's.
    fn any_sub_agent(&self) -> bool {
        self.open_sub_agents > 0 || self.any_background_agent()
    }

    /// The turn is over, and with it everything that the agent waited for.
    pub(super) fn turn_ended(&mut self, now: Moment, out: &mut Vec<Action>) {
        self.calls_ended(now, out);
        self.tasks.clear();
    }

    /// The agent gave a result: it waits for no call any more.
    pub(super) fn calls_ended(&mut self, now: Moment, out: &mut Vec<Action>) {
        for call in &mut self.calls {
            if call.state == State::Open {
                call.presume(now, out);
            }
        }
        self.recount();
    }

    /// Every limit begins anew.
    pub(super) fn restart(&mut self, now: Moment) {
        for call in &mut self.calls {
            call.from = now;
        }
    }

    fn make_room(&mut self, now: Moment, out: &mut Vec<Action>) {
        if self.calls.len() < CAPACITY {
            return;
        }
        let presumed = |call: &Call| call.state == State::Presumed;
        let oldest = self.calls.iter().position(presumed).unwrap_or(0);
        let mut call = self.calls.remove(oldest);
        call.presume(now, out);
    }

    fn recount(&mut self) {
        self.open = self.in_state(State::Open).count();
        self.open_sub_agents =
            self.in_state(State::Open).filter(|call| call.class == ToolClass::SubAgent).count();
    }

    /// When every open call is past its limit; the start where none is open.
    pub(super) fn limit_at(&self, view: View<'_>) -> Moment {
        self.in_state(State::Open).map(|call| call.limit_at(view)).max().unwrap_or(Moment::START)
    }

    /// When every open call is silent for longer than usual.
    pub(super) fn quiet_at(&self, view: View<'_>) -> Moment {
        self.in_state(State::Open).map(|call| call.quiet_at(view)).max().unwrap_or(Moment::START)
    }

    /// By which one limit the open calls are waited for, and since when it counts; none where it
    /// takes several.
    pub(super) fn waited_since(
        &self,
        view: View<'_>,
        by_class: bool,
    ) -> Option<(TimeLimit, Moment)> {
        let by = |call: &Call| match call.timeout {
            Some(_) => TimeLimit::ToolGrace,
            None if by_class => TimeLimit::of_class(call.class),
            None => TimeLimit::Idle,
        };
        let limit = by(self.in_state(State::Open).next()?);
        let mut since = Moment::START;
        for call in self.in_state(State::Open) {
            if by(call) != limit || call.doubted {
                return None;
            }
            since = since.max(match call.timeout {
                Some(timeout) => call.from.plus(timeout).max(view.progress),
                None => call.from.max(view.liveness),
            });
        }
        Some((limit, since))
    }

    /// The longest limit among the open calls.
    pub(super) fn longest_limit(&self, limits: &Limits) -> Duration {
        self.in_state(State::Open).map(|call| call.limit(limits)).max().unwrap_or_default()
    }

    /// Whether an open call declared no time of its own, so that its limit is our guess.
    pub(super) fn any_undeclared(&self) -> bool {
        self.in_state(State::Open).any(|call| call.timeout.is_none())
    }

    /// The open calls, oldest first.
    pub(super) fn shown(&self, now: Moment, limits: &Limits) -> Vec<OpenTool> {
        self.in_state(State::Open).map(|call| call.shown(now, limits)).collect()
    }

    /// Whether there is a background command that could be stopped.
    pub(super) fn any_stoppable(&self) -> bool {
        self.in_state(State::Background).any(|call| call.pid.is_some())
    }

    /// Takes the background commands out of the table and gives the process ids known of them.
    pub(super) fn take_background(&mut self) -> Vec<u32> {
        let pids = self.in_state(State::Background).filter_map(|call| call.pid).collect();
        self.calls.retain(|call| call.state != State::Background);
        pids
    }
}

impl Call {
    fn presume(&mut self, now: Moment, out: &mut Vec<Action>) {
        if self.state == State::Open && !std::mem::replace(&mut self.reported, true) {
            out.push(self.closed(now, true, None));
        }
        self.state = State::Presumed;
    }
}

/// The declared timeout within sense. Zero means that the agent has nothing to say.
fn declared(tool: &Tool, limits: &Limits) -> Option<Duration> {
    let timeout = Duration::from_millis(tool.timeout_ms.filter(|ms| *ms > 0)?);
    Some(timeout.max(Duration::from_secs(1)).min(limits.tool_max))
}

/// An id to show. A long one is cut: calls are told apart by digest.
fn bounded(id: &CallId) -> CallId {
    const MOST: usize = 512;
    let cut = id.0.floor_char_boundary(MOST);
    CallId(id.0.get(..cut).unwrap_or_default().to_owned())
}
