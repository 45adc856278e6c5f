//! What the agent does for its hooks: when they are run, and what their replies change.
//!
//! Owns the state that hooks leave behind (the environment they add, what they told the model, which
//! calls they refused or changed). The rules of each agent are in `hooks`. Without hook files there
//! is no such state, and every step goes its usual way.

use super::{Flow, Stage};
use crate::act::{Act, Call, CursorAct, Ending, Place, Work};
use crate::dialect::Said;
use crate::duplex::Verdict;
use crate::hooks::Surroundings;
use crate::hooks::{Asked, Consent, Mode, Moment, Refusal, Reply, Rules, Tool, Who, load};
use crate::script::Step;
use serde_json::{Value, json};
use stablehand_core::Dialect;
use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// So often hooks may keep a turn going: who never lets it end is a loop, and a test has to end.
const MOST_ROUNDS: u32 = 100;

/// What an agent says when it is asked what hooks have told it, and none did.
const TOLD_NOTHING: &str = "No hook has told me anything.";

/// The hooks of an agent, and what they have left behind.
#[derive(Debug)]
pub(super) struct Hooked {
    rules: Box<dyn Rules>,
    mode: Mode,
    workspace: PathBuf,
    since: Instant,
    /// For later hooks and for commands.
    pub(super) env: BTreeMap<String, String>,
    /// What the model was told.
    told: Vec<String>,
    /// Calls that do not happen.
    refused: Vec<String>,
    /// Calls that do something else.
    changed: Vec<(String, Work)>,
    began: Vec<(String, Instant)>,
    /// What is done when a hook keeps the turn going.
    followed: Vec<Step>,
    last_message: String,
    has_begun: bool,
    has_prompt: bool,
    is_over: bool,
    follows: bool,
}

impl Hooked {
    /// The hooks that there are; nothing where there are none.
    pub(super) fn find(dialect: Dialect, around: &Surroundings) -> Option<Hooked> {
        let rules = load(dialect, around)?;
        Some(Hooked {
            rules,
            mode: around.mode,
            workspace: around.workspace.clone(),
            since: Instant::now(),
            env: BTreeMap::new(),
            told: Vec::new(),
            refused: Vec::new(),
            changed: Vec::new(),
            began: Vec::new(),
            followed: Vec::new(),
            last_message: String::new(),
            has_begun: false,
            has_prompt: false,
            is_over: false,
            follows: false,
        })
    }

    /// What was found, for the record.
    pub(super) fn found(&self) -> Vec<Value> {
        self.rules.found()
    }
}

impl Stage {
    /// A new turn: what the script does when a hook keeps it going is taken from its section.
    pub(super) fn hooks_begin_turn(&mut self, section: &[Step]) {
        if let Some(hooks) = &mut self.hooks {
            let followed = |step: &Step| match step {
                Step::WhenFollowed(steps) => steps.clone(),
                _ => Vec::new(),
            };
            hooks.followed = section.iter().flat_map(followed).collect();
            (hooks.has_prompt, hooks.is_over) = (false, false);
        }
    }

    pub(super) fn set_hooks(&mut self, mode: Mode) {
        if let Some(hooks) = &mut self.hooks {
            hooks.mode = mode;
        }
    }

    /// The prompt comes before whatever a model does, even where the script does not echo it.
    pub(super) fn hooks_before(&mut self, step: &Step) -> io::Result<Flow> {
        let is_of_model = match step {
            Step::Tell(act) => !matches!(act, Act::Begins(_) | Act::Prompt(_) | Act::Uses { .. }),
            Step::Think(_)
            | Step::Message(..)
            | Step::Start(_)
            | Step::Save(_)
            | Step::Ask(_)
            | Step::Recall => true,
            _ => false,
        };
        match &self.hooks {
            Some(hooks) if is_of_model && !hooks.has_prompt => {
                let prompt = self.prompt.clone();
                self.prompted(&prompt)
            }
            _ => Ok(Flow::Next),
        }
    }

