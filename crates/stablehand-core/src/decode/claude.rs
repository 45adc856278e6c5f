//! Claude Code's `--output-format stream-json --verbose`, and the agents that write the same.
//!
//! Owned here: which line is which, and the turn. What is text and what is its repetition is in
//! `text`; calls in `calls`, `tools`, `table` and `outcome`; the end of a turn in `ending`, and what
//! puts it off in `background`; the
//! two-way protocol in `control`; what the agent says about itself in `system`. What differs
//! between agents is in their [`Flavor`]. A message comes as several lines, one per block, that
//! share its id.

mod background;
mod block;
mod calls;
mod control;
mod dialect;
mod ending;
mod fields;
mod flavor;
mod hook;
mod outcome;
mod proposal;
mod speak;
mod spent;
mod system;
mod table;
mod text;
mod tools;
mod transcript;

use super::failure::failure_of;
use super::kit::{self, LineType};
use super::{Decode, Depth};
use crate::event::{EventKind, Item, ItemBody, NoticeLevel, TextRole, TurnEnd, Unrecognized};
use crate::id::{CallId, SessionId};
use crate::json::{self, Object, Scan, Value};
use crate::line::{Line, Part};
use crate::text::{excerpt, plain};
use background::Background;
use block::{Block, Message};
use calls::{Beside, Calls};
use ending::RequestError;
use fields::Fields;
use hook::ClaudeHooks;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use spent::Spent;
use system::Told;
use text::{Ids, Sink, Texts};
use transcript::ClaudeTranscript;

pub use speak::ClaudeSpeaker;

pub(super) use calls::call;
pub(super) use dialect::ClaudeDialect;
pub(super) use flavor::Flavor;
pub(super) use table::{Reads, Row, row};

/// How many characters of a line that was not understood are shown.
const EXCERPT: usize = 200;

/// How large the buffer for the text of one line may stay.
const SCRATCH: usize = 256 << 10;

/// Reads Claude Code's stream.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClaudeDecoder {
    #[serde(skip, default = "flavor::claude")]
    flavor: &'static Flavor,
    ids: Ids,
    texts: Texts,
    calls: Calls,
    background: Background,
    /// The session id as it stands on the line, to compare without unescaping.
    #[serde(with = "crate::saved::bytes")]
    session: Vec<u8>,
    in_turn: bool,
    /// The agent said that somebody interrupted it.
    interrupted: bool,
    /// The request that failed for good in this turn.
    error: Option<RequestError>,
    /// The running total of the cost.
    cost: f64,
    spent: Spent,
    /// A word of the line at hand that is not known, and what it stands for.
    #[serde(skip)]
    strange: Option<(&'static str, Vec<u8>)>,
    #[serde(skip)]
    last_type: LineType,
    /// Text of the block at hand; kept to be used again.
    #[serde(skip)]
    scratch: Vec<u8>,
}

impl Default for ClaudeDecoder {
    fn default() -> Self {
        Self::of(&flavor::CLAUDE)
    }
}

impl Decode for ClaudeDecoder {
    fn line(&mut self, line: &Line<'_>, scan: &Scan<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        match (line.part, scan) {
            (Part::Whole, Scan::Object(object)) => self.object(object, line, depth, out),
            (Part::Whole, Scan::Scalar) => {
                self.last_type.set("");
                unrecognized(Unrecognized::NotAnObject, line.bytes, out);
            }
            (Part::Whole, Scan::Text | Scan::Binary) => self.plain_text(line, out),
            (Part::First, _) => self.beginning(line, depth, out),
            (Part::Middle | Part::Last, _) => {}
        }
    }

    fn finish(&mut self, depth: Depth, out: &mut Vec<EventKind>) {
        self.texts.end(&mut Sink { ids: &mut self.ids, depth, out });
        if self.background.finish(out) {
            self.in_turn = false;
        }
    }

    fn last_type(&self) -> &str {
        self.last_type.as_str()
    }

    fn save(&self) -> Option<Box<RawValue>> {
        to_raw_value(self).ok()
    }
}

