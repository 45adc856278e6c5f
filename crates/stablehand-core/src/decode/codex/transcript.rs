//! The rollouts of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`.
//!
//! A line is `{timestamp, type, payload}`. What the model was given and gave (`response_item`) and
//! what was shown of it (`event_msg`) stand beside each other, and which of both is written depends on
//! the version: a text is told when it first comes, and not again. Calls begin with the model's wish;
//! they end with what was shown of them, or with what the model was told, and `calls` reads both. The
//! oldest rollouts have bare items without a time.

mod calls;

use super::super::kit::Stream;
use super::super::transcript::{
    Beside, DEPTH, Entries, Entry, Front, Timed, TranscriptFiles, TranscriptForm, said, time,
};
use super::wire::Wire;
use super::{thread, tools, trouble, wire};
use crate::event::{EventKind, Item, ItemBody, NoticeLevel, TextRole, Tool, TurnEnd};
use crate::id::{ItemId, digest64};
use crate::json::Value;
use crate::time::UnixMillis;
use std::collections::VecDeque;

/// So many texts may wait to be repeated.
const MOST_WAITING: usize = 64;

/// So many calls are remembered as over, since both sides tell of their end.
const MOST_OVER: usize = 256;

/// `<year>/<month>/<day>/rollout-<time>-<session>.jsonl`; old ones are packed, archived ones are in a
/// folder of their own without days.
pub(in crate::decode) const FILES: TranscriptFiles = TranscriptFiles {
    form: |name| {
        let file = name.rsplit('/').next().filter(|file| file.starts_with("rollout-"))?;
        if file.strip_suffix(".jsonl.zst").is_some() {
            return Some(TranscriptForm::PackedLines);
        }
        file.strip_suffix(".jsonl").is_some().then_some(TranscriptForm::Lines)
    },
    workspace: None,
};

/// Reads a rollout of Codex.
#[derive(Debug)]
pub(in crate::decode) struct CodexTranscript {
    front: Front,
    stream: Stream,
    /// Texts that one side has told and the other has not repeated yet.
    waiting: VecDeque<(Side, u64)>,
    /// What the user is said to have said, as the model was told it; a prompt if nobody shows one.
    candidate: Option<(UnixMillis, String)>,
    /// Digests of the ids of calls that are over.
    over: VecDeque<u64>,
    /// Commands that go on after their call has returned.
    running: Vec<(ItemId, Box<Tool>)>,
    /// The turn may be over since then: not all versions say so.
    rest: Option<(UnixMillis, TurnEnd)>,
    /// The last thing was that the conversation was compacted, which is told more than once.
    compacted: bool,
}

/// Who tells of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Model,
    Shown,
}

impl Entries for CodexTranscript {
    fn front(&self) -> &Front {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.front
    }

    fn entry(&mut self, entry: &Entry<'_, '_>, out: &mut Vec<Timed>) {
        let at = self.front.at(time(entry.get("timestamp")));
        let payload = entry.get("payload");
        match (entry.word("type"), payload) {
            (b"session_meta", Some(payload)) => self.session(payload),
            (b"turn_context", Some(payload)) => self.context(payload),
            (b"response_item", Some(payload)) => self.item(at, payload, entry, out),
            (b"event_msg", Some(payload)) => self.shown(at, payload, entry, out),
            (b"compacted", _) => self.compacted(at, out),
            // The state of the world, and counts that `token_count` has too.
            (b"world_state" | b"token_usage_record" | b"ghost_snapshot" | b"state", _) => {}
            (b"", None) if entry.get("record_type").is_some() => {}
            // The oldest form: the session, then items, without anything around them.
            (b"", None) if entry.said("id").is_some() => {
                self.session(Value::new(entry.line.bytes.trim_ascii()));
            }
            (kind, None) if calls::is_item(kind) => {
                self.item(at, Value::new(entry.line.bytes.trim_ascii()), entry, out);
            }
            _ => self.front.unknown(entry.line, out),
        }
    }

    fn close(&mut self, out: &mut Vec<Timed>) {
        self.prompt_at_last(out);
        self.end_turn(None, out);
    }
}

impl CodexTranscript {
    pub(in crate::decode) fn new(beside: &Beside) -> Self {
        CodexTranscript {
            front: Front::new("codex", beside),
            stream: Stream::default(),
            waiting: VecDeque::new(),
            candidate: None,
            over: VecDeque::new(),
            running: Vec::new(),
            rest: None,
            compacted: false,
        }
    }