    /// Tells an act, and does what hooks want before and after it.
    pub(super) fn act(&mut self, act: &Act) -> io::Result<Flow> {
        if self.hooks.is_none() {
            self.tell(act)?;
            return Ok(Flow::Next);
        }
        match act {
            Act::Begins(session) => {
                if let Some(session) = session {
                    session.clone_into(&mut self.voice.id.session);
                }
                let flow = self.session_begins();
                if flow != Flow::Next {
                    return Ok(flow);
                }
            }
            Act::Prompt(text) => {
                let flow = self.prompted(text)?;
                if flow != Flow::Next {
                    return Ok(flow);
                }
            }
            Act::ToolBegins(call) => {
                self.tell(act)?;
                return Ok(self.permit(call, Consent::Open)?.err().unwrap_or(Flow::Next));
            }
            Act::ToolEnds(call, ending) => return self.ended(call, ending.clone(), Reach::Inside),
            Act::Plan(todos) => {
                let reply = self.fire_call("plan", Tool::Plan(todos), None, "");
                if let Some(refusal) = reply.refused {
                    self.note_told(refusal.reason);
                    return Ok(Flow::Next);
                }
                self.tell(act)?;
                self.fire_call("plan", Tool::Plan(todos), Some(&Ending::Well), "");
                return Ok(Flow::Next);
            }
            Act::Cursor(own) => return self.own(act, own),
            Act::Ends { text, failed } => return self.turn_ends(act, text.as_deref(), *failed),
            Act::Fails(_) => return self.turn_ends(act, None, true),
            _ => {}
        }
        self.tell(act)?;
        Ok(Flow::Next)
    }

    /// A tool that only Cursor has.
    fn own(&mut self, act: &Act, own: &CursorAct) -> io::Result<Flow> {
        match own {
            CursorAct::ToolBegins { id, kind, args } => {
                self.tell(act)?;
                let tool = Tool::Own { kind, value: args };
                if let Some(refusal) = self.fire_call(id, tool, None, "").refused {
                    let ending = Ending::Refused { reason: refusal.reason.clone() };
                    self.fire_call(id, tool, Some(&ending), "");
                    self.mark_refused(id);
                    let result = json!({ "rejected": { "reason": refusal.reason } });
                    let (id, kind) = (id.clone(), kind.clone());
                    self.tell(&Act::Cursor(CursorAct::ToolEnds { id, kind, result }))?;
                }
            }
            CursorAct::ToolEnds { id, kind, result } => {
                if !self.is_refused(id) {
                    let tool = Tool::Own { kind, value: result };
                    self.fire_call(id, tool, Some(&Ending::Well), "");
                    self.tell(act)?;
                }
            }
            CursorAct::ShellInBackground { id, .. } => {
                if !self.is_refused(id) {
                    self.tell(act)?;
                }
            }
        }
        Ok(Flow::Next)
    }

    /// Asks the hooks, and whoever they want to be asked, whether a call may happen. The call as it
    /// is to happen, or what comes after one that does not.
    pub(super) fn permit(&mut self, call: &Call, usual: Consent) -> io::Result<Result<Call, Flow>> {
        let reply = self.fire_call(&call.id, Tool::Work(&call.work), None, "");
        let mut call = call.clone();
        if let (Some(work), Some(hooks)) = (reply.instead, &mut self.hooks) {
            hooks.changed.push((call.id.clone(), work.clone()));
            call.work = work;
        }
        let halted = |reason: &String| Refusal { reason: reason.clone(), is_permission: false };
        if let Some(refusal) = reply.refused.or_else(|| reply.halt.as_ref().map(halted)) {
            return self.refuse(&call, &refusal, reply.halt).map(Err);
        }
        let consent = if reply.consent == Consent::Open { usual } else { reply.consent };
        if consent == Consent::Needed {
            let mut said = Said::default();
            let question = self.writer.question(&call, &mut self.voice, &mut said);
            self.emit(said)?;
            let verdict = match question {
                None => Verdict::Deny("This command requires approval".to_owned()),
                Some(question) => match self.wait_for_answer(&question)? {
                    Ok(verdict) => verdict,
                    Err(flow) => return Ok(Err(flow)),
                },
            };
            match verdict {
                Verdict::Deny(reason) => {
                    let refusal = Refusal { reason, is_permission: false };
                    return self.refuse(&call, &refusal, None).map(Err);
                }
                Verdict::Allow { command: Some(other) } => {
                    if let Work::Shell { command, .. } = &mut call.work {
                        *command = other;
                    }
                }
                Verdict::Allow { command: None } => {}
            }
        }
        if let Some(hooks) = &mut self.hooks {
            hooks.began.push((call.id.clone(), Instant::now()));
        }
        Ok(Ok(call))
    }

