//! The file of a log: its folder, its name, its permissions.

use crate::frames::Checkpoints;
use nix::libc;
use stablehand_core::time::UnixMillis;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Why a log could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The folder cannot be made or is none.
    #[error("failed to make the log folder `{folder}`")]
    Folder {
        /// Which folder.
        folder: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// The file cannot be made.
    #[error("failed to create the log `{path}`")]
    Create {
        /// Which file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
}

/// The name until the agent has named its session.
const UNNAMED: &str = "unknown";

/// Two programs may start in the same millisecond; more than this many do not.
const MAX_TWINS: u32 = 1000;

/// Whoever looks whether a log is written has its lock for a moment; a writer tries so often, with so
/// long between two tries.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Whether somebody writes a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Somebody does.
    There,
    /// Nobody does any more, however that ended.
    Gone,
    /// The file system does not say.
    Unknown,
}

impl Writer {
    /// Of a log that is open. Whoever writes one holds its lock, which goes with the process.
    pub fn of(log: &File) -> Writer {
        match log.try_lock_shared() {
            Ok(()) => match log.unlock() {
                Ok(()) => Writer::Gone,
                Err(_) => Writer::Unknown,
            },
            Err(TryLockError::WouldBlock) => Writer::There,
            Err(TryLockError::Error(_)) => Writer::Unknown,
        }
    }
}

/// Marks a log as being written, for as long as it is open here. A log that cannot be marked is one
/// all the same.
fn mark_as_written(file: &File) {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Ok(()) | Err(TryLockError::Error(_)) => return,
        }
    }
}

/// Makes the folder (private) and a new file in it (private, appended to, never one that exists).
pub(super) fn create(
    folder: &Path,
    prefix: &str,
    started: UnixMillis,
) -> Result<(File, PathBuf), LogError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| LogError::Folder { folder: folder.to_owned(), source })?;
    let mut twin = 0;
    loop {
        let path = folder.join(name(prefix, started, UNNAMED, twin));
        let made = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path);
        match made {
            Ok(file) => {
                mark_as_written(&file);
                return Ok((file, path));
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && twin < MAX_TWINS => twin += 1,
            Err(source) => return Err(LogError::Create { path, source }),
        }
    }
}

/// Removes a log and what is kept beside it.
pub fn remove(log: &Path) -> io::Result<()> {
    let id = super::glance(log).ok().and_then(|seen| seen.id);
    std::fs::remove_file(log)?;
    if let (Some(id), Some(folder)) = (id, log.parent()) {
        Checkpoints::beside(folder).remove(id);
    }
    Ok(())
}

/// Gives the file its session's name without ever replacing another; `None` where that failed and
/// the old name stays.
pub(super) fn rename(
    path: &Path,
    prefix: &str,
    started: UnixMillis,
    session: &str,
) -> Option<PathBuf> {
    let folder = path.parent()?;
    for twin in 0..MAX_TWINS {
        let target = folder.join(name(prefix, started, session, twin));
        if target == path {
            return None;
        }
        // A link fails where the name is taken; a rename would replace.
        match std::fs::hard_link(path, &target) {
            Ok(()) => {
                let _two_names_are_harmless = std::fs::remove_file(path);
                return Some(target);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) if !target.exists() => {
                return std::fs::rename(path, &target).ok().map(|()| target);
            }
            Err(_) => return None,
        }
    }
    None
}

fn name(prefix: &str, started: UnixMillis, session: &str, twin: u32) -> String {
    let started = started.compact();
    match twin {
        0 => format!("{prefix}-{started}-{session}.jsonl"),
        _ => format!("{prefix}-{started}-{session}-{twin}.jsonl"),
    }
}
