//! What a turn's result says that the agent has not said before.
//!
//! Most agents repeat their answer in the event that ends a turn, and some tell it there alone. Owns
//! the text of the present turn, as far as that is needed to tell the two apart; shows nothing.

use crate::event::{EventKind, ItemBody, TextRole, TurnEnd};
use crate::id::ItemId;

/// So much of a turn is remembered. An agent that says more has given its answer.
const MOST_BYTES: usize = 1 << 20;

/// The text of the present turn.
#[derive(Clone, Debug, Default)]
pub struct Unsaid {
    /// Without white space: a result may be the messages of a turn with other breaks between them.
    said: String,
    /// Plans in prose, likewise: no result has them between its messages.
    planned: String,
    is_too_long: bool,
    /// The message that comes in pieces.
    in_pieces: Option<ItemId>,
}

impl Unsaid {
    /// Takes an event, and returns the text to show for a result, where it was not said before.
    pub fn take<'e>(&mut self, event: &'e EventKind) -> Option<&'e str> {
        match event {
            // Not when another prompt is taken up: where a hook keeps Cursor going, its one result
            // has the text of all its prompts.
            EventKind::ProcessSpawned { .. } => *self = Unsaid::default(),
            EventKind::ItemDelta { id, role: TextRole::Message, text } => {
                self.in_pieces = Some(*id);
                self.say(text);
            }
            EventKind::ItemCompleted { item } => match &item.body {
                ItemBody::Message { text } => {
                    let was_told = self.in_pieces.take() == Some(item.id);
                    self.say(if was_told { "" } else { text });
                }
                ItemBody::Plan { text: Some(text), .. } => self.plan(text),
                _ => {}
            },
            EventKind::TurnResult { end, text, .. } | EventKind::TurnEnded { end, text, .. } => {
                let turn = std::mem::take(self);
                // The words of a failure are told as its reason.
                let is_answer = !matches!(end, TurnEnd::Failed { .. });
                let text = text.as_deref().filter(|_| is_answer)?;
                if matches!(event, EventKind::TurnResult { .. }) {
                    // The end of the turn repeats it.
                    self.say(text);
                }
                return turn.new_in(text);
            }
            _ => {}
        }
        None
    }

    /// Returns true if the agent has said anything in this turn.
    pub fn has_text(&self) -> bool {
        !self.said.is_empty() || !self.planned.is_empty() || self.is_too_long
    }

    fn say(&mut self, text: &str) {
        if self.has_room(text) {
            self.said.extend(letters(text));
        }
    }

    fn plan(&mut self, text: &str) {
        if self.has_room(text) {
            self.planned.extend(letters(text));
        }
    }

    fn has_room(&mut self, text: &str) -> bool {
        if self.said.len() + self.planned.len() + text.len() > MOST_BYTES {
            *self = Unsaid { is_too_long: true, in_pieces: self.in_pieces, ..Unsaid::default() };
        }
        !self.is_too_long
    }

    fn new_in<'t>(&self, result: &'t str) -> Option<&'t str> {
        let squeezed: String = letters(result).collect();
        let was_said = |before: &String| before.contains(&squeezed);
        if self.is_too_long
            || squeezed.is_empty()
            || [&self.said, &self.planned].into_iter().any(was_said)
        {
            return None;
        }
        if !squeezed.starts_with(&self.said) {
            return Some(result);
        }
        // It begins with what was said: only the rest is new.
        let said = self.said.chars().count();
        let mut letters = result.char_indices().filter(|(_, c)| !c.is_whitespace());
        letters.nth(said).and_then(|(at, _)| result.get(at..))
    }
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{FailureKind, Item};

    fn message(id: u64, text: &str) -> EventKind {
        let body = ItemBody::Message { text: text.to_owned() };
        EventKind::ItemCompleted { item: Item { id: ItemId(id), body } }
    }

    fn plan(id: u64, text: &str) -> EventKind {
        let body = ItemBody::Plan { todos: Vec::new(), text: Some(text.to_owned()) };
        EventKind::ItemCompleted { item: Item { id: ItemId(id), body } }
    }

    fn piece(id: u64, text: &str) -> EventKind {
        let text = text.to_owned();
        EventKind::ItemDelta { id: ItemId(id), role: TextRole::Message, text }
    }

    fn result(text: &str) -> EventKind {
        let text = Some(text.to_owned());
        EventKind::TurnEnded { end: TurnEnd::Done, text, usage: None, duration_ms: None }
    }

    fn new(before: &[EventKind], result: &EventKind) -> Option<String> {
        let mut unsaid = Unsaid::default();
        for event in before {
            assert_eq!(unsaid.take(event), None);
        }
        unsaid.take(result).map(str::to_owned)
    }

    #[test]
    fn only_what_was_not_said_is_new() {
        let said = |text: &str| vec![message(1, text)];
        for (before, text, expected) in [
            (vec![], "Fed.", Some("Fed.")),
            (vec![], " \n", None),
            (said("Fed."), "Fed.", None),
            (said("Fed.\n"), "Fed.", None),
            (said("Hello."), "Fed.", Some("Fed.")),
            (said("Fed."), "Fed.\n\nAnd watered.", Some("And watered.")),
            // The last message only, or all of them in one.
            (vec![message(1, "I look."), message(2, "Fed.")], "Fed.", None),
            (vec![message(1, "I look."), message(2, "Fed.")], "I look.Fed.", None),
            (vec![message(1, "I look."), message(2, "Fed.")], "I look.\n\nFed.", None),
            (vec![piece(1, "Fe"), piece(1, "d."), message(1, "Fed.")], "Fed.", None),
            (
                vec![message(1, "I look."), plan(2, "1. Hay"), message(3, "Fed.")],
                "I look.Fed.",
                None,
            ),
            (vec![message(1, "I look."), plan(2, "1. Hay")], "1. Hay\n", None),
            // One result for several prompts.
            (
                vec![
                    message(1, "I rest."),
                    EventKind::TurnStarted { prompt: None, by: None },
                    message(2, "On."),
                ],
                "I rest.On.",
                None,
            ),
        ] {
            let told = new(&before, &result(text));
            assert_eq!(told.as_deref(), expected, "{before:?} {text:?}");
        }
    }

    #[test]
    fn a_result_ends_its_turn() {
        let mut unsaid = Unsaid::default();
        unsaid.take(&message(1, "Fed."));
        assert!(unsaid.has_text());
        unsaid.take(&result("Fed."));
        assert!(!unsaid.has_text());
        assert_eq!(unsaid.take(&result("Fed.")), Some("Fed."));
    }

    #[test]
    fn a_failure_and_a_very_long_turn_tell_nothing_again() {
        let failure = TurnEnd::Failed { failure: FailureKind::Internal, message: "no hay".into() };
        let text = Some("no hay".to_owned());
        let failed = EventKind::TurnEnded { end: failure, text, usage: None, duration_ms: None };
        assert_eq!(new(&[], &failed), None);
        let long = message(1, &"hay ".repeat(MOST_BYTES / 2));
        assert_eq!(new(&[long], &result("Fed.")), None);
    }
}