    fn refuse(&mut self, call: &Call, no: &Refusal, halt: Option<String>) -> io::Result<Flow> {
        let ending = Ending::Refused { reason: no.reason.clone() };
        self.fire_call(&call.id, Tool::Work(&call.work), Some(&ending), "");
        self.mark_refused(&call.id);
        self.note_told(no.reason.clone());
        if no.is_permission && self.dialect == Dialect::Cursor {
            let result = json!({ "permissionDenied": { "error": no.reason, "isReadonly": false } });
            let (id, kind) = (call.id.clone(), "mcpToolCall".to_owned());
            self.tell(&Act::Cursor(CursorAct::ToolEnds { id, kind, result }))?;
        } else {
            self.tell(&Act::ToolEnds(call.clone(), ending))?;
        }
        self.halt_if(halt)
    }

    /// A call has ended: its file is written, its hooks are run, and it is told.
    pub(super) fn ended(&mut self, call: &Call, ending: Ending, reach: Reach) -> io::Result<Flow> {
        if self.is_refused(&call.id) {
            return Ok(Flow::Next);
        }
        let changed = self.hooks.as_ref().and_then(|hooks| {
            hooks.changed.iter().rev().find(|(id, _)| *id == call.id).map(|(_, work)| work.clone())
        });
        let work = changed.unwrap_or_else(|| call.work.clone());
        let call = Call { id: call.id.clone(), work };
        let old = self.put(&call.work, reach)?;
        let reply = self.fire_call(&call.id, Tool::Work(&call.work), Some(&ending), &old);
        let ending = match reply.refused {
            Some(refusal) => Ending::Refused { reason: refusal.reason },
            None => ending,
        };
        self.tell(&Act::ToolEnds(call, ending))?;
        self.halt_if(reply.halt)
    }

