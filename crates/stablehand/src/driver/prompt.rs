//! Giving the agent its prompt, at the agent's pace.
//!
//! An agent that reads late, or never, must not keep us from reading it: the prompt is written
//! from the loop, as much as fits. Then standard input is closed, always.

use nix::errno::Errno;
use nix::unistd::write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[derive(Debug)]
pub(super) struct PromptWriter {
    stdin: Option<OwnedFd>,
    prompt: Vec<u8>,
    written: usize,
}

/// What became of the prompt.
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
    },
}

impl PromptWriter {
    pub(super) fn new(stdin: OwnedFd, prompt: Vec<u8>) -> Self {
        PromptWriter { stdin: Some(stdin), prompt, written: 0 }
    }

    /// Nothing to write, and nobody to write to.
    pub(super) fn closed() -> Self {
        PromptWriter { stdin: None, prompt: Vec::new(), written: 0 }
    }

    /// The descriptor to wait for, until everything is written.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.stdin.as_ref().map(AsFd::as_fd)
    }

    /// Writes what fits; closes the pipe behind the last byte.
    pub(super) fn write(&mut self) -> Delivery {
        let Some(stdin) = &self.stdin else { return Delivery::Whole };
        loop {
            let rest = self.prompt.get(self.written..).unwrap_or_default();
            if rest.is_empty() {
                self.close();
                return Delivery::Whole;
            }
            match write(stdin, rest) {
                Ok(n) => self.written += n,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Delivery::Partial,
                Err(_) => {
                    self.close();
                    return Delivery::Refused { taken: self.written };
                }
            }
        }
    }

    /// Nothing more will be written.
    pub(super) fn close(&mut self) {
        self.stdin = None;
        self.prompt = Vec::new();
    }
}
