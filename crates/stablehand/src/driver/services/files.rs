//! Files for an agent: read and written where they really are, whatever is moved about meanwhile.
//!
//! A path is resolved once; from then on it is walked folder by folder without following a link, so
//! that what was judged is what is opened. Whether a place may be touched is the caller's question.

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, openat, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// So much of a file is read at the most: it goes to the agent in one line, and into the log.
pub(super) const MOST_READ: u64 = 8 << 20;

/// Only for walking through.
#[cfg(target_os = "linux")]
const THROUGH: OFlag = OFlag::O_PATH;
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlag = OFlag::O_RDONLY;

/// Why a file was not read or written.
#[derive(Debug, Error)]
pub(super) enum FileError {
    #[error("there is no file `{}`", .0.display())]
    Missing(PathBuf),
    #[error("`{}` is not absolute", .0.display())]
    NotAbsolute(PathBuf),
    #[error("`{}` is no regular file", .0.display())]
    NotAFile(PathBuf),
    #[error("`{}` is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error(
        "more than {} MiB of `{}` were asked for; ask for fewer lines",
        MOST_READ >> 20, .0.display()
    )]
    TooLarge(PathBuf),
    #[error("failed to {doing} `{}`: {source}", place.display())]
    System { doing: &'static str, place: PathBuf, source: io::Error },
}

/// Where a path leads, without links; what of it is not there yet stays as it is.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, FileError> {
    if !path.is_absolute() {
        return Err(FileError::NotAbsolute(path.to_owned()));
    }
    let mut there = path;
    let mut missing = Vec::new();
    loop {
        match there.canonicalize() {
            Ok(mut place) => {
                place.extend(missing.iter().rev());
                return Ok(place);
            }
            Err(source) => {
                let name = match there.components().next_back() {
                    Some(Component::Normal(name)) if source.kind() == io::ErrorKind::NotFound => {
                        name
                    }
                    // Up from where nothing is leads nowhere.
                    _ => return Err(system("find", path)(source)),
                };
                missing.push(name.to_owned());
                there = there.parent().unwrap_or(Path::new("/"));
            }
        }
    }
}

