//! The transcripts of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`.
//!
//! Lines are much like those of its stream, and blocks, calls and texts are read by the same code.
//! Owned here: what differs. There is no result, so a turn ends with the last answer of the model that
//! asks for no tool; what was used is told with every line of an answer; side chains (sub-agents) are
//! in the same file, or in files of their own that hold nothing else; and between the lines of the
//! conversation stands what the agent keeps for itself.

use super::super::kit::cut;
use super::super::transcript::{
    Beside as Place, DEPTH, Entries, Entry, Front, Timed, TranscriptFiles, TranscriptForm, said,
    time,
};
use super::block::{Block, Message};
use super::calls::Beside;
use super::ending;
use super::fields::Fields;
use super::flavor::{CLAUDE, Flavor};
use super::system;
use super::text::Sink;
use super::{ClaudeDecoder, RequestError, unrecognized};
use crate::event::{EventKind, Item, ItemBody, NoticeLevel, Tokens, TurnEnd, Unrecognized, Usage};
use crate::json::Value;
use crate::line::Part;
use crate::time::UnixMillis;

/// `<folder>/<session>.jsonl`, and `<folder>/<session>/subagents/agent-<id>.jsonl`.
pub(in crate::decode) const FILES: TranscriptFiles = TranscriptFiles {
    form: |name| name.strip_suffix(".jsonl").is_some().then_some(TranscriptForm::Lines),
    workspace: None,
};

/// Reads a transcript of Claude Code.
#[derive(Debug)]
pub(in crate::decode) struct ClaudeTranscript {
    front: Front,
    decoder: ClaudeDecoder,
    /// Whether the whole file is a side chain; known with its first line of conversation.
    is_side: Option<bool>,
    /// The turn may be over since then, in this way.
    rest: Option<(UnixMillis, TurnEnd)>,
    /// How long the agent says that the turn took.
    duration_ms: Option<u64>,
    used: Used,
    /// How good the title is: one that a person gave beats one that was made up.
    title_rank: u8,
}

/// What a turn used. Every line of one answer tells it for the whole answer.
#[derive(Debug, Default)]
struct Used {
    sum: Option<Tokens>,
    answer: Vec<u8>,
    of_answer: Option<Tokens>,
    cost: f64,
    cost_told: f64,
}

impl Used {
    fn answered(&mut self, id: &[u8], tokens: Option<Tokens>) {
        if id != self.answer {
            self.close_answer();
            self.answer.clear();
            self.answer.extend_from_slice(id);
        }
        self.of_answer = tokens.or(self.of_answer);
    }

    fn close_answer(&mut self) {
        if let Some(more) = self.of_answer.take() {
            let sum = self.sum.get_or_insert_default();
            sum.input = sum.input.saturating_add(more.input);
            sum.output = sum.output.saturating_add(more.output);
            sum.cache_read = sum.cache_read.saturating_add(more.cache_read);
            sum.cache_write = sum.cache_write.saturating_add(more.cache_write);
            sum.reasoning = sum.reasoning.saturating_add(more.reasoning);
        }
    }

    fn take(&mut self) -> Option<Usage> {
        self.close_answer();
        let mut sum = self.sum.take()?;
        if self.cost > self.cost_told {
            sum.cost_usd = Some(self.cost - self.cost_told);
        }
        self.cost_told = self.cost;
        Some(Usage::Turn(sum))
    }
}

impl Entries for ClaudeTranscript {
    fn front(&self) -> &Front {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.front
    }

    fn entry(&mut self, entry: &Entry<'_, '_>, out: &mut Vec<Timed>) {
        let at = self.front.at(time(entry.get("timestamp")));
        self.learn(entry);
        let mut kinds = Vec::new();
        match entry.word("type") {
            b"assistant" => self.assistant(at, entry, out),
            b"user" => self.user(at, entry, out),
            b"system" => self.system(at, entry, out),
            b"attachment" => self.attachment(entry, &mut kinds),
            b"cost-state" => {
                let cost = entry.get("totalCostUSD").and_then(Value::f64);
                self.used.cost = cost.filter(|cost| cost.is_finite()).unwrap_or(self.used.cost);
            }
            b"summary" => self.title(1, entry.said("summary")),
            b"ai-title" => self.title(2, entry.said("aiTitle").or_else(|| entry.said("title"))),
            b"custom-title" => {
                self.title(3, entry.said("customTitle").or_else(|| entry.said("title")));
            }
            kind if is_bookkeeping(kind) => {}
            _ => self.front.unknown(entry.line, out),
        }
        if self.decoder.strange.take().is_some() {
            self.front.unknown(entry.line, out);
        }
        self.front.tell(at, kinds, out);
    }

