//! A settings file on disk: read, replaced and removed without ever following a link.
//!
//! Everything is done relative to an open folder, so that nobody can put a link in the way between
//! a look and a write. A file is replaced as a whole, never written into: whoever reads it sees
//! the old one or the new one. Nothing here knows what is in it.

use super::HookError;
use super::swap::{Refused, exchange, rename_to_free};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fsync, geteuid, unlinkat};
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Settings are small; a file that is larger is none.
const MAX_BYTES: u64 = 4 << 20;

/// How often we begin again when somebody writes the file while we do.
const ATTEMPTS: usize = 20;

/// A settings file: a folder, and a file in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    root: PathBuf,
    folder: OsString,
    file: OsString,
}

impl Target {
    /// The file `file` in `folder` below `root`. Links above `root` are nobody's concern; `folder`
    /// and `file` must be none.
    pub fn new(root: &Path, folder: impl Into<OsString>, file: impl Into<OsString>) -> Target {
        Target { root: root.to_owned(), folder: folder.into(), file: file.into() }
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.folder).join(&self.file)
    }

    /// The same file by the one name that it has, so that everybody finds the same journal.
    pub(super) fn resolved(&self) -> Result<Target, HookError> {
        let failed = |source| HookError::Io { doing: "find", path: self.root.clone(), source };
        Ok(Target { root: self.root.canonicalize().map_err(failed)?, ..self.clone() })
    }

    /// A name for it that is good for a file of ours.
    pub(super) fn key(&self) -> String {
        hash(self.path().as_os_str().as_bytes()).chars().take(32).collect()
    }

    /// Its parts, as they are written down.
    pub(super) fn parts(&self) -> [Vec<u8>; 3] {
        [self.root.as_os_str(), &self.folder, &self.file].map(|part| part.as_bytes().to_vec())
    }

    /// From its parts.
    pub(super) fn from_parts(parts: &[Vec<u8>; 3]) -> Target {
        let [root, folder, file] = parts.each_ref().map(|part| OsStr::from_bytes(part));
        Target::new(Path::new(root), folder, file)
    }

    /// The text of the file, without opening it for more; nothing where it is not there.
    pub fn read(&self) -> Result<Option<String>, HookError> {
        let place = Place::open(self)?;
        place.read()?.map(|found| found.text(&self.path())).transpose()
    }
}

/// The hash of a file's content.
pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// The folder of a settings file, open.
#[derive(Debug)]
pub(super) struct Place {
    target: Target,
    root: OwnedFd,
    folder: Option<OwnedFd>,
}

/// What was found there.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    stat: FileStat,
}

impl Found {
    /// As text.
    pub(super) fn text(self, path: &Path) -> Result<String, HookError> {
        let not_text = |_| HookError::File { path: path.into(), source: super::FileError::NotText };
        String::from_utf8(self.bytes).map_err(not_text)
    }
}

/// What is to be done with the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Nothing.
    Keep,
    /// It gets this content.
    Write(String),
    /// It goes away.
    Remove,
}

impl Place {
    pub(super) fn open(target: &Target) -> Result<Place, HookError> {
        let failed = |doing, path: PathBuf, errno: Errno| HookError::Io {
            doing,
            path,
            source: errno.into(),
        };
        let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let root = nix::fcntl::open(&target.root, flags, Mode::empty())
            .map_err(|errno| failed("open", target.root.clone(), errno))?;
        let folder_path = target.root.join(&target.folder);
        let no_links = flags | OFlag::O_NOFOLLOW;
        let folder = match openat(&root, target.folder.as_os_str(), no_links, Mode::empty()) {
            Ok(folder) => Some(folder),
            Err(Errno::ENOENT) => None,
            // Which of the two it is depends on the system.
            Err(Errno::ELOOP | Errno::ENOTDIR | Errno::EMLINK) => {
                let meta = folder_path.symlink_metadata();
                return Err(if meta.is_ok_and(|meta| meta.is_symlink()) {
                    HookError::Link { path: folder_path }
                } else {
                    HookError::Kind { path: folder_path, expected: "folder" }
                });
            }
            Err(errno) => return Err(failed("open", folder_path, errno)),
        };
        Ok(Place { target: target.clone(), root, folder })
    }

    pub(super) fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    pub(super) fn path(&self) -> PathBuf {
        self.target.path()
    }

