//! Hooks of a running agent: what they tell, and what they are told.
//!
//! Owns the meaning of each call for a run: it goes on record as `hook.received`, is a sign of life,
//! and is answered by its role. Whatever waits for yes or no goes through [`super::approvals`] like
//! every other question. The socket is [`serve`]'s, the proof that a denial bites [`trial`]'s, the
//! agents' own shapes are core's `hook`. An agent that was to be held by hooks and uses a tool
//! without having called any is stopped: nothing holds it.

mod serve;
#[cfg(test)]
mod tests;
mod trial;

pub(crate) use serve::{FOLDER, socket_of};

use super::approvals::{Approvals, Asked, STOPPING};
use super::stop::StopReason;
use super::{Driver, RunSpec};
use crate::agent::Agent;
use crate::hook_call::{Response, SOCKET, TOKEN};
use crate::hooks::{HookPlan, Installation, Target};
use crate::keeper::SpawnError;
use crate::log::Log;
use nix::poll::PollFlags;
use serde_json::{Value, json};
use serve::{Exchange, Incoming};
use stablehand_core::Moment;
use stablehand_core::actor::ActorKind;
use stablehand_core::event::{EventKind, ItemBody, Tool, ToolInput};
use stablehand_core::hook::{Hooks, Reply, Role};
use stablehand_core::interaction::{Asker, Permission};
use stablehand_core::monitor::Input;
use stablehand_core::record::{
    DecisionRecord, HookAnswered, HookPermitted, HookReceived, HooksInstalled, HooksMissing,
    HooksRemoved, HooksTried,
};
use stablehand_core::speak::{Answer, Unanswerable};
use stablehand_core::text::excerpt;
use stablehand_policy::Action;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

/// A payload up to this length is in its event; of a longer one, the beginning.
const MOST_RECORDED: usize = 4 << 20;

/// And so much of that beginning.
const EXCERPT: usize = 4 << 10;

/// So many answers are remembered for the second question about the same call.
const MOST_PERMITS: usize = 64;

/// How the hooks of a run reach us.
#[derive(Clone, Debug)]
pub struct HookSpec {
    /// A folder that does not exist yet, for the socket.
    pub folder: PathBuf,
    /// The word that proves that a hook belongs to this run.
    pub token: String,
    /// The file that the agent reads its hooks from, where it has to be changed.
    pub install: Option<HookInstall>,
    /// A hook that waits for yes or no and the command line that is installed for it: tried before
    /// the agent is started.
    pub trial: Option<(String, String)>,
    /// What the agent is to know from the beginning, where it can be told so.
    pub context: Option<String>,
    /// Variables for its session, likewise.
    pub env: Vec<(String, String)>,
}

/// A file of the agent that has our hooks in it while the run lasts.
#[derive(Clone, Debug)]
pub struct HookInstall {
    /// Which.
    pub target: Target,
    /// What is put in.
    pub plan: HookPlan,
    /// Where the journal is kept.
    pub state: PathBuf,
}

impl HookSpec {
    /// The variables by which a hook finds us.
    fn variables(&self) -> [(OsString, Option<OsString>); 2] {
        [
            (SOCKET.into(), Some(socket_of(&self.folder).into_os_string())),
            (TOKEN.into(), Some(OsString::from(&self.token))),
        ]
    }
}