impl ClaudeDecoder {
    /// A decoder for an agent that writes the same stream.
    pub(super) fn of(flavor: &'static Flavor) -> Self {
        ClaudeDecoder {
            flavor,
            ids: Ids::default(),
            texts: Texts::default(),
            calls: Calls::default(),
            background: Background::default(),
            session: Vec::new(),
            in_turn: false,
            interrupted: false,
            error: None,
            cost: 0.0,
            spent: Spent::default(),
            strange: None,
            last_type: LineType::default(),
            scratch: Vec::new(),
        }
    }

    /// The same decoder for an agent that writes the same stream.
    pub(super) fn with(self, flavor: &'static Flavor) -> Self {
        ClaudeDecoder { flavor, ..self }
    }

    /// A line that is too long to be held: what it is shows at its beginning.
    fn beginning(&mut self, line: &Line<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        if let Some(object) = json::scan_prefix(line.bytes) {
            return self.object(&object, line, depth, out);
        }
        self.last_type.set("");
        let why = match line.bytes.trim_ascii_start().first() {
            Some(b'{') => Unrecognized::Oversized,
            _ => Unrecognized::Noise,
        };
        unrecognized(why, line.bytes, out);
    }

    fn object(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let fields = Fields::read(object, line.part == Part::First);
        self.name_session(&fields, out);
        match fields.kind {
            b"stream_event" => self.stream_event(&fields, line, depth, out),
            b"assistant" => {
                self.last_type.set("assistant");
                if !self.assistant(&fields, depth, out) {
                    unrecognized(Unrecognized::BadShape, line.bytes, out);
                }
                let id = fields.message.and_then(|message| Message::read(Some(message)).id);
                out.extend(self.spent.line(fields.message, id));
            }
            b"user" => {
                self.last_type.set("user");
                if !self.user(&fields, depth, out) {
                    unrecognized(Unrecognized::BadShape, line.bytes, out);
                }
            }
            b"system" => {
                self.last_type.join(b"system", fields.subtype);
                self.system(&fields, depth, out);
            }
            b"result" => {
                self.last_type.join(b"result", fields.subtype);
                self.result(&fields, depth, out);
            }
            b"control_request" => {
                let request = fields.get("request").and_then(|request| request.get("subtype"));
                let subtype = request.and_then(Value::raw_str).unwrap_or_default();
                self.last_type.join(b"control_request", subtype);
                let table = self.flavor.tools;
                match control::request(&fields, table, &mut self.calls, depth) {
                    Ok(event) => out.push(event),
                    Err(told) => self.tell(told, out),
                }
            }
            b"control_response" => {
                self.last_type.set("control_response");
                let told = control::response(&fields);
                self.tell(told, out);
            }
            b"control_cancel_request" => {
                self.last_type.set("control_cancel_request");
                let id = fields.get("request_id").and_then(Value::string).unwrap_or_default();
                if self.calls.withdrawn(&id) {
                    out.push(EventKind::resolved(id, "cancelled", "agent"));
                }
            }
            kind => {
                self.last_type.join(kind, fields.subtype);
                match (system::aside(&fields), line.part) {
                    (Some(told), _) => self.tell(told, out),
                    (None, Part::Whole) => {
                        unrecognized(Unrecognized::UnknownType, line.bytes, out);
                    }
                    (None, _) => unrecognized(Unrecognized::Oversized, line.bytes, out),
                }
            }
        }
        if let Some((what, word)) = self.strange.take() {
            kit::unknown_value(what, &word, line, out);
        }
    }

    /// Emits `session.started` where the id is new. Hooks may report before the first line that has
    /// all there is to say about the session, so they do not name it.
    fn name_session(&mut self, fields: &Fields<'_, '_>, out: &mut Vec<EventKind>) {
        let Some(raw) = fields.session.and_then(Value::raw_str) else {
            return;
        };
        let is_early = fields.kind == b"system" && fields.subtype != b"init";
        if raw == self.session || raw.is_empty() || is_early {
            return;
        }
        self.session.clear();
        self.session.extend_from_slice(raw);
        let said = |key| {
            let text = fields.get(key).and_then(Value::string);
            text.filter(|text| !text.is_empty())
        };
        out.push(EventKind::SessionStarted {
            agent: self.flavor.agent.to_owned(),
            agent_version: said(self.flavor.version),
            native_id: SessionId(fields.session.and_then(Value::string).unwrap_or_default()),
            model: said("model"),
            cwd: said("cwd"),
            resumed_from: None,
        });
    }

