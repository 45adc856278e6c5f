//! The history of a session: what was prompted, said and done, in order and with its times.
//!
//! [`History`] folds events into entries. It keeps every run of a log, and what surrounds the
//! conversation: approvals, verdicts, standard error, unrecognized lines. It renders nothing;
//! [`crate::document`] does.

use crate::timeline::Tone;
use stablehand_core::Event;
use stablehand_core::event::{
    EndedBy, EventKind, Health, Item, ItemBody, NoticeLevel, Outcome, SessionEnd, TextRole, Todo,
    Tokens, Tool, TurnEnd, Usage,
};
use stablehand_core::id::{ItemId, RunId};
use stablehand_core::text::excerpt;
use stablehand_core::time::UnixMillis;
use stablehand_core::unsaid::Unsaid;
use std::collections::HashMap;
use std::time::Duration;

/// So much of the reason why a tool call failed is told.
const REASON_CHARS: usize = 120;

/// Everything that happened in a session, in the order in which it began.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<HistoryEntry>,
    /// Indices of the items that have not ended.
    open: HashMap<ItemId, usize>,
    /// Indices of the approvals without an answer.
    asked: HashMap<String, usize>,
    /// The run that is on.
    run: Option<RunId>,
    /// The agent has reported a result in this turn.
    has_result: bool,
    /// This run has ended.
    has_ended: bool,
    /// The text of this turn, so that a result does not repeat it.
    unsaid: Unsaid,
}

/// One entry of a [`History`].
#[derive(Debug)]
pub struct HistoryEntry {
    /// When it began.
    pub at: UnixMillis,
    /// What happened.
    pub item: HistoryItem,
}

/// What happened.
#[derive(Debug)]
pub enum HistoryItem {
    /// A run started.
    RunStarted {
        /// Our id of the run.
        run: RunId,
        /// The agent's command line; empty where it is not known.
        argv: Vec<String>,
    },
    /// The agent got a prompt.
    Prompt(String),
    /// The agent wrote a message.
    Message(String),
    /// The agent's reasoning.
    Reasoning(String),
    /// The agent called a tool.
    Tool(Box<ToolUse>),
    /// The agent wrote a plan.
    Plan {
        /// Its entries.
        todos: Vec<Todo>,
        /// The plan as text.
        text: Option<String>,
    },
    /// A file changed.
    FileChange {
        /// The file.
        path: String,
        /// The change as a unified diff.
        diff: Option<String>,
    },
    /// The agent gave work to a sub-agent, described by this text.
    SubAgent(String),
    /// A notice of the agent.
    Notice {
        /// How serious it is.
        level: NoticeLevel,
        /// Its text.
        text: String,
    },
    /// A permission request.
    Approval {
        /// What was asked for.
        what: String,
        /// Why, in the agent's words.
        why: Option<String>,
        /// The choice, and who made it.
        answer: Option<(String, String)>,
    },
    /// A rule made the agent continue.
    Continuation {
        /// The prompt that it got.
        prompt: String,
        /// The rule.
        by: String,
    },
    /// The monitor judged that the agent hangs; the text says why.
    Verdict(String),
    /// The agent wrote to its standard error.
    Stderr(String),
    /// An excerpt of a line that no decoder recognized.
    Unrecognized(String),
    /// A turn ended.
    TurnEnded {
        /// How.
        end: TurnEnd,
        /// What it used.
        usage: Option<Tokens>,
        /// How long it took, by the agent's clock.
        duration_ms: Option<u64>,
    },
    /// A run ended.
    RunEnded {
        /// How.
        end: SessionEnd,
        /// Who ended it.
        by: EndedBy,
    },
}

/// A tool call and its result.
#[derive(Debug)]
pub struct ToolUse {
    /// The call, as the agent reported it last.
    pub tool: Tool,
    /// The run that it belongs to.
    pub run: Option<RunId>,
    /// When it ended; absent where the log does not say.
    pub ended: Option<UnixMillis>,
}

