//! Scanning lines that are like the line before.
//!
//! Nine of ten lines of a stream differ from the last of their kind in one text and one number. A
//! [`Memo`] remembers a line of each of a few kinds and what was found in it. Where a new line has
//! the same bytes up to somewhere within a string, then a valid string, then the same bytes but for
//! the digits of its last number, it is JSON of the same shape, and only its string has to be
//! looked at. Anything else is scanned as ever; a property test holds the two together.
//!
//! What it brings, counted by callgrind (a line split, scanned and skimmed; one recording of each
//! agent, repeated): Cursor 1,447 instructions a line instead of 1,968, but Gemini 2,905 instead of
//! 2,609.

use super::block::{self, Look};
use super::{MAX_DEPTH, Object, Scan, Span, scan_into};

/// Longer lines are not remembered: copying them would cost what it saves.
const LONGEST: usize = 512;

/// So many lines in a row have to be of another shape before one of them is remembered.
const PATIENCE: u32 = 4;

/// How many kinds of lines are told apart: no agent has more that are frequent.
const KINDS: usize = 16;

/// A line of each kind.
#[derive(Debug, Default)]
pub struct Memo {
    kinds: [Last; KINDS],
}

/// A line of one kind, the last that had to be looked at whole, and where its members are.
#[derive(Debug, Default)]
struct Last {
    line: Vec<u8>,
    spans: Vec<Span>,
    /// The string in which a line was last found to differ from it, from quote to behind the other.
    parted: (usize, usize),
    /// Where its last member is a whole number: where that begins.
    number_at: Option<usize>,
    /// How many lines in a row were not like it.
    misses: u32,
}

impl Memo {
    /// Looks at a line: the same as [`scan`](super::scan).
    #[inline]
    pub fn scan<'a>(&mut self, line: &'a [u8]) -> Scan<'a> {
        let mut found = Scan::Object(Object::empty(line));
        self.scan_into(line, &mut found);
        found
    }

    /// Into what is an empty object of the same line.
    #[inline]
    fn scan_into<'a>(&mut self, line: &'a [u8], found: &mut Scan<'a>) {
        let Some(last) = self.kinds.get_mut(kind(line)).filter(|_| line.len() <= LONGEST) else {
            return scan_into(line, MAX_DEPTH, found);
        };
        if let Scan::Object(object) = &mut *found
            && last.recall(line, object).is_some()
        {
            last.misses = 0;
            return;
        }
        scan_into(line, MAX_DEPTH, found);
        last.misses = last.misses.wrapping_add(1);
        // One line in between does not displace what most are like, and lines that are never alike
        // are remembered ever more seldom.
        if (last.line.is_empty() || last.misses >= PATIENCE && last.misses.is_power_of_two())
            && let Scan::Object(object) = &*found
            && object.many.is_empty()
        {
            last.remember(line, object.spans());
        }
    }
}

