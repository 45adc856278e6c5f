//! The thread that shows a conversation's events, and tells the other one what to do about them.

use crate::render::{EventLines, TextView};
use crate::screen::Screen;
use stablehand::control::Sender;
use stablehand::follow::Show;
use stablehand::{Events, Handle};
use stablehand_core::event::EventKind;
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

/// Starts the thread. A turn ends with the process; in a two-way conversation as a rule earlier, with
/// the agent's word.
pub(super) fn start(
    shows: Shows,
    screen: Screen,
    events: Option<Events>,
    notes: Sender<Note>,
    handle: Handle,
    two_way: bool,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("events".into()).spawn(move || {
        let mut face: Option<Box<dyn Show>> = match shows {
            Shows::Text => Some(Box::new(TextView::new(screen, true))),
            Shows::Events => Some(Box::new(EventLines::new(screen))),
            Shows::Quiet => None,
        };
        if let Some(events) = events {
            // Nobody reads standard output any more: nobody wants the rest of the answer either.
            if follow(events, &mut face, &notes, two_way).is_err() {
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
    two_way: bool,
) -> io::Result<()> {
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
            EventKind::TurnEnded { .. } if two_way => Note::TurnOver,
            EventKind::SessionEnded { .. } => Note::TurnOver,
            EventKind::ApprovalRequested { id, what, .. } => Note::Asked { id, what },
            _ => continue,
        };
        if let Some(face) = face {
            face.pause()?;
        }
        notes.send(note);
    }
}