impl ToolUse {
    /// Returns the outcome; none while the call has not ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.tool.outcome.as_ref().filter(|_| self.ended.is_some())
    }

    /// Describes the outcome in a few words, and says how good it is.
    pub fn describe_outcome(&self) -> (String, Tone) {
        let Some(outcome) = self.outcome() else {
            return ("never ended".to_owned(), Tone::Warn);
        };
        let text = match outcome {
            Outcome::Success if self.tool.background => "in the background".to_owned(),
            other => excerpt(other.describe().as_bytes(), REASON_CHARS),
        };
        (text, outcome.class().into())
    }
}

impl HistoryEntry {
    /// Returns how long a tool took: by the agent's own clock, else by ours.
    pub fn took(&self) -> Option<Duration> {
        let HistoryItem::Tool(used) = &self.item else { return None };
        let measured = used.ended.map(|over| over.since(self.at));
        used.tool.duration_ms.map(Duration::from_millis).or(measured)
    }
}

impl History {
    /// Returns the entries.
    pub fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    /// Returns the tool calls, each with its entry.
    pub fn tools(&self) -> impl Iterator<Item = (&HistoryEntry, &ToolUse)> {
        self.entries.iter().filter_map(|entry| match &entry.item {
            HistoryItem::Tool(used) => Some((entry, &**used)),
            _ => None,
        })
    }

    fn add(&mut self, at: UnixMillis, item: HistoryItem) -> usize {
        self.entries.push(HistoryEntry { at, item });
        self.entries.len() - 1
    }

    fn open_entry(&mut self, id: ItemId) -> Option<&mut HistoryEntry> {
        self.open.get(&id).and_then(|at| self.entries.get_mut(*at))
    }

    fn began(&mut self, item: &Item, at: UnixMillis) {
        if let Some(shown) = self.item_of(&item.body) {
            let place = self.add(at, shown);
            self.open.insert(item.id, place);
        }
    }

    fn over(&mut self, item: &Item, at: UnixMillis) {
        let Some(mut new) = self.item_of(&item.body) else { return };
        if let HistoryItem::Tool(used) = &mut new {
            used.ended = Some(at);
        }
        let known = self.open.remove(&item.id);
        match known.and_then(|place| self.entries.get_mut(place)) {
            Some(entry) => {
                let before = std::mem::replace(&mut entry.item, new);
                keep(&mut entry.item, before);
            }
            None => {
                self.add(at, new);
            }
        }
    }

    fn item_of(&self, body: &ItemBody) -> Option<HistoryItem> {
        Some(match body {
            ItemBody::Message { text } => HistoryItem::Message(text.clone()),
            ItemBody::Reasoning { text } => HistoryItem::Reasoning(text.clone()),
            // A call that names no tool has nothing to show.
            ItemBody::Tool(tool) if tool.name.is_empty() => return None,
            ItemBody::Tool(tool) => HistoryItem::Tool(Box::new(ToolUse {
                tool: (**tool).clone(),
                run: self.run.clone(),
                ended: None,
            })),
            ItemBody::Plan { todos, text } => {
                HistoryItem::Plan { todos: todos.clone(), text: text.clone() }
            }
            ItemBody::FileChange { path, diff } => {
                HistoryItem::FileChange { path: path.clone(), diff: diff.clone() }
            }
            ItemBody::SubAgent { description } => HistoryItem::SubAgent(description.clone()),
            ItemBody::Notice { level, text } => {
                HistoryItem::Notice { level: *level, text: text.clone() }
            }
            _ => return None,
        })
    }

