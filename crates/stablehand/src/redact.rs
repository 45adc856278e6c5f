//! Redaction of what is derived: one redactor for a log and for everybody who reads it as events.
//!
//! Owns where secrets are taken out on the way to faces; what a secret is, is core's
//! ([`stablehand_core::redact`]). Bytes that are passed through are not looked at here.

use crate::show::Show;
use stablehand_core::Event;
use stablehand_core::event::EventKind;
use stablehand_core::id::ItemId;
use stablehand_core::redact::{Flow, Lines};
pub use stablehand_core::redact::{Redactor, RedactorBuilder};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

/// What is redacted, and by whom.
#[derive(Clone, Debug)]
pub struct Redaction {
    /// Who finds the secrets.
    pub redactor: Arc<Redactor>,
    /// Also in raw records: the log is then no longer what the agent wrote, byte for byte.
    pub raw: bool,
}

impl From<Redactor> for Redaction {
    fn from(redactor: Redactor) -> Self {
        Redaction { redactor: Arc::new(redactor), raw: false }
    }
}

impl Redaction {
    /// Redacts raw records too.
    #[must_use]
    pub fn with_raw(mut self, wanted: bool) -> Self {
        self.raw = wanted;
        self
    }
}

/// A face whose events are redacted before it sees them, or not at all.
#[derive(Debug)]
pub struct Redacting<S> {
    inner: S,
    redactor: Option<Arc<Redactor>>,
    flows: HashMap<ItemId, Flow>,
    /// A piece of text whose end may be the beginning of a secret, and what came behind it. It waits
    /// for the next piece of the same text, because what is held back of it needs an event to come in.
    waiting: VecDeque<Event>,
    stderr: Lines,
    buffer: Vec<u8>,
}

impl<S: Show> Redacting<S> {
    /// Redacts for `inner`, where there is a redactor.
    pub fn new(inner: S, redaction: Option<&Redaction>) -> Self {
        Redacting {
            inner,
            redactor: redaction.map(|redaction| Arc::clone(&redaction.redactor)),
            flows: HashMap::new(),
            waiting: VecDeque::new(),
            stderr: Lines::default(),
            buffer: Vec::new(),
        }
    }

    /// Shows what was held back: nothing follows. A log may end anywhere.
    pub fn finish(&mut self) -> io::Result<()> {
        if let Some(redactor) = self.redactor.clone() {
            self.let_go(&redactor, Ends::Text)?;
        }
        self.inner.pause()
    }

    /// Returns true if what follows is redacted as if nothing had come before it, whatever the
    /// redactor. A reader that begins there redacts as one that has read everything, so every state
    /// that is kept between two events has to be looked at here.
    pub(crate) fn is_fresh(&self) -> bool {
        self.waiting.is_empty() && self.stderr.is_fresh() && self.flows.values().all(Flow::is_fresh)
    }

    /// The face that it redacts for.
    pub(crate) fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Whom it redacted for.
    pub fn into_inner(self) -> S {
        self.inner
    }

    /// A piece of an item's text.
    fn piece(
        &mut self,
        redactor: &Redactor,
        event: &Event,
        id: ItemId,
        text: &str,
    ) -> io::Result<()> {
        // What the first of them holds back comes with this piece.
        if self.waiting.front().is_some_and(|first| item_of(first) == Some(id)) {
            self.show_waiting()?;
        }
        let flow = self.flows.entry(id).or_default();
        let shown = flow.push(redactor, text);
        if shown == text && self.waiting.is_empty() {
            return self.inner.event(event);
        }
        let holds_some = flow.holds_some();
        let mut event = event.clone();
        if let EventKind::ItemDelta { text, .. } = &mut event.event {
            *text = shown;
        }
        if !self.waiting.is_empty() {
            // Only one text can wait for its next piece; this one shows all that it may.
            if holds_some
                && let EventKind::ItemDelta { text, .. } = &mut event.event
                && let Some(flow) = self.flows.get_mut(&id)
            {
                text.push_str(&flow.release(redactor));
            }
            return self.queue(redactor, event);
        }
        if holds_some {
            self.waiting.push_back(event);
            return Ok(());
        }
        self.inner.event(&event)
    }

