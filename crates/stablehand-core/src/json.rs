//! One pass over a line: is it JSON, and where are its top-level members?
//!
//! Owns validation and finding; it builds nothing. The pass-through path looks at every line, so
//! this is the hottest code of all: `serde_json` costs three to six times as much here, because it
//! has to make values. What a [`Scan`] calls an object is valid JSON by the grammar (RFC 8259),
//! UTF-8, and nested no deeper than [`MAX_DEPTH`], so it can be embedded in the log as it stands.
//! Typed reading of what was found is [`Value`]'s.

#![expect(
    clippy::inline_always,
    reason = "code for wide vectors is only made where it is inlined into a function compiled for them"
)]

mod block;
mod escape;
mod memo;
mod skip;
#[cfg(target_arch = "x86_64")]
mod squeeze;
mod strict;
mod value;

pub(crate) use escape::{into_text, text};
pub use memo::Memo;
pub use strict::repeats_a_member;
pub use value::{Members, Value};

use block::Look;
use std::marker::PhantomData;

/// Deeper nesting is taken for text: most readers of the log would refuse it (`serde_json` at 128).
pub const MAX_DEPTH: u32 = 100;

/// How many top-level members are remembered; the longest known line (a result with its statistics)
/// has thirty. The rest is still validated.
const MAX_MEMBERS: usize = 32;

/// How many of them need no allocation. What most lines have: a scan is returned by value, and room
/// for more would be paid by every line.
const FEW_MEMBERS: usize = 12;

/// What a line turned out to be.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every line is an object; a box would cost an allocation each"
)]
pub enum Scan<'a> {
    /// A JSON object.
    Object(Object<'a>),
    /// Valid JSON of another kind.
    Scalar,
    /// Not JSON, but UTF-8.
    Text,
    /// Not even UTF-8.
    Binary,
}

/// The members of a validated top-level object, by position.
#[derive(Debug)]
pub struct Object<'a> {
    line: &'a [u8],
    few: [Span; FEW_MEMBERS],
    /// How many of the few there are.
    len: usize,
    /// All of them, where they are more than a few.
    many: Vec<Span>,
}

/// Key and value of one member; offsets into the line. Lines are far below 4 GiB.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    key: (u32, u32),
    value: (u32, u32),
}

impl<'a> Object<'a> {
    // Made in its place: it is large enough for a copy to show.
    #[inline(always)]
    fn empty(line: &'a [u8]) -> Self {
        Object { line, few: [Span::default(); FEW_MEMBERS], len: 0, many: Vec::new() }
    }

    /// The value of a member. Of equal keys the last wins, as for most readers.
    #[inline]
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        let key = key.as_bytes();
        self.spans().iter().rev().find_map(|span| {
            (slice(self.line, span.key) == key).then(|| Value::new(slice(self.line, span.value)))
        })
    }

    /// Everything between the colon of the member `key` and the brace that ends the line, spaces
    /// included; only where that is how the line ends. It is how verbatim bytes come back out of a
    /// record.
    pub fn exact_tail(&self, key: &str) -> Option<&'a [u8]> {
        let last = self.spans().last()?;
        if slice(self.line, last.key) != key.as_bytes() {
            return None;
        }
        let from = last.key.1 as usize + 2;
        match self.line.get(from..)? {
            [tail @ .., b'}'] => Some(tail),
            _ => None,
        }
    }

    /// How many members are known.
    #[inline]
    pub fn len(&self) -> usize {
        self.spans().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of the member at that place.
    #[inline]
    pub fn nth_value(&self, n: usize) -> Option<Value<'a>> {
        let span = self.spans().get(n)?;
        Some(Value::new(slice(self.line, span.value)))
    }

    /// The members in order, keys as they stand between their quotes.
    pub fn members(&self) -> impl Iterator<Item = (&'a [u8], Value<'a>)> {
        let line = self.line;
        self.spans()
            .iter()
            .map(move |span| (slice(line, span.key), Value::new(slice(line, span.value))))
    }

    /// The member at which [`scan_prefix`] had to stop, its value cut off: to be entered
    /// ([`Value::enter`]) or read with [`Value::cut_str`]. `None` where the object is whole.
    pub fn cut_member(&self) -> Option<(&'a [u8], Value<'a>)> {
        let (_, end) = self.spans().last()?.value;
        value::cut_member(self.line.get(end as usize..)?)
    }

    fn spans(&self) -> &[Span] {
        if self.many.is_empty() {
            return self.few.get(..self.len).unwrap_or(&self.few);
        }
        &self.many
    }

    #[inline(always)]
    fn push(&mut self, span: Span) {
        if let Some(slot) = self.few.get_mut(self.len) {
            *slot = span;
            self.len += 1;
        } else {
            self.push_one_of_many(span);
        }
    }

    #[cold]
    fn push_one_of_many(&mut self, span: Span) {
        if self.many.is_empty() {
            self.many.reserve_exact(MAX_MEMBERS);
            self.many.extend_from_slice(&self.few);
        }
        if self.many.len() < MAX_MEMBERS {
            self.many.push(span);
        }
    }
}

