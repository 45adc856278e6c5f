//! Commands that an agent has us run, each in a tree of its own.
//!
//! A keeper each: whatever a command starts goes with its terminal, with the run, and with us. Owns
//! what a command has printed and how it ended; who may run what is the caller's question.

use crate::keeper::{Keeper, KeeperProgram, Launch, Order, Report, SpawnError};
use nix::errno::Errno;
use nix::unistd::read;
use stablehand_core::event::ProcessExit;
use stablehand_core::wish::CommandEnd;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// So many terminals an agent has at the most.
pub(super) const MOST: usize = 32;

/// So much of what a command prints is kept where the agent does not say, and at the most.
const MOST_KEPT: usize = 1 << 20;

/// What a command gets to end by itself.
const POLITE: Duration = Duration::from_millis(250);

/// The longest that one look reads, so that a command which prints without end does not keep us.
const ONE_LOOK: usize = 1 << 20;

/// A command and its terminal.
#[derive(Debug)]
pub(in crate::driver) struct Terminal {
    pub(super) id: String,
    keeper: Keeper,
    output: Option<OwnedFd>,
    kept: Vec<u8>,
    most: usize,
    is_cut: bool,
    end: Option<CommandEnd>,
    /// The keeper has nothing more to tell.
    is_over: bool,
    /// Who waits for its end, by the ids of their requests.
    pub(super) waiting: Vec<String>,
}

impl Terminal {
    pub(super) fn start(
        id: String,
        program: &KeeperProgram,
        launch: &Launch,
        keep: Option<u64>,
    ) -> Result<Terminal, SpawnError> {
        let (keeper, pipes) = Keeper::start(program, launch)?;
        let most = keep.and_then(|keep| usize::try_from(keep).ok()).unwrap_or(MOST_KEPT);
        Ok(Terminal {
            id,
            keeper,
            output: Some(pipes.stdout),
            kept: Vec::new(),
            most: most.min(MOST_KEPT),
            is_cut: false,
            end: None,
            is_over: false,
            waiting: Vec::new(),
        })
    }

    /// The keeper's process, below which everything of this terminal is.
    pub(super) fn keeper_pid(&self) -> u32 {
        self.keeper.pid()
    }

    /// Readable when there is something to see to.
    pub(in crate::driver) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let keeper = (!self.is_over).then(|| self.keeper.fd());
        self.output.as_ref().map(AsFd::as_fd).into_iter().chain(keeper)
    }

    /// Reads what is there; whether anything was.
    pub(super) fn look(&mut self) -> bool {
        let mut has_news = self.read();
        while let Some(report) = self.keeper.next_report() {
            has_news = true;
            match report {
                Report::AgentExited(exit) => self.end = Some(ended(exit)),
                Report::TreeGone { .. } => {}
                Report::Lost => {
                    self.end.get_or_insert_default();
                    self.is_over = true;
                }
            }
        }
        if self.end.is_some() {
            // What it printed before its end is in the pipe by now.
            self.read();
        }
        has_news
    }

    fn read(&mut self) -> bool {
        let mut buffer = [0_u8; 16 << 10];
        let mut total = 0;
        while let Some(output) = self.output.as_ref().filter(|_| total < ONE_LOOK) {
            match read(output, &mut buffer) {
                Ok(0) => self.output = None,
                Ok(count) => {
                    total += count;
                    self.keep(buffer.get(..count).unwrap_or_default());
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Err(_) => self.output = None,
            }
        }
        total > 0
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        // Seldom, so that the rest is not moved for every piece.
        if self.kept.len() > self.most.saturating_mul(2).max(self.most + (64 << 10)) {
            let rest = self.kept.len() - self.most;
            self.kept.drain(..rest);
            self.is_cut = true;
        }
    }

    /// What is kept of what it printed, and whether something before it is not.
    pub(super) fn printed(&self) -> (String, bool) {
        let (tail, is_cut) = last(&self.kept, self.most);
        (String::from_utf8_lossy(tail).into_owned(), is_cut || self.is_cut)
    }

    pub(super) fn end(&self) -> Option<&CommandEnd> {
        self.end.as_ref()
    }

    /// Ends the command and all that it started.
    pub(super) fn kill(&mut self) {
        let _lost_keeper_reports_itself = self.keeper.order(Order::KillTree { polite: POLITE });
    }
}

/// The end of some bytes, cut where a character begins; and whether it was cut.
fn last(bytes: &[u8], most: usize) -> (&[u8], bool) {
    let Some(mut begin) = bytes.len().checked_sub(most).filter(|begin| *begin > 0) else {
        return (bytes, false);
    };
    let is_inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    for _ in 0..3 {
        if bytes.get(begin).is_some_and(is_inside) {
            begin += 1;
        }
    }
    (bytes.get(begin..).unwrap_or_default(), true)
}

fn ended(exit: ProcessExit) -> CommandEnd {
    match exit {
        ProcessExit::Code(code) => CommandEnd { code: Some(code), signal: None },
        ProcessExit::Signal(number) => {
            let name = nix::sys::signal::Signal::try_from(number);
            let name = name.map_or_else(|_| number.to_string(), |it| it.as_str().to_owned());
            CommandEnd { code: None, signal: Some(name) }
        }
        ProcessExit::Unknown => CommandEnd::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_begins_with_a_whole_character() {
        assert_eq!(last("abc".as_bytes(), 3), ("abc".as_bytes(), false));
        assert_eq!(last("abc".as_bytes(), 2), ("bc".as_bytes(), true));
        assert_eq!(last("aäb".as_bytes(), 2), ("b".as_bytes(), true));
        assert_eq!(last("a😀b".as_bytes(), 4), ("b".as_bytes(), true));
        assert_eq!(last("a😀b".as_bytes(), 5), ("😀b".as_bytes(), true));
        assert_eq!(last("abc".as_bytes(), 0), ("".as_bytes(), true));
    }
}
