//! A list to choose from by typing: what is typed filters, the best match stands first.
//!
//! Owns the state of the list, what keys do to it, and how it is drawn. Which bytes are which key is
//! `keys`', the terminal is `seat`'s.

mod keys;
mod seat;

use crate::env::Env;
use crate::failure::Failure;
use anstyle::Style;
use keys::Key;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use seat::{Came, Seat};
use stablehand_core::text::{fit, fit_end, width};
use std::fmt::Write as _;
use std::time::Duration;

/// More than this is no search.
const LONGEST_QUERY: usize = 200;

/// Below this many columns there is no room for a folder.
const ROOM_FOR_PLACE: usize = 70;

/// One that can be chosen; everything in it is fit for a terminal.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    /// How long ago.
    pub(super) age: String,
    /// Whose it is.
    pub(super) agent: String,
    /// What it is about.
    pub(super) title: String,
    /// Where it was.
    pub(super) place: String,
    /// What is searched too, and not shown.
    pub(super) more: String,
}

/// What follows from a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Stay,
    Chosen(usize),
    Cancelled,
}

/// The list, what was typed, and where the bar stands.
struct Finder {
    choices: Vec<Choice>,
    /// What is searched, for each.
    texts: Vec<String>,
    query: String,
    /// Those that fit, the best first.
    found: Vec<usize>,
    at: usize,
    matcher: Matcher,
}

impl Finder {
    fn new(choices: Vec<Choice>) -> Finder {
        let text = |it: &Choice| format!("{} {} {} {}", it.title, it.agent, it.place, it.more);
        let texts = choices.iter().map(text).collect();
        let found = (0..choices.len()).collect();
        let matcher = Matcher::new(Config::DEFAULT);
        Finder { choices, texts, query: String::new(), found, at: 0, matcher }
    }

    fn search(&mut self) {
        let pattern = Pattern::parse(&self.query, CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let mut scored: Vec<(u32, usize)> = Vec::new();
        for (index, text) in self.texts.iter().enumerate() {
            let text = Utf32Str::new(text, &mut buffer);
            if let Some(score) = pattern.score(text, &mut self.matcher) {
                scored.push((score, index));
            }
        }
        // Of equals the newer one stays first.
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        self.found = scored.into_iter().map(|(_, index)| index).collect();
        self.at = 0;
    }

    /// What a key does; `page` is how many rows are in sight.
    fn press(&mut self, key: Key, page: usize) -> Step {
        let last = self.found.len().saturating_sub(1);
        match key {
            Key::Up => self.at = self.at.saturating_sub(1),
            Key::Down => self.at = (self.at + 1).min(last),
            Key::PageUp => self.at = self.at.saturating_sub(page.max(1)),
            Key::PageDown => self.at = (self.at + page.max(1)).min(last),
            Key::First => self.at = 0,
            Key::Last => self.at = last,
            Key::Enter => {
                return self.found.get(self.at).map_or(Step::Stay, |index| Step::Chosen(*index));
            }
            Key::Cancel => return Step::Cancelled,
            Key::Nothing => {}
            Key::Char(c) => {
                if self.query.len() < LONGEST_QUERY {
                    self.query.push(c);
                    self.search();
                }
            }
            Key::Backspace => {
                self.query.pop();
                self.search();
            }
            Key::DeleteWord => {
                let kept = self.query.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.query.truncate(kept);
                self.search();
            }
            Key::DeleteAll => {
                self.query.clear();
                self.search();
            }
        }
        Step::Stay
    }

    /// How many rows there is room for.
    fn page(rows: usize) -> usize {
        rows.saturating_sub(2).max(1)
    }

    /// The whole screen. Wrapping is off meanwhile, so that wide characters cannot break the rows.
    fn frame(&self, (cols, rows): (usize, usize), colour: bool) -> String {
        let page = Finder::page(rows);
        let top = (self.at + 1).saturating_sub(page);
        let mut out = String::from("\x1b[?7l\x1b[H");
        let (dim, bold) = if colour {
            (Style::new().dimmed(), Style::new().bold())
        } else {
            (Style::new(), Style::new())
        };
        let query = last_chars(&self.query, cols.saturating_sub(3));
        let _infallible = write!(out, "> {query}\x1b[K\r\n");
        let count = format!("  {}/{}", self.found.len(), self.choices.len());
        let help = "  enter: resume   esc: leave";
        let help = if cols > count.len() + help.len() { help } else { "" };
        let _infallible = write!(out, "{dim}{count}{help}{dim:#}\x1b[K");
        for (place, index) in self.found.iter().enumerate().skip(top).take(page) {
            let Some(choice) = self.choices.get(*index) else { continue };
            let row = row(choice, cols.saturating_sub(3));
            let (mark, look) = if place == self.at { ("▌ ", bold) } else { ("  ", Style::new()) };
            let _infallible = write!(out, "\r\n{look}{mark}{row}{look:#}\x1b[K");
        }
        let column = 3 + query.chars().count();
        let _infallible = write!(out, "\x1b[J\x1b[?7h\x1b[1;{column}H");
        out
    }
}

/// One line of the list, within so many columns.
fn row(choice: &Choice, cols: usize) -> String {
    let head = format!("{:>4} {:<8} ", choice.age, fit(&choice.agent, 8));
    let room = cols.saturating_sub(width(&head));
    if cols < ROOM_FOR_PLACE || choice.place.is_empty() {
        return head + &fit(&choice.title, room);
    }
    let place = fit_end(&choice.place, room / 3);
    let title = fit(&choice.title, room.saturating_sub(width(&place) + 2));
    let padding = " ".repeat(room.saturating_sub(width(&title) + width(&place)));
    format!("{head}{title}{padding}{place}")
}

fn last_chars(text: &str, most: usize) -> String {
    let skip = text.chars().count().saturating_sub(most);
    text.chars().skip(skip).collect()
}

/// How long ago, in four characters: `5m`, `3h`, `12d`.
pub(super) fn age(ago: Duration) -> String {
    let minutes = ago.as_secs() / 60;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1440 => format!("{}h", minutes / 60),
        1440..525_600 => format!("{}d", minutes / 1440),
        _ => format!("{}y", minutes / 525_600),
    }
}

/// Lets a person choose; the place in the list, or none.
pub(super) fn choose(choices: Vec<Choice>, env: &Env) -> Result<Option<usize>, Failure> {
    let mut seat = Seat::take()?;
    let mut finder = Finder::new(choices);
    loop {
        let size = seat.size();
        seat::say(&finder.frame(size, !env.no_color));
        match seat.wait() {
            Came::Keys(keys) => {
                for key in keys {
                    match finder.press(key, Finder::page(size.1)) {
                        Step::Stay => {}
                        Step::Chosen(index) => return Ok(Some(index)),
                        Step::Cancelled => return Ok(None),
                    }
                }
            }
            Came::Resized => {}
            Came::Signal(signal) => {
                drop(seat);
                return Err(Failure::new(format!("signal {signal} came while you chose")));
            }
            Came::Gone => return Err(Failure::new("the terminal is gone")),
        }
    }
}

#[cfg(test)]
mod tests;