    /// The session. A session that was branched off another has that one's description too; the
    /// first is its own.
    fn session(&mut self, payload: Value<'_>) {
        if self.front.session.is_none() {
            // What a sub-agent does belongs to the session that it works for.
            let sub = payload.get("source").and_then(|source| source.get("subagent"));
            let parent = sub.and_then(|_| said(payload.get("session_id")));
            self.front.session = parent.or_else(|| said(payload.get("id")));
            self.front.version = said(payload.get("cli_version"));
            self.front.cwd = said(payload.get("cwd"));
        }
    }

    fn context(&mut self, payload: Value<'_>) {
        self.front.model = self.front.model.take().or_else(|| said(payload.get("model")));
        self.front.cwd = self.front.cwd.take().or_else(|| said(payload.get("cwd")));
    }

    /// What the model was given, or gave.
    fn item(
        &mut self,
        at: UnixMillis,
        item: Value<'_>,
        entry: &Entry<'_, '_>,
        out: &mut Vec<Timed>,
    ) {
        match item.get("type").and_then(Value::raw_str).unwrap_or_default() {
            b"message" => {
                let text = item.get("content").and_then(|list| wire::parts(list, "\n"));
                let role = item.get("role").and_then(Value::raw_str).unwrap_or_default();
                match (role, text) {
                    (b"assistant", Some(text)) => {
                        self.text(at, Side::Model, TextRole::Message, &[text], out);
                    }
                    (b"user", Some(text)) if !is_context(&text) => {
                        self.prompt_at_last(out);
                        self.candidate = Some((at, text));
                    }
                    // What the agent tells the model about itself and the place.
                    (b"assistant" | b"user" | b"developer" | b"system", _) => {}
                    _ => self.front.unknown(entry.line, out),
                }
            }
            b"reasoning" => {
                let parts = |key| parts_of(item.get(key));
                let texts = Some(parts("summary")).filter(|texts| !texts.is_empty());
                let texts = texts.unwrap_or_else(|| parts("content"));
                self.text(at, Side::Model, TextRole::Reasoning, &texts, out);
            }
            b"function_call" | b"custom_tool_call" | b"local_shell_call" | b"tool_search_call" => {
                self.wish(at, item, out);
            }
            b"web_search_call" | b"image_generation_call" => {
                self.wish(at, item, out);
                self.told(at, item, out);
            }
            b"function_call_output"
            | b"custom_tool_call_output"
            | b"local_shell_call_output"
            | b"tool_search_output" => self.told(at, item, out),
            b"compaction" | b"context_compaction" | b"compaction_summary" => {
                self.compacted(at, out);
            }
            b"ghost_snapshot" | b"other" | b"compaction_trigger" => {}
            _ => self.front.unknown(entry.line, out),
        }
    }

