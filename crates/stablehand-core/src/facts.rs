//! What a run has shown so far, as far as its ending depends on it.
//!
//! Owns how events add up to facts, live and when a log is judged again. What follows from them is
//! for whoever ends the run.

use crate::event::{EventKind, ItemBody, Outcome, SessionEnd, Tool, TurnEnd, Usage};
use crate::id::SessionId;
use crate::json::Scan;
use crate::line::{Line, Part};
use crate::text::excerpt;

/// So many calls that were denied are named; the others are counted.
const MOST_DENIED: usize = 8;

/// So much of each is shown.
const DENIED_CHARS: usize = 120;

/// How far an agent got: what may be tried again depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// Nothing was heard.
    #[default]
    Nothing,
    /// The session was named.
    Started,
    /// The model said something, or used tools that only look.
    Answered,
    /// A tool was started that may have changed something.
    SideEffects,
}

/// Facts of one run.
#[derive(Debug, Default)]
pub struct Facts {
    /// The agent's id of the session; the newest, where it changed.
    pub session: Option<SessionId>,
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// The session's folder, as the agent names it.
    pub cwd: Option<String>,
    /// The session was named since somebody last looked.
    pub session_is_new: bool,
    /// The terminal event. Once it is a good one, only another one or a further prompt changes that: an
    /// agent that says more after its result has done its work all the same.
    pub result: Option<TurnEnd>,
    /// How far it got.
    pub progress: Progress,
    /// The last statement of usage.
    pub usage: Option<Usage>,
    /// What the results of this turn used that were not its last one.
    pub early_usage: Option<Usage>,
    /// The output ended in the middle of a line.
    pub torn: bool,
    /// How many tool calls were denied or rejected. An agent may call a turn a success in which it was
    /// not allowed to do what it was asked for.
    pub denials: u64,
    /// The first of them: the tool, with what it was to be used for.
    pub denied: Vec<String>,
}

impl Facts {
    /// Takes an event in. Nearly all are deltas, and nearly all of those say nothing new.
    #[inline]
    pub fn take(&mut self, event: &EventKind) {
        let is_delta = matches!(event, EventKind::ItemDelta { .. });
        if !is_delta || self.result.is_some() || self.progress < Progress::Answered {
            self.take_in(event);
        }
    }

    fn take_in(&mut self, event: &EventKind) {
        match event {
            EventKind::SessionStarted { native_id, model, cwd, .. } => {
                self.session = Some(native_id.clone());
                self.model.clone_from(model);
                self.cwd.clone_from(cwd);
                self.session_is_new = true;
                self.reached(Progress::Started);
            }
            EventKind::TurnEnded { end, usage, .. } => {
                self.result = Some(end.clone());
                let usage = Usage::sum(self.early_usage.take(), *usage);
                self.usage = usage.or(self.usage);
            }
            // The turn goes on, and the agent may be cut before its last result.
            EventKind::TurnResult { usage, .. } => {
                self.early_usage = Usage::sum(self.early_usage, *usage);
                self.usage = self.early_usage.or(self.usage);
            }
            EventKind::UsageUpdated { usage } => self.usage = Some(*usage),
            EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } => {
                self.went_on();
                if let (EventKind::ItemCompleted { .. }, ItemBody::Tool(tool)) = (event, &item.body)
                {
                    self.take_denial(tool);
                }
                let effects = match &item.body {
                    ItemBody::Tool(tool) => tool.may_have_side_effects(),
                    ItemBody::Message { .. }
                    | ItemBody::Reasoning { .. }
                    | ItemBody::Plan { .. }
                    | ItemBody::Notice { .. } => false,
                    // Files, other agents, and whatever there may be one day.
                    _ => true,
                };
                self.reached(if effects { Progress::SideEffects } else { Progress::Answered });
            }
            EventKind::ItemDelta { .. } => {
                self.went_on();
                self.reached(Progress::Answered);
            }
            EventKind::TurnStarted { .. } => self.went_on(),
            _ => {}
        }
    }

    /// The agent goes on after a result that was none to be content with.
    fn went_on(&mut self) {
        self.result.take_if(|end| *end != TurnEnd::Done);
    }

    fn take_denial(&mut self, tool: &Tool) {
        if !matches!(tool.outcome, Some(Outcome::Denied { .. } | Outcome::Rejected { .. })) {
            return;
        }
        self.denials = self.denials.saturating_add(1);
        if self.denied.len() < MOST_DENIED {
            let what = match tool.headline() {
                "" => tool.name.clone(),
                headline => format!("{}: {headline}", tool.name),
            };
            self.denied.push(excerpt(what.as_bytes(), DENIED_CHARS));
        }
    }

    /// A further prompt was given in the same stream: what ended was an earlier turn, and what may
    /// have been changed that one changed.
    pub fn prompted(&mut self) {
        self.result = None;
        self.early_usage = None;
        self.progress = self.progress.min(Progress::Started);
    }

    /// What only the line itself shows, where no newline ended it: that the stream ended in the
    /// middle of it.
    pub fn saw_cut_line(&mut self, line: &Line<'_>, scan: &Scan<'_>) {
        let cut = matches!(line.part, Part::Whole | Part::Last);
        self.torn = cut && matches!(scan, Scan::Text | Scan::Binary) && !line.bytes.is_empty();
    }

    /// How the run ended as far as the agent itself has a say.
    pub fn end(&self) -> SessionEnd {
        match &self.result {
            Some(TurnEnd::Done) => SessionEnd::Success,
            Some(
                TurnEnd::Refused
                | TurnEnd::Limit
                | TurnEnd::Cancelled
                | TurnEnd::Failed { .. }
                | TurnEnd::Stopped { .. },
            ) => SessionEnd::AgentError,
            None if self.torn => SessionEnd::Truncated,
            None => SessionEnd::NoResult,
        }
    }

    fn reached(&mut self, progress: Progress) {
        self.progress = self.progress.max(progress);
    }
}