    fn close(&mut self, out: &mut Vec<Timed>) {
        self.end_turn(out);
        let at = self.front.at(None);
        if let Some(usage) = self.used.take() {
            self.front.tell(at, [EventKind::UsageUpdated { usage }], out);
        }
    }
}

impl ClaudeTranscript {
    pub(in crate::decode) fn new(beside: &Place) -> Self {
        Self::of(&CLAUDE, beside)
    }

    fn of(flavor: &'static Flavor, beside: &Place) -> Self {
        ClaudeTranscript {
            front: Front::new(flavor.agent, beside),
            decoder: ClaudeDecoder::of(flavor),
            is_side: None,
            rest: None,
            duration_ms: None,
            used: Used::default(),
            title_rank: 0,
        }
    }

    /// What a line says about the session.
    fn learn(&mut self, entry: &Entry<'_, '_>) {
        if self.front.session.is_none() {
            self.front.session = entry.said("sessionId");
        }
        if self.front.cwd.is_none() {
            self.front.cwd = entry.said("cwd");
        }
        if self.front.version.is_none() {
            self.front.version = entry.said("version");
        }
        if self.front.model.is_none() {
            let model = said(entry.get("message").and_then(|message| message.get("model")));
            self.front.model = model.filter(|model| !model.starts_with('<'));
        }
    }

    fn title(&mut self, rank: u8, title: Option<String>) {
        if rank >= self.title_rank && title.is_some() {
            self.title_rank = rank;
            self.front.title = title;
        }
    }

    /// The call whose sub-agent says this line; nothing for a line of the conversation itself. In
    /// quotes, as it would stand on a line.
    fn parent(&mut self, entry: &Entry<'_, '_>) -> Option<String> {
        let is_side = entry.is("isSidechain");
        if *self.is_side.get_or_insert(is_side) || !is_side {
            return None;
        }
        let call = self.decoder.calls.last_agent().unwrap_or_default();
        serde_json::to_string(call).ok()
    }

    fn assistant(&mut self, at: UnixMillis, entry: &Entry<'_, '_>, out: &mut Vec<Timed>) {
        let parent = self.parent(entry);
        let mut fields = Fields::read(entry.object, entry.line.part == Part::First);
        fields.parent = parent.as_deref().map(|parent| Value::new(parent.as_bytes()));
        let mut kinds = Vec::new();
        if !self.decoder.assistant(&fields, DEPTH, &mut kinds) {
            unrecognized(Unrecognized::BadShape, entry.line.bytes, &mut kinds);
        }
        if parent.is_none() {
            let message = fields.message.filter(|message| message.is_object());
            let get = |key| message.and_then(|message| message.get(key));
            let id = get("id").and_then(Value::raw_str).unwrap_or_default();
            self.used.answered(id, get("usage").map(ending::of_conversation));
            let asks = Message::read(fields.message).blocks().any(|block| block.begins_call());
            let stop = get("stop_reason").and_then(Value::raw_str).unwrap_or_default();
            if !is_known_stop(stop) {
                self.decoder.strange = Some(("stop_reason", stop.to_vec()));
            }
            self.rest = match self.decoder.error.take() {
                Some(error) => Some((at, failure(&error, &kinds))),
                None if asks || matches!(stop, b"tool_use" | b"pause_turn") => None,
                None if stop == b"max_tokens" => Some((at, TurnEnd::Limit)),
                None if stop == b"refusal" => Some((at, TurnEnd::Refused)),
                None => Some((at, TurnEnd::Done)),
            };
        }
        self.front.tell(at, kinds, out);
    }

