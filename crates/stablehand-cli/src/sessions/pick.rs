//! A list to choose from by typing: what is typed filters, the best match stands first.
//!
//! [`Finder`] is the state and what keys do to it, and draws; [`choose`] is the terminal around it.
//! It draws on the alternate screen, so that nothing is left behind, and gives the terminal back
//! however it is left.

use crate::ask::keyboard::{Keyboard, Typed};
use crate::env::Env;
use crate::failure::Failure;
use crate::signals::Attention;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use std::io::{self, Write as _};
use std::time::Duration;

/// Between two looks at what no key tells: signals, a terminal that is gone.
const TICK: u16 = 200;

/// The rest of a sequence follows its beginning within this; a lone escape is a key.
const SEQUENCE: u16 = 40;

/// More than this is no search.
const LONGEST_QUERY: usize = 200;

/// Where nobody says how large the terminal is.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// Below this many columns there is no room for a folder.
const ROOM_FOR_PLACE: usize = 70;

/// The alternate screen, and back.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

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

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Backspace,
    DeleteWord,
    DeleteAll,
    Enter,
    Cancel,
    /// Something that means nothing here.
    Nothing,
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
        let (dim, bold, plain) =
            if colour { ("\x1b[2m", "\x1b[1m", "\x1b[0m") } else { ("", "", "") };
        let query: String = last_chars(&self.query, cols.saturating_sub(3));
        out.push_str(&format!("> {query}\x1b[K\r\n"));
        let count = format!("  {}/{}", self.found.len(), self.choices.len());
        let help = "  enter: resume   esc: leave";
        let help = if cols > count.len() + help.len() { help } else { "" };
        out.push_str(&format!("{dim}{count}{help}{plain}\x1b[K"));
        for (place, index) in self.found.iter().enumerate().skip(top).take(page) {
            let Some(choice) = self.choices.get(*index) else { continue };
            let row = row(choice, cols.saturating_sub(3));
            let (mark, look) = if place == self.at { ("▌ ", bold) } else { ("  ", "") };
            out.push_str(&format!("\r\n{look}{mark}{row}{plain}\x1b[K"));
        }
        let column = 3 + query.chars().count();
        out.push_str(&format!("\x1b[J\x1b[?7h\x1b[1;{column}H"));
        out
    }
}

/// One line of the list, within so many columns.
fn row(choice: &Choice, cols: usize) -> String {
    let head = format!("{:>4} {:<8} ", choice.age, cut(&choice.agent, 8));
    let room = cols.saturating_sub(head.chars().count());
    if cols < ROOM_FOR_PLACE || choice.place.is_empty() {
        return head + &cut(&choice.title, room);
    }
    let place = cut_front(&choice.place, room / 3);
    let title_room = room.saturating_sub(place.chars().count() + 2);
    let title = cut(&choice.title, title_room);
    format!("{head}{title:<title_room$}  {place}")
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let short: String = text.chars().take(most.saturating_sub(1)).collect();
    short + "…"
}

fn cut_front(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    format!("…{}", last_chars(text, most.saturating_sub(1)))
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

/// The keys in what was typed, and what of it is not whole yet.
fn keys(bytes: &[u8]) -> (Vec<Key>, Vec<u8>) {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let key = match first {
            0x1b => {
                let Some((key, behind)) = sequence(after) else {
                    return (keys, [&[0x1b], after].concat());
                };
                rest = behind;
                key
            }
            b'\r' | b'\n' => Key::Enter,
            0x7f | 0x08 => Key::Backspace,
            // Ctrl-C, Ctrl-D, Ctrl-G.
            0x03 | 0x04 | 0x07 => Key::Cancel,
            // Ctrl-P and Ctrl-K, Ctrl-N.
            0x10 | 0x0b => Key::Up,
            0x0e => Key::Down,
            0x15 => Key::DeleteAll,
            0x17 => Key::DeleteWord,
            0x00..=0x1f => Key::Nothing,
            _ => {
                let whole = [&[first], after].concat();
                let len = match first {
                    0x00..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => 0,
                };
                let Some(char) = whole.get(..len) else { return (keys, whole) };
                rest = after.get(len.max(1) - 1..).unwrap_or_default();
                let char = std::str::from_utf8(char).ok().and_then(|text| text.chars().next());
                char.filter(|c| !c.is_control()).map_or(Key::Nothing, Key::Char)
            }
        };
        keys.push(key);
    }
    (keys, Vec::new())
}

