//! Reading from JSON that has already been validated, without building trees.
//!
//! Everything here is lenient: a value of another kind than was asked for is simply absent.

use super::find_quote_or_backslash;
use std::borrow::Cow;

/// The bytes of one valid JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a>(&'a [u8]);

impl<'a> Value<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
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
        if memchr::memchr(b'\\', inner).is_none() {
            return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
        }
        Some(Cow::Owned(unescape(inner)))
    }

    /// A string that owns itself; `None` for anything else.
    pub fn string(self) -> Option<String> {
        self.str().map(Cow::into_owned)
    }

    /// A whole number, also where it is written as a string (int64 in protobuf's JSON) or as a
    /// float without a fraction.
    pub fn u64(self) -> Option<u64> {
        let digits = self.raw_str().unwrap_or(self.0);
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
        self.members().find_map(|(k, v)| (k == key.as_bytes()).then_some(v))
    }

    /// The elements of an array; empty for anything else.
    pub fn elements(self) -> impl Iterator<Item = Value<'a>> {
        let mut walk = Walk::into(self.0, b'[');
        std::iter::from_fn(move || walk.value())
    }
}

/// The members of an object, in order; keys as they stand between their quotes.
#[derive(Debug)]
pub struct Members<'a> {
    walk: Walk<'a>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.walk.value()?.raw_str()?;
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

    /// The next value; separators are stepped over. `None` at the end of the container.
    fn value(&mut self) -> Option<Value<'a>> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b':') = self.bytes.get(self.at) {
            self.at += 1;
        }
        let from = self.at;
        match self.bytes.get(from)? {
            b'"' => self.at = skip_string(self.bytes, from + 1)?,
            b'{' | b'[' => self.at = skip_container(self.bytes, from)?,
            b'}' | b']' => return None,
            _ => {
                let rest = self.bytes.get(from..)?;
                let len = rest
                    .iter()
                    .position(|b| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'))
                    .unwrap_or(rest.len());
                self.at = from + len;
            }
        }
        self.bytes.get(from..self.at).map(Value)
    }
}

/// From behind an opening quote to behind the closing one.
fn skip_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += find_quote_or_backslash(bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn skip_container(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = skip_string(bytes, at + 1)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Takes the escapes out of the inside of a valid JSON string.
fn unescape(inner: &[u8]) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        let used = match escape.get(1).copied() {
            Some(b'n') => push(&mut out, b'\n'),
            Some(b't') => push(&mut out, b'\t'),
            Some(b'r') => push(&mut out, b'\r'),
            Some(b'b') => push(&mut out, 8),
            Some(b'f') => push(&mut out, 12),
            Some(b'u') => {
                let (c, used) = unicode_escape(escape);
                let mut buffer = [0; 4];
                out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                used
            }
            Some(other) => push(&mut out, other),
            None => 1,
        };
        rest = escape.get(used..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

fn push(out: &mut Vec<u8>, byte: u8) -> usize {
    out.push(byte);
    2
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
