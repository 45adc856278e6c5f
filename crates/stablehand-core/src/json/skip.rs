//! From the beginning of an object or a list of valid JSON to its end, without a look at what is in
//! it.
//!
//! What nobody wants of a line is often most of it. Sixty-four bytes at a time, and no branch for
//! each string or bracket: which of them are inside of strings is found by arithmetic on bits, and
//! how deep it goes by counting. Validating is not done here.

#[cfg(target_arch = "x86_64")]
use super::block::escapes;
use super::block::valid_string_end;

/// From the bracket that opens a container, `at`, to behind the one that closes it; `None` where
/// that is cut off.
pub(super) fn container_end(bytes: &[u8], at: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if super::has_wide_vectors() {
        #[expect(unsafe_code, reason = "the compiler cannot know what the processor has")]
        // SAFETY: the processor has just been asked.
        return unsafe { container_end_wide(bytes, at) };
    }
    container_end_plainly(bytes, at)
}

/// Byte by byte, and string by string.
fn container_end_plainly(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = valid_string_end(bytes, at + 1)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn container_end_wide(bytes: &[u8], at: usize) -> Option<usize> {
    let mut walk = Walk::default();
    let mut rest = bytes.get(at..)?;
    while let Some((block, behind)) = rest.split_first_chunk::<64>() {
        if let Some(end) = walk.block(block) {
            return Some(bytes.len() - rest.len() + end);
        }
        rest = behind;
    }
    let mut last = [b' '; 64];
    last.get_mut(..rest.len())?.copy_from_slice(rest);
    walk.block(&last).map(|end| bytes.len() - rest.len() + end)
}

/// What is known before a block.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Default)]
struct Walk {
    /// How many containers are open.
    depth: u32,
    /// All bits where the block begins inside of a string.
    in_string: u64,
    /// 1 where it begins with the second byte of an escape.
    carry: u64,
}

#[cfg(target_arch = "x86_64")]
impl Walk {
    /// Takes a block; where the outermost container ends in it, behind which byte.
    #[inline(always)]
    fn block(&mut self, block: &[u8; 64]) -> Option<usize> {
        let (low, top) = (look32(block.first_chunk()?), look32(block.last_chunk()?));
        let both = |low: u32, top: u32| u64::from(low) | u64::from(top) << 32;
        let mut quotes = both(low.quotes, top.quotes);
        let backslashes = both(low.backslashes, top.backslashes);
        if backslashes | self.carry != 0 {
            let (begins, escaped) = escapes(backslashes, self.carry);
            quotes &= !escaped;
            self.carry = begins >> 63;
        }
        let in_string = parity(quotes) ^ self.in_string;
        // The last bit, everywhere.
        self.in_string = 0u64.wrapping_sub(in_string >> 63);
        let opens = both(low.opens, top.opens) & !in_string;
        let closes = both(low.closes, top.closes) & !in_string;
        if closes.count_ones() < self.depth {
            self.depth = self.depth + opens.count_ones() - closes.count_ones();
            return None;
        }
        let mut brackets = opens | closes;
        while brackets != 0 {
            let first = brackets & brackets.wrapping_neg();
            if opens & first != 0 {
                self.depth += 1;
            } else {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Some(first.trailing_zeros() as usize + 1);
                }
            }
            brackets ^= first;
        }
        None
    }
}

/// For each bit, whether the number of bits up to it is odd: between the quotes of strings it is.
#[cfg(any(target_arch = "x86_64", test))]
#[inline(always)]
fn parity(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

/// A bit for each byte of a sort.
#[cfg(target_arch = "x86_64")]
struct Found {
    quotes: u32,
    backslashes: u32,
    opens: u32,
    closes: u32,
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vectors are loaded through pointers")]
#[inline(always)]
fn look32(block: &[u8; 32]) -> Found {
    use std::arch::x86_64::{
        _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
        _mm256_set1_epi8,
    };
    // SAFETY: this is only used where the processor was found to have AVX2. The load reads the
    // thirty-two bytes of `block` and needs no alignment.
    unsafe {
        let bytes = _mm256_loadu_si256(block.as_ptr().cast());
        // Brackets and braces differ in one bit.
        let braces = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
        let found = |bytes, byte| {
            let equal = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte));
            _mm256_movemask_epi8(equal).cast_unsigned()
        };
        Found {
            quotes: found(bytes, 0x22),
            backslashes: found(bytes, 0x5c),
            opens: found(braces, 0x7b),
            closes: found(braces, 0x7d),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parity_is_that_of_the_bits_so_far() {
        for bits in [0, 1, 0b1010, 0x8000_0000_0000_0001, u64::MAX, 0x1234_5678_9abc_def0] {
            let expected = (0..64)
                .fold(0, |all, bit| all | u64::from((bits << (63 - bit)).count_ones() % 2) << bit);
            assert_eq!(parity(bits), expected, "{bits:x}");
        }
    }

    /// Any JSON, as text.
    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "[a-z\"\\\\{}\\[\\], é\n]{0,90}".prop_map(Into::into),
        ];
        leaf.prop_recursive(6, 60, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
                prop::collection::vec(("[a-z\"\\\\}\\]]{0,30}", inner), 0..8)
                    .prop_map(|members| members.into_iter().collect::<serde_json::Value>()),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_end_is_where_it_is(
            value in json(),
            before in " {0,70}",
            behind in "[\\]}\",a-z]{0,90}",
            cut in any::<prop::sample::Index>(),
        ) {
            let value = serde_json::json!([value]).to_string();
            let text = format!("{before}{value}{behind}");
            let end = before.len() + value.len();
            prop_assert_eq!(container_end(text.as_bytes(), before.len()), Some(end), "{}", text);
            prop_assert_eq!(container_end_plainly(text.as_bytes(), before.len()), Some(end));
            let cut = before.len() + cut.index(value.len());
            prop_assert_eq!(container_end(&text.as_bytes()[..cut], before.len()), None);
        }
    }
}