    fn user(&mut self, at: UnixMillis, entry: &Entry<'_, '_>, out: &mut Vec<Timed>) {
        let parent = self.parent(entry);
        let message = Message::read(entry.get("message"));
        let ended = message.calls_ended();
        for block in message.blocks() {
            self.decoder.check_block(block.kind);
        }
        let mut kinds = Vec::new();
        if ended > 0 {
            // Who decided about a call stands on the line of its result.
            let whole = Value::new(entry.line.bytes.trim_ascii());
            let beside = Beside {
                detail: entry.get("toolUseResult").filter(|_| ended == 1),
                meta: None,
                own: Some(whole).filter(|_| ended == 1),
            };
            self.rest = None;
            self.decoder.turn_is_on(&mut kinds);
            let decoder = &mut self.decoder;
            let mut sink = Sink { ids: &mut decoder.ids, depth: DEPTH, out: &mut kinds };
            for block in message.blocks().filter(Block::ends_call) {
                decoder.calls.completed(decoder.flavor, &block, beside, &mut sink);
            }
            return self.front.tell(at, kinds, out);
        }
        let mut words = String::new();
        for text in message.blocks().filter_map(|block| block.text?.cut_str()) {
            if !words.is_empty() {
                words.push('\n');
            }
            words.push_str(&text);
        }
        match parent {
            // The task of a sub-agent, which its call has.
            Some(_) => {}
            None if entry.get("message").is_none() => {
                unrecognized(Unrecognized::BadShape, entry.line.bytes, &mut kinds);
            }
            None => return self.words(at, &words, entry, out),
        }
        self.front.tell(at, kinds, out);
    }

    /// What stands there as the user's word: a prompt, or what the agent says in the user's name.
    fn words(&mut self, at: UnixMillis, text: &str, entry: &Entry<'_, '_>, out: &mut Vec<Timed>) {
        let mut kinds = Vec::new();
        let inside = |tag: &str| between(text, tag).map(|inner| inner.trim().to_owned());
        if text.starts_with("[Request interrupted by user") {
            self.rest = Some((at, TurnEnd::Cancelled));
            return self.end_turn(out);
        }
        if entry.is("isCompactSummary") {
            self.notice(NoticeLevel::Info, text.to_owned(), &mut kinds);
        } else if entry.is("isMeta") {
            // Said to the model, and to nobody else.
        } else if let Some(printed) =
            inside("local-command-stdout").or_else(|| inside("local-command-stderr"))
        {
            self.rest = Some((at, TurnEnd::Done));
            if !printed.is_empty() {
                self.notice(NoticeLevel::Info, printed, &mut kinds);
            }
        } else {
            let command = inside("command-name").map(|name| {
                let args = inside("command-args").unwrap_or_default();
                format!("{name} {args}").trim().to_owned()
            });
            let prompt = command.or_else(|| inside("bash-input").map(|it| format!("! {it}")));
            let prompt = prompt.unwrap_or_else(|| text.to_owned());
            self.end_turn(out);
            // What was open in a turn that never ended has no end either.
            let decoder = &mut self.decoder;
            let mut sink = Sink { ids: &mut decoder.ids, depth: DEPTH, out: &mut kinds };
            decoder.calls.broken_off(&mut sink);
            decoder.turn_is_on(&mut Vec::new());
            kinds.push(EventKind::TurnStarted { prompt: Some(prompt), by: None });
        }
        self.front.tell(at, kinds, out);
    }

    /// Tells that the turn is over, where it is.
    fn end_turn(&mut self, out: &mut Vec<Timed>) {
        let Some((at, end)) = self.rest.take().filter(|_| self.decoder.in_turn) else { return };
        let mut kinds = Vec::new();
        if end != TurnEnd::Done {
            let decoder = &mut self.decoder;
            let mut sink = Sink { ids: &mut decoder.ids, depth: DEPTH, out: &mut kinds };
            decoder.calls.broken_off(&mut sink);
        }
        self.decoder.in_turn = false;
        let (usage, duration_ms) = (self.used.take(), self.duration_ms.take());
        kinds.push(EventKind::TurnEnded { end, text: None, usage, duration_ms });
        self.front.tell(at, kinds, out);
    }

