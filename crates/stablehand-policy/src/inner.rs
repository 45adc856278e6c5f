//! Commands that may stand in an option, or in a program that an interpreter is given.
//!
//! For rules that deny and ask only: which of the words is the value of which option, and how the program
//! quotes it, is not told apart, so each word that a wildcard would not cover is looked through.

use super::hazard;
use super::shell::{Simple, Word};

/// So many beginnings of a command are looked for in one text; longer texts are scripts.
const MOST: usize = 64;

/// Characters that stand before or behind a command inside an argument.
const BOUNDS: &[char] =
    &['"', '\'', '`', '(', ')', '{', '}', '[', ']', '!', '=', ':', ';', '|', '&', ',', '\n'];

/// Returns every command that the options and programs of this one may make it run.
pub(crate) fn commands(simple: &Simple) -> Vec<Simple> {
    let judged = hazard::of(simple);
    let is_hazard = |at: usize| judged.get(at).copied().flatten().is_some();
    // Any option of a program that we do not know may run what it is given. Some versions of `nc` run a
    // command by `-c`, others mean something else by it.
    let base = simple.base().unwrap_or_default();
    let is_known = hazard::knows(simple) && !matches!(base.as_str(), "nc" | "ncat" | "netcat");
    let is_script =
        |word: &Word| !is_known && word.text().is_some_and(|it| it.contains(char::is_whitespace));
    let mut found = Vec::new();
    for (at, word) in simple.words.iter().enumerate().skip(1) {
        let before = at.checked_sub(1).and_then(|before| simple.words.get(before));
        let is_value = at > 1
            && is_hazard(at - 1)
            && before.is_some_and(|before| before.beginning().starts_with('-'));
        if !is_hazard(at) && !is_value && !is_script(word) {
            continue;
        }
        let Some(text) = word.text() else { continue };
        texts(text, &mut found);
        // `-Ocommand`: the letter of an option before its value.
        let mut letters = text.chars();
        if letters.next() == Some('-') && letters.next().is_some_and(|c| c.is_ascii_alphabetic()) {
            texts(letters.as_str(), &mut found);
        }
    }
    found
}

fn texts(text: &str, found: &mut Vec<Simple>) {
    for piece in text.split(BOUNDS) {
        let words: Vec<&str> = piece.split_whitespace().collect();
        for start in 0..words.len().min(MOST) {
            let words = words.iter().skip(start).map(|word| Word::literal(*word));
            found.push(Simple { words: words.collect(), env: Vec::new() });
            if found.len() > MOST * MOST {
                return;
            }
        }
    }
}
