//! What a terminal answers when a program asks it something.
//!
//! Programs ask at their start where the cursor is, what the terminal can do and what colours it
//! has, and wait for the answer, some of them for seconds. The answers come from the state of the
//! emulator and from constants; they describe the terminal that we are, which is a plain one:
//! 256 colours and bracketed paste, no images, no special keyboard. A question about something that
//! we are not (the kitty keyboard protocol, XTGETTCAP) is not answered, which is how terminals say
//! no; programs send a question along that every terminal answers, and go by that.

use std::io::Write as _;

/// Answers that nobody has taken are kept up to this: a program that asks without listening gets no
/// more.
const MOST: usize = 16 << 10;

/// The size of one character in pixels, for programs that ask; nobody will ever see one.
const CELL: (u16, u16) = (8, 16);

const FOREGROUND: [u8; 3] = [0xe6, 0xe6, 0xe6];
const BACKGROUND: [u8; 3] = [0x12, 0x12, 0x12];

/// Answers in the making.
#[derive(Debug, Default)]
pub(super) struct Replies(Vec<u8>);

impl Replies {
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }

    fn say(&mut self, answer: std::fmt::Arguments<'_>) {
        if self.0.len() < MOST {
            // Writing to memory cannot fail.
            let _infallible = self.0.write_fmt(answer);
        }
    }

    fn colour(&mut self, what: std::fmt::Arguments<'_>, [r, g, b]: [u8; 3]) {
        self.say(format_args!(
            "\x1b]{what};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}\x1b\\"
        ));
    }
}

impl vt100::Callbacks for Replies {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        second: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let number = params.first().and_then(|param| param.first()).copied().unwrap_or(0);
        let (row, col) = screen.cursor_position();
        let (rows, cols) = screen.size();
        // Behind the last column the cursor is still said to be in it.
        let (row, col) = (row + 1, (col + 1).min(cols));
        match (first, second, last, number) {
            (None, None, 'n', 5) => self.say(format_args!("\x1b[0n")),
            (None, None, 'n', 6) => self.say(format_args!("\x1b[{row};{col}R")),
            (Some(b'?'), None, 'n', 6) => self.say(format_args!("\x1b[?{row};{col}R")),
            // A dark background.
            (Some(b'?'), None, 'n', 996) => self.say(format_args!("\x1b[?997;1n")),
            // A VT220 with colours.
            (None, None, 'c', 0) => self.say(format_args!("\x1b[?62;22c")),
            (Some(b'>'), None, 'c', 0) => self.say(format_args!("\x1b[>1;10;0c")),
            (Some(b'='), None, 'c', 0) => self.say(format_args!("\x1bP!|00000000\x1b\\")),
            (Some(b'>'), None, 'q', 0) => {
                self.say(format_args!("\x1bP>|stablehand({})\x1b\\", env!("CARGO_PKG_VERSION")));
            }
            (Some(b'?'), Some(b'$'), 'p', mode) => {
                let state = mode_state(screen, mode);
                self.say(format_args!("\x1b[?{mode};{state}$y"));
            }
            (Some(b'$'), None, 'p', mode) => self.say(format_args!("\x1b[{mode};0$y")),
            (None, None, 't', 14) => {
                let (height, width) = (rows * CELL.1, cols * CELL.0);
                self.say(format_args!("\x1b[4;{height};{width}t"));
            }
            (None, None, 't', 16) => self.say(format_args!("\x1b[6;{};{}t", CELL.1, CELL.0)),
            (None, None, 't', 18) => self.say(format_args!("\x1b[8;{rows};{cols}t")),
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        match params {
            // Text, cursor, mouse and selection: what is drawn in front, and what behind.
            [which @ (b"10" | b"12" | b"13" | b"15" | b"19"), b"?"] => {
                self.colour(format_args!("{}", String::from_utf8_lossy(which)), FOREGROUND);
            }
            [which @ (b"11" | b"14" | b"16" | b"17" | b"18"), b"?"] => {
                self.colour(format_args!("{}", String::from_utf8_lossy(which)), BACKGROUND);
            }
            [b"4", index, b"?"] => {
                let index = std::str::from_utf8(index).ok().and_then(|index| index.parse().ok());
                if let Some(index) = index {
                    self.colour(format_args!("4;{index}"), palette(index));
                }
            }
            _ => {}
        }
    }
}

/// 1 for a mode that is on, 2 for one that is off, 0 for one that we do not know.
fn mode_state(screen: &vt100::Screen, mode: u16) -> u8 {
    use vt100::MouseProtocolMode as Mouse;
    let on = match mode {
        1 => screen.application_cursor(),
        9 => screen.mouse_protocol_mode() == Mouse::Press,
        25 => !screen.hide_cursor(),
        47 | 1047 | 1049 => screen.alternate_screen(),
        1000 => screen.mouse_protocol_mode() == Mouse::PressRelease,
        1002 => screen.mouse_protocol_mode() == Mouse::ButtonMotion,
        1003 => screen.mouse_protocol_mode() == Mouse::AnyMotion,
        1006 => screen.mouse_protocol_encoding() == vt100::MouseProtocolEncoding::Sgr,
        2004 => screen.bracketed_paste(),
        _ => return 0,
    };
    if on { 1 } else { 2 }
}