/// Where the hooks of a running agent call.
#[derive(Debug)]
pub(super) struct HookServer {
    exchange: Exchange,
    installation: Option<Installation>,
    /// What each caller that waits asked, so that its answer has the right shape.
    callers: Vec<Caller>,
    permits: VecDeque<Permit>,
    /// Calls so far.
    heard: u64,
    /// The agent calls before its stream tells of a session.
    calls_first: bool,
    /// What the stream told before any hook called: nobody holds an agent that does so.
    began: Option<String>,
    /// A tool that is over may have changed files since the last look at ours.
    may_have_changed_files: bool,
    /// Our entries were found missing from the agent's file.
    entries_missed: bool,
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

/// Opens the socket, proves that a denial bites, and gives the agent what it needs to reach us.
pub(super) fn open(spec: &RunSpec, log: &mut Log) -> Result<Option<HookServer>, SpawnError> {
    let Some(wanted) = &spec.hooks else { return Ok(None) };
    let failed = |what: &str, source| SpawnError::Hooks { what: what.to_owned(), source };
    let mut exchange = Exchange::open(&wanted.folder, &wanted.token)
        .map_err(|source| failed("could not listen for the agent's hooks", source))?;
    let installation = match &wanted.install {
        Some(install) => Some(put_in(install, log)?),
        None => None,
    };
    let agent = Agent::by_name(&spec.agent);
    if let Some((event, command)) = &wanted.trial {
        let hooks = agent.and_then(Agent::hooks);
        let hooks = hooks.ok_or_else(|| {
            failed("the agent has no hooks", std::io::Error::other(spec.agent.clone()))
        })?;
        let took = trial::denial_bites(&mut exchange, hooks, event, command, &wanted.variables())
            .map_err(|source| failed("the hook command does not hold the agent", source))?;
        let took_us = u64::try_from(took.as_micros()).ok();
        log.decide(HooksTried { hook: event.clone(), took_us }, None);
    }
    Ok(Some(HookServer {
        exchange,
        installation,
        callers: Vec::new(),
        permits: VecDeque::new(),
        heard: 0,
        calls_first: agent.and_then(|agent| agent.row().hooks).is_some_and(|it| it.calls_first),
        began: None,
        may_have_changed_files: false,
        entries_missed: false,
    }))
}

/// Puts our hooks into the agent's file. A file that the agent would not read holds nobody.
fn put_in(install: &HookInstall, log: &mut Log) -> Result<Installation, SpawnError> {
    let failed = |source| SpawnError::Hooks {
        what: "could not install the agent's hooks".to_owned(),
        source,
    };
    let installation = Installation::begin(&install.target, &install.plan, &install.state)
        .map_err(|error| failed(std::io::Error::other(crate::error_chain(&error))))?;
    let path = installation.path();
    let installed = HooksInstalled {
        path: path.to_string_lossy().into_owned(),
        covered: installation.is_covered(),
        repaired: installation.repaired.map(|change| format!("{change:?}").to_lowercase()),
    };
    log.decide(installed, None);
    for finding in &installation.findings {
        let text = format!("{}:{}: {}", path.display(), finding.line, finding.text);
        if finding.voids {
            let text = format!("{text}; the agent would run none of its hooks");
            return Err(failed(std::io::Error::other(text)));
        }
        log.decide(DecisionRecord::HooksOdd(text.into()), None);
    }
    Ok(installation)
}

/// The launch with what its hooks need.
pub(super) fn equip(spec: &RunSpec, server: Option<&HookServer>) -> crate::keeper::Launch {
    let mut launch = spec.launch.clone();
    // Should we be killed, the keeper gives the agent's file back.
    let installation = server.and_then(|server| server.installation.as_ref());
    launch.release = installation.and_then(Installation::release);
    if let Some(wanted) = &spec.hooks {
        launch.env.extend(wanted.variables());
    }
    launch
}

impl HookServer {
    /// What to wait for.
    pub(super) fn wants(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        self.exchange.wants()
    }

    /// When somebody has to be let go.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.exchange.deadline()
    }

