//! Sixteen or thirty-two bytes at a time: where does a string stop being plain?
//!
//! Nine tenths of what agents write is inside of strings, so this loop is what validating costs.
//! On x86-64 it uses vector instructions: those that every such processor has, or AVX2 where the
//! processor has that.

/// A way to look at some bytes at once.
pub(super) trait Look {
    /// How many at first: keys and names are short.
    const FIRST: usize;

    /// The next [`FIRST`](Self::FIRST) bytes from `at` on: a bit for each special one, and whether
    /// one is above 127. `None` where fewer are left.
    fn first(bytes: &[u8], at: usize) -> Option<(u64, bool)>;

    /// What is left from `at` on, fewer bytes than that, seen together with what stands before
    /// them. `None` where the line is shorter, or more is left.
    fn last(bytes: &[u8], at: usize) -> Option<(u64, bool)>;

    /// Goes on from there as far as whole blocks go.
    fn onward(bytes: &[u8], at: usize, high: &mut bool) -> Option<Step>;
}

/// What a look led to.
pub(super) enum Step {
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
        match L::onward(bytes, at, high)? {
            Step::End(end) => return Some(end),
            Step::On(next) => at = next,
        }
    }
    // Near the end of a line there is not enough left for a wide look from here on.
    if let Some((special, above)) = L::last(bytes, at) {
        *high |= above;
        return match step(bytes, at, special, bytes.len() - at)? {
            Step::End(end) => Some(end),
            Step::On(_) => None,
        };
    }
    near_end(bytes, at, high)
}

/// [`string_end`] where the line ends soon. A function of its own: it is needed once in a line, and
/// what is above is made for each place that reads a string.
fn near_end(bytes: &[u8], at: usize, high: &mut bool) -> Option<usize> {
    let at = match Narrow::onward(bytes, at, high)? {
        Step::End(end) => return Some(end),
        Step::On(next) => next,
    };
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

/// A bit for each backslash of sixteen bytes or a few times as many.
#[inline(always)]
pub(super) fn backslashes_in<const N: usize>(block: &[u8; N]) -> u64 {
    let parts = block.as_chunks::<16>().0.iter().enumerate();
    parts.fold(0, |bits, (n, part)| bits | u64::from(backslashes_in16(part)) << (16 * n))
}

#[inline(always)]
fn backslashes_in16(block: &[u8; 16]) -> u32 {
    backslashes_and_high(block).0
}

/// A bit for each backslash, and one for each byte above 127.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vectors are loaded through pointers")]
#[inline(always)]
pub(super) fn backslashes_and_high(block: &[u8; 16]) -> (u32, u32) {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: SSE2 is part of every x86-64 target. The load reads the sixteen bytes of `block` and
    // needs no alignment.
    let (found, above) = unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast());
        let found = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x5c));
        (_mm_movemask_epi8(found), _mm_movemask_epi8(bytes))
    };
    (found.cast_unsigned(), above.cast_unsigned())
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn backslashes_and_high(block: &[u8; 16]) -> (u32, u32) {
    (plain_backslashes(block), plainly(block).1)
}

/// The same, byte by byte.
#[cfg(any(not(target_arch = "x86_64"), test))]
fn plain_backslashes(block: &[u8]) -> u32 {
    block.iter().enumerate().fold(0, |bits, (bit, byte)| bits | u32::from(*byte == b'\\') << bit)
}

/// Sixteen bytes: what every processor of the kind can do.
#[derive(Debug)]
pub(super) struct Narrow;

impl Look for Narrow {
    const FIRST: usize = 16;

    #[inline(always)]
    fn first(bytes: &[u8], at: usize) -> Option<(u64, bool)> {
        let (special, above) = look16(bytes.get(at..)?.first_chunk()?);
        Some((u64::from(special), above != 0))
    }

    #[inline(always)]
    fn last(bytes: &[u8], at: usize) -> Option<(u64, bool)> {
        let (special, above) = last16(bytes, at)?;
        Some((u64::from(special), above != 0))
    }

