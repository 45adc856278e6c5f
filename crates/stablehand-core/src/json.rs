//! One pass over a line: is it JSON, and where are its top-level members?
//!
//! Owns validation and finding; it builds nothing. The pass-through path looks at every line, so
//! this is the hottest code of all: `serde_json` costs three to six times as much here, because it
//! has to make values. What a [`Scan`] calls an object is valid JSON by the grammar (RFC 8259),
//! UTF-8, and nested no deeper than [`MAX_DEPTH`], so it can be embedded in the log as it stands.
//! Typed reading of what was found is in [`value`].

mod value;

pub use value::{Members, Value};

/// Deeper nesting is taken for text: most readers of the log would refuse it (`serde_json` at 128).
pub const MAX_DEPTH: u32 = 100;

/// How many top-level members are remembered; agents use about ten, the rest is still validated.
const MAX_MEMBERS: usize = 24;

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
    members: [Span; MAX_MEMBERS],
    len: usize,
}

/// Key and value of one member; offsets into the line. Lines are far below 4 GiB.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    key: (u32, u32),
    value: (u32, u32),
}

impl<'a> Object<'a> {
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

    /// The members in order, keys as they stand between their quotes.
    pub fn members(&self) -> impl Iterator<Item = (&'a [u8], Value<'a>)> {
        let line = self.line;
        self.spans()
            .iter()
            .map(move |span| (slice(line, span.key), Value::new(slice(line, span.value))))
    }

    fn spans(&self) -> &[Span] {
        self.members.get(..self.len).unwrap_or(&self.members)
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
    // Trailing space is cut first, so that the carriage return of a CRLF does not count as a
    // control character within the line. (A form feed is no space to JSON.)
    let mut bytes = line;
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = bytes {
        bytes = rest;
    }
    let census = census(bytes);
    if !census.ascii && std::str::from_utf8(line).is_err() {
        return Scan::Binary;
    }
    if line.len() >= u32::MAX as usize {
        return Scan::Text;
    }
    let max_depth = max_depth.min(127);
    let mut scanner = Scanner { bytes, at: 0, controls: census.controls, max_depth };
    scanner.space();
    let mut object = Object { line, members: [Span::default(); MAX_MEMBERS], len: 0 };
    let (valid, is_object) = match scanner.peek() {
        Some(b'{') => (scanner.top_object(&mut object), true),
        Some(_) => (scanner.value(), false),
        None => (None, false),
    };
    scanner.space();
    match (valid, is_object) {
        (Some(()), true) if scanner.at == bytes.len() => Scan::Object(object),
        (Some(()), false) if scanner.at == bytes.len() => Scan::Scalar,
        _ => Scan::Text,
    }
}

/// The members that can be read from the beginning of a line that is too long to be held. Values
/// that are cut off are left out.
pub fn scan_prefix(head: &[u8]) -> Option<Object<'_>> {
    let head = head.get(..head.len().min(u32::MAX as usize - 1))?;
    let mut object = Object { line: head, members: [Span::default(); MAX_MEMBERS], len: 0 };
    let mut scanner = Scanner { bytes: head, at: 0, controls: true, max_depth: MAX_DEPTH };
    scanner.space();
    if scanner.peek() != Some(b'{') {
        return None;
    }
    // It ends where the head ends; what was complete by then has been noted.
    let _cut = scanner.top_object(&mut object);
    (object.len > 0).then_some(object)
}

/// Two facts about a whole line, in one vectorised pass: is there a byte above 127, and is there
/// one below space? Without the latter, strings need no look at each byte.
struct Census {
    ascii: bool,
    controls: bool,
}

#[inline]
fn census(bytes: &[u8]) -> Census {
    let fold = |(or, min): (u8, u8), b: &u8| (or | *b, min.min(*b));
    let mut chunks = bytes.chunks_exact(64);
    let mut total = (0u8, u8::MAX);
    let mut lanes = ([0u8; 64], [u8::MAX; 64]);
    let mut wide = false;
    for chunk in &mut chunks {
        wide = true;
        for ((or, min), b) in lanes.0.iter_mut().zip(&mut lanes.1).zip(chunk) {
            *or |= *b;
            *min = (*min).min(*b);
        }
    }
    if wide {
        for (or, min) in lanes.0.iter().zip(&lanes.1) {
            total = (total.0 | *or, total.1.min(*min));
        }
    }
    total = chunks.remainder().iter().fold(total, fold);
    Census { ascii: total.0 < 0x80, controls: total.1 < 0x20 }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    controls: bool,
    max_depth: u32,
}

/// `None` means: not valid from here.
impl Scanner<'_> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        self.space();
        if self.peek() != Some(byte) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn top_object(&mut self, object: &mut Object<'_>) -> Option<()> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Some(());
        }
        loop {
            self.expect(b'"')?;
            let key_from = self.at;
            self.string()?;
            let key = (key_from as u32, self.at as u32 - 1);
            self.expect(b':')?;
            self.space();
            let value_from = self.at as u32;
            self.value()?;
            if let Some(slot) = object.members.get_mut(object.len) {
                *slot = Span { key, value: (value_from, self.at as u32) };
                object.len += 1;
            }
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

    #[inline]
    fn key(&mut self) -> Option<()> {
        self.expect(b'"')?;
        self.string()?;
        self.expect(b':')
    }

    fn literal(&mut self, word: &[u8]) -> Option<()> {
        let end = self.at + word.len();
        if self.bytes.get(self.at..end)? != word {
            return None;
        }
        self.at = end;
        Some(())
    }

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

    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }

    /// From behind the opening quote to behind the closing one.
    #[inline]
    fn string(&mut self) -> Option<()> {
        loop {
            let from = self.at;
            let rest = self.bytes.get(from..)?;
            let found = find_quote_or_backslash(rest)?;
            self.at = from + found;
            if self.controls && rest.get(..found)?.iter().any(|b| *b < 0x20) {
                return None;
            }
            let byte = rest.get(found).copied()?;
            self.at += 1;
            if byte == b'"' {
                return Some(());
            }
            self.escape()?;
        }
    }

    fn escape(&mut self) -> Option<()> {
        let kind = self.peek()?;
        self.at += 1;
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let hex = self.bytes.get(self.at..self.at + 4)?;
                self.at += 4;
                hex.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }
}

/// Where the next `"` or `\` is. Most strings are short: eight bytes at a time, by arithmetic on a
/// word, is cheaper than calling out; long ones go to `memchr`, which knows the machine.
#[inline]
fn find_quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut at = 0;
    while at < 32 {
        let Some(word) = bytes.get(at..at + 8).and_then(|w| <[u8; 8]>::try_from(w).ok()) else {
            return bytes
                .get(at..)?
                .iter()
                .position(|b| *b == b'"' || *b == b'\\')
                .map(|found| at + found);
        };
        let word = u64::from_le_bytes(word);
        let hit = zero_bytes(word ^ (ONES * u64::from(b'"')))
            | zero_bytes(word ^ (ONES * u64::from(b'\\')));
        if hit != 0 {
            // The lowest hit is exact; borrows can only disturb bytes above it.
            return Some(at + hit.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr::memchr2(b'"', b'\\', bytes.get(at..)?).map(|found| at + found)
}

#[cfg(test)]
mod tests;
