//! Secrets taken out of what is derived from an agent's output: records, events, texts, messages.
//!
//! Owns what counts as a secret and what stands in its place. There are two sorts. *Forms*: published
//! formats of tokens ([`rules`](self)), and values that are assigned to a secret's name and look random.
//! *Known values*, handed in by whoever knows them, which are found in every encoding that is listed at
//! [`RedactorBuilder::value`]. Leaves alone where redaction is applied, and reads no environment.
//!
//! A marker such as `[redacted:github-token:3f9a]` keeps the sort and a short hash, so that one can
//! see whether two of them were the same. What is not caught: secrets without a form that nobody handed
//! in, those in an encoding that is not listed, and those that are cut in two by whoever calls
//! ([`Flow`] and [`Lines`] are for texts that come in pieces).

mod check;
mod exact;
mod flow;
mod json;
mod key;
mod rules;

pub use check::{is_secret_option, is_secret_variable};
pub use flow::{Flow, Lines};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use exact::Exact;
use regex::Regex;
use rules::{Check, RULES};
use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

/// What every marker begins with.
const MARK: &str = "[redacted:";

/// The hash in a marker: four digits of it.
const HASH_DIGITS: usize = 4;

/// A text is looked at so often at the most; two looks are enough for all but contrived ones.
const MOST_ROUNDS: usize = 8;

/// The sort of a value that was handed in.
const KNOWN: &str = "known-value";

/// Finds secrets in texts. Made once, used everywhere, by any thread.
pub struct Redactor {
    salt: u64,
    exact: Option<Exact>,
}

/// Where the secrets of a text are, and of which sort; sorted, without overlaps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
    /// Place in the order of preference where several sorts fit.
    rank: usize,
    kind: &'static str,
    hash: u16,
}

impl Redactor {
    /// One that knows published forms and no values, and whose hashes are the same everywhere.
    pub fn new() -> Redactor {
        Redactor::builder().build()
    }

    /// One that is told more.
    pub fn builder() -> RedactorBuilder {
        RedactorBuilder::default()
    }

    /// The text without its secrets; borrowed where there are none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut safe = Cow::Borrowed(text);
        // What stood beside a secret stands beside a marker now, and may show its own form by that.
        for _ in 0..MOST_ROUNDS {
            let spans = self.spans(&safe);
            if spans.is_empty() {
                break;
            }
            let mut out = String::with_capacity(safe.len());
            render(&safe, &spans, 0, &mut out);
            safe = Cow::Owned(out);
        }
        safe
    }

    /// The same for bytes; what is not UTF-8 becomes a replacement character, but only where there
    /// was a secret.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(text) => match self.redact(text) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            Cow::Owned(lossy) => match self.redact(&lossy) {
                Cow::Borrowed(_) => Cow::Borrowed(bytes),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
        }
    }

    /// Redacts every string of a value, and what stands under a secret's name; names are left alone.
    pub fn redact_json(&self, value: &mut serde_json::Value) {
        json::value(self, None, value);
    }

    /// The same for JSON as text: nothing but the strings that held a secret is changed, neither the
    /// order of members nor how a number is written. What is not JSON is treated as well as it can be.
    pub fn redact_json_text<'t>(&self, json: &'t str) -> Cow<'t, str> {
        json::text(self, json)
    }

    /// What stands in place of a secret of this sort.
    fn marker(&self, kind: &str, secret: &str) -> String {
        let mut out = String::new();
        push_marker(&mut out, kind, self.hash(secret));
        out
    }

    fn hash(&self, secret: &str) -> u16 {
        let mut hasher = DefaultHasher::new();
        (self.salt, secret).hash(&mut hasher);
        hasher.finish() as u16
    }

    /// How much of the end of a text may be the beginning of a known value.
    fn begun(&self, text: &str) -> usize {
        self.exact.as_ref().map_or(0, |exact| exact.begun_at_end(text))
    }

    /// Whether a known value has more than one line.
    fn knows_lines(&self) -> bool {
        self.exact.as_ref().is_some_and(Exact::has_lines)
    }

    /// Whether nothing is in a text that a secret could be found by.
    fn is_free_of_hints(&self, text: &str) -> bool {
        let known = || self.exact.as_ref().is_some_and(|exact| exact.is_in(text));
        !FORMS.is_mentioned(text) && !known()
    }

    /// All secrets of a text.
    fn spans(&self, text: &str) -> Vec<Span> {
        let mut found = Vec::new();
        FORMS.find(text, &mut |start, end, rank, kind| {
            let hash = text.get(start..end).map_or(0, |secret| self.hash(secret));
            found.push(Span { start, end, rank, kind, hash });
        });
        if let Some(exact) = &self.exact {
            exact.find(text, &mut |start, end, value| {
                // Behind the forms, which say more, and before what is only guessed.
                let rank = rules::GUESSES;
                found.push(Span { start, end, rank, kind: KNOWN, hash: self.hash(value) });
            });
        }
        if found.is_empty() {
            return found;
        }
        merge(text, found)
    }
}

