//! A log as a recording for asciinema (asciicast v2): the text as it came, with its times; or, of an
//! agent at a terminal, what its terminal got.
//!
//! A recording is played on a terminal, so nothing that an agent wrote may do more there than draw:
//! sequences that set titles, write to the clipboard or ask the terminal something are left out.

use super::super::find::Found;
use super::super::play::{play, still_there};
use super::super::read::{each_record, warn};
use super::{Sheet, head};
use crate::failure::Failure;
use crate::render::{Page, Surface as _, TextView};
use serde_json::json;
use stablehand::log::Glance;
use stablehand::redact::Redaction;
use stablehand::show::Show;
use stablehand_core::event::EventKind;
use stablehand_core::record::{DecisionKind, Record, Stream};
use stablehand_core::redact::Lines;
use stablehand_core::replay::size_of;
use stablehand_core::terminal::{DrawOnly, TerminalSize};
use stablehand_core::text::excerpt;
use stablehand_core::time::{UnixMillis, millis};
use stablehand_core::{Dialect, Event};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The size of a terminal that shows the text of a run.
const TEXT_COLS: u16 = 100;
const TEXT_ROWS: u16 = 30;

/// Writes the recording.
pub(super) fn write(
    log: PathBuf,
    seen: &Glance,
    redaction: Option<&Redaction>,
    max_pause: Duration,
    sheet: &Sheet,
) -> Result<(), Failure> {
    let is_terminal = seen.dialect == Some(Dialect::Terminal);
    let title = head(seen, redaction).document_title();
    let film = Film {
        sheet: sheet.clone(),
        title: excerpt(title.as_bytes(), 120),
        max_pause,
        last: None,
        at: Duration::ZERO,
        begun: false,
    };
    if is_terminal {
        return terminal(&log, redaction, film);
    }
    let page = Page::default();
    let view = TextView::new(page.clone(), true).with_prompts();
    play(&Found::Log(log), Filmed { view, page, film }, redaction)?;
    Ok(())
}

/// The frames, one after the other.
struct Film {
    sheet: Sheet,
    title: String,
    max_pause: Duration,
    /// The time of the last frame, by the log.
    last: Option<UnixMillis>,
    /// The time of the last frame, in the recording.
    at: Duration,
    begun: bool,
}

impl Film {
    /// The head, once.
    fn begin(&mut self, size: (u16, u16), at: UnixMillis) -> io::Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        self.last = Some(at);
        let head = json!({
            "version": 2,
            "width": size.0,
            "height": size.1,
            "timestamp": at.0.div_euclid(1000),
            "title": self.title,
            "env": { "TERM": "xterm-256color" },
        });
        self.line(&head)
    }

    /// One frame: `o` is output, `r` a new size, `m` a mark.
    fn frame(&mut self, at: UnixMillis, code: &str, data: &str) -> io::Result<()> {
        let pause = self.last.map_or(Duration::ZERO, |last| at.since(last));
        self.at += pause.min(self.max_pause);
        // Clocks may go back; recordings may not.
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
        let seconds = millis(self.at) as f64 / 1000.0;
        self.line(&json!([seconds, code, data]))
    }

    fn line(&self, value: &serde_json::Value) -> io::Result<()> {
        self.sheet.out(format!("{value}\n").as_bytes())
    }
}

/// The text of a run, filmed.
struct Filmed {
    view: TextView<Page>,
    page: Page,
    film: Film,
}

impl Show for Filmed {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let at = event.at;
        self.film.begin((TEXT_COLS, TEXT_ROWS), at)?;
        if let EventKind::TurnStarted { prompt: Some(prompt), .. } = &event.event {
            self.film.frame(at, "m", &excerpt(prompt.trim().as_bytes(), 60))?;
        }
        self.view.event(event)?;
        self.view.pause()?;
        let drawn = self.page.take();
        if drawn.is_empty() {
            return Ok(());
        }
        // On a terminal a new line does not begin at the left by itself.
        let text = String::from_utf8_lossy(&drawn).replace('\n', "\r\n");
        self.film.frame(at, "o", &text)
    }

    fn pause(&mut self) -> io::Result<()> {
        // Also a log of nothing is a recording.
        self.film.begin((TEXT_COLS, TEXT_ROWS), UnixMillis(0))
    }
}

/// What the terminal of an agent got.
fn terminal(log: &Path, redaction: Option<&Redaction>, mut film: Film) -> Result<(), Failure> {
    let mut lines = Lines::default();
    let mut drawing = DrawOnly::default();
    let mut rest = Vec::new();
    let mut gone = false;
    let skipped = each_record(log, |record| {
        let shown = match record {
            _ if gone => return Ok(()),
            Record::Decision(decision) => {
                let begins = decision.kind() == Some(DecisionKind::AgentSpawned);
                match decision.record().and_then(size_of) {
                    Some(size) if begins && !film.begun => {
                        film.begin((size.cols(), size.rows()), decision.at())
                    }
                    Some(size) => film.frame(decision.at(), "r", &size.to_string()),
                    None => return Ok(()),
                }
            }
            Record::Raw { stream: Stream::Stdout, at, bytes, newline, .. } => {
                let safe = match redaction {
                    Some(redaction) => lines.bytes(&redaction.redactor, bytes),
                    None => bytes.as_ref().into(),
                };
                drawing.push(&safe, &mut rest);
                if *newline {
                    drawing.push(b"\n", &mut rest);
                }
                let text = whole_text(&mut rest);
                if text.is_empty() {
                    return Ok(());
                }
                let size = TerminalSize::DEFAULT;
                film.begin((size.cols(), size.rows()), *at)
                    .and_then(|()| film.frame(*at, "o", &text))
            }
            Record::Raw { .. } | Record::Foreign(_) | Record::Broken(_) => return Ok(()),
        };
        gone = !still_there(shown)?;
        Ok(())
    })?;
    if !gone {
        let size = TerminalSize::DEFAULT;
        still_there(film.begin((size.cols(), size.rows()), UnixMillis(0)))?;
    }
    warn(log, skipped);
    Ok(())
}

/// Takes what is text; a character that is not whole yet stays for the next time.
fn whole_text(bytes: &mut Vec<u8>) -> String {
    let mut text = String::new();
    loop {
        match std::str::from_utf8(bytes) {
            Ok(whole) => {
                text.push_str(whole);
                bytes.clear();
                return text;
            }
            Err(error) => {
                let (good, rest) = bytes.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(good));
                let Some(bad) = error.error_len() else {
                    *bytes = rest.to_vec();
                    return text;
                };
                text.push('\u{fffd}');
                *bytes = rest.get(bad..).unwrap_or_default().to_vec();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_in_pieces_and_bytes_that_are_none() {
        let mut bytes = b"a\xc3".to_vec();
        assert_eq!((whole_text(&mut bytes).as_str(), bytes.as_slice()), ("a", &b"\xc3"[..]));
        bytes.push(0xa9);
        bytes.extend(b"\xffz");
        assert_eq!((whole_text(&mut bytes), bytes.len()), ("é\u{fffd}z".to_owned(), 0));
    }
}