    /// A turn is on, even where no prompt was echoed.
    fn turn_is_on(&mut self, out: &mut Vec<EventKind>) {
        if !self.in_turn {
            self.in_turn = true;
            self.interrupted = false;
            self.error = None;
            self.background.woke();
            out.push(EventKind::TurnStarted { prompt: None, by: None });
        }
    }

    /// Returns true for what an agent in the background says or does after the result of the main one:
    /// it does not wake that one.
    fn is_of_background(&self, fields: &Fields<'_, '_>) -> bool {
        fields.parent.is_some() && self.background.holds_result()
    }

    fn stream_event(
        &mut self,
        fields: &Fields<'_, '_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let event = fields.event.unwrap_or(Value::new(b"{}"));
        let mut kind: &[u8] = b"";
        let mut index = 0;
        let (mut held, mut used) = (None, None);
        for (key, value) in event.members() {
            match key {
                b"type" => kind = value.raw_str().unwrap_or_default(),
                b"index" => index = value.u64().unwrap_or(0),
                b"delta" | b"content_block" | b"message" | b"error" => held = Some(value),
                b"usage" => used = Some(value),
                _ => {}
            }
        }
        self.last_type.join(b"stream_event", kind);
        if fields.parent.is_some() {
            return; // What sub-agents say comes whole.
        }
        match kind {
            b"message_start" => {
                self.turn_is_on(out);
                if let Some(message) = held {
                    self.spent.begins(message);
                }
                self.texts.again(&mut Sink { ids: &mut self.ids, depth, out });
            }
            b"content_block_start" | b"content_block_delta" => {
                if let Some(held) = held {
                    self.piece(&Block::read(held), index, depth, out);
                }
            }
            b"content_block_stop" => self.texts.stop(),
            b"message_stop" => self.texts.message_ended(),
            b"message_delta" => out.extend(used.and_then(|used| self.spent.grows(used))),
            b"error" => {
                let words = held.and_then(|error| tools::first(error, &["message", "type"]));
                let text = words.unwrap_or_else(|| excerpt(line.bytes, EXCERPT));
                self.notice(NoticeLevel::Warning, format!("the model's stream: {text}"), out);
            }
            // Qwen Code tells its goal in the stream, and tells none.
            b"ping" | b"goal_state" => {}
            other => self.strange = Some(("stream event", other.to_vec())),
        }
    }

    /// A piece of a block, or its beginning, which may hold text already.
    fn piece(&mut self, block: &Block<'_>, index: u64, depth: Depth, out: &mut Vec<EventKind>) {
        let role = match block.kind {
            b"text_delta" | b"text" => TextRole::Message,
            b"thinking_delta" | b"thinking" => TextRole::Reasoning,
            kind => return self.check_block(kind),
        };
        self.scratch.clear();
        if block.text.is_some_and(|text| text.append_to(&mut self.scratch)) {
            self.turn_is_on(out);
            let mut sink = Sink { ids: &mut self.ids, depth, out };
            self.texts.piece(role, index, &self.scratch, &mut sink);
        }
    }

    /// False where there is no message.
    fn assistant(
        &mut self,
        fields: &Fields<'_, '_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) -> bool {
        let message = Message::read(fields.message);
        let is_cut = flavor::says_something(fields.get("aborted"));
        let mut is_error = flavor::says_something(fields.get("is_api_error_message"))
            || flavor::says_something(fields.get("isApiErrorMessage"))
            || flavor::says_something(fields.get("error"));
        if !self.is_of_background(fields) {
            self.turn_is_on(out);
        }
        for block in message.blocks() {
            if block.begins_call() || block.ends_call() {
                self.check_block(block.kind);
            }
            if block.begins_call() {
                let mut sink = Sink { ids: &mut self.ids, depth, out };
                if fields.parent.is_none() {
                    self.texts.boundary(&mut sink);
                }
                self.calls.started(self.flavor, &block, message.id, &mut sink);
                continue;
            }
            if block.ends_call() {
                let mut sink = Sink { ids: &mut self.ids, depth, out };
                self.calls.completed(self.flavor, &block, Beside::default(), &mut sink);
                continue;
            }
            let role = match block.kind {
                b"text" => TextRole::Message,
                b"thinking" => TextRole::Reasoning,
                kind => {
                    self.check_block(kind);
                    continue;
                }
            };
            let Some(text) = block.text.filter(|text| text.raw() != b"\"\"") else {
                continue;
            };
            is_error |= role == TextRole::Message
                && text.raw_str().is_some_and(|text| (self.flavor.is_failure_text)(text));
            let is_whole = text.raw_str().is_some();
            if depth == Depth::Full || is_error || self.texts.is_waiting() || !is_whole {
                self.take_text(text);
            } else {
                // Nobody will read it; that there is some is enough.
                self.scratch.clear();
                self.scratch.push(b'.');
            }
            if is_error {
                self.error = Some(RequestError::read(fields));
                let text = json::text(&self.scratch);
                self.notice(NoticeLevel::Error, text, out);
            } else if let Some(parent) = fields.parent {
                self.sub_agent_says(parent, role, depth, out);
            } else {
                let mut sink = Sink { ids: &mut self.ids, depth, out };
                self.texts.whole(role, &mut self.scratch, is_cut, &mut sink);
            }
            self.scratch.clear();
            self.scratch.shrink_to(SCRATCH);
        }
        fields.message.is_some()
    }

