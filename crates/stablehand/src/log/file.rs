//! The file of a log: its folder, its name, its permissions.

use nix::libc;
use stablehand_core::time::UnixMillis;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
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
            Ok(file) => return Ok((file, path)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && twin < MAX_TWINS => twin += 1,
            Err(source) => return Err(LogError::Create { path, source }),
        }
    }
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
