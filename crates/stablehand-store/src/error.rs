//! What can go wrong with the index. None of it concerns a run.

use rusqlite::ErrorCode;
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
    #[error("the index `{}` was made by a newer version of Stablehand", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else has been opening or replacing it for too long.
    #[error("the index `{}` is locked by another process", path.display())]
    Locked {
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

impl StoreError {
    /// Whether what is in the file is no whole database: made anew from the logs it is one again.
    pub fn is_damage(&self) -> bool {
        let StoreError::Database { source, .. } = self else { return false };
        matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
        )
    }

    /// The same, or it is a whole database but not ours. Only for the statements of those who index:
    /// a question may also be wrong.
    pub(crate) fn is_unusable(&self) -> bool {
        match self {
            StoreError::Database { source, .. } => self.is_damage() || is_not_ours(source),
            _ => false,
        }
    }

    /// Whether somebody else is writing, and later it may work.
    pub fn is_busy(&self) -> bool {
        match self {
            StoreError::Database { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(
                    ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::FileLockingProtocolFailed
                )
            ),
            StoreError::Locked { .. } => true,
            _ => false,
        }
    }

    /// Whether nothing may be written there.
    pub(crate) fn is_read_only(&self) -> bool {
        use std::io::ErrorKind;
        match self {
            StoreError::Database { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen)
            ),
            StoreError::Read { source, .. } => {
                matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
            }
            _ => false,
        }
    }
}

/// Our statements are right for our tables. Where they are refused, or what they give is not what
/// was put in, the tables are not ours any more.
fn is_not_ours(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(cause, _) => matches!(
            cause.code,
            ErrorCode::Unknown
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::SchemaChanged
                | ErrorCode::NotFound
                | ErrorCode::InternalMalfunction
        ),
        rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..)
        | rusqlite::Error::InvalidColumnIndex(_)
        | rusqlite::Error::InvalidColumnName(_) => true,
        _ => false,
    }
}
