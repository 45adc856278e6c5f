//! A cgroup (version 2) of its own for the agent, where the system lets us make one.
//!
//! `cgroup.kill` ends every process in it at once, which no scan of the process table can. It is an
//! upgrade and never a requirement: every failure here is silent, because the keeper's own loop
//! runs as well and its `waitpid` is the proof. This file makes, kills and removes the cgroup; who
//! is put into it and when it is killed is the keeper's business.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So often removal is tried, a tenth of a second in all.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// How deep below our cgroup we look for folders to remove. A nested run makes one level each.
const MAX_DEPTH: u32 = 8;

/// The cgroup of one run.
#[derive(Debug)]
pub(crate) struct Cgroup {
    folder: PathBuf,
    procs: File,
}

impl Cgroup {
    /// Makes a child of our own cgroup, if there is a version 2 hierarchy that we may write to.
    pub(crate) fn create() -> Option<Cgroup> {
        let own = own_path(&fs::read_to_string("/proc/self/cgroup").ok()?)?;
        let parent = find_folder(&own, &fs::read_to_string("/proc/self/mountinfo").ok()?)?;
        let folder = parent.join(format!("stablehand-{}", std::process::id()));
        // A run whose keeper was killed may have left a folder under our number.
        remove_tree(&folder, MAX_DEPTH);
        fs::create_dir(&folder).ok()?;
        // Without `cgroup.kill` (before Linux 5.14) the cgroup would be of no use.
        let opened = folder
            .join("cgroup.kill")
            .exists()
            .then(|| OpenOptions::new().write(true).open(folder.join("cgroup.procs")).ok());
        if let Some(procs) = opened.flatten() {
            Some(Cgroup { folder, procs })
        } else {
            remove_tree(&folder, 0);
            None
        }
    }

    /// Where a process writes `0` to move itself into the cgroup.
    pub(crate) fn entrance(&self) -> BorrowedFd<'_> {
        self.procs.as_fd()
    }

    /// The cgroup's folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Kills everything in it.
    pub(crate) fn kill(&self) {
        kill(&self.folder);
    }

    /// Removes it. Only works once it is empty.
    pub(crate) fn remove(self) {
        remove(&self.folder);
    }
}

/// Kills everything in the cgroup at `folder`.
pub(crate) fn kill(folder: &Path) {
    // Silent, as the module's doc says.
    let _killed = OpenOptions::new()
        .write(true)
        .open(folder.join("cgroup.kill"))
        .and_then(|mut file| file.write_all(b"1"));
}

/// Removes the empty cgroup at `folder`, and those that nested runs left in it.
pub(crate) fn remove(folder: &Path) {
    // Whoever was reaped a moment ago may still be on its last switch, and is then counted.
    for _ in 0..TRIES {
        remove_tree(folder, MAX_DEPTH);
        if !folder.exists() {
            return;
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
}

fn remove_tree(folder: &Path, depth: u32) {
    if depth > 0 {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_tree(&entry.path(), depth - 1);
            }
        }
    }
    // The files in a cgroup vanish with it, and a populated one refuses.
    let _removed = fs::remove_dir(folder);
}

/// Our own path in the version 2 hierarchy, from the text of `/proc/self/cgroup`.
fn own_path(text: &str) -> Option<String> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    // A path that leads out of our cgroup namespace, or to a removed cgroup, cannot be reached.
    let reachable = path.starts_with('/')
        && !path.split('/').any(|part| part == "..")
        && !path.ends_with(" (deleted)");
    reachable.then(|| path.to_owned())
}

/// The folder that shows cgroup `own`, from the text of `/proc/self/mountinfo`. On hybrid systems
/// the version 2 hierarchy is mounted below the old ones.
fn find_folder(own: &str, mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let root = unescape(fields.next()?);
        let point = unescape(fields.next()?);
        let below = Path::new(own).strip_prefix(&root).ok()?;
        Some(Path::new(&point).join(below))
    })
}

/// Undoes the octal escapes of `mountinfo` (space, tab, newline, backslash).
fn unescape(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(field.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_our_path_among_the_old_hierarchies() {
        let text = "4:memory:/box\n1:name=systemd:/\n0::/user.slice/a.scope\n";
        assert_eq!(own_path(text).as_deref(), Some("/user.slice/a.scope"));
        assert_eq!(own_path("4:memory:/box\n"), None);
        assert_eq!(own_path("0::/../outside\n"), None);
        assert_eq!(own_path("0::/gone (deleted)\n"), None);
    }

    #[test]
    fn finds_the_folder_on_plain_hybrid_and_container_mounts() {
        let old = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let hybrid = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        assert_eq!(
            find_folder("/a/b", &format!("{old}{hybrid}")),
            Some(PathBuf::from("/sys/fs/cgroup/unified/a/b"))
        );
        let container = "9 8 0:26 /docker/1 /my\\040mount ro shared:4 - cgroup2 cgroup rw\n";
        assert_eq!(find_folder("/docker/1/x", container), Some(PathBuf::from("/my mount/x")));
        assert_eq!(find_folder("/elsewhere", container), None);
        assert_eq!(find_folder("/", old), None);
    }
}
