//! Renames that lose nothing: two names exchanged, or a name that must be free.
//!
//! Between a look at a file and a plain rename over it somebody may have saved it. With these, what
//! was there is still there afterwards and can be looked at. Where the system or the file system has
//! no such thing, they say so and the caller looks first, as well as it can.

use nix::errno::Errno;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;

/// What can be said of a rename that was not done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// There is no such rename here.
    Unknown,
    /// A name is missing, or not free.
    Taken,
    /// Something else.
    Failed(Errno),
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Refused {
        match errno {
            Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP => Refused::Unknown,
            Errno::EEXIST | Errno::ENOENT => Refused::Taken,
            errno => Refused::Failed(errno),
        }
    }
}

/// Lets two files in a folder change their names.
pub(super) fn exchange(folder: &OwnedFd, one: &OsStr, other: &OsStr) -> Result<(), Refused> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use nix::fcntl::{RenameFlags, renameat2};
        Ok(renameat2(folder, one, folder, other, RenameFlags::RENAME_EXCHANGE)?)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        let _unused = (folder, one, other);
        Err(Refused::Unknown)
    }
}

/// Gives a file in a folder a name that nobody has.
pub(super) fn rename_to_free(folder: &OwnedFd, from: &OsStr, to: &OsStr) -> Result<(), Refused> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use nix::fcntl::{RenameFlags, renameat2};
        Ok(renameat2(folder, from, folder, to, RenameFlags::RENAME_NOREPLACE)?)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        let _unused = (folder, from, to);
        Err(Refused::Unknown)
    }
}