impl Default for Redactor {
    fn default() -> Self {
        Redactor::new()
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = self.exact.as_ref().map_or(0, Exact::len);
        f.debug_struct("Redactor").field("values", &values).finish_non_exhaustive()
    }
}

/// What a redactor is told.
#[derive(Clone, Default)]
#[must_use = "nothing is redacted until `build`"]
pub struct RedactorBuilder {
    salt: u64,
    values: Vec<String>,
}

impl std::fmt::Debug for RedactorBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedactorBuilder")
            .field("values", &self.values.len())
            .finish_non_exhaustive()
    }
}

impl RedactorBuilder {
    /// Makes the hashes in markers worthless to whoever wants to guess a weak secret by them. Markers
    /// of redactors with different salts cannot be compared.
    pub fn salt(mut self, salt: u64) -> Self {
        self.salt = salt;
        self
    }

    /// A value that is secret wherever it stands: as it is, escaped as in JSON, URL-encoded, and in
    /// base64 (both alphabets, also in the middle of something longer). Shorter ones than eight
    /// characters are not taken: they would be found where they are not meant.
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.values.push(value.into());
        self
    }

    /// The values of those variables whose names say that they are secret; see [`is_secret_variable`].
    pub fn variables<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: AsRef<str>,
        V: Into<String>,
    {
        for (name, value) in variables {
            let value = value.into();
            if is_secret_variable(name.as_ref(), &value) {
                self.values.push(value);
            }
        }
        self
    }

    /// The redactor.
    pub fn build(self) -> Redactor {
        Redactor { salt: self.salt, exact: Exact::new(self.values) }
    }
}

/// The published forms. Everything is compiled when it is first needed: most texts hold no word
/// that any form begins with.
struct Forms {
    words: OnceLock<Option<Words>>,
    compiled: [OnceLock<Option<Regex>>; RULES.len()],
}

/// They are the same for every redactor.
static FORMS: Forms =
    Forms { words: OnceLock::new(), compiled: [const { OnceLock::new() }; RULES.len()] };

/// The words of all rules, and whose they are.
struct Words {
    automaton: AhoCorasick,
    rules: Vec<u128>,
}

impl Forms {
    fn words(&self) -> Option<&Words> {
        let make = || {
            let mut words: Vec<&str> = Vec::new();
            let mut rules: Vec<u128> = Vec::new();
            for (index, rule) in RULES.iter().enumerate() {
                for word in rule.words {
                    let at = words.iter().position(|known| known == word);
                    let at = at.unwrap_or_else(|| {
                        words.push(word);
                        rules.push(0);
                        words.len() - 1
                    });
                    rules[at] |= 1 << index;
                }
            }
            let automaton = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(words)
                .ok()?;
            Some(Words { automaton, rules })
        };
        self.words.get_or_init(make).as_ref()
    }

    /// Whether a word of any rule is in the text.
    fn is_mentioned(&self, text: &str) -> bool {
        self.words().is_none_or(|words| words.automaton.is_match(text))
    }

    /// The rules of which a word is in the text.
    fn mentioned(&self, text: &str) -> u128 {
        let Some(words) = self.words() else { return 0 };
        let mut wanted = 0;
        for word in words.automaton.find_overlapping_iter(text) {
            wanted |= words.rules.get(word.pattern().as_usize()).copied().unwrap_or(0);
        }
        wanted
    }

