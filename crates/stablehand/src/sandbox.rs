//! The kernel's part of a policy: which files and ports a process and everything below it may touch.
//!
//! [`SandboxPlan`] says what is held, from the rules and from what is there. [`enter`] has the kernel
//! hold the calling process to it, for ever and for all its children: Landlock bounds what may be
//! written, read and connected to; mounts of its own keep files inside those bounds from being changed
//! or read. docs/sandbox.md says what that is worth.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod mounts;

use crate::policy_world::FileWorld;
use stablehand_policy::{Access, Bounds, Policy, World};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

/// Files and folders that a search for denied names looks at before it gives up.
const MOST_SEARCHED: usize = 50_000;

/// Devices that every program may write.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// What programs have to read in order to run.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/var/lib",
    "/var/cache",
];

/// Caches of tools in the home, and the files in them that other programs run or log in with.
const CACHES: &[(&str, &[&str])] = &[
    (".cache", &[]),
    (".npm", &[]),
    (".cargo", &["bin", "config", "config.toml", "credentials", "credentials.toml", "env"]),
    ("go/pkg", &[]),
    (".gradle", &["init.d", "init.gradle", "gradle.properties"]),
    (".m2", &["settings.xml", "settings-security.xml"]),
    (".pnpm-store", &[]),
    (".local/share/pnpm", &[]),
    (".local/share/uv", &[]),
    (".bun/install", &[]),
    (".yarn", &[]),
    (".nuget", &[]),
    (".deno", &["bin"]),
    (".ivy2", &[]),
    (".sbt", &[]),
    (".ccache", &[]),
];

/// Sockets of services that run programs outside of every sandbox.
const BROKERS: &[&str] = &[
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
];

/// Those of them that belong to one user, below the runtime folder.
const USER_BROKERS: &[&str] = &["bus", "systemd/private", "docker.sock", "podman/podman.sock"];

/// The folders around a workspace.
#[derive(Clone, Debug, Default)]
pub struct SandboxPlaces {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The folder of the user's sockets.
    pub runtime: Option<PathBuf>,
    /// Folders of temporary files.
    pub temporary: Vec<PathBuf>,
    /// Caches that variables name.
    pub caches: Vec<PathBuf>,
    /// Files and folders in which the agent keeps its own state.
    pub state: Vec<PathBuf>,
    /// Folders of ours, which stay as they are.
    pub ours: Vec<PathBuf>,
}

/// What the kernel holds a tree of processes to. Every path exists and has no links in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxPlan {
    /// What may be written; none is everything.
    pub write: Option<Vec<PathBuf>>,
    /// What may be read; none is everything.
    pub read: Option<Vec<PathBuf>>,
    /// What may not be read although it lies there.
    pub hidden: Vec<PathBuf>,
    /// What may not be changed although it lies in what may be written.
    pub read_only: Vec<PathBuf>,
    /// The TCP ports that may be connected to; none is every one.
    pub connect: Option<Vec<u16>>,
    /// What could not be planned, for a person.
    pub notes: Vec<String>,
}

/// What the system could not give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// One sentence for each part of the plan that is not held.
    pub missing: Vec<String>,
}

impl SandboxPlan {
    /// Plans what an agent's processes are held to under a policy.
    pub fn new(
        policy: &Policy,
        agent: &str,
        world: &FileWorld,
        places: &SandboxPlaces,
    ) -> SandboxPlan {
        let bounds = policy.bounds(agent, world);
        let workspace = Path::new(world.workspace());
        let mut notes = Vec::new();
        let mut guards: Vec<PathBuf> =
            policy.guarded(agent, world).into_iter().map(PathBuf::from).collect();
        guards.extend(places.ours.iter().cloned());
        let write = writable(&bounds, workspace, places, &mut guards);
        let read = (!bounds.reads_anywhere).then(|| readable(&bounds, workspace, places));
        let mut hidden = Vec::new();
        let mut seen = |path: &Path, access| {
            let text = path.to_str()?;
            policy.forbids(agent, access, text, world).map(|_| path.to_owned())
        };
        for path in bounds.denied.iter().map(PathBuf::from) {
            sort_denied(&path, &mut seen, &mut hidden, &mut guards);
        }
        if bounds.searches {
            search(workspace, &mut seen, &mut hidden, &mut guards, &mut notes);
        }
        if write.is_some() {
            let own = places.runtime.iter();
            let own = own.flat_map(|folder| USER_BROKERS.iter().map(|name| folder.join(name)));
            let sockets = BROKERS.iter().map(PathBuf::from).chain(own);
            let wanted: Vec<_> = bounds.write.iter().map(PathBuf::from).collect();
            hidden.extend(sockets.filter(|socket| !wanted.contains(socket)));
        }
        let write = write.as_deref().map(real);
        let in_reach = |path: &PathBuf| {
            write.as_ref().is_none_or(|roots| roots.iter().any(|root| path.starts_with(root)))
        };
        let hidden = real(&hidden);
        let is_hidden = |path: &PathBuf| hidden.iter().any(|hidden| path.starts_with(hidden));
        let mut read_only = real(&guards);
        read_only.retain(|path| in_reach(path) && !is_hidden(path));
        SandboxPlan {
            write,
            read: read.as_deref().map(real),
            read_only,
            connect: bounds.connect,
            notes,
            hidden,
        }
    }

