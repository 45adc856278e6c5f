//! What the fuzz targets share: feeding bytes to the splitter in chunks that the input chooses.
//!
//! Owns no property; each target in `targets/` states its own.

use stablehand_core::{Line, LineSplitter, Part};

/// How the input wants to be cut.
#[derive(Clone, Copy, Debug)]
pub struct Cutting {
    /// Lines up to this length come whole.
    pub whole: usize,
    /// The length of the parts of longer ones.
    pub part: usize,
    /// The seed of the sizes in which the bytes come.
    pub chunks: u8,
}

impl Cutting {
    /// Takes three bytes off the end of the input to cut the rest by, so that a recorded stream
    /// is a good input as it is.
    pub fn take(input: &[u8]) -> (Cutting, &[u8]) {
        match input {
            [rest @ .., whole, part, chunks] => {
                // Most agents' lines have some hundred bytes; both whole ones and parts are wanted.
                let whole = usize::from(*whole) * 16;
                (Cutting { whole, part: usize::from(*part), chunks: *chunks }, rest)
            }
            short => (Cutting { whole: 64, part: 8, chunks: 1 }, short),
        }
    }

    /// The same lines, with all bytes at once.
    #[must_use]
    pub fn at_once(self) -> Cutting {
        Cutting { chunks: 0, ..self }
    }
}

/// A line that was copied out of the splitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The bytes, without the newline.
    pub bytes: Vec<u8>,
    /// Where it begins.
    pub offset: u64,
    /// Which part of a line.
    pub part: Part,
    /// Whether a newline ended it.
    pub newline: bool,
}

impl Owned {
    /// As it was lent.
    pub fn line(&self) -> Line<'_> {
        let Owned { bytes, offset, part, newline } = self;
        Line { bytes, offset: *offset, part: *part, newline: *newline }
    }
}

impl From<Line<'_>> for Owned {
    fn from(line: Line<'_>) -> Self {
        let Line { bytes, offset, part, newline } = line;
        Owned { bytes: bytes.to_vec(), offset, part, newline }
    }
}

/// Splits `bytes` as told. Gives the lines, and the bytes that would have been passed on.
pub fn split(bytes: &[u8], cutting: Cutting) -> (Vec<Owned>, Vec<u8>) {
    let mut splitter = LineSplitter::new(cutting.whole, cutting.part);
    let (mut lines, mut passed) = (Vec::new(), Vec::new());
    let mut rest = bytes;
    let mut state = u32::from(cutting.chunks);
    while !rest.is_empty() {
        let wanted = if cutting.chunks == 0 {
            rest.len()
        } else {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (state >> 16) as usize % (usize::from(cutting.chunks) + 1) + 1
        };
        let space = splitter.space();
        let n = wanted.min(rest.len()).min(space.len());
        assert!(n > 0, "the splitter has no room");
        space[..n].copy_from_slice(&rest[..n]);
        rest = &rest[n..];
        splitter.filled(n);
        while let Some(line) = splitter.next() {
            lines.push(line.into());
        }
        passed.extend_from_slice(splitter.emitted());
    }
    splitter.space();
    while let Some(line) = splitter.finish() {
        lines.push(line.into());
    }
    passed.extend_from_slice(splitter.emitted());
    (lines, passed)
}

/// The stream that the lines were cut from.
pub fn rejoin(lines: &[Owned]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines {
        assert_eq!(line.offset, out.len() as u64, "a line is not where the last one ended");
        out.extend_from_slice(&line.bytes);
        if line.newline {
            out.push(b'\n');
        }
    }
    out
}
