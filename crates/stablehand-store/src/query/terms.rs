//! What a person typed, as something to search for. Everything is: nothing typed is an error.
//!
//! Words are all wanted; a phrase stands together; `-word` must not occur; `word*` is a beginning.
//! The index knows words of letters, digits and underscores. What it cannot know, such as the signs
//! of `C++`, an emoji, or a word of a script that puts no spaces between words, is looked for in
//! the text itself, of those passages that the index of signs offers.

use crate::signs::{self, is_of_word, is_without_spaces};

/// One thing to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// As it was typed, without quotes, sign and star.
    pub text: String,
    /// Whether it is only the beginning of a word.
    pub is_beginning: bool,
    /// For the index of words, in its own language; absent where that cannot know it.
    in_index: Option<String>,
    /// To be found in the text itself, in small letters.
    in_text: Option<String>,
}

/// All that is to be looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Each of these.
    pub wanted: Vec<Term>,
    /// None of these.
    pub unwanted: Vec<Term>,
}

impl Terms {
    /// Reads arguments. One with spaces and no quotes in it was quoted for the shell: a phrase.
    pub fn of_arguments<S: AsRef<str>>(arguments: &[S]) -> Terms {
        let mut terms = Terms::default();
        for argument in arguments {
            // The index's language ends at a zero.
            let argument = argument.as_ref().replace('\0', " ");
            let phrase = argument.trim();
            if phrase.contains(char::is_whitespace) && !phrase.contains('"') {
                let (is_unwanted, phrase) = sign(phrase);
                terms.push(phrase, is_unwanted);
            } else {
                terms.read(&argument);
            }
        }
        terms
    }

    fn read(&mut self, typed: &str) {
        let mut rest = typed.trim_start();
        while !rest.is_empty() {
            let (is_unwanted, behind) = sign(rest);
            rest = behind;
            if let Some(quoted) = rest.strip_prefix('"') {
                // A quote that is never closed reaches to the end.
                let (inside, mut behind) = quoted.split_once('"').unwrap_or((quoted, ""));
                let star = behind.strip_prefix('*');
                behind = star.unwrap_or(behind);
                let star = if star.is_some() { "*" } else { "" };
                self.push(&format!("{inside}{star}"), is_unwanted);
                rest = behind.trim_start();
            } else {
                let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                self.push(word, is_unwanted);
                rest = behind.trim_start();
            }
        }
    }

    fn push(&mut self, text: &str, is_unwanted: bool) {
        let terms = if is_unwanted { &mut self.unwanted } else { &mut self.wanted };
        terms.extend(Term::new(text));
    }

    /// The question for the index of words; absent where it cannot help.
    pub(super) fn in_index(&self) -> Option<String> {
        let wanted = all_of(self.wanted.iter())?;
        Some(match self.unwanted_in_index() {
            Some(unwanted) => format!("({wanted}) NOT ({unwanted})"),
            None => wanted,
        })
    }

    /// The question for the index of signs; absent where it cannot help.
    pub(super) fn in_signs(&self) -> Option<String> {
        signs::question(self.wanted.iter().filter_map(|term| term.in_text.as_deref()))
    }

    /// What the index is to exclude.
    pub(super) fn unwanted_in_index(&self) -> Option<String> {
        let known = self.unwanted.iter().filter(|term| term.in_text.is_none());
        let known: Vec<&str> = known.filter_map(|term| term.in_index.as_deref()).collect();
        (!known.is_empty()).then(|| known.join(" OR "))
    }

    /// Whether the index is asked for a beginning. It then gathers everything that begins so before
    /// it answers at all.
    pub(super) fn has_beginning(&self) -> bool {
        self.wanted.iter().chain(&self.unwanted).any(|term| term.is_beginning)
    }

    /// Whether it is one word and nothing else.
    pub(super) fn is_one_word(&self) -> bool {
        matches!(self.wanted.as_slice(), [term] if term.text.chars().all(is_of_word))
            && self.unwanted.is_empty()
    }

    /// Whether no letter of it could have an accent.
    pub(super) fn is_ascii(&self) -> bool {
        self.wanted.iter().all(|term| term.text.is_ascii())
    }

    /// Whether the text itself has to be looked at.
    pub(super) fn needs_text(&self) -> bool {
        self.wanted.iter().chain(&self.unwanted).any(|term| term.in_text.is_some())
    }

    /// Where these stand in a text, in bytes, a phrase as one. Accents count here, other than in the
    /// index.
    pub(super) fn places(&self, text: &str) -> Vec<(usize, usize)> {
        let words: Vec<&str> =
            text.split(|c| !is_of_word(c)).filter(|word| !word.is_empty()).collect();
        // A word is a part of the text, so its place is the distance of the two.
        let from = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
        let mut places = Vec::new();
        for own in self.wanted.iter().map(Term::words).filter(|own| !own.is_empty()) {
            for stretch in words.windows(own.len()) {
                let mut pairs = stretch.iter().zip(&own);
                if pairs.all(|(word, (own, is_beginning))| is_word(word, own, *is_beginning))
                    && let (Some(first), Some(last)) = (stretch.first(), stretch.last())
                {
                    places.push((from(first), from(last) + last.len()));
                }
            }
        }
        places
    }

