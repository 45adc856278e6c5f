//! Aligned columns, and colours where somebody sees them.

use crate::env::Env;
use crate::failure::Failure;
use stablehand_analysis::timeline::Tone;
use stablehand_core::text;
use std::io::{self, Write};

/// A last column is not made narrower than this.
const NARROWEST: usize = 12;

/// Whether and how to paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    colour: bool,
    /// How wide the terminal is; no limit where there is none.
    width: Option<usize>,
}

impl Paint {
    /// By what standard output is.
    pub(crate) fn new(env: &Env) -> Paint {
        let size = env.stdout_is_terminal.then(terminal_size::terminal_size).flatten();
        Paint {
            colour: env.stdout_is_terminal && !env.no_color,
            width: size.map(|(width, _)| usize::from(width.0)).filter(|width| *width >= 40),
        }
    }

    /// Neither colours nor a limit.
    #[cfg(test)]
    pub(crate) fn none() -> Paint {
        Paint { colour: false, width: None }
    }

    #[cfg(test)]
    pub(crate) fn wide(width: usize) -> Paint {
        Paint { colour: false, width: Some(width) }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// A text in lines that fit, the later ones indented.
    pub(crate) fn wrapped(self, text: &str, indent: usize) -> String {
        let Some(width) = self.width else { return format!("{text}\n") };
        let words = text.trim_start_matches(' ');
        let mut line = " ".repeat(text.len() - words.len());
        let mut out = String::new();
        let mut fresh = true;
        for word in words.split(' ') {
            if !fresh && line.chars().count() + 1 + word.chars().count() > width {
                out.push_str(line.trim_end());
                out.push('\n');
                line = " ".repeat(indent);
                fresh = true;
            }
            if !fresh {
                line.push(' ');
            }
            line.push_str(word);
            fresh = false;
        }
        out + &line + "\n"
    }
}

/// How a cell looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Good,
    Bad,
    Warn,
    Dim,
    Bold,
    /// The model speaks.
    Blue,
    /// The model thinks.
    Violet,
}

impl From<Tone> for Look {
    fn from(tone: Tone) -> Look {
        match tone {
            Tone::Plain => Look::Plain,
            Tone::Good => Look::Good,
            Tone::Warn => Look::Warn,
            Tone::Bad => Look::Bad,
        }
    }
}

/// Rows of cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<(String, Look)>>,
}

impl Table {
    /// A row of headings.
    pub(crate) fn headed(names: &[&str]) -> Table {
        let row = names.iter().map(|name| ((*name).to_owned(), Look::Bold)).collect();
        Table { rows: vec![row] }
    }

    pub(crate) fn row(&mut self, cells: Vec<(String, Look)>) {
        // Whatever a cell holds, it stays one line that drives no terminal.
        let clean = |text: &str| text::plain(text).replace(['\n', '\t'], " ");
        self.rows.push(cells.into_iter().map(|(text, look)| (clean(&text), look)).collect());
    }

    /// Without the columns that have nothing but a heading.
    pub(crate) fn without_empty_columns(mut self) -> Table {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        for column in (0..columns).rev() {
            let cells = || self.rows.iter().skip(1).filter_map(|row| row.get(column));
            if cells().all(|(text, _)| text.is_empty()) {
                for row in self.rows.iter_mut().filter(|row| row.len() > column) {
                    row.remove(column);
                }
            }
        }
        self
    }

    /// The table as text; the last column is cut where the terminal ends.
    pub(crate) fn render(&self, paint: Paint, indent: usize) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let before: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum::<usize>();
        let room = paint.width.map(|all| all.saturating_sub(before + indent).max(NARROWEST));
        let mut out = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            for (column, (text, look)) in row.iter().enumerate() {
                let last = column + 1 == row.len();
                let whole_width = widths.get(column).copied().unwrap_or(0);
                let shown = match room.filter(|_| last && column + 1 == columns) {
                    Some(room) if text.chars().count() > room => {
                        let short: String = text.chars().take(room.saturating_sub(1)).collect();
                        format!("{short}…")
                    }
                    _ => text.clone(),
                };
                let padding = whole_width.saturating_sub(shown.chars().count()) + 2;
                line.push_str(&paint.look(&shown, *look));
                if !last {
                    line.push_str(&" ".repeat(padding));
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

impl Paint {
    pub(crate) fn look(self, text: &str, look: Look) -> String {
        match look {
            Look::Plain => text.to_owned(),
            Look::Good => self.good(text),
            Look::Bad => self.bad(text),
            Look::Warn => self.warn(text),
            Look::Dim => self.dim(text),
            Look::Bold => self.bold(text),
            Look::Blue => self.paint("34", text),
            Look::Violet => self.paint("35", text),
        }
    }
}

/// Prints to standard output; a reader who has gone has had enough.
pub(crate) fn print(text: &str) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(0),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(e) => Err(Failure::new(format!("failed to print: {e}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(texts: &[&str]) -> Vec<(String, Look)> {
        texts.iter().map(|text| ((*text).to_owned(), Look::Plain)).collect()
    }

    #[test]
    fn columns_are_aligned_and_the_last_one_fits() {
        let mut table = Table::headed(&["NAME", "WHERE"]);
        table.row(plain(&["é", "/a/very/long/path/to/a/program"]));
        table.row(plain(&["longer", "\u{1b}[31mx\ny"]));
        let expected = "NAME    WHERE\né       /a/very/long/path/to/a/program\nlonger  x y\n";
        assert_eq!(table.render(Paint::none(), 0), expected);
        let narrow = "NAME    WHERE\né       /a/very/lon…\nlonger  x y\n";
        assert_eq!(table.render(Paint::wide(20), 0), narrow);
    }

    #[test]
    fn a_column_of_nothing_is_left_out() {
        let mut table = Table::headed(&["A", "B", "C"]);
        table.row(plain(&["1", "", "3"]));
        assert_eq!(table.without_empty_columns().render(Paint::none(), 0), "A  C\n1  3\n");
    }

    #[test]
    fn colours_do_not_count_as_width() {
        let paint = Paint { colour: true, width: None };
        let mut table = Table::default();
        table.row(vec![("yes".into(), Look::Good), ("x".into(), Look::Plain)]);
        table.row(plain(&["never", "y"]));
        assert_eq!(table.render(paint, 0), "\u{1b}[32myes\u{1b}[0m    x\nnever  y\n");
    }

    #[test]
    fn long_text_is_wrapped_at_words() {
        let text = Paint::wide(16).wrapped("codex: one two three four", 7);
        assert_eq!(text, "codex: one two\n       three\n       four\n");
        assert_eq!(Paint::none().wrapped("a b", 2), "a b\n");
        assert_eq!(Paint::wide(8).wrapped("  a b  c d", 4), "  a b  c\n    d\n");
    }
}
