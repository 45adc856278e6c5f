//! What views draw on: the screen of this process, or a page that somebody else does something with.

use crate::screen::Screen;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Something to draw on.
pub trait Surface: Send + 'static {
    /// What belongs on standard output; an error means that nobody is there any more.
    fn out(&self, bytes: &[u8]) -> io::Result<()>;

    /// What belongs on standard error. It does not wait.
    fn err(&self, bytes: &[u8]);
}

impl Surface for Screen {
    fn out(&self, bytes: &[u8]) -> io::Result<()> {
        Screen::out(self, bytes)
    }

    fn err(&self, bytes: &[u8]) {
        Screen::err(self, bytes);
    }
}

/// Paper: what is drawn on it waits until it is taken. Both streams are one, as on a terminal.
#[derive(Clone, Debug, Default)]
pub struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    /// What was drawn since the last call.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }
}

impl Surface for Page {
    fn out(&self, bytes: &[u8]) -> io::Result<()> {
        self.put(bytes);
        Ok(())
    }

    fn err(&self, bytes: &[u8]) {
        self.put(bytes);
    }
}
