//! What events begin and end: items, turns, questions, another try of the agent's.

use super::{Fold, Key, Sketch};
use crate::timeline::words::{self, LOOKED_AT, head};
use crate::timeline::{Tone, Track};
use stablehand_core::event::{
    Event, EventKind, Item, ItemBody, NoticeLevel, Origin, TextRole, Tool, ToolInput,
};
use stablehand_core::id::ItemId;

impl Fold<'_> {
    /// What a record told.
    pub(super) fn events(&mut self, at: i64, events: &[Event]) {
        for event in events {
            self.event(at, event);
        }
    }

    fn event(&mut self, at: i64, event: &Event) {
        let hook = event.origin == Origin::Hook;
        if event.origin == Origin::Agent {
            self.recover(at, &event.event);
        }
        match &event.event {
            EventKind::SessionStarted { native_id, model, cwd, .. } => {
                self.about.session = Some(self.words.name(&native_id.0));
                if let Some(model) = model {
                    self.about.model = Some(self.words.name(model));
                }
                if let Some(cwd) = cwd {
                    self.about.cwd = Some(self.words.text(cwd));
                }
            }
            EventKind::TurnStarted { prompt, .. } => self.turn_begins(at, prompt.as_deref()),
            EventKind::TurnEnded { end, usage, duration_ms, .. } => {
                self.close_all(at, |key| matches!(key, Key::Question(_)));
                let (tone, text) = words::turn_end(end);
                let outcome = self.words.text(&text);
                let used = usage.as_ref().map(words::usage);
                if !self.open.contains_key(&Key::Turn) {
                    self.turn_begins(at, None);
                }
                if let Some(span) = self.end(&Key::Turn, at) {
                    (span.tone, span.outcome) = (tone, Some(outcome));
                    (span.own_ms, span.output) = (*duration_ms, used);
                }
            }
            EventKind::ItemStarted { item } => self.item_begins(at, item, hook),
            EventKind::ItemDelta { id, role, text } => self.grows(at, *id, *role, text),
            EventKind::ItemCompleted { item } => self.item_ends(at, item, hook),
            EventKind::ApprovalRequested { id, call, what, tool, .. } => {
                let name = match tool {
                    Some(tool) => tool.name.clone(),
                    None => "question".to_owned(),
                };
                let text = match tool.as_ref().map(|tool| tool.headline()) {
                    Some(headline) if !headline.is_empty() => headline,
                    _ => what,
                };
                let key = Key::Question(id.clone());
                // Where a policy hands a question on it comes again, and is the same.
                if !self.open.contains_key(&key) {
                    let mut sketch = self.said(&name, text, Tone::Warn);
                    sketch.call = call.as_ref().map(|call| self.words.name(&call.0));
                    sketch.hook = hook;
                    self.begin(key, Track::Approval, at, sketch);
                }
            }
            EventKind::ApprovalResolved { id, choice, by } => {
                let (tone, text) = words::answer(choice.as_str(), by.by.as_str());
                let outcome = self.words.text(&text);
                if let Some(span) = self.end(&Key::Question(id.clone()), at) {
                    (span.tone, span.outcome) = (tone, Some(outcome));
                }
            }
            EventKind::RetryScheduled { attempt, detail } => {
                self.tries(at, Some(*attempt), detail.as_deref().unwrap_or_default());
            }
            EventKind::ConnectionChanged { state, attempt } => {
                if state == "reconnected" {
                    self.end(&Key::Retry, at);
                } else {
                    self.tries(at, *attempt, state);
                }
            }
            EventKind::HealthChanged { from, to, why, .. } => self.health(at, *from, *to, why),
            EventKind::HookReceived { name, tool, .. } => {
                let mut sketch = self.said(name, "", Tone::Plain);
                sketch.hook = true;
                sketch.call = tool.as_ref().map(|call| self.words.name(&call.0));
                self.moment(Track::Hook, at, sketch);
            }
            EventKind::TurnContinued { prompt, by, .. } => {
                let sketch = self.said("told to go on", prompt, Tone::Plain);
                let by = self.words.output(by);
                if let Some(index) = self.moment(Track::Note, at, sketch)
                    && let Some((_, draft)) = self.drafts.get_mut(index)
                {
                    draft.span.outcome = by;
                }
            }
            EventKind::RunEnded { end, last_text, stderr_tail, .. }
            | EventKind::SessionEnded { end, last_text, stderr_tail, .. } => {
                let (tone, word) = words::session_end(*end);
                self.about.end = Some(word.clone());
                let more = stderr_tail.as_deref().or(last_text.as_deref()).unwrap_or_default();
                let more = self.words.output(more);
                if let Some(span) = self.opened(&Key::Run) {
                    (span.tone, span.outcome, span.output) = (tone, Some(word), more);
                }
            }
            // The other kinds draw nothing; `tests/it/model.rs` lists the kinds that were considered.
            _ => {}
        }
    }

    /// The first sign of a turn may come before its prompt does.
    fn turn_begins(&mut self, at: i64, prompt: Option<&str>) {
        let text = self.words.text(prompt.unwrap_or_default());
        if let Some(span) = self.opened(&Key::Turn) {
            if span.text.is_empty() {
                span.text = text;
                return;
            }
            span.open = true;
        }
        self.turns += 1;
        let sketch = Sketch { name: format!("turn {}", self.turns), text, ..Sketch::default() };
        self.begin(Key::Turn, Track::Turn, at, sketch);
    }

    /// A try that failed lasts until the next one, or until something else comes.
    fn tries(&mut self, at: i64, attempt: Option<u64>, detail: &str) {
        let name = match attempt {
            Some(attempt) => format!("attempt {attempt}"),
            None => "again".to_owned(),
        };
        match self.opened(&Key::Retry) {
            Some(span) if span.name == name || attempt.is_none() => {}
            _ => {
                let sketch = self.said(&name, detail, Tone::Warn);
                self.begin(Key::Retry, Track::Retry, at, sketch);
            }
        }
    }

    /// What shows that the agent has got through again.
    fn recover(&mut self, at: i64, event: &EventKind) {
        if matches!(
            event,
            EventKind::ItemStarted { .. }
                | EventKind::ItemDelta { .. }
                | EventKind::ItemCompleted { .. }
                | EventKind::TurnEnded { .. }
        ) {
            self.end(&Key::Retry, at);
        }
    }

    fn item_begins(&mut self, at: i64, item: &Item, hook: bool) {
        let key = Key::Item(item.id);
        let (track, mut sketch) = self.sketch(&item.body);
        sketch.hook = hook;
        if let Some(span) = self.opened(&key) {
            // Announced again, with more to say.
            (span.kind, span.name, span.text) = (sketch.kind, sketch.name, sketch.text);
            return;
        }
        self.begin(key, track, at, sketch);
    }

    fn grows(&mut self, at: i64, id: ItemId, role: TextRole, text: &str) {
        let heard = self.texts.entry(id).or_default();
        if role != TextRole::ToolOutput {
            heard.last = Some(at);
        }
        let room = LOOKED_AT.saturating_sub(heard.text.len());
        heard.text.push_str(head(text, room));
    }

    /// What was heard of an item that is not completed.
    pub(super) fn last_words(&mut self, id: ItemId) {
        let Some(heard) = self.texts.remove(&id) else { return };
        let Some(index) = self.open.get(&Key::Item(id)).copied() else { return };
        let is_tool = self.drafts.get(index).is_some_and(|(track, _)| matches!(track, Track::Tool));
        let output = if is_tool { self.words.output(&heard.text) } else { None };
        let text = if is_tool { None } else { Some(self.words.text(&heard.text)) };
        if let Some((_, draft)) = self.drafts.get_mut(index) {
            draft.span.output = output;
            if let Some(text) = text {
                draft.span.text = text;
            }
        }
    }

    fn item_ends(&mut self, at: i64, item: &Item, hook: bool) {
        let key = Key::Item(item.id);
        let heard = self.texts.remove(&item.id);
        let mut index = self.open.get(&key).copied();
        if index.is_some() {
            // A text is over with its last piece, though some agents tell it only when the next
            // thing comes.
            let written =
                matches!(item.body, ItemBody::Message { .. } | ItemBody::Reasoning { .. });
            let over = heard.as_ref().and_then(|heard| heard.last).filter(|_| written);
            self.end(&key, over.unwrap_or(at));
        } else if let Some(early) = self.presumed.remove(&item.id) {
            // It was taken for complete and was not: it ends now.
            if let Some((_, draft)) = self.drafts.get_mut(early) {
                self.went_on.push((draft.end, at));
                draft.end = at.max(draft.start);
                draft.span.outcome = None;
            }
            index = Some(early);
        } else {
            self.item_begins(at, item, hook);
            index = self.open.get(&key).copied();
            self.end(&key, at);
        }
        self.fill(index, item, heard.as_ref().map(|heard| heard.text.as_str()));
    }

    /// What a completed item says of itself.
    fn fill(&mut self, index: Option<usize>, item: &Item, streamed: Option<&str>) {
        let (_, sketch) = self.sketch(&item.body);
        let (mut ended, mut own_ms, mut output) = (None, None, None);
        if let ItemBody::Tool(tool) = &item.body {
            let outcome = tool.outcome.as_ref().map(words::outcome);
            ended = outcome.map(|(tone, text)| (tone, self.words.text(&text)));
            own_ms = tool.duration_ms;
            let given = tool.output.as_deref().or(tool.diff.as_deref()).or(streamed);
            output = given.and_then(|given| self.words.output(given));
        }
        let draft = index.and_then(|index| self.drafts.get_mut(index));
        let Some(span) = draft.map(|(_, draft)| &mut draft.span) else { return };
        (span.kind, span.name, span.own_ms, span.output) =
            (sketch.kind, sketch.name, own_ms, output);
        if !sketch.text.is_empty() {
            span.text = sketch.text;
        }
        if let Some((tone, outcome)) = ended {
            (span.tone, span.outcome) = (tone, Some(outcome));
        }
    }

    /// Where an item belongs, and what it says.
    fn sketch(&mut self, body: &ItemBody) -> (Track, Sketch) {
        match body {
            ItemBody::Message { text } => (Track::Text, self.said("text", text, Tone::Plain)),
            ItemBody::Reasoning { text } => {
                (Track::Thinking, self.said("thinking", text, Tone::Plain))
            }
            ItemBody::Tool(tool) => self.tool(tool),
            ItemBody::SubAgent { description } => {
                (Track::SubAgent, self.said("agent", description, Tone::Plain))
            }
            ItemBody::Plan { todos, text } => {
                let mut lines: Vec<String> = text.iter().cloned().collect();
                let entry = |status, text: &str| format!("{} {text}", words::tick(status));
                lines.extend(todos.iter().map(|todo| entry(todo.status, &todo.text)));
                (Track::Note, self.said("plan", &lines.join("\n"), Tone::Plain))
            }
            ItemBody::FileChange { path, .. } => {
                (Track::Note, self.said("changed", path, Tone::Plain))
            }
            ItemBody::Notice { level, text } => {
                let tone = match level {
                    NoticeLevel::Info => Tone::Plain,
                    NoticeLevel::Warning => Tone::Warn,
                    NoticeLevel::Error => Tone::Bad,
                };
                (Track::Note, self.said("notice", text, tone))
            }
            _ => (Track::Note, self.said("item", "", Tone::Plain)),
        }
    }

    fn tool(&mut self, tool: &Tool) -> (Track, Sketch) {
        let track = match tool.input {
            ToolInput::SubAgent { .. } => Track::SubAgent,
            _ => Track::Tool,
        };
        let listed;
        let text = match &tool.input {
            ToolInput::Query { query, path: Some(path) } => {
                listed = format!("{query} in {path}");
                &listed
            }
            ToolInput::Mcp { server, tool } => {
                listed = format!("{server}: {tool}");
                &listed
            }
            ToolInput::Todos { todos } => {
                listed = format!("{} entries", todos.len());
                &listed
            }
            input => input.headline(),
        };
        let mut sketch = self.said(&tool.name, text, Tone::Plain);
        sketch.kind = Some(tool.tool_kind.word());
        sketch.call = Some(self.words.name(&tool.call.0));
        (track, sketch)
    }
}