/// Which kind a line is taken for: by the bytes where agents put the value of the first member. A
/// wrong guess costs a full look, nothing else.
#[inline]
fn kind(line: &[u8]) -> usize {
    let word = line.get(8..16).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
    (u64::from_le_bytes(word).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize % KINDS
}

impl Last {
    fn remember(&mut self, line: &[u8], spans: &[Span]) {
        self.line.clear();
        self.line.extend_from_slice(line);
        self.spans.clear();
        self.spans.extend_from_slice(spans);
        self.parted = (0, 0);
        let last = spans.last().filter(|span| is_number(line, **span));
        self.number_at = last.map(|span| span.value.0 as usize);
    }

    /// The string within which a place is. Keys of the object itself are none: a line with another
    /// key is of another kind.
    #[inline(never)]
    fn string_around(&self, place: usize) -> Option<(usize, usize)> {
        let span = self.spans.iter().find(|span| place < span.value.1 as usize)?;
        let mut at = span.value.0 as usize;
        while at < place {
            let from = at;
            at += 1;
            if self.line.get(from) == Some(&b'"') {
                at = block::valid_string_end(&self.line, from + 1)?;
                if place < at {
                    return Some((from, at));
                }
            }
        }
        None
    }

    #[inline]
    fn recall(&mut self, line: &[u8], object: &mut Object<'_>) -> Option<()> {
        let same = common_prefix(&self.line, line);
        if same == line.len() && same == self.line.len() && same > 0 {
            for (slot, span) in object.few.iter_mut().zip(&self.spans) {
                *slot = *span;
            }
            object.len = self.spans.len();
            return Some(());
        }
        if same <= self.parted.0 || same >= self.parted.1 {
            // It is mostly the same string.
            self.parted = self.string_around(same)?;
        }
        let (from, old_end) = self.parted;
        let mut high = false;
        let end = string_end(line, from + 1, &mut high)?;
        if high && simdutf8::basic::from_utf8(line.get(from..end)?).is_err() {
            return None;
        }
        if !self.ends_alike(old_end, line.get(end..)?) {
            return None;
        }
        let shift = |at: u32| at.wrapping_add(end as u32).wrapping_sub(old_end as u32);
        for (slot, span) in object.few.iter_mut().zip(&self.spans) {
            *slot = *span;
            // What ends behind the string has moved, and what begins there.
            if span.value.1 as usize >= old_end {
                slot.value.1 = shift(span.value.1);
                if span.value.0 as usize >= old_end {
                    slot.value.0 = shift(span.value.0);
                    slot.key = (shift(span.key.0), shift(span.key.1));
                }
            }
        }
        object.len = self.spans.len();
        Some(())
    }

    /// Whether the rest of a line, from `old_end` on in the one that is remembered, is the same but
    /// for digits of the number that ends it. Its first digit has to be the same, so that no number
    /// gets a leading zero.
    #[inline]
    fn ends_alike(&self, old_end: usize, new: &[u8]) -> bool {
        let old = self.line.get(old_end..).unwrap_or_default();
        if old.len() != new.len() {
            return false;
        }
        let same = common_prefix(old, new);
        let differs = new.get(same..).unwrap_or_default();
        differs.is_empty()
            || (self.number_at.is_some_and(|number| old_end + same > number)
                && matches!(differs, [digits @ .., b'}'] if digits.iter().all(u8::is_ascii_digit)))
    }
}

/// Whether a member's value is a number that ends right before the last brace.
fn is_number(line: &[u8], span: Span) -> bool {
    span.value.1 as usize + 1 == line.len()
        && line
            .get(span.value.0 as usize..span.value.1 as usize)
            .is_some_and(|value| value.iter().all(u8::is_ascii_digit))
}

/// How many bytes two lines have in common at their beginning.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    // By blocks that the compiler compares as vectors, then by words.
    while let (Some(x), Some(y)) = (chunk::<32>(a, at), chunk::<32>(b, at)) {
        if x != y {
            break;
        }
        at += 32;
    }
    while let (Some(x), Some(y)) = (chunk::<8>(a, at), chunk::<8>(b, at)) {
        let differs = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differs != 0 {
            return at + differs.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = a.iter().zip(b).skip(at);
    at + rest.take_while(|(x, y)| x == y).count()
}

#[inline]
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

fn string_end(line: &[u8], at: usize, high: &mut bool) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if super::has_wide_vectors() {
        #[expect(unsafe_code, reason = "the compiler cannot know what the processor has")]
        // SAFETY: the processor has just been asked.
        return unsafe { string_end_wide(line, at, high) };
    }
    string_end_by::<block::Narrow>(line, at, high)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1")]
fn string_end_wide(line: &[u8], at: usize, high: &mut bool) -> Option<usize> {
    string_end_by::<block::Wide>(line, at, high)
}

#[inline(always)]
fn string_end_by<L: Look>(line: &[u8], at: usize, high: &mut bool) -> Option<usize> {
    block::string_end::<L>(line, at, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan;
    use proptest::prelude::*;

    fn describe(scan: &Scan<'_>) -> String {
        match scan {
            Scan::Object(object) => {
                let members = object.members().map(|(k, v)| {
                    format!(
                        "{:?}={:?}",
                        String::from_utf8_lossy(k),
                        String::from_utf8_lossy(v.raw())
                    )
                });
                members.collect::<Vec<_>>().join(" ")
            }
            other => format!("{other:?}"),
        }
    }

    /// Lets every line be remembered at once.
    fn impatient(memo: &mut Memo) {
        for last in &mut memo.kinds {
            last.misses = PATIENCE - 1;
        }
    }

    fn all_agree(lines: &[Vec<u8>]) {
        let mut memo = Memo::default();
        for line in lines {
            let text = String::from_utf8_lossy(line);
            impatient(&mut memo);
            assert_eq!(describe(&memo.scan(line)), describe(&scan(line)), "{text}");
        }
    }

    #[test]
    fn lines_that_are_nearly_alike() {
        let lines = [
            r#"{"t":"x","text":"one","id":"s","ms":1000}"#,
            r#"{"t":"x","text":"another","id":"s","ms":1999}"#,
            r#"{"t":"x","text":"","id":"s","ms":1000}"#,
            r#"{"t":"x","text":"a\"b","id":"s","ms":0999}"#,
            r#"{"t":"x","text":"a\"b","id":"s","ms":1e99}"#,
            r#"{"t":"x","text":"a\q","id":"s","ms":1000}"#,
            r#"{"t":"x","text":"unended,"id":"s","ms":1000}"#,
            r#"{"t":"x","text":"é","id":"s","ms":1001}"#,
            r#"{"t":"x","text":"one","id":"s","ms":1001}x"#,
            r#"{"t":"x","text":"one","id":"s","ms":100x}"#,
            r#"{"t":"x","text":"one","id":"s","ms":"1001"}"#,
            r#"{"t":"x","text":"one","id":"s","ms":"1002"}"#,
            r#"{"t":"x","text":1,"id":"s","ms":1001}"#,
            r#"{"t":"x"}"#,
            "",
            "noise",
            r#"{"t":"y"}"#,
            r#"{"t":"y","n":-10}"#,
            r#"{"t":"z","n":-11}"#,
            r#"{"t":"z","n":10}"#,
            r#"{"t":"w","n":00}"#,
            r#"{"t":"w","n":[10]}"#,
            r#"{"t":"v","n":[11]}"#,
            r#"{"t":"a","m":{"c":[{"text":"one","k":1}]},"id":"s","ms":15}"#,
            r#"{"t":"a","m":{"c":[{"text":"another","k":1}]},"id":"s","ms":16}"#,
            r#"{"t":"a","m":{"c":[{"texts":"another","k":1}]},"id":"s","ms":17}"#,
            r#"{"t":"a","m":{"c":[{"texts":"an\"other","k":1}]},"id":"s","ms":18}"#,
            r#"{"t":"a","n":{"c":[{"texts":"an\"other","k":1}]},"id":"s","ms":18}"#,
            r#"{"t":"a","n":{"c":[{"texts":"an\"other","k":1}]},"id":"t","ms":19}"#,
            r#"{"t":"a","n":{"c":[{"texts":"an","k":1}},"id":"t","ms":19}"#,
        ];
        let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        all_agree(&lines);
        let mut binary = lines.clone();
        binary.insert(1, b"{\"t\":\"x\",\"text\":\"\xff\",\"id\":\"s\",\"ms\":1001}".to_vec());
        all_agree(&binary);
    }

    #[test]
    fn what_is_like_the_last_line_is_recalled() {
        let mut memo = Memo::default();
        let other = br#"{"t":"x","text":"one","id":"s","ms":1000}"#;
        memo.scan(other);
        let identical = memo.kinds[kind(other)].recall(other, &mut Object::empty(other));
        assert!(identical.is_some());
        let line = br#"{"t":"x","text":"quite another","id":"s","ms":1234}"#;
        assert!(memo.kinds[kind(line)].recall(line, &mut Object::empty(line)).is_some());
        let Scan::Object(object) = memo.scan(line) else { panic!("it is an object") };
        assert_eq!(object.get("ms").and_then(crate::json::Value::u64), Some(1234));
    }

    proptest! {
        #[test]
        fn it_says_what_a_fresh_look_says(
            texts in prop::collection::vec(("[a-z\"\\\\é ]{0,40}", 0u32..2000, 0u8..6), 1..12),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            victim in any::<prop::sample::Index>(),
        ) {
            let mut lines: Vec<Vec<u8>> = texts
                .iter()
                .map(|(text, n, shape)| match shape {
                    0 => format!(r#"{{"type":"msg","m":{{"c":[{{"text":"{text}"}}]}},"ms":{n}}}"#),
                    1..4 => format!(r#"{{"type":"delta","text":"{text}","id":"abc-def","ms":{n}}}"#),
                    4 => format!(r#"{{"type":"other","n":{n}}}"#),
                    _ => text.clone(),
                })
                .map(String::into_bytes)
                .collect();
            let victim = victim.index(lines.len());
            if let Some(line) = lines.get_mut(victim).filter(|line| !line.is_empty()) {
                let at = at.index(line.len());
                line[at] = byte;
            }
            all_agree(&lines);
        }
    }
}
