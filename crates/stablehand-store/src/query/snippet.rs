//! A piece of a text around what was looked for.

/// A piece of a text, in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The piece; `…` where something is left out.
    pub text: String,
    /// What was found in it, from and to, in characters.
    pub ranges: Vec<(usize, usize)>,
}

/// So much of the piece, about, stands before what was found: one part in so many.
const BEFORE: usize = 4;

/// The piece of at most `width` characters with the most of what was found, spaces and line ends
/// made one space. `found` are places in bytes, in order.
pub fn snippet(text: &str, found: &[(usize, usize)], width: usize) -> Snippet {
    let width = width.max(8);
    let from = beginning(text, found, width);
    let mut out = Snippet::default();
    let mut length = 0;
    if from > 0 {
        out.text.push('…');
        length = 1;
    }
    let mut ranges = found.iter().copied().peekable();
    let mut opened: Option<usize> = None;
    let mut space = false;
    let mut cut = false;
    for (at, c) in text.get(from..).unwrap_or_default().char_indices() {
        let at = at + from;
        while let Some((_, to)) = ranges.peek().copied().filter(|(_, to)| *to <= at) {
            let _past = (ranges.next(), to);
            if let Some(start) = opened.take() {
                out.ranges.push((start, length));
            }
        }
        if c.is_whitespace() {
            space = length > usize::from(from > 0);
            continue;
        }
        if length + usize::from(space) + 1 >= width {
            cut = true;
            break;
        }
        if std::mem::take(&mut space) {
            out.text.push(' ');
            length += 1;
        }
        if opened.is_none() && ranges.peek().is_some_and(|(start, to)| *start <= at && at < *to) {
            opened = Some(length);
        }
        out.text.push(c);
        length += 1;
    }
    if let Some(start) = opened {
        out.ranges.push((start, length));
    }
    if cut {
        out.text.push('…');
    }
    out
}

/// Where the piece begins: such that the most is found in it, at the beginning of its line or word
/// if that is near.
fn beginning(text: &str, found: &[(usize, usize)], width: usize) -> usize {
    let Some((first, _)) = found.first().copied() else { return 0 };
    if text.len() <= width {
        return 0;
    }
    let reach = width - width / BEFORE;
    let mut best = (0, first);
    for (n, (start, _)) in found.iter().enumerate() {
        let inside = found.iter().skip(n).take_while(|(_, to)| *to <= start + reach).count();
        if inside > best.0 {
            best = (inside, *start);
        }
    }
    let start = best.1;
    let room = width / BEFORE;
    let before = text.get(..start).unwrap_or_default();
    let earliest = before.char_indices().rev().nth(room).map_or(0, |(at, _)| at);
    if earliest == 0 {
        return 0;
    }
    let near = before.get(earliest..).unwrap_or_default();
    let line = near.rfind('\n').map(|at| earliest + at + 1);
    let word = || near.find(char::is_whitespace).map(|at| earliest + at + 1);
    line.or_else(word).unwrap_or(earliest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, word: &str, width: usize) -> (String, Vec<String>) {
        let found: Vec<_> =
            text.match_indices(word).map(|(at, word)| (at, at + word.len())).collect();
        let snippet = snippet(text, &found, width);
        let chars: Vec<char> = snippet.text.chars().collect();
        let marked = snippet.ranges.iter().map(|(from, to)| chars[*from..*to].iter().collect());
        assert!(snippet.text.chars().count() <= width, "{snippet:?}");
        (snippet.text.clone(), marked.collect())
    }

    #[test]
    fn the_best_piece_is_shown_in_one_line() {
        assert_eq!(
            of("a  red\n\thorse", "horse", 40),
            ("a red horse".into(), vec!["horse".into()])
        );
        let far = format!("{} the red horse {}", "hay ".repeat(40), "oats ".repeat(40));
        let (text, marked) = of(&far, "horse", 30);
        assert!(text.starts_with('…') && text.ends_with('…'), "{text}");
        assert_eq!(marked, ["horse"]);
        let twice = format!("horse {} horse horse end", "x ".repeat(60));
        assert_eq!(of(&twice, "horse", 40).1, ["horse", "horse"]);
        assert_eq!(of("nothing here", "horse", 40), ("nothing here".into(), vec![]));
        let (text, marked) = of(&"馬".repeat(100), "馬馬", 20);
        assert_eq!((text.chars().count(), marked.is_empty()), (20, false));
        assert_eq!(of("first line\nthe horse\nlast one", "horse", 20).0, "…the horse last one");
    }
}
