//! Where a mistake in a file of ours stands.

use std::ops::Range;

/// A file that cannot be read, and where it is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct FileError {
    /// The file, as it was named.
    pub file: String,
    /// The line of the mistake, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub what: String,
}

impl FileError {
    pub(crate) fn new(
        text: &str,
        file: &str,
        span: Option<Range<usize>>,
        what: impl Into<String>,
    ) -> Self {
        let (line, column) = position(text, span.map_or(0, |span| span.start));
        FileError { file: file.to_owned(), line, column, what: what.into() }
    }

    pub(crate) fn of_toml(text: &str, file: &str, error: &toml::de::Error) -> Self {
        FileError::new(text, file, error.span(), error.message().replace('\n', " "))
    }
}

/// Line and column of a byte, both from 1.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    (line, column)
}
