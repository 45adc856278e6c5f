//! Storage that fails while an agent runs: each case ends by itself, in bounded time, and says what it
//! lost.

mod broken;
mod full;
mod moved;
mod output;

use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, unshare};
use stablehand_testkit::TestEnv;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const NO_MOUNT: &str =
    "a disk that fails needs the right to mount; run the tests as root for this one";

/// Lets this thread, and what it starts, mount what others do not see.
fn private_mounts() -> bool {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS).is_ok()
        && mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).is_ok()
}

/// An ext4 file system in a file, which only this thread and what it starts can see.
struct LoopDisk {
    path: PathBuf,
    /// The small file system that the file is in, where there is one.
    below: Option<PathBuf>,
}

impl LoopDisk {
    /// None where the machine does not let us.
    fn mount(env: &TestEnv) -> Option<LoopDisk> {
        private_mounts().then(|| LoopDisk::on(env, &env.path("disk.img"), None))?
    }

    /// A disk that takes more than it can keep: the kernel notices when it writes its pages back.
    fn overbooked(env: &TestEnv) -> Option<LoopDisk> {
        if !private_mounts() {
            return None;
        }
        let below = env.path("below");
        std::fs::create_dir(&below).unwrap();
        let size = Some("size=2m");
        mount(Some("tmpfs"), &below, Some("tmpfs"), MsFlags::empty(), size).ok()?;
        LoopDisk::on(env, &below.join("disk.img"), Some(below))
    }

    fn on(env: &TestEnv, image: &Path, below: Option<PathBuf>) -> Option<LoopDisk> {
        let path = env.path("disk");
        std::fs::create_dir(&path).unwrap();
        std::fs::File::create(image).unwrap().set_len(24 << 20).unwrap();
        let journal = if below.is_some() { "^has_journal" } else { "has_journal" };
        let made = is_done("mkfs.ext4", &["-q", "-F", "-O", journal], image)
            && is_done("mount", &["-o", "loop", image.to_str().unwrap()], &path);
        let disk = LoopDisk { path, below };
        made.then_some(disk)
    }

    fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// The kernel makes it read-only, as after an error that it found.
    fn make_read_only(&self) -> bool {
        is_done("mount", &["-o", "remount,abort"], &self.path)
    }

    /// Nothing can be read or written any more (`EXT4_IOC_SHUTDOWN`).
    fn shut_down(&self) -> bool {
        const PROGRAM: &str = "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack('I', 2))";
        is_done("python3", &["-c", PROGRAM], &self.path)
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        let _ = umount(&self.path);
        if let Some(below) = &self.below {
            let _ = umount(below);
        }
    }
}

fn is_done(program: &str, args: &[&str], last: &Path) -> bool {
    let mut command = Command::new(program);
    let command = command.args(args).arg(last).stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Processor time that a process has used so far.
fn cpu_ms(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<u64> =
        after_name.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    // The first field, the state, is no number; `utime` and `stime` are the 14th and 15th of all.
    fields.get(10..12).map_or(0, |times| times.iter().sum::<u64>() * 10)
}