    /// Remembers the type of a block, or of a piece of one, that is not known.
    fn check_block(&mut self, kind: &[u8]) {
        if !block::is_known(kind) {
            self.strange = Some(("content block", kind.to_vec()));
        }
    }

    /// The words of a sub-agent are output of the call that it works for.
    fn sub_agent_says(
        &self,
        parent: Value<'_>,
        role: TextRole,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let item = parent.str().and_then(|id| self.calls.item(&id));
        if let Some(id) = item.filter(|_| role == TextRole::Message) {
            let text = match depth {
                Depth::Skim => String::new(),
                Depth::Full => json::text(&self.scratch),
            };
            out.push(EventKind::ItemDelta { id, role: TextRole::ToolOutput, text });
        }
    }

    /// Results of calls, prompts, and what the agent tells the model in the user's name. False
    /// where there is no message.
    fn user(&mut self, fields: &Fields<'_, '_>, depth: Depth, out: &mut Vec<EventKind>) -> bool {
        let message = Message::read(fields.message);
        let ended = message.calls_ended();
        if ended > 0 {
            let detail = fields.get("tool_use_result").filter(|_| ended == 1);
            let beside = Beside { detail, meta: fields.get("tool_result_meta"), own: None };
            if !self.is_of_background(fields) {
                self.turn_is_on(out);
            }
            let mut sink = Sink { ids: &mut self.ids, depth, out };
            if fields.parent.is_none() {
                self.texts.boundary(&mut sink);
            }
            for block in message.blocks().filter(Block::ends_call) {
                if !block::is_known(block.kind) {
                    self.strange = Some(("content block", block.kind.to_vec()));
                }
                self.calls.completed(self.flavor, &block, beside, &mut sink);
            }
            return true;
        }
        if fields.parent.is_some() {
            return true; // The task of a sub-agent, which its call has.
        }
        let mut words = Vec::new();
        for block in message.blocks() {
            self.check_block(block.kind);
            if let Some(text) = block.text {
                self.take_text(text);
                words.extend_from_slice(&self.scratch);
            }
        }
        let text = String::from_utf8_lossy(&words);
        if text.starts_with("[Request interrupted by user") {
            self.interrupted = true;
            self.notice(NoticeLevel::Info, text.into_owned(), out);
        } else if flavor::says_something(fields.get("isReplay"))
            || !(self.in_turn || flavor::says_something(fields.get("isSynthetic")))
        {
            self.turn_is_on(&mut Vec::new());
            let prompt = Some(text.into_owned()).filter(|_| depth == Depth::Full);
            out.push(EventKind::TurnStarted { prompt, by: None });
        } else if !text.is_empty() {
            self.notice(NoticeLevel::Info, text.into_owned(), out);
        }
        fields.message.is_some()
    }

