//! Sixteen or thirty-two bytes at a time: where does a string stop being plain?
//!
//! Nine tenths of what agents write is inside of strings, so this loop is what validating costs.
//! On x86-64 it uses vector instructions: those that every such processor has, or AVX2 where the
//! processor has that.

/// A way to look at some bytes at once.
pub(super) trait Look {
    /// How many at first: keys and names are short.
    const FIRST: usize;
    /// How many when that was not enough.
    const THEN: usize;

    /// The next [`FIRST`](Self::FIRST) bytes from `at` on: a bit for each special one, and whether
    /// one is above 127. `None` where fewer are left.
    fn first(bytes: &[u8], at: usize) -> Option<(u64, bool)>;

    /// The same for [`THEN`](Self::THEN) bytes.
    fn then(bytes: &[u8], at: usize) -> Option<(u64, bool)>;
}

/// What a look led to.
enum Step {
    /// The string ends here.
    End(usize),
    /// It goes on here.
    On(usize),
}

/// From behind the opening quote of a string, `at`, to behind its closing one; `None` where it is
/// not a valid string. Notes in `high` whether a byte above 127 was seen (it may look a few bytes
/// beyond the end).
#[inline(always)]
pub(super) fn string_end<L: Look>(bytes: &[u8], mut at: usize, high: &mut bool) -> Option<usize> {
    if let Some((special, above)) = L::first(bytes, at) {
        *high |= above;
        match step(bytes, at, special, L::FIRST)? {
            Step::End(end) => return Some(end),
            Step::On(next) => at = next,
        }
        while let Some((special, above)) = L::then(bytes, at) {
            *high |= above;
            match step(bytes, at, special, L::THEN)? {
                Step::End(end) => return Some(end),
                Step::On(next) => at = next,
            }
        }
    }
    // Near the end of a line there is not enough left for a wide look.
    near_end(bytes, at, high)
}

/// [`string_end`] where the line ends soon. A function of its own: it is needed once in a line, and
/// what is above is made for each place that reads a string.
fn near_end(bytes: &[u8], mut at: usize, high: &mut bool) -> Option<usize> {
    while let Some((special, above)) = Narrow::first(bytes, at) {
        *high |= above;
        match step(bytes, at, special, Narrow::FIRST)? {
            Step::End(end) => return Some(end),
            Step::On(next) => at = next,
        }
    }
    if let Some((special, above)) = last16(bytes, at) {
        *high |= above != 0;
        return match step(bytes, at, u64::from(special), bytes.len() - at)? {
            Step::End(end) => Some(end),
            Step::On(_) => None,
        };
    }
    short_string_end(bytes, at, high)
}

/// What is left from `at` on, fewer than sixteen bytes, seen together with what stands before them:
/// the same as [`look16`]. `None` where the line is shorter than that, or nothing is left.
#[inline(always)]
fn last16(bytes: &[u8], at: usize) -> Option<(u32, u32)> {
    let (special, above) = look16(bytes.last_chunk()?);
    let before = at.checked_sub(bytes.len() - 16).filter(|before| *before < 16)?;
    Some((special >> before, above >> before))
}

/// From special byte to special byte, until the string or the block ends.
#[inline(always)]
fn step(bytes: &[u8], at: usize, mut special: u64, width: usize) -> Option<Step> {
    while special != 0 {
        let found = special.trailing_zeros() as usize;
        match *bytes.get(at + found)? {
            b'"' => return Some(Step::End(at + found + 1)),
            b'\\' => {
                let next = found + escape_len(bytes, at + found)?;
                if next >= width {
                    return Some(Step::On(at + next));
                }
                special &= u64::MAX << next;
            }
            _ => return None, // A control character has to be escaped.
        }
    }
    Some(Step::On(at + width))
}

/// A very short line, byte by byte.
fn short_string_end(bytes: &[u8], mut at: usize, high: &mut bool) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += escape_len(bytes, at)?,
            byte => {
                if byte < 0x20 {
                    return None;
                }
                *high |= byte >= 0x80;
                at += 1;
            }
        }
    }
}

