//! From chunks to lines, with nothing lost and nothing held for long.
//!
//! Owns the one buffer that the agent's bytes are read into and the cutting at newlines. Any
//! chunking of the same bytes gives the same lines: that is a property test. It does not read
//! (the driver fills [`LineSplitter::space`]) and does not look inside a line ([`crate::json`]).
//!
//! A line longer than [`LineSplitter::whole_limit`] is never held whole: it comes in parts that are
//! cut by its content alone. `docs/log-format.md` says how the parts are written down.

/// Lines up to this length are held whole. The longest that an agent was seen to write is about
/// one megabyte (a tool result with an image).
pub const WHOLE_LIMIT: usize = 4 << 20;

/// The length of the parts of a longer line.
pub const PART: usize = 64 << 10;

/// How much one read may bring. The agent's pipe is enlarged to a megabyte where that is allowed;
/// a quarter of it keeps the buffer in the cache.
pub const READ: usize = 256 << 10;

/// Reads into memory that begins at a page cost a third of those at the offset that `malloc` gives
/// to large blocks (measured on AMD; no difference elsewhere).
const PAGE: usize = 4096;

/// A line, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The bytes, without the newline.
    pub bytes: &'a [u8],
    /// Where it begins in the stream.
    pub offset: u64,
    /// Which part of a line this is.
    pub part: Part,
    /// Whether a newline ended it; false for all parts but the last.
    pub newline: bool,
}

/// Which part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole of it.
    Whole,
    /// The beginning of a line that is too long to be held.
    First,
    /// More of it.
    Middle,
    /// The end of it.
    Last,
}

/// Cuts a stream of bytes into lines.
///
/// The owner reads into [`space`](Self::space), says how much came with
/// [`filled`](Self::filled), takes lines with [`next`](Self::next) until there is none, and may
/// then pass on [`emitted`](Self::emitted): all the bytes of those lines at once.
pub struct LineSplitter {
    buffer: Vec<u8>,
    /// The first byte that has not been emitted.
    start: usize,
    /// Where `emitted` begins.
    passed: usize,
    /// Up to here there is no newline, as far as we know.
    scanned: usize,
    /// The end of the bytes.
    end: usize,
    /// Aligned beginning of the usable part of `buffer`.
    base: usize,
    /// Position of `start` in the stream.
    offset: u64,
    inside_long_line: bool,
    whole_limit: usize,
    part: usize,
}

impl std::fmt::Debug for LineSplitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineSplitter")
            .field("offset", &self.offset)
            .field("held", &(self.end - self.start))
            .field("inside_long_line", &self.inside_long_line)
            .finish_non_exhaustive()
    }
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::new(WHOLE_LIMIT, PART)
    }
}

impl LineSplitter {
    /// A splitter with limits of its own; tests use small ones.
    pub fn new(whole_limit: usize, part: usize) -> Self {
        let part = part.max(8);
        let whole_limit = whole_limit.max(part);
        // Pages that nobody writes to cost nothing, so there is room for the longest line at once.
        let buffer = vec![0u8; whole_limit + 2 * READ + PAGE];
        let base = buffer.as_ptr().align_offset(PAGE);
        let base = if base < PAGE { base } else { 0 };
        LineSplitter {
            buffer,
            start: base,
            passed: base,
            scanned: base,
            end: base,
            base,
            offset: 0,
            inside_long_line: false,
            whole_limit,
            part,
        }
    }

    /// Lines up to this length come whole.
    pub fn whole_limit(&self) -> usize {
        self.whole_limit
    }

    /// Room for the next read. Forgets what was emitted.
    pub fn space(&mut self) -> &mut [u8] {
        self.passed = self.start;
        let held = self.end - self.start;
        let used = self.end - self.base;
        if held == 0 {
            self.rewind();
        } else if (used > READ / 2 && held < READ / 8) || self.buffer.len() - self.end < READ / 4 {
            // Back to the beginning with what is held: little, or all that there is room for. A
            // long line stays where it is, and only then are the further pages used at all.
            self.buffer.copy_within(self.start..self.end, self.base);
            self.scanned -= self.start - self.base;
            self.rewind_to(held);
        }
        let (from, to) = (self.end, self.buffer.len().min(self.end + READ));
        self.buffer.get_mut(from..to).unwrap_or_default()
    }

    /// Says that `n` bytes were put into the space.
    pub fn filled(&mut self, n: usize) {
        self.end = (self.end + n).min(self.buffer.len());
    }