    /// Returns true if there is nothing to hold.
    pub fn is_empty(&self) -> bool {
        self.write.is_none()
            && self.read.is_none()
            && self.connect.is_none()
            && self.hidden.is_empty()
            && self.read_only.is_empty()
    }

    /// Whether a path may be written as far as the roots go.
    #[cfg(target_os = "linux")]
    fn may_write(&self, path: &Path) -> bool {
        self.write.as_ref().is_none_or(|roots| roots.iter().any(|root| path.starts_with(root)))
    }
}

/// The folders that may be written, and what in them may not.
fn writable(
    bounds: &Bounds,
    workspace: &Path,
    places: &SandboxPlaces,
    guards: &mut Vec<PathBuf>,
) -> Option<Vec<PathBuf>> {
    if bounds.writes_anywhere {
        return None;
    }
    let mut roots: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
    roots.extend(places.temporary.iter().chain(&places.state).cloned());
    roots.extend(bounds.write.iter().map(PathBuf::from));
    if bounds.writes_workspace {
        roots.push(workspace.to_owned());
        for folder in git_folders(workspace) {
            guards.extend(["hooks", "config"].map(|name| folder.join(name)));
            roots.push(folder);
        }
        roots.extend(places.caches.iter().cloned());
        if let Some(home) = &places.home {
            for (cache, kept) in CACHES {
                roots.push(home.join(cache));
                guards.extend(kept.iter().map(|name| home.join(cache).join(name)));
            }
        }
    } else {
        // The workspace may lie in the folder of temporary files.
        guards.push(workspace.to_owned());
    }
    Some(roots)
}

fn readable(bounds: &Bounds, workspace: &Path, places: &SandboxPlaces) -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(PathBuf::from);
    let settings = bounds.read.iter().chain(&bounds.write).map(PathBuf::from);
    let around =
        places.temporary.iter().chain(&places.state).chain(&places.caches).chain(&places.ours);
    let homes = places.home.iter().flat_map(|home| CACHES.iter().map(|(name, _)| home.join(name)));
    let git = git_folders(workspace);
    let all = system.chain(settings).chain(around.cloned()).chain(homes).chain(git);
    all.chain([workspace.to_owned()]).collect()
}

/// The folders of git that belong to a workspace, also where it is a worktree or lies in a repository.
fn git_folders(workspace: &Path) -> Vec<PathBuf> {
    let Some(entry) =
        workspace.ancestors().map(|folder| folder.join(".git")).find(|it| it.exists())
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let own = if entry.is_dir() {
        entry
    } else {
        let text = std::fs::read_to_string(&entry).unwrap_or_default();
        let Some(path) = text.trim().strip_prefix("gitdir: ") else { return found };
        entry.parent().unwrap_or(workspace).join(path)
    };
    if let Ok(common) = std::fs::read_to_string(own.join("commondir")) {
        found.push(own.join(common.trim()));
    }
    found.push(own);
    // A repository may say anything in its files; only what looks like a folder of git counts.
    found.retain(|folder| folder.join("HEAD").is_file());
    found
}

/// Puts a path that a pattern begins with where the rules say: the path itself, or what is in it.
fn sort_denied(
    path: &Path,
    forbids: &mut impl FnMut(&Path, Access) -> Option<PathBuf>,
    hidden: &mut Vec<PathBuf>,
    guards: &mut Vec<PathBuf>,
) {
    let inside = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    for path in std::iter::once(path.to_owned()).chain(inside.map(|entry| entry.path())) {
        hidden.extend(forbids(&path, Access::Read));
        guards.extend(forbids(&path, Access::Write));
    }
}

/// Looks for denied files in the workspace.
fn search(
    workspace: &Path,
    forbids: &mut impl FnMut(&Path, Access) -> Option<PathBuf>,
    hidden: &mut Vec<PathBuf>,
    guards: &mut Vec<PathBuf>,
    notes: &mut Vec<String>,
) {
    let mut folders = VecDeque::from([workspace.to_owned()]);
    let mut looked = 0;
    while let Some(folder) = folders.pop_front() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            looked += 1;
            if looked > MOST_SEARCHED {
                notes.push(format!(
                    "only the first {MOST_SEARCHED} files of {} were searched for denied names",
                    workspace.display()
                ));
                return;
            }
            let path = entry.path();
            if let Some(path) = forbids(&path, Access::Read) {
                hidden.push(path);
                continue;
            }
            guards.extend(forbids(&path, Access::Write));
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push_back(path);
            }
        }
    }
}

/// The paths that exist, without links, each once, and the outer ones first.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<_> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}

/// Has the kernel hold this process, and all that it starts, to a plan. It cannot be undone.
///
/// The process must have one thread. What the system cannot give is in the answer; an error means that
/// nothing is held.
#[cfg(target_os = "linux")]
pub fn enter(plan: &SandboxPlan) -> io::Result<Entered> {
    linux::enter(plan)
}

/// Has the kernel hold this process to a plan: on this system it cannot.
#[cfg(not(target_os = "linux"))]
pub fn enter(_: &SandboxPlan) -> io::Result<Entered> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "there is a sandbox on Linux only"))
}
