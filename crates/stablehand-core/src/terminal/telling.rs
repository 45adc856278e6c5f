//! What is new on a screen since somebody last looked.
//!
//! A screen is no stream: programs repaint it, move what is on it, and let a wheel turn. Two looks
//! are compared row by row, as two versions of a file are, and only rows that were not there before
//! are told, each once. Figures, wheels, bars and frames do not make a row another one, so a clock
//! that counts up or a spinner is nothing new, however long it turns; nor is a row that was gone for
//! a while and came back. A row that has grown at its end is told by what it has grown.
//!
//! Owns the comparison. Reads no bytes and decides nothing about time: the caller looks when the
//! screen has come to rest.

use super::Row;
use crate::id::digest64;
use crate::text::plain;
use std::collections::VecDeque;

/// So many rows that vanished are remembered, so that painting them again is nothing new.
const REMEMBERED: usize = 512;

/// Something new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    /// Whether it goes on in the line that was told last; otherwise it begins a new one.
    pub continues: bool,
    /// The text: one or more lines, the last without its newline.
    pub text: String,
}

/// A row that somebody may have been told.
#[derive(Clone, Debug)]
struct Told {
    text: String,
    key: u64,
    wraps: bool,
    /// An empty row stood above it.
    apart: bool,
}

/// Remembers what was told.
#[derive(Debug, Default)]
pub struct Teller {
    told: Vec<Told>,
    vanished: VecDeque<u64>,
    /// The row of `told` that was told last, and as which text.
    last: Option<(usize, String)>,
}

impl Teller {
    /// Compares the screen with what was told: `scrolled` are the rows that left it at the top
    /// since, `screen` those that are on it.
    pub fn tell(&mut self, scrolled: Vec<Row>, screen: Vec<Row>) -> Option<Telling> {
        let left = scrolled.len();
        let (rows, on_screen_from) = readable(scrolled.into_iter().chain(screen), left);
        let (old_of, mut gone) = align(&self.told, &rows);
        let mut new: Vec<bool> = old_of.iter().map(Option::is_none).collect();
        let grown = self.take_grown(&rows, &mut new, &mut gone);
        // A row that has lost its end, as when a word moves to the next one, was told whole.
        for (row, new) in rows.iter().zip(&mut new).filter(|(_, new)| **new) {
            if let Some(at) = gone.iter().position(|index| {
                self.told.get(*index).is_some_and(|told| told.text.starts_with(&row.text))
            }) {
                gone.swap_remove(at);
                *new = false;
            }
        }
        // What is painted again is no news. It is looked for before anything that vanishes now is
        // remembered: a row that another one replaced is not the same row.
        for (row, new) in rows.iter().zip(&mut new).filter(|(_, new)| **new) {
            if let Some(at) = self.vanished.iter().position(|key| *key == row.key) {
                self.vanished.remove(at);
                *new = false;
            }
        }
        for index in gone {
            if let Some(told) = self.told.get(index) {
                self.vanished.push_back(told.key);
            }
        }
        let excess = self.vanished.len().saturating_sub(REMEMBERED);
        self.vanished.drain(..excess);
        let telling = self.put_together(&rows, &new, &old_of, grown);
        let mut rows = rows;
        self.told = rows.split_off(on_screen_from.min(rows.len()));
        self.last = self.last.take().and_then(|(row, text)| {
            row.checked_sub(on_screen_from).map(|row| (row, text)) // It may have left at the top.
        });
        telling
    }

    /// The row that was told last, if it is still there and longer: its index and what it has grown
    /// by.
    fn take_grown(
        &self,
        rows: &[Told],
        new: &mut [bool],
        gone: &mut Vec<usize>,
    ) -> Option<(usize, String)> {
        let (last, text) = self.last.as_ref().filter(|(_, text)| !text.is_empty())?;
        let at = gone.iter().position(|index| index == last)?;
        let (row, more) = rows.iter().zip(&*new).enumerate().find_map(|(index, (row, new))| {
            let more = row.text.strip_prefix(text.as_str()).filter(|_| *new)?;
            Some((index, more.to_owned()))
        })?;
        gone.swap_remove(at);
        *new.get_mut(row)? = false;
        Some((row, more))
    }

    fn put_together(
        &mut self,
        rows: &[Told],
        new: &[bool],
        old_of: &[Option<usize>],
        grown: Option<(usize, String)>,
    ) -> Option<Telling> {
        let mut telling = Telling { continues: false, text: String::new() };
        // Where the row that was told last stands now.
        let mut last = match (&self.last, grown) {
            (_, Some((row, more))) => {
                telling.continues = true;
                telling.text = more;
                Some(row)
            }
            (Some((told, _)), None) => old_of.iter().position(|old| *old == Some(*told)),
            (None, None) => None,
        };
        let mut began = telling.continues;
        for (index, row) in
            rows.iter().enumerate().filter(|(index, _)| new.get(*index) == Some(&true))
        {
            let above = index.checked_sub(1).filter(|above| last == Some(*above));
            let wrapped = above.and_then(|above| rows.get(above)).is_some_and(|above| above.wraps);
            if !wrapped {
                if began {
                    telling.text.push_str(if row.apart && above.is_some() { "\n\n" } else { "\n" });
                }
            } else if !began {
                telling.continues = true;
            }
            telling.text.push_str(&row.text);
            began = true;
            last = Some(index);
        }
        if !began {
            // Nothing was told, but the row may have moved.
            self.last = self.last.take().and_then(|(_, text)| last.map(|row| (row, text)));
            return None;
        }
        self.last = last.and_then(|row| rows.get(row).map(|told| (row, told.text.clone())));
        Some(telling)
    }
}

