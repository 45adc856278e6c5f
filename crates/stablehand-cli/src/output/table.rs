//! Columns that fit the terminal.
//!
//! Columns without text are left out. Where the terminal is too narrow, columns that give way become
//! narrower, then columns that can be missed go, in the order that they say. Widths are columns of
//! the terminal, in any script.

use super::{Look, Paint};
use stablehand_core::text::{fit, fit_end, one_line, width};
use stablehand_store::in_parts;

/// Between two columns.
const GAP: usize = 2;

/// The last column of a table without columns of its own is not cut below this.
const NARROWEST_LAST: usize = 12;

/// How a column behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
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
    pub(crate) const fn left(head: &'static str) -> Column {
        Column { head, is_right: false, narrowest: None, is_path: false, missed: 0 }
    }

    pub(crate) const fn right(head: &'static str) -> Column {
        Column { is_right: true, ..Column::left(head) }
    }

    /// It gives way, down to so many columns of the terminal.
    pub(crate) const fn gives_way(self, narrowest: usize) -> Column {
        Column { narrowest: Some(narrowest), ..self }
    }

    /// Where it is cut, its end stays.
    pub(crate) const fn of_paths(self) -> Column {
        Column { is_path: true, ..self }
    }

    /// It goes where there is no room; the highest first.
    pub(crate) const fn can_be_missed(self, missed: u8) -> Column {
        Column { missed, ..self }
    }
}

/// A cell and how it looks.
pub(crate) type Cell = (String, Look);

/// Rows of cells, under headings where there are some.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A column as it is shown.
struct Shown {
    /// Its place in each row.
    place: usize,
    column: Column,
    width: usize,
}

impl Shown {
    fn can_give(&self) -> usize {
        self.column.narrowest.map_or(0, |narrowest| self.width.saturating_sub(narrowest))
    }
}

impl Table {
    /// A table of such columns.
    pub(crate) fn new(columns: &[Column]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// A table with these headings, of which the last column is cut where the terminal ends.
    pub(crate) fn headed(names: &[&'static str]) -> Table {
        let mut columns: Vec<Column> = names.iter().map(|name| Column::left(name)).collect();
        if let Some(last) = columns.last_mut() {
            *last = last.gives_way(NARROWEST_LAST);
        }
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row. Whatever a cell holds, it stays one line that drives no terminal.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(clean(cells));
    }

    /// Adds a row for each of many things.
    pub(crate) fn rows_of<T: Sync>(&mut self, items: &[T], cells: impl Fn(&T) -> Vec<Cell> + Sync) {
        let rows = |part: &[T]| part.iter().map(|it| clean(cells(it))).collect::<Vec<_>>();
        self.rows.extend(in_parts(items, rows).into_iter().flatten());
    }

    /// Renders the table as text, so far to the right.
    pub(crate) fn render(&self, paint: Paint, indent: usize) -> String {
        let mut shown = self.columns();
        if let Some(limit) = paint.width() {
            narrow(&mut shown, limit.saturating_sub(indent));
        }
        let lines = |rows: &[Vec<Cell>]| {
            rows.iter().map(|row| line(row, paint, &shown, indent)).collect::<String>()
        };
        let heads: Vec<Cell> =
            self.columns.iter().map(|column| (column.head.to_owned(), Look::Bold)).collect();
        let has_heads = self.columns.iter().any(|column| !column.head.is_empty());
        let heads = if has_heads { lines(&[heads]) } else { String::new() };
        heads + &in_parts(&self.rows, lines).concat()
    }

    /// The columns that have text, as wide as it is.
    fn columns(&self) -> Vec<Shown> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.columns.len());
        let mut shown = Vec::new();
        for place in 0..count {
            let last = Column::left("").gives_way(NARROWEST_LAST);
            let unnamed = if place + 1 == count { last } else { Column::left("") };
            let column = self.columns.get(place).copied().unwrap_or(unnamed);
            let cells = self.rows.iter().filter_map(|row| row.get(place));
            let widest = cells.map(|(text, _)| width(text)).max().unwrap_or(0);
            if widest > 0 {
                shown.push(Shown { place, column, width: widest.max(width(column.head)) });
            }
        }
        shown
    }
}

