//! A thread of work, whichever protocol tells of it: its name, its turns, its items.
//!
//! Both decoders hand their items here; what a line of theirs is called and wrapped in is their own
//! business.

use super::super::Depth;
use super::super::kit::todo_status;
use super::calls::Calls;
use super::text::{self, Ids, Pen, Texts, Whole};
use super::trouble::{attempt, cut, unpacked};
use super::wire::{self, Kind, Wire, said};
use crate::event::{
    EventKind, Item, ItemBody, NoticeLevel, TextRole, Todo, TodoStatus, Tokens, TurnEnd, Usage,
};
use crate::id::{SessionId, digest64};
use crate::json::Value;
use serde::{Deserialize, Serialize};

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Started,
    Updated,
    Completed,
}

/// How far the turn is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Turn {
    #[default]
    None,
    /// The agent has said so; the prompt may still be echoed.
    Announced,
    On,
}

/// What is known of the thread.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Thread {
    ids: Ids,
    pub(super) texts: Texts,
    pub(super) calls: Calls,
    turn: Turn,
    /// The thread's id as it stands on the line, to compare without unescaping.
    #[serde(with = "crate::saved::bytes")]
    name: Vec<u8>,
    /// The agent's id of the prompt that was last echoed.
    #[serde(with = "crate::saved::bytes")]
    prompt: Vec<u8>,
    /// Digest of the last plan that was told, since it is told again at the end.
    last_plan: u64,
}

impl Thread {
    /// Whether an id, where there is one, is not that of this thread: another agent's, at work for
    /// this one.
    pub(super) fn is_foreign(&self, id: Option<Value<'_>>) -> bool {
        let id = id.and_then(Value::raw_str);
        !self.name.is_empty() && id.is_some_and(|id| id != self.name)
    }

    /// Whether the thread's id is known.
    pub(super) fn is_named(&self) -> bool {
        !self.name.is_empty()
    }

    /// Emits `session.started` where the id is new.
    pub(super) fn named(
        &mut self,
        id: Option<Value<'_>>,
        version: Option<String>,
        model: Option<String>,
        cwd: Option<String>,
        out: &mut Vec<EventKind>,
    ) {
        let Some(raw) = id.and_then(Value::raw_str).filter(|raw| !raw.is_empty()) else {
            return;
        };
        if raw == self.name {
            return;
        }
        self.name.clear();
        self.name.extend_from_slice(raw);
        out.push(EventKind::SessionStarted {
            agent: "codex".to_owned(),
            agent_version: version,
            native_id: SessionId(id.and_then(Value::string).unwrap_or_default()),
            model,
            cwd,
            resumed_from: None,
        });
    }

    /// A turn begins, and its prompt is not going to be echoed.
    pub(super) fn turn_started(&mut self, out: &mut Vec<EventKind>) {
        self.turn = Turn::On;
        out.push(EventKind::TurnStarted { prompt: None, by: None });
    }

    /// A turn begins; its prompt comes with the next item, if at all.
    pub(super) fn turn_announced(&mut self) {
        self.turn = Turn::Announced;
    }

    /// The agent does something: a turn is on.
    #[inline]
    fn model_acts(&mut self, out: &mut Vec<EventKind>) {
        if self.turn != Turn::On {
            self.turn_started(out);
        }
    }

    /// The agent's terminal event.
    pub(super) fn turn_ended(
        &mut self,
        end: TurnEnd,
        text: Option<String>,
        usage: Option<Usage>,
        duration_ms: Option<u64>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        if self.turn == Turn::Announced {
            self.turn_started(out);
        }
        self.turn = Turn::None;
        self.texts.close_all(depth, out);
        self.calls.turn_ended(out);
        out.push(EventKind::TurnEnded { end, text, usage, duration_ms });
    }

    /// A piece of a text, or of what a call prints.
    pub(super) fn piece(
        &mut self,
        native: &[u8],
        role: TextRole,
        part: text::Part,
        text: Value<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        if role == TextRole::ToolOutput {
            return self.calls.output(native, text, depth, out);
        }
        if text.raw() != b"\"\"" {
            self.model_acts(out);
            let mut pen = Pen { depth, ids: &mut self.ids, out };
            self.texts.piece(native, role, part, text, &mut pen);
        }
    }

    /// An item. Of another agent's only the calls are told: its words are not the answer.
    pub(super) fn item(
        &mut self,
        phase: Phase,
        wire: &Wire<'_>,
        is_foreign: bool,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        match wire.kind {
            Kind::Message | Kind::Reasoning | Kind::ReviewEnds if phase == Phase::Completed => {
                if !is_foreign {
                    self.whole_text(wire, depth, out);
                }
            }
            Kind::User if !is_foreign => self.prompt(wire, depth, out),
            Kind::Plan if phase == Phase::Completed && !is_foreign => {
                if let Some(text) = said(wire.text) {
                    self.plan(Vec::new(), Some(text), depth, out);
                }
            }
            Kind::Todos if !is_foreign => {
                self.plan(todos(wire.todos), None, depth, out);
            }
            Kind::Error if phase == Phase::Completed => {
                let message = said(wire.message).or_else(|| said(wire.text)).unwrap_or_default();
                self.trouble(NoticeLevel::Warning, message, /* will_retry */ false, out);
            }
            Kind::Compaction if phase == Phase::Completed && !is_foreign => {
                self.notice(NoticeLevel::Info, "the conversation was compacted".to_owned(), out);
            }
            Kind::ReviewBegins if phase == Phase::Completed => {
                let text = said(wire.text).unwrap_or_default();
                self.notice(NoticeLevel::Info, format!("a review began: {text}"), out);
            }
            Kind::Message
            | Kind::Reasoning
            | Kind::User
            | Kind::Plan
            | Kind::Todos
            | Kind::Error
            | Kind::Compaction
            | Kind::ReviewBegins
            | Kind::ReviewEnds
            | Kind::Quiet => {}
            Kind::Unknown if !wire.looks_like_a_call() && !self.calls.knows(wire.id) => {
                let words = said(wire.text).or_else(|| said(wire.message));
                if let Some(words) = words.filter(|_| phase == Phase::Completed) {
                    self.notice(NoticeLevel::Info, words, out);
                }
            }
            Kind::Command
            | Kind::Patch
            | Kind::Mcp
            | Kind::Dynamic
            | Kind::Collab
            | Kind::Search
            | Kind::ViewImage
            | Kind::MakeImage
            | Kind::Sleep
            | Kind::Unknown => {
                // The end of what outlived its turn is not the beginning of another.
                if !is_foreign && !self.calls.has_outlived_its_turn(wire.id) {
                    self.model_acts(out);
                }
                match phase {
                    Phase::Updated if self.calls.knows(wire.id) => {}
                    Phase::Started | Phase::Updated => {
                        let mut pen = Pen { depth, ids: &mut self.ids, out };
                        self.calls.started(wire, &mut pen);
                    }
                    Phase::Completed => {
                        let mut pen = Pen { depth, ids: &mut self.ids, out };
                        self.calls.completed(wire, &mut pen);
                    }
                }
            }
        }
    }

