//! Opening the index: the file, its settings, its tables.
//!
//! What cannot be used is made anew, since the logs have everything; only what a newer version made
//! is left alone. Where nothing may be written, what is there is read, or an index is made in memory.

use crate::StoreError;
use crate::lock::OpeningLock;
use crate::signs;
use rusqlite::{Connection, OpenFlags, Transaction};
use rusqlite_migration::{M, Migrations};
use stablehand_core::redact::Redactor;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The name of the index, in the folder of the logs.
pub const FILE: &str = "index.sqlite";

/// Another process may write; its transactions are short.
const BUSY: Duration = Duration::from_secs(5);

/// What each version of the tables changed; never edited, only added to.
fn steps() -> Vec<M<'static>> {
    vec![
        M::up(include_str!("schema.sql")),
        M::up(include_str!("schema-imports.sql")),
        M::up(include_str!("schema-chats.sql")),
        M::up_with_hook(include_str!("schema-signs.sql"), |db: &Transaction<'_>| {
            Ok(signs::put_all(db)?)
        }),
        M::up(include_str!("schema-names.sql")),
    ]
}

/// What every index has once it is at the latest version.
const PARTS: [&str; 19] = [
    "logs",
    "logs_path",
    "strays",
    "strays_log",
    "runs",
    "runs_chat",
    "runs_started",
    "runs_run_id",
    "turns",
    "tools",
    "tools_name",
    "questions",
    "verdicts",
    "files",
    "files_path",
    "passages",
    "passages_kind",
    "words",
    "signs",
];

/// It takes some milliseconds to look at so many.
const MANY_LOGS: u32 = 1000;

/// No version will ever have a number like this; a file that says so is damaged.
const ABSURD_VERSION: i64 = 1000;

/// An index that is open.
#[derive(Debug)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) db: Connection,
    pub(crate) access: Access,
    pub(crate) redactor: Arc<Redactor>,
    /// Which file it is, whatever its name is by now.
    inode: u64,
}

/// What can be done with an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is kept up to date.
    Full,
    /// The folder cannot be written to: it is as it was.
    ReadOnly,
    /// There was none and none could be made: it is gone when it is closed.
    InMemory,
}

/// How much memory an index may take, in KiB of pages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cache {
    /// For whoever asks.
    Ample = 16 << 10,
    /// Beside a run.
    Small = 128,
}

