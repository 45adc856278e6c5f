//! Reading from JSON that has already been validated, without building trees.
//!
//! Everything here is lenient: a value of another kind than was asked for is simply absent.

use super::block::{backslashes_in, valid_string_end};
use super::skip::container_end;
use std::borrow::Cow;
use std::mem::MaybeUninit;

/// The bytes of one valid JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a>(&'a [u8]);

impl<'a> Value<'a> {
    /// For bytes that are known to be one valid value, without space before it.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Value(bytes)
    }

    /// The value as it stands.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// The bytes between the quotes of a string, escapes and all.
    #[inline]
    pub fn raw_str(self) -> Option<&'a [u8]> {
        match self.0 {
            [b'"', inner @ .., b'"'] => Some(inner),
            _ => None,
        }
    }

    /// Whether this is a string that is written exactly so, without escapes.
    #[inline]
    pub fn is_str(self, text: &str) -> bool {
        self.raw_str() == Some(text.as_bytes())
    }

    /// A string, unescaped. Lone surrogates become U+FFFD.
    pub fn str(self) -> Option<Cow<'a, str>> {
        let inner = self.raw_str()?;
        match short_look(inner) {
            #[expect(unsafe_code, reason = "ids and names are short, and there are many of them")]
            // SAFETY: the bytes have just been found to be ASCII.
            Some((false, false)) => Some(Cow::Borrowed(unsafe { str::from_utf8_unchecked(inner) })),
            Some((true, _)) => Some(Cow::Owned(unescape(inner))),
            None if memchr::memchr(b'\\', inner).is_some() => Some(Cow::Owned(unescape(inner))),
            _ => simdutf8::basic::from_utf8(inner).ok().map(Cow::Borrowed),
        }
    }

    /// A string that owns itself; `None` for anything else.
    pub fn string(self) -> Option<String> {
        self.str().map(Cow::into_owned)
    }

    /// Appends a string, unescaped, to a buffer that is used again and again; false for anything
    /// else.
    #[inline]
    pub fn append_to(self, out: &mut Vec<u8>) -> bool {
        let Some(inner) = self.raw_str() else {
            return false;
        };
        if has_backslash(inner) {
            unescape_into(inner, out);
        } else {
            out.extend_from_slice(inner);
        }
        true
    }

    /// What there is of a string whose end was cut off; `None` for anything but a string.
    pub fn cut_str(self) -> Option<String> {
        self.str().map(Cow::into_owned).or_else(|| {
            let inner = self.0.strip_prefix(b"\"")?;
            Some(unescape(inner))
        })
    }

    /// A whole number, also where it is written as a string (int64 in protobuf's JSON) or as a
    /// float without a fraction.
    pub fn u64(self) -> Option<u64> {
        let digits = self.raw_str().unwrap_or(self.0);
        // As many digits as never overflow.
        if (1..=19).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) {
            let add = |number, digit: &u8| number * 10 + u64::from(digit - b'0');
            return Some(digits.iter().fold(0, add));
        }
        let text = std::str::from_utf8(digits).ok()?;
        text.parse().ok().or_else(|| {
            let float: f64 = text.parse().ok()?;
            (float >= 0.0 && float.is_finite()).then_some(float as u64)
        })
    }

    /// A signed whole number, like [`Value::u64`].
    pub fn i64(self) -> Option<i64> {
        let digits = self.raw_str().unwrap_or(self.0);
        let text = std::str::from_utf8(digits).ok()?;
        text.parse().ok().or_else(|| {
            let float: f64 = text.parse().ok()?;
            float.is_finite().then_some(float as i64)
        })
    }

    /// A number.
    pub fn f64(self) -> Option<f64> {
        std::str::from_utf8(self.raw_str().unwrap_or(self.0)).ok()?.parse().ok()
    }

    /// `true` or `false`.
    pub fn bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// Whether this is an object.
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// The members of an object; empty for anything else.
    pub fn members(self) -> Members<'a> {
        Members { walk: Walk::into(self.0, b'{') }
    }

    /// The member of an object. Of equal keys the first is taken here: nested objects are walked
    /// only as far as needed.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let mut members = self.members();
        loop {
            let (found, value) = members.next()?;
            if found == key.as_bytes() {
                return Some(value);
            }
        }
    }

    /// The first member whose key is wanted, without looking for the end of its value, which may be
    /// long, or cut off. What comes back is good for going further in (`enter`, `get`, `members`,
    /// `elements`) and for nothing else: its bytes run on to the end of the line.
    pub fn enter(self, wanted: impl Fn(&[u8]) -> bool) -> Option<(&'a [u8], Value<'a>)> {
        let mut walk = Walk::into(self.0, b'{');
        loop {
            let (key, value) = walk.key_and_rest()?;
            if wanted(key) {
                return Some((key, value));
            }
            walk.value()?;
        }
    }

    /// The first element of an array, without looking for its end; as [`Value::enter`].
    pub fn enter_first(self) -> Option<Value<'a>> {
        let mut walk = Walk::into(self.0, b'[');
        walk.separators();
        let rest = walk.bytes.get(walk.at..)?;
        (!rest.is_empty()).then_some(Value(rest))
    }

    /// The elements of an array; empty for anything else.
    pub fn elements(self) -> impl Iterator<Item = Value<'a>> {
        let mut walk = Walk::into(self.0, b'[');
        std::iter::from_fn(move || walk.value())
    }
}