    /// What was shown.
    fn shown(
        &mut self,
        at: UnixMillis,
        event: Value<'_>,
        entry: &Entry<'_, '_>,
        out: &mut Vec<Timed>,
    ) {
        let words = |key| said(event.get(key));
        match event.get("type").and_then(Value::raw_str).unwrap_or_default() {
            b"item_completed" => {
                let item = event.get("item").unwrap_or(Value::new(b"{}"));
                let ended = time(event.get("completed_at_ms")).unwrap_or(at);
                self.shown_item(ended, item, entry, out);
            }
            b"user_message" => self.prompt(at, words("message").unwrap_or_default(), out),
            b"agent_message" => {
                let text: Vec<String> = words("message").into_iter().collect();
                self.text(at, Side::Shown, TextRole::Message, &text, out);
            }
            b"agent_reasoning" => {
                let text: Vec<String> = words("text").into_iter().collect();
                self.text(at, Side::Shown, TextRole::Reasoning, &text, out);
            }
            b"exec_command_end" | b"patch_apply_end" | b"mcp_tool_call_end" => {
                self.shown_end(at, event, "call_id", out);
            }
            b"token_count" => {
                let total = event.get("info").and_then(|info| info.get("total_token_usage"));
                if let Some(usage) = total.and_then(thread::usage) {
                    self.front.tell(at, [EventKind::UsageUpdated { usage }], out);
                }
            }
            b"task_started" | b"turn_started" => {
                self.prompt_at_last(out);
                self.end_turn(None, out);
            }
            b"task_complete" | b"turn_complete" => {
                self.prompt_at_last(out);
                let error = event.get("error").filter(|error| !error.is_null());
                let failed = self.rest.take().filter(|(_, end)| *end != TurnEnd::Done);
                let end = match (error, failed) {
                    (Some(error), _) => trouble::end(Some(error)),
                    (None, Some((_, end))) if words("last_agent_message").is_none() => end,
                    _ => TurnEnd::Done,
                };
                self.rest = Some((at, end));
                self.end_turn(event.get("duration_ms").and_then(Value::u64), out);
            }
            b"turn_aborted" => {
                self.prompt_at_last(out);
                self.rest = Some((at, TurnEnd::Cancelled));
                self.end_turn(event.get("duration_ms").and_then(Value::u64), out);
            }
            b"error" => {
                self.prompt_at_last(out);
                let text = words("message").unwrap_or_else(|| "the agent reports an error".into());
                self.rest = Some((at, trouble::end(Some(event))));
                self.notice(at, NoticeLevel::Error, trouble::unpacked(text), out);
            }
            b"stream_error" | b"warning" | b"deprecation_notice" => {
                let text = words("message").or_else(|| words("summary")).unwrap_or_default();
                match trouble::attempt(&text) {
                    Some(attempt) => {
                        let detail = Some(trouble::cut(text));
                        self.front.tell(at, [EventKind::RetryScheduled { attempt, detail }], out);
                    }
                    None => self.notice(at, NoticeLevel::Warning, text, out),
                }
            }
            b"context_compacted" => self.compacted(at, out),
            b"thread_name_updated" => self.front.title = words("thread_name"),
            b"thread_rolled_back" => {
                let text = "the conversation was taken back to an earlier turn".to_owned();
                self.notice(at, NoticeLevel::Info, text, out);
            }
            b"plan_update" => self.plan(at, thread::todos(event.get("plan")), out),
            b"entered_review_mode" => {
                self.notice(at, NoticeLevel::Info, "a review began".to_owned(), out);
            }
            kind if is_repeated(kind) => {}
            _ => self.front.unknown(entry.line, out),
        }
    }

    /// An item that was shown when it was over.
    fn shown_item(
        &mut self,
        at: UnixMillis,
        item: Value<'_>,
        entry: &Entry<'_, '_>,
        out: &mut Vec<Timed>,
    ) {
        match item.get("type").and_then(Value::raw_str).unwrap_or_default() {
            b"UserMessage" => {
                let text = item.get("content").and_then(|list| wire::parts(list, "\n"));
                self.prompt(at, text.unwrap_or_default(), out);
            }
            b"AgentMessage" => {
                let text = item.get("content").and_then(|list| wire::parts(list, "\n"));
                let text: Vec<String> = text.into_iter().collect();
                self.text(at, Side::Shown, TextRole::Message, &text, out);
            }
            b"Reasoning" => {
                let texts = Some(parts_of(item.get("summary_text"))).filter(|it| !it.is_empty());
                let texts = texts.unwrap_or_else(|| parts_of(item.get("raw_content")));
                self.text(at, Side::Shown, TextRole::Reasoning, &texts, out);
            }
            b"Plan" => {
                let text = said(item.get("text"));
                let body = ItemBody::Plan { todos: Vec::new(), text };
                let item = Item { id: self.stream.ids.next(), body };
                self.front.tell(at, [EventKind::ItemCompleted { item }], out);
            }
            b"ContextCompaction" => self.compacted(at, out),
            b"HookPrompt" | b"SubAgentActivity" => {}
            b"" => self.front.unknown(entry.line, out),
            _ => {
                let mut kinds = Vec::new();
                let mut read = Wire::default();
                read.read_stored(item);
                read.tell_unknown(entry.line, &mut kinds);
                tools::tell_unknown_changes(item.get("changes"), entry.line, &mut kinds);
                self.front.tell(at, kinds, out);
                self.shown_end(at, item, "id", out);
            }
        }
    }

    /// A text, as one side tells it.
    fn text(
        &mut self,
        at: UnixMillis,
        side: Side,
        role: TextRole,
        texts: &[String],
        out: &mut Vec<Timed>,
    ) {
        let other = if side == Side::Model { Side::Shown } else { Side::Model };
        let mut fresh = Vec::new();
        for text in texts {
            let digest = digest64(text.as_bytes()) ^ role as u64;
            if let Some(known) = self.waiting.iter().position(|it| *it == (other, digest)) {
                self.waiting.remove(known);
                continue;
            }
            if self.waiting.len() >= MOST_WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back((side, digest));
            fresh.push(text.as_str());
        }
        if fresh.is_empty() {
            return;
        }
        self.prompt_at_last(out);
        self.compacted = false;
        let mut kinds = Vec::new();
        self.stream.close_texts(&mut kinds);
        self.stream.piece_by(role, fresh.join("\n\n"), DEPTH, &mut kinds);
        self.stream.close_texts(&mut kinds);
        self.front.tell(at, kinds, out);
        if role == TextRole::Message {
            self.rest = Some((at, TurnEnd::Done));
        }
    }

