//! From our events to the protocol's updates: what an editor is shown, live and when a session is
//! loaded.
//!
//! Owns which update an event becomes and what was told of a call before. Sends nothing, and knows
//! nothing of turns, prompts, approvals or processes: those are the worker's.

use super::hunks::hunks;
use crate::render::one_line;
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, Diff, MessageId, Meta, Notice, NoticeSeverity, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate, SessionUpdate, ToolCall,
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind as Kind,
};
use serde_json::{Value, json};
use stablehand_core::event::{
    Event, EventKind, Evidence, Health, Item, ItemBody, NoticeLevel, Outcome, OutcomeClass,
    TextRole, Todo, TodoStatus, Tool, ToolInput, ToolKind,
};
use stablehand_core::id::ItemId;
use stablehand_core::size;
use stablehand_core::text::plain;
use stablehand_core::unsaid::Unsaid;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The one key of ours under `_meta`.
pub(super) const META: &str = "stablehand";

/// So much of a command's output is shown while it runs: its end.
const RUNNING_OUTPUT: usize = 16 << 10;

/// So many calls are remembered; agents close theirs.
const MOST_CALLS: usize = 4096;

/// Makes updates of events.
#[derive(Debug)]
pub(super) struct Updates {
    /// Where the session works: relative paths are meant from there.
    cwd: PathBuf,
    /// Whether the client has a place for notices.
    notices: bool,
    /// The message that was told in pieces.
    told: Option<ItemId>,
    /// The calls that were told, and the output of those that run.
    calls: HashMap<String, Running>,
    /// Which call an item is, for pieces of its output.
    by_item: HashMap<ItemId, String>,
    /// What was said in the turn, so that a result does not say it again.
    unsaid: Unsaid,
}

#[derive(Debug, Default)]
struct Running {
    output: String,
    /// How much there was when it was last told.
    told: usize,
}

impl Updates {
    /// For a session that works there.
    pub(super) fn new(cwd: PathBuf, notices: bool) -> Updates {
        Updates {
            cwd,
            notices,
            told: None,
            calls: HashMap::new(),
            by_item: HashMap::new(),
            unsaid: Unsaid::default(),
        }
    }

    /// What an event is for an editor.
    pub(super) fn of(&mut self, event: &Event, out: &mut Vec<SessionUpdate>) {
        if let Some(text) = self.unsaid.take(&event.event) {
            out.push(SessionUpdate::AgentMessageChunk(chunk(text)));
        }
        match &event.event {
            EventKind::ProcessSpawned { .. } => {
                // A new process counts from the beginning.
                self.told = None;
                self.by_item.clear();
            }
            EventKind::TurnContinued { prompt, by, count, max, sub_agent } => {
                let who = if sub_agent.is_some() { "Sub-agent told" } else { "Told" };
                let text = format!("{who} to go on: {prompt} ({count} of {max}, by {by})");
                self.notice(NoticeLevel::Info, &text, None, out);
            }
            EventKind::ItemStarted { item } => self.started(item, out),
            EventKind::ItemDelta { id, role, text } => self.piece(event, *id, *role, text, out),
            EventKind::ItemCompleted { item } => self.completed(event, item, out),
            EventKind::RetryScheduled { attempt, detail } => {
                let why = detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
                let text = format!("The agent tries its request again (attempt {attempt}){why}");
                self.notice(NoticeLevel::Info, &text, None, out);
            }
            EventKind::ConnectionChanged { state, .. } => {
                let text = format!("The agent's connection: {state}");
                self.notice(NoticeLevel::Info, &text, None, out);
            }
            EventKind::HealthChanged { to, why, evidence, .. } => {
                self.health(*to, why, evidence.as_deref(), out);
            }
            _ => {}
        }
    }

    fn started(&mut self, item: &Item, out: &mut Vec<SessionUpdate>) {
        match &item.body {
            // A call that names no tool has nothing to show yet.
            ItemBody::Tool(tool) if !tool.name.is_empty() => {
                self.by_item.insert(item.id, tool.call.0.clone());
                self.tool(tool, out);
            }
            ItemBody::SubAgent { description } => {
                let id = format!("sub-agent-{}", item.id.0);
                let call = ToolCall::new(id.clone(), one_line(description))
                    .kind(Kind::Think)
                    .status(ToolCallStatus::InProgress);
                self.remember(id);
                out.push(SessionUpdate::ToolCall(call));
            }
            _ => {}
        }
    }

