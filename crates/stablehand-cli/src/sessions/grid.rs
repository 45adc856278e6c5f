//! Columns that fit the terminal, and numbers as people read them.
//!
//! One column gives way first, then columns that can be missed, in the order that they say. Widths
//! are those of the terminal's cells, in any script.

use crate::env::Env;
use crate::manage::{Look, Paint};
use stablehand_core::text;
use stablehand_store::in_parts;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cells that are one line each and drive no terminal.
fn clean(cells: Vec<Cell>) -> Vec<Cell> {
    let clean = |text: String| {
        // Most texts are; there may be a hundred thousand.
        if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return text;
        }
        text::plain(&text).replace(['\n', '\t'], " ")
    };
    cells.into_iter().map(|(text, look)| (clean(text), look)).collect()
}

/// How a column behaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    head: &'static str,
    is_right: bool,
    /// How narrow it may become, where it gives way at all.
    narrowest: Option<usize>,
    /// Whether its end tells more than its beginning.
    is_path: bool,
    /// Whether it can be missed, and before which others: the highest goes first.
    missed: u8,
}

impl Column {
    pub(super) const fn left(head: &'static str) -> Column {
        Column { head, is_right: false, narrowest: None, is_path: false, missed: 0 }
    }

    pub(super) const fn right(head: &'static str) -> Column {
        Column { head, is_right: true, narrowest: None, is_path: false, missed: 0 }
    }

    /// It gives way, down to so many cells.
    pub(super) const fn gives_way(self, narrowest: usize) -> Column {
        Column { narrowest: Some(narrowest), ..self }
    }

    /// Where it is cut, its end stays.
    pub(super) const fn of_paths(self) -> Column {
        Column { is_path: true, ..self }
    }

    /// It goes where there is no room; the highest first.
    pub(super) const fn can_be_missed(self, missed: u8) -> Column {
        Column { missed, ..self }
    }
}

/// A cell and how it looks.
pub(super) type Cell = (String, Look);

/// Rows under headings.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

const GAP: usize = 2;

impl Grid {
    pub(super) fn new(columns: &[Column]) -> Grid {
        Grid { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Whatever a cell holds, it stays one line that drives no terminal.
    pub(super) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(clean(cells));
    }

    /// Adds a row for each of many things.
    pub(super) fn rows_of<T: Sync>(&mut self, items: &[T], cells: impl Fn(&T) -> Vec<Cell> + Sync) {
        let rows = |part: &[T]| part.iter().map(|it| clean(cells(it))).collect::<Vec<_>>();
        self.rows.extend(in_parts(items, rows).into_iter().flatten());
    }

    /// The rows as text, in so many cells where there is a limit.
    pub(super) fn render(&self, paint: Paint, width: Option<usize>) -> String {
        let mut shown: Vec<usize> =
            (0..self.columns.len()).filter(|n| !self.is_empty(*n)).collect();
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|n| self.width(n)).collect();
        if let Some(limit) = width {
            self.fit(limit, &mut shown, &mut widths);
        }
        let heads: Vec<Cell> =
            self.columns.iter().map(|column| (column.head.to_owned(), Look::Bold)).collect();
        let has_heads = self.columns.iter().any(|column| !column.head.is_empty());
        let lines = |rows: &[Vec<Cell>]| {
            rows.iter().map(|row| self.line(row, paint, &shown, &widths)).collect::<String>()
        };
        let heads = if has_heads { lines(&[heads]) } else { String::new() };
        heads + &in_parts(&self.rows, lines).concat()
    }

    fn line(&self, row: &[Cell], paint: Paint, shown: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for (place, n) in shown.iter().enumerate() {
            let (Some((text, look)), Some(width), Some(column)) =
                (row.get(*n), widths.get(*n), self.columns.get(*n))
            else {
                continue;
            };
            let text = if column.is_path { end(text, *width) } else { cut(text, *width) };
            let padding = " ".repeat(width.saturating_sub(text.width()));
            if place > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            if column.is_right {
                line.push_str(&padding);
            }
            line.push_str(&paint.look(&text, *look));
            if !column.is_right {
                line.push_str(&padding);
            }
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }

    fn is_empty(&self, n: usize) -> bool {
        self.rows.iter().all(|row| row.get(n).is_none_or(|(text, _)| text.is_empty()))
    }

    fn width(&self, n: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(n)).map(|(text, _)| text.width());
        let head = self.columns.get(n).map_or(0, |column| column.head.width());
        cells.max().unwrap_or(0).max(head)
    }

    /// Makes columns narrower, then fewer.
    fn fit(&self, limit: usize, shown: &mut Vec<usize>, widths: &mut [usize]) {
        loop {
            let all = |shown: &[usize], widths: &[usize]| {
                let cells: usize = shown.iter().filter_map(|n| widths.get(*n)).sum();
                cells + GAP * shown.len().saturating_sub(1)
            };
            let mut over = all(shown, widths).saturating_sub(limit);
            let mut giving: Vec<(usize, usize)> = Vec::new();
            for n in shown.iter() {
                let narrowest = self.columns.get(*n).and_then(|column| column.narrowest);
                if let (Some(narrowest), Some(width)) = (narrowest, widths.get(*n)) {
                    giving.push((*n, width.saturating_sub(narrowest)));
                }
            }
            if giving.iter().map(|(_, can)| can).sum::<usize>() >= over {
                for (n, can) in giving {
                    let by = can.min(over);
                    over -= by;
                    if let Some(width) = widths.get_mut(n) {
                        *width -= by;
                    }
                }
                return;
            }
            let most_missable = shown
                .iter()
                .copied()
                .filter(|n| self.columns.get(*n).is_some_and(|column| column.missed > 0))
                .max_by_key(|n| self.columns.get(*n).map_or(0, |column| column.missed));
            let Some(gone) = most_missable else {
                for (n, can) in giving {
                    if let Some(width) = widths.get_mut(n) {
                        *width -= can;
                    }
                }
                return;
            };
            shown.retain(|n| *n != gone);
        }
    }
}

