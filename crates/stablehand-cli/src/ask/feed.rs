//! From the events of a run to questions: which are for whoever answers, and what they are about.
//!
//! Where a policy rules, the agent's own question is no question yet: it is one when the policy hands
//! it on, which has the reason with it. What a call would change may have been told before it.

use stablehand::control::Sender;
use stablehand::follow::Show;
use stablehand_core::Event;
use stablehand_core::event::{EventKind, ItemBody, Tool};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::SyncSender;

/// So many calls and questions are remembered for their details.
const MOST: usize = 64;

/// What whoever asks must know.
#[derive(Debug)]
pub(crate) enum Note {
    /// A process was started.
    Began,
    /// A question waits.
    Asked(Box<Question>),
    /// One was answered, by whomever.
    Resolved(Box<Resolved>),
    /// The turn or the run is over, and every question with it.
    Over,
    /// Somebody wants the terminal: to be told when no question is on it.
    Rest(SyncSender<()>),
    /// Nothing comes any more.
    End,
}

/// A question.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) what: String,
    pub(crate) options: Vec<String>,
    pub(crate) tool: Option<Box<Tool>>,
    pub(crate) why: Option<String>,
    /// The event, for programs.
    pub(crate) event: Event,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) id: String,
    pub(crate) choice: String,
    pub(crate) by: String,
    /// The event, for programs.
    pub(crate) event: Event,
}

/// Where events go in.
#[derive(Debug)]
pub struct Feed {
    notes: Sender<Note>,
    ruled: bool,
    /// Whether it is told before anybody is shown anything: the answer to a question may come the
    /// moment that the question is read.
    is_first: bool,
    /// Calls that have begun.
    calls: VecDeque<Tool>,
    /// What questions that were not handed on are about.
    heard: VecDeque<(String, Tool)>,
}

impl Feed {
    pub(crate) fn new(notes: Sender<Note>, ruled: bool, is_first: bool) -> Feed {
        Feed { notes, ruled, is_first, calls: VecDeque::new(), heard: VecDeque::new() }
    }

    /// Whether the event begins or ends a question; then what was shown before it is to be seen first.
    pub fn concerns(&self, event: &Event) -> bool {
        matches!(
            event.event,
            EventKind::ApprovalRequested { .. } | EventKind::ApprovalResolved { .. }
        )
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        match &event.event {
            EventKind::ProcessSpawned { .. } => {
                self.calls.clear();
                self.heard.clear();
                self.notes.send(Note::Began);
            }
            EventKind::ItemStarted { item } => {
                if let ItemBody::Tool(tool) = &item.body {
                    push(&mut self.calls, (**tool).clone());
                }
            }
            EventKind::ApprovalRequested { .. } => self.asked(event.clone()),
            EventKind::ApprovalResolved { id, choice, by } => {
                self.notes.send(Note::Resolved(Box::new(Resolved {
                    id: id.clone(),
                    choice: choice.clone(),
                    by: by.clone(),
                    event: event.clone(),
                })));
            }
            EventKind::TurnEnded { .. }
            | EventKind::ProcessExited { .. }
            | EventKind::SessionEnded { .. } => self.notes.send(Note::Over),
            _ => {}
        }
    }

    fn asked(&mut self, mut event: Event) {
        let EventKind::ApprovalRequested { id, call, what, options, tool, why } = &mut event.event
        else {
            return;
        };
        let begun = self.calls.iter().find(|known| Some(&known.call) == call.as_ref());
        let heard = self.heard.iter().find(|(known, _)| known == id).map(|(_, tool)| tool);
        let told = [tool.as_deref(), heard, begun];
        let diff = told.into_iter().flatten().find_map(|tool| tool.diff.clone());
        if tool.is_none() {
            *tool = heard.or(begun).cloned().map(Box::new);
        }
        if let Some(tool) = tool {
            tool.diff = diff;
        }
        if self.ruled && why.is_none() {
            if let Some(tool) = tool {
                push(&mut self.heard, (id.clone(), (**tool).clone()));
            }
            return;
        }
        let (id, what, options) = (id.clone(), what.clone(), options.clone());
        let (tool, why) = (tool.clone(), why.clone());
        self.notes.send(Note::Asked(Box::new(Question { id, what, options, tool, why, event })));
    }
}

fn push<T>(list: &mut VecDeque<T>, what: T) {
    if list.len() == MOST {
        list.pop_front();
    }
    list.push_back(what);
}

/// A face, and whoever asks beside it: what belongs before a question to a person is shown before it.
pub struct Told {
    face: Option<Box<dyn Show>>,
    feed: Option<Feed>,
}

impl Told {
    /// Either may be missing.
    pub fn new(face: Option<Box<dyn Show>>, feed: Option<Feed>) -> Told {
        Told { face, feed }
    }
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Told").field("feed", &self.feed).finish_non_exhaustive()
    }
}

impl Show for Told {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        if let Some(feed) = self.feed.as_mut().filter(|feed| feed.is_first) {
            feed.event(event);
        }
        if let Some(face) = &mut self.face {
            face.event(event)?;
        }
        if let Some(feed) = &mut self.feed {
            if let Some(face) = self.face.as_mut().filter(|_| feed.concerns(event)) {
                face.pause()?;
            }
            if !feed.is_first {
                feed.event(event);
            }
        }
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        self.face.as_mut().map_or(Ok(()), |face| face.pause())
    }
}
