//! What a span says: names, outcomes and texts, redacted, harmless and short.

use super::Tone;
use crate::ledger;
use serde::Serialize;
use stablehand_core::event::{Outcome, SessionEnd, TodoStatus, TurnEnd, Usage};
use stablehand_core::redact::Redactor;
use stablehand_core::text::plain;

/// So much of a text is looked at: secrets have to be found before it is cut where it may be seen.
pub(super) const LOOKED_AT: usize = 64 << 10;

/// The most characters of a command, prompt or text.
const TEXT: usize = 2_000;

/// The most characters of what a tool gave back.
const OUTPUT: usize = 4_000;

/// When the texts of all spans together have so many bytes, those to come are kept shorter.
const PLENTY: usize = 24 << 20;

/// Then this is the most of each.
const SPARSE: usize = 120;

/// Makes texts fit to be shown.
#[derive(Debug)]
pub(super) struct Words<'r> {
    redactor: Option<&'r Redactor>,
    used: usize,
}

impl<'r> Words<'r> {
    pub(super) fn new(redactor: Option<&'r Redactor>) -> Words<'r> {
        Words { redactor, used: 0 }
    }

    /// A command, a prompt, a text of the model's.
    pub(super) fn text(&mut self, text: &str) -> String {
        self.fit(text, TEXT)
    }

    /// What something gave back.
    pub(super) fn output(&mut self, text: &str) -> Option<String> {
        Some(self.fit(text, OUTPUT)).filter(|text| !text.trim().is_empty())
    }

    /// A name: one line, short.
    pub(super) fn name(&mut self, name: &str) -> String {
        self.fit(name, 60).replace(['\n', '\t'], " ")
    }

    fn fit(&mut self, text: &str, most: usize) -> String {
        let most = if self.used > PLENTY { most.min(SPARSE) } else { most };
        let head = head(text, LOOKED_AT);
        let safe = match self.redactor {
            Some(redactor) => redactor.redact(head),
            None => head.into(),
        };
        let safe = plain(&safe);
        let end = safe.char_indices().nth(most).map(|(end, _)| end);
        let mut short = match end.and_then(|end| safe.get(..end)) {
            Some(short) => short.to_owned(),
            None => safe,
        };
        if end.is_some() || head.len() < text.len() {
            short.push('…');
        }
        self.used += short.len();
        short
    }
}

/// The beginning of a text, up to so many bytes.
pub(super) fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// The word that a value has in JSON, as a person would write it.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word.replace('_', " "),
        _ => String::new(),
    }
}

/// How a tool call ended.
pub(super) fn outcome(outcome: &Outcome) -> (Tone, String) {
    (outcome.class().into(), outcome.describe())
}

/// How a turn ended.
pub(super) fn turn_end(end: &TurnEnd) -> (Tone, String) {
    match end {
        TurnEnd::Done => (Tone::Good, "done".into()),
        TurnEnd::Refused => (Tone::Warn, "refused".into()),
        TurnEnd::Limit => (Tone::Warn, "limit reached".into()),
        TurnEnd::Cancelled => (Tone::Warn, "cancelled".into()),
        TurnEnd::Failed { failure, message } => {
            (Tone::Bad, format!("failed ({}): {message}", word(failure)))
        }
        TurnEnd::Stopped { message, .. } => (Tone::Bad, format!("stopped: {message}")),
    }
}

/// How a run ended.
pub(super) fn session_end(end: SessionEnd) -> (Tone, String) {
    let tone = match end {
        SessionEnd::Success => Tone::Good,
        SessionEnd::Interrupted | SessionEnd::ReaderGone | SessionEnd::LimitReached => Tone::Warn,
        _ => Tone::Bad,
    };
    (tone, word(&end))
}

/// How a question was answered.
pub(super) fn answer(choice: &str, by: &str) -> (Tone, String) {
    let tone = match ledger::settled(choice) {
        ledger::Settled::Allowed => Tone::Good,
        ledger::Settled::Denied => Tone::Bad,
        ledger::Settled::Unanswered => Tone::Warn,
        ledger::Settled::Chosen => Tone::Plain,
    };
    (tone, format!("{choice}, by {by}"))
}

/// What was used.
pub(super) fn usage(usage: &Usage) -> String {
    let tokens = usage.tokens();
    let mut parts = vec![format!("{} tokens in", tokens.input), format!("{} out", tokens.output)];
    let more = [
        (tokens.cache_read, "from the cache"),
        (tokens.cache_write, "into the cache"),
        (tokens.reasoning, "of thinking"),
    ];
    let more = more.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(more.map(|(count, what)| format!("{count} {what}")));
    parts.extend(tokens.cost_usd.map(|cost| format!("${cost:.4}")));
    parts.join(", ")
}

/// The sign before an entry of a plan.
pub(super) fn tick(status: TodoStatus) -> char {
    match status {
        TodoStatus::Pending => '☐',
        TodoStatus::InProgress => '▶',
        TodoStatus::Completed => '☑',
        TodoStatus::Cancelled => '☒',
        TodoStatus::Unknown => '?',
    }
}
