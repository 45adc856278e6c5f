//! Records of a log shown one after the other: as text, as the agent's own bytes, or as events.

use crate::render::{EventLines, Surface, TextView};
use stablehand::redact::{Redacting, Redaction};
use stablehand::show::Show as _;
use stablehand_core::record::{LogReader, Record, Stream};
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Event};
use std::io;

/// So many of the agent's bytes are written at once.
const BLOCK: usize = 64 << 10;

/// What is shown of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Shape {
    /// Text for a person
    Text,
    /// The agent's own output, byte for byte, secrets included
    StreamJson,
    /// Our events, as JSON lines
    Events,
}

/// Shows records on a surface.
pub(super) struct RecordView<S: Surface> {
    shown: Shown<S>,
    reader: EventReader,
    events: Vec<Event>,
}

enum Shown<S: Surface> {
    Text(Box<Redacting<TextView<S>>>),
    Events(Box<Redacting<EventLines<S>>>),
    Bytes { surface: S, buffer: Vec<u8> },
}

impl<S: Surface> RecordView<S> {
    /// Text is shown by `text`, everything else on `surface`.
    pub(super) fn new(
        shape: Shape,
        surface: S,
        text: TextView<S>,
        redaction: Option<&Redaction>,
    ) -> RecordView<S> {
        let shown = match shape {
            Shape::Text => Shown::Text(Box::new(Redacting::new(text, redaction))),
            Shape::Events => {
                Shown::Events(Box::new(Redacting::new(EventLines::new(surface), redaction)))
            }
            Shape::StreamJson => Shown::Bytes { surface, buffer: Vec::new() },
        };
        let reader = EventReader::of(LogReader::default(), Depth::Full);
        RecordView { shown, reader, events: Vec::new() }
    }

    /// Shows a record. Fails when the reader of standard output is gone.
    pub(super) fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        if let Shown::Bytes { buffer, .. } = &mut self.shown {
            if let Record::Raw { stream: Stream::Stdout, bytes, newline, .. } = record {
                buffer.extend_from_slice(bytes);
                buffer.extend_from_slice(if *newline { b"\n" } else { b"" });
            }
            return if buffer.len() > BLOCK { self.pause() } else { Ok(()) };
        }
        self.reader.record(record, &mut self.events);
        for event in self.events.drain(..) {
            match &mut self.shown {
                Shown::Text(view) => view.event(&event)?,
                Shown::Events(view) => view.event(&event)?,
                Shown::Bytes { .. } => {}
            }
        }
        Ok(())
    }

    /// Writes everything so far.
    pub(super) fn pause(&mut self) -> io::Result<()> {
        match &mut self.shown {
            Shown::Text(view) => view.pause(),
            Shown::Events(view) => view.pause(),
            Shown::Bytes { buffer, .. } if buffer.is_empty() => Ok(()),
            Shown::Bytes { surface, buffer } => surface.out(&std::mem::take(buffer)),
        }
    }

    /// Writes everything; nothing follows.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match &mut self.shown {
            Shown::Text(view) => view.finish(),
            Shown::Events(view) => view.finish(),
            Shown::Bytes { .. } => self.pause(),
        }
    }
}
