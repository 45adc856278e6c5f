//! Hooks of a running agent: what they tell, and what they are told.
//!
//! Owns the meaning of each call for a run: it goes on record as `hook.received`, is a sign of life,
//! and is answered by its role. Whatever waits for yes or no goes through [`super::approvals`] like
//! every other question. The socket is [`serve`]'s, the proof that a denial bites [`trial`]'s, the
//! agents' own shapes are core's `hook`. An agent that was to be held by hooks and uses a tool
//! without having called any is stopped: nothing holds it.

mod serve;
mod setup;
#[cfg(test)]
mod tests;
mod trial;
mod watch;

pub(crate) use serve::FOLDER;
pub use setup::{HookFile, HookSpec};
pub(super) use setup::{equip, open};

use super::Driver;
use super::approvals::{Approvals, Asked, STOPPING};
use super::channel::{Channel, Given, Wanted};
use super::stop::StopReason;
use crate::agent::Agent;
use crate::hook_call::Response;
use crate::hooks::Installation;
use crate::prompt_gate;
use nix::poll::PollFlags;
use serde_json::{Value, json};
use serve::{Exchange, Incoming};
use stablehand_core::Moment;
use stablehand_core::actor::ActorKind;
use stablehand_core::event::{EventKind, ItemBody, Tool, ToolInput};
use stablehand_core::hook::{Hooks, Reply, Role};
use stablehand_core::interaction::{Asker, Permission, deny};
use stablehand_core::json::Scan;
use stablehand_core::line::Line;
use stablehand_core::monitor::Input;
use stablehand_core::record::{
    DecisionRecord, HookAnswered, HookPermitted, HookReceived, HooksChanged, HooksRemoved,
};
use stablehand_core::speak::{Answer, Unanswerable};
use stablehand_core::text::excerpt;
use stablehand_policy::Action;
use std::collections::VecDeque;
use watch::FileWatch;

/// What a hook asks about: the tool, everything that the tool is given, and where it works.
type About<'a> = (Option<&'a Tool>, &'a Value, Option<&'a str>);

/// A payload up to this length is in its event; of a longer one, the beginning.
const MOST_RECORDED: usize = 4 << 20;

/// And so much of that beginning.
const EXCERPT: usize = 4 << 10;

/// So many answers are remembered for the second question about the same call.
const MOST_PERMITS: usize = 64;

/// Where the hooks of a running agent call.
#[derive(Debug)]
pub(super) struct HookServer {
    exchange: Exchange,
    installation: Option<Installation>,
    watch: FileWatch,
    /// What each caller that waits asked, so that its answer has the right shape.
    callers: Vec<Caller>,
    permits: VecDeque<Permit>,
    /// Calls so far.
    heard: u64,
    /// The agent calls before its stream tells of a session.
    calls_first: bool,
    /// What the stream told before any hook called: nobody holds an agent that does so.
    began: Option<String>,
    /// A tool began or ended since the last look at the agent's file.
    used_tool: bool,
}

#[derive(Debug)]
struct Caller {
    number: u64,
    hooks: &'static dyn Hooks,
    event: String,
    input: Option<ToolInput>,
}

/// A call that was allowed once. Some agents ask twice about the same call, at two events. It spares a
/// person the second question and nothing else: the rules judge again, since the second event may
/// tell more.
#[derive(Debug)]
struct Permit {
    event: String,
    input: ToolInput,
    by_person: bool,
}

impl HookServer {
    fn new(
        exchange: Exchange,
        installation: Option<Installation>,
        watch: FileWatch,
        calls_first: bool,
    ) -> Self {
        HookServer {
            exchange,
            installation,
            watch,
            callers: Vec::new(),
            permits: VecDeque::new(),
            heard: 0,
            calls_first,
            began: None,
            used_tool: false,
        }
    }

    fn take_caller(&mut self, number: u64) -> Option<Caller> {
        let at = self.callers.iter().position(|caller| caller.number == number)?;
        Some(self.callers.swap_remove(at))
    }

