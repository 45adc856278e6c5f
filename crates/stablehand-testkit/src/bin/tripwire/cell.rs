//! The cell: a chroot in namespaces of its own, and the wires that a command can trip.
//!
//! Root and `/usr` are overlays, so everything that is written lands in a folder that was empty; the
//! network has only a loopback, and the kernel counts what is tried there. The process is the first of
//! its namespace: it ends whatever a command leaves behind.

use nix::mount::{MsFlags, mount};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, chdir, chroot};
use std::fmt;
use std::fs::{self, File};
use std::io::{PipeReader, Read, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// In the files that the policy keeps secret, on every line.
pub(super) const SECRET: &str = "S3CRETMARK";

/// Longer than anything that only reads a small tree.
const LIMIT: Duration = Duration::from_millis(300);
/// For the work that makes the cell, on a busy machine.
const LONG: Duration = Duration::from_secs(20);
/// More output is not read: the command is ended.
const MOST_OUTPUT: usize = 1 << 20;

/// What a command did that it must not.
#[derive(Debug)]
pub(super) enum Trip {
    Wrote(String),
    Connected(String),
    Secret,
}

impl fmt::Display for Trip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trip::Wrote(path) => write!(f, "wrote {path}"),
            Trip::Connected(counter) => write!(f, "used the network ({counter})"),
            Trip::Secret => f.write_str("printed a secret"),
        }
    }
}

/// A command that ran.
pub(super) struct Done {
    pub(super) trip: Option<Trip>,
    pub(super) text: String,
}