#[inline]
fn slice(line: &[u8], (from, to): (u32, u32)) -> &[u8] {
    line.get(from as usize..to as usize).unwrap_or_default()
}

/// Looks at a line once.
pub fn scan(line: &[u8]) -> Scan<'_> {
    scan_within(line, MAX_DEPTH)
}

/// Like [`scan`], with another limit on nesting; 127 at the most.
pub fn scan_within(line: &[u8], max_depth: u32) -> Scan<'_> {
    let mut scan = Scan::Object(Object::empty(line));
    scan_into(line, max_depth, &mut scan);
    scan
}

/// Like [`scan_within`], into what is an empty object of the same line: it is large enough for a
/// copy to show.
fn scan_into<'a>(line: &'a [u8], max_depth: u32, into: &mut Scan<'a>) {
    #[cfg(target_arch = "x86_64")]
    if has_wide_vectors() {
        #[expect(unsafe_code, reason = "the compiler cannot know what the processor has")]
        // SAFETY: the processor has just been asked.
        unsafe {
            scan_wide(line, max_depth, into);
        }
        return;
    }
    scan_by::<block::Narrow>(line, max_depth, into);
}

/// Whether the processor has what the code for wide vectors is compiled for.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_wide_vectors() -> bool {
    std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1")]
fn scan_wide<'a>(line: &'a [u8], max_depth: u32, into: &mut Scan<'a>) {
    scan_by::<block::Wide>(line, max_depth, into);
}

#[inline(always)]
fn scan_by<'a, L: Look>(line: &'a [u8], max_depth: u32, into: &mut Scan<'a>) {
    if line.len() >= u32::MAX as usize {
        *into = unreadable(line);
        return;
    }
    let mut scanner = Scanner::<L>::new(line, max_depth.min(127));
    scanner.space();
    let valid = match (scanner.peek(), &mut *into) {
        (Some(b'{'), Scan::Object(object)) => scanner.top_object(object),
        (Some(_), _) => {
            let valid = scanner.value();
            *into = Scan::Scalar;
            valid
        }
        (None, _) => None,
    };
    scanner.space();
    if valid.is_none() || scanner.at != line.len() {
        *into = unreadable(line);
    } else if scanner.high && simdutf8::basic::from_utf8(line).is_err() {
        // Outside of strings the grammar has no room for such bytes; inside, they must be UTF-8.
        *into = Scan::Binary;
    }
}

/// Text or not even that.
#[cold]
fn unreadable(line: &[u8]) -> Scan<'_> {
    if std::str::from_utf8(line).is_ok() { Scan::Text } else { Scan::Binary }
}