    /// What the same call was allowed by at another event a moment ago.
    fn use_permit(&mut self, event: &str, input: &ToolInput) -> Option<Permit> {
        let fits = |permit: &Permit| permit.event != event && same_input(&permit.input, input);
        let found = self.permits.iter().position(fits);
        found.and_then(|at| self.permits.remove(at))
    }

    fn permit(&mut self, permit: Permit) {
        if self.permits.len() == MOST_PERMITS {
            self.permits.pop_front();
        }
        self.permits.push_back(permit);
    }
}

/// Whether two events are about the same thing to do; one of them may leave out where it runs.
fn same_input(one: &ToolInput, other: &ToolInput) -> bool {
    match (one, other) {
        (ToolInput::Command { command: one, .. }, ToolInput::Command { command: other, .. }) => {
            one == other
        }
        (one, other) => one == other,
    }
}

impl HookServer {
    /// The agent did not wait any longer, or is gone.
    fn went_away(&mut self, driver: &mut Driver<'_>, number: u64) {
        self.take_caller(number);
        if let Some(id) = driver.interaction.waiting_of(Asker::Hook(number)).map(str::to_owned) {
            driver.interaction.settle(&id, Permission::Denied);
            let withdrawn = "withdrawn".to_owned().into();
            driver.resolved(&id, withdrawn, &ActorKind::Agent.into(), None);
        }
    }

    fn called(&mut self, driver: &mut Driver<'_>, call: &Incoming, now: Moment) {
        let hooks = Agent::by_name(&call.agent).and_then(Agent::hooks);
        let known = hooks.filter(|hooks| hooks.event(&call.event).is_some());
        let Some(hooks) = known else {
            let agent = excerpt(call.agent.as_bytes(), 40);
            let event = excerpt(call.event.as_bytes(), 60);
            let why = format!("no hook of {agent} is called `{event}`");
            let text = format!("a hook was not listened to: {why}");
            self.exchange.answer(call.number, &Response::refusal(why));
            return driver.log.decide(DecisionRecord::HookRefused(text.into()), None);
        };
        self.heard += 1;
        // At the moment of the record that says so.
        driver.stamp(now);
        driver.monitor.handle(Input::Heard, now, &mut driver.actions);
        let payload: Result<Value, _> = serde_json::from_slice(&call.payload);
        let role = hooks.role(&call.event);
        let heard = payload.as_ref().map(|payload| hooks.read(&call.event, payload));
        let tool = heard.as_ref().ok().and_then(|heard| heard.tool.as_deref());
        let event = EventKind::HookReceived {
            name: call.event.clone(),
            tool: tool.map(|tool| tool.call.clone()).filter(|call| !call.0.is_empty()),
            payload: recorded(payload.as_ref().ok(), &call.payload),
        };
        let received = HookReceived {
            agent: call.agent.clone(),
            hook: call.event.clone(),
            number: call.number,
            bytes: call.payload.len() as u64,
        };
        driver.log.decide(received, Some(&event));
        let heard = match heard {
            Ok(heard) => heard,
            Err(error) => {
                let reason =
                    format!("denied by stablehand: the hook's payload is no JSON: {error}");
                let text = format!("the payload of {} is no JSON: {error}", call.event);
                driver.log.decide(DecisionRecord::HookUnreadable(text.into()), None);
                // A prompt that cannot be read cannot be held against rules either.
                let is_held = role == Role::Prompt && !driver.spec.prompt_rules.is_empty();
                let refuses = role.fails_closed() || is_held;
                let reply = if refuses { Reply::Deny { reason } } else { Reply::Nothing };
                return self.reply(driver, hooks, call, &reply);
            }
        };
        match role {
            Role::Permission => {
                let tool = heard.tool.as_deref();
                let about = (tool, &heard.arguments, heard.folder());
                self.asks(driver, hooks, call, about, now);
            }
            Role::SessionStart | Role::Prompt if is_stopping(driver) => {
                // The run is being stopped and would not see the end of what begins now.
                let reason = format!("denied: {STOPPING}");
                self.reply(driver, hooks, call, &Reply::Deny { reason });
            }
            Role::Prompt => {
                let reply = judge_prompt(driver, &call.event, heard.prompt.as_deref());
                self.reply(driver, hooks, call, &reply);
            }
            Role::SessionStart => {
                let reply = driver.spec.hooks.as_ref().map_or(Reply::Nothing, |wanted| {
                    if wanted.context.is_none() && wanted.env.is_empty() {
                        return Reply::Nothing;
                    }
                    Reply::Inform { context: wanted.context.clone(), env: wanted.env.clone() }
                });
                self.reply(driver, hooks, call, &reply);
            }
            Role::Stop => {
                let done = heard.stop.is_some_and(|stop| stop.completed);
                let onward = if done { driver.continue_by_hook() } else { None };
                let reply = onward.map_or(Reply::Nothing, |prompt| Reply::GoOn { prompt });
                self.reply(driver, hooks, call, &reply);
            }
            Role::SubagentStop => {
                let id = heard.other_agent.and_then(|other| other.id).unwrap_or_default();
                let stop = heard.stop.filter(|stop| stop.completed);
                let onward = stop.and_then(|stop| {
                    driver.continue_subagent(&id, stop.last_text.as_deref().unwrap_or_default())
                });
                let reply = onward.map_or(Reply::Nothing, |prompt| Reply::GoOn { prompt });
                self.reply(driver, hooks, call, &reply);
            }
            Role::SessionEnd | Role::Observe => {
                self.reply(driver, hooks, call, &Reply::Nothing);
            }
        }
    }

