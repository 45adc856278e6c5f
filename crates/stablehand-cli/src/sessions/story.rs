//! The fold of a log's events into what is told of it: everything said and done, with its time.
//!
//! It keeps the time of every item, every run of the log, and what surrounds the conversation: verdicts,
//! standard error, unrecognized lines. It renders nothing.

use stablehand::follow::Show;
use stablehand_core::Event;
use stablehand_core::event::{
    EndedBy, EventKind, Health, Item, ItemBody, NoticeLevel, SessionEnd, TextRole, Todo, Tokens,
    Tool, TurnEnd, Usage,
};
use stablehand_core::id::{ItemId, RunId};
use stablehand_core::time::UnixMillis;
use stablehand_core::unsaid::Unsaid;
use std::collections::HashMap;
use std::io;
use std::time::Duration;

/// What happened, in order.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Everything, in the order in which it began.
    pub(super) entries: Vec<Entry>,
    /// The items that go on, by their place.
    open: HashMap<ItemId, usize>,
    /// The questions that are open.
    asked: HashMap<String, usize>,
    /// The present run.
    run: Option<RunId>,
    /// The agent has reported a result in the turn that is on.
    has_result: bool,
    /// The present run is over.
    has_ended: bool,
    /// What was said in the turn, so that a result does not say it again.
    unsaid: Unsaid,
}

/// One thing that happened.
#[derive(Debug)]
pub(super) struct Entry {
    /// When it began.
    pub(super) at: UnixMillis,
    /// What it was.
    pub(super) what: What,
}

/// What happened.
#[derive(Debug)]
pub(super) enum What {
    /// An agent was started, with this command line where that is known: a run begins.
    Began { run: RunId, argv: Vec<String> },
    /// It was told something.
    Prompt(String),
    /// It said something.
    Said(String),
    /// It thought something.
    Thought(String),
    /// It used a tool.
    Did(Box<Did>),
    /// It made a plan.
    Planned { todos: Vec<Todo>, text: Option<String> },
    /// A file was changed.
    Changed { path: String, diff: Option<String> },
    /// It gave work to another agent.
    Delegated(String),
    /// It wanted something known.
    Noted { level: NoticeLevel, text: String },
    /// Somebody was asked.
    Asked { what: String, why: Option<String>, answer: Option<(String, String)> },
    /// A rule had it go on.
    Continued { prompt: String, by: String },
    /// It was judged.
    Judged(String),
    /// It wrote to its standard error.
    Complained(String),
    /// Something that nobody understood.
    Unread(String),
    /// A turn was over.
    Rested { end: TurnEnd, usage: Option<Tokens>, duration_ms: Option<u64> },
    /// A run was over.
    Ended { end: SessionEnd, by: EndedBy },
}

/// A use of a tool.
#[derive(Debug)]
pub(super) struct Did {
    /// The call, as it was told last.
    pub(super) tool: Tool,
    /// The run that it belongs to.
    pub(super) run: Option<RunId>,
    /// When it was over; absent where that was never told.
    pub(super) over: Option<UnixMillis>,
}

impl Entry {
    /// How long a tool took: by the agent's own clock, else by ours.
    pub(super) fn took(&self) -> Option<Duration> {
        let What::Did(did) = &self.what else { return None };
        let measured = did.over.map(|over| over.since(self.at));
        did.tool.duration_ms.map(Duration::from_millis).or(measured)
    }
}

impl Story {
    fn add(&mut self, at: UnixMillis, what: What) -> usize {
        self.entries.push(Entry { at, what });
        self.entries.len() - 1
    }

    fn open_entry(&mut self, id: ItemId) -> Option<&mut Entry> {
        self.open.get(&id).and_then(|at| self.entries.get_mut(*at))
    }

    fn began(&mut self, item: &Item, at: UnixMillis) {
        if let Some(what) = self.told(&item.body) {
            let place = self.add(at, what);
            self.open.insert(item.id, place);
        }
    }

    fn over(&mut self, item: &Item, at: UnixMillis) {
        let Some(mut new) = self.told(&item.body) else { return };
        if let What::Did(did) = &mut new {
            did.over = Some(at);
        }
        let known = self.open.remove(&item.id);
        match known.and_then(|place| self.entries.get_mut(place)) {
            Some(entry) => {
                let before = std::mem::replace(&mut entry.what, new);
                keep(&mut entry.what, before);
            }
            None => {
                self.add(at, new);
            }
        }
    }

    fn told(&self, body: &ItemBody) -> Option<What> {
        Some(match body {
            ItemBody::Message { text } => What::Said(text.clone()),
            ItemBody::Reasoning { text } => What::Thought(text.clone()),
            // A call that names no tool has nothing to show.
            ItemBody::Tool(tool) if tool.name.is_empty() => return None,
            ItemBody::Tool(tool) => What::Did(Box::new(Did {
                tool: (**tool).clone(),
                run: self.run.clone(),
                over: None,
            })),
            ItemBody::Plan { todos, text } => {
                What::Planned { todos: todos.clone(), text: text.clone() }
            }
            ItemBody::FileChange { path, diff } => {
                What::Changed { path: path.clone(), diff: diff.clone() }
            }
            ItemBody::SubAgent { description } => What::Delegated(description.clone()),
            ItemBody::Notice { level, text } => What::Noted { level: *level, text: text.clone() },
            _ => return None,
        })
    }

    fn grew(&mut self, id: ItemId, role: TextRole, more: &str, at: UnixMillis) {
        match self.open_entry(id).map(|entry| &mut entry.what) {
            Some(What::Said(text) | What::Thought(text)) => text.push_str(more),
            Some(What::Did(did)) => did.tool.output.get_or_insert_default().push_str(more),
            Some(_) => {}
            None => {
                // Its beginning is not on record.
                let text = more.to_owned();
                let place = self.add(
                    at,
                    match role {
                        TextRole::Message => What::Said(text),
                        TextRole::Reasoning => What::Thought(text),
                        TextRole::ToolOutput => What::Noted { level: NoticeLevel::Info, text },
                    },
                );
                self.open.insert(id, place);
            }
        }
    }

