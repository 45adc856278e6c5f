//! Claude Code's stream, as `claude -p --output-format stream-json --verbose` writes it.
//!
//! One block of content a line; the lines of one answer share the message's id. With partial
//! messages the service's own events come too, and the whole line of a block before its end. A
//! failed request is a made-up answer and a `success` that `is_error`. The result's `type` is near
//! its end. Calls and questions are in `claude/calls.rs`, the result in `claude/result.rs`.

mod calls;
mod result;

use super::{Pending, Said, Speak};
use crate::act::{Act, Call, Ending, Trouble};
use crate::json::{Json, NULL, list, object};
use crate::voice::Voice;
use calls::Open;

pub(crate) use calls::given;
use serde_json::json;

/// The version whose shapes these are.
const VERSION: &str = "2.1.325";

/// The model of whoever names none.
const MODEL: &str = "claude-opus-5-5";

/// So often a request is tried again.
const RETRIES: u32 = 10;

#[derive(Debug, Default)]
pub(super) struct Claude {
    pending: Pending,
    /// The answer of the model that is on.
    answer: Option<Answer>,
    /// Calls without their results.
    open: Vec<Open>,
    /// Calls that were refused in this turn, for the result.
    denials: Vec<Json>,
    /// The last message.
    said: String,
    /// How many answers and results the turn has had.
    rounds: u64,
    /// How many turns have ended in this process.
    results: u64,
    /// What the process has cost so far.
    cost_usd: f64,
    exit_code: u8,
}

/// One answer of the model: one request to the service.
#[derive(Debug)]
struct Answer {
    id: String,
    request: String,
    /// How many blocks it has had.
    blocks: u64,
    /// The kind of the block whose pieces are coming.
    block: Option<&'static str>,
}

impl Speak for Claude {
    fn speak(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        self.flush_before(act, voice, said);
        match act {
            Act::Begins(session) => {
                if let Some(session) = session {
                    session.clone_into(&mut voice.id.session);
                }
                said.line(init(voice));
            }
            Act::ThoughtPiece(text) => {
                self.pending.think(text);
                let delta = object! { "type": "thinking_delta", "thinking": text };
                self.piece("thinking", delta, voice, said);
            }
            Act::ThoughtEnds => self.tell_thought(voice, said),
            Act::Piece(text) => {
                self.pending.say(text);
                let delta = object! { "type": "text_delta", "text": text };
                self.piece("text", delta, voice, said);
            }
            Act::Message(text, _) => {
                self.pending.message();
                self.tell_message(text, voice, said);
            }
            Act::ToolBegins(call) => self.call_begins(call, voice, said),
            Act::ToolEnds(call, ending) => self.call_ends(call, ending, voice, said),
            Act::Plan(todos) => self.plan(todos, voice, said),
            Act::Retries { attempt, trouble } => said.line(object! {
                "type": "system", "subtype": "api_retry", "attempt": *attempt,
                "max_retries": RETRIES, "retry_delay_ms": 500u64 << (*attempt).min(6),
                "error_status": status(*trouble), "error": retry_word(*trouble),
                "session_id": &voice.id.session, "uuid": voice.uuid(),
            }),
            Act::Uses { input, output } => {
                voice.used.input = *input;
                voice.used.output = *output;
            }
            Act::Fails(trouble) => self.fail(*trouble, voice, said),
            Act::Ends { text, failed } => {
                self.close_answer("end_turn", voice, said);
                let text = text.clone().unwrap_or_else(|| std::mem::take(&mut self.said));
                self.result(&result::End::Said { text, failed: *failed }, voice, said);
            }
            // The prompt is not echoed in print mode.
            Act::Prompt(_) | Act::Cursor(_) => {}
        }
    }

    fn ask(&mut self, call: &Call, voice: &mut Voice, said: &mut Said) -> Option<String> {
        self.call_begins(call, voice, said);
        self.question(call, voice, said)
    }

    fn native(&self, id: &str) -> Option<String> {
        self.open.iter().find(|open| open.id == id).map(|open| open.native.clone())
    }

    fn question(&mut self, call: &Call, voice: &mut Voice, said: &mut Said) -> Option<String> {
        if !voice.id.asks {
            return None;
        }
        let id = voice.uuid();
        said.line(self.question_line(&id, call));
        Some(id)
    }

