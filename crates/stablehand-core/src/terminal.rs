//! A terminal without a window: what a program at a terminal has drawn, as rows of text.
//!
//! Owns the emulator (the `vt100` crate), its size, the rows that left it at the top, and the
//! answers that a terminal gives when a program asks it something. Bytes in, state and answers
//! out: it opens no device, and the same bytes give the same rows, live or replayed. What is worth
//! telling of those rows is [`Teller`]'s; when to look at them is the caller's.

mod drawing;
mod replies;
mod tame;
mod telling;

pub use drawing::DrawOnly;
pub use telling::{Teller, Telling};

use crate::text::plain;
use replies::Replies;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tame::Tame;

/// So many bytes are drawn before a look at what has left the screen at the top. Each of them may
/// be a newline.
const PIECE: usize = 256;

/// Rows that the emulator keeps above the screen: those of one piece, and some.
const SCROLLBACK: usize = PIECE + 64;

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    cols: u16,
    rows: u16,
}

impl TerminalSize {
    /// What is taken where nobody says otherwise: wide enough that agents do not break every line.
    pub const DEFAULT: TerminalSize = TerminalSize { cols: 120, rows: 40 };

    /// A size; brought into bounds in which programs draw sensibly and memory stays small.
    pub fn new(cols: u16, rows: u16) -> Self {
        TerminalSize { cols: cols.clamp(20, 500), rows: rows.clamp(5, 200) }
    }

    /// How many columns.
    pub fn cols(self) -> u16 {
        self.cols
    }

    /// How many rows.
    pub fn rows(self) -> u16 {
        self.rows
    }
}

impl std::fmt::Display for TerminalSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.cols, self.rows)
    }
}

/// One row of a screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its text, without what is empty on the right.
    pub text: String,
    /// Whether its last word goes on in the next row only because the screen is no wider.
    pub wraps: bool,
}

/// A terminal.
pub struct Terminal {
    parser: vt100::Parser<Replies>,
    tame: Tame,
    tamed: Vec<u8>,
    /// Rows that left at the top since somebody took them.
    scrolled: Vec<Row>,
    /// How many rows the emulator held above the screen at the last look.
    above: usize,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("size", &self.size()).finish_non_exhaustive()
    }
}

fn parser(size: TerminalSize) -> vt100::Parser<Replies> {
    vt100::Parser::new_with_callbacks(size.rows, size.cols, SCROLLBACK, Replies::default())
}

impl Terminal {
    /// An empty screen.
    pub fn new(size: TerminalSize) -> Self {
        Terminal {
            parser: parser(size),
            tame: Tame::default(),
            tamed: Vec::new(),
            scrolled: Vec::new(),
            above: 0,
        }
    }

    /// Its size.
    pub fn size(&self) -> TerminalSize {
        let (rows, cols) = self.parser.screen().size();
        TerminalSize { cols, rows }
    }

    /// Makes it larger or smaller.
    pub fn resize(&mut self, size: TerminalSize) {
        self.parser.screen_mut().set_size(size.rows, size.cols);
    }

    /// Draws what a program wrote.
    pub fn feed(&mut self, bytes: &[u8]) {
        let size = self.size();
        let mut tamed = std::mem::take(&mut self.tamed);
        tamed.clear();
        self.tame.push(bytes, size.cols.max(size.rows), &mut tamed);
        let mut rest = tamed.as_slice();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(piece_len(rest));
            self.draw(piece, size);
            self.collect_scrolled();
            rest = after;
        }
        self.tamed = tamed;
    }

    /// The emulator is somebody else's and its input is hostile: should it ever give up on
    /// a sequence, the screen begins anew and the run goes on.
    fn draw(&mut self, piece: &[u8], size: TerminalSize) {
        let drawing = &mut self.parser;
        if catch_unwind(AssertUnwindSafe(|| drawing.process(piece))).is_err() {
            self.parser = parser(size);
            self.above = 0;
        }
    }

    /// What the terminal has to answer to what it was asked, since the last call.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.parser.callbacks_mut().take()
    }

    /// Whether the program wants pasted text marked as such.
    pub fn wants_bracketed_paste(&self) -> bool {
        self.parser.screen().bracketed_paste()
    }

    /// The rows that left at the top since the last call.
    pub fn take_scrolled(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.scrolled)
    }

    /// How many rows wait in [`take_scrolled`](Self::take_scrolled).
    pub fn scrolled(&self) -> usize {
        self.scrolled.len()
    }

    /// The rows on the screen, without the empty ones at the bottom.
    pub fn rows(&mut self) -> Vec<Row> {
        let screen = self.parser.screen_mut();
        let marked = screen.scrollback();
        screen.set_scrollback(0);
        let mut rows = view(screen, usize::MAX);
        screen.set_scrollback(marked);
        while rows.last().is_some_and(|row| row.text.trim().is_empty()) {
            rows.pop();
        }
        rows
    }

    /// The last lines that have something to read on them, safe to show, at most `most`.
    pub fn last_lines(&mut self, most: usize) -> Vec<String> {
        let rows = self.rows();
        let shown = rows.iter().map(|row| telling::unframed(&plain(&row.text)).to_owned());
        let mut lines: Vec<String> = shown.filter(|line| !line.is_empty()).collect();
        lines.drain(..lines.len().saturating_sub(most));
        lines
    }

    /// Takes over the rows that the last piece pushed out at the top.
    ///
    /// The emulator does not count them, but it moves the view along with what is being viewed: one
    /// row above the screen is kept in view, and how far that has moved is the number.
    fn collect_scrolled(&mut self) {
        let screen = self.parser.screen_mut();
        if screen.alternate_screen() {
            return; // It has nothing above it; the other screen waits as it is.
        }
        let moved = screen.scrollback();
        let mut fresh = moved.saturating_sub(1);
        if moved == 0 {
            screen.set_scrollback(usize::MAX);
            let above = screen.scrollback();
            // A reset emptied it, or nothing was in view yet, or the view was lost meanwhile.
            fresh = if above < self.above { above } else { above - self.above };
        }
        while fresh > 0 {
            screen.set_scrollback(fresh);
            let rows = view(screen, fresh);
            if rows.is_empty() {
                break;
            }
            fresh -= rows.len();
            self.scrolled.extend(rows);
        }
        screen.set_scrollback(usize::MAX);
        self.above = screen.scrollback();
        screen.set_scrollback(1);
    }
}

/// The first rows in view.
fn view(screen: &vt100::Screen, most: usize) -> Vec<Row> {
    let (_, cols) = screen.size();
    let rows = screen.rows(0, cols).take(most).enumerate();
    rows.map(|(index, mut text)| {
        text.truncate(text.trim_end().len());
        Row { text, wraps: screen.row_wrapped(index as u16) }
    })
    .collect()
}

/// How much is drawn at once. A change of modes and a reset are pieces of their own: entering the
/// other screen forgets which row was in view, and a reset forgets the rows.
fn piece_len(bytes: &[u8]) -> usize {
    let most = bytes.get(..PIECE).unwrap_or(bytes);
    for at in memchr::memchr_iter(0x1b, most) {
        let sequence = most.get(at..).unwrap_or_default();
        let alone = match sequence {
            [_, b'c', ..] => 2,
            [_, b'[', b'?', rest @ ..] => {
                3 + rest.iter().position(u8::is_ascii_alphabetic).map_or(rest.len(), |end| end + 1)
            }
            _ => continue,
        };
        return if at == 0 { alone } else { at };
    }
    most.len()
}

#[cfg(test)]
mod tests;