    /// Whether something that is called so may be a secret for that reason.
    fn names_secret(&self, name: &str) -> bool {
        self.mentioned(name) >> rules::GUESSES & 1 == 1
    }

    /// Calls `found` with start, end, rank and kind of everything that has a form.
    fn find(&self, text: &str, found: &mut dyn FnMut(usize, usize, usize, &'static str)) {
        let mut wanted = self.mentioned(text);
        while wanted != 0 {
            let index = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let (Some(rule), Some(slot)) = (RULES.get(index), self.compiled.get(index)) else {
                return;
            };
            // A pattern that does not compile is found by the test that tries them all.
            let Some(pattern) = slot.get_or_init(|| Regex::new(rule.pattern).ok()) else {
                continue;
            };
            for captures in pattern.captures_iter(text) {
                let Some(whole) = captures.get(0) else { continue };
                let secret = captures.name("s").unwrap_or(whole);
                let (start, mut end) = (secret.start(), secret.end());
                let passes = match rule.check {
                    Check::Anywhere => true,
                    Check::Alone => check::begins_a_word(text, start),
                    Check::KeyBlock => {
                        if let Some(body) = key::body(text, whole.end()) {
                            found(body.start, body.end, index, rule.kind);
                        }
                        continue;
                    }
                    Check::Value(fits) => {
                        let name = captures.name("n").map_or("", |name| name.as_str());
                        let (value, cut) = check::trimmed(secret.as_str());
                        end -= cut;
                        fits(name, value) && !is_called(text, end)
                    }
                };
                if passes && start < end {
                    let rank = if index < rules::GUESSES { index } else { rules::GUESSES + 1 };
                    found(start, end, rank, rule.kind);
                }
            }
        }
    }
}

/// A name before an opening parenthesis is a function.
fn is_called(text: &str, end: usize) -> bool {
    text.as_bytes().get(end) == Some(&b'(')
}

/// Puts overlapping spans together, and leaves out what is a marker already.
fn merge(text: &str, mut found: Vec<Span>) -> Vec<Span> {
    // A value that has a form of its own ends where that ends, whatever is guessed of it.
    let forms: Vec<usize> =
        found.iter().filter(|span| span.rank < rules::GUESSES).map(|span| span.start).collect();
    found.retain(|span| span.rank <= rules::GUESSES || !forms.contains(&span.start));
    found.sort_by_key(|span| (span.start, span.rank));
    let mut merged: Vec<Span> = Vec::with_capacity(found.len());
    for span in found {
        match merged.last_mut() {
            Some(last) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if span.rank < last.rank {
                    *last = Span { start: last.start, end: last.end, ..span };
                }
            }
            _ => merged.push(span),
        }
    }
    if text.contains(MARK) {
        let markers = markers(text);
        merged.retain(|span| {
            let mut touched = markers.iter().filter(|m| m.0 < span.end && span.start < m.1);
            // Whole markers in a secret are part of it, unless they are all of it.
            touched
                .all(|m| m.0 >= span.start && m.1 <= span.end && m.1 - m.0 < span.end - span.start)
        });
    }
    merged
}

/// Where markers stand in a text.
fn markers(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices(MARK) {
        let rest = text.get(start + MARK.len()..).unwrap_or_default();
        let Some((inside, _)) = rest.split_once(']') else { continue };
        let Some((kind, hash)) = inside.split_once(':') else { continue };
        let is_kind =
            kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let is_hash = hash.len() == HASH_DIGITS
            && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if is_kind && is_hash {
            found.push((start, start + MARK.len() + inside.len() + 1));
        }
    }
    found
}

/// Appends the text from `from` on, with markers in place of the spans.
fn render(text: &str, spans: &[Span], from: usize, out: &mut String) {
    let mut at = from;
    for span in spans.iter().filter(|span| span.end > from) {
        out.push_str(text.get(at..span.start.max(from)).unwrap_or_default());
        push_marker(out, span.kind, span.hash);
        at = span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
}

fn push_marker(out: &mut String, kind: &str, hash: u16) {
    use std::fmt::Write as _;
    let _infallible = write!(out, "{MARK}{kind}:{hash:04x}]");
}

#[cfg(test)]
mod tests;