/// Cells that are one line each and drive no terminal.
fn clean(cells: Vec<Cell>) -> Vec<Cell> {
    cells.into_iter().map(|(text, look)| (one_line(&text), look)).collect()
}

/// Makes columns narrower, then fewer.
fn narrow(shown: &mut Vec<Shown>, limit: usize) {
    loop {
        let all: usize = shown.iter().map(|it| it.width + GAP).sum();
        let mut over = all.saturating_sub(GAP).saturating_sub(limit);
        let missable = shown.iter().enumerate().filter(|(_, it)| it.column.missed > 0);
        let first_to_go = missable.max_by_key(|(_, it)| it.column.missed).map(|(n, _)| n);
        let is_enough = shown.iter().map(Shown::can_give).sum::<usize>() >= over;
        if let Some(gone) = first_to_go.filter(|_| !is_enough) {
            shown.remove(gone);
            continue;
        }
        for it in shown {
            let by = it.can_give().min(over);
            it.width -= by;
            over -= by;
        }
        return;
    }
}

fn line(row: &[Cell], paint: Paint, shown: &[Shown], indent: usize) -> String {
    let mut line = " ".repeat(indent);
    for (n, it) in shown.iter().enumerate() {
        let Some((text, look)) = row.get(it.place) else { continue };
        let text = if it.column.is_path { fit_end(text, it.width) } else { fit(text, it.width) };
        let padding = " ".repeat(it.width.saturating_sub(width(&text)));
        if n > 0 {
            line.push_str(&" ".repeat(GAP));
        }
        let text = paint.look(&text, *look);
        line.push_str(&if it.column.is_right { padding + &text } else { text + &padding });
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
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
        let mut table = Table::new(&columns);
        table.row(plain(&["a1", "feed the ponies", "12", "$1.20"]));
        table.row(plain(&["b2", "馬に餌をやる", "3", ""]));
        let wide = "ID  TITLE             N   COST\n\
                    a1  feed the ponies  12  $1.20\n\
                    b2  馬に餌をやる      3\n";
        assert_eq!(table.render(Paint::none(), 0), wide);
        let at = |width| table.render(Paint::colourless(Some(width)), 0);
        assert_eq!(at(23), "ID  TITLE      N   COST\na1  feed th…  12  $1.20\nb2  馬に餌…    3\n");
        assert_eq!(at(16), "ID  TITLE      N\na1  feed th…  12\nb2  馬に餌…    3\n");
        assert_eq!(at(11), "ID  TITLE\na1  feed t…\nb2  馬に餌…\n");
    }

    #[test]
    fn an_empty_column_is_left_out_and_nothing_drives_the_terminal() {
        let mut table = Table::new(&[Column::left("A"), Column::left("B"), Column::left("C")]);
        table.row(plain(&["\u{1b}[31mx\n", "", "y"]));
        assert_eq!(table.render(Paint::none(), 0), "A   C\nx   y\n");
    }

    #[test]
    fn of_a_path_the_end_stays() {
        let mut table = Table::new(&[Column::left("").gives_way(4).of_paths()]);
        table.row(plain(&["/home/rider/hay"]));
        assert_eq!(table.render(Paint::colourless(Some(10)), 0), "…rider/hay\n");
    }

    #[test]
    fn columns_are_aligned_and_the_last_one_fits() {
        let mut table = Table::headed(&["NAME", "WHERE"]);
        table.row(plain(&["é", "/a/very/long/path/to/a/program"]));
        table.row(plain(&["longer", "\u{1b}[31mx\ny"]));
        let expected = "NAME    WHERE\né       /a/very/long/path/to/a/program\nlonger  x y\n";
        assert_eq!(table.render(Paint::none(), 0), expected);
        let narrow = "NAME    WHERE\né       /a/very/lon…\nlonger  x y\n";
        assert_eq!(table.render(Paint::colourless(Some(20)), 0), narrow);
    }

    #[test]
    fn colours_do_not_count_as_width() {
        let mut table = Table::default();
        table.row(vec![("yes".into(), Look::Good), ("x".into(), Look::Plain)]);
        table.row(plain(&["never", "y"]));
        assert_eq!(table.render(Paint::coloured(), 0), "\u{1b}[32myes\u{1b}[0m    x\nnever  y\n");
    }
}
