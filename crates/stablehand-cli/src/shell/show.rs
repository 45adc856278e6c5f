//! The thread that shows a session's events, and tells the other one when turns are over.

use super::TurnOver;
use crate::ask::{Feed, Told};
use stablehand::control::{self, Receiver, Sender};
use stablehand::show::Show;
use stablehand::{Handle, Subscription};
use stablehand_core::event::{EventKind, SessionEnd};
use std::io;

/// What the thread that reads prompts must know.
#[derive(Debug)]
pub(super) enum Note {
    /// The turn is over, and all of it was shown.
    TurnOver(TurnOver),
    /// The session is over.
    Over,
}

/// Starts the thread.
pub(super) fn start(
    view: Option<Box<dyn Show>>,
    feed: Option<Feed>,
    events: Subscription,
    handle: Handle,
) -> io::Result<Receiver<Note>> {
    let (notes, receiver) = control::channel()?;
    std::thread::Builder::new().name("events".into()).spawn(move || {
        // A reader of standard output that is gone does not want the rest of the answer either.
        if follow(events, &mut Told::new(view, feed), &notes).is_err() {
            handle.reader_gone();
        }
        notes.send(Note::Over);
    })?;
    Ok(receiver)
}

fn follow(mut events: Subscription, view: &mut Told, notes: &Sender<Note>) -> io::Result<()> {
    let mut run = SessionEnd::Success;
    loop {
        let mut next = events.try_next();
        if next.is_none() {
            view.pause()?;
            next = events.next();
        }
        let Some(frame) = next else { return Ok(()) };
        view.event(&frame.event)?;
        match &frame.event.event {
            EventKind::RunEnded { end, .. } => run = *end,
            EventKind::TurnEnded { end, .. } => {
                view.pause()?;
                notes.send(Note::TurnOver(TurnOver { end: end.clone(), run }));
                run = SessionEnd::Success;
            }
            _ => {}
        }
    }
}
