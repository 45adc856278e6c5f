//! The text of one answer of the model, and where the model's stream begins it again.
//!
//! When the connection to the model breaks, Grok asks again and writes the new answer behind the
//! broken one, without a marker. A piece that repeats the beginning of the answer is held back until
//! the repetition goes beyond the answer (then it is left out) or differs from it (then it is text like
//! any other). A whole answer that only repeats itself is no broken one: it is told in the end.

use crate::event::TextRole;
use serde::{Deserialize, Serialize};

/// The most of an answer that is kept to compare with; a longer one is not compared.
const KEEP: usize = 1 << 20;

/// An answer that is shorter may well repeat its beginning ("no, no").
const TELLING: usize = 16;

/// Bytes that no UTF-8 has stand before the texts of each role.
const MESSAGE: u8 = 0xfe;
const REASONING: u8 = 0xff;

/// The answer so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Every text of it, each run of one role behind that role's byte.
    #[serde(with = "crate::saved::bytes")]
    told: Vec<u8>,
    /// The role's byte of the last run; 0 before the first.
    last: u8,
    /// How much of the beginning was repeated and is held back; 0 where nothing is.
    repeated: usize,
    /// The role's byte of the run in which the repetition is.
    repeated_last: u8,
    /// How many whole repetitions are held back.
    copies: usize,
    is_too_long: bool,
    /// How often it was begun again.
    attempts: u64,
}

/// What a piece means.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// The answer was begun again for the n-th time.
    pub(super) again: Option<u64>,
    /// What is new, in order.
    pub(super) texts: Vec<(TextRole, String)>,
}

impl Answer {
    /// Takes a piece.
    pub(super) fn piece(&mut self, role: TextRole, text: &str) -> Heard {
        let mut heard = Heard::default();
        if text.is_empty() {
            return heard;
        }
        let mut common = self.repeats(role, text);
        if common.is_none() && self.repeated > 0 {
            // Broken off again before it had caught up, or no repetition at all.
            let held = (self.repeated, self.repeated_last);
            (self.repeated, self.repeated_last) = (0, 0);
            common = self.repeats(role, text);
            if common.is_some() {
                self.begun_again(&mut heard);
            } else {
                (self.repeated, self.repeated_last) = held;
                heard.texts = self.release();
            }
        }
        let Some(common) = common else {
            self.tell(role, text, &mut heard);
            return heard;
        };
        let of_text = common - usize::from(self.repeated_last != tag(role)).min(common);
        self.repeated += common;
        self.repeated_last = tag(role);
        if self.repeated == self.told.len() {
            (self.repeated, self.repeated_last) = (0, 0);
            self.begun_again(&mut heard);
            self.copies = (self.copies + 1).min(KEEP / self.told.len().max(1));
            let new = text.get(of_text..).unwrap_or_default();
            if !new.is_empty() {
                self.tell(role, new, &mut heard);
            }
        }
        heard
    }

    /// The answer is complete, and what was held back belongs to it.
    pub(super) fn end(&mut self) -> Vec<(TextRole, String)> {
        let whole = self.texts(self.told.len());
        let mut held: Vec<_> = std::iter::repeat_n(whole, self.copies).flatten().collect();
        held.extend(self.texts(self.repeated));
        self.clear();
        held
    }

    /// Forgets the answer; what was held back was said before.
    pub(super) fn clear(&mut self) {
        let mut told = std::mem::take(&mut self.told);
        told.clear();
        told.shrink_to(KEEP / 16);
        *self = Answer { told, ..Answer::default() };
    }

    /// How many bytes of a piece repeat the answer from where the repetition is, or from its
    /// beginning; none where the piece differs.
    fn repeats(&self, role: TextRole, text: &str) -> Option<usize> {
        if self.told.len() <= TELLING {
            return None;
        }
        let piece = Self::piece_at(self.repeated_last, role, text);
        let rest = self.told.get(self.repeated..)?;
        let common = rest.len().min(piece.len());
        (rest.get(..common) == piece.get(..common)).then_some(common)
    }

    fn begun_again(&mut self, heard: &mut Heard) {
        self.attempts += 1;
        heard.again = Some(self.attempts);
    }

    fn tell(&mut self, role: TextRole, text: &str, heard: &mut Heard) {
        heard.texts.push((role, text.to_owned()));
        self.copies = 0;
        if self.is_too_long || self.told.len() + text.len() > KEEP {
            self.told.clear();
            self.is_too_long = true;
            return;
        }
        let piece = Self::piece_at(self.last, role, text);
        self.told.extend_from_slice(&piece);
        self.last = tag(role);
    }

    /// Gives back what was held back of one repetition, as new text of the answer.
    fn release(&mut self) -> Vec<(TextRole, String)> {
        let held = self.texts(self.repeated);
        (self.repeated, self.repeated_last) = (0, 0);
        let mut heard = Heard::default();
        for (role, text) in held {
            self.tell(role, &text, &mut heard);
        }
        heard.texts
    }

    /// The texts in so many bytes of the answer.
    fn texts(&self, bytes: usize) -> Vec<(TextRole, String)> {
        let mut rest = self.told.get(..bytes).unwrap_or_default();
        let mut texts = Vec::new();
        while let Some((first, behind)) = rest.split_first() {
            let end = behind.iter().position(|byte| *byte >= MESSAGE).unwrap_or(behind.len());
            let (text, after) = behind.split_at(end);
            let role = if *first == REASONING { TextRole::Reasoning } else { TextRole::Message };
            texts.push((role, String::from_utf8_lossy(text).into_owned()));
            rest = after;
        }
        texts
    }

    /// A piece as it stands behind a run of that role: behind a byte of its own where the role changes.
    fn piece_at(last: u8, role: TextRole, text: &str) -> Vec<u8> {
        let mut piece = Vec::with_capacity(text.len() + 1);
        if last != tag(role) {
            piece.push(tag(role));
        }
        piece.extend_from_slice(text.as_bytes());
        piece
    }
}

fn tag(role: TextRole) -> u8 {
    if role == TextRole::Reasoning { REASONING } else { MESSAGE }
}
