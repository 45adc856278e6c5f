//! A changed file as text: its path, and the lines that changed.
//!
//! Whoever watches a run wants to see what is done to their files, not all of a file that was made:
//! long changes are cut, and say so.

use stablehand_core::text::plain;
use std::fmt::Write as _;

/// So many lines of a change are shown.
const MOST_LINES: usize = 40;

/// And so much of a line.
const MOST_CHARS: usize = 200;

/// The lines to show.
pub(super) fn shown(path: &str, diff: Option<&str>) -> String {
    let mut text = format!("± {}\n", plain(path).replace('\n', " "));
    let diff = plain(diff.unwrap_or_default());
    // The names of the file say nothing new.
    let header = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ");
    let lines: Vec<&str> = diff.lines().filter(|line| !header(line)).collect();
    for line in lines.iter().take(MOST_LINES) {
        let cut = line.chars().count() > MOST_CHARS;
        let line: String = line.chars().take(MOST_CHARS).collect();
        let _infallible = writeln!(text, "  {line}{}", if cut { " …" } else { "" });
    }
    if lines.len() > MOST_LINES {
        let _infallible = writeln!(text, "  … {} more lines", lines.len() - MOST_LINES);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_without_its_header_and_cut_where_it_is_long() {
        let diff = "--- a/barn\n+++ b/barn\n@@ -1 +1 @@\n-hay\n+oats\u{1b}[31m\n";
        assert_eq!(shown("barn", Some(diff)), "± barn\n  @@ -1 +1 @@\n  -hay\n  +oats\n");
        let long = "+x\n".repeat(50);
        assert!(shown("b", Some(&long)).ends_with("  +x\n  … 10 more lines\n"));
        assert_eq!(shown("barn", None), "± barn\n");
    }
}
