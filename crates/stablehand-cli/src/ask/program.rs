//! A program that answers: lines of JSON on a descriptor that it opened for us.
//!
//! Owns the descriptor and its lines. On a socket the program is also told what is asked and what was
//! answered, as events. A line that is no answer changes nothing and is told on standard error;
//! the end of the lines means that nobody is there any more.

use super::feed::Note;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use crate::render::make_json_safe;
use crate::screen::Screen;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::read;
use serde::Deserialize;
use serde_json::Value;
use stablehand::Answer;
use stablehand::control::{Control, Receiver, Request};
use stablehand_core::Event;
use stablehand_core::actor::Actor;
use stablehand_core::text::excerpt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The longest answer.
const LONGEST: usize = 1 << 20;

/// So much may wait for a program that does not read; then it is taken for gone.
const UNREAD: usize = 4 << 20;

/// So many open questions are remembered.
const MOST: usize = 64;

/// A descriptor that whoever started us opened for us. The agent does not inherit it: it would
/// answer its own questions.
pub(super) fn descriptor(number: i32) -> Result<OwnedFd, Failure> {
    let refuse = |why: &str| {
        Failure::usage(format!("--approve-fd {number}: {why}"))
            .hint("open a pipe or a socket before starting us, and name its number, 3 or more")
    };
    if number < 3 {
        return Err(refuse("the first three descriptors are the standard streams"));
    }
    // SAFETY: asking for the flags of any number is harmless.
    #[expect(unsafe_code, reason = "nothing safe can ask whether a number is a descriptor")]
    if unsafe { nix::libc::fcntl(number, nix::libc::F_GETFD) } < 0 {
        return Err(refuse("it is not open"));
    }
    // SAFETY: it is open, nobody else here knows its number, and nobody closes it.
    #[expect(unsafe_code, reason = "a number from the command line is all there is")]
    let given = unsafe { BorrowedFd::borrow_raw(number) };
    let failed = |error: Errno| refuse(error.desc());
    let flags = OFlag::from_bits_retain(fcntl(given, FcntlArg::F_GETFL).map_err(failed)?);
    if flags & OFlag::O_ACCMODE == OFlag::O_WRONLY {
        return Err(refuse("it cannot be read from"));
    }
    fcntl(given, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map_err(failed)?;
    given.try_clone_to_owned().map_err(|error| refuse(&error.to_string()))
}

/// An answer as a program writes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    answer: Word,
    message: Option<String>,
    updated_input: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Allow,
    Deny,
    Always,
}

/// A program at the other end.
#[derive(Debug)]
pub(super) struct Program {
    line: Arc<OwnedFd>,
    notes: Receiver<Note>,
    control: Control,
    screen: Screen,
    /// It can be told something.
    is_socket: bool,
    unsent: Vec<u8>,
    unread: Vec<u8>,
    /// The rest of a line that is too long is thrown away.
    skipping: bool,
    lines: u64,
    gone: bool,
    /// Nothing comes any more.
    is_over: bool,
    open: Vec<String>,
}

impl Program {
    pub(super) fn new(
        line: Arc<OwnedFd>,
        notes: Receiver<Note>,
        control: Control,
        screen: Screen,
    ) -> std::io::Result<Program> {
        let mode = SFlag::from_bits_truncate(fstat(&*line)?.st_mode);
        Ok(Program {
            is_socket: mode & SFlag::S_IFMT == SFlag::S_IFSOCK,
            line,
            notes,
            control,
            screen,
            unsent: Vec::new(),
            unread: Vec::new(),
            skipping: false,
            lines: 0,
            gone: false,
            is_over: false,
            open: Vec::new(),
        })
    }

    /// Listens until nothing comes any more.
    pub(super) fn run(mut self) {
        loop {
            self.take_notes();
            self.write();
            if self.is_over {
                return;
            }
            let mut wanted = PollFlags::POLLIN;
            if !self.unsent.is_empty() {
                wanted |= PollFlags::POLLOUT;
            }
            let mut fds = vec![PollFd::new(self.notes.fd(), PollFlags::POLLIN)];
            if !self.gone {
                fds.push(PollFd::new(self.line.as_fd(), wanted));
            }
            let _interrupted = poll(&mut fds, PollTimeout::NONE);
            let events = fds.get(1).and_then(PollFd::revents).unwrap_or(PollFlags::empty());
            if events.intersects(PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR) {
                self.read();
            }
        }
    }