    /// A prompt, as it was shown.
    fn prompt(&mut self, at: UnixMillis, text: String, out: &mut Vec<Timed>) {
        // The model was told the same, with more around it perhaps.
        self.candidate = None;
        if text.is_empty() || is_context(&text) {
            return;
        }
        self.end_turn(None, out);
        let mut kinds = Vec::new();
        self.stream.calls.abandon(&mut kinds);
        self.stream.in_turn = true;
        kinds.push(EventKind::TurnStarted { prompt: Some(text), by: None });
        self.front.tell(at, kinds, out);
    }

    /// The model goes to work on what nobody showed as a prompt: then it is one.
    fn prompt_at_last(&mut self, out: &mut Vec<Timed>) {
        if let Some((at, text)) = self.candidate.take() {
            self.prompt(at, text, out);
        }
    }

    fn end_turn(&mut self, duration_ms: Option<u64>, out: &mut Vec<Timed>) {
        let Some((at, end)) = self.rest.take().filter(|_| self.stream.in_turn) else { return };
        let mut kinds = Vec::new();
        self.stream.end_turn(end, None, duration_ms, &mut kinds);
        self.front.tell(at, kinds, out);
    }

    fn compacted(&mut self, at: UnixMillis, out: &mut Vec<Timed>) {
        if !std::mem::replace(&mut self.compacted, true) {
            let text = "the conversation was compacted".to_owned();
            self.notice(at, NoticeLevel::Info, text, out);
        }
    }

    fn plan(&mut self, at: UnixMillis, todos: Vec<crate::event::Todo>, out: &mut Vec<Timed>) {
        if todos.is_empty() {
            return;
        }
        let body = ItemBody::Plan { todos, text: None };
        let item = Item { id: self.stream.ids.next(), body };
        self.front.tell(at, [EventKind::ItemCompleted { item }], out);
    }

    fn notice(&mut self, at: UnixMillis, level: NoticeLevel, text: String, out: &mut Vec<Timed>) {
        let mut kinds = Vec::new();
        if !text.is_empty() {
            self.stream.notice(level, text, &mut kinds);
        }
        self.front.tell(at, kinds, out);
    }
}

/// The texts of a list of strings, or of objects with a `text`.
fn parts_of(list: Option<Value<'_>>) -> Vec<String> {
    let text = |part: Value<'_>| said(part.get("text")).or_else(|| said(Some(part)));
    list.into_iter().flat_map(Value::elements).filter_map(text).collect()
}

/// Returns true for an event that only ticks, or repeats what items say.
fn is_repeated(kind: &[u8]) -> bool {
    const KNOWN: &[&str] = &[
        "session_configured",
        "thread_settings_applied",
        "thread_goal_updated",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "background_event",
        "turn_diff",
        "terminal_interaction",
        "view_image_tool_call",
        "exec_approval_request",
        "apply_patch_approval_request",
        "request_permissions",
        "request_user_input",
        "elicitation_request",
        "guardian_assessment",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
        "mcp_startup_update",
        "mcp_startup_complete",
        "model_reroute",
        "model_verification",
        "patch_apply_updated",
        "raw_response_item",
        "item_started",
        "hook_started",
        "hook_completed",
        "exited_review_mode",
        "shutdown_complete",
        "undo_started",
        "undo_completed",
        "skills_update_available",
        "sub_agent_activity",
        "web_search_end",
        "image_generation_end",
    ];
    let is_collab = kind.starts_with(b"collab_") && kind.ends_with(b"_end");
    let ticks = kind.ends_with(b"_delta") || kind.ends_with(b"_begin");
    is_collab || ticks || KNOWN.iter().any(|known| known.as_bytes() == kind)
}

/// What the agent tells the model in the user's name.
fn is_context(text: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "<environment_context>",
        "<user_instructions>",
        "<turn_aborted>",
        "<skills_instructions>",
        "<permissions instructions>",
        "<collaboration_mode>",
        "<subagent_notification>",
        "<user_shell_command>",
        "# AGENTS.md instructions for ",
    ];
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests;
