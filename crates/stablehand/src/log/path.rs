//! The path of a log, which changes once.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Where a log is at this moment, for everyone who has to know: the file is renamed once the agent
/// has named its session.
#[derive(Clone, Debug)]
pub struct PathCell(Arc<Mutex<PathBuf>>);

impl PathCell {
    pub(super) fn new(path: PathBuf) -> PathCell {
        PathCell(Arc::new(Mutex::new(path)))
    }

    /// Where the log is now.
    pub fn get(&self) -> PathBuf {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, path: PathBuf) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = path;
    }
}