    fn piece(
        &mut self,
        event: &Event,
        id: ItemId,
        role: TextRole,
        text: &str,
        out: &mut Vec<SessionUpdate>,
    ) {
        match role {
            TextRole::Message => {
                self.told = Some(id);
                out.push(SessionUpdate::AgentMessageChunk(part(event, id, text)));
            }
            TextRole::Reasoning => {
                self.told = Some(id);
                out.push(SessionUpdate::AgentThoughtChunk(part(event, id, text)));
            }
            TextRole::ToolOutput => {
                let Some(call) = self.by_item.get(&id) else { return };
                let Some(running) = self.calls.get_mut(call) else { return };
                running.output.push_str(text);
                keep_end(&mut running.output, RUNNING_OUTPUT);
                // What is told replaces what was; not every word is worth all of it again.
                running.told += text.len();
                if running.told * 4 >= running.output.len() || text.contains('\n') {
                    running.told = 0;
                    let content = vec![ToolCallContent::from(fenced(&running.output))];
                    let fields = ToolCallUpdateFields::new().content(content);
                    let update = ToolCallUpdate::new(call.clone(), fields);
                    out.push(SessionUpdate::ToolCallUpdate(update));
                }
            }
        }
    }

    fn completed(&mut self, event: &Event, item: &Item, out: &mut Vec<SessionUpdate>) {
        match &item.body {
            ItemBody::Message { text } if self.told != Some(item.id) && !text.is_empty() => {
                out.push(SessionUpdate::AgentMessageChunk(part(event, item.id, text)));
            }
            ItemBody::Reasoning { text } if self.told != Some(item.id) && !text.is_empty() => {
                out.push(SessionUpdate::AgentThoughtChunk(part(event, item.id, text)));
            }
            ItemBody::Message { .. } | ItemBody::Reasoning { .. } => self.told = None,
            ItemBody::Tool(tool) if !tool.name.is_empty() => self.tool(tool, out),
            ItemBody::Plan { todos, text } => {
                if !todos.is_empty() {
                    out.push(plan(todos));
                }
                if let Some(text) = text {
                    out.push(SessionUpdate::AgentMessageChunk(part(event, item.id, text)));
                }
            }
            ItemBody::FileChange { path, diff } => {
                let id = format!("change-{}", item.id.0);
                let path = self.whole(path);
                let title = format!("Changed {}", path.display());
                let call = ToolCall::new(id, title)
                    .kind(Kind::Edit)
                    .status(ToolCallStatus::Completed)
                    .content(changes(diff.as_deref(), Some(&path)))
                    .locations(vec![ToolCallLocation::new(path)]);
                out.push(SessionUpdate::ToolCall(call));
            }
            ItemBody::SubAgent { description } => {
                let id = format!("sub-agent-{}", item.id.0);
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
                if self.calls.remove(&id).is_none() {
                    let call = ToolCall::new(id.clone(), one_line(description)).kind(Kind::Think);
                    out.push(SessionUpdate::ToolCall(call));
                }
                out.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)));
            }
            ItemBody::Notice { level, text } => self.notice(*level, text, None, out),
            _ => {}
        }
    }

    /// A call that begins, is told again, or is over.
    fn tool(&mut self, tool: &Tool, out: &mut Vec<SessionUpdate>) {
        if let ToolInput::Todos { todos } = &tool.input {
            // A list of things to do has a place of its own.
            if !todos.is_empty() {
                out.push(plan(todos));
            }
            return;
        }
        let fields = self.fields(tool);
        let is_over = tool.outcome.is_some();
        let id = tool.call.0.clone();
        let known =
            if is_over { self.calls.remove(&id).is_some() } else { !self.remember(id.clone()) };
        if known {
            let update = ToolCallUpdate::new(id, fields).meta(about(tool));
            out.push(SessionUpdate::ToolCallUpdate(update));
            return;
        }
        if let Ok(call) = ToolCall::try_from(ToolCallUpdate::new(id, fields).meta(about(tool))) {
            out.push(SessionUpdate::ToolCall(call));
        }
    }

    /// What a question is about, as the editor knows the call or is to be told now.
    pub(super) fn asked(&mut self, tool: &Tool, out: &mut Vec<SessionUpdate>) -> ToolCallUpdate {
        let id = tool.call.0.clone();
        let mut fields = self.fields(tool);
        fields.status = Some(ToolCallStatus::Pending);
        let update = ToolCallUpdate::new(id.clone(), fields).meta(about(tool));
        // Whoever is asked about a call has heard of it.
        if self.remember(id)
            && let Ok(call) = ToolCall::try_from(update.clone())
        {
            out.push(SessionUpdate::ToolCall(call));
        }
        update
    }

    /// Tells that a call was permitted: while it was asked about, it was pending.
    pub(super) fn permitted(&self, call: &str) -> Option<SessionUpdate> {
        self.calls.contains_key(call).then(|| {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.to_owned(), fields))
        })
    }

    fn fields(&self, tool: &Tool) -> ToolCallUpdateFields {
        let status = match tool.outcome.as_ref().map(Outcome::class) {
            None => ToolCallStatus::InProgress,
            Some(OutcomeClass::Success) => ToolCallStatus::Completed,
            // The protocol has no word for an unknown end, and `completed` would claim a success.
            Some(OutcomeClass::Failure | OutcomeClass::Refusal | OutcomeClass::Unknown) => {
                ToolCallStatus::Failed
            }
        };
        let path = match &tool.input {
            ToolInput::Path { path } => Some(self.whole(path)),
            _ => None,
        };
        let mut content = changes(tool.diff.as_deref(), path.as_deref());
        let mut locations: Vec<ToolCallLocation> = Vec::new();
        if let Some(path) = &path {
            locations.push(ToolCallLocation::new(path.clone()));
        }
        for change in &content {
            if let ToolCallContent::Diff(diff) = change
                && locations.iter().all(|known| known.path != diff.path)
            {
                locations.push(ToolCallLocation::new(diff.path.clone()));
            }
        }
        let output = tool.output.as_deref().filter(|output| !output.trim().is_empty());
        // What was read is in the file; what was changed is in the diff.
        let has_room = content.is_empty() && tool.tool_kind != ToolKind::Read;
        let shown = output.filter(|_| has_room);
        if let Some(output) = shown {
            content.push(ToolCallContent::from(fenced(output)));
            content.extend(tool.output_bytes.map(whole_size));
        }
        if let Some(why) = tool.outcome.as_ref().and_then(reason)
            && shown.is_none_or(|output| output.trim() != why.trim())
        {
            content.push(ToolCallContent::from(ContentBlock::from(why)));
        }
        let mut fields = ToolCallUpdateFields::new()
            .kind(kind(tool.tool_kind))
            .status(status)
            .title(title(tool))
            .name(tool.name.clone())
            .locations(locations);
        if !content.is_empty() {
            fields = fields.content(content);
        }
        fields.raw_input = raw_input(&tool.input);
        if tool.outcome.is_some() {
            fields.raw_output = raw_output(tool, shown.is_none());
        }
        fields
    }

    /// Something that the agent, or we, want known.
    pub(super) fn notice(
        &self,
        level: NoticeLevel,
        text: &str,
        meta: Option<Meta>,
        out: &mut Vec<SessionUpdate>,
    ) {
        let text = plain(text);
        if self.notices {
            let severity = match level {
                NoticeLevel::Info => NoticeSeverity::Info,
                NoticeLevel::Warning => NoticeSeverity::Warning,
                NoticeLevel::Error => NoticeSeverity::Error,
            };
            let mut lines = text.splitn(2, '\n');
            let title = lines.next().unwrap_or_default().to_owned();
            let more = lines.next().map(str::to_owned);
            let notice = Notice::new(severity, title).description(more).meta(meta);
            return out.push(SessionUpdate::Notice(notice));
        }
        let told = chunk(&format!("{text}\n")).meta(meta);
        out.push(match level {
            NoticeLevel::Info => SessionUpdate::AgentThoughtChunk(told),
            NoticeLevel::Warning | NoticeLevel::Error => SessionUpdate::AgentMessageChunk(told),
        });
    }

    /// What we believe of the agent: for programs always, for a person when it matters.
    fn health(
        &self,
        to: Health,
        why: &str,
        evidence: Option<&Evidence>,
        out: &mut Vec<SessionUpdate>,
    ) {
        let record = meta(json!({ "health": to, "why": why, "evidence": evidence }));
        if to == Health::Stalled {
            let mut text = format!("Stablehand stopped the agent: {why}");
            for line in evidence.map(shown).unwrap_or_default() {
                text.push_str("\n- ");
                text.push_str(&line);
            }
            return self.notice(NoticeLevel::Error, &text, Some(record), out);
        }
        out.push(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().meta(record)));
    }

    /// Whether the call is new; it is known from now on.
    fn remember(&mut self, id: String) -> bool {
        if self.calls.len() >= MOST_CALLS {
            self.calls.clear();
        }
        self.calls.insert(id, Running::default()).is_none()
    }

    fn whole(&self, path: &str) -> PathBuf {
        self.cwd.join(path)
    }
}