/// The length of an escape by the letter behind its backslash; 0 for none.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let letters = b"\"\\/bfnrt";
    let mut i = 0;
    while i < letters.len() {
        table[letters[i] as usize] = 2;
        i += 1;
    }
    table[b'u' as usize] = 6;
    table
};

/// The length of the escape that begins with the backslash at `at`.
#[inline(always)]
fn escape_len(bytes: &[u8], at: usize) -> Option<usize> {
    match ESCAPES.get(usize::from(*bytes.get(at + 1)?))? {
        2 => Some(2),
        6 => unicode_escape_len(bytes, at),
        _ => None,
    }
}

#[cold]
fn unicode_escape_len(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit).then_some(6)
}

/// Like [`string_end`], for a string that was found valid before: only the quote matters.
#[inline(always)]
pub(super) fn valid_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    // Keys and names end within the first block.
    let block = bytes.get(at..)?.first_chunk::<16>();
    let special = match block {
        Some(block) => look16(block).0,
        None => last16(bytes, at).map_or(0, |(special, _)| special),
    };
    let found = at + special.trailing_zeros() as usize;
    if special != 0 && bytes.get(found) == Some(&b'"') {
        return Some(found + 1);
    }
    long_string_end(bytes, at)
}

fn long_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut from = at;
    loop {
        let quote = from + memchr::memchr(b'"', bytes.get(from..)?)?;
        // A quote behind an odd number of backslashes is a part of the text.
        let before = bytes.get(at..quote)?.iter().rev().take_while(|b| **b == b'\\').count();
        if before % 2 == 0 {
            return Some(quote + 1);
        }
        from = quote + 1;
    }
}

/// How many bytes [`backslashes_in`] looks at.
pub(super) const BLOCK: usize = 32;

/// A bit for each backslash.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vectors are loaded through pointers")]
#[inline(always)]
pub(super) fn backslashes_in(block: &[u8; BLOCK]) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let (low, high) = block.split_at(BLOCK / 2);
    // SAFETY: SSE2 is part of every x86-64 target. Each load reads the sixteen bytes of one half
    // and needs no alignment.
    let found = |half: &[u8]| unsafe {
        let bytes = _mm_loadu_si128(half.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x5c))).cast_unsigned()
    };
    found(low) | found(high) << 16
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn backslashes_in(block: &[u8; BLOCK]) -> u32 {
    plain_backslashes(block)
}

/// The same, byte by byte.
#[cfg(any(not(target_arch = "x86_64"), test))]
fn plain_backslashes(block: &[u8; BLOCK]) -> u32 {
    block.iter().enumerate().fold(0, |bits, (bit, byte)| bits | u32::from(*byte == b'\\') << bit)
}

/// Sixteen bytes: what every processor of the kind can do.
#[derive(Debug)]
pub(super) struct Narrow;

impl Look for Narrow {
    const FIRST: usize = 16;
    const THEN: usize = 16;

    #[inline(always)]
    fn first(bytes: &[u8], at: usize) -> Option<(u64, bool)> {
        let (special, above) = look16(bytes.get(at..)?.first_chunk()?);
        Some((u64::from(special), above != 0))
    }

    #[inline(always)]
    fn then(bytes: &[u8], at: usize) -> Option<(u64, bool)> {
        Self::first(bytes, at)
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vectors are loaded through pointers")]
#[inline(always)]
fn look16(block: &[u8; 16]) -> (u32, u32) {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };
    // SAFETY: SSE2 is part of every x86-64 target. The load reads the sixteen bytes of `block` and
    // needs no alignment.
    let (special, above) = unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast());
        let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x22));
        let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x5c));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        let special = _mm_or_si128(_mm_or_si128(quote, backslash), control);
        (_mm_movemask_epi8(special), _mm_movemask_epi8(bytes))
    };
    (special.cast_unsigned(), above.cast_unsigned())
}

#[cfg(not(target_arch = "x86_64"))]
fn look16(block: &[u8; 16]) -> (u32, u32) {
    plainly(block)
}

