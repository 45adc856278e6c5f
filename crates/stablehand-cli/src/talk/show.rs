//! The thread that shows a conversation's events, and tells the other one what to do about them.

use crate::ask::{Feed, Told};
use crate::render::{EventLines, TextView};
use crate::screen::Screen;
use crate::talk::turn::{EndOfTurn, TurnWatch};
use stablehand::control::Sender;
use stablehand::follow::Show;
use stablehand::{Events, Handle};
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
    events: Option<Events>,
    notes: Sender<Note>,
    handle: Handle,
    ends: EndOfTurn,
    feed: Option<Feed>,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("events".into()).spawn(move || {
        let face: Option<Box<dyn Show>> = match shows {
            Shows::Text => Some(Box::new(TextView::new(screen, true))),
            Shows::Events => Some(Box::new(EventLines::new(screen))),
            Shows::Quiet => None,
        };
        let mut face = Told::new(face, feed);
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
    face: &mut Told,
    notes: &Sender<Note>,
    ends: EndOfTurn,
) -> io::Result<()> {
    let mut turn = TurnWatch::new(ends);
    loop {
        let mut next = events.try_next();
        if next.is_none() {
            face.pause()?;
            next = events.next();
        }
        let Some(event) = next else { return Ok(()) };
        face.event(&event)?;
        if turn.is_over(&event) {
            face.pause()?;
            notes.send(Note::TurnOver);
        }
    }
}