    fn is_new(&self, run: &RunId) -> bool {
        !run.0.is_empty() && self.run.as_ref() != Some(run)
    }

    /// The command line of a run that began with its prompt.
    fn started_by(&mut self, argv: &[String]) {
        for entry in self.entries.iter_mut().rev() {
            if let What::Began { argv: known, .. } = &mut entry.what {
                return argv.clone_into(known);
            }
        }
    }

    fn rested(
        &mut self,
        at: UnixMillis,
        end: &TurnEnd,
        usage: Option<&Usage>,
        duration_ms: Option<u64>,
    ) {
        let (end, usage) = (end.clone(), usage.map(|usage| *usage.tokens()));
        self.add(at, What::Rested { end, usage, duration_ms });
    }

    fn begin_run(&mut self, run: &RunId, argv: &[String], at: UnixMillis) {
        (self.has_result, self.has_ended) = (false, false);
        self.open.clear();
        self.asked.clear();
        self.run = Some(run.clone());
        self.add(at, What::Began { run: run.clone(), argv: argv.to_vec() });
    }

    fn asked(&mut self, id: &str, what: &str, why: Option<&str>, at: UnixMillis) {
        // Where a policy hands a question on to a person it comes again, and is the same.
        if !self.asked.contains_key(id) {
            let asked =
                What::Asked { what: what.to_owned(), why: why.map(str::to_owned), answer: None };
            let place = self.add(at, asked);
            self.asked.insert(id.to_owned(), place);
        }
    }

    fn answered(&mut self, id: &str, choice: &str, by: &str, at: UnixMillis) {
        let given = Some((choice.to_owned(), by.to_owned()));
        let place = self.asked.remove(id);
        let open = place.and_then(|place| self.entries.get_mut(place));
        if let Some(Entry { what: What::Asked { answer, .. }, .. }) = open {
            *answer = given;
        } else {
            self.add(at, What::Asked { what: String::new(), why: None, answer: given });
        }
    }

    fn take(&mut self, event: &Event) {
        let at = event.at;
        if let Some(text) = self.unsaid.take(&event.event) {
            self.add(at, What::Said(text.to_owned()));
        }
        match &event.event {
            EventKind::ProcessSpawned { argv, .. } if self.is_new(&event.run) => {
                self.begin_run(&event.run, argv, at);
            }
            EventKind::ProcessSpawned { argv, .. } => self.started_by(argv),
            // What an agent wrote down itself begins without a process.
            EventKind::SessionStarted { .. } if self.is_new(&event.run) => {
                self.begin_run(&event.run, &[], at);
            }
            EventKind::TurnStarted { prompt: Some(prompt), .. } => {
                if self.is_new(&event.run) {
                    self.begin_run(&event.run, &[], at);
                }
                self.add(at, What::Prompt(prompt.clone()));
            }
            EventKind::ItemStarted { item } => self.began(item, at),
            EventKind::ItemDelta { id, role, text } => self.grew(*id, *role, text, at),
            EventKind::ItemCompleted { item } => self.over(item, at),
            EventKind::ApprovalRequested { id, what, why, .. } => {
                self.asked(id, what, why.as_deref(), at);
            }
            EventKind::ApprovalResolved { id, choice, by } => {
                self.answered(id, choice.as_str(), by.by.as_str(), at);
            }
            EventKind::TurnContinued { prompt, by, .. } => {
                self.add(at, What::Continued { prompt: prompt.clone(), by: by.clone() });
            }
            EventKind::HealthChanged { to: Health::Stalled, why, .. } => {
                self.add(at, What::Judged(why.clone()));
            }
            EventKind::ProcessStderr { text } => match self.entries.last_mut() {
                Some(Entry { what: What::Complained(before), .. }) => {
                    before.push('\n');
                    before.push_str(text);
                }
                _ => {
                    self.add(at, What::Complained(text.clone()));
                }
            },
            EventKind::Unrecognized { excerpt, .. } => {
                self.add(at, What::Unread(excerpt.clone()));
            }
            EventKind::TurnResult { end, usage, duration_ms, .. } => {
                self.has_result = true;
                self.rested(at, end, usage.as_ref(), *duration_ms);
            }
            // Unless the agent has said so itself.
            EventKind::TurnEnded { end, usage, duration_ms, .. }
                if !std::mem::take(&mut self.has_result) =>
            {
                self.rested(at, end, usage.as_ref(), *duration_ms);
            }
            EventKind::RunEnded { end, ended_by, .. }
            | EventKind::SessionEnded { end, ended_by, .. } => {
                // The end of a session is that of its last run.
                if !self.has_ended {
                    self.add(at, What::Ended { end: *end, by: *ended_by });
                }
                self.has_ended = true;
            }
            _ => {}
        }
    }
}

/// Puts back what is missing in the new telling and was in the old one.
fn keep(new: &mut What, old: What) {
    match (new, old) {
        (What::Said(text), What::Said(before)) | (What::Thought(text), What::Thought(before))
            if text.is_empty() =>
        {
            *text = before;
        }
        (What::Did(did), What::Did(before)) => {
            let before = before.tool;
            did.tool.output = did.tool.output.take().or(before.output);
            did.tool.diff = did.tool.diff.take().or(before.diff);
            if did.tool.headline().is_empty() {
                did.tool.input = before.input;
            }
        }
        _ => {}
    }
}

impl Show for Story {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.take(event);
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }
}
