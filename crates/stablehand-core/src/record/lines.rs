//! A log, cut into its lines in bounded memory, whatever it holds.
//!
//! Owns the bound on one line and what becomes of a longer one. It reads no file: whoever has one
//! fills [`LogLines::space`]. What a line means is [`super::Record::read`]'s.

use crate::line::{Line, LineSplitter, PART, Part};

/// The longest line that is read. The longest record is a line of the agent's or a payload of
/// 4 MiB with its frame; prompts that are told may be longer, but are seldom a book.
pub const LONGEST: usize = 16 << 20;

/// So much of a longer line is shown to whoever reads: enough to see what it was.
const GLIMPSE: usize = 4096;

/// Cuts the bytes of a log into lines.
///
/// Of a line that is longer than the bound only the beginning is handed out, once, so that it is
/// counted as the one broken line that it is; everything after it is read as if it were not there.
#[derive(Debug)]
pub struct LogLines {
    splitter: LineSplitter,
}

impl Default for LogLines {
    fn default() -> Self {
        LogLines::up_to(LONGEST)
    }
}

impl LogLines {
    /// With a bound of its own; tests use small ones.
    pub fn up_to(longest: usize) -> Self {
        LogLines { splitter: LineSplitter::new(longest, PART.min(longest)) }
    }

    /// Room for the next read.
    pub fn space(&mut self) -> &mut [u8] {
        self.splitter.space()
    }

    /// Says that `n` bytes were put into the space.
    pub fn filled(&mut self, n: usize) {
        self.splitter.filled(n);
    }

    /// Hands out the lines that are complete, without their newlines; empty ones are left out.
    ///
    /// # Errors
    ///
    /// What `take` fails with; the lines that it has not had are lost.
    pub fn each<E>(&mut self, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        while let Some(line) = self.splitter.next() {
            hand_out(&line, &mut take)?;
        }
        Ok(())
    }

    /// The end of the log: hands out what is left without a newline.
    ///
    /// # Errors
    ///
    /// What `take` fails with.
    pub fn finish<E>(&mut self, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        while let Some(line) = self.splitter.finish() {
            hand_out(&line, &mut take)?;
        }
        Ok(())
    }
}

fn hand_out<E>(line: &Line<'_>, take: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let shown = match line.part {
        Part::Whole => line.bytes,
        Part::First => line.bytes.get(..GLIMPSE).unwrap_or(line.bytes),
        Part::Middle | Part::Last => return Ok(()),
    };
    if shown.is_empty() { Ok(()) } else { take(shown) }
}
