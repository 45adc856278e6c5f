//! Hands the approvals among the events of a session to the thread that asks.

use stablehand::control::Sender;
use stablehand::show::Show;
use stablehand_core::Event;
use stablehand_core::event::{EventKind, Tool};
use std::io;
use std::sync::mpsc::SyncSender;

/// What the thread that asks must know.
#[derive(Debug)]
pub(crate) enum Note {
    /// A process was started.
    Began,
    /// A question waits.
    Asked(Box<Question>),
    /// One was answered.
    Resolved(Box<Resolved>),
    /// The turn or the run is over, and every question with it.
    Over,
    /// Another thread wants the terminal, and waits to be told when no question is on it.
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

impl Note {
    /// What an event means for the thread that asks.
    pub(crate) fn of(event: &Event) -> Option<Note> {
        match &event.event {
            EventKind::ProcessSpawned { .. } => Some(Note::Began),
            EventKind::ApprovalRequested { id, what, options, tool, why, waits: true, .. } => {
                Some(Note::Asked(Box::new(Question {
                    id: id.clone(),
                    what: what.clone(),
                    options: options.clone(),
                    tool: tool.clone(),
                    why: why.clone(),
                    event: event.clone(),
                })))
            }
            EventKind::ApprovalResolved { id, choice, by } => {
                Some(Note::Resolved(Box::new(Resolved {
                    id: id.clone(),
                    choice: choice.to_string(),
                    by: by.by.to_string(),
                    event: event.clone(),
                })))
            }
            EventKind::TurnResult { .. }
            | EventKind::TurnEnded { .. }
            | EventKind::ProcessExited { .. }
            | EventKind::RunEnded { .. } => Some(Note::Over),
            _ => None,
        }
    }
}

/// Where events go in.
#[derive(Debug)]
pub struct Feed {
    notes: Sender<Note>,
    /// Whether it comes before the view: a program may answer a question the moment it reads it.
    is_first: bool,
}

impl Feed {
    pub(crate) fn new(notes: Sender<Note>, is_first: bool) -> Feed {
        Feed { notes, is_first }
    }
}

/// A view, and the thread that asks beside it: what belongs before a question is shown before it.
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
        let mut note = self.feed.as_ref().and_then(|_| Note::of(event));
        if let Some(feed) = self.feed.as_ref().filter(|feed| feed.is_first) {
            note.take().into_iter().for_each(|note| feed.notes.send(note));
        }
        let is_question = matches!(
            event.event,
            EventKind::ApprovalRequested { .. } | EventKind::ApprovalResolved { .. }
        );
        if let Some(face) = &mut self.face {
            face.event(event)?;
            if is_question && self.feed.is_some() {
                face.pause()?;
            }
        }
        if let (Some(feed), Some(note)) = (&self.feed, note) {
            feed.notes.send(note);
        }
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        self.face.as_mut().map_or(Ok(()), |face| face.pause())
    }
}
