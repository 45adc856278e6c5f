//! The thread that shows a session's events, and tells the other one when turns are over.

use super::TurnOver;
use crate::ask::{Feed, Told};
use stablehand::control::{self, Receiver, Sender};
use stablehand::show::Show;
use stablehand::{Handle, Subscription};
use stablehand_core::event::{EventKind, SessionEnd};
use std::io;
use std::sync::{Arc, OnceLock};

/// What the thread that reads prompts must know.
#[derive(Debug)]
pub(super) enum Note {
    /// The turn is over, and all of it was shown.
    TurnOver(TurnOver),
    /// The session is over.
    Over,
}

/// The view, as the other thread sees it.
#[derive(Debug)]
pub(super) struct View {
    /// What it tells.
    pub(super) notes: Receiver<Note>,
    /// How it ended, once it has: everything was shown, or why that could not be.
    pub(super) shown: Arc<OnceLock<io::Result<()>>>,
}

/// Starts the thread.
pub(super) fn start(
    view: Option<Box<dyn Show>>,
    feed: Option<Feed>,
    events: Subscription,
    handle: Handle,
) -> io::Result<View> {
    let (notes, receiver) = control::channel()?;
    let shown = Arc::new(OnceLock::new());
    let end = Arc::clone(&shown);
    std::thread::Builder::new().name("events".into()).spawn(move || {
        // A reader of standard output that is gone does not want the rest of the answer either.
        let done = follow(events, &mut Told::new(view, feed), &notes);
        match &done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => handle.reader_gone(),
            Err(error) => handle.output_failed(error),
            Ok(()) => {}
        }
        let _first_and_only = end.set(done);
        notes.send(Note::Over);
    })?;
    Ok(View { notes: receiver, shown })
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