/// The text at a place that was resolved: all of it, or some of its lines.
pub(super) fn read(
    place: &Path,
    line: Option<u64>,
    limit: Option<u64>,
) -> Result<String, FileError> {
    let (folder, name) = walk(place, false)?;
    // Not blocking: whoever puts a pipe there must not have us wait for a writer.
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = openat(&folder, name, flags, Mode::empty());
    let file = File::from(file.map_err(|errno| found("read", place, errno))?);
    let about = file.metadata().map_err(system("read", place))?;
    if !about.is_file() {
        return Err(FileError::NotAFile(place.to_owned()));
    }
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    let skipped = line.unwrap_or(1).saturating_sub(1);
    if skipped == 0 && limit.is_none() {
        let read = reader.take(MOST_READ + 1).read_to_end(&mut bytes);
        read.map_err(system("read", place))?;
    } else {
        for _ in 0..skipped {
            if reader.skip_until(b'\n').map_err(system("read", place))? == 0 {
                break;
            }
        }
        for _ in 0..limit.unwrap_or(u64::MAX) {
            let mut next = (&mut reader).take(MOST_READ + 1);
            let more = next.read_until(b'\n', &mut bytes).map_err(system("read", place))?;
            if more == 0 || bytes.len() as u64 > MOST_READ {
                break;
            }
        }
    }
    if bytes.len() as u64 > MOST_READ {
        return Err(FileError::TooLarge(place.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| FileError::NotText(place.to_owned()))
}

/// Puts a text at a place that was resolved. Whoever reads meanwhile sees the old one or the new one;
/// the file keeps its mode. Folders that are missing are made.
pub(super) fn write(place: &Path, content: &str) -> Result<(), FileError> {
    let (folder, name) = walk(place, true)?;
    // Opened for writing, so that a file which may not be written is not replaced, either.
    let flags = OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let before = match openat(&folder, name, flags, Mode::empty()) {
        Ok(file) => Some(File::from(file).metadata().map_err(system("write", place))?),
        Err(Errno::ENOENT) => None,
        Err(Errno::EISDIR | Errno::ENXIO) => return Err(FileError::NotAFile(place.to_owned())),
        // A link that leads nowhere; or one that was put there since.
        Err(errno) => return Err(found("write", place, errno)),
    };
    if before.as_ref().is_some_and(|about| !about.is_file()) {
        return Err(FileError::NotAFile(place.to_owned()));
    }
    let written = if before.as_ref().is_some_and(|about| about.nlink() > 1) {
        // It has other names, which mean the same file.
        write_in_place(&folder, name, content)
    } else {
        replace(&folder, name, before.as_ref(), content)
    };
    written.map_err(system("write", place))
}

fn write_in_place(folder: &OwnedFd, name: &Path, content: &str) -> io::Result<()> {
    let flags = OFlag::O_WRONLY | OFlag::O_TRUNC | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut file = File::from(openat(folder, name, flags, Mode::empty())?);
    file.write_all(content.as_bytes())
}

fn replace(
    folder: &OwnedFd,
    name: &Path,
    before: Option<&Metadata>,
    content: &str,
) -> io::Result<()> {
    let beside = format!(".{}.stablehand-{}", name.display(), std::process::id());
    // A name may be as long as names can be.
    let beside = beside.get(beside.len().saturating_sub(200)..).unwrap_or(".stablehand-new");
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let _left_by_one_that_was_killed = unlinkat(folder, beside, UnlinkatFlags::NoRemoveDir);
    let mode = Mode::from_bits_truncate(0o666);
    let mut file = File::from(openat(folder, beside, flags, mode)?);
    let whole = file.write_all(content.as_bytes()).and_then(|()| match before {
        Some(about) => file.set_permissions(Permissions::from_mode(about.mode() & 0o7777)),
        None => Ok(()),
    });
    let whole = whole.and_then(|()| Ok(renameat(folder, beside, folder, name)?));
    if whole.is_err() {
        let _gone = unlinkat(folder, beside, UnlinkatFlags::NoRemoveDir);
    }
    whole
}

/// The folder of a place and its name in there, reached without following a link.
fn walk(place: &Path, makes: bool) -> Result<(OwnedFd, &Path), FileError> {
    let name = place.file_name().ok_or_else(|| FileError::NotAFile(place.to_owned()))?;
    let flags = THROUGH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let doing = if makes { "write" } else { "read" };
    let failed = |errno| found(doing, place, errno);
    let mut folder = openat(AT_FDCWD, "/", flags, Mode::empty()).map_err(failed)?;
    for part in place.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = part else { continue };
        let next = match openat(folder.as_fd(), part, flags, Mode::empty()) {
            Err(Errno::ENOENT) if makes => {
                match mkdirat(&folder, part, Mode::from_bits_truncate(0o777)) {
                    Ok(()) | Err(Errno::EEXIST) => {}
                    Err(errno) => return Err(failed(errno)),
                }
                openat(folder.as_fd(), part, flags, Mode::empty())
            }
            next => next,
        };
        folder = next.map_err(failed)?;
    }
    Ok((folder, Path::new(name)))
}

fn found(doing: &'static str, place: &Path, errno: Errno) -> FileError {
    match errno {
        Errno::ENOENT | Errno::ENOTDIR => FileError::Missing(place.to_owned()),
        errno => system(doing, place)(errno.into()),
    }
}

fn system(doing: &'static str, place: &Path) -> impl Fn(io::Error) -> FileError {
    let place = place.to_owned();
    move |source| FileError::System { doing, place: place.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    #[test]
    fn lines_are_counted_from_one() {
        let (_kept, folder) = folder();
        let file = folder.join("a.txt");
        fs::write(&file, "one\ntwo\nthree").unwrap();
        let table = [
            (None, None, "one\ntwo\nthree"),
            (Some(2), None, "two\nthree"),
            (None, Some(1), "one\n"),
            (Some(0), Some(2), "one\ntwo\n"),
            (Some(2), Some(1), "two\n"),
            (Some(9), Some(9), ""),
        ];
        for (line, limit, expected) in table {
            assert_eq!(read(&file, line, limit).unwrap(), expected, "{line:?} {limit:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let (_kept, folder) = folder();
        let error = |name: &str| read(&folder.join(name), None, None).unwrap_err().to_string();
        assert!(error("none").contains("there is no file"));
        fs::create_dir(folder.join("dir")).unwrap();
        assert!(error("dir").contains("no regular file"));
        fs::write(folder.join("bytes"), [0xff, 0xfe]).unwrap();
        assert!(error("bytes").contains("not UTF-8"));
        let large = File::create(folder.join("large")).unwrap();
        large.set_len(MOST_READ + 1).unwrap();
        assert!(error("large").contains("more than 8 MiB"));
        assert!(read(&folder.join("large"), Some(1), Some(1)).is_err(), "one line can be as long");
        nix::unistd::mkfifo(&folder.join("pipe"), Mode::from_bits_truncate(0o600)).unwrap();
        assert!(error("pipe").contains("no regular file"));
        assert!(resolve(Path::new("a/b")).is_err());
    }

    #[test]
    fn a_written_file_keeps_its_mode_and_its_other_names() {
        let (_kept, folder) = folder();
        let file = folder.join("run.sh");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o750)).unwrap();
        write(&file, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o750);
        fs::hard_link(&file, folder.join("other")).unwrap();
        write(&file, "newer").unwrap();
        assert_eq!(fs::read_to_string(folder.join("other")).unwrap(), "newer");
        write(&folder.join("x/y/z.txt"), "deep").unwrap();
        assert_eq!(fs::read_to_string(folder.join("x/y/z.txt")).unwrap(), "deep");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "nothing is left beside it");
    }

    #[test]
    fn a_link_is_resolved_once_and_never_followed_later() {
        let (_kept, folder) = folder();
        let (_kept_too, outside) = self::folder();
        fs::write(outside.join("secret"), "s").unwrap();
        symlink(&outside, folder.join("way")).unwrap();
        assert_eq!(resolve(&folder.join("way/secret")).unwrap(), outside.join("secret"));
        assert_eq!(resolve(&folder.join("way/new/file")).unwrap(), outside.join("new/file"));
        assert_eq!(resolve(&folder.join("a/../../x")).ok(), None);
        // As if it had been put there after the path was judged.
        assert!(read(&folder.join("way/secret"), None, None).is_err());
        assert!(write(&folder.join("way/mine"), "x").is_err() && !outside.join("mine").exists());
        symlink(outside.join("secret"), folder.join("file")).unwrap();
        assert!(read(&folder.join("file"), None, None).is_err());
        assert!(write(&folder.join("file"), "x").is_err());
        assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "s");
    }
}