    #[inline(always)]
    fn onward(bytes: &[u8], mut at: usize, high: &mut bool) -> Option<Step> {
        while let Some((special, above)) = Self::first(bytes, at) {
            *high |= above;
            match step(bytes, at, special, Self::FIRST)? {
                Step::End(end) => return Some(Step::End(end)),
                Step::On(next) => at = next,
            }
        }
        Some(Step::On(at))
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

    #[inline(always)]
    fn first(bytes: &[u8], at: usize) -> Option<(u64, bool)> {
        let (special, above) = look32(bytes.get(at..)?.first_chunk()?);
        Some((u64::from(special), above != 0))
    }

    #[inline(always)]
    fn last(bytes: &[u8], at: usize) -> Option<(u64, bool)> {
        let (special, above) = look32(bytes.last_chunk()?);
        let before = at.checked_sub(bytes.len() - 32).filter(|before| *before < 32)?;
        Some((u64::from(special >> before), above >> before != 0))
    }

    /// Sixty-four bytes at a time, and no branch for each escape: where they come nobody can
    /// foretell, the processor neither.
    #[inline(always)]
    fn onward(bytes: &[u8], mut at: usize, high: &mut bool) -> Option<Step> {
        let mut above = 0;
        // 1 where the block begins with the letter of an escape.
        let mut carry = 0;
        while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<64>) {
            let (low, top): (&[u8; 32], &[u8; 32]) = (block.first_chunk()?, block.last_chunk()?);
            let both = |low: u32, top: u32| u64::from(low) | u64::from(top) << 32;
            let (low_look, top_look) = (look32(low), look32(top));
            above |= low_look.1 | top_look.1;
            let mut stops = both(low_look.0, top_look.0);
            if stops | carry == 0 {
                at += 64;
                continue;
            }
            let backslashes = both(equal32(low, b'\\'), equal32(top, b'\\'));
            let (begins, escaped) = escapes(backslashes, carry);
            stops &= !(backslashes | escaped);
            let before = stops.wrapping_sub(1) & !stops;
            // Nearly all escapes are the ends of lines; then there is no need to ask for others.
            let letters = escaped & before & !both(equal32(low, b'n'), equal32(top, b'n'));
            if letters != 0 && letters & !both(letters32(low), letters32(top)) != 0 {
                // Four digits, or no escape at all; and a control character may be behind it.
                match narrowly(bytes, at - carry as usize, at + 64, high)? {
                    Step::End(end) => {
                        *high |= above != 0;
                        return Some(Step::End(end));
                    }
                    Step::On(next) => at = next,
                }
                carry = 0;
                continue;
            }
            if stops != 0 {
                *high |= above != 0;
                let found = at + stops.trailing_zeros() as usize;
                // A control character has to be escaped.
                return (bytes.get(found) == Some(&b'"')).then_some(Step::End(found + 1));
            }
            carry = begins >> 63;
            at += 64;
        }
        *high |= above != 0;
        Some(Step::On(at - carry as usize))
    }
}

/// From `at` on to `until` or a little further, sixteen bytes at a time.
#[cfg(target_arch = "x86_64")]
#[cold]
fn narrowly(bytes: &[u8], mut at: usize, until: usize, high: &mut bool) -> Option<Step> {
    while at < until
        && let Some((special, above)) = Narrow::first(bytes, at)
    {
        *high |= above;
        match step(bytes, at, special, Narrow::FIRST)? {
            Step::End(end) => return Some(Step::End(end)),
            Step::On(next) => at = next,
        }
    }
    Some(Step::On(at))
}

/// Of the backslashes in a block, which begin an escape, and which bytes are the second of one. The
/// first byte is one where `carry` is 1. Of some backslashes in a row every other begins an escape;
/// a subtraction finds which, since its borrow runs through the row.
#[cfg(any(target_arch = "x86_64", test))]
#[inline(always)]
pub(super) fn escapes(backslashes: u64, carry: u64) -> (u64, u64) {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let may_begin = backslashes & !carry;
    let alternating = ((may_begin << 1 | ODD).wrapping_sub(may_begin)) ^ ODD;
    (alternating & backslashes, alternating ^ (backslashes | carry))
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

/// A bit for each byte that is this one.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vectors are loaded through pointers")]
#[inline(always)]
fn equal32(block: &[u8; 32], byte: u8) -> u32 {
    use std::arch::x86_64::{
        _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8,
    };
    // SAFETY: `Wide` is only used where the processor was found to have AVX2. The load reads the
    // thirty-two bytes of `block` and needs no alignment.
    let found = unsafe {
        let bytes = _mm256_loadu_si256(block.as_ptr().cast());
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte.cast_signed())))
    };
    found.cast_unsigned()
}

/// The same for twice as many bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn equal64(block: &[u8; 64], byte: u8) -> u64 {
    let halves = block.as_chunks::<32>().0.iter().enumerate();
    halves.fold(0, |bits, (n, half)| bits | u64::from(equal32(half, byte)) << (32 * n))
}