    fn take_notes(&mut self) {
        while let Some(note) = self.notes.next() {
            self.take(note);
        }
    }

    fn take(&mut self, note: Note) {
        match note {
            // What was said to an earlier process does not hold for this one.
            Note::Began if self.gone => self.control.send(Request::NobodyThere),
            Note::Asked(question) => {
                self.tell(&question.event);
                self.open.retain(|id| *id != question.id);
                if self.open.len() == MOST {
                    self.open.remove(0);
                }
                self.open.push(question.id);
            }
            Note::Resolved(resolved) => {
                // The policy's own decisions are none of its business.
                if self.open.contains(&resolved.id) {
                    self.tell(&resolved.event);
                }
                self.open.retain(|id| *id != resolved.id);
            }
            Note::Over => self.open.clear(),
            Note::Rest(done) => {
                let _tired_of_waiting = done.send(());
            }
            Note::End => self.is_over = true,
            Note::Began => {}
        }
    }

    fn tell(&mut self, event: &Event) {
        if self.is_socket && !self.gone {
            // Writing to memory what was made of strings cannot fail.
            let from = self.unsent.len();
            let _written = serde_json::to_writer(&mut self.unsent, event);
            make_json_safe(&mut self.unsent, from);
            self.unsent.push(b'\n');
            if self.unsent.len() > UNREAD {
                self.complain("it does not read what it is told");
                self.left();
            }
        }
    }

    fn write(&mut self) {
        while !self.unsent.is_empty() && !self.gone {
            match send(self.line.as_raw_fd(), &self.unsent, MsgFlags::MSG_DONTWAIT) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(_) => return self.left(),
            }
        }
    }

    fn read(&mut self) {
        let mut block = vec![0; 64 << 10];
        match read(&*self.line, &mut block) {
            Ok(0) => {
                // A last line need not be ended.
                let rest = std::mem::take(&mut self.unread);
                if !rest.is_empty() {
                    self.line(&rest);
                }
                self.left();
            }
            Ok(count) => {
                // What it answers was asked before, and is among these.
                self.take_notes();
                self.bytes(block.get(..count).unwrap_or_default());
            }
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.left(),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            if !self.skipping {
                self.unread.extend_from_slice(piece);
            }
            if ends {
                let line = std::mem::take(&mut self.unread);
                if !std::mem::take(&mut self.skipping) {
                    self.line(&line);
                }
            } else if self.unread.len() > LONGEST {
                self.unread.clear();
                self.skipping = true;
                self.lines += 1;
                self.complain(&format!("line {}: it is longer than {LONGEST} bytes", self.lines));
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        if line.trim_ascii().is_empty() {
            return;
        }
        let answered = serde_json::from_slice(line).map_err(|error| error.to_string());
        let answered = answered.and_then(|line| self.answer(line));
        if let Err(why) = answered {
            let shown = excerpt(line, 80);
            self.complain(&format!("line {} is no answer ({why}): {shown}", self.lines));
        }
    }

    fn answer(&mut self, line: Line) -> Result<(), String> {
        let Line { id, answer, message, updated_input } = line;
        if message.is_some() && answer != Word::Deny {
            return Err("`message` belongs to a deny".to_owned());
        }
        if updated_input.is_some() && answer != Word::Allow {
            return Err("`updated_input` belongs to an allow".to_owned());
        }
        let answer = match (answer, updated_input) {
            (Word::Allow, Some(input)) => Answer::AllowWith { input },
            (Word::Allow, None) => Answer::Allow,
            (Word::Deny, _) => Answer::Deny {
                message: message.unwrap_or_else(|| "denied by a program".to_owned()),
            },
            (Word::Always, _) => Answer::AllowAlways,
        };
        let by = Actor::program("approve-fd");
        self.control.answer(&id, answer, by).map_err(|error| error.to_string())
    }

    /// Nobody is there any more.
    fn left(&mut self) {
        if !self.gone {
            self.gone = true;
            self.unsent.clear();
            self.control.send(Request::NobodyThere);
        }
    }

    fn complain(&self, what: &str) {
        self.screen.err(format!("{PROGRAM}: --approve-fd: {what}\n").as_bytes());
    }
}
