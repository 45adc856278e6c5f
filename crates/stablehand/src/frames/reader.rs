//! Reads a log as frames, from its beginning or from the last checkpoint before a cursor.

use super::checkpoints::{CheckpointFile, Checkpoints};
use super::cut::OutputCutter;
use super::{Cursor, Frame};
use crate::log::{Fill, LogSource, Tail};
use crate::redact::{Redacting, Redaction};
use crate::show::Show;
use stablehand_core::id::LogId;
use stablehand_core::record::{OutputCut, Record};
use stablehand_core::replay::EventReader;
use stablehand_core::size::MaxOutput;
use stablehand_core::{Depth, Dialect, Event, Part};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// How a log is read.
#[derive(Clone, Debug)]
pub(crate) struct How {
    pub(crate) log: LogId,
    pub(crate) dialect: Dialect,
    pub(crate) redaction: Option<Redaction>,
    /// How much of a tool's output subscribers get.
    pub(crate) max_output: MaxOutput,
    /// None where every reader begins at the beginning.
    pub(crate) checkpoints: Option<Checkpoints>,
}

impl How {
    /// Where the record of a cursor begins; the beginning where it is of another log, or none.
    pub(super) fn offset(&self, after: Option<Cursor>) -> u64 {
        after.filter(|after| after.log == self.log).map_or(0, |after| after.offset)
    }
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
    cutter: OutputCutter,
    checkpoints: Option<CheckpointFile>,
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
    /// Reads from a record at or before this offset on.
    pub(super) fn new(log: &LogSource, how: &How, offset: u64) -> FrameReader {
        let is_redacted = how.redaction.is_some();
        let mut checkpoints =
            how.checkpoints.as_ref().map(|all| all.of(how.log, log.clone(), is_redacted));
        let restored = checkpoints.as_mut().and_then(|file| file.restore(offset));
        let (base, events) =
            restored.unwrap_or_else(|| (0, EventReader::new(how.dialect, Depth::Full)));
        FrameReader {
            base,
            tail: log.tail(base),
            log: how.log,
            events,
            redact: how.redaction.as_ref().map(|it| Redacting::new(Shown::default(), Some(it))),
            cutter: OutputCutter::new(how.max_output),
            checkpoints,
            cursors: VecDeque::new(),
            decoded: Vec::new(),
        }
    }

    /// The position before the first record that it reads; `None` at the beginning of the log.
    pub(super) fn since(&self) -> Option<Cursor> {
        Some(Cursor { log: self.log, offset: self.base.checked_sub(1)?, nth: u32::MAX })
    }

    /// Appends the frames of what is in the log, one read at a time.
    pub(super) fn fill(&mut self, out: &mut Vec<Arc<Frame>>) -> io::Result<Fill> {
        let filled = match self.tail.fill() {
            Ok(filled) => filled,
            // A disk that cannot be read: everything behind the bad part is still told.
            Err(error) => match self.tail.pass_unreadable() {
                0 => return Err(error),
                lost => Fill::Lost(lost),
            },
        };
        match filled {
            Fill::Grew => {
                while let Some(line) = self.tail.next() {
                    let offset = self.base + line.offset;
                    if let Some(checkpoints) = &mut self.checkpoints
                        && checkpoints.is_due(offset)
                        && matches!(line.part, Part::Whole | Part::First)
                        && self.redact.as_ref().is_none_or(Redacting::is_fresh)
                        && self.cutter.is_fresh()
                    {
                        checkpoints.save(offset, &self.events);
                    }
                    self.events.record(&Record::read(line.bytes), &mut self.decoded);
                    for (nth, mut event) in self.decoded.drain(..).enumerate() {
                        let nth = u32::try_from(nth).unwrap_or(u32::MAX);
                        let cursor = Cursor { log: self.log, offset, nth };
                        match &mut self.redact {
                            None => {
                                self.cutter.cut(&mut event);
                                out.push(Arc::new(Frame::new(cursor, event)));
                            }
                            Some(redact) => {
                                self.cursors.push_back(cursor);
                                redact.event(&event)?;
                            }
                        }
                    }
                }
            }
            Fill::Lost(_) => {
                self.base = self.tail.position();
                if let Some(checkpoints) = &mut self.checkpoints {
                    checkpoints.stop();
                }
            }
            Fill::Finished => self.redact.as_mut().map_or(Ok(()), Redacting::finish)?,
            Fill::UpToDate => {}
        }
        let released = self.redact.iter_mut().flat_map(|redact| redact.inner_mut().0.drain(..));
        for mut event in released {
            let Some(cursor) = self.cursors.pop_front() else { break };
            self.cutter.cut(&mut event);
            out.push(Arc::new(Frame::new(cursor, event)));
        }
        Ok(filled)
    }

    /// Takes what is to be put on record about output that was cut.
    pub(super) fn take_cut(&mut self) -> Option<OutputCut> {
        self.cutter.take_news()
    }

    /// The log that is read.
    pub(super) fn tail(&self) -> &Tail {
        &self.tail
    }
}