    fn asks(
        &mut self,
        driver: &mut Driver<'_>,
        hooks: &'static dyn Hooks,
        call: &Incoming,
        (tool, arguments, cwd): About<'_>,
        now: Moment,
    ) {
        let id = request_id(call.number);
        driver.interaction.ask(&id, &call.event, None, tool);
        if !driver.spec.approvals.judge() {
            // Nobody wants to judge; the agent goes by its own rules.
            return self.reply(driver, hooks, call, &Reply::Nothing);
        }
        self.look_at_file(driver, now);
        if is_stopping(driver) {
            // The run is being stopped and would not see the end of what begins now.
            return self.reply(
                driver,
                hooks,
                call,
                &Reply::Deny { reason: format!("denied: {STOPPING}") },
            );
        }
        let permit = tool.and_then(|tool| self.use_permit(&call.event, &tool.input));
        if let Some(permit) = permit
            && still_allowed(driver, &permit, tool, arguments, cwd)
        {
            let text = "the same call was allowed a moment ago".to_owned();
            let (hook, number) = (call.event.clone(), call.number);
            driver.log.decide(HookPermitted { hook, number, text }, None);
            return self.reply(driver, hooks, call, &Reply::Allow { input: None });
        }
        self.callers.push(Caller {
            number: call.number,
            hooks,
            event: call.event.clone(),
            input: tool.map(|tool| tool.input.clone()),
        });
        let what = tool.map(|tool| match tool.headline() {
            "" => tool.name.clone(),
            headline => format!("{}: {headline}", tool.name),
        });
        let asked = Asked {
            id: &id,
            asker: Asker::Hook(call.number),
            call: tool.map(|tool| &tool.call).filter(|call| !call.0.is_empty()),
            what: what.as_deref().unwrap_or(&call.event),
            options: &[],
            tool,
            arguments,
            cwd,
        };
        driver.was_asked(self, asked, now);
    }

    /// Tells a caller something that needs no question.
    fn reply(
        &mut self,
        driver: &mut Driver<'_>,
        hooks: &'static dyn Hooks,
        call: &Incoming,
        reply: &Reply,
    ) {
        let said = Response::of(hooks.answer(&call.event, reply));
        if !matches!(reply, Reply::Nothing | Reply::Allow { input: None }) {
            let (hook, number) = (call.event.clone(), call.number);
            driver.log.decide(HookAnswered { hook, number, reply: reply.into() }, None);
        }
        // On record before the agent can act on it.
        driver.log.flush();
        let permission = match reply {
            Reply::Allow { input: None } => Some(Permission::Granted),
            Reply::Allow { input: Some(_) } => Some(Permission::Changed),
            Reply::Deny { .. } => Some(Permission::Denied),
            Reply::Nothing | Reply::Inform { .. } | Reply::GoOn { .. } => None,
        };
        if let Some(permission) = permission {
            driver.interaction.settle(&request_id(call.number), permission);
        }
        self.exchange.answer(call.number, &said);
    }