    /// Puts an event behind the piece that waits.
    fn queue(&mut self, redactor: &Redactor, event: Event) -> io::Result<()> {
        self.waiting.push_back(event);
        if self.waiting.len() > MOST_WAITING { self.let_go(redactor, Ends::Not) } else { Ok(()) }
    }

    fn show_waiting(&mut self) -> io::Result<()> {
        for event in self.waiting.drain(..) {
            self.inner.event(&event)?;
        }
        Ok(())
    }

    /// Shows the piece that waits, with all of its text, and what came behind it.
    fn let_go(&mut self, redactor: &Redactor, ends: Ends) -> io::Result<()> {
        if let Some(first) = self.waiting.front_mut()
            && let EventKind::ItemDelta { id, text, .. } = &mut first.event
            && let Some(flow) = self.flows.get_mut(id)
        {
            text.push_str(&match ends {
                Ends::Text => flow.finish(redactor),
                Ends::Not => flow.release(redactor),
            });
        }
        self.show_waiting()
    }

    /// Whether the piece that waits has to be shown before this event: its text is complete, or a
    /// person has to see what comes now.
    fn ends_wait(&self, event: &EventKind) -> Option<Ends> {
        let waits_for = self.waiting.front().and_then(item_of)?;
        match event {
            EventKind::ItemCompleted { item } if item.id == waits_for => Some(Ends::Text),
            EventKind::ProcessSpawned { .. } => Some(Ends::Text),
            EventKind::ProcessStderr { .. } | EventKind::ItemDelta { .. } => None,
            _ => Some(Ends::Not),
        }
    }

    /// Any other event, as it is where it holds no secret.
    fn whole(&mut self, redactor: &Redactor, event: &Event) -> io::Result<()> {
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, event)?;
        let json = std::str::from_utf8(&self.buffer).map_err(io::Error::other)?;
        match redactor.redact_json_text(json) {
            Cow::Borrowed(_) => self.inner.event(event),
            // It was an event before, and only texts in it have changed.
            Cow::Owned(safe) => self.inner.event(&serde_json::from_str(&safe)?),
        }
    }

    /// A line of standard error. It may come between two pieces of a text.
    fn error_line(&mut self, redactor: &Redactor, event: &Event, text: &str) -> io::Result<()> {
        let safe = self.stderr.line(redactor, text);
        if self.waiting.is_empty() && matches!(safe, Cow::Borrowed(_)) {
            return self.inner.event(event);
        }
        let kind = EventKind::ProcessStderr { text: safe.into_owned() };
        let event = Event { event: kind, ..event.clone() };
        if self.waiting.is_empty() { self.inner.event(&event) } else { self.queue(redactor, event) }
    }
}

/// So many events wait behind a piece of text at the most; then it is shown as far as it may be.
const MOST_WAITING: usize = 16;

/// Whether a text that waits is complete.
#[derive(Clone, Copy)]
enum Ends {
    Text,
    Not,
}

fn item_of(event: &Event) -> Option<ItemId> {
    match &event.event {
        EventKind::ItemDelta { id, .. } => Some(*id),
        _ => None,
    }
}

