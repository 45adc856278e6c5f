//! Any chunking, same lines.

use super::*;
use proptest::prelude::*;

#[derive(Debug, PartialEq, Eq, Clone)]
struct Owned {
    bytes: Vec<u8>,
    offset: u64,
    part: Part,
    newline: bool,
}

impl From<Line<'_>> for Owned {
    fn from(l: Line<'_>) -> Self {
        Owned { bytes: l.bytes.to_vec(), offset: l.offset, part: l.part, newline: l.newline }
    }
}

/// Feeds `input` in the given chunk sizes; returns the lines and all emitted bytes.
fn split(input: &[u8], chunks: &[usize], whole: usize, part: usize) -> (Vec<Owned>, Vec<u8>) {
    let mut splitter = LineSplitter::new(whole, part);
    let (mut lines, mut emitted) = (Vec::new(), Vec::new());
    let mut rest = input;
    let mut sizes = chunks.iter().cycle();
    while !rest.is_empty() {
        let space = splitter.space();
        let n = (*sizes.next().unwrap_or(&rest.len())).clamp(1, rest.len()).min(space.len());
        space[..n].copy_from_slice(&rest[..n]);
        rest = &rest[n..];
        splitter.filled(n);
        while let Some(line) = splitter.next() {
            lines.push(line.into());
        }
        emitted.extend_from_slice(splitter.emitted());
    }
    splitter.space();
    while let Some(line) = splitter.finish() {
        lines.push(line.into());
    }
    emitted.extend_from_slice(splitter.emitted());
    (lines, emitted)
}

fn rejoin(lines: &[Owned]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines {
        assert_eq!(line.offset, out.len() as u64);
        out.extend_from_slice(&line.bytes);
        if line.newline {
            out.push(b'\n');
        }
    }
    out
}

#[test]
fn lines_and_a_tail() {
    let (lines, _) = split(b"a\n\nbc\r\nd", &[3], 100, 10);
    let texts: Vec<_> = lines.iter().map(|l| (l.bytes.as_slice(), l.newline)).collect();
    assert_eq!(texts, [(&b"a"[..], true), (b"", true), (b"bc\r", true), (b"d", false)]);
}

#[test]
fn a_long_line_comes_in_parts() {
    let input = [vec![b'x'; 45], b"\nshort\n".to_vec()].concat();
    let (lines, _) = split(&input, &[7], 20, 10);
    let shape: Vec<_> = lines.iter().map(|l| (l.part, l.bytes.len(), l.newline)).collect();
    assert_eq!(
        shape,
        [
            (Part::First, 20, false),
            (Part::Middle, 10, false),
            (Part::Middle, 10, false),
            (Part::Last, 5, true),
            (Part::Whole, 5, true),
        ]
    );
}

#[test]
fn a_part_does_not_cut_a_character() {
    let input = "é".repeat(40);
    let (lines, _) = split(input.as_bytes(), &[1], 11, 9);
    assert!(lines.iter().all(|l| std::str::from_utf8(&l.bytes).is_ok()), "{lines:?}");
    assert_eq!(rejoin(&lines), input.as_bytes());
}

#[test]
fn a_long_line_is_not_moved_and_the_next_begins_in_front() {
    let mut splitter = LineSplitter::default();
    let big = vec![b'x'; 3 << 20];
    for piece in big.chunks(READ / 2) {
        let space = splitter.space();
        assert!(space.len() >= piece.len());
        space[..piece.len()].copy_from_slice(piece);
        splitter.filled(piece.len());
        assert!(splitter.next().is_none());
    }
    splitter.space()[0] = b'\n';
    splitter.filled(1);
    assert_eq!(splitter.next().map(|l| l.bytes.len()), Some(3 << 20));
    assert!(splitter.next().is_none());
    splitter.space();
    assert_eq!(splitter.end, splitter.base);
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_lines_and_loses_nothing(
        lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..12),
        chunks in prop::collection::vec(1usize..50, 1..10),
        whole in 8usize..64,
        part in 8usize..32,
    ) {
        let input = lines.join(&b'\n');
        let at_once = split(&input, &[usize::MAX], whole, part);
        let chunked = split(&input, &chunks, whole, part);
        prop_assert_eq!(&at_once.0, &chunked.0);
        prop_assert_eq!(rejoin(&chunked.0), input.clone());
        prop_assert_eq!(at_once.1, input.clone());
        prop_assert_eq!(chunked.1, input);
    }
}

proptest! {
    #[test]
    fn a_stream_that_nobody_waits_for_holds_no_more_than_half_a_character(
        input in prop::collection::vec(
            prop_oneof![any::<u8>(), Just(b'\n'), Just(0xe2), Just(0x94), Just(0x80)],
            0..200,
        ),
        chunks in prop::collection::vec(1usize..20, 1..5),
    ) {
        let mut splitter = LineSplitter::new(64, 16);
        let (mut lines, mut emitted): (Vec<Owned>, Vec<u8>) = (Vec::new(), Vec::new());
        let mut rest = input.as_slice();
        for size in chunks.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let n = (*size).min(rest.len());
            splitter.space()[..n].copy_from_slice(&rest[..n]);
            splitter.filled(n);
            rest = &rest[n..];
            while let Some(line) = splitter.next_or_held(false) {
                lines.push(line.into());
            }
            prop_assert!(splitter.held() <= 3, "{} bytes held", splitter.held());
            emitted.extend_from_slice(splitter.emitted());
        }
        splitter.space();
        while let Some(line) = splitter.next_or_held(true) {
            lines.push(line.into());
        }
        prop_assert_eq!(splitter.held(), 0);
        while let Some(line) = splitter.finish() {
            lines.push(line.into());
        }
        emitted.extend_from_slice(splitter.emitted());
        prop_assert_eq!(rejoin(&lines), input.clone());
        prop_assert_eq!(emitted, input);
    }
}