    /// Stops an agent that works and has called no hook, or whose hooks were changed, and judges what it
    /// did unasked.
    fn look_at_agent(&mut self, driver: &mut Driver<'_>, now: Moment) {
        let began = self.began.take().filter(|_| self.heard == 0);
        let may_have_changed = self.watch.was_touched() | std::mem::take(&mut self.used_tool);
        if !driver.spec.approvals.judge() {
            return;
        }
        if let Some(began) = began {
            let text = format!(
                "the agent {began} and has called no hook: nothing would hold it, so it is stopped"
            );
            driver.stamp(now);
            driver.log.decide(DecisionRecord::HooksInactive(text.into()), None);
            driver.stop.kill(StopReason::HooksInactive, now);
        } else if may_have_changed {
            self.look_at_file(driver, now);
        }
        driver.judge_tools(now);
    }

    /// Stops the run where the agent's file does not hold the agent as it did when the run began. An
    /// agent that reads it again would ask nobody before its next tool.
    fn look_at_file(&mut self, driver: &mut Driver<'_>, now: Moment) {
        if driver.stop.reason().is_some() || !self.watch.has_changed() {
            return;
        }
        let path = self.watch.path();
        let text = format!(
            "our hooks in `{}` were removed or changed during the run: nothing would hold the agent, \
             so it is stopped",
            path.display()
        );
        let path = path.to_string_lossy().into_owned();
        driver.stamp(now);
        driver.log.decide(HooksChanged { path, text }, None);
        driver.stop.kill(StopReason::HooksChanged, now);
    }
}

impl Channel for HookServer {
    fn hear(&mut self, _line: &Line<'_>, _scan: &Scan<'_>, events: &[EventKind]) {
        for event in events {
            match event {
                EventKind::ItemStarted { item } => {
                    let ItemBody::Tool(tool) = &item.body else { continue };
                    self.used_tool = true;
                    if self.heard == 0 {
                        let name = excerpt(tool.name.as_bytes(), 60);
                        self.began.get_or_insert_with(|| format!("uses a tool ({name})"));
                    }
                }
                EventKind::SessionStarted { .. } if self.heard == 0 && self.calls_first => {
                    self.began.get_or_insert_with(|| "has begun a session".to_owned());
                }
                EventKind::ItemCompleted { item } => {
                    self.used_tool |= matches!(item.body, ItemBody::Tool(_));
                }
                _ => {}
            }
        }
    }