/// The member that begins at `bytes`, behind a comma, and whose value is cut off.
pub(super) fn cut_member(bytes: &[u8]) -> Option<(&[u8], Value<'_>)> {
    Walk { bytes, at: 0 }.key_and_rest()
}

/// The members of an object, in order; keys as they stand between their quotes.
#[derive(Debug)]
pub struct Members<'a> {
    walk: Walk<'a>,
}

/// One pass through nested objects: after a key comes its value, or what is in it.
impl<'a> Members<'a> {
    /// The next key. `None` at the end of the object.
    #[inline]
    pub fn key(&mut self) -> Option<&'a [u8]> {
        self.walk.key()
    }

    /// The value of the key that was just read.
    #[inline]
    pub fn value(&mut self) -> Option<Value<'a>> {
        self.walk.value()
    }

    /// The value of the key that was just read, without looking for its end: as [`Value::enter`].
    /// This pass is over then.
    pub fn rest(&mut self) -> Option<Value<'a>> {
        self.walk.separators();
        let rest = self.walk.bytes.get(self.walk.at..)?;
        self.walk.at = self.walk.bytes.len();
        (!rest.is_empty()).then_some(Value(rest))
    }

    /// Goes into the value of the key that was just read, where it is an object: the next keys are
    /// of that, until [`leave`](Self::leave).
    pub fn enter(&mut self) -> bool {
        self.walk.separators();
        let is_object = self.walk.bytes.get(self.walk.at) == Some(&b'{');
        if is_object {
            self.walk.at += 1;
        }
        is_object
    }

    /// Comes out of an object whose keys have all been read; false where its end is cut off.
    pub fn leave(&mut self) -> bool {
        let is_whole = self.walk.bytes.get(self.walk.at) == Some(&b'}');
        self.walk.at = if is_whole { self.walk.at + 1 } else { self.walk.bytes.len() };
        is_whole
    }

    /// How far the pass has come, to take a stretch with [`since`](Self::since).
    pub fn mark(&self) -> usize {
        self.walk.at
    }

    /// Everything from a mark to here, where a value begins at the mark.
    pub fn since(&self, mark: usize) -> Value<'a> {
        Value(self.walk.bytes.get(mark..self.walk.at).unwrap_or_default())
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.walk.key()?;
        let value = self.walk.value()?;
        Some((key, value))
    }
}

