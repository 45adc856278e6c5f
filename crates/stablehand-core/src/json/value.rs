//! Reading from JSON that has already been validated, without building trees.
//!
//! Everything here is lenient: a value of another kind than was asked for is simply absent.

use super::block::{backslashes_and_high, valid_string_end};
use super::escape::{unescape, unescape_into};
use super::skip::container_end;
use std::borrow::Cow;

/// Strings up to this length are looked at here: most are shorter, and a call costs more.
const SHORT: usize = 256;

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
                // A control character begins no value, and only a line that was cut, and so was
                // never validated, has one here: without a step forward nobody would come to an end.
                let length = rest.iter().position(ends).unwrap_or(rest.len());
                self.at = from + Some(length).filter(|length| *length > 0)?;
            }
        }
        self.bytes.get(from..self.at).map(Value)
    }
}

/// Whether something in the inside of a string is escaped, and whether a byte is above 127; `None`
/// for a string that is worth the call of something that looks at more at once.
#[inline]
fn short_look(inner: &[u8]) -> Option<(bool, bool)> {
    if inner.len() > SHORT {
        return None;
    }
    if let Some(last) = inner.last_chunk::<16>() {
        // The last block may overlap the one before it.
        let blocks = inner.as_chunks::<16>().0.iter().chain([last]);
        let (escaped, high) = blocks.fold((0, 0), |(escaped, high), block| {
            let (backslashes, above) = backslashes_and_high(block);
            (escaped | backslashes, high | above)
        });
        return Some((escaped != 0, high != 0));
    }
    let Some(last) = inner.last_chunk() else {
        let above = inner.iter().fold(0, |above, byte| above | byte);
        return Some((inner.contains(&b'\\'), above >= 0x80));
    };
    let (mut zeros, mut all) = (0, 0);
    for word in inner.first_chunk().into_iter().chain([last]) {
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
