//! Why a host cannot do what it is asked to.

use crate::frames::Cursor;
use crate::session::StartError;
use stablehand_core::id::SessionKey;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why the events of a session cannot be followed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// Neither the host nor a log in its folder has a session of that key.
    #[error("there is no session {0}; `list` has those that there are")]
    NoSession(SessionKey),
    /// The cursor is one of another session.
    #[error("the cursor {cursor} does not belong to session {key}")]
    ForeignCursor {
        /// The session.
        key: SessionKey,
        /// The cursor.
        cursor: Cursor,
    },
    /// The log of a session that another process runs cannot be read.
    #[error(transparent)]
    Attach(#[from] AttachError),
}

/// Why a session of an earlier process cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No log in the folder has that key.
    #[error("no log in `{}` belongs to session {key}", folder.display())]
    Unknown {
        /// The session.
        key: SessionKey,
        /// The folder that was looked in.
        folder: PathBuf,
    },
    /// Another process runs it now, and cannot be attached to.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// It was never started, or its agent is not one that we know.
    #[error("the log of session {key} does not say which agent to resume")]
    NotResumable {
        /// The session.
        key: SessionKey,
    },
    /// It cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Why a session of another process cannot be attached to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// No log in the folder has that key.
    #[error("no log in `{}` belongs to session {key}", folder.display())]
    Unknown {
        /// The session.
        key: SessionKey,
        /// The folder that was looked in.
        folder: PathBuf,
    },
    /// No process runs it.
    #[error("no process runs session {0}; `open` it instead")]
    NotRunning(SessionKey),
    /// Its log cannot be read.
    #[error("failed to read the log of session {key}")]
    Log {
        /// The session.
        key: SessionKey,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
}
