//! Notices that another program deleted, moved or replaced the file of a log, and writes a deleted one
//! anew.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// So many names are tried for a log whose own name is taken.
const MOST_NAMES: u32 = 1000;

/// One read of the old file.
const BLOCK: usize = 256 << 10;

/// Where the file of a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At its path.
    There,
    /// It has no name any more: it is gone when the last process that has it open closes it.
    Deleted,
    /// It has another name; at its path is nothing, or another file.
    Moved,
}

/// Looks where the file is. A path that cannot be looked at is no proof of anything.
pub(super) fn look(file: &File, path: &Path) -> Place {
    let Ok(ours) = file.metadata() else { return Place::There };
    if ours.nlink() == 0 {
        return Place::Deleted;
    }
    match std::fs::symlink_metadata(path) {
        Ok(found) if (found.dev(), found.ino()) == (ours.dev(), ours.ino()) => Place::There,
        Err(error) if error.kind() != io::ErrorKind::NotFound => Place::There,
        Ok(_) | Err(_) => Place::Moved,
    }
}

/// Copies a deleted file to its old path, or to a name beside it where that is taken; makes the folder
/// where that is gone. Returns the path.
pub(super) fn restore(file: &File, path: &Path) -> io::Result<PathBuf> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let (copy, path) = create_beside(path)?;
    let (mut block, mut offset) = (vec![0; BLOCK], 0);
    loop {
        let read = file.read_at(&mut block, offset)?;
        if read == 0 {
            copy.sync_all()?;
            return Ok(path);
        }
        copy.write_all_at(block.get(..read).unwrap_or_default(), offset)?;
        offset += read as u64;
    }
}

fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut name = path.to_owned();
    for twin in 1..=MOST_NAMES {
        match options.open(&name) {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        let mut stem = path.file_stem().unwrap_or_default().to_owned();
        stem.push(format!("-{twin}.jsonl"));
        name.set_file_name(stem);
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_moved_or_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let file = File::create_new(&path).unwrap();
        assert_eq!(look(&file, &path), Place::There);
        std::fs::rename(&path, folder.path().join("log.1")).unwrap();
        assert_eq!(look(&file, &path), Place::Moved);
        File::create_new(&path).unwrap();
        assert_eq!(look(&file, &path), Place::Moved, "another file has its name");
        std::fs::remove_file(folder.path().join("log.1")).unwrap();
        assert_eq!(look(&file, &path), Place::Deleted);
    }

    #[test]
    fn a_deleted_file_comes_back_and_replaces_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("logs/log.jsonl");
        std::fs::create_dir(home.path().join("logs")).unwrap();
        let file = OpenOptions::new().read(true).append(true).create_new(true).open(&path).unwrap();
        let text: Vec<u8> = (0..BLOCK + 100).map(|n| n as u8).collect();
        std::io::Write::write_all(&mut &file, &text).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_dir_all(home.path().join("logs")).unwrap();
        assert_eq!(restore(&file, &path).unwrap(), path);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        let beside = restore(&file, &path).unwrap();
        assert_eq!(beside.file_name().unwrap(), "log-1.jsonl");
        assert_eq!(std::fs::read(beside).unwrap(), whole);
    }
}
