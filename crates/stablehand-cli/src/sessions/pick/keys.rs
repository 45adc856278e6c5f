//! From bytes of a terminal to keys.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Backspace,
    DeleteWord,
    DeleteAll,
    Enter,
    Cancel,
    /// Something that means nothing here.
    Nothing,
}

/// The keys in what was typed, and what of it is not whole yet.
pub(super) fn keys(bytes: &[u8]) -> (Vec<Key>, Vec<u8>) {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let key = match first {
            0x1b => {
                let Some((key, behind)) = sequence(after) else {
                    return (keys, [&[0x1b], after].concat());
                };
                rest = behind;
                key
            }
            b'\r' | b'\n' => Key::Enter,
            0x7f | 0x08 => Key::Backspace,
            // Ctrl-C, Ctrl-D, Ctrl-G.
            0x03 | 0x04 | 0x07 => Key::Cancel,
            // Ctrl-P and Ctrl-K, Ctrl-N.
            0x10 | 0x0b => Key::Up,
            0x0e => Key::Down,
            0x15 => Key::DeleteAll,
            0x17 => Key::DeleteWord,
            0x00..=0x1f => Key::Nothing,
            _ => {
                let whole = [&[first], after].concat();
                let len = match first {
                    0x00..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => 0,
                };
                let Some(char) = whole.get(..len) else { return (keys, whole) };
                rest = after.get(len.max(1) - 1..).unwrap_or_default();
                let char = std::str::from_utf8(char).ok().and_then(|text| text.chars().next());
                char.filter(|c| !c.is_control()).map_or(Key::Nothing, Key::Char)
            }
        };
        keys.push(key);
    }
    (keys, Vec::new())
}

/// The key of an escape sequence, without its escape; none where it is not whole.
fn sequence(bytes: &[u8]) -> Option<(Key, &[u8])> {
    let (&kind, after) = bytes.split_first()?;
    if !matches!(kind, b'[' | b'O') {
        // Escape and something else that was typed right behind it.
        return Some((Key::Cancel, after));
    }
    let end = after.iter().position(|byte| matches!(byte, 0x40..=0x7e))?;
    let (parameters, behind) = after.split_at(end);
    let (&last, behind) = behind.split_first()?;
    let key = match (last, parameters) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'H', _) | (b'~', b"1" | b"7") => Key::First,
        (b'F', _) | (b'~', b"4" | b"8") => Key::Last,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        _ => Key::Nothing,
    };
    Some((key, behind))
}
