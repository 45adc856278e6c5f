//! Reads a log as frames, from its beginning.

use super::{Cursor, Frame};
use crate::follow::Show;
use crate::log::{Fill, Tail};
use crate::redact::{Redacting, Redaction};
use stablehand_core::id::LogId;
use stablehand_core::record::Record;
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect, Event};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// How a log is read.
#[derive(Clone, Debug)]
pub(crate) struct How {
    pub(crate) log: LogId,
    pub(crate) dialect: Dialect,
    pub(crate) redaction: Option<Redaction>,
}

/// Reads one log.
#[derive(Debug)]
pub(super) struct FrameReader {
    tail: Tail,
    /// Where the tail began to count.
    base: u64,
    log: LogId,
    events: EventReader,
    redact: Option<Redacting<Shown>>,
    /// Cursors of the events that redaction has not let go yet, oldest first. It gives one event for
    /// each that it takes, in order.
    cursors: VecDeque<Cursor>,
    decoded: Vec<Event>,
}

/// What redaction let go.
#[derive(Debug, Default)]
struct Shown(Vec<Event>);

impl Show for Shown {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.0.push(event.clone());
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FrameReader {
    /// Reads from the beginning; `tail` stands there.
    pub(super) fn new(tail: Tail, how: &How) -> FrameReader {
        FrameReader {
            base: tail.position(),
            tail,
            log: how.log,
            events: EventReader::new(how.dialect, Depth::Full),
            redact: how.redaction.as_ref().map(|it| Redacting::new(Shown::default(), Some(it))),
            cursors: VecDeque::new(),
            decoded: Vec::new(),
        }
    }

    /// Appends the frames of what is in the log, one read at a time.
    pub(super) fn fill(&mut self, out: &mut Vec<Arc<Frame>>) -> io::Result<Fill> {
        let filled = self.tail.fill()?;
        match filled {
            Fill::Grew => {
                while let Some(line) = self.tail.next() {
                    let offset = self.base + line.offset;
                    self.events.record(&Record::read(line.bytes), &mut self.decoded);
                    for (nth, event) in self.decoded.drain(..).enumerate() {
                        let nth = u32::try_from(nth).unwrap_or(u32::MAX);
                        let cursor = Cursor { log: self.log, offset, nth };
                        match &mut self.redact {
                            None => out.push(Arc::new(Frame::new(cursor, event))),
                            Some(redact) => {
                                self.cursors.push_back(cursor);
                                redact.event(&event)?;
                            }
                        }
                    }
                }
            }
            Fill::Lost(_) => self.base = self.tail.position(),
            Fill::Finished => self.redact.as_mut().map_or(Ok(()), Redacting::finish)?,
            Fill::UpToDate => {}
        }
        let released = self.redact.iter_mut().flat_map(|redact| redact.inner_mut().0.drain(..));
        for event in released {
            let Some(cursor) = self.cursors.pop_front() else { break };
            out.push(Arc::new(Frame::new(cursor, event)));
        }
        Ok(filled)
    }

    /// The log that is read.
    pub(super) fn tail(&self) -> &Tail {
        &self.tail
    }
}
