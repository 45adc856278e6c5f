//! Sessions that an agent keeps in a database of its own: read, and never written to.
//!
//! SQLite writes beside a database even to read it, where changes wait in a log (`-wal`). So one
//! without such a log is opened as one that cannot change; how it looked before is what the index
//! remembers, so that one that changed all the same is read again. One with a log is copied into a
//! folder of ours first, together with it, and the copy is read. A copy that was taken while the agent
//! wrote is taken again.

use super::tree::{line, stamped};
use super::walk::{Item, with_ending};
use crate::StoreError;
use rusqlite::{Connection, OpenFlags};
use stablehand_core::line::{Line, Part};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How often a copy is taken before we give up for this time.
const TRIES: usize = 5;

/// What is longer than this is read as far as it is of use when cut.
const LONG: i64 = 8 << 20;

/// How much of what is longer is read.
const HEAD: i64 = 1 << 20;

/// The beginning of the names of folders with copies.
const COPY: &str = ".import-";

/// The databases that were opened, each once.
#[derive(Debug)]
pub(super) struct Databases {
    scratch: PathBuf,
    open: HashMap<PathBuf, Opened>,
}

#[derive(Debug)]
struct Opened {
    db: Connection,
    /// The folder of the copy; gone with this.
    _copy: Option<tempfile::TempDir>,
}

/// What a database looks like from outside; it changes when somebody writes.
type Look = Vec<Option<(u64, i64, i64, u64)>>;

impl Databases {
    pub(super) fn new(scratch: &Path) -> Self {
        Databases { scratch: scratch.to_owned(), open: HashMap::new() }
    }

    /// The sessions of a database, each as a transcript of its own.
    pub(super) fn sessions(&mut self, item: &Item) -> Result<Vec<Item>, StoreError> {
        let db = self.database(&item.path)?;
        let failed = |source| StoreError::Foreign { path: item.path.clone(), source };
        // A session's own time is not that of its last part.
        let mut find = db
            .prepare(
                "SELECT s.id,
                     max(s.time_updated, ifnull(max(p.time_updated), 0)),
                     count(p.id) * 1000 + ifnull(sum(length(p.data)), 0)
                 FROM session s LEFT JOIN part p ON p.session_id = s.id
                 GROUP BY s.id ORDER BY 2 DESC",
            )
            .map_err(failed)?;
        let session = |row: &rusqlite::Row<'_>| {
            let id: String = row.get(0)?;
            let size: i64 = row.get(2)?;
            Ok(Item {
                path: item.path.clone(),
                session: Some(id.clone()),
                name: id,
                form: item.form,
                size: u64::try_from(size).unwrap_or(0),
                mtime_ms: row.get(1)?,
            })
        };
        let found = find.query_map([], session).map_err(failed)?;
        found.collect::<Result<_, _>>().map_err(failed)
    }

    /// Gives the session, its messages and their parts as lines.
    pub(super) fn each_line(
        &mut self,
        item: &Item,
        mut take: impl FnMut(&Line<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |source| StoreError::Foreign { path: item.path.clone(), source };
        let db = self.database(&item.path)?;
        let (about, at) = db
            .query_row(
                "SELECT directory, title, version, parent_id, time_created FROM session
                 WHERE id = ?",
                [&item.name],
                |row| {
                    let text = |n| row.get::<_, Option<String>>(n);
                    let about = serde_json::json!({
                        "directory": text(0)?,
                        "title": text(1)?,
                        "version": text(2)?,
                        "parentID": text(3)?,
                    });
                    Ok((about, row.get::<_, i64>(4)?))
                },
            )
            .map_err(failed)?;
        let about = about.to_string();
        take(&line(&stamped("session", &item.name, "", Some(at), about.as_bytes())))?;
        let mut messages = db
            .prepare_cached(
                "SELECT id, time_created, substr(data, 1, ?2), length(data) FROM message
                 WHERE session_id = ?1 ORDER BY time_created, id",
            )
            .map_err(failed)?;
        let mut parts = db
            .prepare_cached(
                "SELECT id, time_created, substr(data, 1, ?2), length(data) FROM part
                 WHERE message_id = ?1 ORDER BY id",
            )
            .map_err(failed)?;
        let mut rows = messages.query((&item.name, LONG)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let message: String = row.get(0).map_err(failed)?;
            told("message", "", row, &mut take).map_err(|it| it.at(&item.path))?;
            let mut rows = parts.query((&message, LONG)).map_err(failed)?;
            while let Some(row) = rows.next().map_err(failed)? {
                told("part", &message, row, &mut take).map_err(|it| it.at(&item.path))?;
            }
        }
        Ok(())
    }

    fn database(&mut self, path: &Path) -> Result<&Connection, StoreError> {
        if !self.open.contains_key(path) {
            let opened = open(path, &self.scratch)?;
            self.open.insert(path.to_owned(), opened);
        }
        match self.open.get(path) {
            Some(opened) => Ok(&opened.db),
            None => Err(gone(path)),
        }
    }
}

