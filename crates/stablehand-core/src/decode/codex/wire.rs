//! Items as they stand on the line.
//!
//! Both protocols have the same items; one writes their names as `command_execution`, the other as
//! `commandExecution`. Members are looked up in one pass, and a line that was cut is read as far as
//! it goes.

use super::super::kit::unknown_value;
use crate::event::EventKind;
use crate::json::{self, Value};
use crate::line::Line;

/// What sort of item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    /// The prompt, echoed.
    User,
    /// A plan in prose.
    Plan,
    Todos,
    /// Not the end of anything: the agent warns.
    Error,
    Command,
    Patch,
    Mcp,
    /// A tool that the client offers.
    Dynamic,
    /// Work for another agent.
    Collab,
    Search,
    ViewImage,
    MakeImage,
    Sleep,
    ReviewBegins,
    ReviewEnds,
    Compaction,
    /// Known, and nothing to tell.
    Quiet,
    #[default]
    Unknown,
}

impl Kind {
    fn of(word: &[u8]) -> Kind {
        match word {
            b"agent_message" | b"agentMessage" | b"assistant_message" => Kind::Message,
            b"reasoning" => Kind::Reasoning,
            b"user_message" | b"userMessage" => Kind::User,
            b"plan" => Kind::Plan,
            b"todo_list" | b"todoList" => Kind::Todos,
            b"error" => Kind::Error,
            b"command_execution" | b"commandExecution" => Kind::Command,
            b"file_change" | b"fileChange" => Kind::Patch,
            b"mcp_tool_call" | b"mcpToolCall" => Kind::Mcp,
            b"dynamic_tool_call" | b"dynamicToolCall" => Kind::Dynamic,
            b"collab_tool_call" | b"collabToolCall" | b"collabAgentToolCall" => Kind::Collab,
            b"web_search" | b"webSearch" => Kind::Search,
            b"image_view" | b"imageView" => Kind::ViewImage,
            b"image_generation" | b"imageGeneration" => Kind::MakeImage,
            b"sleep" => Kind::Sleep,
            b"entered_review_mode" | b"enteredReviewMode" => Kind::ReviewBegins,
            b"exited_review_mode" | b"exitedReviewMode" => Kind::ReviewEnds,
            b"context_compaction" | b"contextCompaction" => Kind::Compaction,
            b"hook_prompt" | b"hookPrompt" | b"subAgentActivity" | b"sub_agent_activity" => {
                Kind::Quiet
            }
            _ => Kind::Unknown,
        }
    }

    /// Whether an item of this kind says how it ended; without that nothing is known.
    pub(super) fn has_status(self) -> bool {
        matches!(
            self,
            Kind::Command | Kind::Patch | Kind::Mcp | Kind::Dynamic | Kind::Collab | Kind::Unknown
        )
    }
}

/// The members of an item.
#[derive(Debug, Default)]
pub(super) struct Wire<'a> {
    pub(super) kind: Kind,
    /// The agent's word for the kind.
    pub(super) word: &'a [u8],
    /// The agent's id, as it stands between its quotes.
    pub(super) id: &'a [u8],
    /// The same as a value.
    pub(super) call: Option<Value<'a>>,
    pub(super) text: Option<Value<'a>>,
    pub(super) message: Option<Value<'a>>,
    pub(super) status: Option<Value<'a>>,
    pub(super) command: Option<Value<'a>>,
    pub(super) cwd: Option<Value<'a>>,
    pub(super) output: Option<Value<'a>>,
    pub(super) exit_code: Option<Value<'a>>,
    pub(super) duration: Option<Value<'a>>,
    pub(super) changes: Option<Value<'a>>,
    pub(super) server: Option<Value<'a>>,
    pub(super) tool: Option<Value<'a>>,
    pub(super) arguments: Option<Value<'a>>,
    pub(super) result: Option<Value<'a>>,
    pub(super) error: Option<Value<'a>>,
    pub(super) success: Option<Value<'a>>,
    pub(super) content: Option<Value<'a>>,
    pub(super) summary: Option<Value<'a>>,
    pub(super) todos: Option<Value<'a>>,
    pub(super) query: Option<Value<'a>>,
    pub(super) action: Option<Value<'a>>,
    pub(super) path: Option<Value<'a>>,
    pub(super) prompt: Option<Value<'a>>,
    pub(super) receivers: Option<Value<'a>>,
    pub(super) states: Option<Value<'a>>,
}

impl<'a> Wire<'a> {
    /// Reads an item; its end may be cut off. Into what is there: it is large enough for a copy to
    /// show.
    pub(super) fn read(&mut self, item: Value<'a>) {
        let mut members = item.members();
        while let Some(key) = members.key() {
            let Some(value) = members.value().or_else(|| members.rest()) else {
                break;
            };
            if !value.is_null() {
                self.put(key, value);
            }
        }
    }

