//! Which logs there are: the files of the folder, as they are at this moment.
//!
//! Owns looking into the folder. What of it is new is [`crate::scan`]'s.

use crate::StoreError;
use crate::commit::Stray;
use crate::index::size_and_time;
use crate::share::in_parts;
use std::collections::HashSet;
use std::fs::DirEntry;
use std::io::ErrorKind;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

/// How the name of a log ends.
const END: &[u8] = b".jsonl";

/// A log in the folder.
#[derive(Debug)]
pub(crate) struct FoundLog {
    pub(crate) path: PathBuf,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mtime_ms: i64,
}

impl FoundLog {
    /// The same, where it is not indexed: a copy of that log, or nothing yet.
    pub(crate) fn stray(&self, log: Option<i64>) -> Stray {
        let path = self.path.to_string_lossy().into_owned();
        let FoundLog { inode, size, mtime_ms, .. } = *self;
        Stray { path, inode, size, mtime_ms, log }
    }
}

/// All logs of a folder; none where there is no folder.
pub(crate) fn logs(folder: &Path) -> Result<Vec<FoundLog>, StoreError> {
    let failed = |source| StoreError::Read { path: folder.to_owned(), source };
    let entries = match entries(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let look = |part: &[DirEntry]| part.iter().filter_map(look_at).collect::<Vec<_>>();
    Ok(in_parts(&entries, look).into_iter().flatten().collect())
}

/// Returns the logs of a folder, the one that was written to last first; none where there is no such
/// folder.
pub fn logs_newest_first(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut logs = logs(folder)?;
    logs.sort_by(|a, b| (b.mtime_ms, &b.path).cmp(&(a.mtime_ms, &a.path)));
    Ok(logs.into_iter().map(|log| log.path).collect())
}

/// The numbers of the files that may be logs. The number of one that was removed is soon that of
/// another file, such as of our own journal.
pub(crate) fn inodes_of_logs(folder: &Path) -> Result<HashSet<u64>, StoreError> {
    let failed = |source| StoreError::Read { path: folder.to_owned(), source };
    Ok(entries(folder).map_err(failed)?.iter().map(DirEntryExt::ino).collect())
}

fn entries(folder: &Path) -> std::io::Result<Vec<DirEntry>> {
    let is_log = |entry: &std::io::Result<DirEntry>| match entry {
        Ok(entry) => entry.file_name().as_encoded_bytes().ends_with(END),
        Err(_) => true,
    };
    std::fs::read_dir(folder)?.filter(is_log).collect()
}

fn look_at(entry: &DirEntry) -> Option<FoundLog> {
    let path = entry.path();
    // Without a walk along the whole path, but for a link.
    let about = match entry.metadata() {
        Ok(about) if about.is_symlink() => std::fs::metadata(&path),
        about => about,
    };
    // One that is gone by now is none.
    let about = about.ok().filter(std::fs::Metadata::is_file)?;
    let (size, mtime_ms) = size_and_time(&about);
    Some(FoundLog { path, inode: about.ino(), size, mtime_ms })
}