    /// Really writes the file of a call, and gives back what was in it. Without hooks a `write` is
    /// only told; with them it is done where a test can look for it, and nowhere else.
    fn put(&self, work: &Work, reach: Reach) -> io::Result<String> {
        let Work::Write { path, content } = work else {
            return Ok(String::new());
        };
        let cwd = Path::new(&self.voice.id.cwd);
        let base = match &self.hooks {
            Some(hooks) => hooks.workspace.as_path(),
            None if cwd.is_dir() => cwd,
            None => Path::new(""),
        };
        let full = base.join(path);
        let goes_up = Path::new(path).components().any(|part| part == Component::ParentDir);
        let is_inside = self.hooks.is_some() && full.starts_with(base) && !goes_up;
        if reach == Reach::Inside && !is_inside {
            return Ok(String::new());
        }
        let old = std::fs::read(&full).unwrap_or_default();
        let written = match full.parent() {
            Some(folder) => std::fs::create_dir_all(folder),
            None => Ok(()),
        };
        written.and_then(|()| std::fs::write(&full, content)).map_err(|error| {
            let why = format!("writing `{}`: {error}", full.display());
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?;
        Ok(String::from_utf8_lossy(&old).into_owned())
    }

    /// A file is really written, from the beginning of the call to its end.
    pub(super) fn save(&mut self, call: &Call) -> io::Result<Flow> {
        let flow = self.act(&Act::ToolBegins(call.clone()))?;
        if flow != Flow::Next || self.is_refused(&call.id) {
            return Ok(flow);
        }
        self.ended(call, Ending::Well, Reach::Anywhere)
    }

    fn session_begins(&mut self) -> Flow {
        match &mut self.hooks {
            Some(hooks) if !hooks.has_begun => hooks.has_begun = true,
            _ => return Flow::Next,
        }
        let reply = self.fire(&Moment::SessionBegins);
        if let Some(refusal) = reply.refused {
            super::say_to_stderr(refusal.reason.as_bytes());
            return Flow::Exit(1);
        }
        Flow::Next
    }

    fn prompted(&mut self, text: &str) -> io::Result<Flow> {
        let flow = self.session_begins();
        match &mut self.hooks {
            Some(hooks) if !hooks.has_prompt && flow == Flow::Next => hooks.has_prompt = true,
            _ => return Ok(flow),
        }
        let reply = self.fire(&Moment::Prompt(text));
        let Some(refusal) = reply.refused else {
            return self.halt_if(reply.halt);
        };
        if self.dialect == Dialect::Cursor {
            // Nothing was asked, so nothing is answered.
            super::say_to_stderr(refusal.reason.as_bytes());
            return Ok(Flow::Exit(1));
        }
        self.tell_blocked(&refusal.reason)?;
        self.halt_if(Some(refusal.reason))
    }

    fn tell_blocked(&mut self, reason: &str) -> io::Result<()> {
        let mut said = Said::default();
        self.writer.blocked(reason, &mut self.voice, &mut said);
        self.emit(said)
    }

    /// Ends the turn where a hook wants that.
    fn halt_if(&mut self, halt: Option<String>) -> io::Result<Flow> {
        let Some(reason) = halt else {
            return Ok(Flow::Next);
        };
        if let Some(hooks) = &mut self.hooks {
            hooks.is_over = true;
        }
        self.tell(&Act::Ends { text: Some(reason), failed: false })?;
        Ok(Flow::Over)
    }

    /// The end of a turn, put off as often as hooks want.
    fn turn_ends(&mut self, act: &Act, text: Option<&str>, failed: bool) -> io::Result<Flow> {
        let Some(hooks) = &mut self.hooks else {
            return Ok(Flow::Next);
        };
        if hooks.follows {
            // The end within a round is the end of that round.
            return Ok(Flow::Next);
        }
        for round in 0..MOST_ROUNDS {
            let last = self.hooks.as_ref().map(|hooks| hooks.last_message.clone());
            let text = text.map_or_else(|| last.unwrap_or_default(), str::to_owned);
            let reply = self.fire(&Moment::TurnEnds { text: &text, failed, round });
            if reply.halt.is_some() {
                return self.halt_if(reply.halt);
            }
            let Some(next) = reply.next else {
                break;
            };
            let flow = self.follow(&next)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        if let Some(hooks) = &mut self.hooks {
            hooks.is_over = true;
        }
        self.tell(act)?;
        Ok(Flow::Next)
    }

    /// One more round, because a hook has something to say.
    fn follow(&mut self, next: &str) -> io::Result<Flow> {
        self.note_told(next.to_owned());
        self.tell_blocked(next)?;
        self.tell(&Act::Prompt(next.to_owned()))?;
        let Some(hooks) = &mut self.hooks else {
            return Ok(Flow::Next);
        };
        let steps = hooks.followed.clone();
        hooks.follows = true;
        let flow = if steps.is_empty() {
            self.message(&format!("A hook told me: {next}"), Place::Last)
        } else {
            self.section(&steps)
        };
        if let Some(hooks) = &mut self.hooks {
            hooks.follows = false;
        }
        flow
    }

    /// A thought or a message is over.
    pub(super) fn hooks_hear(&mut self, moment: &Moment<'_>) {
        if let (Some(hooks), Moment::Message(text)) = (&mut self.hooks, moment) {
            (*text).clone_into(&mut hooks.last_message);
        }
        self.fire(moment);
    }

    /// Says what hooks have told the model so far.
    pub(super) fn recall(&mut self) -> io::Result<Flow> {
        let told = self.hooks.as_ref().map(|hooks| hooks.told.join("\n"));
        let told = told.filter(|told| !told.is_empty());
        self.message(told.as_deref().unwrap_or(TOLD_NOTHING), Place::Last)
    }

    /// The process is about to end: its hooks are run where the turn has come to its end.
    pub(super) fn leave(&mut self, flow: &io::Result<Flow>) {
        let is_over = match (&self.hooks, flow) {
            (Some(hooks), Ok(Flow::Next | Flow::Over)) => hooks.has_begun,
            (Some(hooks), Ok(Flow::Exit(_))) => hooks.is_over,
            _ => false,
        };
        if is_over {
            self.fire(&Moment::SessionEnds { failed: self.writer.exit_code() != 0 });
        }
    }

    /// Runs the hooks around a call: those before it, or with its ending those after it.
    fn fire_call(&mut self, id: &str, tool: Tool<'_>, ending: Option<&Ending>, old: &str) -> Reply {
        let Some(hooks) = &self.hooks else {
            return Reply::default();
        };
        let began = hooks.began.iter().rev().find(|(known, _)| known == id);
        let duration = match (ending, began) {
            (Some(Ending::Exited { took, .. }), _) => *took,
            (_, Some((_, began))) => began.elapsed(),
            _ => Duration::ZERO,
        };
        let native = self.writer.native(id).unwrap_or_else(|| self.voice.call("tool_", id));
        let asked = Asked { id: &native, tool, old, took: duration };
        match ending {
            None => self.fire(&Moment::Before(asked)),
            Some(ending) => self.fire(&Moment::After(asked, ending)),
        }
    }

    /// Runs the hooks of a moment, and keeps what they leave behind.
    fn fire(&mut self, moment: &Moment<'_>) -> Reply {
        let Some(mut hooks) = self.hooks.take_if(|hooks| hooks.mode != Mode::Off) else {
            return Reply::default();
        };
        let now = self.voice.stamp();
        let id = &self.voice.id;
        let who = Who {
            session: &id.session,
            request: &id.unique,
            model: id.model.as_deref(),
            resumed: id.resumed,
            now: &now,
            prompt: &self.prompt,
            env: &hooks.env,
            mode: hooks.mode,
            lasted: hooks.since.elapsed(),
        };
        let mut reply = hooks.rules.fire(moment, &who);
        hooks.env.append(&mut reply.env);
        for line in reply.log.drain(..) {
            self.record.append_run("hooks.jsonl", &line.to_string());
        }
        self.hooks = Some(hooks);
        for context in reply.context.drain(..) {
            self.note_told(context);
        }
        for line in reply.stderr.drain(..) {
            super::say_to_stderr(line.as_bytes());
        }
        reply
    }

    /// Notes what the model reads because of a hook.
    fn note_told(&mut self, text: String) {
        self.record.append_run("context.jsonl", &Value::from(text.as_str()).to_string());
        if let Some(hooks) = &mut self.hooks {
            hooks.told.push(text);
        }
    }

    fn mark_refused(&mut self, id: &str) {
        if let Some(hooks) = &mut self.hooks {
            hooks.refused.push(id.to_owned());
        }
    }

    pub(super) fn is_refused(&self, id: &str) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.refused.iter().any(|known| known == id))
    }
}

/// Where the file of a call may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Within the workspace.
    Inside,
    /// Wherever the script says.
    Anywhere,
}
