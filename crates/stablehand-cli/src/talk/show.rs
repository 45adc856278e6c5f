//! The thread that shows a conversation's events, and tells the other one what to do about them.

use crate::ask::{Feed, Told};
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
    let mut after = After::Nothing;
    loop {
        let mut next = events.try_next();
        if next.is_none() {
            face.pause()?;
            next = events.next();
        }
        let Some(event) = next else { return Ok(()) };
        face.event(&event)?;
        let is_end = match event.event {
            // Somebody cancelled the wait for another try.
            EventKind::TurnEnded { .. } if after == After::Again => true,
            EventKind::TurnEnded { .. } => {
                after = After::Word;
                ends == EndOfTurn::Word
            }
            EventKind::ProcessSpawned { .. } if after == After::Again => {
                after = After::Nothing;
                false
            }
            EventKind::SessionEnded { again: true, .. } => {
                after = After::Again;
                false
            }
            EventKind::TurnContinued { .. } => {
                after = After::Continued;
                false
            }
            EventKind::HealthChanged { to: Health::AwaitingPrompt, .. } => {
                after == After::Word && ends == EndOfTurn::Rest
            }
            // The next process goes on with the session.
            EventKind::SessionEnded { end: SessionEnd::Success, .. }
                if after == After::Continued && ends == EndOfTurn::Exit =>
            {
                after = After::Nothing;
                false
            }
            EventKind::SessionEnded { .. } => true,
            _ => false,
        };
        if is_end {
            face.pause()?;
            after = After::Nothing;
            notes.send(Note::TurnOver);
        }
    }
}

/// What was heard of the turn's end so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    Word,
    Continued,
    /// It is tried again.
    Again,
}
