//! Giving the agent what it is to read, at the agent's pace.
//!
//! An agent that reads late, or never, must not keep us from reading it: everything is written
//! from the loop, as much as fits. Standard input is closed behind the last byte; in a conversation
//! the last byte is known only when somebody says so.

use nix::errno::Errno;
use nix::unistd::write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[derive(Debug)]
pub(super) struct PromptWriter {
    stdin: Option<OwnedFd>,
    waiting: Vec<u8>,
    written: usize,
    /// More may come.
    stays_open: bool,
}

/// What became of what was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// There is more to write.
    Partial,
    /// All of it was written.
    Whole,
    /// The agent closed its standard input before it had everything.
    Refused {
        /// So much it had.
        taken: usize,
        /// Of so much.
        of: usize,
    },
}

impl PromptWriter {
    /// Writes this and closes.
    pub(super) fn new(stdin: OwnedFd, prompt: Vec<u8>) -> Self {
        PromptWriter { stdin: Some(stdin), waiting: prompt, written: 0, stays_open: false }
    }

    /// Writes whatever comes, until [`PromptWriter::finish`].
    pub(super) fn open(stdin: OwnedFd) -> Self {
        PromptWriter { stays_open: true, ..PromptWriter::new(stdin, Vec::new()) }
    }

    /// Nothing to write, and nobody to write to.
    pub(super) fn closed() -> Self {
        PromptWriter { stdin: None, waiting: Vec::new(), written: 0, stays_open: false }
    }

    /// The descriptor to wait for, while there is something to do.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        let busy = self.written < self.waiting.len() || !self.stays_open;
        self.stdin.as_ref().filter(|_| busy).map(AsFd::as_fd)
    }

    /// More to write.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.stdin.is_some() {
            self.waiting.drain(..self.written);
            self.written = 0;
            self.waiting.extend_from_slice(bytes);
        }
    }

    /// How much waits for the agent to read it.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len() - self.written
    }

    /// Nothing more will come: what waits is written, then it is closed.
    pub(super) fn finish(&mut self) {
        self.stays_open = false;
    }

    /// Whether the agent can still be told something.
    pub(super) fn is_open(&self) -> bool {
        self.stdin.is_some() && self.stays_open
    }

    /// Writes what fits.
    pub(super) fn write(&mut self) -> Delivery {
        let Some(stdin) = &self.stdin else { return Delivery::Whole };
        loop {
            let rest = self.waiting.get(self.written..).unwrap_or_default();
            if rest.is_empty() {
                self.waiting.clear();
                self.written = 0;
                if !self.stays_open {
                    self.close();
                }
                return Delivery::Whole;
            }
            match write(stdin, rest) {
                Ok(n) => self.written += n,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Delivery::Partial,
                Err(_) => {
                    let (taken, of) = (self.written, self.waiting.len());
                    self.close();
                    return Delivery::Refused { taken, of };
                }
            }
        }
    }

    /// Nothing more will be written.
    pub(super) fn close(&mut self) {
        self.stdin = None;
        self.waiting = Vec::new();
        self.written = 0;
    }
}
