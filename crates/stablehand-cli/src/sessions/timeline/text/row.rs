//! One row of cells: blocks in halves of a column, lines, signs and names.

use crate::output::{Look, Paint};
use unicode_width::UnicodeWidthChar;

/// What a cell holds behind a character that takes two.
const TAKEN: char = '\0';

/// A row in the making.
#[derive(Debug)]
pub(super) struct Row {
    cells: Vec<(char, Look)>,
    /// Which halves of each cell a block covers.
    halves: Vec<(bool, bool)>,
}

impl Row {
    pub(super) fn new(columns: usize) -> Row {
        Row { cells: vec![(' ', Look::Plain); columns], halves: vec![(false, false); columns] }
    }

    pub(super) fn columns(&self) -> usize {
        self.cells.len()
    }

    /// A block from one half of a column to another.
    pub(super) fn block(&mut self, from: usize, to: usize, fill: char, look: Look) {
        for half in from..to {
            let Some(covered) = self.halves.get_mut(half / 2) else { return };
            if half % 2 == 0 {
                covered.0 = true;
            } else {
                covered.1 = true;
            }
            let sign = match (fill, *covered) {
                // Only the full block has halves.
                ('█', (true, false)) => '▌',
                ('█', (false, true)) => '▐',
                _ => fill,
            };
            self.sign(half / 2, sign, look);
        }
    }

    /// A line with ends, from one column to before another.
    pub(super) fn line(&mut self, from: usize, to: usize, open: bool, look: Look) {
        for column in from..to {
            let sign = match column {
                first if first == from && to - from == 1 => '│',
                first if first == from => '├',
                last if last + 1 == to && open => '▶',
                last if last + 1 == to => '┤',
                _ => '─',
            };
            self.sign(column, sign, look);
        }
    }

    /// One sign. What went wrong stays visible under what did not.
    pub(super) fn sign(&mut self, column: usize, sign: char, look: Look) {
        if let Some(cell) = self.cells.get_mut(column) {
            let worse = if cell.1 == Look::Bad { Look::Bad } else { look };
            *cell = (sign, worse);
        }
    }

    /// A text from a column on; what does not fit is left out.
    pub(super) fn write(&mut self, column: usize, text: &str, look: Look) {
        let mut at = column;
        for c in text.chars() {
            let takes = c.width().unwrap_or(0);
            if takes == 0 || at + takes > self.cells.len() {
                continue;
            }
            if let Some(cell) = self.cells.get_mut(at) {
                *cell = (c, look);
            }
            if takes == 2
                && let Some(cell) = self.cells.get_mut(at + 1)
            {
                *cell = (TAKEN, look);
            }
            at += takes;
        }
    }

    /// The row as text, painted, without spaces at its end.
    pub(super) fn render(&self, paint: Paint) -> String {
        let blank = |cell: &&(char, Look)| cell.0 == ' ';
        let used = self.cells.len() - self.cells.iter().rev().take_while(blank).count();
        let mut out = String::new();
        for run in self.cells.get(..used).unwrap_or_default().chunk_by(|a, b| a.1 == b.1) {
            let text: String = run.iter().map(|cell| cell.0).filter(|c| *c != TAKEN).collect();
            let look = run.first().map_or(Look::Plain, |cell| cell.1);
            out.push_str(&paint.look(&text, look));
        }
        out
    }
}
