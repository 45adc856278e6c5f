//! The fold of events: what the agent did last, said, asked and tried.

use super::parts::trimmed;
use super::{Call, Facts, Judged, Last, Question, Refusal, Seen, TEXT, Told};
use crate::post_mortem::words;
use stablehand_core::event::{
    Event, EventKind, Health, Item, ItemBody, NoticeLevel, Outcome, OutcomeClass, TextRole, Tool,
    TurnEnd, Unrecognized,
};
use stablehand_core::id::{ItemId, digest64};
use stablehand_core::record::DecisionKind;
use stablehand_core::text::excerpt;
use stablehand_core::time::UnixMillis;

/// Who answers where nobody does.
const NOBODY: &[&str] = &["timeout", "unattended", "stop"];

impl Facts {
    /// Takes an event in.
    pub(in crate::post_mortem) fn event(&mut self, at: UnixMillis, event: &Event) {
        self.tell(at, &event.event);
        match &event.event {
            EventKind::SessionStarted { native_id, model, agent_version, .. } => {
                self.session = Some(native_id.clone());
                self.model = model.as_ref().map(|name| excerpt(name.as_bytes(), 80));
                self.agent_version =
                    agent_version.as_ref().map(|text| excerpt(text.as_bytes(), 80));
                self.last = Last::Session;
            }
            EventKind::TurnStarted { .. } => {
                self.turn_end = None;
                self.last = Last::Prompt;
            }
            EventKind::TurnEnded { end, .. } => self.turn_ended(at, end),
            EventKind::ItemStarted { item } => self.item(at, item, false),
            EventKind::ItemCompleted { item } => self.item(at, item, true),
            EventKind::ItemDelta { role, text, .. } => match role {
                TextRole::Message => self.message(at, text, false, false),
                TextRole::Reasoning => self.advance(at, Last::Reasoning),
                TextRole::ToolOutput => self.advance(at, self.last),
            },
            EventKind::ApprovalRequested { id, what, .. } => {
                let seen = Seen::new(at, event.event.name(), what);
                let id = short(id);
                self.questions.take(|open| open.id == id);
                self.questions.push(Question { id, seen });
            }
            EventKind::ApprovalResolved { id, choice, by } => {
                self.answered(at, id, choice.as_str(), by.by.as_str());
            }
            EventKind::RetryScheduled { attempt, detail } => {
                let detail = detail.as_deref().unwrap_or_default();
                self.speak(at, event.event.name(), detail);
                self.tries.0 += 1;
                self.retry(at, event, &format!("attempt {attempt} {detail}"));
            }
            EventKind::ConnectionChanged { state, .. } => {
                self.tries.1 += u64::from(state.contains("reconnecting"));
                self.retry(at, event, state);
            }
            EventKind::ProcessStderr { text } => {
                self.stderr.push(Seen::new(at, "stderr", text));
                self.speak(at, "stderr", text);
            }
            EventKind::Unrecognized { why, excerpt } => self.unrecognized(at, *why, excerpt),
            EventKind::HealthChanged { to: Health::Stalled, why, evidence, .. } => {
                if let Some(evidence) = evidence
                    && let Some(kind) = evidence.verdict
                {
                    let record = if kind.is_limit() {
                        DecisionKind::LimitReached
                    } else {
                        DecisionKind::HangDetected
                    };
                    self.verdict = Some(Judged {
                        seen: Seen::new(at, record.name(), why),
                        kind,
                        evidence: trimmed((**evidence).clone()),
                    });
                }
            }
            _ => {}
        }
    }

    fn turn_ended(&mut self, at: UnixMillis, end: &TurnEnd) {
        let text = words::of_turn_end(end);
        if let TurnEnd::Failed { message, .. } = end {
            self.speak(at, "turn.ended", message);
        }
        let mut end = end.clone();
        if let TurnEnd::Failed { message, .. } = &mut end {
            *message = excerpt(message.as_bytes(), TEXT);
        }
        self.turn_end = Some((Seen::new(at, "turn.ended", &text), end));
        self.calls.clear();
        self.questions.clear();
        self.last = Last::TurnEnd;
    }

    fn item(&mut self, at: UnixMillis, item: &Item, is_complete: bool) {
        match &item.body {
            ItemBody::Message { text } => self.message(at, text, true, is_complete),
            ItemBody::Reasoning { .. } => self.advance(at, Last::Reasoning),
            ItemBody::Tool(tool) if is_complete => self.tool_done(at, tool),
            ItemBody::Tool(tool) => self.tool_begun(at, tool),
            ItemBody::Notice { level, text } => {
                if *level != NoticeLevel::Info {
                    self.speak(at, "item.completed", text);
                }
            }
            _ => self.advance(at, self.last),
        }
    }