/// The members that can be read from the beginning of a line that is too long to be held. Values
/// that are cut off are left out.
pub fn scan_prefix(head: &[u8]) -> Option<Object<'_>> {
    let head = head.get(..head.len().min(u32::MAX as usize - 1))?;
    let mut object = Object::empty(head);
    let mut scanner = Scanner::<block::Narrow>::new(head, MAX_DEPTH);
    scanner.space();
    if scanner.peek() != Some(b'{') {
        return None;
    }
    // It ends where the head ends; what was complete by then has been noted.
    let _cut = scanner.top_object(&mut object);
    (object.len > 0).then_some(object)
}

struct Scanner<'a, L> {
    bytes: &'a [u8],
    at: usize,
    /// Whether a string holds a byte above 127.
    high: bool,
    max_depth: u32,
    by: PhantomData<L>,
}

/// `None` means: not valid from here.
impl<'a, L: Look> Scanner<'a, L> {
    fn new(bytes: &'a [u8], max_depth: u32) -> Self {
        Scanner { bytes, at: 0, high: false, max_depth, by: PhantomData }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    fn space(&mut self) {
        // Agents write none; one comparison finds that out.
        while let Some(byte) = self.peek().filter(|byte| *byte <= b' ') {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return;
            }
            self.at += 1;
        }
    }

    #[inline(always)]
    fn eat(&mut self, byte: u8) -> Option<()> {
        if self.peek() != Some(byte) {
            self.space();
            if self.peek() != Some(byte) {
                return None;
            }
        }
        self.at += 1;
        Some(())
    }

    #[inline(always)]
    fn top_object(&mut self, object: &mut Object<'_>) -> Option<()> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Some(());
        }
        loop {
            self.eat(b'"')?;
            let key_from = self.at;
            self.string()?;
            let key = (key_from as u32, self.at as u32 - 1);
            self.eat(b':')?;
            self.space();
            let value_from = self.at as u32;
            // Most values at this level are strings; they need none of what containers need.
            if self.peek()? == b'"' {
                self.at += 1;
                self.string()?;
            } else {
                self.value()?;
            }
            object.push(Span { key, value: (value_from, self.at as u32) });
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Any value, without recursion: the kinds of the open containers are bits of a stack.
    #[inline(always)]
    fn value(&mut self) -> Option<()> {
        let mut depth = 0u32;
        let mut objects = 0u128;
        loop {
            self.space();
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    self.string()?;
                }
                b'{' => {
                    self.at += 1;
                    self.space();
                    if self.peek()? == b'}' {
                        self.at += 1;
                    } else {
                        depth += 1;
                        if depth >= self.max_depth {
                            return None;
                        }
                        objects = objects << 1 | 1;
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    self.space();
                    if self.peek()? == b']' {
                        self.at += 1;
                    } else {
                        depth += 1;
                        if depth >= self.max_depth {
                            return None;
                        }
                        objects <<= 1;
                        continue;
                    }
                }
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                b'-' | b'0'..=b'9' => self.number()?,
                _ => return None,
            }
            // A value is complete: close what closes, or go on to the next one.
            loop {
                if depth == 0 {
                    return Some(());
                }
                self.space();
                match (self.peek()?, objects & 1 == 1) {
                    (b',', true) => {
                        self.at += 1;
                        self.key()?;
                        break;
                    }
                    (b',', false) => {
                        self.at += 1;
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.at += 1;
                        depth -= 1;
                        objects >>= 1;
                    }
                    _ => return None,
                }
            }
        }
    }

    #[inline(always)]
    fn key(&mut self) -> Option<()> {
        self.eat(b'"')?;
        self.string()?;
        self.eat(b':')
    }

    #[inline(always)]
    fn literal(&mut self, word: &[u8]) -> Option<()> {
        let end = self.at + word.len();
        if self.bytes.get(self.at..end)? != word {
            return None;
        }
        self.at = end;
        Some(())
    }

    #[inline(always)]
    fn number(&mut self) -> Option<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return None,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    #[inline(always)]
    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }

    /// From behind the opening quote to behind the closing one.
    #[inline(always)]
    fn string(&mut self) -> Option<()> {
        self.at = block::string_end::<L>(self.bytes, self.at, &mut self.high)?;
        Some(())
    }
}

#[cfg(test)]
mod tests;
