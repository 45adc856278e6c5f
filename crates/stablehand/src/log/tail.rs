//! Reading a log while it is written: the queue between the agent and its readers.
//!
//! Positions count the bytes of the log as it should be. Normally they are offsets in the file. While
//! the disk is full the newest bytes are in a ring in memory; what the ring dropped, and what another
//! program truncated, is nowhere any more. A reader that needs such bytes is told how many it lost
//! ([`Fill::Lost`]) and goes on behind them.

use super::Writer;
use stablehand_core::id::digest64;
use stablehand_core::line::{Line, LineSplitter, PART, WHOLE_LIMIT};
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// So many bytes before a position tell one log from another: they hold the times of records.
const DIGESTED: u64 = 256;

#[derive(Debug)]
pub(super) struct Shared {
    file: File,
    state: Mutex<State>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct State {
    end: u64,
    /// Where the bytes that are in the file stand, in the order of their positions.
    extents: Vec<Extent>,
    /// The newest bytes, while the file cannot be written.
    ring: VecDeque<u8>,
    /// Bytes that the ring dropped after every reader had them.
    dropped: u64,
    /// Bytes that a reader needed and did not get.
    missed: u64,
    finished: bool,
    waiting: u32,
    cursors: Vec<Weak<AtomicU64>>,
}

/// Positions that stand in the file one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    from: u64,
    to: u64,
    /// Where `from` stands in the file.
    offset: u64,
}

/// Where the bytes at a position are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the file, so many of them in a row.
    File { offset: u64, len: u64 },
    /// In the ring, from this index on.
    Ring(usize),
    /// Nowhere; the next position that is somewhere.
    Lost { next: u64 },
    /// Not written yet.
    NotYet,
}

impl State {
    fn ring_start(&self) -> u64 {
        self.end - self.ring.len() as u64
    }

    fn slowest(&mut self) -> u64 {
        self.cursors.retain(|cursor| cursor.strong_count() > 0);
        let positions = self.cursors.iter().filter_map(Weak::upgrade);
        positions.map(|cursor| cursor.load(Ordering::Relaxed)).min().unwrap_or(self.end)
    }

    fn place(&self, position: u64) -> Place {
        if position >= self.end {
            return Place::NotYet;
        }
        if let Some(index) = position.checked_sub(self.ring_start()) {
            return Place::Ring(index as usize);
        }
        let after = self.extents.partition_point(|extent| extent.to <= position);
        match self.extents.get(after) {
            Some(extent) if extent.from <= position => Place::File {
                offset: extent.offset + (position - extent.from),
                len: extent.to - position,
            },
            Some(extent) => Place::Lost { next: extent.from },
            None => Place::Lost { next: self.ring_start() },
        }
    }

    /// The next `len` positions stand in the file from `offset` on.
    fn append(&mut self, from: u64, len: u64, offset: u64) {
        if len == 0 {
            return;
        }
        match self.extents.last_mut() {
            Some(last) if last.to == from && last.offset + (last.to - last.from) == offset => {
                last.to += len;
            }
            _ => self.extents.push(Extent { from, to: from + len, offset }),
        }
    }

    /// Nothing that stood in the file from `offset` on is there any more.
    fn cut(&mut self, offset: u64) {
        for extent in &mut self.extents {
            let left = offset.saturating_sub(extent.offset);
            extent.to = extent.to.min(extent.from.saturating_add(left));
        }
        self.extents.retain(|extent| extent.from < extent.to);
    }

    /// Makes the ring no longer than `limit` by dropping its oldest records, but only those that every
    /// reader has had: the file may lack them, a reader never does.
    fn trim(&mut self, limit: usize) {
        let excess = self.ring.len().saturating_sub(limit);
        if excess == 0 {
            return;
        }
        let read = self.slowest().saturating_sub(self.ring_start());
        let read = usize::try_from(read).unwrap_or(usize::MAX).min(self.ring.len());
        let ends_record = |at: &usize| self.ring.get(*at) == Some(&b'\n');
        let enough = (excess - 1..read).find(ends_record);
        let cut =
            enough.or_else(|| (0..read.min(excess)).rfind(ends_record)).map_or(0, |at| at + 1);
        self.ring.drain(..cut);
        self.dropped += cut as u64;
    }
}