/// The beginning of a text, in so many cells, with `…` where something is left out.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out + "…"
}

/// The end of a text, in so many cells, with `…` where something is left out.
fn end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let backwards: String = text.chars().rev().collect();
    cut(&backwards, width).chars().rev().collect()
}

/// How wide standard output is; no limit where it is no terminal.
pub(super) fn width(env: &Env) -> Option<usize> {
    let size = env.terminal_size.filter(|_| env.stdout_is_terminal)?;
    Some(usize::from(size.cols()).max(40))
}

/// `950`, `1.2k`, `34k`, `3.4M`.
pub(super) fn short(count: u64) -> String {
    let scaled = |unit: u64, letter: char| {
        let tenths = count / (unit / 10);
        if tenths < 100 {
            format!("{}.{}{letter}", tenths / 10, tenths % 10)
        } else {
            format!("{}{letter}", tenths / 10)
        }
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => scaled(1_000, 'k'),
        1_000_000..1_000_000_000 => scaled(1_000_000, 'M'),
        _ => scaled(1_000_000_000, 'G'),
    }
}

/// `1,204`.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `$0.0042`, `$0.12`, `$12.34`, `$1,234`.
pub(super) fn dollars(amount: f64) -> String {
    match amount {
        _ if amount.abs() >= 1000.0 => format!("${}", grouped(amount.abs().round() as u64)),
        _ if amount != 0.0 && amount.abs() < 0.01 => format!("${amount:.4}"),
        _ => format!("${amount:.2}"),
    }
}

/// `812 B`, `34.5 KiB`, `1.2 GiB`.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut amount = count as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1023.95 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS.get(unit).unwrap_or(&"TiB"))
}

/// `79%`, `0.4%`.
pub(super) fn percent(rate: f64) -> String {
    let of_hundred = rate * 100.0;
    if of_hundred == 0.0 || of_hundred >= 9.95 {
        format!("{of_hundred:.0}%")
    } else {
        format!("{of_hundred:.1}%")
    }
}

/// A number and the thing, one or many: `1 run`, `1,204 runs`.
pub(super) fn many(count: u64, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {thing}{s}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(texts: &[&str]) -> Vec<Cell> {
        texts.iter().map(|text| ((*text).to_owned(), Look::Plain)).collect()
    }

    #[test]
    fn what_gives_way_does_so_before_anything_goes() {
        let columns = [
            Column::left("ID"),
            Column::left("TITLE").gives_way(6),
            Column::right("N").can_be_missed(1),
            Column::right("COST").can_be_missed(2),
        ];
        let mut grid = Grid::new(&columns);
        grid.row(plain(&["a1", "feed the ponies", "12", "$1.20"]));
        grid.row(plain(&["b2", "馬に餌をやる", "3", ""]));
        let wide = "ID  TITLE             N   COST\n\
                    a1  feed the ponies  12  $1.20\n\
                    b2  馬に餌をやる      3\n";
        assert_eq!(grid.render(Paint::none(), None), wide);
        let at = |width| grid.render(Paint::none(), Some(width));
        assert_eq!(at(23), "ID  TITLE      N   COST\na1  feed th…  12  $1.20\nb2  馬に餌…    3\n");
        assert_eq!(at(16), "ID  TITLE      N\na1  feed th…  12\nb2  馬に餌…    3\n");
        assert_eq!(at(11), "ID  TITLE\na1  feed t…\nb2  馬に餌…\n");
    }

    #[test]
    fn an_empty_column_is_left_out_and_nothing_drives_the_terminal() {
        let mut grid = Grid::new(&[Column::left("A"), Column::left("B"), Column::left("C")]);
        grid.row(plain(&["\u{1b}[31mx\n", "", "y"]));
        assert_eq!(grid.render(Paint::none(), None), "A   C\nx   y\n");
    }

    #[test]
    fn of_a_path_the_end_stays() {
        let mut grid = Grid::new(&[Column::left("").gives_way(4).of_paths()]);
        grid.row(plain(&["/home/rider/hay"]));
        assert_eq!(grid.render(Paint::none(), Some(10)), "…rider/hay\n");
    }

    #[test]
    fn numbers_read_well() {
        let shorts: Vec<_> =
            [0, 999, 1_000, 1_234, 34_567, 999_999, 3_400_000, 12_000_000_000].map(short).into();
        assert_eq!(shorts, ["0", "999", "1.0k", "1.2k", "34k", "999k", "3.4M", "12G"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let amounts = [0.0, 0.0042, 0.5, 12.345, 1234.5].map(dollars);
        assert_eq!(amounts, ["$0.00", "$0.0042", "$0.50", "$12.35", "$1,235"]);
        let sizes = [0, 1023, 1024, 35_000, 5 << 30].map(bytes);
        assert_eq!(sizes, ["0 B", "1023 B", "1.0 KiB", "34.2 KiB", "5.0 GiB"]);
        assert_eq!([0.0, 0.004, 0.79, 1.0].map(percent), ["0%", "0.4%", "79%", "100%"]);
    }
}
