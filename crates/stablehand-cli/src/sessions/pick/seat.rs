//! The terminal while a list is on it.
//!
//! Owns its modes, the alternate screen, and the signals meanwhile: whatever happens, it is given back
//! as it was, and nothing is left on it.

use super::keys::{Key, keys};
use crate::ask::keyboard::{Keyboard, Typed};
use crate::failure::Failure;
use crate::signals::Attention;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use std::io::{self, Write as _};
use std::time::Duration;

/// Between two looks at what no key tells: signals, a terminal that is gone.
const TICK: u16 = 200;

/// The rest of a sequence follows its beginning within this; a lone escape is a key.
const SEQUENCE: u16 = 40;

/// Where nobody says how large the terminal is.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// The alternate screen, and back.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// The terminal while the list is on it.
pub(super) struct Seat {
    keyboard: Keyboard,
    signals: Signals,
}

impl Drop for Seat {
    fn drop(&mut self) {
        say(LEAVE);
        self.keyboard.put_back();
    }
}

/// What came.
pub(super) enum Came {
    Keys(Vec<Key>),
    Resized,
    Signal(i32),
    Gone,
}

impl Seat {
    /// Takes the terminal.
    pub(super) fn take() -> Result<Seat, Failure> {
        let failed =
            |error: io::Error| Failure::new(format!("failed to use the terminal: {error}"));
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGWINCH]).map_err(failed)?;
        let keyboard = Keyboard::open(Attention::default()).map_err(failed)?;
        let mut seat = Seat { keyboard, signals };
        seat.keyboard.take_every_key();
        say(ENTER);
        Ok(seat)
    }

    pub(super) fn size(&self) -> (usize, usize) {
        match terminal_size::terminal_size_of(self.keyboard.fd()) {
            Some((cols, rows)) => (usize::from(cols.0.max(10)), usize::from(rows.0.max(3))),
            None => USUAL_SIZE,
        }
    }

    /// Waits for keys, or for a reason to draw anew or to leave.
    pub(super) fn wait(&mut self) -> Came {
        let mut typed: Vec<u8> = Vec::new();
        loop {
            for signal in self.signals.pending() {
                if signal != SIGWINCH {
                    return Came::Signal(signal);
                }
                if typed.is_empty() {
                    return Came::Resized;
                }
            }
            self.keyboard.keep_keys();
            let bound = if typed.is_empty() { TICK } else { SEQUENCE };
            let mut fds = [PollFd::new(self.keyboard.fd(), PollFlags::POLLIN)];
            let told = poll(&mut fds, PollTimeout::from(bound)).unwrap_or(0);
            let events = fds.first().and_then(PollFd::revents).unwrap_or(PollFlags::empty());
            if told == 0 {
                if typed.is_empty() {
                    continue;
                }
                // What is still not whole was no sequence: an escape alone is a key.
                let (mut found, rest) = keys(&typed);
                found.extend((rest.first() == Some(&0x1b)).then_some(Key::Cancel));
                return Came::Keys(found);
            }
            if events.contains(PollFlags::POLLIN) && self.keyboard.is_ours() {
                match self.keyboard.read() {
                    Typed::Bytes(bytes) => typed.extend(bytes),
                    Typed::Nothing => continue,
                    Typed::End | Typed::Gone => return Came::Gone,
                }
                let (found, rest) = keys(&typed);
                // What is whole waits for the rest; there is hardly ever any.
                if rest.is_empty() {
                    return Came::Keys(found);
                }
            } else if events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) {
                return Came::Gone;
            } else {
                std::thread::sleep(Duration::from_millis(u64::from(TICK)));
            }
        }
    }
}

/// Draws on the terminal.
pub(super) fn say(text: &str) {
    let mut out = io::stderr().lock();
    let _nobody_there = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
