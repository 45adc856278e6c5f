//! What can go wrong with the index. None of it concerns a run.

use std::path::PathBuf;

/// The index could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database itself.
    #[error("failed to use the index `{}`", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// Another version made it, with tables that this one does not know.
    #[error("the index `{}` was made by a newer version", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// A log or its folder.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What is imported could not be remembered.
    #[error("failed to write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A database of an agent, with its sessions in it.
    #[error("failed to read the database `{}`", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}
