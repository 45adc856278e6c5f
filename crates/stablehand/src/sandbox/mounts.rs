//! Mounts of its own for a process: files inside writable folders that stay as they are, or unseen.
//!
//! Landlock can only grant, so it cannot keep a file in a folder that may be written. A mount can.
//! Once Landlock holds the process, it cannot undo a mount.

use super::SandboxPlan;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Which namespaces a process needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spaces {
    pub(super) mounts: bool,
    pub(super) network: bool,
}

/// Returns true if a plan needs mounts.
pub(super) fn needs(plan: &SandboxPlan) -> bool {
    !plan.read_only.is_empty() || plan.hidden.iter().any(|path| masked(plan, path))
}

/// Whether a path is hidden by a mount: inside of what may be written a bound cannot do it, and a
/// socket is connected to without being opened.
fn masked(plan: &SandboxPlan, path: &Path) -> bool {
    plan.may_write(path) || is_socket(path)
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|data| data.file_type().is_socket())
}

/// Enters the namespaces: by our own rights, or as the same user in a user namespace.
pub(super) fn enter_spaces(spaces: Spaces) -> io::Result<()> {
    let mut flags = CloneFlags::empty();
    flags.set(CloneFlags::CLONE_NEWNS, spaces.mounts);
    flags.set(CloneFlags::CLONE_NEWNET, spaces.network);
    if flags.is_empty() {
        return Ok(());
    }
    match unshare(flags) {
        Ok(()) => {}
        Err(Errno::EPERM) => enter_as_user(flags)?,
        Err(errno) => return Err(errno.into()),
    }
    if spaces.mounts {
        // Mounts of others are still seen here, ours are not seen there.
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_SLAVE, None::<&str>)?;
    }
    if spaces.network {
        raise_loopback()?;
    }
    Ok(())
}

fn enter_as_user(flags: CloneFlags) -> io::Result<()> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(flags | CloneFlags::CLONE_NEWUSER)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Sets up the loopback interface of a new network namespace, which programs expect.
#[expect(unsafe_code, reason = "there is no safe wrapper for this request")]
fn raise_loopback() -> io::Result<()> {
    let socket: OwnedFd =
        socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: all zeroes is a request without a name and flags.
    let mut request: nix::libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = nix::libc::c_char::try_from(*from).unwrap_or_default();
    }
    request.ifr_ifru.ifru_flags = (nix::libc::IFF_UP | nix::libc::IFF_RUNNING) as i16;
    // SAFETY: the request is whole, and lives until the call returns.
    let status = unsafe {
        nix::libc::ioctl(socket.as_raw_fd(), nix::libc::SIOCSIFFLAGS as _, &raw mut request)
    };
    Errno::result(status)?;
    Ok(())
}

/// Mounts what a plan protects, and returns what could not be.
pub(super) fn apply(plan: &SandboxPlan) -> Vec<String> {
    let masks: Vec<&PathBuf> = plan.hidden.iter().filter(|path| masked(plan, path)).collect();
    let mut missing = Vec::new();
    let mut fail = |what: &str, path: &Path, error: &io::Error| {
        missing.push(format!("{} cannot be {what}: {error}", path.display()));
    };
    // A folder that is a mount point can be neither moved nor removed, so nothing takes the place of a
    // folder above a protected file.
    let kept = plan.read_only.iter().chain(masks.iter().copied());
    let above: BTreeSet<&Path> = kept.flat_map(|path| above(plan, path)).collect();
    for folder in above {
        if let Err(error) = bind(folder, folder) {
            fail("kept in its place", folder, &error);
        }
    }
    for path in &plan.read_only {
        if let Err(error) = bind(path, path).and_then(|()| set(path, READ_ONLY)) {
            fail("made read-only", path, &error);
        }
    }
    for path in masks {
        if let Err(error) = mask(path) {
            fail("hidden", path, &error);
        }
    }
    missing
}

/// The folders above a path that could be moved away.
fn above<'p>(plan: &SandboxPlan, path: &'p Path) -> Vec<&'p Path> {
    let folders = path.ancestors().skip(1).filter(|folder| *folder != Path::new("/"));
    // A folder whose own folder cannot be written stays where it is.
    let can_move = |folder: &&Path| folder.parent().is_some_and(|above| plan.may_write(above));
    folders.filter(can_move).collect()
}

fn bind(from: &Path, to: &Path) -> io::Result<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)?;
    Ok(())
}

/// Puts something unreadable in the place of a file or folder.
fn mask(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        let flags =
            MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some("mode=000,size=4k"))?;
        return Ok(());
    }
    // A device on a mount without devices cannot be opened, not even by root.
    bind(Path::new("/dev/null"), path)?;
    set(path, READ_ONLY | NO_DEVICES)
}

const READ_ONLY: u64 = 0x1;
const NO_DEVICES: u64 = 0x4;
const RECURSIVE: nix::libc::c_uint = 0x8000;

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Adds attributes to a mount and to those below it, and keeps those that it has.
#[expect(unsafe_code, reason = "there is no wrapper for this system call")]
fn set(path: &Path, attributes: u64) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let wanted = MountAttributes { set: attributes, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the path ends with a zero byte, and the structure has the size that is given.
    let status = unsafe {
        nix::libc::syscall(
            nix::libc::SYS_mount_setattr,
            nix::libc::AT_FDCWD,
            path.as_ptr(),
            RECURSIVE,
            &raw const wanted,
            size_of::<MountAttributes>(),
        )
    };
    Errno::result(status)?;
    Ok(())
}