impl Shared {
    pub(super) fn new(file: File) -> Self {
        Shared { file, state: Mutex::default(), grown: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end(&self) -> u64 {
        self.state().end
    }

    /// New records stand in the file from `offset` on.
    pub(super) fn grew_in_file(&self, by: usize, offset: u64) {
        let mut state = self.state();
        let from = state.end;
        state.append(from, by as u64, offset);
        state.end += by as u64;
        self.wake(&state);
    }

    /// Puts records into memory.
    pub(super) fn grew_in_ring(&self, bytes: &[u8], limit: usize) {
        let mut state = self.state();
        state.ring.extend(bytes);
        state.end += bytes.len() as u64;
        self.wake(&state);
        state.trim(limit);
    }

    /// How many bytes the file will never have, because the disk was full for too long.
    pub(super) fn dropped(&self) -> u64 {
        self.state().dropped
    }

    /// How many bytes readers needed and did not get.
    pub(super) fn missed(&self) -> u64 {
        self.state().missed
    }

    pub(super) fn count_missed(&self, bytes: u64) {
        self.state().missed += bytes;
    }

    pub(super) fn ring(&self) -> Vec<u8> {
        self.state().ring.iter().copied().collect()
    }

    /// The beginning of the ring was appended to the file at `offset`.
    pub(super) fn ring_is_in_file(&self, offset: u64, len: usize) {
        let mut state = self.state();
        let start = state.ring_start();
        state.append(start, len as u64, offset);
        state.ring.drain(..len);
    }

    /// Another program truncated the file to `offset`.
    pub(super) fn cut(&self, offset: u64) {
        self.state().cut(offset);
    }

    /// Whether the ring is full of records that a reader has not had.
    pub(super) fn is_congested(&self, limit: usize) -> bool {
        let mut state = self.state();
        state.trim(limit);
        state.ring.len() > limit
    }

    pub(super) fn finish(&self) {
        let mut state = self.state();
        state.finished = true;
        self.wake(&state);
    }

    fn wake(&self, state: &State) {
        if state.waiting > 0 {
            self.grown.notify_all();
        }
    }

    /// Copies what stands at `position`.
    fn read_at(&self, position: u64, into: &mut [u8]) -> std::io::Result<Found> {
        let mut state = self.state();
        match state.place(position) {
            Place::NotYet if state.finished => Ok(Found::End),
            Place::NotYet => Ok(Found::Bytes(0)),
            Place::Lost { next } => Ok(Found::Lost { next }),
            Place::Ring(from) => {
                let n = into.len().min(state.ring.len() - from);
                for (target, byte) in into.iter_mut().zip(state.ring.range(from..from + n)) {
                    *target = *byte;
                }
                Ok(Found::Bytes(n))
            }
            Place::File { offset, len } => {
                drop(state);
                let len = into.len().min(usize::try_from(len).unwrap_or(usize::MAX));
                let n = self.file.read_at(into.get_mut(..len).unwrap_or_default(), offset)?;
                if n > 0 || len == 0 {
                    return Ok(Found::Bytes(n));
                }
                // It was written there, and the file ends before: another program truncated it.
                state = self.state();
                state.cut(offset);
                match state.place(position) {
                    Place::Lost { next } => Ok(Found::Lost { next }),
                    _ => Ok(Found::Bytes(0)),
                }
            }
        }
    }
}

/// A log that can be read from any place, by any number of readers, also after it has ended.
#[derive(Clone, Debug)]
pub struct LogSource(Arc<Shared>);

impl LogSource {
    pub(super) fn new(shared: Arc<Shared>) -> LogSource {
        LogSource(shared)
    }

    /// A log that another process writes, or that is complete: what is in the file now.
    pub fn of_file(file: File) -> std::io::Result<LogSource> {
        let source = LogSource(Arc::new(Shared::new(file)));
        source.look()?;
        Ok(source)
    }

    /// Takes in what the file got since the last look. Returns true if there was something.
    pub fn look(&self) -> std::io::Result<bool> {
        let len = self.0.file.metadata()?.len();
        let known = self.0.end();
        let grew = len > known;
        if grew {
            self.0.grew_in_file(usize::try_from(len - known).unwrap_or(usize::MAX), known);
        }
        Ok(grew)
    }

    /// Whether a process writes it.
    pub fn writer(&self) -> Writer {
        Writer::of(&self.0.file)
    }

    /// Says that nothing follows.
    pub fn finish(&self) {
        self.0.finish();
    }

    /// Returns true if some of it is in memory only, because the file cannot be written.
    pub fn has_unwritten(&self) -> bool {
        !self.0.state().ring.is_empty()
    }

    /// Counts bytes that a reader needed and does not get.
    pub(crate) fn count_missed(&self, bytes: u64) {
        self.0.count_missed(bytes);
    }

    /// Returns true if nothing follows.
    pub fn is_finished(&self) -> bool {
        self.0.state().finished
    }

    /// How many bytes readers needed and did not get.
    pub fn missed(&self) -> u64 {
        self.0.missed()
    }

    /// How far it has been written.
    pub fn end(&self) -> u64 {
        self.0.end()
    }

    /// Returns a digest of the bytes just before a position; `None` if they are not there.
    pub(crate) fn digest_before(&self, position: u64) -> Option<u64> {
        let from = position.saturating_sub(DIGESTED);
        let mut bytes = vec![0; usize::try_from(position - from).ok()?];
        let mut filled = 0;
        while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
            match self.0.read_at(from + filled as u64, room).ok()? {
                Found::Bytes(n) if n > 0 => filled += n,
                Found::Bytes(_) | Found::Lost { .. } | Found::End => return None,
            }
        }
        Some(digest64(&bytes))
    }

    /// Reads it from a position on.
    pub fn tail(&self, position: u64) -> Tail {
        Tail::new(Arc::clone(&self.0), position)
    }
}

/// What stands at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Bytes(usize),
    Lost { next: u64 },
    End,
}

