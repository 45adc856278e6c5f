//! Opening the index: the file, its settings, its tables.

use crate::StoreError;
use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of the index, in the folder of the logs.
pub const FILE: &str = "index.sqlite";

/// Another process may write; its transactions are short.
const BUSY: Duration = Duration::from_secs(5);

/// What each version of the tables changed; never edited, only added to.
const STEPS: &[M<'static>] =
    &[M::up(include_str!("schema.sql")), M::up(include_str!("schema-imports.sql"))];

/// An index that is open.
#[derive(Debug)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) db: Connection,
}

impl Store {
    /// Opens the index of a folder of logs; made where there is none, and made anew where what is
    /// there is no database any more.
    pub fn open(folder: &Path) -> Result<Store, StoreError> {
        let path = folder.join(FILE);
        match Self::open_file(folder, &path) {
            Err(StoreError::Database { source, .. }) if is_damaged(&source) => {
                Self::remove(&path)?;
                Self::open_file(folder, &path)
            }
            opened => opened,
        }
    }

    fn open_file(folder: &Path, path: &Path) -> Result<Store, StoreError> {
        let failed = |source| StoreError::Database { path: path.to_owned(), source };
        let made = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path);
        made.map_err(|source| StoreError::Read { path: path.to_owned(), source })?;
        let mut db = Connection::open(path).map_err(failed)?;
        db.busy_timeout(BUSY).map_err(failed)?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = NORMAL;
             PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -16384;",
        )
        .map_err(failed)?;
        Migrations::from_slice(STEPS).to_latest(&mut db).map_err(|error| match error {
            rusqlite_migration::Error::RusqliteError { err, .. } => failed(err),
            rusqlite_migration::Error::MigrationDefinition(_) => {
                StoreError::Newer { path: path.to_owned() }
            }
            _ => failed(rusqlite::Error::InvalidQuery),
        })?;
        Ok(Store { path: path.to_owned(), folder: folder.to_owned(), db })
    }

    /// Throws the index away. The logs stay.
    pub fn remove(path: &Path) -> Result<(), StoreError> {
        for end in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            let file = PathBuf::from(name);
            match std::fs::remove_file(&file) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StoreError::Read { path: file, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The database, for questions.
    pub fn database(&self) -> &Connection {
        &self.db
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), source }
    }
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt)
    )
}
