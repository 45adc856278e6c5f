//! Wildcards over characters: whether a pattern matches a text, or may match one with holes.

/// One sign of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// This character.
    Char(char),
    /// Any one character.
    One,
    /// Any number of any characters.
    Many,
}

/// A pattern of signs from a text in which `*` and `?` are wildcards.
pub(crate) fn parse(text: &str) -> Vec<Sign> {
    let sign = |c| match c {
        '*' => Sign::Many,
        '?' => Sign::One,
        c => Sign::Char(c),
    };
    text.chars().map(sign).collect()
}

/// The text of a pattern.
pub(crate) fn show(pattern: &[Sign]) -> String {
    let sign = |sign: &Sign| match sign {
        Sign::Char(c) => *c,
        Sign::One => '?',
        Sign::Many => '*',
    };
    pattern.iter().map(sign).collect()
}

/// Whether a pattern matches all of a text.
pub(crate) fn matches(pattern: &[Sign], text: &str) -> bool {
    let text: Vec<Sign> = text.chars().map(Sign::Char).collect();
    overlap(pattern, &text, |a, b| a == b)
}

/// The same, whatever the case of the letters.
pub(crate) fn matches_any_case(pattern: &[Sign], text: &str) -> bool {
    let text: Vec<Sign> = text.chars().map(Sign::Char).collect();
    overlap(pattern, &text, same_letter)
}

/// Whether there is a text that both patterns match, whatever the case of the letters.
pub(crate) fn may_match(pattern: &[Sign], other: &[Sign]) -> bool {
    overlap(pattern, other, same_letter)
}

fn same_letter(a: char, b: char) -> bool {
    a == b || a.to_lowercase().eq(b.to_lowercase())
}

/// Whether two patterns have a text in common: one row of the usual table at a time.
fn overlap(a: &[Sign], b: &[Sign], same: fn(char, char) -> bool) -> bool {
    // `row[j]`: the part of `a` read so far and the first `j` signs of `b` have a text in common.
    let mut row = vec![false; b.len() + 1];
    if let Some(first) = row.first_mut() {
        *first = true;
    }
    spread(&mut row, b);
    for sign in a {
        let mut next = vec![false; b.len() + 1];
        for (j, reachable) in row.iter().enumerate() {
            if !reachable {
                continue;
            }
            if *sign == Sign::Many {
                // It matches nothing, or it swallows what `b` has.
                next.iter_mut().skip(j).for_each(|cell| *cell = true);
                break;
            }
            match b.get(j) {
                Some(Sign::Many) => {
                    // The hole of `b` swallows the sign and goes on.
                    mark(&mut next, j);
                }
                Some(Sign::One) => mark(&mut next, j + 1),
                Some(Sign::Char(theirs)) => match sign {
                    Sign::Char(ours) if !same(*ours, *theirs) => {}
                    _ => mark(&mut next, j + 1),
                },
                None => {}
            }
        }
        spread(&mut next, b);
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

fn mark(row: &mut [bool], at: usize) {
    if let Some(cell) = row.get_mut(at) {
        *cell = true;
    }
}

/// A hole may be empty.
fn spread(row: &mut [bool], b: &[Sign]) {
    for (j, sign) in b.iter().enumerate() {
        if *sign == Sign::Many && row.get(j).copied().unwrap_or_default() {
            mark(row, j + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_and_overlap() {
        let table = [
            ("git", "git", true),
            ("git", "Git", true),
            ("g*t", "gut", true),
            ("g*t", "gt", true),
            ("g?t", "gt", false),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("rm", "*", true),
            ("rm", "r*", true),
            ("rm", "s*", false),
            ("*.txt", "a*", true),
            ("a?c", "*bc", true),
            ("abc*", "*xyz", true),
            ("abc", "a*d", false),
        ];
        for (pattern, other, expected) in table {
            let (a, b) = (parse(pattern), parse(other));
            assert_eq!(may_match(&a, &b), expected, "{pattern} and {other}");
            assert_eq!(may_match(&b, &a), expected, "{other} and {pattern}");
        }
        assert!(!matches(&parse("git"), "Git"));
        assert!(matches(&parse("g*"), "git"));
        assert!(!matches(&parse("g*"), "*it"));
    }
}