/// The cell, entered.
pub(super) struct Cell {
    /// What is written to `/` and to `/usr` lands here.
    uppers: [(&'static str, File); 2],
    counters: String,
    /// Paths that were seen to be written, and are no news.
    known: Vec<String>,
}

impl Cell {
    /// Builds the cell and goes into it for good.
    pub(super) fn enter() -> Result<Cell, String> {
        let base = std::env::temp_dir();
        let at = |what: &str| base.join(what);
        // Before the folder of temporary files is covered: the program for it may lie there.
        bring_up_loopback()?;
        mount_on("tmpfs", &base, "")?;
        for folder in ["scratch", "upper", "work", "upper-usr", "work-usr", "root"] {
            make(&at(folder))?;
        }
        fill(&at("scratch"))?;
        overlay(&at("scratch"), &at("upper"), &at("work"), &at("root"))?;
        overlay(Path::new("/usr"), &at("upper-usr"), &at("work-usr"), &at("root/usr"))?;
        mount_on("proc", &at("root/proc"), "")?;
        for device in ["null", "zero", "urandom"] {
            let (from, to) = (Path::new("/dev").join(device), at("root/dev").join(device));
            let none: Option<&str> = None;
            mount(Some(&from), &to, none, MsFlags::MS_BIND, none)
                .map_err(|error| format!("cannot bind {}: {error}", from.display()))?;
        }
        let open = |what: &str| File::open(at(what)).map_err(|error| error.to_string());
        let uppers = [("/", open("upper")?), ("/usr/", open("upper-usr")?)];
        chroot(&at("root")).map_err(|error| format!("cannot chroot: {error}"))?;
        chdir("/w").map_err(|error| error.to_string())?;
        let mut cell = Cell { uppers, counters: String::new(), known: Vec::new() };
        cell.prepare()?;
        Ok(cell)
    }

    /// Makes the repository, and takes what is there now for what belongs there.
    fn prepare(&mut self) -> Result<(), String> {
        let script = "git init -q -b main && git add -A && git commit -q -m first && \
                      echo two >> a.txt && git commit -q -a -m second && git branch other && git tag v1 && \
                      echo three >> a.txt && git stash -q && git status >/dev/null";
        let text = run("bash", script, LONG).unwrap_or_default();
        let exists = Path::new("/w/.git/refs/stash").exists();
        self.forget();
        if exists { Ok(()) } else { Err(format!("git cannot make a repository: {text}")) }
    }

    /// Takes everything that was written until now for known.
    pub(super) fn forget(&mut self) {
        self.known = self.written();
        self.counters = counters();
    }

    /// Runs a command by a shell, ends what it leaves behind, and looks at the wires.
    pub(super) fn run(&mut self, shell: &str, command: &str) -> Done {
        let text = run(shell, command, LIMIT).unwrap_or_default();
        let now = counters();
        let trip = if now == self.counters {
            self.written().into_iter().find(|path| !self.known.contains(path)).map(Trip::Wrote)
        } else {
            let changed = now.lines().zip(self.counters.lines()).find(|(new, old)| new != old);
            Some(Trip::Connected(changed.map(|(new, _)| new.to_owned()).unwrap_or_default()))
        };
        Done { trip, text }
    }

    /// Every path in the upper folders, with its size and the time of its last change.
    fn written(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (prefix, folder) in &self.uppers {
            let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
            walk(Path::new(&path), prefix, &mut found);
        }
        found
    }
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(data) = entry.metadata() else { continue };
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let (time, nanos) = (data.ctime(), data.ctime_nsec());
        if data.is_dir() {
            // A folder that was changed, or a new one. A shell's own files come and go in /tmp.
            if name != "/tmp" {
                found.push(format!("{name}/ {time}.{nanos}"));
            }
            walk(&entry.path(), &format!("{name}/"), found);
        } else {
            found.push(format!("{name} {} bytes {time}.{nanos}", data.size()));
        }
    }
}

/// What the kernel counts of connections and datagrams, tried ones too.
fn counters() -> String {
    let mut lines = Vec::new();
    let snmp = fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    let all: Vec<&str> = snmp.lines().collect();
    for pair in all.chunks(2) {
        let [names, values] = pair else { continue };
        for (name, value) in names.split(' ').zip(values.split(' ')) {
            if matches!(name, "ActiveOpens" | "OutDatagrams" | "OutNoRoutes" | "OutMsgs") {
                lines.push(format!(
                    "{} {name} {value}",
                    names.split(':').next().unwrap_or_default()
                ));
            }
        }
    }
    let snmp6 = fs::read_to_string("/proc/net/snmp6").unwrap_or_default();
    let wanted = ["Udp6OutDatagrams", "Ip6OutNoRoutes", "Icmp6OutEchos"];
    let is_wanted =
        |line: &&str| line.split_whitespace().next().is_some_and(|it| wanted.contains(&it));
    lines.extend(snmp6.lines().filter(is_wanted).map(str::to_owned));
    lines.join("\n")
}

fn run(shell: &str, command: &str, limit: Duration) -> std::io::Result<String> {
    let (from, to) = pipe()?;
    let mut shell = Command::new(shell);
    shell.arg("-c").arg(command).current_dir("/w").env_clear().process_group(0);
    shell.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/home/u").env("LANG", "C.UTF-8");
    // An index that is refreshed is no work of the command's.
    shell.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_CONFIG_NOSYSTEM", "1").env("TERM", "dumb");
    shell.stdin(Stdio::null()).stdout(to.try_clone()?).stderr(to);
    let mut child = shell.spawn()?;
    // It holds the other ends of the pipe.
    drop(shell);
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || tell.send(read(from)));
        let in_time = told.recv_timeout(limit);
        // Everything in this namespace but ourselves.
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
        let _ = child.wait();
        while waitpid(Pid::from_raw(-1), None).is_ok() {}
        Ok(in_time.or_else(|_| told.recv()).unwrap_or_default())
    })
}

fn read(mut from: PipeReader) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8192];
    while bytes.len() < MOST_OUTPUT {
        match from.read(&mut chunk) {
            Ok(count @ 1..) => bytes.extend(chunk.iter().take(count)),
            Ok(0) | Err(_) => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

fn mount_on(kind: &str, target: &Path, options: &str) -> Result<(), String> {
    mount(Some(kind), target, Some(kind), MsFlags::empty(), Some(options))
        .map_err(|error| format!("cannot mount {kind} on {}: {error}", target.display()))
}

fn overlay(lower: &Path, upper: &Path, work: &Path, target: &Path) -> Result<(), String> {
    let [lower, upper, work] = [lower, upper, work].map(Path::display);
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr");
    mount_on("overlay", target, &options)
}

/// By a program that has the two system calls for it.
fn bring_up_loopback() -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let beside: PathBuf = this.with_file_name("lo-up");
    let failed = |error| format!("cannot start {}: {error}", beside.display());
    let status = Command::new(&beside).status().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(format!("{} failed", beside.display())) }
}

