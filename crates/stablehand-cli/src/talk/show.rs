//! The thread that shows a conversation's events, and tells the other one what to do about them.

use crate::ask::{Feed, Told};
use crate::render::{EventLines, TextView};
use crate::screen::Screen;
use stablehand::control::Sender;
use stablehand::follow::Show;
use stablehand::{Handle, Subscription};
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
    /// The session is over.
    Over,
}

/// Starts the thread.
pub(super) fn start(
    shows: Shows,
    screen: Screen,
    events: Subscription,
    notes: Sender<Note>,
    handle: Handle,
    feed: Option<Feed>,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("events".into()).spawn(move || {
        let face: Option<Box<dyn Show>> = match shows {
            Shows::Text => Some(Box::new(TextView::new(screen, true))),
            Shows::Events => Some(Box::new(EventLines::new(screen))),
            Shows::Quiet => None,
        };
        let mut face = Told::new(face, feed);
        // A reader of standard output that is gone does not want the rest of the answer either.
        if follow(events, &mut face, &notes).is_err() {
            handle.reader_gone();
        }
        notes.send(Note::Over);
    })
}

fn follow(mut events: Subscription, face: &mut Told, notes: &Sender<Note>) -> io::Result<()> {
    loop {
        let mut next = events.try_next();
        if next.is_none() {
            face.pause()?;
            next = events.next();
        }
        let Some(frame) = next else { return Ok(()) };
        face.event(&frame.event)?;
        if matches!(frame.event.event, EventKind::TurnEnded { .. }) {
            face.pause()?;
            notes.send(Note::TurnOver);
        }
    }
}