/// What went wrong with a row: the database's fault, or that of whoever takes the lines.
enum Trouble {
    Row(rusqlite::Error),
    Taker(StoreError),
}

impl Trouble {
    fn at(self, path: &Path) -> StoreError {
        match self {
            Trouble::Row(source) => StoreError::Foreign { path: path.to_owned(), source },
            Trouble::Taker(error) => error,
        }
    }
}

/// One row as a line; one that is too long as the beginning of a line.
fn told(
    stored: &str,
    message: &str,
    row: &rusqlite::Row<'_>,
    take: &mut impl FnMut(&Line<'_>) -> Result<(), StoreError>,
) -> Result<(), Trouble> {
    let id: String = row.get(0).map_err(Trouble::Row)?;
    let at: Option<i64> = row.get(1).map_err(Trouble::Row)?;
    let data = row.get_ref(2).map_err(Trouble::Row)?;
    let data = match data {
        rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => bytes,
        _ => b"null",
    };
    let length: i64 = row.get::<_, Option<i64>>(3).map_err(Trouble::Row)?.unwrap_or(0);
    if length <= LONG {
        return take(&line(&stamped(stored, &id, message, at, data))).map_err(Trouble::Taker);
    }
    let head = data.get(..usize::try_from(HEAD).unwrap_or(0)).unwrap_or(data);
    let mut bytes = stamped(stored, &id, message, at, head);
    bytes.pop();
    let cut = Line { bytes: &bytes, offset: 0, part: Part::First, newline: false };
    take(&cut).map_err(Trouble::Taker)
}

fn open(path: &Path, scratch: &Path) -> Result<Opened, StoreError> {
    let read = |source| StoreError::Read { path: path.to_owned(), source };
    let foreign = |source| StoreError::Foreign { path: path.to_owned(), source };
    let mut tries = 0;
    loop {
        tries += 1;
        let before = look(path);
        let wal = with_ending(path, "-wal");
        let has_log = wal.metadata().is_ok_and(|about| about.len() > 0);
        let (opened, copy) = if has_log {
            clear(scratch);
            let copy = tempfile::Builder::new().prefix(COPY).tempdir_in(scratch).map_err(read)?;
            let to = copy.path().join("copy.db");
            std::fs::copy(path, &to).map_err(read)?;
            std::fs::copy(&wal, with_ending(&to, "-wal")).map_err(read)?;
            (Connection::open(&to).map_err(foreign)?, Some(copy))
        } else {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            (Connection::open_with_flags(uri(path), flags).map_err(foreign)?, None)
        };
        if has_log && look(path) != before {
            if tries < TRIES {
                continue;
            }
            return Err(read(std::io::Error::other("the agent is writing to it all the time")));
        }
        return Ok(Opened { db: opened, _copy: copy });
    }
}

/// A path as SQLite wants it, as a file that does not change while it is read.
fn uri(path: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => {
                let _infallible = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri + "?mode=ro&immutable=1"
}

fn look(path: &Path) -> Look {
    let about = |path: &Path| {
        let about = path.metadata().ok()?;
        Some((about.len(), about.mtime(), about.mtime_nsec(), about.ino()))
    };
    vec![about(path), about(&with_ending(path, "-wal"))]
}

/// Copies that a kill left behind: nobody reads one for so long.
fn clear(scratch: &Path) {
    const AGE: std::time::Duration = std::time::Duration::from_hours(1);
    for entry in std::fs::read_dir(scratch).into_iter().flatten().flatten() {
        let is_copy = entry.file_name().to_string_lossy().starts_with(COPY);
        let modified = entry.metadata().and_then(|about| about.modified());
        let is_old = modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > AGE));
        if is_copy && is_old {
            let _gone_by_itself = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn gone(path: &Path) -> StoreError {
    let source = std::io::ErrorKind::NotFound.into();
    StoreError::Read { path: path.to_owned(), source }
}
