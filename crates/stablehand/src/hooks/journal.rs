//! What a settings file was before us, and which runs need it: in our own state folder, so that
//! anybody can restore the file when we were killed.
//!
//! Owns the folder of one file: its lock, the record, and the users. A user is a locked file; the
//! lock goes with the process, however that ends. What is restored when is `installation.rs`.

use super::HookError;
use super::place::{Target, hash};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the lock may be held by somebody else. A change takes milliseconds; a disk that is slow
/// with its syncs, and a few others before us, some seconds.
const LOCK_LIMIT: Duration = Duration::from_secs(20);

/// Pause between two looks at a lock.
const PAUSE: Duration = Duration::from_millis(3);

/// A record holds a settings file of at most 4 MiB, in which every byte may be escaped.
const MAX_BYTES: u64 = 32 << 20;

/// The folder of all journals, in the state folder.
pub(super) fn folder(state: &Path) -> PathBuf {
    state.join("hooks")
}

/// What is written down before a file is touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The file.
    target: [Vec<u8>; 3],
    /// The file name of the program whose entries were put in.
    name: Vec<u8>,
    /// What the file was; nothing where it was not there.
    pub(super) before: Option<String>,
    /// Its hash, so that a journal that was tampered with is not believed.
    before_hash: Option<String>,
    /// The hash of what we made of it.
    pub(super) after_hash: String,
    /// Whether its folder was made by us.
    pub(super) made_folder: bool,
}

impl Record {
    pub(super) fn new(
        target: &Target,
        name: &OsStr,
        before: Option<String>,
        after: &str,
        made_folder: bool,
    ) -> Record {
        use std::os::unix::ffi::OsStrExt;
        Record {
            target: target.parts(),
            name: name.as_bytes().to_vec(),
            before_hash: before.as_ref().map(|text| hash(text.as_bytes())),
            before,
            after_hash: hash(after.as_bytes()),
            made_folder,
        }
    }

    /// The same installation over another file.
    pub(super) fn over(&self, before: Option<String>) -> Record {
        let before_hash = before.as_ref().map(|text| hash(text.as_bytes()));
        Record { before, before_hash, ..self.clone() }
    }

    pub(super) fn target(&self) -> Target {
        Target::from_parts(&self.target)
    }

    pub(super) fn name(&self) -> &OsStr {
        use std::os::unix::ffi::OsStrExt;
        OsStr::from_bytes(&self.name)
    }

    fn is_whole(&self) -> bool {
        self.before_hash == self.before.as_ref().map(|text| hash(text.as_bytes()))
    }
}

/// The journal of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Journal {
    folder: PathBuf,
}

/// A run that needs the file: it lives as long as this does.
#[derive(Debug)]
pub(super) struct User {
    pub(super) name: OsString,
    _locked: File,
}

/// The journal while nobody else may change it.
#[derive(Debug)]
pub(super) struct Locked<'j> {
    journal: &'j Journal,
    _lock: File,
}

impl Journal {
    pub(super) fn of(state: &Path, target: &Target) -> Journal {
        Journal { folder: folder(state).join(target.key()) }
    }

    pub(super) fn at(folder: PathBuf) -> Journal {
        Journal { folder }
    }

    /// All journals below a state folder that have a record.
    pub(super) fn all(state: &Path) -> Vec<Journal> {
        let entries = fs::read_dir(folder(state)).into_iter().flatten().flatten();
        let mut found: Vec<_> = entries.map(|entry| Journal::at(entry.path())).collect();
        found.retain(|journal| journal.path("journal.json").exists());
        found.sort_by(|left, right| left.folder.cmp(&right.folder));
        found
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether there is anything in it that is worth a lock.
    pub(super) fn exists(&self) -> bool {
        self.folder.exists()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn users(&self) -> PathBuf {
        self.path("users")
    }

    /// Waits for its turn, and makes the folder where it is missing.
    pub(super) fn lock(&self) -> Result<Locked<'_>, HookError> {
        let users = self.users();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&users);
        made.map_err(|source| HookError::Io { doing: "make", path: users, source })?;
        let path = self.path("lock");
        let file = open_private(&path, OpenOptions::new().create(true).truncate(false))
            .map_err(|source| HookError::Io { doing: "open", path: path.clone(), source })?;
        if !wait_for(&file, LOCK_LIMIT).map_err(|source| HookError::Io {
            doing: "lock",
            path: path.clone(),
            source,
        })? {
            return Err(HookError::Busy { path, limit: LOCK_LIMIT });
        }
        Ok(Locked { journal: self, _lock: file })
    }