/// Steps from value to value inside one container of valid JSON.
#[derive(Debug)]
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    fn into(bytes: &'a [u8], open: u8) -> Self {
        let inner = if bytes.first() == Some(&open) { bytes.get(1..) } else { None };
        Walk { bytes: inner.unwrap_or_default(), at: 0 }
    }

    #[inline]
    fn separators(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b':') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// The next key, between its quotes. `None` at the end of the object.
    #[inline]
    fn key(&mut self) -> Option<&'a [u8]> {
        self.separators();
        if *self.bytes.get(self.at)? != b'"' {
            return None;
        }
        let from = self.at + 1;
        self.at = valid_string_end(self.bytes, from)?;
        self.bytes.get(from..self.at - 1)
    }

    /// The next key, and everything from its value on.
    fn key_and_rest(&mut self) -> Option<(&'a [u8], Value<'a>)> {
        let key = self.key()?;
        self.separators();
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        Some((key, Value(rest)))
    }

    /// The next value; separators are stepped over. `None` at the end of the container.
    fn value(&mut self) -> Option<Value<'a>> {
        self.separators();
        let from = self.at;
        match self.bytes.get(from)? {
            b'"' => self.at = valid_string_end(self.bytes, from + 1)?,
            b'{' | b'[' => self.at = container_end(self.bytes, from)?,
            b'}' | b']' => return None,
            _ => {
                let rest = self.bytes.get(from..)?;
                // Numbers and words have none of these, and what follows them is one.
                let ends = |b: &u8| *b <= b' ' || *b == b',' || *b | 0x20 == b'}';
                self.at = from + rest.iter().position(ends).unwrap_or(rest.len());
            }
        }
        self.bytes.get(from..self.at).map(Value)
    }
}

/// Whether something in the inside of a string is escaped, and whether a byte is above 127; `None`
/// for a string that is worth the call of something that looks at more at once.
#[inline]
fn short_look(inner: &[u8]) -> Option<(bool, bool)> {
    if inner.len() > 64 {
        return None;
    }
    let Some(last) = inner.last_chunk() else {
        let above = inner.iter().fold(0, |above, byte| above | byte);
        return Some((inner.contains(&b'\\'), above >= 0x80));
    };
    let (mut zeros, mut all) = (0, 0);
    // The last word may overlap the one before it.
    for word in inner.as_chunks::<8>().0.iter().chain([last]) {
        let word = u64::from_le_bytes(*word);
        // The borrow of a subtraction tells whether one of its bytes was zero.
        let backslash = word ^ 0x5c5c_5c5c_5c5c_5c5c;
        zeros |= backslash.wrapping_sub(0x0101_0101_0101_0101) & !backslash;
        all |= word;
    }
    let high = 0x8080_8080_8080_8080;
    Some((zeros & high != 0, all & high != 0))
}

/// Whether something in the inside of a string is escaped.
#[inline]
fn has_backslash(inner: &[u8]) -> bool {
    match short_look(inner) {
        Some((escaped, _)) => escaped,
        None => memchr::memchr(b'\\', inner).is_some(),
    }
}

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
fn unescape(inner: &[u8]) -> String {
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

fn unescape_into(inner: &[u8], out: &mut Vec<u8>) {
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
type Room = [MaybeUninit<u8>];

/// How much is moved at once, and how much where less is left.
const WIDE: usize = 64;
const NARROW: usize = 16;

/// Comes back how long the result is; `None` where there is no room for it.
fn write_unescaped(inner: &[u8], out: &mut Room) -> Option<usize> {
    let (at, to) = unescape_blocks::<WIDE>(inner, 0, out, 0)?;
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

/// Unescapes as far as whole blocks go. They are moved whole, and what stands behind an escape is
/// moved over again, to where it belongs: output of tools has an escape in every few bytes, and
/// looking for each by itself would cost more than moving. Come back both places.
#[inline]
fn unescape_blocks<const N: usize>(
    inner: &[u8],
    mut at: usize,
    out: &mut Room,
    mut to: usize,
) -> Option<(usize, usize)> {
    while let Some(block) = move_block::<N>(inner, at, out, to) {
        let mut escapes = backslashes_in(block);
        if escapes == 0 {
            at += N;
            to += N;
            continue;
        }
        let mut done = 0;
        loop {
            let next = escapes.trailing_zeros() as usize;
            to += next - done;
            let letter = inner.get(at + next + 1).copied().unwrap_or_default();
            let byte = UNESCAPED.get(usize::from(letter)).copied().unwrap_or_default();
            if byte == 0 {
                (at, to) = unescape_one(inner, at + next, out, to)?;
                break;
            }
            out.get_mut(to)?.write(byte);
            to += 1;
            done = next + 2;
            // The backslash and, where it is one too, its partner.
            escapes &= u64::MAX.checked_shl(done as u32).unwrap_or(0);
            if escapes == 0 || move_block::<N>(inner, at + done, out, to).is_none() {
                at += done;
                break;
            }
        }
    }
    Some((at, to))
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
