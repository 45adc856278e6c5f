//! Reading a log while it is written: the queue between the agent and its readers.
//!
//! Positions count the bytes of the log as it should be. Normally they are offsets in the file;
//! while the disk is full the newest bytes are in a ring in memory, and what had to be given up
//! there shifts the offsets that follow. Readers see none of this.

use stablehand_core::line::{Line, LineSplitter, PART, WHOLE_LIMIT};
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Shared {
    file: File,
    state: Mutex<State>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct State {
    end: u64,
    /// Up to here everything is in the file.
    in_file: u64,
    /// From each position on, how much smaller the offset in the file is.
    shifts: Vec<(u64, u64)>,
    ring: VecDeque<u8>,
    lost: u64,
    finished: bool,
    waiting: u32,
    cursors: Vec<Weak<AtomicU64>>,
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

    pub(super) fn grew_in_file(&self, by: usize) {
        let mut state = self.state();
        state.end += by as u64;
        state.in_file = state.end;
        self.wake(&state);
    }

    /// Puts records into memory. An overfull ring gives up its oldest records, but only those that
    /// every reader has had: the file may lose them, a face never does.
    pub(super) fn grew_in_ring(&self, bytes: &[u8], limit: usize) {
        let mut state = self.state();
        state.ring.extend(bytes);
        state.end += bytes.len() as u64;
        self.wake(&state);
        let excess = state.ring.len().saturating_sub(limit) as u64;
        let read = state.slowest().saturating_sub(state.ring_start());
        let droppable = excess.min(read) as usize;
        let cut =
            state.ring.iter().take(droppable).rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        state.ring.drain(..cut);
        state.lost += cut as u64;
    }

    /// How many bytes the file will never have.
    pub(super) fn lost(&self) -> u64 {
        self.state().lost
    }

    pub(super) fn ring(&self) -> Vec<u8> {
        self.state().ring.iter().copied().collect()
    }

    /// The ring was appended to the file at `offset`.
    pub(super) fn ring_is_in_file(&self, offset: u64, len: usize) {
        let mut state = self.state();
        let start = state.ring_start();
        state.shifts.push((start, start.saturating_sub(offset)));
        state.ring.drain(..len);
        state.in_file = start + len as u64;
    }

    pub(super) fn is_congested(&self, limit: usize) -> bool {
        self.state().ring.len() > limit
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

    /// Copies what stands at `position`; 0 where nothing does yet.
    fn read_at(&self, position: u64, into: &mut [u8]) -> std::io::Result<usize> {
        let state = self.state();
        if position >= state.end {
            return Ok(0);
        }
        let ring_start = state.ring_start();
        if position >= ring_start && !state.ring.is_empty() {
            let from = (position - ring_start) as usize;
            let n = into.len().min(state.ring.len() - from);
            for (target, byte) in into.iter_mut().zip(state.ring.range(from..from + n)) {
                *target = *byte;
            }
            return Ok(n);
        }
        let (shift, next) = locate(&state.shifts, position);
        let until = state.in_file.min(next);
        drop(state);
        let len =
            into.len().min(usize::try_from(until.saturating_sub(position)).unwrap_or(usize::MAX));
        self.file.read_at(into.get_mut(..len).unwrap_or_default(), position - shift)
    }
}

/// The shift that holds at a position, and where the next one begins.
fn locate(shifts: &[(u64, u64)], position: u64) -> (u64, u64) {
    let after = shifts.partition_point(|(from, _)| *from <= position);
    let shift = after.checked_sub(1).and_then(|i| shifts.get(i)).map_or(0, |(_, shift)| *shift);
    (shift, shifts.get(after).map_or(u64::MAX, |(from, _)| *from))
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
        let n = self.shared.read_at(position, self.splitter.space())?;
        if n == 0 {
            let state = self.shared.state();
            let finished = state.finished && position >= state.end;
            return Ok(if finished { Fill::Finished } else { Fill::UpToDate });
        }
        self.splitter.filled(n);
        self.cursor.store(position + n as u64, Ordering::Relaxed);
        Ok(Fill::Grew)
    }

    /// The next record that [`fill`](Self::fill) brought.
    #[expect(clippy::should_implement_trait, reason = "it lends; an iterator could not")]
    pub fn next(&mut self) -> Option<Line<'_>> {
        self.splitter.next()
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