    fn system(&mut self, fields: &Fields<'_, '_>, depth: Depth, out: &mut Vec<EventKind>) {
        match fields.subtype {
            // It comes again with every prompt that is taken up.
            b"init" => self.turn_is_on(out),
            b"api_retry" | b"retry" => {
                self.turn_is_on(out);
                self.texts.again(&mut Sink { ids: &mut self.ids, depth, out });
                self.tell(system::retry(fields), out);
            }
            b"background_tasks_changed" => {
                self.background.changed(fields, &mut Sink { ids: &mut self.ids, depth, out });
            }
            b"permission_denied" => {
                let say = |key| fields.get(key).and_then(Value::string).unwrap_or_default();
                let (id, what) = (say("tool_use_id"), say("message"));
                self.calls.denied(&id, &what);
                // Nobody can be asked: the agent has answered itself.
                let (what, options) = (tools::cut(what), Vec::new());
                let call = Some(CallId(id.clone()));
                out.push(EventKind::ApprovalRequested {
                    id: id.clone(),
                    call,
                    what,
                    options,
                    tool: None,
                    why: None,
                    waits: false,
                });
                out.push(EventKind::resolved(id, "deny", "agent"));
            }
            _ => self.tell(system::system(fields), out),
        }
    }

    fn result(&mut self, fields: &Fields<'_, '_>, depth: Depth, out: &mut Vec<EventKind>) {
        let end = ending::turn_end(fields, fields.subtype, self.interrupted, self.error.take());
        let mut sink = Sink { ids: &mut self.ids, depth, out };
        self.texts.end(&mut sink);
        if end != TurnEnd::Done {
            self.calls.broken_off(&mut sink);
        }
        self.interrupted = false;
        self.spent.clear();
        if !ending::is_known(fields.subtype) {
            self.strange = Some(("subtype", fields.subtype.to_vec()));
        }
        if let Some(why) = ending::limit(fields, &end) {
            self.notice(NoticeLevel::Warning, why, out);
        }
        let text = match (depth, &end) {
            // The words of a failure are in its message.
            (Depth::Skim, _) | (_, TurnEnd::Failed { .. }) => None,
            (Depth::Full, _) => fields.get("result").and_then(Value::cut_str),
        };
        let usage = ending::usage(fields, &mut self.cost);
        let duration_ms = fields.get("duration_ms").and_then(Value::u64);
        self.in_turn = false;
        if self.background.is_early(&end, text.as_ref()) {
            out.push(EventKind::TurnResult { end, text, usage, duration_ms });
            return;
        }
        self.background.end(out);
        out.push(EventKind::TurnEnded { end, text, usage, duration_ms });
    }

    /// Takes the text of a block, also where its end is cut off.
    fn take_text(&mut self, text: Value<'_>) {
        self.scratch.clear();
        if !text.append_to(&mut self.scratch) {
            let cut = text.cut_str().unwrap_or_default();
            self.scratch.extend_from_slice(cut.as_bytes());
        }
    }

    fn tell(&mut self, told: Told, out: &mut Vec<EventKind>) {
        match told {
            Told::Nothing => {}
            Told::Notice(level, text) => self.notice(level, text, out),
            Told::Retry { attempt, detail } => {
                out.push(EventKind::RetryScheduled { attempt, detail });
            }
            Told::Strange { what, word, text } => {
                self.strange = Some((what, word));
                if let Some(text) = text {
                    self.notice(NoticeLevel::Info, text, out);
                }
            }
        }
    }

    fn notice(&mut self, level: NoticeLevel, text: String, out: &mut Vec<EventKind>) {
        let body = ItemBody::Notice { level, text: tools::cut(text) };
        out.push(EventKind::ItemCompleted { item: Item { id: self.ids.next(), body } });
    }

    /// A line that is not JSON; an error has a meaning.
    fn plain_text(&mut self, line: &Line<'_>, out: &mut Vec<EventKind>) {
        self.last_type.set("");
        let bytes = line.bytes.trim_ascii();
        if bytes.is_empty() {
            return;
        }
        if !line.newline && bytes.first() == Some(&b'{') {
            return unrecognized(Unrecognized::Torn, line.bytes, out);
        }
        unrecognized(Unrecognized::Noise, line.bytes, out);
        let text = String::from_utf8_lossy(bytes.get(..4096).unwrap_or(bytes));
        if failure_of(&text).is_some() {
            self.notice(NoticeLevel::Error, plain(&text), out);
        }
    }
}

fn unrecognized(why: Unrecognized, bytes: &[u8], out: &mut Vec<EventKind>) {
    let excerpt = excerpt(bytes, EXCERPT);
    out.push(EventKind::Unrecognized { why, excerpt });
}

#[cfg(test)]
mod tests;
