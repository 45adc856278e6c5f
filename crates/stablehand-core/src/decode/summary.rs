//! Counts over a whole recording: how much of it was understood.
//!
//! It looks at lines and at the events made of them, never at a dialect. A line counts once,
//! whatever it became.

use crate::event::{EventKind, ItemBody, TextRole, Unrecognized};
use crate::id::CallId;
use crate::line::{Line, Part};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The counts, as `decode --summary` prints them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Lines, blank ones too; a line in parts is one.
    pub lines: u64,
    /// Plain text between the JSON.
    pub noise: u64,
    /// A last line that was cut short.
    pub torn: u64,
    /// Lines that the dialect does not know, and bad shapes.
    pub unrecognized: u64,
    /// Events by kind.
    pub events: BTreeMap<&'static str, u64>,
    /// Tool calls.
    pub tools: ToolTotals,
    /// Bytes of text for the user.
    pub text_bytes: u64,
}

/// Counts of tool calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolTotals {
    /// Begun.
    pub opened: u64,
    /// Ended.
    pub closed: u64,
    /// Begun and, though the agent said that its turn was over, not ended.
    pub unpaired: u64,
}

/// Counts as it goes.
#[derive(Debug, Default)]
pub struct Summary {
    totals: Totals,
    /// Open calls, and in which turn each began.
    open: HashMap<CallId, u64>,
    /// How many turns have ended.
    turns: u64,
}

impl Summary {
    /// Counts a line and what it became. Texts are counted as far as they were decoded: use
    /// [`Depth::Full`](super::Depth::Full).
    pub fn push(&mut self, line: &Line<'_>, events: &[EventKind]) {
        if matches!(line.part, Part::Whole | Part::First) {
            self.totals.lines += 1;
        }
        self.events(events);
    }

    /// Counts events that belong to no line: those of the end of the stream.
    pub fn events(&mut self, events: &[EventKind]) {
        for event in events {
            *self.totals.events.entry(event.name()).or_default() += 1;
            match event {
                EventKind::ItemStarted { item } => {
                    if let ItemBody::Tool(tool) = &item.body {
                        self.opened(&tool.call);
                    }
                }
                EventKind::ItemCompleted { item } => {
                    if let ItemBody::Tool(tool) = &item.body {
                        if self.open.remove(&tool.call).is_none() {
                            self.totals.tools.opened += 1;
                        }
                        self.totals.tools.closed += 1;
                    }
                }
                EventKind::ItemDelta { role: TextRole::Message, text, .. } => {
                    self.totals.text_bytes += text.len() as u64;
                }
                EventKind::TurnEnded { .. } => self.turns += 1,
                EventKind::Unrecognized { why, .. } => match why {
                    Unrecognized::Noise => self.totals.noise += 1,
                    Unrecognized::Torn => self.totals.torn += 1,
                    Unrecognized::UnknownType
                    | Unrecognized::UnknownValue
                    | Unrecognized::BadShape
                    | Unrecognized::NotAnObject
                    | Unrecognized::Oversized => self.totals.unrecognized += 1,
                },
                _ => {}
            }
        }
    }

    /// The counts. A call that is open where the recording breaks off has no partner to miss.
    pub fn finish(self) -> Totals {
        let mut totals = self.totals;
        let unpaired = self.open.values().filter(|turn| **turn < self.turns);
        totals.tools.unpaired = unpaired.count() as u64;
        totals
    }

    fn opened(&mut self, call: &CallId) {
        if self.open.insert(call.clone(), self.turns).is_none() {
            self.totals.tools.opened += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Depth, Dialect};
    use super::*;
    use crate::json;

    fn summary(lines: &[&str]) -> Totals {
        let mut decoder = Dialect::Cursor.decoder();
        let mut summary = Summary::default();
        for text in lines {
            let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
            let mut out = Vec::new();
            decoder.line(&line, &json::scan(line.bytes), Depth::Full, &mut out);
            summary.push(&line, &out);
        }
        summary.finish()
    }

    const START: &str = r#"{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"readToolCall":{"args":{"path":"/p"}}}}"#;
    const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false}"#;

    #[test]
    fn a_call_that_the_recording_cuts_off_is_not_unpaired() {
        let cut = summary(&[START]).tools;
        assert_eq!((cut.opened, cut.closed, cut.unpaired), (1, 0, 0));
        let missed = summary(&[START, RESULT]).tools;
        assert_eq!((missed.opened, missed.closed, missed.unpaired), (1, 0, 1));
    }

    #[test]
    fn its_form_is_what_scripts_rely_on() {
        let totals = summary(&["hello", "", r#"{"type":"new"}"#, RESULT]);
        assert_eq!(
            serde_json::to_string(&totals).unwrap(),
            r#"{"lines":4,"noise":1,"torn":0,"unrecognized":1,"events":{"turn.ended":1,"unrecognized":2},"tools":{"opened":0,"closed":0,"unpaired":0},"text_bytes":0}"#
        );
    }
}
