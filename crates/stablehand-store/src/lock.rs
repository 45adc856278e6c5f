//! Who may open and replace the file of the index.
//!
//! SQLite sees to those who have it open. It does not see to files that are removed and made again
//! under a name that others are just opening: its journal goes by that name too. So whoever opens
//! or replaces the index holds this lock, for as long as that takes.

use crate::StoreError;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The name of the lock, in the folder of the logs.
const NAME: &str = "index.lock";

/// An open takes milliseconds; whoever takes longer has been stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(3);

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct OpeningLock {
    _held: File,
}

impl OpeningLock {
    pub(crate) fn take(folder: &Path, index: &Path) -> Result<OpeningLock, StoreError> {
        let path = folder.join(NAME);
        let failed = |source| StoreError::Read { path: path.clone(), source };
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(OpeningLock { _held: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Locked { path: index.to_owned() });
                }
                // A file system without locks: then at least nothing stops us.
                Err(TryLockError::Error(source)) => {
                    return match source.raw_os_error() {
                        Some(_) => Ok(OpeningLock { _held: file }),
                        None => Err(failed(source)),
                    };
                }
            }
        }
    }
}
