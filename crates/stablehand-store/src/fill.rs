//! Filling the index while a run goes on.
//!
//! A thread of its own, at the lowest priority, reads the file of the log as anybody could: the run
//! does not know of it, waits for it in nothing, and leaves it behind when it ends. What it could not
//! do by then, whoever asks next does. Nothing that goes wrong here reaches the run.

use crate::index::{Batch, Indexer, Opened, Progress};
use crate::open::Cache;
use crate::{Store, StoreError};
use stablehand_core::redact::Redactor;
use std::fs::File;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A run that is over by then costs nothing.
const FIRST: Duration = Duration::from_millis(500);

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// The same while there is more than a batch.
const BEHIND: Duration = Duration::from_millis(250);

/// What is read and written at most at a time. It bounds the memory, and how long others who want to
/// write wait for a thread that hardly gets the processor.
const BATCH: Batch = Batch { rows: 250, text: 64 << 10, time: Duration::from_millis(300) };

/// With less room on the disk than this, the log needs it more.
const ROOM: u128 = 256 << 20;

/// Somebody who fills the index with the log of a run. It stops when this is dropped, at once or a
/// little later; nobody waits.
#[derive(Debug)]
pub struct Filler {
    _stops_when_gone: Sender<()>,
    trouble: Arc<Mutex<Option<String>>>,
}

impl Filler {
    /// Starts a thread that follows a log; [`trouble`](Self::trouble) says where it could not. The
    /// thread calls `at_rest` after each step (the start of the run, reading a batch, writing it), to
    /// give back the memory that the step needed. The redactor is the run's, which knows values that
    /// have no form; without one, secrets are found by their forms.
    pub fn start(log: &Path, redactor: Option<Arc<Redactor>>, at_rest: fn()) -> Filler {
        let (sender, receiver) = channel();
        let trouble = Arc::new(Mutex::new(None));
        let filler = Filler { _stops_when_gone: sender, trouble: Arc::clone(&trouble) };
        let path = log.to_owned();
        let note = |trouble: &Mutex<Option<String>>, text: String| {
            *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        };
        // Opened now: it will get another name.
        let started = File::open(log).and_then(|file| {
            std::thread::Builder::new().name("index".into()).spawn(move || {
                step_back();
                if let Err(error) = fill(&path, file, redactor, &receiver, at_rest) {
                    note(&trouble, chain(&error));
                }
            })
        });
        if let Err(error) = started {
            note(&filler.trouble, error.to_string());
        }
        filler
    }

    /// Why the index is not filled, where something went wrong.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whoever has something to do comes first, on Linux; elsewhere a thread has no priority of its own.
fn step_back() {
    #[cfg(target_os = "linux")]
    {
        let this = rustix::thread::gettid();
        let _as_good_as_any = rustix::process::setpriority_process(Some(this), 19);
    }
    // A file that may not grow any more is an error for us, and no end for the process.
    let mut signals = nix::sys::signal::SigSet::empty();
    signals.add(nix::sys::signal::Signal::SIGXFSZ);
    let _unlikely = signals.thread_block();
}

fn fill(
    path: &Path,
    file: File,
    redactor: Option<Arc<Redactor>>,
    gone: &Receiver<()>,
    at_rest: fn(),
) -> Result<(), StoreError> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let path = path.to_owned();
    let mut following = Following { folder, file, path, redactor, store: None, at: None };
    let mut pause = FIRST;
    loop {
        match gone.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if pause == FIRST {
            at_rest();
        }
        pause = match following.look(at_rest) {
            Ok(Progress::More) => BEHIND,
            Ok(Progress::End) => EVERY,
            Err(error) if error.is_busy() => EVERY,
            Err(error) if error.is_unusable() => {
                following.begin_again();
                EVERY
            }
            Err(error) => return Err(error),
        };
    }
}

struct Following<'a> {
    folder: &'a Path,
    file: File,
    path: PathBuf,
    redactor: Option<Arc<Redactor>>,
    store: Option<Store>,
    at: Option<Box<Indexer>>,
}

impl Following<'_> {
    /// Brings some of what is new into the index.
    fn look(&mut self, at_rest: fn()) -> Result<Progress, StoreError> {
        let about = self.about()?;
        if let Some(at) = &mut self.at {
            at.path.clone_from(&self.path);
        }
        let is_known = self.at.as_ref().is_some_and(|at| at.read == about.len() && !at.has_news());
        if is_known && self.store.as_ref().is_some_and(Store::is_in_place) {
            return Ok(Progress::End);
        }
        if !has_room(self.folder) {
            return Ok(Progress::End);
        }
        if self.store.as_ref().is_none_or(|store| !store.is_in_place()) {
            self.begin_again();
            let mut store = Store::open_to_write(self.folder, Cache::Small)?;
            if let Some(redactor) = &self.redactor {
                store.redactor = Arc::clone(redactor);
            }
            self.store = Some(store);
        }
        let Some(store) = &mut self.store else { return Ok(Progress::End) };
        if self.at.is_none() {
            let file = self
                .file
                .try_clone()
                .map_err(|source| StoreError::Read { path: self.path.clone(), source })?;
            // A copy of a log that somebody else writes is nothing that a run has.
            let Opened::Log(mut at) = Indexer::of(store, &self.path, file)? else {
                return Ok(Progress::End);
            };
            at.live = true;
            self.at = Some(at);
        }
        let Some(at) = &mut self.at else { return Ok(Progress::End) };
        at_rest();
        let progress = at.read_on(BATCH)?;
        // Reading and writing do not both have their memory at the same time.
        if progress == Progress::More {
            at.pause()?;
        }
        at_rest();
        if at.has_news() && store.write([at.as_mut()], true)?.contains(&self.path) {
            // The index is another one, or knows better; the next look begins with it.
            self.at = None;
        }
        at_rest();
        Ok(progress)
    }

    fn begin_again(&mut self) {
        self.at = None;
        self.store = None;
    }

    /// The file as it is, and what it is called by now.
    fn about(&mut self) -> Result<std::fs::Metadata, StoreError> {
        let failed = |source| StoreError::Read { path: self.path.clone(), source };
        let about = self.file.metadata().map_err(failed)?;
        let is_here = std::fs::metadata(&self.path).is_ok_and(|it| it.ino() == about.ino());
        if !is_here {
            let mut entries = std::fs::read_dir(self.folder).map_err(failed)?.flatten();
            if let Some(entry) = entries.find(|entry| entry.ino() == about.ino()) {
                self.path = entry.path();
            }
        }
        Ok(about)
    }
}

/// Whether the disk has room for an index beside the log.
fn has_room(folder: &Path) -> bool {
    nix::sys::statvfs::statvfs(folder).is_ok_and(|about| {
        u128::from(about.blocks_available()) * u128::from(about.fragment_size()) >= ROOM
    })
}

fn chain(error: &StoreError) -> String {
    use std::error::Error;
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