impl Store {
    /// Opens the index of a folder of logs; made where there is none, and made anew where what is
    /// there is no database any more.
    pub fn open(folder: &Path) -> Result<Store, StoreError> {
        match Self::open_to_write(folder, Cache::Ample) {
            Err(error) if error.is_read_only() => Self::open_to_read(folder),
            Err(StoreError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {
                // No folder: no logs yet.
                Self::in_memory(folder)
            }
            opened => opened,
        }
    }

    pub(crate) fn open_to_write(folder: &Path, cache: Cache) -> Result<Store, StoreError> {
        let path = folder.join(FILE);
        let _lock = OpeningLock::take(folder, &path)?;
        Self::open_or_replace(folder, &path, cache)
    }

    /// Opens it, or makes it anew where it is damaged. To be called with the lock.
    fn open_or_replace(folder: &Path, path: &Path, cache: Cache) -> Result<Store, StoreError> {
        match Self::open_file(folder, path, cache) {
            Err(error) if error.is_unusable() || is_unwritable_though_ours(&error, path) => {
                remove_files(path)?;
                Self::open_file(folder, path, cache)
            }
            opened => opened,
        }
    }

    fn open_file(folder: &Path, path: &Path, cache: Cache) -> Result<Store, StoreError> {
        let failed = |source| StoreError::Database { path: path.to_owned(), source };
        let unread = |source| StoreError::Read { path: path.to_owned(), source };
        // Only a file that is not there is opened by us: closing one that SQLite has open would
        // give up its locks.
        if !path.try_exists().map_err(unread)? {
            remove_files(path)?;
            let made =
                std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            made.map_err(unread)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(path, flags).map_err(failed)?;
        db.busy_timeout(BUSY).map_err(failed)?;
        check_version(&db, path)?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = NORMAL;
             PRAGMA temp_store = MEMORY;",
        )
        .map_err(failed)?;
        prepare(&mut db, path, cache)?;
        check_tables(&db).map_err(failed)?;
        let inode = std::fs::metadata(path).map_err(unread)?.ino();
        Ok(Store {
            path: path.to_owned(),
            folder: folder.to_owned(),
            db,
            access: Access::Full,
            redactor: Arc::new(Redactor::new()),
            inode,
        })
    }

    fn open_to_read(folder: &Path) -> Result<Store, StoreError> {
        let path = folder.join(FILE);
        for uri in [uri(&path, "mode=ro"), uri(&path, "immutable=1")] {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let Ok(db) = Connection::open_with_flags(uri, flags) else { continue };
            match check_version(&db, &path) {
                Err(error @ StoreError::Newer { .. }) => return Err(error),
                Err(_) => continue,
                Ok(()) => {}
            }
            let count = db.query_row("SELECT count(*) FROM logs", [], |row| row.get::<_, i64>(0));
            if count.is_ok() {
                let store = Self::in_memory(folder)?;
                return Ok(Store { db, access: Access::ReadOnly, ..store });
            }
        }
        Self::in_memory(folder)
    }

    fn in_memory(folder: &Path) -> Result<Store, StoreError> {
        let path = folder.join(FILE);
        let failed = |source| StoreError::Database { path: path.clone(), source };
        let mut db = Connection::open_in_memory().map_err(failed)?;
        prepare(&mut db, &path, Cache::Ample)?;
        Ok(Store {
            path,
            folder: folder.to_owned(),
            db,
            access: Access::InMemory,
            redactor: Arc::new(Redactor::new()),
            inode: 0,
        })
    }

    /// A new index in a file that nobody else knows of, without a journal: if it is not finished, it
    /// is thrown away.
    pub(crate) fn create_aside(folder: &Path, path: &Path) -> Result<Store, StoreError> {
        let failed = |source| StoreError::Database { path: path.to_owned(), source };
        let mut db = Connection::open(path).map_err(failed)?;
        db.execute_batch(
            "PRAGMA journal_mode = OFF;
             PRAGMA synchronous = OFF;
             PRAGMA locking_mode = EXCLUSIVE;
             PRAGMA temp_store = MEMORY;",
        )
        .map_err(failed)?;
        prepare(&mut db, path, Cache::Ample)?;
        Ok(Store {
            path: path.to_owned(),
            folder: folder.to_owned(),
            db,
            access: Access::Full,
            redactor: Arc::new(Redactor::new()),
            inode: 0,
        })
    }

    /// Makes it anew after it was found to be damaged; somebody else may have done so already.
    pub(crate) fn renew(&mut self) -> Result<(), StoreError> {
        let lock = OpeningLock::take(&self.folder, &self.path)?;
        let nothing = Connection::open_in_memory().map_err(|source| self.failed(source))?;
        drop(std::mem::replace(&mut self.db, nothing));
        if self.is_in_place() {
            remove_files(&self.path)?;
        }
        let redactor = Arc::clone(&self.redactor);
        *self = Self::open_or_replace(&self.folder, &self.path, Cache::Ample)?;
        self.redactor = redactor;
        drop(lock);
        Ok(())
    }

    /// Whether the file of that name is still the one that is open here.
    pub(crate) fn is_in_place(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|about| about.ino() == self.inode)
    }

    /// Throws the index away. The logs stay.
    pub fn remove(path: &Path) -> Result<(), StoreError> {
        let _lock = path.parent().map(|folder| OpeningLock::take(folder, path)).transpose()?;
        remove_files(path)
    }