    /// Whether a text that the index offers fits, as far as the index cannot know.
    pub(super) fn fit(&self, text: &str) -> bool {
        let mut small = None;
        let mut has = |part: &str| {
            // Signs and scripts without capitals need no copy of a text that may be long.
            if part.chars().all(|c| !c.is_alphabetic() || is_without_spaces(c)) {
                text.contains(part)
            } else {
                small.get_or_insert_with(|| text.to_lowercase()).contains(part)
            }
        };
        self.wanted.iter().filter_map(|term| term.in_text.as_deref()).all(&mut has)
            && !self.unwanted.iter().filter_map(|term| term.in_text.as_deref()).any(has)
    }
}

impl Term {
    fn new(typed: &str) -> Option<Term> {
        let bare = typed.trim_end_matches('*');
        let is_beginning = bare.len() < typed.len() && bare.chars().any(is_of_word);
        let text = if is_beginning { bare } else { typed };
        if text.trim().is_empty() {
            return None;
        }
        let words = text.split(|c| !is_of_word(c)).filter(|word| !word.is_empty()).count();
        let is_known = words > 0 && !text.chars().any(is_without_spaces);
        // One word with signs around it would be found without them.
        let is_exact = words > 1 || (words == 1 && text.chars().all(is_of_word));
        let quoted = text.replace('"', "\"\"");
        let star = if is_beginning { " *" } else { "" };
        Some(Term {
            text: text.to_owned(),
            is_beginning,
            in_index: is_known.then(|| format!("\"{quoted}\"{star}")),
            in_text: (!is_known || !is_exact).then(|| text.to_lowercase()),
        })
    }

    /// Its words in small letters, and whether each is only a beginning: the last one may be.
    fn words(&self) -> Vec<(String, bool)> {
        let own = self.text.to_lowercase();
        let words = own.split(|c| !is_of_word(c)).filter(|word| !word.is_empty());
        let mut words: Vec<_> = words.map(|word| (word.to_owned(), false)).collect();
        if let Some((_, is_beginning)) = words.last_mut() {
            *is_beginning = self.is_beginning;
        }
        words
    }

    /// The question for the index of words about this alone.
    pub(super) fn in_index(&self) -> Option<&str> {
        self.in_index.as_deref()
    }
}

/// Asks the index for all of these; absent where it knows none of them.
pub(super) fn all_of<'t>(terms: impl Iterator<Item = &'t Term>) -> Option<String> {
    let known: Vec<&str> = terms.filter_map(Term::in_index).collect();
    (!known.is_empty()).then(|| known.join(" AND "))
}

/// Whether a word of a text is this one, which is in small letters, or begins so.
fn is_word(word: &str, own: &str, is_beginning: bool) -> bool {
    if !word.is_ascii() {
        let small = word.to_lowercase();
        return small == own || is_beginning && small.starts_with(own);
    }
    let length = if is_beginning { own.len().min(word.len()) } else { word.len() };
    word.get(..length).is_some_and(|part| part.eq_ignore_ascii_case(own))
}

/// Whether a minus stands before it that means "not": `-word`, but neither `--flag` nor `->`.
fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with(|c: char| c == '"' || is_of_word(c)) => (true, rest),
        _ => (false, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &[&str]) -> (Option<String>, Vec<String>) {
        let terms = Terms::of_arguments(arguments);
        let all = terms.wanted.iter().chain(&terms.unwanted);
        (terms.in_index(), all.filter_map(|term| term.in_text.clone()).collect())
    }

    #[test]
    fn what_is_typed_becomes_a_question() {
        let table: &[(&[&str], Option<&str>, &[&str])] = &[
            (&["red", "horse"], Some(r#""red" AND "horse""#), &[]),
            (&["red horse"], Some(r#""red horse""#), &[]),
            (&[r#""red horse" hay"#], Some(r#""red horse" AND "hay""#), &[]),
            (&["hors*"], Some(r#""hors" *"#), &[]),
            (&[r#""red ho"*"#], Some(r#""red ho" *"#), &[]),
            (&["red", "-horse"], Some(r#"("red") NOT ("horse")"#), &[]),
            (&["red", "-blue horse"], Some(r#"("red") NOT ("blue horse")"#), &[]),
            (&["src/main.rs"], Some(r#""src/main.rs""#), &[]),
            (&["foo-bar"], Some(r#""foo-bar""#), &[]),
            (&["C++"], Some(r#""C++""#), &["c++"]),
            (&["--force"], Some(r#""--force""#), &["--force"]),
            (&["->"], None, &["->"]),
            (&["*"], None, &["*"]),
            (&["\""], None, &[]),
            (&["\"\""], None, &[]),
            (&["say\"hi"], Some(r#""say""hi""#), &[]),
            (&["NEAR("], Some(r#""NEAR(""#), &["near("]),
            (&["AND"], Some(r#""AND""#), &[]),
            (&["🐴"], None, &["🐴"]),
            (&["馬"], None, &["馬"]),
            (&["-C++", "x"], Some(r#""x""#), &["c++"]),
            (&["-", "x"], Some(r#""x""#), &["-"]),
            (&["a\0b"], Some(r#""a b""#), &[]),
            (&["", " "], None, &[]),
        ];
        for (typed, index, text) in table {
            assert_eq!(
                asked(typed),
                (index.map(str::to_owned), text.iter().map(|t| (*t).to_owned()).collect()),
                "{typed:?}"
            );
        }
    }

    #[test]
    fn signs_are_looked_for_in_the_text() {
        let terms = Terms::of_arguments(&["C++", "-C#"]);
        assert!(terms.fit("plain c++ here"));
        assert!(!terms.fit("plain c here"));
        assert!(!terms.fit("C++ and c#"));
    }
}