/// Thirty-two bytes, for processors with AVX2. Only to be used by code that is compiled for those
/// and reached after asking: see [`super::scan_within`].
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub(super) struct Wide;

#[cfg(target_arch = "x86_64")]
impl Look for Wide {
    const FIRST: usize = 32;
    const THEN: usize = 64;

    #[inline(always)]
    fn first(bytes: &[u8], at: usize) -> Option<(u64, bool)> {
        let (special, above) = look32(bytes.get(at..)?.first_chunk()?);
        Some((u64::from(special), above != 0))
    }

    #[inline(always)]
    fn then(bytes: &[u8], at: usize) -> Option<(u64, bool)> {
        let block: &[u8; 64] = bytes.get(at..)?.first_chunk()?;
        let (low, low_above) = look32(block.first_chunk()?);
        let (top, top_above) = look32(block.last_chunk()?);
        Some((u64::from(low) | u64::from(top) << 32, low_above | top_above != 0))
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vectors are loaded through pointers")]
#[inline(always)]
fn look32(block: &[u8; 32]) -> (u32, u32) {
    use std::arch::x86_64::{
        _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8,
    };
    // SAFETY: `Wide` is only used where the processor was found to have AVX2. The load reads the
    // thirty-two bytes of `block` and needs no alignment.
    let (special, above) = unsafe {
        let bytes = _mm256_loadu_si256(block.as_ptr().cast());
        let quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x22));
        let backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x5c));
        let control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
        let special = _mm256_or_si256(_mm256_or_si256(quote, backslash), control);
        (_mm256_movemask_epi8(special), _mm256_movemask_epi8(bytes))
    };
    (special.cast_unsigned(), above.cast_unsigned())
}

/// The same, byte by byte; the compiler makes vectors of it where it can.
#[cfg(any(not(target_arch = "x86_64"), test))]
fn plainly(block: &[u8]) -> (u32, u32) {
    let (mut special, mut above) = (0, 0);
    for (bit, byte) in block.iter().enumerate() {
        let is_special = *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        special |= u32::from(is_special) << bit;
        above |= u32::from(*byte >= 0x80) << bit;
    }
    (special, above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_in_every_place_is_judged_alike() {
        for byte in 0..=255 {
            for place in 0..32 {
                let mut block = [b'x'; 32];
                block[place] = byte;
                let narrow = block.first_chunk::<16>().unwrap();
                assert_eq!(look16(narrow), plainly(narrow), "{byte} at {place}");
                #[cfg(target_arch = "x86_64")]
                if std::is_x86_feature_detected!("avx2") {
                    assert_eq!(look32(&block), plainly(&block), "{byte} at {place}");
                }
                assert_eq!(backslashes_in(&block), plain_backslashes(&block), "{byte} at {place}");
            }
        }
    }

    #[test]
    fn the_end_is_found_wherever_it_is() {
        for length in 0..70 {
            for escape in ["", "\\n", "\\\"", "\\\\", "\\u00e9", "\\n\\\\\\\""] {
                for behind in ["", "more \" behind, quite a lot of it"] {
                    let text = format!("{}{escape}\"{behind}", "a".repeat(length));
                    let end = length + escape.len() + 1;
                    let mut high = false;
                    assert_eq!(
                        string_end::<Narrow>(text.as_bytes(), 0, &mut high),
                        Some(end),
                        "{text}"
                    );
                    assert!(!high);
                    assert_eq!(valid_string_end(text.as_bytes(), 0), Some(end), "{text}");
                }
            }
            for broken in ["", "\n\"", "\\", "\\q\"", "\\u12g4\"", "\\\""] {
                let text = format!("{}{broken}", "a".repeat(length));
                assert_eq!(string_end::<Narrow>(text.as_bytes(), 0, &mut false), None, "{text}");
            }
            let mut high = false;
            string_end::<Narrow>(format!("{}é\"", "a".repeat(length)).as_bytes(), 0, &mut high);
            assert!(high);
        }
    }
}