/// A reader of a log, at its own pace.
#[derive(Debug)]
pub struct Tail {
    shared: Arc<Shared>,
    cursor: Arc<AtomicU64>,
    splitter: LineSplitter,
}

/// What a look at the log gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// More records, perhaps; ask [`Tail::next`].
    Grew,
    /// Nothing new yet.
    UpToDate,
    /// Nothing new, and nothing will come.
    Finished,
    /// So many bytes are gone before this reader had them, because another program truncated the
    /// file. [`Tail::next`] goes on behind them.
    Lost(u64),
}

impl Tail {
    pub(super) fn new(shared: Arc<Shared>, position: u64) -> Tail {
        let cursor = Arc::new(AtomicU64::new(position));
        shared.state().cursors.push(Arc::downgrade(&cursor));
        Tail { shared, cursor, splitter: LineSplitter::new(WHOLE_LIMIT + (1 << 20), PART) }
    }

    /// Looks for more, without waiting.
    pub fn fill(&mut self) -> std::io::Result<Fill> {
        let position = self.cursor.load(Ordering::Relaxed);
        match self.shared.read_at(position, self.splitter.space())? {
            Found::Bytes(0) => Ok(Fill::UpToDate),
            Found::End => Ok(Fill::Finished),
            Found::Bytes(n) => {
                self.splitter.filled(n);
                self.cursor.store(position + n as u64, Ordering::Relaxed);
                Ok(Fill::Grew)
            }
            Found::Lost { next } => {
                let lost = next - position;
                // The record that it was in the middle of has no end.
                self.splitter = LineSplitter::new(WHOLE_LIMIT + (1 << 20), PART);
                self.cursor.store(next, Ordering::Relaxed);
                Ok(Fill::Lost(lost))
            }
        }
    }

    /// Goes on behind bytes that are in the file and cannot be read, which [`fill`](Self::fill) failed
    /// with. Returns how many they are; 0 where there are none.
    pub(crate) fn pass_unreadable(&mut self) -> u64 {
        let position = self.position();
        let Place::File { len, .. } = self.shared.state().place(position) else { return 0 };
        self.splitter = LineSplitter::new(WHOLE_LIMIT + (1 << 20), PART);
        self.cursor.store(position + len, Ordering::Relaxed);
        len
    }

    /// The next record that [`fill`](Self::fill) brought.
    #[expect(clippy::should_implement_trait, reason = "it lends; an iterator could not")]
    pub fn next(&mut self) -> Option<Line<'_>> {
        self.splitter.next()
    }

    /// Counts bytes that a reader outside needed and does not get, for [`Log::missed`](super::Log::missed).
    pub(crate) fn count_missed(&self, bytes: u64) {
        self.shared.count_missed(bytes);
    }

    /// How far it has read.
    pub fn position(&self) -> u64 {
        self.cursor.load(Ordering::Relaxed)
    }

    /// Waits until there is more, or the log has ended, but no longer than `bound`.
    pub fn wait(&self, bound: Duration) {
        let position = self.position();
        let mut state = self.shared.state();
        state.waiting += 1;
        let quiet = |s: &mut State| s.end <= position && !s.finished;
        let waited = self.shared.grown.wait_timeout_while(state, bound, quiet);
        waited.unwrap_or_else(PoisonError::into_inner).0.waiting -= 1;
    }
}