/// The rows that have something to read, as it can be shown; and how many of them have left the
/// screen, which are the first `left` rows.
fn readable(rows: impl Iterator<Item = Row>, left: usize) -> (Vec<Told>, usize) {
    let mut kept: Vec<Told> = Vec::new();
    let (mut apart, mut on_screen_from) = (false, 0);
    for (index, row) in rows.enumerate() {
        if index == left {
            on_screen_from = kept.len();
        }
        let text = unframed(&plain(&row.text)).to_owned();
        if text.is_empty() {
            apart |= row.text.is_empty(); // The edge of a frame sets nothing apart.
            continue;
        }
        let key = key(&text);
        kept.push(Told { text, key, wraps: row.wraps, apart: std::mem::take(&mut apart) });
        if index < left {
            on_screen_from = kept.len();
        }
    }
    (kept, on_screen_from)
}

/// A row without the frame or the picture around it; nothing where it is all frame.
pub(super) fn unframed(text: &str) -> &str {
    let is_frame = |c: char| matches!(c, '\u{2500}'..='\u{257f}');
    let is_picture = |c: char| matches!(c, '\u{2580}'..='\u{259f}' | '\u{2800}'..='\u{28ff}');
    let text = text.trim_end();
    let mut inner = text;
    if text.trim_start().starts_with(is_picture) {
        inner = inner.trim_start_matches(|c| is_picture(c) || c == ' ');
    } else if text.trim_start().starts_with(is_frame) {
        inner = inner.trim_start().trim_start_matches(is_frame);
        inner = inner.strip_prefix(' ').unwrap_or(inner);
    }
    let is_drawn = |c| is_frame(c) || is_picture(c);
    if text.ends_with(is_drawn) {
        inner = inner.trim_end_matches(|c| is_drawn(c) || c == ' ');
    }
    if inner.trim().is_empty() { "" } else { inner }
}

/// What makes a row that row: its letters, and that there are figures. A row without either is what
/// it is.
fn key(text: &str) -> u64 {
    let mut essence = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_numeric() {
            if !essence.ends_with('0') {
                essence.push('0');
            }
        } else if c.is_alphabetic() {
            essence.extend(c.to_lowercase());
        }
    }
    digest64(essence.as_bytes())
}

/// Which old row each new row is, where it is one, and which old rows are gone: the alignment in
/// order that keeps the most, and equal texts rather than merely like ones.
fn align(old: &[Told], new: &[Told]) -> (Vec<Option<usize>>, Vec<usize>) {
    let mut old_of = vec![None; new.len()];
    let same = old.iter().zip(new).take_while(|(old, new)| old.text == new.text).count();
    for (index, slot) in old_of.iter_mut().take(same).enumerate() {
        *slot = Some(index);
    }
    let (old_rest, new_rest) =
        (old.get(same..).unwrap_or_default(), new.get(same..).unwrap_or_default());
    let width = new_rest.len() + 1;
    // best[i][j]: the most that can be kept of old rows from i and new rows from j on.
    let mut best = vec![0_u32; (old_rest.len() + 1) * width];
    let value = |best: &[u32], i: usize, j: usize| best.get(i * width + j).copied().unwrap_or(0);
    for (i, before) in old_rest.iter().enumerate().rev() {
        for (j, now) in new_rest.iter().enumerate().rev() {
            let kept = likeness(before, now);
            let here = value(&best, i + 1, j).max(value(&best, i, j + 1)).max(if kept > 0 {
                kept + value(&best, i + 1, j + 1)
            } else {
                0
            });
            if let Some(slot) = best.get_mut(i * width + j) {
                *slot = here;
            }
        }
    }
    let mut gone = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(before), Some(now)) = (old_rest.get(i), new_rest.get(j)) {
        let kept = likeness(before, now);
        if kept > 0 && kept + value(&best, i + 1, j + 1) == value(&best, i, j) {
            if let Some(slot) = old_of.get_mut(same + j) {
                *slot = Some(same + i);
            }
            (i, j) = (i + 1, j + 1);
        } else if value(&best, i, j) == value(&best, i + 1, j) {
            gone.push(same + i);
            i += 1;
        } else {
            j += 1;
        }
    }
    gone.extend(same + i..old.len());
    (old_of, gone)
}

fn likeness(old: &Told, new: &Told) -> u32 {
    match (old.text == new.text, old.key == new.key) {
        (true, _) => 3,
        (false, true) => 2,
        (false, false) => 0,
    }
}
