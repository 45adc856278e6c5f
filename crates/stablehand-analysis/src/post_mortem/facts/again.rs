//! An agent that repeats itself: the same call among its last ones, the same message, the same few
//! words without an end.
//!
//! Owns the windows that are looked at and how much in them is too much; both are of fixed size,
//! whatever the log holds. The monitor warns of equal calls with equal results in a row; here results
//! may differ and other calls come between. Polling looks the same, so whoever asks accuses nobody.

use super::{Seen, TEXT};
use stablehand_core::text::excerpt;
use std::collections::VecDeque;

/// So many of the last calls are looked at, and so many of them have to be the same. Work goes back and
/// forth between an edit and a test, which makes half of them the same.
const CALLS: (usize, usize) = (32, 20);

/// The same for messages: some are as short as "Done.", and every other one may be.
const MESSAGES: (usize, usize) = (16, 10);

/// Words that are said over and over are a unit of at most so many bytes …
const LONGEST_UNIT: usize = 160;

/// … that fills so much of what was said last, …
const CHANTED: usize = 800;

/// … and is no ruler or table: so many different letters are in it.
const LETTERS: usize = 5;

/// What was done or said too often.
#[derive(Clone, Debug)]
pub(in crate::post_mortem) struct Often {
    /// The last time.
    pub(in crate::post_mortem) seen: Seen,
    /// So often, …
    pub(in crate::post_mortem) count: usize,
    /// … of so many.
    pub(in crate::post_mortem) of: usize,
    /// Nothing else came after that.
    pub(in crate::post_mortem) goes_on: bool,
}

/// Follows one sort of things.
#[derive(Debug)]
pub(in crate::post_mortem) struct Again {
    recent: VecDeque<u64>,
    window: usize,
    least: usize,
    often: Option<Often>,
}

impl Again {
    pub(in crate::post_mortem) fn calls() -> Again {
        Again::of(CALLS)
    }

    pub(in crate::post_mortem) fn messages() -> Again {
        Again::of(MESSAGES)
    }

    fn of((window, least): (usize, usize)) -> Again {
        Again { recent: VecDeque::new(), window, least, often: None }
    }

    /// Notes one more, by its digest; 0 is one that cannot be compared.
    pub(super) fn note(&mut self, digest: u64, seen: impl FnOnce() -> Seen) {
        if self.recent.len() == self.window {
            self.recent.pop_front();
        }
        self.recent.push_back(digest);
        let count = self.recent.iter().filter(|it| **it == digest && digest != 0).count();
        let most = self.often.as_ref().map_or(0, |often| often.count);
        let goes_on = count >= self.least;
        if goes_on && count >= most {
            self.often = Some(Often { seen: seen(), count, of: self.recent.len(), goes_on });
        } else if let Some(often) = &mut self.often {
            often.goes_on = goes_on;
        }
    }

    /// The worst of it.
    pub(in crate::post_mortem) fn often(&self) -> Option<&Often> {
        self.often.as_ref()
    }
}

/// The few words that a text ends with over and over, and how often it has them.
pub(in crate::post_mortem) fn chant(text: &str) -> Option<(String, usize)> {
    let text = text.trim_end();
    let from = text.floor_char_boundary(text.len().checked_sub(CHANTED)?);
    let end = text.get(from..)?.as_bytes();
    let repeats = |unit: usize| end.iter().zip(end.iter().skip(unit)).all(|(a, b)| a == b);
    let unit = (1..=LONGEST_UNIT).find(|unit| repeats(*unit))?;
    let words = String::from_utf8_lossy(end.get(..unit)?).into_owned();
    let mut letters: Vec<char> = words.chars().filter(|it| it.is_alphabetic()).collect();
    letters.sort_unstable();
    letters.dedup();
    if letters.len() < LETTERS {
        return None;
    }
    // It goes round, so it may as well be shown from the beginning of a word.
    let word = words.find(char::is_whitespace).unwrap_or(0);
    let (behind, first) = words.split_at(word);
    let words = format!("{first}{behind}");
    Some((excerpt(words.trim().as_bytes(), TEXT), end.len() / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_core::time::UnixMillis;

    fn noted(digests: impl IntoIterator<Item = u64>) -> Option<(usize, usize, bool)> {
        let mut again = Again::calls();
        for digest in digests {
            again.note(digest, || Seen::new(UnixMillis(1), "item.completed", "ls"));
        }
        assert!(again.recent.len() <= CALLS.0);
        again.often().map(|often| (often.count, often.of, often.goes_on))
    }

    #[test]
    fn most_of_the_last_ones_have_to_be_the_same() {
        assert_eq!(noted(vec![7; 19]), None);
        assert_eq!(noted(vec![7; 20]), Some((20, 20, true)));
        assert_eq!(noted(vec![7; 500]), Some((32, 32, true)));
        assert_eq!(noted((0..200).map(|n| if n % 2 == 0 { 7 } else { n })), None, "edit and test");
        let between = (0..200).map(|n| if n % 4 == 0 { n + 100 } else { 7 });
        assert_eq!(noted(between.clone()), Some((24, 32, true)));
        assert_eq!(noted(between.chain(1000..1040)), Some((24, 32, false)), "it got over it");
        assert_eq!(noted(vec![0; 100]), None, "nobody knows what these were");
    }

    #[test]
    fn a_chant_is_a_few_words_over_and_over() {
        let (words, times) = chant(&"I will look again. ".repeat(60)).expect("a chant");
        let mut sorted: Vec<&str> = words.split_whitespace().collect();
        sorted.sort_unstable();
        assert_eq!(sorted, ["I", "again.", "look", "will"]);
        assert!(times >= 40, "{times}");
        assert_eq!(chant(&"I will look again. ".repeat(20)), None, "too short to tell");
        assert_eq!(chant(&"-".repeat(4000)), None, "a ruler");
        assert_eq!(chant(&"| 0 | 1 | a |\n".repeat(400)), None, "a table");
        let counted: Vec<String> = (0..400).map(|n| format!("Stall {n} is clean.")).collect();
        assert_eq!(chant(&counted.join(" ")), None);
        let horses = "ein schönes 🐎 läuft ".repeat(80);
        assert!(chant(&horses).is_some_and(|(words, _)| words.contains("🐎")));
    }
}
