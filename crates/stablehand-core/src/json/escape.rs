//! Taking the escapes out of strings, and making text of bytes.
//!
//! Large outputs of tools are nothing but this, when somebody wants to see them. What is read may
//! be cut off anywhere, or not even UTF-8 where a line was too long to be validated: whatever it is,
//! text comes out.

use super::block::backslashes_in;
use std::mem::MaybeUninit;

/// Bytes that are nearly always UTF-8, as text of their own. The check is several times as fast as
/// the standard library's, and as looking for what would have to be replaced.
pub(crate) fn text(bytes: &[u8]) -> String {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The same for bytes that are not needed any more.
pub(crate) fn into_text(bytes: Vec<u8>) -> String {
    match simdutf8::basic::from_utf8(&bytes) {
        #[expect(unsafe_code, reason = "the standard library would look at all of it again")]
        // SAFETY: these very bytes have just been found to be UTF-8.
        Ok(_) => unsafe { String::from_utf8_unchecked(bytes) },
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// Takes the escapes out of the inside of a valid JSON string.
pub(super) fn unescape(inner: &[u8]) -> String {
    let mut out = Vec::new();
    unescape_into(inner, &mut out);
    into_text(out)
}

/// What stands for itself or another byte behind a backslash; 0 for what needs a closer look.
const UNESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'u' => 0,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            other => other,
        };
        byte += 1;
    }
    table
};

/// The same, appended to what is there.
pub(super) fn unescape_into(inner: &[u8], out: &mut Vec<u8>) {
    // The result is never longer than what it is made of; the last block may hang over.
    out.reserve(inner.len() + WIDE);
    let written = write_unescaped(inner, out.spare_capacity_mut()).unwrap_or(0);
    #[expect(unsafe_code, reason = "large outputs would be written twice, zeros first")]
    // SAFETY: so many bytes of the room behind the old end have been written, one after another;
    // what does not fit comes back as nothing written.
    unsafe {
        out.set_len(out.len() + written);
    }
}

/// Room for bytes that were not written yet.
pub(super) type Room = [MaybeUninit<u8>];

/// How much is moved at once, and how much where less is left.
pub(super) const WIDE: usize = 64;
const NARROW: usize = 16;

/// Comes back how long the result is; `None` where there is no room for it.
fn write_unescaped(inner: &[u8], out: &mut Room) -> Option<usize> {
    let done = unescape_wide_blocks(inner, out)?;
    write_the_rest(inner, out, done)
}

/// From where whole wide blocks end.
fn write_the_rest(inner: &[u8], out: &mut Room, (at, to): (usize, usize)) -> Option<usize> {
    let (mut at, mut to) = unescape_blocks::<NARROW>(inner, at, out, to)?;
    // Fewer bytes than a block are left.
    while let Some(byte) = inner.get(at) {
        if *byte == b'\\' {
            (at, to) = unescape_one(inner, at, out, to)?;
        } else {
            out.get_mut(to)?.write(*byte);
            (at, to) = (at + 1, to + 1);
        }
    }
    Some(to)
}

/// As far as whole wide blocks go.
fn unescape_wide_blocks(inner: &[u8], out: &mut Room) -> Option<(usize, usize)> {
    #[cfg(target_arch = "x86_64")]
    if super::has_wide_vectors() {
        #[expect(unsafe_code, reason = "the compiler cannot know what the processor has")]
        // SAFETY: the processor has just been asked.
        return unsafe { super::squeeze::unescape_blocks(inner, out) };
    }
    unescape_blocks::<WIDE>(inner, 0, out, 0)
}

/// As far as whole blocks go. Come back both places.
#[inline]
fn unescape_blocks<const N: usize>(
    inner: &[u8],
    mut at: usize,
    out: &mut Room,
    mut to: usize,
) -> Option<(usize, usize)> {
    loop {
        let next = unescape_block::<N>(inner, at, out, to)?;
        if next.0 == at {
            return Some(next);
        }
        (at, to) = next;
    }
}

/// Unescapes one block. It is moved whole, and what stands behind an escape is moved over again, to
/// where it belongs: looking for each escape by itself would cost more than moving. Come back both
/// places, the same where no block is left.
#[inline]
pub(super) fn unescape_block<const N: usize>(
    inner: &[u8],
    at: usize,
    out: &mut Room,
    mut to: usize,
) -> Option<(usize, usize)> {
    let Some(block) = move_block::<N>(inner, at, out, to) else { return Some((at, to)) };
    let mut escapes = backslashes_in(block);
    if escapes == 0 {
        return Some((at + N, to + N));
    }
    let mut done = 0;
    loop {
        let next = escapes.trailing_zeros() as usize;
        to += next - done;
        let letter = inner.get(at + next + 1).copied().unwrap_or_default();
        let byte = UNESCAPED.get(usize::from(letter)).copied().unwrap_or_default();
        if byte == 0 {
            return unescape_one(inner, at + next, out, to);
        }
        out.get_mut(to)?.write(byte);
        to += 1;
        done = next + 2;
        // The backslash and, where it is one too, its partner.
        escapes &= u64::MAX.checked_shl(done as u32).unwrap_or(0);
        if escapes == 0 || move_block::<N>(inner, at + done, out, to).is_none() {
            return Some((at + done, to));
        }
    }
}