    fn system(&mut self, at: UnixMillis, entry: &Entry<'_, '_>, out: &mut Vec<Timed>) {
        let mut kinds = Vec::new();
        match entry.word("subtype") {
            b"api_error" => kinds.push(retry(entry)),
            b"turn_duration" => {
                self.duration_ms = entry.get("durationMs").and_then(Value::u64);
            }
            b"compact_boundary" | b"microcompact_boundary" => {
                let about = entry.get("compactMetadata");
                let trigger = said(about.and_then(|about| about.get("trigger")));
                // Whoever asks for it does so between turns, and it is told before the request.
                if trigger.as_deref() == Some("manual") {
                    self.end_turn(out);
                }
                let how = trigger.map(|trigger| format!(" ({trigger})")).unwrap_or_default();
                let text = format!("the conversation was compacted{how}");
                self.notice(NoticeLevel::Info, text, &mut kinds);
            }
            // What its hooks did, and what it was doing when nobody looked.
            b"stop_hook_summary" | b"away_summary" => {}
            _ => {
                let fields = Fields::read(entry.object, entry.line.part == Part::First);
                let told = system::system(&fields);
                self.decoder.tell(told, &mut kinds);
            }
        }
        self.front.tell(at, kinds, out);
    }

    /// What was given to the model beside the conversation; only a prompt that came while it was at
    /// work is a part of it.
    fn attachment(&mut self, entry: &Entry<'_, '_>, kinds: &mut Vec<EventKind>) {
        let Some(attachment) = entry.get("attachment") else { return };
        let is_prompt = attachment.get("type").is_some_and(|kind| kind.is_str("queued_command"));
        if let Some(prompt) = said(attachment.get("prompt")).filter(|_| is_prompt) {
            self.notice(NoticeLevel::Info, format!("the user added: {prompt}"), kinds);
        }
    }

    fn notice(&mut self, level: NoticeLevel, text: String, kinds: &mut Vec<EventKind>) {
        self.decoder.notice(level, text, kinds);
    }
}

/// How a turn failed whose last answer is an error: its words were just told.
fn failure(error: &RequestError, kinds: &[EventKind]) -> TurnEnd {
    let words = kinds.iter().rev().find_map(|kind| match kind {
        EventKind::ItemCompleted { item: Item { body: ItemBody::Notice { text, .. }, .. } } => {
            Some(text.clone())
        }
        _ => None,
    });
    let message = words.unwrap_or_else(|| error.word.clone());
    TurnEnd::Failed { failure: ending::kind_of(error, &message), message: cut(message) }
}

/// A request that failed and is made again.
fn retry(entry: &Entry<'_, '_>) -> EventKind {
    let number = |key| entry.get(key).and_then(Value::u64);
    let error = entry.get("error");
    let words = said(error.and_then(|error| error.get("formatted")))
        .or_else(|| said(error.and_then(|error| error.get("message"))))
        .or_else(|| said(error.and_then(|error| error.get("error")?.get("message"))));
    let most = number("maxRetries").map(|most| format!(", of {most}"));
    let delay = number("retryInMs").map(|ms| format!(", in {ms} ms"));
    let detail: String = [words, most, delay].into_iter().flatten().collect();
    EventKind::RetryScheduled {
        attempt: number("retryAttempt").unwrap_or(1),
        detail: Some(cut(detail)).filter(|detail| !detail.is_empty()),
    }
}

/// Returns true for a reason of the model to stop that is known; older versions give none.
fn is_known_stop(stop: &[u8]) -> bool {
    const KNOWN: &[&[u8]] = &[
        b"",
        b"end_turn",
        b"stop_sequence",
        b"tool_use",
        b"pause_turn",
        b"max_tokens",
        b"model_context_window_exceeded",
        b"refusal",
        b"compaction",
    ];
    KNOWN.contains(&stop)
}

/// What the agent keeps for itself: snapshots of files, of requests, of its own state.
fn is_bookkeeping(kind: &[u8]) -> bool {
    const KNOWN: &[&[u8]] = &[
        b"queue-operation",
        b"file-history-snapshot",
        b"file-history-delta",
        b"api-request",
        b"api-request-shape",
        b"api-request-blob",
        b"atis-latch",
        b"last-prompt",
        b"tools-used",
        b"progress",
        b"mode",
        b"permission-mode",
        b"agent-name",
        b"agent-color",
        b"agent-setting",
        b"tag",
        b"task-summary",
        b"worktree-state",
        b"pr-link",
        b"content-replacement",
        b"attribution-snapshot",
        b"speculation-accept",
        b"relocated",
    ];
    KNOWN.contains(&kind)
}

/// What stands between `<tag>` and `</tag>`.
fn between<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    let (inner, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(inner)
}

#[cfg(test)]
mod tests;
