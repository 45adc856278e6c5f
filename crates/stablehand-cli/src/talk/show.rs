//! The thread that shows a conversation's events, and tells the other one what to do about them.

use crate::render::{EventLines, TextView};
use crate::screen::Screen;
use stablehand::control::Sender;
use stablehand::follow::Show;
use stablehand::{Events, Handle};
use stablehand_core::event::{EventKind, Health, SessionEnd};
use std::io;
use std::thread::JoinHandle;

/// What standard output carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shows {
    /// Text for a person.
    Text,
    /// Our events, as JSON lines.
    Events,
    /// Nothing.
    Quiet,
}

/// What whoever reads the prompts must know.
#[derive(Debug)]
pub(super) enum Note {
    /// The turn is over, and all of it was shown.
    TurnOver,
    /// The agent asks.
    Asked {
        /// The id to answer to.
        id: String,
        /// What.
        what: String,
    },
    /// The session is over.
    Over,
}

/// When a turn is over, and another prompt may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndOfTurn {
    /// When its process is, unless another one goes on with the session.
    Exit,
    /// When the agent says so.
    Word,
    /// When the agent rests: after its word a rule may have it go on.
    Rest,
}

/// Starts the thread.
pub(super) fn start(
    shows: Shows,
    screen: Screen,
    events: Option<Events>,
    notes: Sender<Note>,
    handle: Handle,
    ends: EndOfTurn,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("events".into()).spawn(move || {
        let mut face: Option<Box<dyn Show>> = match shows {
            Shows::Text => Some(Box::new(TextView::new(screen, true))),
            Shows::Events => Some(Box::new(EventLines::new(screen))),
            Shows::Quiet => None,
        };
        if let Some(events) = events {
            // Nobody reads standard output any more: nobody wants the rest of the answer either.
            if follow(events, &mut face, &notes, ends).is_err() {
                handle.reader_gone();
            }
        }
        notes.send(Note::Over);
    })
}

fn follow(
    mut events: Events,
    face: &mut Option<Box<dyn Show>>,
    notes: &Sender<Note>,
    ends: EndOfTurn,
) -> io::Result<()> {
    let mut after = After::Nothing;
    loop {
        let mut next = events.try_next();
        if next.is_none() {
            if let Some(face) = face {
                face.pause()?;
            }
            next = events.next();
        }
        let Some(event) = next else { return Ok(()) };
        if let Some(face) = face {
            face.event(&event)?;
        }
        let note = match event.event {
            EventKind::TurnEnded { .. } if ends == EndOfTurn::Word => Note::TurnOver,
            EventKind::TurnEnded { .. } => {
                after = After::Word;
                continue;
            }
            EventKind::TurnContinued { .. } => {
                after = After::Continued;
                continue;
            }
            EventKind::HealthChanged { to: Health::AwaitingPrompt, .. }
                if after == After::Word && ends == EndOfTurn::Rest =>
            {
                Note::TurnOver
            }
            // The next process goes on with the session.
            EventKind::SessionEnded { end: SessionEnd::Success, .. }
                if after == After::Continued && ends == EndOfTurn::Exit =>
            {
                after = After::Nothing;
                continue;
            }
            EventKind::SessionEnded { .. } => Note::TurnOver,
            EventKind::ApprovalRequested { id, what, .. } => Note::Asked { id, what },
            _ => continue,
        };
        if let Some(face) = face {
            face.pause()?;
        }
        if matches!(note, Note::TurnOver) {
            after = After::Nothing;
        }
        notes.send(note);
    }
}

/// What was heard of the turn's end so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    Word,
    Continued,
}
