//! The terminal that a person answers at: one key at a time, or a line.
//!
//! Owns its modes. They are put back when a question is over, when this is dropped, and by the signals
//! thread where we leave in a hurry. A process in the background touches neither: the terminal
//! belongs to somebody else then.

use crate::env::Env;
use crate::signals::Attention;
use nix::errno::Errno;
use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use nix::unistd::{getpgrp, read, tcgetpgrp};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A terminal to read from.
#[derive(Debug)]
pub(crate) struct Keyboard {
    terminal: File,
    attention: Attention,
    /// How it was, while it is otherwise.
    before: Option<Termios>,
    /// Keys are wanted, not lines: without these modes.
    keys: Option<LocalFlags>,
}

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing after all.
    Nothing,
    /// The end of input, as Ctrl-D on an empty line.
    End,
    /// The terminal is gone.
    Gone,
}

impl Keyboard {
    /// Whether a person can be shown something and answer.
    pub(crate) fn is_there(env: &Env) -> bool {
        env.stderr_is_terminal && (File::open("/dev/tty").is_ok() || env.stdin_is_terminal)
    }

    /// The terminal that controls us, or the one that standard input is.
    pub(crate) fn open(attention: Attention) -> io::Result<Keyboard> {
        let terminal = match OpenOptions::new().read(true).write(true).open("/dev/tty") {
            Ok(terminal) => terminal,
            Err(_) => File::from(io::stdin().as_fd().try_clone_to_owned()?),
        };
        Ok(Keyboard { terminal, attention, before: None, keys: None })
    }

    /// What to wait for.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }

    /// Whether we may read: whoever is in the background would be stopped.
    pub(crate) fn is_ours(&self) -> bool {
        // A terminal that does not control us has no say in it.
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == getpgrp())
            || matches!(tcgetpgrp(&self.terminal), Err(Errno::ENOTTY))
    }

    /// From now on every key counts at once and is not shown. What was typed before is thrown away:
    /// it was no answer. Where the terminal cannot do that, lines come, and their first letter counts.
    pub(crate) fn take_keys(&mut self) {
        self.keys = Some(LocalFlags::ICANON | LocalFlags::ECHO);
        self.keep_keys();
    }

    /// The same, and no key is a signal: Ctrl-C comes as one, too. For who does nothing but read keys.
    pub(crate) fn take_every_key(&mut self) {
        let modes = LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG | LocalFlags::IEXTEN;
        self.keys = Some(modes);
        self.keep_keys();
    }

    /// Sees to it that keys still come: a shell that had stopped us puts its terminal back, and in the
    /// background it is not ours to change.
    pub(crate) fn keep_keys(&mut self) {
        let cooked = LocalFlags::ICANON | LocalFlags::ECHO;
        let Some(unwanted) = self.keys.filter(|_| self.is_ours()) else { return };
        let Ok(modes) = tcgetattr(&self.terminal) else { return };
        if !modes.local_flags.contains(cooked) {
            return;
        }
        let mut keys = modes.clone();
        keys.local_flags.remove(unwanted);
        for (index, value) in
            [(SpecialCharacterIndices::VMIN, 1), (SpecialCharacterIndices::VTIME, 0)]
        {
            if let Some(cell) = keys.control_chars.get_mut(index as usize) {
                *cell = value;
            }
        }
        if self.before.is_none() {
            let copy = self.terminal.try_clone().ok().map(|terminal| (terminal, modes.clone()));
            self.attention.changed_terminal(copy);
            self.before = Some(modes);
        }
        let _lines_then = tcsetattr(&self.terminal, SetArg::TCSAFLUSH, &keys);
    }

    /// The terminal as it was, in which a person types lines and sees them.
    pub(crate) fn put_back(&mut self) {
        self.keys = None;
        if let Some(before) = self.before.take() {
            let _not_a_terminal_any_more = tcsetattr(&self.terminal, SetArg::TCSANOW, &before);
            self.attention.changed_terminal(None);
        }
    }

    /// What there is to read.
    pub(crate) fn read(&self) -> Typed {
        let mut bytes = [0; 256];
        match read(&self.terminal, &mut bytes) {
            Ok(0) => Typed::End,
            Ok(count) => Typed::Bytes(bytes.get(..count).unwrap_or_default().to_vec()),
            Err(Errno::EINTR | Errno::EAGAIN) => Typed::Nothing,
            Err(_) => Typed::Gone,
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// The key that was pressed, where it was one key: neither the sequence of an arrow nor a text that
/// was pasted is an answer.
pub(crate) fn key(bytes: &[u8]) -> Option<char> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_suffix(['\n', '\r']).unwrap_or(text);
    let mut chars = text.chars();
    chars.next().filter(|c| !c.is_control() && chars.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_is_an_answer_and_nothing_else() {
        let table: &[(&[u8], Option<char>)] = &[
            (b"y", Some('y')),
            (b"y\n", Some('y')),
            ("é".as_bytes(), Some('é')),
            (b"yes please", None),
            (b"\x1b[A", None),
            (b"\x1b", None),
            (b"\n", None),
            (b"", None),
            (b"\xff", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(key(bytes), *expected, "{bytes:?}");
        }
    }
}
