//! The terminal's last line: the status line, or text that has no newline yet.
//!
//! Owns what we know of that line and returns the bytes to write; it writes nothing itself. The status
//! line is drawn only where the cursor stands at the beginning of a line, so that it never covers
//! text. After drawing, the cursor goes back to the first column: a terminal that becomes narrower
//! breaks the line into rows, and the cursor stays in the first of them, from where all are erased.

use super::status;
use anstyle::Style;

/// Erases the row of the cursor.
const ERASE_ROW: &[u8] = b"\r\x1b[2K";

/// Erases the row of the cursor and everything below.
const ERASE_BELOW: &[u8] = b"\r\x1b[J";

/// What stands in the last line of the terminal.
#[derive(Debug, Default)]
pub(super) struct LastLine {
    /// How wide the status line is, while it is drawn.
    drawn: Option<usize>,
    /// Text without a newline stands there.
    unfinished: bool,
    /// We ended a line in which more text was to follow.
    broken: bool,
}

impl LastLine {
    /// Returns the bytes that erase the status line in a terminal of so many columns.
    pub(super) fn erase(&mut self, columns: usize) -> &'static [u8] {
        match self.drawn.take() {
            None => b"",
            Some(width) if width < columns => ERASE_ROW,
            Some(_) => ERASE_BELOW,
        }
    }

    /// Returns what has to be written before a message that needs a line of its own.
    pub(super) fn fresh(&mut self, columns: usize) -> Vec<u8> {
        let mut bytes = self.erase(columns).to_vec();
        if std::mem::take(&mut self.unfinished) {
            bytes.push(b'\n');
            self.broken = true;
        }
        bytes
    }

    /// Takes note of text that is written; returns the part of it that is still to be written.
    pub(super) fn text<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Some(last) = bytes.last() else { return bytes };
        self.unfinished = *last != b'\n';
        // The newline that ends a line which a message of ours has ended already.
        match bytes.strip_prefix(b"\n") {
            Some(rest) if std::mem::take(&mut self.broken) => rest,
            _ => {
                self.broken = false;
                bytes
            }
        }
    }

    /// Takes note of a message that is written on a line of its own.
    pub(super) fn message(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.unfinished = *last != b'\n';
        }
    }

    /// Takes note that the cursor is at the beginning of a line: the person has pressed Enter.
    pub(super) fn ended(&mut self) {
        self.unfinished = false;
    }

    /// Returns the bytes that draw the status line, unless they would cover text.
    pub(super) fn draw(&mut self, shown: &status::Shown, columns: usize) -> Option<Vec<u8>> {
        if self.unfinished {
            return None;
        }
        // The last column stays empty: some terminals go to the next row once it is written.
        let (text, width) = shown.fit(columns.saturating_sub(1));
        let mut bytes = match self.drawn {
            Some(before) if before >= columns => ERASE_BELOW.to_vec(),
            _ => b"\r".to_vec(),
        };
        self.drawn = Some(width);
        // Without automatic wrapping, so that a terminal which counts the width of a character
        // otherwise than we do still stays in one row.
        let dim = Style::new().dimmed();
        bytes.extend(format!("\x1b[?7l{dim}{text}{dim:#}\x1b[K\x1b[?7h\r").into_bytes());
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_core::terminal::{Terminal, TerminalSize};

    /// The rows of a terminal of 80 columns that have text.
    fn rows(bytes: &[u8]) -> Vec<String> {
        let mut terminal = Terminal::new(TerminalSize::new(80, 24));
        terminal.feed(&bytes.iter().fold(Vec::new(), |mut all, byte| {
            // As a terminal driver does.
            all.extend_from_slice(if *byte == b'\n' {
                b"\r\n"
            } else {
                std::slice::from_ref(byte)
            });
            all
        }));
        let texts = terminal.rows().into_iter().map(|row| row.text);
        texts.filter(|text| !text.is_empty()).collect()
    }

    fn shown() -> status::Shown {
        status::Shown::for_test("thinking", &["3s", "9s total"])
    }

    #[test]
    fn the_status_line_never_covers_text_and_leaves_no_trace() {
        let mut line = LastLine::default();
        let mut written = Vec::new();
        written.extend(line.draw(&shown(), 80).unwrap());
        assert_eq!(rows(&written), ["◐ thinking · 3s · 9s total"]);
        written.extend(line.erase(80));
        for piece in ["First I will look ", "at both, then fix ", "them.\n"] {
            written.extend(line.text(piece.as_bytes()));
            if piece.ends_with('\n') {
                assert!(line.draw(&shown(), 80).is_some());
                written.extend(line.erase(80));
            } else {
                assert_eq!(line.draw(&shown(), 80), None, "after {piece:?}");
                assert_eq!(line.erase(80), b"");
            }
        }
        assert_eq!(rows(&written), ["First I will look at both, then fix them."]);
    }

    #[test]
    fn it_stays_in_its_row_however_often_it_is_drawn() {
        let long = status::Shown::for_test(&"make 全部 ".repeat(40), &["3s", "9s total"]);
        let mut line = LastLine::default();
        let mut written = b"text\n".to_vec();
        for _ in 0..50 {
            written.extend(line.draw(&long, 80).unwrap());
        }
        let seen = rows(&written);
        assert_eq!(seen.len(), 2, "{seen:?}");
        written.extend(line.erase(80));
        assert_eq!(rows(&written), ["text"]);
    }

    #[test]
    fn a_narrower_terminal_is_erased_below_the_cursor_and_never_above() {
        let mut line = LastLine::default();
        line.draw(&status::Shown::for_test("build everything there is", &["3s"]), 80);
        assert_eq!(line.erase(20), ERASE_BELOW);
        line.draw(&shown(), 80);
        assert_eq!(line.erase(80), ERASE_ROW);
        assert_eq!(line.erase(80), b"");
        line.draw(&status::Shown::for_test("build everything there is", &["3s"]), 80);
        assert!(line.draw(&shown(), 20).unwrap().starts_with(ERASE_BELOW));
    }

    #[test]
    fn a_message_gets_a_line_of_its_own_and_leaves_no_empty_one() {
        let mut line = LastLine::default();
        let mut written = line.text(b"half a line").to_vec();
        written.extend(line.fresh(80));
        line.message(b"warning: slow\n");
        written.extend(b"warning: slow\n");
        written.extend(line.text(b"\ndone\n"));
        assert_eq!(written, b"half a line\nwarning: slow\ndone\n");
    }
}
