//! Group commit: `fdatasync` on a thread of its own, so that a slow disk slows nobody.

use nix::unistd::fdatasync;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a power cut can take at the most, beside the time of one sync.
pub(super) const GROUP: Duration = Duration::from_millis(100);

/// When records reach the disk itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Within a tenth of a second, and at verdicts and at the end.
    Group,
    /// Before anybody sees them.
    Always,
}

#[derive(Debug)]
pub(super) struct Syncer {
    file: Arc<File>,
    durability: Durability,
    shared: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Signal {
    /// Looked at without the lock first: most calls find it already set.
    dirty: AtomicBool,
    stop: Mutex<bool>,
    wake: Condvar,
}

impl Syncer {
    pub(super) fn start(file: File, durability: Durability) -> std::io::Result<Syncer> {
        let file = Arc::new(file);
        let shared = Arc::new(Signal::default());
        let thread = match durability {
            Durability::Always => None,
            Durability::Group => {
                let (file, shared) = (Arc::clone(&file), Arc::clone(&shared));
                let builder = std::thread::Builder::new().name("log-sync".into());
                Some(builder.stack_size(64 << 10).spawn(move || shared.run(&file))?)
            }
        };
        Ok(Syncer { file, durability, shared, thread })
    }

    /// Says that there is something to sync.
    pub(super) fn dirty(&self) {
        match self.durability {
            Durability::Always => self.sync_now(),
            Durability::Group => {
                if !self.shared.dirty.swap(true, Ordering::Relaxed) {
                    let _held = self.shared.stop.lock().unwrap_or_else(PoisonError::into_inner);
                    self.shared.wake.notify_one();
                }
            }
        }
    }

    /// Syncs here and now. A disk that refuses has already been reported by a write, or cannot
    /// sync at all (a pipe, some network file systems): there is nothing else to be done.
    pub(super) fn sync_now(&self) {
        self.shared.dirty.store(false, Ordering::Relaxed);
        let _unsynced = fdatasync(&*self.file);
    }
}

impl Signal {
    fn run(&self, file: &File) {
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stop {
            if !self.dirty.load(Ordering::Relaxed) {
                stop = self.wake.wait(stop).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            // Let a group gather, but end at once when told to.
            let waited = self.wake.wait_timeout_while(stop, GROUP, |stop| !*stop);
            stop = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !*stop && self.dirty.swap(false, Ordering::Relaxed) {
                drop(stop);
                let _unsynced = fdatasync(file);
                stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        *self.shared.stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // It is at most in the middle of one sync.
            let _panicked = thread.join();
        }
    }
}