/// Takes any one escape, from `at` to `to`; come back the places behind it.
#[cold]
fn unescape_one(inner: &[u8], at: usize, out: &mut Room, to: usize) -> Option<(usize, usize)> {
    let escape = inner.get(at..).unwrap_or_default();
    let (c, used) = match escape {
        [_, b'u', ..] => unicode_escape(escape),
        [_, letter, ..] => {
            out.get_mut(to)?.write(UNESCAPED.get(usize::from(*letter)).copied()?);
            return Some((at + 2, to + 1));
        }
        // A backslash whose partner was cut off.
        _ => return Some((inner.len(), to)),
    };
    let mut buffer = [0; 4];
    let bytes = c.encode_utf8(&mut buffer).as_bytes();
    out.get_mut(to..to + bytes.len())?.write_copy_of_slice(bytes);
    Some((at + used, to + bytes.len()))
}

/// The block that was moved; `None` where there is not as much.
#[inline(always)]
fn move_block<'a, const N: usize>(
    inner: &'a [u8],
    at: usize,
    out: &mut Room,
    to: usize,
) -> Option<&'a [u8; N]> {
    let block: &[u8; N] = inner.get(at..)?.first_chunk()?;
    out.get_mut(to..to + N)?.write_copy_of_slice(block);
    Some(block)
}

/// The character of `\uXXXX` at the beginning of `escape`, or of a surrogate pair, and how many
/// bytes it took.
fn unicode_escape(escape: &[u8]) -> (char, usize) {
    let unit = |from: usize| -> Option<u32> {
        let hex = std::str::from_utf8(escape.get(from..from + 4)?).ok()?;
        u32::from_str_radix(hex, 16).ok()
    };
    let Some(high) = unit(2) else {
        return (char::REPLACEMENT_CHARACTER, escape.len().min(2));
    };
    if let Some(c) = char::from_u32(high) {
        return (c, 6);
    }
    let low = match escape.get(6..8) {
        Some(b"\\u") => unit(8),
        _ => None,
    };
    match low {
        Some(low) if (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low) => {
            let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_escape_in_every_place() {
        let cases = [
            (r#"\""#, "\""),
            (r"\\", "\\"),
            (r"\/", "/"),
            (r"\b\f\n\r\t", "\u{8}\u{c}\n\r\t"),
            (r"\u00e9", "é"),
            (r"\ud83d\ude00", "😀"),
            (r"\ud83d", "\u{fffd}"),
            (r"\u0000", "\0"),
            (r"\\\\\n", "\\\\\n"),
        ];
        for before in 0..150 {
            for (escaped, plain) in cases {
                for behind in [0, 1, 20, 70] {
                    let around = |inner: &str| {
                        format!("{}{inner}{}{inner}", "a".repeat(before), "é".repeat(behind))
                    };
                    assert_eq!(unescape(around(escaped).as_bytes()), around(plain));
                }
            }
            // Cut off within an escape.
            let plain = "a".repeat(before);
            assert_eq!(unescape(format!("{plain}\\").as_bytes()), plain);
            assert_eq!(unescape(format!("{plain}\\u00").as_bytes()), format!("{plain}\u{fffd}00"));
            let mut broken = plain.clone().into_bytes();
            broken.extend_from_slice(b"\xff\\n");
            assert_eq!(unescape(&broken), format!("{plain}\u{fffd}\n"));
        }
    }

    proptest! {
        #[test]
        fn it_says_what_serde_says(text in "([a-z é✓]{0,70}[\"\\\\\n\t\u{1}😀]{0,5}){0,9}", old in "[a-z]{0,9}") {
            let quoted = serde_json::to_string(&text).unwrap();
            let inner = &quoted.as_bytes()[1..quoted.len() - 1];
            prop_assert_eq!(&unescape(inner), &text);
            // What processors without wide vectors do.
            let mut room = vec![MaybeUninit::new(0); inner.len() + WIDE];
            let done = unescape_blocks::<WIDE>(inner, 0, &mut room, 0).unwrap();
            prop_assert_eq!(write_the_rest(inner, &mut room, done), Some(text.len()));
            let mut out = old.clone().into_bytes();
            unescape_into(inner, &mut out);
            prop_assert_eq!(out, format!("{old}{text}").into_bytes());
        }
    }
}