impl<S: Show> Show for Redacting<S> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let Some(redactor) = self.redactor.clone() else { return self.inner.event(event) };
        if let EventKind::ItemDelta { id, text, .. } = &event.event {
            return self.piece(&redactor, event, *id, text);
        }
        if let EventKind::ProcessStderr { text } = &event.event {
            return self.error_line(&redactor, event, text);
        }
        if let Some(ends) = self.ends_wait(&event.event) {
            self.let_go(&redactor, ends)?;
        }
        match &event.event {
            EventKind::ItemCompleted { item } => {
                self.flows.remove(&item.id);
            }
            EventKind::ProcessSpawned { .. } => self.flows.clear(),
            _ => {}
        }
        self.whole(&redactor, event)
    }

    fn pause(&mut self) -> io::Result<()> {
        self.inner.pause()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_core::event::{Item, ItemBody, Origin, TextRole};
    use stablehand_core::id::{RunId, Seq};
    use stablehand_core::time::UnixMillis;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<Event>>>);

    impl Show for Seen {
        fn event(&mut self, event: &Event) -> io::Result<()> {
            self.0.lock().unwrap().push(event.clone());
            Ok(())
        }

        fn pause(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn shown(kinds: Vec<EventKind>) -> Vec<Event> {
        let seen = Seen::default();
        let redaction = Redaction::from(Redactor::builder().value("kN0wn-Value_42").build());
        let mut face = Redacting::new(seen.clone(), Some(&redaction));
        for (seq, kind) in (1..).zip(kinds) {
            let run = RunId("r".into());
            let at = UnixMillis(0);
            face.event(&Event::stamp(Seq(seq), at, None, run, Origin::Agent, kind)).unwrap();
        }
        drop(face);
        Arc::into_inner(seen.0).unwrap().into_inner().unwrap()
    }

    fn piece(id: u64, text: &str) -> EventKind {
        let (id, role) = (ItemId(id), TextRole::Message);
        EventKind::ItemDelta { id, role, text: text.into() }
    }

    #[test]
    fn a_secret_in_pieces_is_not_shown_and_no_event_is_lost() {
        let text = "see kN0wn-Value_42 there";
        let done = Item { id: ItemId(1), body: ItemBody::Message { text: text.into() } };
        let events = shown(vec![
            piece(1, "see kN0w"),
            EventKind::ProcessStderr { text: "meanwhile".into() },
            piece(1, "n-Val"),
            piece(2, "other_word9"),
            piece(1, "ue_42 there and_more1"),
            EventKind::ItemCompleted { item: done },
        ]);
        let numbers: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
        let text_of = |wanted: u64| -> String {
            let pieces = events.iter().filter_map(|event| match &event.event {
                EventKind::ItemDelta { id, text, .. } if id.0 == wanted => Some(text.as_str()),
                _ => None,
            });
            pieces.collect()
        };
        let first = text_of(1);
        assert!(first.starts_with("see ") && first.ends_with(" there and_more1"), "{first}");
        assert!(first.contains("[redacted:"), "{first}");
        assert!(!first.contains("N0w") && !first.contains("Val"), "{first}");
        assert_eq!(text_of(2), "other_word9");
        let last = serde_json::to_string(&events[5]).unwrap();
        assert!(last.contains("[redacted:known-value:") && !last.contains("Value_42"), "{last}");
    }

    #[test]
    fn what_is_held_back_comes_at_the_end() {
        let seen = Seen::default();
        let redaction = Redaction::from(Redactor::builder().value("kN0wn-Value_42").build());
        let mut face = Redacting::new(seen.clone(), Some(&redaction));
        let (run, at) = (RunId("r".into()), UnixMillis(0));
        let last = Event::stamp(Seq(1), at, None, run, Origin::Agent, piece(1, "see kN0wn-Va"));
        face.event(&last).unwrap();
        assert!(seen.0.lock().unwrap().is_empty());
        face.finish().unwrap();
        assert_eq!(*seen.0.lock().unwrap(), [last]);
    }

    #[test]
    fn lines_on_standard_error_are_redacted() {
        let line = |text: &str| EventKind::ProcessStderr { text: text.into() };
        let events = shown(vec![line("plain"), line("it is kN0wn-Value_42!")]);
        assert_eq!(events[0].event, line("plain"));
        assert!(!format!("{:?}", events[1]).contains("Value_42"));
    }
}
