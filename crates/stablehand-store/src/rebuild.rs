//! Making the index anew from the logs, beside the one that is in use.
//!
//! Whoever asks meanwhile gets the old one; a kill leaves that and a file that the next one clears
//! away. Runs that fill the index notice that theirs is gone and go on in the new one.

use crate::scan::{Scan, is_alive};
use crate::{Advance, Budget, Refreshed, Store, StoreError};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What the names of unfinished ones begin and end with.
const BEGIN: &str = "index-";
const END: &str = ".tmp";

/// One that was not written to for so long, by a process that is gone, is nobody's.
const ABANDONED: Duration = Duration::from_mins(1);

/// Several may be made by one process.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Store {
    /// Makes the index anew from the logs and puts it into its place.
    pub fn reindex(
        folder: &Path,
        watch: &mut dyn FnMut(Advance),
    ) -> Result<(Store, Refreshed), StoreError> {
        Self::check_newer(folder)?;
        clear(folder);
        let unfinished = Unfinished::create(folder)?;
        let mut done = unfinished.fill(folder, true, watch)?;
        Self::replace(folder, &unfinished.path)?;
        drop(unfinished);
        let mut store = Self::open(folder)?;
        // What came while we were at it.
        let more = store.refresh(Budget::UNLIMITED)?;
        done.forgotten = 0;
        done.behind = more.behind;
        done.unreadable = more.unreadable;
        Ok((store, done))
    }

    /// Holds the index, brought up to date, against one that is made anew and thrown away: what is
    /// wrong with it, where something is.
    pub fn verify(folder: &Path) -> Result<Option<String>, StoreError> {
        clear(folder);
        let mut store = Self::open(folder)?;
        store.refresh(Budget::UNLIMITED)?;
        if let Some(wrong) = store.check()? {
            return Ok(Some(wrong));
        }
        let unfinished = Unfinished::create(folder)?;
        unfinished.fill(folder, true, &mut |_| {})?;
        let fresh = Self::create_aside(folder, &unfinished.path)?;
        store.differs_from(&fresh)
    }

    /// Makes one in a file that is thrown away, with or without what makes text searchable: to
    /// measure what that costs.
    #[doc(hidden)]
    pub fn index_aside(folder: &Path, words: bool) -> Result<Refreshed, StoreError> {
        Unfinished::create(folder)?.fill(folder, words, &mut |_| {})
    }
}

/// An index that is not finished; it goes when nobody has it any more.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    fn create(folder: &Path) -> Result<Unfinished, StoreError> {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{BEGIN}{}-{count}{END}", std::process::id()));
        let failed = |source| StoreError::Read { path: path.clone(), source };
        let mut options = std::fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.write(true).create(true).truncate(true).open(&path).map_err(failed)?;
        Ok(Unfinished { path })
    }

    fn fill(
        &self,
        folder: &Path,
        words: bool,
        watch: &mut dyn FnMut(Advance),
    ) -> Result<Refreshed, StoreError> {
        let mut store = Self::open(folder, &self.path)?;
        let scanned = store.scan(&mut Scan { budget: Budget::UNLIMITED, words, watch })?;
        let failed = |source| StoreError::Database { path: self.path.clone(), source };
        store
            .db
            .execute_batch(if words { OPTIMIZE } else { "" })
            .and_then(|()| store.db.execute_batch("PRAGMA optimize"))
            .map_err(failed)?;
        let Store { db, .. } = store;
        db.close().map_err(|(_, error)| failed(error))?;
        File::open(&self.path)
            .and_then(|file| file.sync_all())
            .map_err(|source| StoreError::Read { path: self.path.clone(), source })?;
        Ok(scanned)
    }

    fn open(folder: &Path, path: &Path) -> Result<Store, StoreError> {
        let store = Store::create_aside(folder, path)?;
        store
            .db
            .execute_batch(BULK)
            .map_err(|source| StoreError::Database { path: path.to_owned(), source })?;
        Ok(store)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It has been renamed where all went well.
        let _not_there = std::fs::remove_file(&self.path);
    }
}

/// Nobody asks while it is made: large pieces, and all of them are merged at the end.
const BULK: &str = "INSERT INTO words (words, rank) VALUES ('automerge', 0);
     INSERT INTO words (words, rank) VALUES ('hashsize', 33554432);
     INSERT INTO signs (signs, rank) VALUES ('automerge', 0);
     INSERT INTO signs (signs, rank) VALUES ('hashsize', 8388608);";

const OPTIMIZE: &str = "INSERT INTO words (words) VALUES ('optimize');
     INSERT INTO words (words, rank) VALUES ('automerge', 4);
     INSERT INTO words (words, rank) VALUES ('hashsize', 1048576);
     INSERT INTO signs (signs) VALUES ('optimize');
     INSERT INTO signs (signs, rank) VALUES ('automerge', 4);
     INSERT INTO signs (signs, rank) VALUES ('hashsize', 1048576);";

/// Removes what others did not finish. Whoever is at it writes all the time.
fn clear(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let middle = name.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
        let Some((pid, _)) = middle.and_then(|middle| middle.split_once('-')) else { continue };
        let is_alive = pid.parse().is_ok_and(is_alive);
        let since = entry.metadata().and_then(|about| about.modified()).ok();
        let is_old = since.is_some_and(|since| since.elapsed().is_ok_and(|age| age > ABANDONED));
        if is_old && !is_alive {
            let _gone_already = std::fs::remove_file(entry.path());
        }
    }
}