    /// Makes the folder where it is missing.
    pub(super) fn make_folder(&mut self) -> Result<(), HookError> {
        if self.folder.is_some() {
            return Ok(());
        }
        match mkdirat(&self.root, self.target.folder.as_os_str(), Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(self.failed("make the folder of", errno)),
        }
        let _synced_as_far_as_possible = fsync(&self.root);
        *self = Place::open(&self.target)?;
        Ok(())
    }

    /// Removes the folder if nothing is in it.
    pub(super) fn remove_folder(&self) {
        let name = self.target.folder.as_os_str();
        let _has_something_in_it = unlinkat(&self.root, name, UnlinkatFlags::RemoveDir);
    }

    /// What is there now.
    pub(super) fn read(&self) -> Result<Option<Found>, HookError> {
        self.read_named(&self.target.file)
    }

    fn read_named(&self, name: &OsStr) -> Result<Option<Found>, HookError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        // A pipe of that name would make us wait.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = match openat(folder, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ELOOP | Errno::EMLINK) => {
                return Err(HookError::Link { path: self.path() });
            }
            Err(errno) => return Err(self.failed("open", errno)),
        };
        let stat = fstat(&file).map_err(|errno| self.failed("look at", errno))?;
        if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
            return Err(HookError::Kind { path: self.path(), expected: "regular file" });
        }
        let mut bytes = Vec::new();
        let read = File::from(file).take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|source| HookError::Io { doing: "read", path: self.path(), source })?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(HookError::TooLarge { path: self.path() });
        }
        Ok(Some(Found { bytes, stat }))
    }

    /// Reads the file, asks what is to be done, and does it, unless the file has changed in the
    /// meantime: then all over again. Gives what `decide` said of the file that it was done to.
    pub(super) fn update<T>(
        &mut self,
        mut decide: impl FnMut(Option<&Found>) -> Result<(Deed, T), HookError>,
    ) -> Result<T, HookError> {
        for _ in 0..ATTEMPTS {
            let found = self.read()?;
            let (deed, said) = decide(found.as_ref())?;
            let done = match deed {
                Deed::Keep => true,
                Deed::Write(text) => self.replace(text.as_bytes(), found.as_ref())?,
                Deed::Remove => self.remove(found.as_ref())?,
            };
            if done {
                return Ok(said);
            }
        }
        Err(HookError::Restless { path: self.path() })
    }

    /// False when somebody was quicker.
    fn replace(&mut self, bytes: &[u8], seen: Option<&Found>) -> Result<bool, HookError> {
        self.may_change(seen)?;
        self.make_folder()?;
        self.remove_unfinished();
        let done = self.write_and_rename(bytes, seen);
        if !matches!(done, Ok(true)) {
            self.remove_unfinished();
        }
        done
    }

    fn write_and_rename(&self, bytes: &[u8], seen: Option<&Found>) -> Result<bool, HookError> {
        let Some(folder) = &self.folder else { return Ok(false) };
        let new = self.unfinished();
        let flags =
            OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let open = openat(folder, new.as_os_str(), flags, Mode::from_bits_truncate(0o644));
        let mut file = File::from(open.map_err(|errno| self.failed("write beside", errno))?);
        let written = file.write_all(bytes);
        written.map_err(|source| HookError::Io { doing: "write", path: self.path(), source })?;
        if let Some(Found { stat, .. }) = seen {
            let mode = Mode::from_bits_truncate(stat.st_mode & 0o7777);
            let own = fstat(&file).map_err(|errno| self.failed("look beside", errno))?;
            if (own.st_uid, own.st_gid) != (stat.st_uid, stat.st_gid) {
                let (user, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
                fchown(&file, Some(user), Some(group))
                    .map_err(|errno| self.failed("keep the owner of", errno))?;
            }
            fchmod(&file, mode).map_err(|errno| self.failed("keep the mode of", errno))?;
        }
        file.sync_all().map_err(|source| HookError::Io {
            doing: "write",
            path: self.path(),
            source,
        })?;
        drop(file);
        self.put_in_place(folder, bytes, seen)
    }

    /// The new file, which is finished and beside, becomes the file, unless that is not the one any
    /// more that was read.
    fn put_in_place(
        &self,
        folder: &OwnedFd,
        bytes: &[u8],
        seen: Option<&Found>,
    ) -> Result<bool, HookError> {
        let (new, file) = (self.unfinished(), self.target.file.as_os_str());
        let done = match seen {
            Some(_) => exchange(folder, &new, file),
            None => rename_to_free(folder, &new, file),
        };
        let put = match (done, seen) {
            (Ok(()), None) => true,
            (Ok(()), Some(seen)) if self.is_beside(&seen.bytes) => {
                self.remove_unfinished();
                true
            }
            (Ok(()), Some(_)) => {
                // Somebody has saved it since we looked: theirs goes back. Where they have done it
                // again by now, the later one is what they want.
                let back = || exchange(folder, &new, file).is_ok();
                let _either_way = back() && (self.is_beside(bytes) || back());
                false
            }
            (Err(Refused::Taken), _) => false,
            (Err(Refused::Failed(errno)), _) => return Err(self.failed("replace", errno)),
            (Err(Refused::Unknown), _) if !self.is_still(seen) => false,
            (Err(Refused::Unknown), _) => {
                renameat(folder, new.as_os_str(), folder, file)
                    .map_err(|errno| self.failed("replace", errno))?;
                true
            }
        };
        self.sync();
        Ok(put)
    }

    fn remove(&self, seen: Option<&Found>) -> Result<bool, HookError> {
        let (Some(folder), Some(seen)) = (&self.folder, seen) else { return Ok(true) };
        self.may_change(Some(seen))?;
        let (beside, file) = (self.unfinished(), self.target.file.as_os_str());
        self.remove_unfinished();
        match rename_to_free(folder, file, &beside) {
            Ok(()) if self.is_beside(&seen.bytes) => self.remove_unfinished(),
            Ok(()) => {
                let _newer_one_there = rename_to_free(folder, &beside, file);
                return Ok(false);
            }
            Err(Refused::Taken) => return Ok(false),
            Err(Refused::Failed(errno)) => return Err(self.failed("remove", errno)),
            Err(Refused::Unknown) if !self.is_still(Some(seen)) => return Ok(false),
            Err(Refused::Unknown) => match unlinkat(folder, file, UnlinkatFlags::NoRemoveDir) {
                Ok(()) | Err(Errno::ENOENT) => {}
                Err(errno) => return Err(self.failed("remove", errno)),
            },
        }
        self.sync();
        Ok(true)
    }

    /// Whether what is beside the file has this content.
    fn is_beside(&self, bytes: &[u8]) -> bool {
        let found = self.read_named(&self.unfinished());
        matches!(found, Ok(Some(found)) if found.bytes == bytes)
    }

    /// What a write that was broken off left beside the file.
    pub(super) fn remove_unfinished(&self) {
        if let Some(folder) = &self.folder {
            let new = self.unfinished();
            let _none = unlinkat(folder, new.as_os_str(), UnlinkatFlags::NoRemoveDir);
        }
    }

    fn unfinished(&self) -> OsString {
        let mut name = OsString::from(".");
        name.push(&self.target.file);
        name.push(".stablehand-new");
        name
    }

    /// A file of somebody else's, or one that its owner has locked against changes, is refused even
    /// where the folder would let us.
    fn may_change(&self, seen: Option<&Found>) -> Result<(), HookError> {
        let Some(Found { stat, .. }) = seen else { return Ok(()) };
        let us = geteuid();
        let owned = us.is_root() || stat.st_uid == us.as_raw();
        if owned && stat.st_mode & 0o200 != 0 {
            return Ok(());
        }
        Err(HookError::NotOurs { path: self.path() })
    }

    /// Whether the file is the one that was read.
    fn is_still(&self, seen: Option<&Found>) -> bool {
        let Some(folder) = &self.folder else { return seen.is_none() };
        let now = fstatat(folder, self.target.file.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW);
        let stamp = |stat: &FileStat| {
            let changed = (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
            (stat.st_dev, stat.st_ino, stat.st_size, changed)
        };
        match (now, seen) {
            (Ok(now), Some(seen)) => stamp(&now) == stamp(&seen.stat),
            (Err(Errno::ENOENT), None) => true,
            _ => false,
        }
    }

    fn sync(&self) {
        // Some file systems cannot; then there is nothing more to be done.
        let _synced_as_far_as_possible = self.folder.as_ref().map(fsync);
    }

    fn failed(&self, doing: &'static str, errno: Errno) -> HookError {
        HookError::Io { doing, path: self.path(), source: io::Error::from(errno) }
    }
}
