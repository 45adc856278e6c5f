//! What a program shows at a terminal, as text.
//!
//! There is no protocol to read: the bytes drive a screen, and what is new on it is told as the text
//! of messages, without control sequences. Looks at the screen are taken when it has come to rest,
//! which only the caller's clock knows ([`TerminalDecoder::settle`]; the log has a record of each),
//! when much has left it at the top, and at the end. No event of this dialect ends a turn: the exit
//! of the program is all there is.

use super::kit::{Ids, OpenText};
use super::{Decode, Depth, DialectRow};
use crate::event::{EventKind, TextRole};
use crate::json::Scan;
use crate::line::Line;
use crate::terminal::{Teller, Terminal, TerminalSize};
use serde_json::value::RawValue;

/// So many rows may wait above the screen before they are told without a look from outside.
const MOST_WAITING: usize = 400;

/// An item that has grown to this is completed before the next line.
const ITEM: usize = 8 << 10;

/// Reads a terminal.
#[derive(Debug)]
pub struct TerminalDecoder {
    terminal: Terminal,
    teller: Teller,
    ids: Ids,
    text: OpenText,
    /// The length of the open item, at any depth.
    item_bytes: usize,
}

impl Default for TerminalDecoder {
    fn default() -> Self {
        TerminalDecoder {
            terminal: Terminal::new(TerminalSize::DEFAULT),
            teller: Teller::default(),
            ids: Ids::default(),
            text: OpenText::default(),
            item_bytes: 0,
        }
    }
}

impl TerminalDecoder {
    /// The screen.
    pub fn terminal(&mut self) -> &mut Terminal {
        &mut self.terminal
    }

    /// Looks at the screen, and appends what is new on it.
    pub fn settle(&mut self, depth: Depth, out: &mut Vec<EventKind>) {
        let scrolled = self.terminal.take_scrolled();
        let Some(telling) = self.teller.tell(scrolled, self.terminal.rows()) else { return };
        let mut text = telling.text;
        if self.item_bytes > 0 && !telling.continues {
            if self.item_bytes >= ITEM {
                self.text.close(TextRole::Message, out);
                self.item_bytes = 0;
            } else {
                text.insert(0, '\n');
            }
        }
        self.item_bytes += text.len();
        self.text.grow_by(text, TextRole::Message, depth, &mut self.ids, out);
    }
}

/// Its row in the table of dialects.
pub(super) struct TerminalDialect;

impl DialectRow for TerminalDialect {
    const NAME: &'static str = "terminal";

    fn decoder() -> Box<dyn Decode> {
        Box::new(TerminalDecoder::default())
    }

    fn restore(_state: &RawValue) -> Option<Box<dyn Decode>> {
        None
    }
}

impl Decode for TerminalDecoder {
    fn line(&mut self, line: &Line<'_>, _scan: &Scan<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        self.terminal.feed(line.bytes);
        if line.newline {
            self.terminal.feed(b"\n");
        }
        if self.terminal.scrolled() >= MOST_WAITING {
            self.settle(depth, out);
        }
    }

    fn finish(&mut self, depth: Depth, out: &mut Vec<EventKind>) {
        self.settle(depth, out);
        self.text.close(TextRole::Message, out);
        self.item_bytes = 0;
    }

    fn last_type(&self) -> &'static str {
        "screen"
    }

    fn as_terminal(&mut self) -> Option<&mut TerminalDecoder> {
        Some(self)
    }

    /// `vt100` gives what its screen shows, not all that the next bytes depend on (its scrollback,
    /// and a control sequence that is not complete), so a terminal is read from the beginning.
    fn save(&self) -> Option<Box<RawValue>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ItemBody;
    use crate::line::Part;

    fn part(bytes: &[u8], newline: bool) -> Line<'_> {
        Line { bytes, offset: 0, part: Part::Middle, newline }
    }

    /// What two depths say of the same looks: the kinds, and the texts of the full one.
    fn both(steps: &[(&[u8], bool)]) -> (Vec<EventKind>, Vec<EventKind>) {
        [Depth::Skim, Depth::Full]
            .map(|depth| {
                let mut decoder = TerminalDecoder::default();
                let mut out = Vec::new();
                for (bytes, look) in steps {
                    decoder.line(&part(bytes, false), &Scan::Text, depth, &mut out);
                    if *look {
                        decoder.settle(depth, &mut out);
                    }
                }
                decoder.finish(depth, &mut out);
                out
            })
            .into()
    }

    #[test]
    fn text_grows_in_one_item_and_both_depths_agree() {
        let (skim, full) = both(&[
            (b"\x1b[1mhel", true),
            (b"lo\x1b[0m\r\n", true),
            (b"\r\x1b[Kspin 1", false),
            (b"\r\x1b[Kspin 2", true),
            (b"\r\x1b[Kspin 3", true),
        ]);
        let kinds = |events: &[EventKind]| events.iter().map(EventKind::name).collect::<Vec<_>>();
        assert_eq!(kinds(&skim), kinds(&full));
        let deltas: Vec<&str> = full
            .iter()
            .filter_map(|event| match event {
                EventKind::ItemDelta { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(deltas, ["hel", "lo", "\nspin 2"]);
        let Some(EventKind::ItemCompleted { item }) = full.last() else { panic!("{full:?}") };
        assert_eq!(item.body, ItemBody::Message { text: "hello\nspin 2".into() });
        assert!(skim.iter().all(|event| !format!("{event:?}").contains("hello")));
    }

    #[test]
    fn a_flood_is_told_without_a_look_and_in_items_of_bounded_size() {
        let mut decoder = TerminalDecoder::default();
        let mut out = Vec::new();
        for number in 0..20_000 {
            let line = format!("horse number {number} has been fed\r");
            decoder.line(&part(line.as_bytes(), true), &Scan::Text, Depth::Full, &mut out);
        }
        decoder.finish(Depth::Full, &mut out);
        let mut whole = String::new();
        for event in &out {
            if let EventKind::ItemCompleted { item } = event {
                let ItemBody::Message { text } = &item.body else { panic!("{item:?}") };
                assert!(text.len() < ITEM + MOST_WAITING * 40, "{} bytes", text.len());
                whole.push_str(text);
                whole.push('\n');
            }
        }
        let line = |number| format!("horse number {number} has been fed\n");
        assert_eq!(whole, (0..20_000).map(line).collect::<Vec<_>>().concat());
    }
}