    fn interrupted(&mut self, voice: &mut Voice, said: &mut Said) {
        let was_in_tool = self.break_off_calls(voice, said);
        if let Some(text) = self.pending.message() {
            let block = object! { "type": "text", "text": text };
            let line = self.block_line(block, voice).with("aborted", true);
            said.line(line);
        }
        self.pending.thought();
        let text = if was_in_tool {
            "[Request interrupted by user for tool use]"
        } else {
            "[Request interrupted by user]"
        };
        let content = list![object! { "type": "text", "text": text }];
        let message = object! { "role": "user", "content": content };
        said.line(object! {
            "type": "user", "message": message, "parent_tool_use_id": NULL,
            "session_id": &voice.id.session, "uuid": voice.uuid(), "timestamp": voice.stamp(),
        });
        self.answer = None;
        self.result(&result::End::Interrupted { in_tool: was_in_tool }, voice, said);
    }

    fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl Claude {
    fn flush_before(&mut self, act: &Act, voice: &mut Voice, said: &mut Said) {
        if !matches!(act, Act::ThoughtPiece(_) | Act::ThoughtEnds) {
            self.tell_thought(voice, said);
        }
        if !matches!(act, Act::Piece(_) | Act::Message(..))
            && let Some(text) = self.pending.message()
        {
            self.tell_message(&text, voice, said);
        }
    }

    fn tell_thought(&mut self, voice: &mut Voice, said: &mut Said) {
        if let Some(text) = self.pending.thought() {
            let block = object! { "type": "thinking", "thinking": text, "signature": "ZmFrZQ==" };
            let line = self.block_line(block, voice);
            self.tell_block(line, voice, said);
        }
    }

    fn tell_message(&mut self, text: &str, voice: &mut Voice, said: &mut Said) {
        text.clone_into(&mut self.said);
        let line = self.block_line(object! { "type": "text", "text": text }, voice);
        self.tell_block(line, voice, said);
    }

    /// A whole block; where its pieces were told, its end comes behind it.
    fn tell_block(&mut self, line: Json, voice: &mut Voice, said: &mut Said) {
        said.line(line);
        let Some(answer) = &mut self.answer else {
            return;
        };
        let index = answer.blocks;
        answer.blocks += 1;
        if answer.block.take().is_some() {
            let event = object! { "type": "content_block_stop", "index": index };
            said.line(self.event(event, voice));
        }
    }

    /// A piece of a block, where they are told at all.
    fn piece(&mut self, kind: &'static str, delta: Json, voice: &mut Voice, said: &mut Said) {
        if !voice.id.partial {
            return;
        }
        let empty = match kind {
            "thinking" => object! { "type": "thinking", "thinking": "", "signature": "" },
            _ => object! { "type": "text", "text": "" },
        };
        self.piece_of(kind, empty, delta, voice, said);
    }

    /// A piece of a block; where it is the first, the block begins as `empty`.
    fn piece_of(
        &mut self,
        kind: &'static str,
        empty: Json,
        delta: Json,
        voice: &mut Voice,
        said: &mut Said,
    ) {
        if self.answer.is_none() {
            said.line(object! {
                "type": "system", "subtype": "status", "status": "requesting",
                "session_id": &voice.id.session, "uuid": voice.uuid(),
            });
            let message = self.message(list![], voice);
            said.line(self.event(object! { "type": "message_start", "message": message }, voice));
        }
        let answer = self.answer(voice);
        let index = answer.blocks;
        if answer.block.replace(kind).is_none() {
            let event =
                object! { "type": "content_block_start", "index": index, "content_block": empty };
            said.line(self.event(event, voice));
        }
        let event = object! { "type": "content_block_delta", "index": index, "delta": delta };
        said.line(self.event(event, voice));
    }

    /// The model's answer is over: with the turn, or because the results of its tools come.
    fn close_answer(&mut self, reason: &str, voice: &mut Voice, said: &mut Said) {
        if self.answer.is_some() {
            self.rounds += 1;
        }
        if voice.id.partial && self.answer.as_ref().is_some_and(|answer| answer.blocks > 0) {
            let delta = object! { "stop_reason": reason, "stop_sequence": NULL };
            let usage = usage(voice.used.input, voice.used.output);
            let event = object! { "type": "message_delta", "delta": delta, "usage": usage };
            said.line(self.event(event, voice));
            said.line(self.event(object! { "type": "message_stop" }, voice));
        }
        self.answer = None;
    }

    /// The answer that is on; a new one where none is.
    fn answer(&mut self, voice: &mut Voice) -> &mut Answer {
        self.answer.get_or_insert_with(|| {
            let token = voice.token();
            Answer {
                id: format!("msg_{token}"),
                request: format!("req_{token}"),
                blocks: 0,
                block: None,
            }
        })
    }

    fn message(&mut self, content: Json, voice: &mut Voice) -> Json {
        let id = self.answer(voice).id.clone();
        object! {
            "id": id, "type": "message", "role": "assistant", "model": model(voice),
            "content": content, "stop_reason": NULL, "stop_sequence": NULL,
            "usage": usage(voice.used.input, 1),
        }
    }

    /// An `assistant` line with one block.
    fn block_line(&mut self, block: Json, voice: &mut Voice) -> Json {
        let message = self.message(list![block], voice).with("context_management", NULL);
        let request = self.answer(voice).request.clone();
        object! {
            "type": "assistant", "message": message, "parent_tool_use_id": NULL,
            "session_id": &voice.id.session, "uuid": voice.uuid(), "timestamp": voice.stamp(),
            "request_id": request,
        }
    }

    /// An event of the service, as partial messages tell it.
    fn event(&mut self, event: Json, voice: &mut Voice) -> Json {
        let message = self.answer(voice).id.clone();
        object! {
            "type": "stream_event", "event": event, "session_id": &voice.id.session,
            "parent_tool_use_id": NULL, "uuid": voice.uuid(), "api_message_id": message,
        }
    }

    /// A failed request: a made-up answer, then a result that says so.
    fn fail(&mut self, trouble: Trouble, voice: &mut Voice, said: &mut Said) {
        let (words, error, kind) = failure(trouble);
        let usage = object! {
            "output_tokens_details": NULL, "input_tokens": 0, "output_tokens": 0,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        };
        let message = object! {
            "diagnostics": NULL, "id": voice.uuid(), "container": NULL, "model": "<synthetic>",
            "role": "assistant", "stop_details": NULL, "stop_reason": "stop_sequence",
            "stop_sequence": "", "type": "message", "usage": usage,
            "content": list![object! { "type": "text", "text": words }],
            "context_management": NULL,
        };
        said.line(object! {
            "type": "assistant", "message": message, "parent_tool_use_id": NULL,
            "session_id": &voice.id.session, "uuid": voice.uuid(), "timestamp": voice.stamp(),
            "error": error, "request_id": format!("req_{}", voice.token()),
            "is_api_error_message": true, "api_error_status": status(trouble),
            "api_error_type": kind,
        });
        self.answer = None;
        self.result(&result::End::Failed { words, status: status(trouble), kind }, voice, said);
    }
}

fn model(voice: &Voice) -> &str {
    voice.id.model.as_deref().unwrap_or(MODEL)
}

fn usage(input: u64, output: u64) -> Json {
    object! {
        "input_tokens": input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": output,
    }
}

fn init(voice: &mut Voice) -> Json {
    object! {
        "type": "system", "subtype": "init", "cwd": &voice.id.cwd,
        "session_id": &voice.id.session,
        "tools": json!(["Task", "Bash", "Edit", "Read", "TodoWrite", "WebFetch", "Write"]),
        "mcp_servers": list![], "model": model(voice),
        "permissionMode": if voice.id.asks { "default" } else { "bypassPermissions" },
        "slash_commands": json!(["clear", "compact"]), "apiKeySource": "ANTHROPIC_API_KEY",
        "claude_code_version": VERSION, "output_style": "default",
        "agents": json!(["Explore", "general-purpose", "Plan"]), "skills": list![],
        "plugins": list![], "uuid": voice.uuid(), "fast_mode_state": "off",
    }
}

fn status(trouble: Trouble) -> u32 {
    match trouble {
        Trouble::Auth => 401,
        Trouble::RateLimit => 429,
        Trouble::Overloaded => 529,
        Trouble::ContextLength => 400,
        Trouble::Server => 500,
    }
}

fn retry_word(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Auth => "authentication_failed",
        Trouble::RateLimit => "rate_limit",
        Trouble::Overloaded => "overloaded",
        Trouble::ContextLength => "invalid_request",
        Trouble::Server => "server_error",
    }
}

/// The words of a failed request, its class, and the service's type of error.
fn failure(trouble: Trouble) -> (&'static str, &'static str, &'static str) {
    match trouble {
        Trouble::Auth => (
            "Invalid API key · Fix external API key",
            "authentication_failed",
            "authentication_error",
        ),
        Trouble::RateLimit => {
            ("API Error: Request rejected (429) · Rate limited", "rate_limit", "rate_limit_error")
        }
        Trouble::Overloaded => (
            "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.",
            "server_error",
            "overloaded_error",
        ),
        Trouble::ContextLength => {
            ("Prompt is too long", "invalid_request", "invalid_request_error")
        }
        Trouble::Server => ("API Error: 500 Internal server error", "server_error", "api_error"),
    }
}
