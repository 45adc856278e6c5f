//! Keeping control sequences within bounds before they reach the emulator.
//!
//! `ESC [ 65535 @` inserts 65535 cells one by one and takes seconds; a few bytes must not cost that.
//! No count beyond the size of the screen has a meaning, so counts are cut to it. Everything else
//! passes as it is, in the same order. Knows nothing of what sequences do.

/// A control sequence longer than this is none that a program means; it is dropped.
const LONGEST: usize = 256;

#[derive(Debug, Default)]
enum State {
    #[default]
    Text,
    Escape,
    Control,
    /// A sequence that is too long, to be dropped up to its end.
    Overlong,
}

/// The filter; a sequence may come in any number of pieces.
#[derive(Debug, Default)]
pub(super) struct Tame {
    state: State,
    /// The sequence so far, without its introducer.
    sequence: Vec<u8>,
}

impl Tame {
    /// Appends what may be drawn. Counts are cut to `most`.
    pub(super) fn push(&mut self, bytes: &[u8], most: u16, out: &mut Vec<u8>) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            match self.state {
                State::Text => {
                    let text = memchr::memchr(0x1b, rest).unwrap_or(rest.len());
                    out.extend_from_slice(rest.get(..text).unwrap_or(rest));
                    rest = rest.get(text..).unwrap_or_default();
                    if let Some((_escape, after)) = rest.split_first() {
                        self.state = State::Escape;
                        rest = after;
                    }
                    continue;
                }
                State::Escape => self.after_escape(byte, out),
                State::Control | State::Overlong => self.in_control(byte, most, out),
            }
            rest = after;
        }
    }

    fn after_escape(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'[' => {
                self.sequence.clear();
                self.state = State::Control;
            }
            0x1b => out.push(0x1b),
            _ => {
                out.extend_from_slice(&[0x1b, byte]);
                self.state = State::Text;
            }
        }
    }

    fn in_control(&mut self, byte: u8, most: u16, out: &mut Vec<u8>) {
        match byte {
            0x40..=0x7e => {
                if !matches!(self.state, State::Overlong) {
                    self.finish(byte, most, out);
                }
                self.state = State::Text;
            }
            // Given up.
            0x18 | 0x1a => self.state = State::Text,
            0x1b => self.state = State::Escape,
            // A control character within a sequence acts at once, as it does on a real terminal.
            0x00..=0x1f => out.push(byte),
            _ if self.sequence.len() < LONGEST => self.sequence.push(byte),
            _ => self.state = State::Overlong,
        }
    }

    fn finish(&mut self, last: u8, most: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[");
        // Colours and the numbers of modes are no counts.
        let counts = last != b'm'
            && self
                .sequence
                .iter()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'));
        if counts {
            for (index, number) in self.sequence.split(|byte| *byte == b';').enumerate() {
                if index > 0 {
                    out.push(b';');
                }
                push_count(number, most, out);
            }
        } else {
            out.extend_from_slice(&self.sequence);
        }
        out.push(last);
    }
}

fn push_count(number: &[u8], most: u16, out: &mut Vec<u8>) {
    let value = number
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0_u32, |value, byte| value.saturating_mul(10).saturating_add(u32::from(byte - b'0')));
    if value > u32::from(most) {
        out.extend_from_slice(most.to_string().as_bytes());
    } else {
        out.extend_from_slice(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tamed(pieces: &[&[u8]]) -> Vec<u8> {
        let (mut tame, mut out) = (Tame::default(), Vec::new());
        for piece in pieces {
            tame.push(piece, 120, &mut out);
        }
        out
    }

    #[test]
    fn counts_are_cut_and_everything_else_passes() {
        let long = [b"\x1b[".as_slice(), &b"0".repeat(400), b"9@after"].concat();
        let table: [(&[u8], &[u8]); 12] = [
            (b"plain \xff\r\n", b"plain \xff\r\n"),
            (b"\x1b[65535@", b"\x1b[120@"),
            (b"\x1b[3;65535H", b"\x1b[3;120H"),
            (b"\x1b[;5H\x1b[H", b"\x1b[;5H\x1b[H"),
            (b"\x1b[000000000000000000099999L", b"\x1b[120L"),
            (b"\x1b[38;2;255;254;253m", b"\x1b[38;2;255;254;253m"),
            (b"\x1b[?1049h\x1b[?2026$p", b"\x1b[?1049h\x1b[?2026$p"),
            (b"\x1b[>4;2m\x1b[!p", b"\x1b[>4;2m\x1b[!p"),
            (b"\x1b]0;title\x07\x1b(B\x1b\x1b7", b"\x1b]0;title\x07\x1b(B\x1b\x1b7"),
            (b"\x1b[3\nC\x1b[2\x18x", b"\n\x1b[3Cx"),
            (b"\x1b[1\x1b[2J", b"\x1b[2J"),
            (&long, b"after"),
        ];
        for (wild, expected) in table {
            assert_eq!(tamed(&[wild]), expected, "{:?}", String::from_utf8_lossy(wild));
            let bytes: Vec<&[u8]> = wild.chunks(1).collect();
            assert_eq!(tamed(&bytes), expected, "byte by byte");
        }
    }
}