/// Something of ours under `_meta`.
pub(super) fn meta(value: Value) -> Meta {
    Meta::from_iter([(META.to_owned(), value)])
}

/// A text as a chunk.
pub(super) fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::from(text))
}

fn part(event: &Event, id: ItemId, text: &str) -> ContentChunk {
    chunk(text).message_id(MessageId::new(format!("{}-{}", event.run.0, id.0)))
}

fn plan(todos: &[Todo]) -> SessionUpdate {
    let entry = |todo: &Todo| {
        let (text, status) = match todo.status {
            // The protocol has no word for a state that is not known.
            TodoStatus::Pending | TodoStatus::Unknown => {
                (todo.text.clone(), PlanEntryStatus::Pending)
            }
            TodoStatus::InProgress => (todo.text.clone(), PlanEntryStatus::InProgress),
            TodoStatus::Completed => (todo.text.clone(), PlanEntryStatus::Completed),
            // The protocol has no word for what was given up.
            TodoStatus::Cancelled => {
                (format!("{} (given up)", todo.text), PlanEntryStatus::Completed)
            }
        };
        PlanEntry::new(text, PlanEntryPriority::Medium, status)
    };
    SessionUpdate::Plan(Plan::new(todos.iter().map(entry).collect()))
}

fn changes(diff: Option<&str>, path: Option<&Path>) -> Vec<ToolCallContent> {
    let hunks = diff.map(|diff| hunks(diff, path)).unwrap_or_default();
    let change = |hunk: super::hunks::Hunk| {
        ToolCallContent::Diff(Diff::new(hunk.path, hunk.new).old_text(hunk.old))
    };
    hunks.into_iter().map(change).collect()
}