/// The 256 colours as terminals have them: sixteen, a cube, and greys.
fn palette(index: u8) -> [u8; 3] {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        8 => [0x7f; 3],
        7 => [0xe5; 3],
        0..=15 => {
            let strength = if index < 8 { 0xcd } else { 0xff };
            let part = |bit: u8| if index & bit == 0 { 0 } else { strength };
            [part(1), part(2), part(4)]
        }
        16..=231 => {
            let cube = index - 16;
            [level(cube / 36), level(cube / 6 % 6), level(cube % 6)]
        }
        232..=255 => [8 + 10 * (index - 232); 3],
    }
}

#[cfg(test)]
mod tests {
    use crate::terminal::{Terminal, TerminalSize};

    fn answers(asked: &str) -> String {
        let mut terminal = Terminal::new(TerminalSize::new(80, 24));
        terminal.feed(asked.as_bytes());
        String::from_utf8(terminal.take_replies()).unwrap()
    }

    #[test]
    fn questions_are_answered_from_the_state_of_the_screen() {
        let version = format!("\x1bP>|stablehand({})\x1b\\", env!("CARGO_PKG_VERSION"));
        let table = [
            ("\x1b[5n", "\x1b[0n"),
            ("\x1b[6n", "\x1b[1;1R"),
            ("hi\r\nyou\x1b[6n", "\x1b[2;4R"),
            ("\x1b[24;80Hx\x1b[6n", "\x1b[24;80R"),
            ("\x1b[?6n", "\x1b[?1;1R"),
            ("\x1b[c", "\x1b[?62;22c"),
            ("\x1b[0c", "\x1b[?62;22c"),
            ("\x1b[>c", "\x1b[>1;10;0c"),
            ("\x1b[=c", "\x1bP!|00000000\x1b\\"),
            ("\x1b[>q", &version),
            ("\x1b[>0q", &version),
            ("\x1b]10;?\x07", "\x1b]10;rgb:e6e6/e6e6/e6e6\x1b\\"),
            ("\x1b]11;?\x1b\\", "\x1b]11;rgb:1212/1212/1212\x1b\\"),
            ("\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x1b\\"),
            ("\x1b]4;231;?\x07", "\x1b]4;231;rgb:ffff/ffff/ffff\x1b\\"),
            ("\x1b[?2004$p", "\x1b[?2004;2$y"),
            ("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"),
            ("\x1b[?1049h\x1b[?1049$p", "\x1b[?1049;1$y"),
            ("\x1b[?25$p", "\x1b[?25;1$y"),
            ("\x1b[?2026$p", "\x1b[?2026;0$y"),
            ("\x1b[20$p", "\x1b[20;0$y"),
            ("\x1b[18t", "\x1b[8;24;80t"),
            ("\x1b[14t", "\x1b[4;384;640t"),
            ("\x1b[16t", "\x1b[6;16;8t"),
            ("\x1b[?996n", "\x1b[?997;1n"),
            // Not ours to have: the question behind it is the answer.
            ("\x1b[?u\x1b[c", "\x1b[?62;22c"),
            ("\x1bP+q544e\x1b\\\x1b_Gi=31,s=1;AAAA\x1b\\", ""),
            // Settings and answers of others are no questions.
            ("\x1b]11;rgb:00/00/00\x07\x1b[3;4R\x1b[?62c\x1b[>4;2m", ""),
        ];
        for (asked, answer) in table {
            assert_eq!(answers(asked), answer, "{asked:?}");
        }
        assert_eq!(answers("\x1b[6n\x1b[c"), "\x1b[1;1R\x1b[?62;22c", "in order");
    }

    #[test]
    fn a_question_may_come_in_pieces_and_is_answered_once() {
        let mut terminal = Terminal::new(TerminalSize::new(80, 24));
        for byte in b"abc\x1b[6n" {
            assert_eq!(terminal.take_replies(), b"");
            terminal.feed(&[*byte]);
        }
        assert_eq!(terminal.take_replies(), b"\x1b[1;4R");
        assert_eq!(terminal.take_replies(), b"");
    }

    #[test]
    fn whoever_asks_without_listening_gets_a_bounded_answer() {
        let mut terminal = Terminal::new(TerminalSize::new(80, 24));
        terminal.feed("\x1b[6n".repeat(100_000).as_bytes());
        assert!(terminal.take_replies().len() < 2 * super::MOST);
    }
}
