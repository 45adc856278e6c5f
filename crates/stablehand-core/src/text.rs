//! Making hostile text safe to show, and short.
//!
//! Whatever an agent printed may hold escape sequences that drive a terminal. [`plain`] takes them
//! out; [`excerpt`] cuts at a character, [`fit`] at a column of a terminal. None of them is used on
//! the pass-through path, which is bytes.

use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text with every control sequence taken out: safe for a terminal, a title, a table.
///
/// Newline and tab stay. Escape sequences (CSI, OSC, DCS and their kin, also unterminated ones) go
/// whole; other control characters, bidirectional overrides and invisible marks are dropped.
pub fn plain(text: &str) -> String {
    // Most texts are.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\u{1b}' => match chars.peek().copied() {
                Some('[') => {
                    chars.next();
                    skip_csi(&mut chars);
                }
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    chars.next();
                    skip_string_sequence(&mut chars);
                }
                Some(next) if next.is_ascii() && !next.is_ascii_control() => {
                    // Two- and three-character sequences: intermediates, then one final.
                    while let Some(i) = chars.peek().copied() {
                        chars.next();
                        if !(' '..='/').contains(&i) {
                            break;
                        }
                    }
                }
                _ => {}
            },
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
                skip_string_sequence(&mut chars);
            }
            c if c.is_control() => {}
            '\u{2028}' | '\u{2029}' => out.push('\n'),
            c if is_unseen(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Returns true for characters that a reader does not see but that change what he sees, or hide text
/// from him: marks of direction, invisible and zero-width characters, tags, separators of lines.
///
/// Joiners (U+200C, U+200D) and variation selectors stay: scripts and emoji are written with them.
pub fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Escapes what would drive a terminal or deceive its reader in JSON that is text: controls beyond
/// ASCII, DEL and what [`is_unseen`]. It means the same; borrowed where there is nothing.
pub fn safe_json(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    if bytes.is_ascii() && memchr::memchr(0x7f, bytes).is_none() {
        return Cow::Borrowed(json);
    }
    let is_unsafe = |c: char| c == '\u{7f}' || ('\u{80}'..='\u{9f}').contains(&c) || is_unseen(c);
    if !json.contains(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if !is_unsafe(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _infallible = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

/// [`plain`] text in one line: newlines and tabs become spaces.
pub fn one_line(text: &str) -> String {
    // Most texts are; a table may have a hundred thousand.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    plain(text).replace(['\n', '\t'], " ")
}

/// Returns how many columns of a terminal a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The beginning of a text in at most so many columns, with `…` where something is left out.
pub fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    // The ellipsis takes one.
    let Some(mut left) = columns.checked_sub(1) else { return String::new() };
    let fits = |c: &char| match left.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// The end of a text in at most so many columns, with `…` where something is left out.
pub fn fit_end(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let backwards: String = text.chars().rev().collect();
    fit(&backwards, columns).chars().rev().collect()
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_csi(chars: &mut Chars<'_>) {
    while let Some(c) = chars.peek().copied() {
        if c == '\n' || c == '\u{1b}' {
            return; // Broken off: whatever follows is text, or a sequence of its own.
        }
        chars.next();
        if ('@'..='~').contains(&c) {
            return;
        }
    }
}

fn skip_string_sequence(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' if chars.peek() == Some(&'\\') => {
                chars.next();
                return;
            }
            _ => {}
        }
    }
}

/// The first `max` characters of one line of bytes, safe to show, with `…` where something is left
/// out.
pub fn excerpt(bytes: &[u8], max: usize) -> String {
    // Most of what is shown is short and plain.
    if bytes.len() <= max && bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let head = bytes.get(..bytes.len().min(max.saturating_mul(4))).unwrap_or(bytes);
    // Most are a command or a path, with nothing to take out.
    if let Some(short) = head.get(..max.min(head.len()))
        && head.iter().all(|b| matches!(b, b' '..=b'~'))
        && let Ok(short) = std::str::from_utf8(short)
    {
        let ellipsis = if short.len() < bytes.len() { "…" } else { "" };
        return [short, ellipsis].concat();
    }
    let text = plain(&String::from_utf8_lossy(head)).replace(['\n', '\t'], " ");
    let mut short: String = text.chars().take(max).collect();
    if text.chars().count() > max || head.len() < bytes.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sequence_survives() {
        let cases = [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]52;c;ZXZpbA==\u{7}after", "after"),
            ("\u{1b}]0;title\u{1b}\\after", "after"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7}", "link"),
            ("\u{1b}Pq#0\u{1b}\\x", "x"),
            ("a\u{9b}2Jb", "ab"),
            ("a\u{9d}0;t\u{9c}b", "ab"),
            ("\u{1b}]never ends", ""),
            ("\u{1b}(Bx", "x"),
            ("\u{1b}cx", "x"),
            ("a\rb\u{8}c\u{0}d", "abcd"),
            ("\u{202e}evil\u{202c}", "evil"),
            ("a\u{2028}b\u{61c}c\u{ad}d\u{e0041}e\u{2066}f", "a\nbcdef"),
            ("a\tb\nc", "a\tb\nc"),
            ("ünïcode ✓", "ünïcode ✓"),
            ("\u{1b}[12;", ""),
            ("\u{1b}[1\nnext", "\nnext"),
        ];
        for (hostile, safe) in cases {
            assert_eq!(plain(hostile), safe, "{hostile:?}");
            assert_eq!(plain(&plain(hostile)), plain(hostile));
        }
    }

    #[test]
    fn json_for_a_terminal_means_the_same() {
        let hostile =
            "a\u{9b}2J\u{9d}0;t\u{202e}\u{2066}\u{61c}\u{ad}\u{e0041}\u{2028}\u{7f}\u{feff}é✓";
        let json = serde_json::to_string(&[hostile]).unwrap();
        let safe = safe_json(&json);
        assert!(!safe.contains(|c: char| c.is_control() || is_unseen(c)), "{safe}");
        assert!(
            safe.contains("\\u009b2J") && safe.contains("\\udb40\\udc41") && safe.contains("é✓")
        );
        assert_eq!(serde_json::from_str::<[String; 1]>(&safe).unwrap(), [hostile]);
        assert!(matches!(safe_json(r#"{"a":"b"}"#), Cow::Borrowed(_)));
    }

    #[test]
    fn a_text_fits_into_its_columns() {
        assert_eq!(fit("feed the ponies", 8), "feed th…");
        assert_eq!(fit("馬に餌をやる", 8), "馬に餌…");
        assert_eq!(fit("hay", 3), "hay");
        assert_eq!([fit("hay", 1), fit("hay", 0)], ["…", ""]);
        assert_eq!(fit_end("/home/rider/hay", 10), "…rider/hay");
        assert_eq!(one_line("a\u{1b}[31m\n\tb"), "a  b");
    }

    #[test]
    fn excerpts_end_at_a_character() {
        assert_eq!(excerpt("ééé".as_bytes(), 2), "éé…");
        assert_eq!(excerpt(b"ab", 2), "ab");
        assert_eq!(excerpt(b"a\nb", 9), "a b");
        assert_eq!(excerpt(&[0xff, b'a'], 9), "\u{fffd}a");
        assert_eq!(excerpt("é".repeat(500).as_bytes(), 3).chars().count(), 4);
    }
}
