//! What is odd in the agent's stream: lines that are no JSON, completions without a start, tools
//! without a timeout.
//!
//! Makes the warnings of a run and bounds their number; decides nothing. Agents that tell of a tool
//! only when it is over would be warned of all the time, so a run has this only on request.

use super::notes::word;
use stablehand_core::event::{EventKind, ItemBody, OpenTool, ToolClass, Unrecognized};
use stablehand_core::record::{DecisionRecord, ToolCallUndeclared, ToolCallUnstarted};
use stablehand_core::text::excerpt;
use stablehand_core::time::human;
use std::time::Duration;

/// So many odd lines of a run are told: a program that writes no JSON at all must not fill the log with
/// warnings.
const MOST_LINES: u32 = 20;

/// So much of an id or a command is told.
const SHOWN: usize = 80;

/// The warnings of one run.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    lines: u32,
    /// The classes of tools that were warned of because they declare no timeout.
    undeclared: Vec<ToolClass>,
    records: Vec<DecisionRecord>,
}

impl Oddities {
    /// Takes what one line of standard output said.
    pub(super) fn line(&mut self, events: &[EventKind]) {
        if self.lines < MOST_LINES
            && let Some(record) = odd(events)
        {
            self.lines += 1;
            self.records.push(record);
        }
    }

    /// Takes a call that began; returns a warning for the first of its class that declares no timeout.
    pub(super) fn opened(&mut self, tool: &OpenTool) -> Option<ToolCallUndeclared> {
        if tool.timeout_ms.is_some() || self.undeclared.contains(&tool.class) {
            return None;
        }
        self.undeclared.push(tool.class);
        let text = format!(
            "`{}` declares no timeout: calls of the class {} may be silent for {}",
            excerpt(tool.command.as_bytes(), SHOWN),
            word(&tool.class),
            human(Duration::from_millis(tool.limit_ms))
        );
        let (call_id, class) = (tool.call_id.clone(), Some(tool.class));
        Some(ToolCallUndeclared { call_id, class, limit_ms: tool.limit_ms, text })
    }

    /// Takes the warnings about lines.
    pub(super) fn take(&mut self) -> Vec<DecisionRecord> {
        std::mem::take(&mut self.records)
    }
}

/// What is odd about a line. A decoder gives a completion that was never announced a beginning, so both
/// are in one line then.
fn odd(events: &[EventKind]) -> Option<DecisionRecord> {
    let began = |id| {
        events.iter().any(|event| matches!(event, EventKind::ItemStarted { item } if item.id == id))
    };
    events.iter().find_map(|event| match event {
        EventKind::Unrecognized {
            why: Unrecognized::Noise | Unrecognized::Torn | Unrecognized::NotAnObject,
            excerpt,
        } => {
            let text = format!("a line of the agent's output is no JSON object: {excerpt}");
            Some(DecisionRecord::LineUnparsable(text.into()))
        }
        EventKind::ItemCompleted { item } if began(item.id) => match &item.body {
            ItemBody::Tool(tool) => {
                let (name, id) = (&tool.name, &tool.call.0);
                let text = format!(
                    "{} completed without having been started (call `{}`)",
                    excerpt(name.as_bytes(), SHOWN),
                    excerpt(id.as_bytes(), SHOWN)
                );
                Some(ToolCallUnstarted { call_id: tool.call.clone(), text }.into())
            }
            _ => None,
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_lines_are_told_and_not_without_end() {
        let noise =
            EventKind::Unrecognized { why: Unrecognized::Noise, excerpt: "low on hay".to_owned() };
        let other = EventKind::Unrecognized {
            why: Unrecognized::UnknownType,
            excerpt: "{\"type\":\"hay\"}".to_owned(),
        };
        let mut oddities = Oddities::default();
        oddities.line(&[other]);
        assert!(oddities.take().is_empty());
        for _ in 0..100 {
            oddities.line(std::slice::from_ref(&noise));
        }
        assert_eq!(oddities.take().len(), MOST_LINES as usize);
    }
}