    /// The model says something; `whole` where the text is all of it so far.
    fn message(&mut self, at: UnixMillis, text: &str, whole: bool, is_complete: bool) {
        self.advance(at, Last::Message);
        self.spoke_out = is_complete;
        if whole && text.is_empty() {
            return; // It begins, or ends without being repeated.
        }
        if whole {
            self.last_words.clear();
        }
        // The end of what was said tells more than its beginning.
        let mut words = std::mem::take(&mut self.last_words) + text;
        if words.len() > 4 * TEXT {
            let from = words.ceil_char_boundary(words.len() - 4 * TEXT);
            words.drain(..from);
        }
        self.last_words = words;
        if is_complete {
            let said = self.last_words.trim();
            let seen = || Seen::new(at, "item.completed", said);
            self.same_messages.note(digest64(said.as_bytes()), seen);
        }
    }

    fn tool_begun(&mut self, at: UnixMillis, tool: &Tool) {
        self.advance(at, Last::ToolBegun);
        let id = short(&tool.call.0);
        self.calls.take(|call| call.id == id);
        self.calls.push(Call {
            id,
            at,
            headline: words::of_call(&tool.name, tool.headline()),
            class: tool.class(),
            digest: tool.digest,
            record: self.records,
        });
    }

    fn tool_done(&mut self, at: UnixMillis, tool: &Tool) {
        self.advance(at, Last::ToolDone);
        let id = short(&tool.call.0);
        let began = self.calls.take(|call| call.id == id);
        match &began {
            Some(call) if call.record < self.records => self.told_early += 1,
            _ => self.told_late += 1,
        }
        // One that is told only when it is over has its result in the digest.
        let digest = began.map_or(tool.digest, |call| call.digest);
        let outcome = tool.outcome.as_ref().map(words::of_outcome).unwrap_or_default();
        let text = format!("`{}`: {outcome}", words::of_call(&tool.name, tool.headline()));
        let seen = Seen::new(at, "item.completed", &text);
        let class = tool.outcome.as_ref().map(Outcome::class);
        if matches!(class, Some(OutcomeClass::Failure | OutcomeClass::Refusal)) {
            self.failed_calls.push(seen.clone());
        }
        self.same_calls.note(digest, || seen.clone());
        self.last_done = Some(seen);
    }

    fn answered(&mut self, at: UnixMillis, id: &str, choice: &str, by: &str) {
        let id = short(id);
        let question = self.questions.take(|open| open.id == id);
        let by_nobody = NOBODY.contains(&by);
        let is_refusal =
            matches!(choice, "deny" | "denied" | "decline" | "rejected" | "cancel" | "abort");
        if is_refusal || by_nobody {
            let what = question.map(|question| question.seen.text).unwrap_or_default();
            let text = format!("{what}: {choice}, by {by}");
            let seen = Seen::new(at, "approval.resolved", text.trim_start_matches(": "));
            self.refusals.push(Refusal { seen, by_nobody });
        }
    }

    fn retry(&mut self, at: UnixMillis, event: &Event, text: &str) {
        self.retries.push(Seen::new(at, event.event.name(), text));
        self.last = Last::Retry;
    }

    fn unrecognized(&mut self, at: UnixMillis, why: Unrecognized, text: &str) {
        let seen = Seen::new(at, "unrecognized", text);
        match why {
            Unrecognized::Noise => {
                self.speak(at, "unrecognized", text);
                self.noise.push(seen);
            }
            Unrecognized::Torn => self.torn = Some(seen),
            _ => self.unknown.push(seen),
        }
    }

    /// Something new came.
    fn advance(&mut self, at: UnixMillis, last: Last) {
        self.progress += 1;
        self.progressed = Some(at);
        self.tries_before = self.tries();
        self.turn_end = None;
        self.last = last;
    }

    /// Puts an event into the list of the last ones; what repeats itself is put there once.
    fn tell(&mut self, at: UnixMillis, event: &EventKind) {
        let Some(what) = words::of_event(event) else { return };
        let item = item_of(event);
        let known = self.events.last_mut();
        if let Some(told) = known
            && (told.what == what || (item.is_some() && told.item == item))
        {
            told.at = at;
            told.count += 1;
            if !matches!(event, EventKind::ItemDelta { .. }) {
                told.what = what;
            }
            return;
        }
        self.events.push(Told { at, what, count: 1, item });
    }
}

/// An id of an agent's may be of any length; so much of it tells it from others.
pub(super) fn short(id: &str) -> String {
    excerpt(id.as_bytes(), TEXT)
}

/// Texts come in pieces, and are one thing.
fn item_of(event: &EventKind) -> Option<ItemId> {
    match event {
        EventKind::ItemDelta { id, .. } => Some(*id),
        EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } => {
            let is_text =
                matches!(item.body, ItemBody::Message { .. } | ItemBody::Reasoning { .. });
            is_text.then_some(item.id)
        }
        _ => None,
    }
}