    /// What a line of the agent says.
    pub(super) fn hear(&mut self, events: &[EventKind]) {
        for event in events {
            match event {
                EventKind::ItemStarted { item } if self.heard == 0 => {
                    if let ItemBody::Tool(tool) = &item.body {
                        let name = excerpt(tool.name.as_bytes(), 60);
                        self.began.get_or_insert_with(|| format!("uses a tool ({name})"));
                    }
                }
                EventKind::SessionStarted { .. } if self.heard == 0 && self.calls_first => {
                    self.began.get_or_insert_with(|| "has begun a session".to_owned());
                }
                EventKind::ItemCompleted { item } => {
                    if let ItemBody::Tool(tool) = &item.body {
                        self.may_have_changed_files |= tool.may_have_side_effects();
                    }
                }
                _ => {}
            }
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

impl Driver<'_> {
    /// Serves whoever calls.
    pub(super) fn advance_hooks(&mut self) {
        let now = self.clock.now();
        let Some(server) = &mut self.hooks else { return };
        let news = server.exchange.attend(now);
        if news.calls.is_empty() && news.gone.is_empty() && news.refused.is_empty() {
            return self.look_at_agent(now);
        }
        self.stamp(now);
        for why in news.refused {
            let text = format!("a hook was not listened to: {why}");
            self.log.decide(DecisionRecord::HookRefused(text.into()), None);
        }
        for number in news.gone {
            self.hook_went_away(number);
        }
        for call in news.calls {
            self.hook_called(&call, now);
        }
        self.look_at_agent(now);
        self.log.flush();
    }

    /// The agent did not wait any longer, or is gone.
    fn hook_went_away(&mut self, number: u64) {
        if let Some(server) = &mut self.hooks {
            server.take_caller(number);
        }
        if let Some(id) = self.interaction.waiting_of(Asker::Hook(number)).map(str::to_owned) {
            self.interaction.settle(&id, Permission::Denied);
            let withdrawn = "withdrawn".to_owned().into();
            self.resolved(&id, withdrawn, &ActorKind::Agent.into(), None);
        }
    }

    fn hook_called(&mut self, call: &Incoming, now: Moment) {
        let Some(server) = &mut self.hooks else { return };
        let hooks = Agent::by_name(&call.agent).and_then(Agent::hooks);
        let known = hooks.filter(|hooks| hooks.event(&call.event).is_some());
        let Some(hooks) = known else {
            let agent = excerpt(call.agent.as_bytes(), 40);
            let event = excerpt(call.event.as_bytes(), 60);
            let why = format!("no hook of {agent} is called `{event}`");
            let text = format!("a hook was not listened to: {why}");
            server.exchange.answer(call.number, &Response::refusal(why));
            return self.log.decide(DecisionRecord::HookRefused(text.into()), None);
        };
        server.heard += 1;
        // At the moment of the record that says so.
        self.stamp(now);
        self.monitor.handle(Input::Heard, now, &mut self.actions);
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
        self.log.decide(received, Some(&event));
        let heard = match heard {
            Ok(heard) => heard,
            Err(error) => {
                let reason =
                    format!("denied by stablehand: the hook's payload is no JSON: {error}");
                let text = format!("the payload of {} is no JSON: {error}", call.event);
                self.log.decide(DecisionRecord::HookUnreadable(text.into()), None);
                let reply =
                    if role.fails_closed() { Reply::Deny { reason } } else { Reply::Nothing };
                return self.reply(hooks, call, &reply);
            }
        };
        match role {
            Role::Permission => {
                let tool = heard.tool.as_deref();
                self.hook_asks(hooks, call, tool, &heard.arguments, heard.folder(), now);
            }
            Role::SessionStart => {
                let reply = self.spec.hooks.as_ref().map_or(Reply::Nothing, |wanted| {
                    if wanted.context.is_none() && wanted.env.is_empty() {
                        return Reply::Nothing;
                    }
                    Reply::Inform { context: wanted.context.clone(), env: wanted.env.clone() }
                });
                self.reply(hooks, call, &reply);
            }
            Role::Stop => {
                let done = heard.stop.is_some_and(|stop| stop.completed);
                let onward = if done { self.continue_by_hook() } else { None };
                let reply = onward.map_or(Reply::Nothing, |prompt| Reply::GoOn { prompt });
                self.reply(hooks, call, &reply);
            }
            Role::SessionEnd | Role::Prompt | Role::Observe => {
                self.reply(hooks, call, &Reply::Nothing);
            }
        }
    }

    fn hook_asks(
        &mut self,
        hooks: &'static dyn Hooks,
        call: &Incoming,
        tool: Option<&Tool>,
        arguments: &Value,
        cwd: Option<&str>,
        now: Moment,
    ) {
        let Some(server) = &mut self.hooks else { return };
        let id = request_id(call.number);
        self.interaction.ask(&id, &call.event, None, tool);
        if !self.spec.approvals.judge() {
            // Nobody wants to judge; the agent goes by its own rules.
            return self.reply(hooks, call, &Reply::Nothing);
        }
        if self.stop.reason().is_some() || self.requests.is_alarmed() {
            // What it begins now nobody would see to the end.
            return self.reply(hooks, call, &Reply::Deny { reason: format!("denied: {STOPPING}") });
        }
        let permit = tool.and_then(|tool| server.use_permit(&call.event, &tool.input));
        if let Some(permit) = permit
            && self.still_allowed(&permit, tool, arguments, cwd)
        {
            let text = "the same call was allowed a moment ago".to_owned();
            let (hook, number) = (call.event.clone(), call.number);
            self.log.decide(HookPermitted { hook, number, text }, None);
            return self.reply(hooks, call, &Reply::Allow { input: None });
        }
        let Some(server) = &mut self.hooks else { return };
        server.callers.push(Caller {
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
        self.was_asked(asked, now);
    }

    /// Whether the rules say of the second event what they said of the first, or a person has said
    /// what they leave open.
    fn still_allowed(
        &self,
        permit: &Permit,
        tool: Option<&Tool>,
        arguments: &Value,
        cwd: Option<&str>,
    ) -> bool {
        match &self.spec.approvals {
            Approvals::Policy { gate, .. } => match gate.judge_call(tool, arguments, cwd).action {
                Action::Allow => true,
                Action::Ask => permit.by_person,
                Action::Deny => false,
            },
            _ => permit.by_person,
        }
    }

    /// Tells a caller something that needs no question.
    fn reply(&mut self, hooks: &'static dyn Hooks, call: &Incoming, reply: &Reply) {
        let said = Response::of(hooks.answer(&call.event, reply));
        if !matches!(reply, Reply::Nothing | Reply::Allow { input: None }) {
            let (hook, number) = (call.event.clone(), call.number);
            self.log.decide(HookAnswered { hook, number, reply: reply.into() }, None);
        }
        // On record before the agent can act on it.
        self.log.flush();
        let permission = match reply {
            Reply::Allow { input: None } => Some(Permission::Granted),
            Reply::Allow { input: Some(_) } => Some(Permission::Changed),
            Reply::Deny { .. } => Some(Permission::Denied),
            Reply::Nothing | Reply::Inform { .. } | Reply::GoOn { .. } => None,
        };
        if let Some(permission) = permission {
            self.interaction.settle(&request_id(call.number), permission);
        }
        if let Some(server) = &mut self.hooks {
            server.exchange.answer(call.number, &said);
        }
    }

    /// An answer in the shape that the hook's agent reads.
    pub(super) fn word_for_hook(
        &mut self,
        id: &str,
        number: u64,
        answer: &Answer,
    ) -> Result<Vec<u8>, Unanswerable> {
        let caller = self
            .hooks
            .as_ref()
            .and_then(|server| server.callers.iter().find(|caller| caller.number == number));
        let Some(caller) = caller else {
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
    pub(super) fn answer_hook(
        &mut self,
        number: u64,
        worded: &[u8],
        answer: &Answer,
        by_person: bool,
    ) {
        self.log.flush();
        let Some(server) = &mut self.hooks else { return };
        server.exchange.answer(number, worded);
        if let Some(caller) = server.take_caller(number)
            && let Some(input) = caller.input
            && matches!(answer, Answer::Allow | Answer::AllowAlways)
        {
            server.permit(Permit { event: caller.event, input, by_person });
        }
    }

    /// Gives the agent's file back, once nobody is left who would read it.
    pub(super) fn close_hooks(&mut self) {
        let Some(server) = self.hooks.take() else { return };
        let Some(installation) = server.installation else { return };
        let path = installation.path().to_owned();
        match installation.end() {
            Ok(ending) => {
                let path = path.to_string_lossy().into_owned();
                self.log.decide(HooksRemoved { path, ending: format!("{ending:?}") }, None);
            }
            Err(error) => {
                let text = format!(
                    "the hooks are still in `{}`: {}; `stablehand hooks status` puts it right",
                    path.display(),
                    crate::error_chain(&error)
                );
                self.log.decide(DecisionRecord::HooksLeft(text.into()), None);
            }
        }
    }

    /// Stops an agent that works and has called no hook, judges what it did unasked, and looks for our
    /// entries.
    fn look_at_agent(&mut self, now: Moment) {
        let Some(server) = &mut self.hooks else { return };
        let began = server.began.take().filter(|_| server.heard == 0);
        let may_have_changed_files = std::mem::take(&mut server.may_have_changed_files);
        if !self.spec.approvals.judge() {
            return;
        }
        if let Some(began) = began {
            let text = format!(
                "the agent {began} and has called no hook: nothing would hold it, so it is stopped"
            );
            self.stamp(now);
            self.log.decide(DecisionRecord::HooksInactive(text.into()), None);
            self.stop.kill(StopReason::HooksInactive, now);
        } else if may_have_changed_files {
            self.stamp(now);
            self.look_for_entries();
        }
        self.judge_tools(now);
    }

    /// Says so once when our entries are gone from the agent's file. It is no reason to stop the run:
    /// the agents that we know read the file when they start, and an honest `git stash` takes it away
    /// too. What the agent then does without asking is judged.
    fn look_for_entries(&mut self) {
        let install = self.spec.hooks.as_ref().and_then(|wanted| wanted.install.as_ref());
        let (Some(install), Some(server)) = (install, &mut self.hooks) else { return };
        if server.entries_missed || server.installation.is_none() {
            return;
        }
        let text = install.target.read().ok();
        let survey = text.and_then(|text| install.plan.survey(text.as_deref()).ok());
        if survey.is_some_and(|survey| install.plan.is_covered_by(&survey)) {
            return;
        }
        server.entries_missed = true;
        let path = install.target.path();
        let text = format!(
            "our hooks are no longer in `{}`: the agent may stop asking before it runs a tool",
            path.display()
        );
        let path = path.to_string_lossy().into_owned();
        self.log.decide(HooksMissing { path, text }, None);
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