    /// Puts a finished index into the place of the present one.
    pub(crate) fn replace(folder: &Path, finished: &Path) -> Result<(), StoreError> {
        let path = folder.join(FILE);
        let _lock = OpeningLock::take(folder, &path)?;
        // In this order: without its database a journal is nothing, but beside another one it
        // would be taken for that one's.
        remove_files(&path)?;
        std::fs::rename(finished, &path).map_err(|source| StoreError::Read { path, source })
    }

    /// Refuses what a newer version made.
    pub(crate) fn check_newer(folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(FILE);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        match Connection::open_with_flags(&path, flags).map(|db| check_version(&db, &path)) {
            Ok(Err(error @ StoreError::Newer { .. })) => Err(error),
            _ => Ok(()),
        }
    }

    /// The database, for questions.
    pub fn database(&self) -> &Connection {
        &self.db
    }

    /// What can be done with it.
    pub fn access(&self) -> Access {
        self.access
    }

    /// How many rows this one has changed since it was opened.
    pub fn changes(&self) -> u64 {
        self.db.total_changes()
    }

    /// Whether looking at all logs takes so long that something else can be done meanwhile.
    pub fn has_many_logs(&self) -> bool {
        let sql = "SELECT count(*) >= ?1 FROM (SELECT 1 FROM logs LIMIT ?1)";
        let many = self.db.query_row(sql, [MANY_LOGS], |row| row.get(0));
        self.access == Access::Full && many.unwrap_or(false)
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), source }
    }
}

/// Before anything is written.
fn check_version(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Database { path: path.to_owned(), source };
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    let ours = i64::try_from(steps().len()).unwrap_or(i64::MAX);
    if !(0..ABSURD_VERSION).contains(&version) {
        return Err(failed(rusqlite::Error::IntegralValueOutOfRange(0, version)));
    }
    if version > ours {
        return Err(StoreError::Newer { path: path.to_owned() });
    }
    Ok(())
}

/// Refuses an index that lacks a table or an index on one, whatever its version says.
fn check_tables(db: &Connection) -> rusqlite::Result<()> {
    let mut names = db.prepare("SELECT name FROM sqlite_master")?;
    let found: HashSet<String> =
        names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    match PARTS.iter().find(|name| !found.contains(**name)) {
        Some(missing) => Err(rusqlite::Error::InvalidColumnName((*missing).to_owned())),
        None => Ok(()),
    }
}

fn prepare(db: &mut Connection, path: &Path, cache: Cache) -> Result<(), StoreError> {
    let failed = |source| StoreError::Database { path: path.to_owned(), source };
    db.pragma_update(None, "cache_size", -(cache as i64)).map_err(failed)?;
    db.set_prepared_statement_cache_capacity(64);
    Migrations::new(steps()).to_latest(db).map_err(|error| match error {
        rusqlite_migration::Error::RusqliteError { err, .. } => failed(err),
        rusqlite_migration::Error::MigrationDefinition(_) => {
            StoreError::Newer { path: path.to_owned() }
        }
        _ => failed(rusqlite::Error::InvalidQuery),
    })
}

/// Removes the database first: what is left of a removal that breaks off is then no index at all.
fn remove_files(path: &Path) -> Result<(), StoreError> {
    for end in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let file = PathBuf::from(name);
        match std::fs::remove_file(&file) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(StoreError::Read { path: file, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// A header that forbids writing, in a file that we may write to.
fn is_unwritable_though_ours(error: &StoreError, path: &Path) -> bool {
    let StoreError::Database { source, .. } = error else { return false };
    let refused = matches!(
        source.sqlite_error_code(),
        Some(rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::CannotOpen)
    );
    refused
        && nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
        && path.parent().is_some_and(|folder| {
            nix::unistd::access(folder, nix::unistd::AccessFlags::W_OK).is_ok()
        })
}

/// The address of a file, for SQLite.
fn uri(path: &Path, option: &str) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            byte => {
                let _never_fails = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri.push('?');
    uri.push_str(option);
    uri
}