    fn grew(&mut self, id: ItemId, role: TextRole, more: &str, at: UnixMillis) {
        match self.open_entry(id).map(|entry| &mut entry.item) {
            Some(HistoryItem::Message(text) | HistoryItem::Reasoning(text)) => text.push_str(more),
            Some(HistoryItem::Tool(used)) => {
                used.tool.output.get_or_insert_default().push_str(more);
            }
            Some(_) => {}
            None => {
                // Its beginning is not on record.
                let text = more.to_owned();
                let place = self.add(
                    at,
                    match role {
                        TextRole::Message => HistoryItem::Message(text),
                        TextRole::Reasoning => HistoryItem::Reasoning(text),
                        TextRole::ToolOutput => {
                            HistoryItem::Notice { level: NoticeLevel::Info, text }
                        }
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
            if let HistoryItem::RunStarted { argv: known, .. } = &mut entry.item {
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
        self.add(at, HistoryItem::TurnEnded { end, usage, duration_ms });
    }

    fn begin_run(&mut self, run: &RunId, argv: &[String], at: UnixMillis) {
        (self.has_result, self.has_ended) = (false, false);
        self.open.clear();
        self.asked.clear();
        self.run = Some(run.clone());
        self.add(at, HistoryItem::RunStarted { run: run.clone(), argv: argv.to_vec() });
    }

    fn asked(&mut self, id: &str, what: &str, why: Option<&str>, at: UnixMillis) {
        // Where a policy hands a question on to a person it comes again, and is the same.
        if !self.asked.contains_key(id) {
            let asked = HistoryItem::Approval {
                what: what.to_owned(),
                why: why.map(str::to_owned),
                answer: None,
            };
            let place = self.add(at, asked);
            self.asked.insert(id.to_owned(), place);
        }
    }

    fn answered(&mut self, id: &str, choice: &str, by: &str, at: UnixMillis) {
        let given = Some((choice.to_owned(), by.to_owned()));
        let place = self.asked.remove(id);
        let open = place.and_then(|place| self.entries.get_mut(place));
        if let Some(HistoryEntry { item: HistoryItem::Approval { answer, .. }, .. }) = open {
            *answer = given;
        } else {
            self.add(at, HistoryItem::Approval { what: String::new(), why: None, answer: given });
        }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        let at = event.at;
        if let Some(text) = self.unsaid.take(&event.event) {
            self.add(at, HistoryItem::Message(text.to_owned()));
        }
        match &event.event {
            EventKind::ProcessSpawned { argv, .. } if self.is_new(&event.run) => {
                self.begin_run(&event.run, argv, at);
            }
            EventKind::ProcessSpawned { argv, .. } => self.started_by(argv),
            // HistoryItem an agent wrote down itself begins without a process.
            EventKind::SessionStarted { .. } if self.is_new(&event.run) => {
                self.begin_run(&event.run, &[], at);
            }
            EventKind::TurnStarted { prompt: Some(prompt), .. } => {
                if self.is_new(&event.run) {
                    self.begin_run(&event.run, &[], at);
                }
                self.add(at, HistoryItem::Prompt(prompt.clone()));
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
                self.add(at, HistoryItem::Continuation { prompt: prompt.clone(), by: by.clone() });
            }
            EventKind::HealthChanged { to: Health::Stalled, why, .. } => {
                self.add(at, HistoryItem::Verdict(why.clone()));
            }
            EventKind::ProcessStderr { text } => match self.entries.last_mut() {
                Some(HistoryEntry { item: HistoryItem::Stderr(before), .. }) => {
                    before.push('\n');
                    before.push_str(text);
                }
                _ => {
                    self.add(at, HistoryItem::Stderr(text.clone()));
                }
            },
            EventKind::Unrecognized { excerpt, .. } => {
                self.add(at, HistoryItem::Unrecognized(excerpt.clone()));
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
                    self.add(at, HistoryItem::RunEnded { end: *end, by: *ended_by });
                }
                self.has_ended = true;
            }
            _ => {}
        }
    }
}

/// Puts back what an item has lost when the agent reported it again.
fn keep(new: &mut HistoryItem, old: HistoryItem) {
    match (new, old) {
        (HistoryItem::Message(text), HistoryItem::Message(before))
        | (HistoryItem::Reasoning(text), HistoryItem::Reasoning(before))
            if text.is_empty() =>
        {
            *text = before;
        }
        (HistoryItem::Tool(used), HistoryItem::Tool(before)) => {
            let before = before.tool;
            used.tool.output = used.tool.output.take().or(before.output);
            used.tool.diff = used.tool.diff.take().or(before.diff);
            if used.tool.headline().is_empty() {
                used.tool.input = before.input;
            }
        }
        _ => {}
    }
}