    fn whole_text(&mut self, wire: &Wire<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        self.model_acts(out);
        let role = match wire.kind {
            Kind::Reasoning => TextRole::Reasoning,
            _ => TextRole::Message,
        };
        let parts = || {
            let summary = wire.summary.filter(|summary| wire::has_parts(*summary));
            summary.or(wire.content).map(Whole::Parts)
        };
        if let Some(text) = wire.text.map(Whole::One).or_else(parts) {
            let mut pen = Pen { depth, ids: &mut self.ids, out };
            self.texts.whole(wire.id, role, &text, &mut pen);
        }
    }

    /// The echo of a prompt, at the beginning of a turn or in its course.
    fn prompt(&mut self, wire: &Wire<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        if self.prompt == wire.id {
            return;
        }
        self.prompt.clear();
        self.prompt.extend_from_slice(wire.id);
        let text = wire.content.and_then(|content| wire::parts(content, "\n"));
        let text = text.unwrap_or_default();
        if self.turn == Turn::On {
            return self.notice(NoticeLevel::Info, format!("the user added: {text}"), out);
        }
        self.turn = Turn::On;
        let prompt = Some(text).filter(|_| depth == Depth::Full);
        out.push(EventKind::TurnStarted { prompt, by: None });
    }

    /// Tells a plan, unless it was the last one told.
    pub(super) fn plan(
        &mut self,
        todos: Vec<Todo>,
        text: Option<String>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let seed = digest64(text.as_deref().unwrap_or_default().as_bytes());
        let digest = todos.iter().fold(seed, |digest, todo| {
            digest.rotate_left(7) ^ digest64(todo.text.as_bytes()) ^ todo.status as u64
        });
        if digest == self.last_plan {
            return;
        }
        self.last_plan = digest;
        self.model_acts(out);
        let text = text.filter(|_| depth == Depth::Full);
        let item = Item { id: self.ids.next(), body: ItemBody::Plan { todos, text } };
        out.push(EventKind::ItemCompleted { item });
    }

    /// An error that ends nothing: a retry, or something to know.
    pub(super) fn trouble(
        &mut self,
        level: NoticeLevel,
        message: String,
        will_retry: bool,
        out: &mut Vec<EventKind>,
    ) {
        match attempt(&message).or(will_retry.then_some(1)) {
            Some(attempt) => {
                let detail = Some(cut(unpacked(message)));
                out.push(EventKind::RetryScheduled { attempt, detail });
            }
            None => self.notice(level, unpacked(message), out),
        }
    }

    /// Something the agent wants known.
    pub(super) fn notice(&mut self, level: NoticeLevel, text: String, out: &mut Vec<EventKind>) {
        let body = ItemBody::Notice { level, text: cut(text) };
        out.push(EventKind::ItemCompleted { item: Item { id: self.ids.next(), body } });
    }
}

/// The entries of a list of things to do: `{text,completed}` or `{step,status}`.
pub(super) fn todos(list: Option<Value<'_>>) -> Vec<Todo> {
    let todo = |todo: Value<'_>| {
        let is_done = todo.get("completed").and_then(Value::bool) == Some(true);
        Todo {
            text: said(todo.get("text").or_else(|| todo.get("step"))).unwrap_or_default(),
            status: if is_done { TodoStatus::Completed } else { todo_status(todo) },
        }
    };
    list.into_iter().flat_map(Value::elements).map(todo).collect()
}

/// What was used since the thread began, over all its runs. Codex counts cached tokens among those
/// sent; we tell them apart.
pub(super) fn usage(used: Value<'_>) -> Option<Usage> {
    if !used.is_object() {
        return None;
    }
    let mut tokens = Tokens::default();
    for (key, value) in used.members() {
        let n = value.u64().unwrap_or(0);
        match key {
            b"input_tokens" | b"inputTokens" => tokens.input = n,
            b"output_tokens" | b"outputTokens" => tokens.output = n,
            b"cached_input_tokens" | b"cachedInputTokens" => tokens.cache_read = n,
            b"cache_write_input_tokens" | b"cacheWriteInputTokens" => tokens.cache_write = n,
            b"reasoning_output_tokens" | b"reasoningOutputTokens" => tokens.reasoning = n,
            _ => {}
        }
    }
    let cached = tokens.cache_read.saturating_add(tokens.cache_write);
    tokens.input = tokens.input.saturating_sub(cached);
    Some(Usage::Total(tokens))
}
