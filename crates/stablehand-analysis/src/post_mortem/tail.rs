//! The last few of many: everything that a post-mortem keeps of a log of any length.

use std::collections::VecDeque;

/// Keeps the newest `most` things, and how many there were.
#[derive(Debug)]
pub(super) struct Tail<T> {
    kept: VecDeque<T>,
    most: usize,
    count: u64,
}

impl<T> Tail<T> {
    pub(super) fn of(most: usize) -> Self {
        Tail { kept: VecDeque::new(), most, count: 0 }
    }

    pub(super) fn push(&mut self, thing: T) {
        self.count += 1;
        if self.kept.len() >= self.most {
            self.kept.pop_front();
        }
        self.kept.push_back(thing);
    }

    /// How many there were in all.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.kept.back()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        self.kept.back_mut()
    }

    /// Those that were kept, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.kept.iter()
    }

    /// Takes out the newest one that fits.
    pub(super) fn take(&mut self, fits: impl Fn(&T) -> bool) -> Option<T> {
        let at = self.kept.iter().rposition(fits)?;
        self.kept.remove(at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }
}
