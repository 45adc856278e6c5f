//! Tables on standard output, and the goals below them.

use crate::Outcome;
use std::io::Write;

/// Writes one line to standard output.
pub fn say(line: impl AsRef<str>) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", line.as_ref())?;
    out.flush()?;
    Ok(())
}

/// A table whose columns are as wide as they need to be, in the form that Markdown reads too.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[&str]) -> Self {
        Table { rows: vec![columns.iter().map(ToString::to_string).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Prints it.
    pub fn print(&self) -> Outcome<()> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|c| self.rows.iter().map(|r| cell(r, c).chars().count()).max().unwrap_or(0))
            .collect();
        for (index, row) in self.rows.iter().enumerate() {
            let mut line = String::from("|");
            for (column, width) in widths.iter().enumerate() {
                let text = cell(row, column);
                // The first column names, the others count.
                let padded = if column == 0 {
                    format!(" {text:<width$} |")
                } else {
                    format!(" {text:>width$} |")
                };
                line.push_str(&padded);
            }
            say(line)?;
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|w| "-".repeat(w + 2)).collect();
                say(format!("|{}|", rule.join("|")))?;
            }
        }
        say("")
    }
}

/// The goals of a measurement, printed after its tables.
#[derive(Debug, Default)]
pub struct Goals {
    lines: Vec<String>,
}

impl Goals {
    /// At least so much is wanted.
    pub fn at_least(&mut self, name: &str, measured: f64, wanted: f64, unit: &str) {
        self.push(name, measured, measured >= wanted, &format!("≥ {wanted}{unit}"), unit);
    }

    /// At most so much is wanted.
    pub fn at_most(&mut self, name: &str, measured: f64, wanted: f64, unit: &str) {
        self.push(name, measured, measured <= wanted, &format!("≤ {wanted}{unit}"), unit);
    }

    /// A goal that could not be measured, and why.
    pub fn unknown(&mut self, name: &str, why: &str) {
        self.lines.push(format!("goal {name}: not measured ({why})"));
    }

    fn push(&mut self, name: &str, measured: f64, met: bool, wanted: &str, unit: &str) {
        let verdict = if met && measured.is_finite() { "ok" } else { "MISSED" };
        self.lines
            .push(format!("goal {name}: measured {measured:.2}{unit} (wanted {wanted}) {verdict}"));
    }

    /// Prints them.
    pub fn print(&self) -> Outcome<()> {
        self.lines.iter().try_for_each(say)
    }
}

/// Ends a measuring command: 0 unless something broke, whatever the figures are.
pub fn exit(outcome: Outcome<()>) -> std::process::ExitCode {
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => {
            let _nobody_reads = writeln!(std::io::stderr(), "bench: {failure}");
            std::process::ExitCode::FAILURE
        }
    }
}