fn kind(kind: ToolKind) -> Kind {
    match kind {
        ToolKind::Read => Kind::Read,
        ToolKind::Edit => Kind::Edit,
        ToolKind::Delete => Kind::Delete,
        ToolKind::Move => Kind::Move,
        ToolKind::Search => Kind::Search,
        ToolKind::Execute => Kind::Execute,
        ToolKind::Think => Kind::Think,
        ToolKind::Fetch => Kind::Fetch,
        ToolKind::SwitchMode => Kind::SwitchMode,
        _ => Kind::Other,
    }
}

fn title(tool: &Tool) -> String {
    let headline = one_line(tool.headline());
    match &tool.input {
        ToolInput::Command { .. } if !headline.is_empty() => format!("`{headline}`"),
        ToolInput::Mcp { server, tool } => one_line(&format!("{server}: {tool}")),
        _ if headline.is_empty() => one_line(&tool.name),
        _ => format!("{} {headline}", one_line(&tool.name)),
    }
}

fn about(tool: &Tool) -> Meta {
    meta(json!({ "tool": tool.name, "timeout_ms": tool.timeout_ms, "background": tool.background }))
}

/// The input as far as it was understood, without our own word for its kind.
fn raw_input(input: &ToolInput) -> Option<Value> {
    let mut value = serde_json::to_value(input).ok()?;
    value.as_object_mut()?.remove("kind");
    Some(value)
}

/// The end of a call for programs. An output may be long, so one that is shown is not sent again.
fn raw_output(tool: &Tool, with_output: bool) -> Option<Value> {
    let outcome = tool.outcome.as_ref()?;
    let output = tool.output.as_ref().filter(|_| with_output);
    let mut value =
        json!({ "output": output, "outcome": outcome, "duration_ms": tool.duration_ms });
    if let (Some(bytes), Some(value)) = (tool.output_bytes, value.as_object_mut()) {
        value.insert("output_bytes".to_owned(), bytes.into());
    }
    Some(value)
}

/// How long an output is of which only the beginning is shown, and where the rest is.
fn whole_size(bytes: u64) -> ToolCallContent {
    let size = size::human(bytes);
    let text = format!("… {size} in all; `stablehand sessions show --events ID` shows it whole");
    ToolCallContent::from(ContentBlock::from(text))
}

/// Why a call came to nothing, for a person.
fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Success => None,
        // What it said is more than that it failed.
        Outcome::Failure { message: Some(message), .. } => Some(message.clone()),
        other => Some(other.describe()),
    }
}

/// What a verdict rests on, line by line.
fn shown(evidence: &Evidence) -> Vec<String> {
    let mut lines = Vec::new();
    for tool in &evidence.open_tools {
        let ran = stablehand_core::time::human(std::time::Duration::from_millis(tool.elapsed_ms));
        lines.push(format!("`{}` had been running for {ran}", one_line(&tool.command)));
    }
    if let (Some(cpu), Some(window)) = (evidence.cpu_ms, evidence.cpu_window_ms) {
        lines.push(format!("its processes used {cpu} ms of processor time in {window} ms"));
    }
    if !evidence.last_events.is_empty() {
        lines.push(format!("the last it said: {}", evidence.last_events.join(", ")));
    }
    lines
}

fn fenced(text: &str) -> ContentBlock {
    let text = plain(text);
    let fence = if text.contains("```") { "````" } else { "```" };
    ContentBlock::from(format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n')))
}

fn keep_end(text: &mut String, most: usize) {
    if text.len() > most {
        let mut at = text.len() - most;
        while !text.is_char_boundary(at) {
            at += 1;
        }
        text.drain(..at);
    }
}