/// The key of an escape sequence, without its escape; none where it is not whole.
fn sequence(bytes: &[u8]) -> Option<(Key, &[u8])> {
    let (&kind, after) = bytes.split_first()?;
    if !matches!(kind, b'[' | b'O') {
        // Escape and something else that was typed right behind it.
        return Some((Key::Cancel, after));
    }
    let end = after.iter().position(|byte| matches!(byte, 0x40..=0x7e))?;
    let (parameters, behind) = after.split_at(end);
    let (&last, behind) = behind.split_first()?;
    let key = match (last, parameters) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'H', _) | (b'~', b"1" | b"7") => Key::First,
        (b'F', _) | (b'~', b"4" | b"8") => Key::Last,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        _ => Key::Nothing,
    };
    Some((key, behind))
}

/// The terminal while the list is on it.
struct Seat {
    keyboard: Keyboard,
    signals: Signals,
    colour: bool,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _nobody_there = io::stderr().write_all(LEAVE.as_bytes());
        self.keyboard.put_back();
    }
}

/// What came.
enum Came {
    Keys(Vec<Key>),
    Resized,
    Signal(i32),
    Gone,
}

/// Lets a person choose; the place in the list, or none.
pub(super) fn choose(choices: Vec<Choice>, env: &Env) -> Result<Option<usize>, Failure> {
    let failed = |error: io::Error| Failure::new(format!("failed to use the terminal: {error}"));
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGWINCH]).map_err(failed)?;
    let keyboard = Keyboard::open(Attention::default()).map_err(failed)?;
    let mut seat = Seat { keyboard, signals, colour: !env.no_color };
    let mut finder = Finder::new(choices);
    seat.keyboard.take_every_key();
    seat.say(ENTER);
    loop {
        let size = seat.size();
        seat.say(&finder.frame(size, seat.colour));
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

impl Seat {
    fn say(&self, text: &str) {
        let mut out = io::stderr().lock();
        let _nobody_there = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    fn size(&self) -> (usize, usize) {
        match terminal_size::terminal_size_of(self.keyboard.fd()) {
            Some((cols, rows)) => (usize::from(cols.0.max(10)), usize::from(rows.0.max(3))),
            None => USUAL_SIZE,
        }
    }

    /// Waits for keys, or for a reason to draw anew or to leave.
    fn wait(&mut self) -> Came {
        let mut typed: Vec<u8> = Vec::new();
        loop {
            for signal in self.signals.pending() {
                if signal != SIGWINCH {
                    return Came::Signal(signal);
                }
                if typed.is_empty() {
                    return Came::Resized;
                }
            }
            self.keyboard.keep_keys();
            let bound = if typed.is_empty() { TICK } else { SEQUENCE };
            let mut fds = [PollFd::new(self.keyboard.fd(), PollFlags::POLLIN)];
            let told = poll(&mut fds, PollTimeout::from(bound)).unwrap_or(0);
            let events = fds.first().and_then(PollFd::revents).unwrap_or(PollFlags::empty());
            if told == 0 {
                if typed.is_empty() {
                    continue;
                }
                // What is still not whole was no sequence: an escape alone is a key.
                let (mut found, rest) = keys(&typed);
                found.extend((rest.first() == Some(&0x1b)).then_some(Key::Cancel));
                return Came::Keys(found);
            }
            if events.contains(PollFlags::POLLIN) && self.keyboard.is_ours() {
                match self.keyboard.read() {
                    Typed::Bytes(bytes) => typed.extend(bytes),
                    Typed::Nothing => continue,
                    Typed::End | Typed::Gone => return Came::Gone,
                }
                let (found, rest) = keys(&typed);
                // What is whole waits for the rest; there is hardly ever any.
                if rest.is_empty() {
                    return Came::Keys(found);
                }
            } else if events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) {
                return Came::Gone;
            } else {
                std::thread::sleep(Duration::from_millis(u64::from(TICK)));
            }
        }
    }
}
