//! One run at a time for one session.
//!
//! Two agents that resume the same session write over each other's history and work tree. A lease
//! is a locked file: it goes with the process, however that ends, so none can be left behind.

use stablehand_core::id::SessionId;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The right to run a session; given up when dropped.
#[derive(Debug)]
pub struct Lease {
    _file: File,
}

/// Why a lease was not given.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Somebody else has it.
    #[error("session `{session}` of {agent} is already run by process {holder}")]
    Taken {
        /// The agent's kind.
        agent: String,
        /// The session, safe to show.
        session: String,
        /// The other process, as it wrote itself down.
        holder: String,
    },
    /// The lock file could not be used.
    #[error("failed to take the lease `{path}`")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
}

impl Lease {
    /// Takes the lease of a session, in `folder`.
    pub fn take(folder: &Path, agent: &str, session: &SessionId) -> Result<Lease, LeaseError> {
        // An agent by its command line has a name that no file can have.
        let whose = SessionId(agent.to_owned()).file_stem();
        let path = folder.join(format!("{whose}-{}.lock", session.file_stem()));
        let failed = |source| LeaseError::Io { path: path.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _unreadable = file.read_to_string(&mut holder);
                let holder: String = holder.chars().filter(char::is_ascii_digit).take(10).collect();
                return Err(LeaseError::Taken {
                    agent: agent.to_owned(),
                    session: stablehand_core::text::excerpt(session.0.as_bytes(), 64),
                    holder: if holder.is_empty() { "unknown".into() } else { holder },
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // The number is for the other's error message only; the lock is what counts.
        let _unwritten = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Lease { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let id = SessionId("../../x\n".into());
        let first = Lease::take(folder.path(), "cursor", &id).unwrap();
        let error = Lease::take(folder.path(), "cursor", &id).unwrap_err();
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        assert!(Lease::take(folder.path(), "claude", &id).is_ok());
        drop(first);
        assert!(Lease::take(folder.path(), "cursor", &id).is_ok());
        assert!(std::fs::read_dir(folder.path()).unwrap().count() == 2);
    }
}
