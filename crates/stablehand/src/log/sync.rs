//! Group commit: `fdatasync` on one thread for each disk, so that a slow disk delays neither the
//! session nor the logs on other disks.

use nix::errno::Errno;
use nix::unistd::fdatasync;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a power cut can take at the most, beside the time of one sync of each log on the disk.
pub(super) const GROUP: Duration = Duration::from_millis(100);

/// A thread that had nothing to do for so long ends; the next log that needs one starts it again.
const IDLE: Duration = Duration::from_secs(10);

/// When records reach the disk itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Within a tenth of a second, and at verdicts and at the end.
    Group,
    /// Before anybody sees them.
    Always,
}

/// Brings one log to its disk.
#[derive(Debug)]
pub(super) struct Syncer {
    log: Arc<Unsynced>,
    /// None where every write is synced at once.
    disk: Option<Arc<Disk>>,
}

#[derive(Debug)]
struct Unsynced {
    file: File,
    /// It waits in the queue of its disk. Looked at without a lock: most calls find it already set.
    waits: AtomicBool,
    /// The error of the last sync that failed; 0 is none.
    error: AtomicI32,
}

/// The logs on one disk, of all sessions of this process.
#[derive(Debug, Default)]
struct Disk {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Arc<Unsynced>>,
    has_thread: bool,
}

/// By device number.
static DISKS: LazyLock<Mutex<HashMap<u64, Arc<Disk>>>> = LazyLock::new(Mutex::default);

impl Syncer {
    pub(super) fn new(file: File, durability: Durability) -> std::io::Result<Syncer> {
        let disk = match durability {
            Durability::Always => None,
            Durability::Group => {
                let mut disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
                Some(Arc::clone(disks.entry(file.metadata()?.dev()).or_default()))
            }
        };
        let log = Unsynced { file, waits: AtomicBool::new(false), error: AtomicI32::new(0) };
        Ok(Syncer { log: Arc::new(log), disk })
    }

    /// Says that there is something to sync.
    pub(super) fn dirty(&self) {
        match &self.disk {
            None => self.sync_now(),
            Some(disk) => {
                if !self.log.waits.swap(true, Ordering::AcqRel) {
                    disk.add(&self.log);
                }
            }
        }
    }

    /// Syncs here and now.
    pub(super) fn sync_now(&self) {
        self.log.sync();
    }

    /// Takes the error of a sync that failed since the last call. The kernel reports a block that it
    /// could not write only here, and only once: the write had succeeded.
    pub(super) fn take_error(&self) -> Option<std::io::Error> {
        let error = self.log.error.swap(0, Ordering::AcqRel);
        (error != 0).then(|| std::io::Error::from_raw_os_error(error))
    }
}

impl Unsynced {
    fn sync(&self) {
        match fdatasync(&self.file) {
            // Not every file system can sync.
            Ok(()) | Err(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::EINTR) => {}
            Err(error) => self.error.store(error as i32, Ordering::Release),
        }
    }
}

impl Disk {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(self: &Arc<Self>, log: &Arc<Unsynced>) {
        let mut queue = self.queue();
        queue.waiting.push(Arc::clone(log));
        if queue.has_thread {
            self.wake.notify_one();
            return;
        }
        let disk = Arc::clone(self);
        let thread = std::thread::Builder::new().name("log-sync".into()).stack_size(64 << 10);
        queue.has_thread = thread.spawn(move || disk.run()).is_ok();
        if !queue.has_thread {
            // The system gives us no thread, so the writer of the log syncs and waits.
            let waiting = std::mem::take(&mut queue.waiting);
            drop(queue);
            sync(waiting);
        }
    }

    fn run(&self) {
        loop {
            let is_idle = |queue: &mut Queue| queue.waiting.is_empty();
            let waited = self.wake.wait_timeout_while(self.queue(), IDLE, is_idle);
            let mut queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            if queue.waiting.is_empty() {
                queue.has_thread = false;
                return;
            }
            drop(queue);
            // Let a group gather.
            std::thread::sleep(GROUP);
            let waiting = std::mem::take(&mut self.queue().waiting);
            sync(waiting);
        }
    }
}

fn sync(logs: Vec<Arc<Unsynced>>) {
    for log in logs {
        // First, so that what is written from now on asks again.
        log.waits.store(false, Ordering::Release);
        log.sync();
    }
}