    /// Reads an item of a rollout, where its kind is called `CommandExecution`.
    pub(super) fn read_stored(&mut self, item: Value<'a>) {
        self.read(item);
        let mut word = self.word.to_vec();
        if let Some(first) = word.first_mut().filter(|_| self.kind == Kind::Unknown) {
            first.make_ascii_lowercase();
            self.kind = Kind::of(&word);
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: Value<'a>) {
        let slot = match key {
            b"type" => {
                self.word = value.raw_str().unwrap_or_default();
                self.kind = Kind::of(self.word);
                return;
            }
            b"id" => {
                self.id = value.raw_str().unwrap_or(value.raw());
                &mut self.call
            }
            b"text" | b"review" => &mut self.text,
            b"message" => &mut self.message,
            b"status" => &mut self.status,
            b"command" => &mut self.command,
            b"cwd" => &mut self.cwd,
            b"aggregated_output" | b"aggregatedOutput" => &mut self.output,
            b"exit_code" | b"exitCode" => &mut self.exit_code,
            b"duration_ms" | b"durationMs" => &mut self.duration,
            b"changes" => &mut self.changes,
            b"server" => &mut self.server,
            b"tool" => &mut self.tool,
            b"arguments" => &mut self.arguments,
            b"result" => &mut self.result,
            b"error" => &mut self.error,
            b"success" => &mut self.success,
            b"content" | b"contentItems" | b"content_items" => &mut self.content,
            b"summary" => &mut self.summary,
            b"items" => &mut self.todos,
            b"query" => &mut self.query,
            b"action" => &mut self.action,
            b"path" | b"savedPath" | b"saved_path" => &mut self.path,
            b"prompt" | b"revisedPrompt" | b"revised_prompt" => &mut self.prompt,
            b"receiver_thread_ids" | b"receiverThreadIds" => &mut self.receivers,
            b"agents_states" | b"agentsStates" => &mut self.states,
            _ => return,
        };
        *slot = Some(value);
    }

    /// Tells of a type or a status that is not known.
    pub(super) fn tell_unknown(&self, line: &Line<'_>, out: &mut Vec<EventKind>) {
        if self.kind == Kind::Unknown {
            unknown_value("item of type", self.word, line, out);
        }
        let status = self.status.and_then(Value::raw_str).unwrap_or_default();
        let is_known = matches!(
            status,
            b"" | b"in_progress"
                | b"inProgress"
                | b"pending"
                | b"pending_init"
                | b"running"
                | b"completed"
                | b"failed"
                | b"error"
                | b"errored"
                | b"declined"
                | b"rejected"
                | b"interrupted"
                | b"cancelled"
                | b"canceled"
                | b"aborted"
        );
        // An image's status is the word of the model's service.
        if !is_known && self.kind != Kind::MakeImage {
            unknown_value("status", status, line, out);
        }
    }

    /// Whether an item of an unknown kind looks like a call.
    pub(super) fn looks_like_a_call(&self) -> bool {
        self.status.is_some() || self.tool.is_some() || self.command.is_some()
    }
}

/// A string, also one that is cut off; `None` for anything else and for nothing.
pub(super) fn said(value: Option<Value<'_>>) -> Option<String> {
    value?.cut_str().filter(|text| !text.is_empty())
}

/// Appends a string, also one that is cut off.
pub(super) fn append(value: Value<'_>, out: &mut Vec<u8>) {
    if !value.append_to(out)
        && let Some(cut) = value.cut_str()
    {
        out.extend_from_slice(cut.as_bytes());
    }
}

/// The texts of a list of strings, or of objects with a `text`, as far as they say something.
fn part_texts<'a>(list: Value<'a>) -> impl Iterator<Item = Value<'a>> {
    let text = |part: Value<'a>| if part.is_object() { part.get("text") } else { Some(part) };
    let says = |text: &Value<'_>| text.raw_str().is_some_and(|text| !text.is_empty());
    list.elements().filter_map(text).filter(says)
}

/// Whether such a list says anything.
pub(super) fn has_parts(list: Value<'_>) -> bool {
    part_texts(list).next().is_some()
}

/// Appends the texts of such a list, with `between` between them.
pub(super) fn append_parts(list: Value<'_>, between: &str, out: &mut Vec<u8>) {
    for (n, text) in part_texts(list).enumerate() {
        if n > 0 {
            out.extend_from_slice(between.as_bytes());
        }
        text.append_to(out);
    }
}

/// The texts of such a list.
pub(super) fn parts(list: Value<'_>, between: &str) -> Option<String> {
    let mut out = Vec::new();
    append_parts(list, between, &mut out);
    (!out.is_empty()).then(|| json::into_text(out))
}