    /// Whether a user of that name has ended, waiting a while for a process that is just dying.
    /// Nothing where there is no such user.
    pub(super) fn user_ended(&self, name: &OsStr, patience: Duration) -> Option<bool> {
        let file = open_private(&self.users().join(name), &mut OpenOptions::new()).ok()?;
        wait_for(&file, patience).ok()
    }
}

fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.read(true).write(true).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW).open(path)
}

fn wait_for(file: &File, limit: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

impl Locked<'_> {
    /// What is written down.
    pub(super) fn record(&self) -> Result<Option<Record>, HookError> {
        let path = self.journal.path("journal.json");
        let file = match OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
            .open(&path)
        {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(HookError::Io { doing: "open", path, source }),
        };
        let mut bytes = Vec::new();
        let read = file.take(MAX_BYTES).read_to_end(&mut bytes);
        read.map_err(|source| HookError::Io { doing: "read", path: path.clone(), source })?;
        let record: Option<Record> = serde_json::from_slice(&bytes).ok();
        match record.filter(Record::is_whole) {
            Some(record) => Ok(Some(record)),
            None => Err(HookError::Journal { path }),
        }
    }

    /// Writes it down, on the disk and not only in memory.
    pub(super) fn write(&self, record: &Record) -> Result<(), HookError> {
        let path = self.journal.path("journal.json");
        let failed = |source| HookError::Io { doing: "write", path: path.clone(), source };
        let unfinished = self.journal.path("journal.new");
        let bytes = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        let mut options = OpenOptions::new();
        let mut file =
            open_private(&unfinished, options.create(true).truncate(true)).map_err(failed)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&unfinished, &path).map_err(failed)?;
        self.sync().map_err(failed)
    }

    /// Forgets the record.
    pub(super) fn forget(&self) -> Result<(), HookError> {
        let path = self.journal.path("journal.json");
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(HookError::Io { doing: "remove", path, source }),
        }
        let _left_over = fs::remove_file(self.journal.path("journal.new"));
        self.sync().map_err(|source| HookError::Io { doing: "sync", path, source })
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.journal.folder)?.sync_all()
    }

    /// A new user.
    pub(super) fn add_user(&self) -> Result<User, HookError> {
        let name = OsString::from(uuid::Uuid::now_v7().to_string());
        let path = self.journal.users().join(&name);
        let failed = |source| HookError::Io { doing: "make", path: path.clone(), source };
        let mut file = open_private(&path, OpenOptions::new().create_new(true)).map_err(failed)?;
        file.try_lock().map_err(|error| failed(error.into()))?;
        // For whoever asks which runs there are; the lock is what counts.
        let _unwritten = writeln!(file, "{}", std::process::id());
        Ok(User { name, _locked: file })
    }

    /// Strikes a user off.
    pub(super) fn remove_user(&self, name: &OsStr) {
        let _gone_already = fs::remove_file(self.journal.users().join(name));
    }

    /// The processes of all users that live; the others are struck off.
    pub(super) fn living(&self) -> Vec<u32> {
        let mut living = Vec::new();
        for entry in fs::read_dir(self.journal.users()).into_iter().flatten().flatten() {
            let Ok(mut file) = open_private(&entry.path(), &mut OpenOptions::new()) else {
                continue;
            };
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                let mut pid = String::new();
                let _unreadable = (&mut file).take(16).read_to_string(&mut pid);
                living.push(pid.trim().parse().unwrap_or(0));
            } else {
                self.remove_user(&entry.file_name());
            }
        }
        living.sort_unstable();
        living
    }
}
