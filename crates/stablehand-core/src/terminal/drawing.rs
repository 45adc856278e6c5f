//! What a program writes to its terminal, without what does more than draw.
//!
//! A recording is played on somebody else's terminal, later. There, text, colours and movements are
//! welcome; a title, a write to the clipboard, a mode of the keyboard or the mouse, or a question to
//! the terminal (whose answer would be typed into whatever runs there) is not. What is passed is
//! passed as it is.

/// A control sequence longer than this is none that a program means; it is dropped.
const LONGEST: usize = 256;

/// Private modes that are about the screen: reverse, origin, wrapping, the cursor, the alternate
/// screen, drawing at once.
const MODES: &[&[u8]] =
    &[b"5", b"6", b"7", b"12", b"25", b"47", b"1047", b"1048", b"1049", b"2026"];

/// The same of the modes that are not private: inserting, and what a newline does.
const PLAIN_MODES: &[&[u8]] = &[b"4", b"20"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    Control,
    /// A sequence with a text in it, up to its end.
    TextSequence,
    /// In such a sequence, and perhaps at its end.
    Leaving,
}

/// The filter; a sequence may come in any number of pieces.
#[derive(Debug, Default)]
pub struct DrawOnly {
    state: State,
    /// The control sequence so far, without its introducer.
    sequence: Vec<u8>,
    overlong: bool,
}

impl DrawOnly {
    /// Appends what draws.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for byte in bytes {
            self.byte(*byte, out);
        }
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.state = match (self.state, byte) {
            (State::Text | State::Escape | State::Control, 0x1b) => State::Escape,
            (State::Text, _) => {
                out.push(byte);
                State::Text
            }
            (State::Escape, b'[') => {
                self.sequence.clear();
                self.overlong = false;
                State::Control
            }
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => State::TextSequence,
            // A question who we are, the modes of the keypad, an end without a beginning; a sequence
            // that was given up; the end of a text.
            (State::Escape, b'Z' | b'=' | b'>' | b'\\')
            | (State::Control | State::TextSequence | State::Leaving, 0x18 | 0x1a)
            | (State::TextSequence | State::Leaving, 0x07)
            | (State::Leaving, b'\\') => State::Text,
            (State::Escape, _) => {
                out.extend_from_slice(&[0x1b, byte]);
                State::Text
            }
            (State::Control, 0x40..=0x7e) => {
                if !self.overlong {
                    self.control(byte, out);
                }
                State::Text
            }
            // A control character within a sequence acts at once, as it does on a real terminal.
            (State::Control, 0x00..=0x1f) => {
                out.push(byte);
                State::Control
            }
            (State::Control, _) => {
                self.overlong |= self.sequence.len() >= LONGEST;
                if !self.overlong {
                    self.sequence.push(byte);
                }
                State::Control
            }
            (State::TextSequence | State::Leaving, 0x1b) => State::Leaving,
            (State::TextSequence | State::Leaving, _) => State::TextSequence,
        };
    }

    fn control(&mut self, last: u8, out: &mut Vec<u8>) {
        let private = self.sequence.first().is_some_and(|byte| matches!(byte, b'<'..=b'?'));
        let marked = self.sequence.iter().any(|byte| matches!(byte, b' '..=b'/'));
        match last {
            b'h' | b'l' => self.modes(last, out),
            // Reports, printing, the window, tests of the terminal.
            b'n' | b'c' | b'x' | b'i' | b't' | b'y' => {}
            // Without a mark the cursor or the colours; with one the keyboard, or a question.
            b'm' | b'u' if private => {}
            b'p' | b'q' if private || (last == b'p' && marked) => {}
            _ => self.pass(last, out),
        }
    }

    fn pass(&self, last: u8, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[");
        out.extend_from_slice(&self.sequence);
        out.push(last);
    }

    /// Of a list of modes, those that are about the screen.
    fn modes(&self, last: u8, out: &mut Vec<u8>) {
        let (mark, numbers, known) = match self.sequence.strip_prefix(b"?") {
            Some(numbers) => (&b"?"[..], numbers, MODES),
            None => (&b""[..], self.sequence.as_slice(), PLAIN_MODES),
        };
        let modes = numbers.split(|byte| *byte == b';').filter(|mode| known.contains(mode));
        for mode in modes {
            out.extend_from_slice(b"\x1b[");
            out.extend_from_slice(mark);
            out.extend_from_slice(mode);
            out.push(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str) -> String {
        let mut whole = Vec::new();
        DrawOnly::default().push(text.as_bytes(), &mut whole);
        let (mut filter, mut pieces) = (DrawOnly::default(), Vec::new());
        for byte in text.as_bytes() {
            filter.push(&[*byte], &mut pieces);
        }
        assert_eq!(whole, pieces, "in pieces it is the same: {text:?}");
        String::from_utf8(whole).unwrap()
    }

    #[test]
    fn what_draws_passes_and_nothing_else() {
        let table = [
            ("plain é\r\n\ttext", "plain é\r\n\ttext"),
            ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
            (
                "\x1b[2J\x1b[H\x1b[10;5Hx\x1b[K\x1b(B\x1b7\x1b8",
                "\x1b[2J\x1b[H\x1b[10;5Hx\x1b[K\x1b(B\x1b7\x1b8",
            ),
            ("a\x1b]52;c;ZXZpbA==\x07b", "ab"),
            ("a\x1b]0;title\x1b\\b", "ab"),
            ("a\x1bPq#0;1\x1b\\b\x1b_Gx\x1b\\c", "abc"),
            ("\x1b]0;x\x1b[31m\x07y", "y"),
            ("a\x1b[6n\x1b[c\x1b[>c\x1b[>0q\x1b[?1$p\x1b[18t\x1b[5i\x1bZb", "ab"),
            ("\x1b[?1049h\x1b[?25l", "\x1b[?1049h\x1b[?25l"),
            ("\x1b[?1000;25;2004h\x1b[?1006h\x1b[2l\x1b[4h", "\x1b[?25h\x1b[4h"),
            ("\x1b[>1u\x1b[?u\x1b[u\x1b[>4;1m\x1b[2 q", "\x1b[u\x1b[2 q"),
            ("\x1b=\x1b>\x1b[1\x1b[32mx", "\x1b[32mx"),
            ("\x1b]never ends", ""),
        ];
        for (written, expected) in table {
            assert_eq!(drawn(written), expected, "{written:?}");
        }
        let long = format!("\x1b[{}mx", "1;".repeat(500));
        assert_eq!(drawn(&long), "x");
    }
}