    /// The next line or part, where one is complete.
    #[expect(clippy::should_implement_trait, reason = "it lends; an iterator could not")]
    #[inline]
    pub fn next(&mut self) -> Option<Line<'_>> {
        let fresh = self.buffer.get(self.scanned..self.end)?;
        if let Some(found) = memchr::memchr(b'\n', fresh) {
            let newline = self.scanned + found;
            return Some(self.take_to(newline));
        }
        self.scanned = self.end;
        let held = self.end - self.start;
        if held > self.cut_limit() {
            return Some(self.cut_part());
        }
        None
    }

    /// Like [`next`](Self::next), but where no line is complete what there is of it, as a part: for
    /// streams that nobody may wait for. A character that is not complete is held back, unless
    /// `all` of it is wanted.
    pub fn next_or_held(&mut self, all: bool) -> Option<Line<'_>> {
        let held = self.buffer.get(self.start..self.end)?;
        if held.len() > self.cut_limit() || memchr::memchr(b'\n', held).is_some() {
            return self.next();
        }
        let len = if all { held.len() } else { whole_characters(held) };
        (len > 0).then(|| self.take_part(len))
    }

    /// The end of the stream: what is left, without its newline.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        if self.start == self.end {
            // A long line whose last byte was just cut off still has to be closed.
            if !self.inside_long_line {
                return None;
            }
            self.inside_long_line = false;
            return Some(Line {
                bytes: &[],
                offset: self.offset,
                part: Part::Last,
                newline: false,
            });
        }
        if self.end - self.start > self.cut_limit() {
            return Some(self.cut_part());
        }
        let part = if self.inside_long_line { Part::Last } else { Part::Whole };
        self.inside_long_line = false;
        let (from, to, offset) = (self.start, self.end, self.offset);
        self.offset += (to - from) as u64;
        self.start = to;
        self.scanned = to;
        let bytes = self.buffer.get(from..to).unwrap_or_default();
        Some(Line { bytes, offset, part, newline: false })
    }

    /// All bytes of the lines that came since the last [`space`](Self::space), newlines too.
    pub fn emitted(&self) -> &[u8] {
        self.buffer.get(self.passed..self.start).unwrap_or_default()
    }

    /// How many bytes wait for their newline.
    pub fn held(&self) -> usize {
        self.end - self.start
    }

    fn cut_limit(&self) -> usize {
        if self.inside_long_line { self.part } else { self.whole_limit }
    }

    #[inline]
    fn take_to(&mut self, newline: usize) -> Line<'_> {
        if newline - self.start > self.cut_limit() {
            // The newline is in sight, but the parts must not depend on how the bytes came.
            return self.cut_part();
        }
        let part = if self.inside_long_line { Part::Last } else { Part::Whole };
        self.inside_long_line = false;
        let (from, offset) = (self.start, self.offset);
        self.start = newline + 1;
        self.scanned = self.start;
        self.offset += (self.start - from) as u64;
        let bytes = self.buffer.get(from..newline).unwrap_or_default();
        Line { bytes, offset, part, newline: true }
    }

    fn cut_part(&mut self) -> Line<'_> {
        let from = self.start;
        let window = self.buffer.get(from..from + self.cut_limit()).unwrap_or_default();
        self.take_part(character_boundary(window))
    }

    fn take_part(&mut self, len: usize) -> Line<'_> {
        let part = if self.inside_long_line { Part::Middle } else { Part::First };
        let (from, to) = (self.start, self.start + len);
        let offset = self.offset;
        self.inside_long_line = true;
        self.start = to;
        self.scanned = self.scanned.max(to).min(self.end);
        self.offset += (to - from) as u64;
        let bytes = self.buffer.get(from..to).unwrap_or_default();
        Line { bytes, offset, part, newline: false }
    }

    fn rewind(&mut self) {
        self.rewind_to(0);
        self.scanned = self.base;
    }

    fn rewind_to(&mut self, held: usize) {
        self.start = self.base;
        self.passed = self.base;
        self.end = self.base + held;
    }
}

/// Like [`character_boundary`], but nothing where all there is may become a character.
fn whole_characters(held: &[u8]) -> usize {
    match held {
        [0xc0..=0xf7] | [0xe0..=0xf7, 0x80..=0xbf] | [0xf0..=0xf7, 0x80..=0xbf, 0x80..=0xbf] => 0,
        _ => character_boundary(held),
    }
}

/// The length of `window` without a character that its end cuts in two; the whole of it where it
/// is not UTF-8 anyway.
fn character_boundary(window: &[u8]) -> usize {
    let len = window.len();
    for back in 1..=3.min(len.saturating_sub(1)) {
        match window.get(len - back) {
            Some(0x80..=0xbf) => {}
            Some(0xc0..=0xdf) if back < 2 => return len - back,
            Some(0xe0..=0xef) if back < 3 => return len - back,
            Some(0xf0..=0xf7) if back < 4 => return len - back,
            _ => return len,
        }
    }
    len
}

#[cfg(test)]
mod tests;