/// The files of the cell: a workspace with bait in it, and a home with secrets.
fn fill(root: &Path) -> Result<(), String> {
    let folders =
        ["w/src", "w/docs", "w/bin", "home/u/.ssh", "etc", "tmp", "usr", "proc", "dev", "var/tmp"];
    for folder in folders {
        make(&root.join(folder))?;
    }
    let secret = format!("{SECRET} one\n{SECRET} two\n{SECRET} three\n");
    let run = "#!/bin/sh\ntouch /w/ran\n";
    let files: &[(&str, &str)] = &[
        ("w/a.txt", "one\ntwo\n"),
        ("w/touch ran", "touch ran\n"),
        ("w/src/lib.rs", "fn main() {}\n"),
        ("w/docs/a.md", "# A\n"),
        ("w/names", "a.txt\0src/lib.rs\0"),
        ("w/data.json", "{\"a\": [1, 2, {\"b\": \"touch ran\"}]}\n"),
        ("w/evil.sed", "1e touch ran\n1w ran\n"),
        ("w/evil.awk", "BEGIN { system(\"touch ran\") }\n"),
        ("w/evil.sh", run),
        ("w/bin/git", run),
        ("w/bin/ls", run),
        ("w/bin/cat", run),
        // What is in the history can be read from there, whatever rules say of the path.
        ("w/.gitignore", ".env\n"),
        ("w/.env", &secret),
        ("w/src/.env", &secret),
        ("home/u/.ssh/id_rsa", &secret),
        ("home/u/.ssh/config", &secret),
        ("home/u/.gitconfig", "[user]\nname = u\nemail = u@host\n"),
        ("etc/passwd", "root:x:0:0:root:/home/u:/bin/sh\nu:x:1000:1000:u:/home/u:/bin/sh\n"),
        ("etc/group", "root:x:0:\nu:x:1000:\n"),
        ("etc/hosts", "127.0.0.1 localhost\n"),
        ("etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
        ("dev/null", ""),
        ("dev/zero", ""),
        ("dev/urandom", ""),
    ];
    for (name, text) in files {
        let path = root.join(name);
        fs::write(&path, text).map_err(|error| format!("cannot write {name}: {error}"))?;
        let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .map_err(|it| it.to_string())?;
    }
    let links = [
        ("/home/u/.ssh", "w/out"),
        ("..", "w/up"),
        (".env", "w/plain"),
        ("/proc/self/fd", "dev/fd"),
        ("/proc/self/fd/0", "dev/stdin"),
        ("/proc/self/fd/1", "dev/stdout"),
        ("/proc/self/fd/2", "dev/stderr"),
    ];
    for (target, name) in links {
        symlink(target, root.join(name)).map_err(|error| format!("cannot link {name}: {error}"))?;
    }
    // As this system has them: links into /usr on most.
    for name in ["bin", "sbin", "lib", "lib64", "lib32"] {
        if let Ok(target) = fs::read_link(Path::new("/").join(name)) {
            symlink(target, root.join(name)).map_err(|error| error.to_string())?;
        }
    }
    for name in ["etc/alternatives", "etc/ld.so.cache", "etc/magic"] {
        copy(&Path::new("/").join(name), &root.join(name));
    }
    Ok(())
}

/// Copies a file, or a folder of links; what cannot be had is left out.
fn copy(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else {
        let _ = fs::copy(from, to);
        return;
    };
    let _ = fs::create_dir(to);
    for entry in entries.flatten() {
        if let Ok(target) = fs::read_link(entry.path()) {
            let _ = symlink(target, to.join(entry.file_name()));
        }
    }
}