/// A bit for each letter that makes an escape of two bytes.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vectors are loaded through pointers")]
#[inline(always)]
fn letters32(block: &[u8; 32]) -> u32 {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
        _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_setzero_si256,
        _mm256_shuffle_epi8, _mm256_srli_epi16,
    };
    // A bit for each upper half of a byte that such letters have (2, 5, 6, 7), by upper half; and
    // the bits of those upper halves with which there is a letter, by lower half.
    const UPPER: [u8; 16] = [0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    const LOWER: [u8; 16] = [0, 0, 1 | 4 | 8, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1];
    // SAFETY: `Wide` is only used where the processor was found to have AVX2. The loads read the
    // thirty-two bytes of `block` and the sixteen of each table, and need no alignment.
    let other = unsafe {
        let bytes = _mm256_loadu_si256(block.as_ptr().cast());
        let upper = _mm256_broadcastsi128_si256(_mm_loadu_si128(UPPER.as_ptr().cast()));
        let lower = _mm256_broadcastsi128_si256(_mm_loadu_si128(LOWER.as_ptr().cast()));
        let halves = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
        let both =
            _mm256_and_si256(_mm256_shuffle_epi8(upper, halves), _mm256_shuffle_epi8(lower, bytes));
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(both, _mm256_setzero_si256()))
    };
    !other.cast_unsigned()
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
                    let letters = block.iter().enumerate().fold(0, |bits, (bit, byte)| {
                        bits | u32::from(ESCAPES[usize::from(*byte)] == 2) << bit
                    });
                    assert_eq!(letters32(&block), letters, "{byte} at {place}");
                    let backslashes = plain_backslashes(&block);
                    assert_eq!(equal32(&block, b'\\'), backslashes, "{byte} at {place}");
                }
                let backslashes = u64::from(plain_backslashes(&block));
                assert_eq!(backslashes_in(&block), backslashes, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn every_other_backslash_of_a_row_begins_an_escape() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..10_000 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let backslashes = random & random.rotate_left(21) | random.rotate_left(40) & 0xff0;
            for carry in [0, 1] {
                let (mut begins, mut escaped, mut is_escaped) = (0, 0, carry == 1);
                for bit in 0..64 {
                    let is_backslash = backslashes >> bit & 1 == 1;
                    escaped |= u64::from(is_escaped) << bit;
                    is_escaped = is_backslash && !is_escaped;
                    begins |= u64::from(is_escaped) << bit;
                }
                assert_eq!(escapes(backslashes, carry), (begins, escaped), "{backslashes:x}");
            }
        }
    }

    /// By the widest look that the processor has, and by the narrow one, which have to agree.
    fn end_of(text: &[u8], high: &mut bool) -> Option<usize> {
        let mut narrow = false;
        let end = string_end::<Narrow>(text, 0, &mut narrow);
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            let mut wide = false;
            assert_eq!(string_end::<Wide>(text, 0, &mut wide), end, "{text:?}");
            assert!(wide == narrow || end.is_none(), "{text:?}");
        }
        *high = narrow;
        end
    }

    #[test]
    fn the_end_is_found_wherever_it_is() {
        for length in 0..200 {
            for escape in ["", "\\n", "\\\"", "\\\\", "\\u00e9", "\\n\\\\\\\"", "\\t\\/\\b\\f\\r"] {
                for behind in ["", "more \" behind, quite a lot of it"] {
                    let text = format!("{}{escape}\"{behind}", "a".repeat(length));
                    let end = length + escape.len() + 1;
                    let mut high = false;
                    assert_eq!(end_of(text.as_bytes(), &mut high), Some(end), "{text}");
                    assert!(!high);
                    assert_eq!(valid_string_end(text.as_bytes(), 0), Some(end), "{text}");
                }
            }
            let long = format!("\\q{}\"", "x".repeat(130));
            for broken in [long.as_str(), "", "\n\"", "\\", "\\q\"", "\\u12g4\"", "\\\""] {
                let text = format!("{}{broken}", "a".repeat(length));
                assert_eq!(end_of(text.as_bytes(), &mut false), None, "{text}");
                let behind = format!("{text}{}\"", " and more of it".repeat(9));
                if !broken.is_empty() && broken != "\\\"" && broken != "\\" {
                    let end = end_of(behind.as_bytes(), &mut false);
                    assert!(end.is_none(), "{behind}");
                }
            }
            let mut high = false;
            end_of(format!("{}é\"", "a".repeat(length)).as_bytes(), &mut high);
            assert!(high);
        }
    }
}