    fn wants<'a>(&'a self, _driver: &'a Driver<'_>, wanted: &mut Vec<Wanted<'a>>) {
        wanted.extend(self.exchange.wants());
        wanted.extend(self.watch.fd().map(|fd| (fd, PollFlags::POLLIN)));
    }

    fn deadline(&self, _driver: &Driver<'_>) -> Option<Moment> {
        self.exchange.deadline()
    }

    fn advance(&mut self, driver: &mut Driver<'_>) {
        let now = driver.clock.now();
        let news = self.exchange.attend(now);
        if news.calls.is_empty() && news.gone.is_empty() && news.refused.is_empty() {
            return self.look_at_agent(driver, now);
        }
        driver.stamp(now);
        for why in news.refused {
            let text = format!("a hook was not listened to: {why}");
            driver.log.decide(DecisionRecord::HookRefused(text.into()), None);
        }
        for number in news.gone {
            self.went_away(driver, number);
        }
        for call in news.calls {
            self.called(driver, &call, now);
        }
        self.look_at_agent(driver, now);
        driver.log.flush();
    }

    fn word(&mut self, id: &str, asker: Asker, answer: &Answer) -> Result<Vec<u8>, Unanswerable> {
        let is_meant = |caller: &&Caller| asker == Asker::Hook(caller.number);
        let Some(caller) = self.callers.iter().find(is_meant) else {
            return Err(Unanswerable::NotOpen { id: id.to_owned() });
        };
        let reply = match answer {
            Answer::Allow | Answer::AllowAlways => Reply::Allow { input: None },
            Answer::AllowWith { input } => Reply::Allow { input: Some(input.clone()) },
            Answer::Deny { message } => Reply::Deny { reason: message.clone() },
            Answer::Choose(option) => {
                let answer = option.clone();
                return Err(Unanswerable::NoSuchAnswer { id: id.to_owned(), answer });
            }
        };
        Ok(Response::of(caller.hooks.answer(&caller.event, &reply)))
    }

    /// Gives a hook its answer; what was allowed is not asked again at the next event.
    fn deliver(&mut self, driver: &mut Driver<'_>, asker: Asker, given: &Given<'_>) {
        let Asker::Hook(number) = asker else { return };
        driver.log.flush();
        self.exchange.answer(number, given.worded);
        if let Some(caller) = self.take_caller(number)
            && let Some(input) = caller.input
            && matches!(given.answer, Answer::Allow | Answer::AllowAlways)
        {
            self.permit(Permit { event: caller.event, input, by_person: given.by_person });
        }
    }

    /// No hook is waited for any more, and none says yes.
    fn stop(&mut self, driver: &mut Driver<'_>) {
        let is_hook = |asker| matches!(asker, Asker::Hook(_));
        for open in driver.interaction.take_waiting(is_hook) {
            driver.answer(self, &open.id, open.asker, &deny(STOPPING), &ActorKind::Stop.into());
        }
    }

    /// Gives the agent's file back, once nobody is left who would read it.
    fn finish(&mut self, driver: &mut Driver<'_>) {
        let Some(installation) = self.installation.take() else { return };
        let path = installation.path().to_owned();
        match installation.end() {
            Ok(ending) => {
                let path = path.to_string_lossy().into_owned();
                driver.log.decide(HooksRemoved { path, ending: format!("{ending:?}") }, None);
            }
            Err(error) => {
                let text = format!(
                    "the hooks are still in `{}`: {}; `stablehand hooks status` puts it right",
                    path.display(),
                    crate::error_chain(&error)
                );
                driver.log.decide(DecisionRecord::HooksLeft(text.into()), None);
            }
        }
    }
}

fn is_stopping(driver: &Driver<'_>) -> bool {
    driver.stop.reason().is_some() || driver.requests.is_alarmed()
}

/// Holds a prompt that the agent is about to give to its model against the rules about prompts.
fn judge_prompt(driver: &mut Driver<'_>, event: &str, prompt: Option<&str>) -> Reply {
    let (rules, by) = (&driver.spec.prompt_rules, ActorKind::Agent.into());
    let verdict = prompt_gate::judge(rules, prompt.unwrap_or_default(), &by, Some(event));
    let Some(verdict) = verdict else { return Reply::Nothing };
    driver.log.decide(verdict.record, None);
    match verdict.denied {
        Some(why) => Reply::Deny { reason: format!("the prompt is {why}") },
        None => Reply::Nothing,
    }
}

/// Whether the rules say of the second event what they said of the first, or a person has said
/// what they leave open.
fn still_allowed(
    driver: &Driver<'_>,
    permit: &Permit,
    tool: Option<&Tool>,
    arguments: &Value,
    cwd: Option<&str>,
) -> bool {
    match &driver.spec.approvals {
        Approvals::Policy { gate, .. } => match gate.judge_call(tool, arguments, cwd).action {
            Action::Allow => true,
            Action::Ask => permit.by_person,
            Action::Deny => false,
        },
        _ => permit.by_person,
    }
}

/// The id of a hook's permission request.
fn request_id(number: u64) -> String {
    format!("hook-{number}")
}

/// A payload for its event.
fn recorded(payload: Option<&Value>, bytes: &[u8]) -> Value {
    match payload {
        Some(payload) if bytes.len() <= MOST_RECORDED => payload.clone(),
        _ => json!({ "bytes": bytes.len(), "excerpt": excerpt(bytes, EXCERPT) }),
    }
}
