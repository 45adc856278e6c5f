//! The chats of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, in older versions one
//! `.json` document each.
//!
//! A message is written again, under the same id, whenever there is more of it: first its words, then
//! the calls that it asked for with how they ended. Owned here: which part of a message is new. When a
//! chat is resumed, all of its messages stand there once more. Nothing says that a turn is over: it is
//! when the last answer asks for no tool.

use super::super::kit::{Stream, cut, digest_of, mix};
use super::super::transcript::{
    Beside, DEPTH, Entries, Entry, Front, Timed, TranscriptFiles, TranscriptForm, said, time,
};
use super::{outcome, tools};
use crate::event::{EventKind, NoticeLevel, Outcome, TextRole, Tokens, ToolKind, TurnEnd, Usage};
use crate::id::digest64;
use crate::json::Value;
use crate::time::UnixMillis;
use std::collections::VecDeque;

/// So many messages are remembered, in case more of one comes. A resumed chat repeats all of them.
const MESSAGES: usize = 4096;

/// How a chat begins: what the agent tells the model about the place, in the user's name.
const CONTEXT: &str = "<session_context>";

/// `<project>/chats/session-<time>-<id>.jsonl`, those of sub-agents in a folder of the session; the
/// project's place stands above.
pub(in crate::decode) const FILES: TranscriptFiles = TranscriptFiles {
    form: |name| {
        let (_, file) = name.split_once("/chats/")?;
        if file.strip_suffix(".jsonl").is_some() {
            return Some(TranscriptForm::Lines);
        }
        let is_chat = file.starts_with("session-") && file.strip_suffix(".json").is_some();
        is_chat.then_some(TranscriptForm::Document)
    },
    workspace: Some(".project_root"),
};

/// Reads a chat of Gemini CLI.
#[derive(Debug)]
pub(in crate::decode) struct GeminiTranscript {
    front: Front,
    stream: Stream,
    seen: VecDeque<Seen>,
    /// The turn may be over since then.
    rest: Option<(UnixMillis, TurnEnd)>,
    used: Option<Tokens>,
    /// Which answer of the model it is, by our count.
    answer: u64,
    /// The entry has a word that is not known.
    strange: bool,
}

/// What was told of a message.
#[derive(Debug)]
struct Seen {
    id: u64,
    words: bool,
    tokens: bool,
    thoughts: usize,
    /// How many of its calls are over.
    calls: usize,
}

/// A message as it stands there.
#[derive(Clone, Copy, Debug, Default)]
struct Message<'a> {
    id: Option<Value<'a>>,
    time: Option<Value<'a>>,
    kind: &'a [u8],
    content: Option<Value<'a>>,
    thoughts: Option<Value<'a>>,
    tokens: Option<Value<'a>>,
    model: Option<Value<'a>>,
    calls: Option<Value<'a>>,
}

impl<'a> Message<'a> {
    fn read(members: impl Iterator<Item = (&'a [u8], Value<'a>)>) -> Self {
        let mut read = Message::default();
        for (key, value) in members {
            let slot = match key {
                b"type" => {
                    read.kind = value.raw_str().unwrap_or_default();
                    continue;
                }
                b"id" => &mut read.id,
                b"timestamp" => &mut read.time,
                b"content" => &mut read.content,
                b"thoughts" => &mut read.thoughts,
                b"tokens" => &mut read.tokens,
                b"model" => &mut read.model,
                b"toolCalls" => &mut read.calls,
                _ => continue,
            };
            *slot = Some(value);
        }
        read
    }
}

impl Entries for GeminiTranscript {
    fn front(&self) -> &Front {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.front
    }

    fn entry(&mut self, entry: &Entry<'_, '_>, out: &mut Vec<Timed>) {
        if let Some(id) = entry.said("sessionId") {
            // What a sub-agent does belongs to the session that it works for.
            let kind = entry.word("kind");
            let is_sub = kind == b"subagent";
            self.strange |= !matches!(kind, b"" | b"main" | b"subagent");
            let parent = Some(self.front.beside.folder.clone()).filter(|name| !name.is_empty());
            self.front.session.get_or_insert(parent.filter(|_| is_sub).unwrap_or(id));
            self.front.at(time(entry.get("startTime")));
            self.learn(entry.get("summary"), entry.get("directories"));
            self.list(entry.get("messages"), out);
        } else if let Some(set) = entry.get("$set").filter(|set| set.is_object()) {
            self.learn(set.get("summary"), set.get("directories"));
            self.list(set.get("messages"), out);
        } else if entry.get("$rewindTo").is_some() {
            let at = self.front.at(None);
            let mut kinds = Vec::new();
            let text = "the conversation was taken back to an earlier message".to_owned();
            self.stream.notice(NoticeLevel::Info, text, &mut kinds);
            self.front.tell(at, kinds, out);
        } else if entry.get("type").is_some() && entry.get("content").is_some() {
            let cut = entry.get("toolCalls").filter(|_| entry.object.get("toolCalls").is_none());
            let mut message = Message::read(entry.object.members());
            message.calls = message.calls.or(cut);
            self.message(&message, out);
        } else {
            self.strange = true;
        }
        if std::mem::take(&mut self.strange) {
            self.front.unknown(entry.line, out);
        }
    }

    fn close(&mut self, out: &mut Vec<Timed>) {
        self.end_turn(out);
        let at = self.front.at(None);
        if let Some(used) = self.used.take() {
            self.front.tell(at, [EventKind::UsageUpdated { usage: Usage::Turn(used) }], out);
        }
    }
}

impl GeminiTranscript {
    pub(in crate::decode) fn new(beside: &Beside) -> Self {
        GeminiTranscript {
            front: Front::new("gemini", beside),
            stream: Stream::default(),
            seen: VecDeque::new(),
            rest: None,
            used: None,
            answer: 0,
            strange: false,
        }
    }

    fn learn(&mut self, summary: Option<Value<'_>>, folders: Option<Value<'_>>) {
        self.front.title = said(summary).or_else(|| self.front.title.take());
        if self.front.cwd.is_none() {
            self.front.cwd = said(folders.and_then(|folders| folders.elements().next()));
        }
    }

    fn list(&mut self, messages: Option<Value<'_>>, out: &mut Vec<Timed>) {
        for message in messages.into_iter().flat_map(Value::elements) {
            self.message(&Message::read(message.members()), out);
        }
    }

    /// What is known of the message with that id.
    fn seen(&mut self, id: Option<Value<'_>>) -> &mut Seen {
        let raw = id.map(Value::raw).unwrap_or_default();
        // One without an id is another one every time.
        let id = if raw.is_empty() { self.seen.len() as u64 } else { digest64(raw) };
        let known = self.seen.iter().rposition(|seen| seen.id == id && !raw.is_empty());
        let at = known.unwrap_or_else(|| {
            if self.seen.len() >= MESSAGES {
                self.seen.pop_front();
            }
            let fresh = Seen { id, words: false, tokens: false, thoughts: 0, calls: 0 };
            self.seen.push_back(fresh);
            self.seen.len() - 1
        });
        &mut self.seen[at]
    }

    fn message(&mut self, message: &Message<'_>, out: &mut Vec<Timed>) {
        let at = self.front.at(time(message.time));
        let words = message.content.and_then(words).unwrap_or_default();
        let seen = self.seen(message.id);
        let is_new = !std::mem::replace(&mut seen.words, true);
        let mut kinds = Vec::new();
        self.strange |= !is_known(message.kind);
        match message.kind {
            b"user" if !is_new => {}
            b"user" => return self.prompt(at, &words, out),
            b"gemini" | b"model" | b"assistant" => {
                return self.answer(at, message, is_new.then_some(words), out);
            }
            b"info" | b"warning" | b"error" if !is_new || words.is_empty() => {}
            b"info" => self.stream.notice(NoticeLevel::Info, words, &mut kinds),
            b"warning" => self.stream.notice(NoticeLevel::Warning, words, &mut kinds),
            b"error" => {
                self.rest = Some((at, super::failure("", words.clone())));
                self.stream.notice(NoticeLevel::Error, words, &mut kinds);
            }
            _ if words.is_empty() => {}
            _ => self.stream.notice(NoticeLevel::Info, words, &mut kinds),
        }
        self.front.tell(at, kinds, out);
    }

    fn prompt(&mut self, at: UnixMillis, words: &str, out: &mut Vec<Timed>) {
        if words.starts_with(CONTEXT) || words.starts_with("This is the Gemini CLI.") {
            if self.front.cwd.is_none() {
                self.front.cwd = folder_in(words);
            }
            return;
        }
        if words.is_empty() {
            return; // What became of the calls; their message has it too.
        }
        self.end_turn(out);
        let mut kinds = Vec::new();
        self.stream.close_texts(&mut kinds);
        self.stream.calls.abandon(&mut kinds);
        self.stream.in_turn = true;
        kinds.push(EventKind::TurnStarted { prompt: Some(words.to_owned()), by: None });
        self.front.tell(at, kinds, out);
    }

    fn answer(
        &mut self,
        at: UnixMillis,
        message: &Message<'_>,
        words: Option<String>,
        out: &mut Vec<Timed>,
    ) {
        if self.front.model.is_none() {
            self.front.model = said(message.model);
        }
        let is_new = words.is_some();
        self.answer += u64::from(is_new);
        self.thoughts(at, message, out);
        let mut kinds = Vec::new();
        if let Some(words) = words.filter(|words| !words.trim().is_empty()) {
            self.stream.close_texts(&mut kinds);
            self.stream.piece_by(TextRole::Message, words, DEPTH, &mut kinds);
            self.stream.close_texts(&mut kinds);
        }
        if let Some(tokens) = message.tokens.filter(|tokens| tokens.is_object()) {
            let seen = self.seen(message.id);
            if !std::mem::replace(&mut seen.tokens, true) {
                self.add(tokens);
            }
        }
        self.front.tell(at, kinds, out);
        let asks = self.calls(at, message, out);
        if is_new || asks {
            self.rest = (!asks).then_some((at, TurnEnd::Done));
        }
    }

    fn thoughts(&mut self, at: UnixMillis, message: &Message<'_>, out: &mut Vec<Timed>) {
        let thoughts = message.thoughts.into_iter().flat_map(Value::elements);
        let told = std::mem::take(&mut self.seen(message.id).thoughts);
        let mut n = 0;
        for thought in thoughts {
            n += 1;
            let text = [said(thought.get("subject")), said(thought.get("description"))];
            let text = text.into_iter().flatten().collect::<Vec<_>>().join("\n");
            if n <= told || text.is_empty() {
                continue;
            }
            let mut kinds = Vec::new();
            self.stream.close_texts(&mut kinds);
            self.stream.piece_by(TextRole::Reasoning, text, DEPTH, &mut kinds);
            self.stream.close_texts(&mut kinds);
            let at = time(thought.get("timestamp")).unwrap_or(at);
            self.front.tell(at, kinds, out);
        }
        self.seen(message.id).thoughts = n.max(told);
    }

    /// The calls of an answer; whether there are any.
    fn calls(&mut self, at: UnixMillis, message: &Message<'_>, out: &mut Vec<Timed>) -> bool {
        let told = self.seen(message.id).calls;
        let mut over = 0;
        let mut asks = false;
        for (n, call) in message.calls.into_iter().flat_map(Value::elements).enumerate() {
            asks = true;
            if n < told {
                over = told;
                continue;
            }
            let id = said(call.get("id")).unwrap_or_else(|| format!("answer-{}-{n}", self.answer));
            let name = said(call.get("name")).unwrap_or_default();
            let mut kinds = Vec::new();
            if self.stream.calls.item(&id).is_none() {
                let mut tool = tools::call(id.clone(), &name, call.get("args"));
                tool.step = Some(self.answer.to_string());
                self.stream.call(tool, &mut kinds);
                self.front.tell(at, std::mem::take(&mut kinds), out);
            }
            if !is_over(call) {
                continue;
            }
            let ended = time(call.get("timestamp")).unwrap_or(at);
            let stream = &mut self.stream;
            let begin = || tools::call(id.clone(), &name, call.get("args"));
            let (item, mut tool) =
                stream.calls.take_or_begin(&id, &mut stream.ids, &mut kinds, begin);
            end(&mut tool, call);
            stream.call_ended(item, tool, &mut kinds);
            self.front.at(Some(ended));
            self.front.tell(ended, kinds, out);
            over = n + 1;
        }
        self.seen(message.id).calls = over.max(told);
        asks
    }

    fn add(&mut self, tokens: Value<'_>) {
        let number = |key| tokens.get(key).and_then(Value::u64).unwrap_or(0);
        let (input, cached) = (number("input"), number("cached"));
        let used = self.used.get_or_insert_default();
        used.input = used.input.saturating_add(input.saturating_sub(cached));
        used.cache_read = used.cache_read.saturating_add(cached);
        used.output = used.output.saturating_add(number("output"));
        used.reasoning = used.reasoning.saturating_add(number("thoughts"));
    }

    fn end_turn(&mut self, out: &mut Vec<Timed>) {
        let Some((at, end)) = self.rest.take().filter(|_| self.stream.in_turn) else { return };
        let usage = self.used.take().map(Usage::Turn);
        let mut kinds = Vec::new();
        self.stream.end_turn(end, usage, None, &mut kinds);
        self.front.tell(at, kinds, out);
    }
}

/// Returns true for the type of a message that is known.
fn is_known(kind: &[u8]) -> bool {
    const KNOWN: &[&str] = &["user", "gemini", "model", "assistant", "info", "warning", "error"];
    KNOWN.iter().any(|known| known.as_bytes() == kind)
}

/// The words of a message: a string, or a list of parts with a `text`.
fn words(content: Value<'_>) -> Option<String> {
    if let Some(text) = content.cut_str() {
        return Some(text);
    }
    if content.is_object() {
        return said(content.get("text"));
    }
    let texts: Vec<String> = content
        .elements()
        .filter_map(|part| part.get("text").or(Some(part)).and_then(Value::string))
        .collect();
    Some(texts.join("\n"))
}

/// `- **Workspace Directories:**`, then `  - /home/rider/stable`; in older versions a sentence.
fn folder_in(words: &str) -> Option<String> {
    let mut lines = words.lines();
    let folder = |line: &str| {
        let place = line.trim().trim_start_matches("- ");
        place.starts_with('/').then(|| place.to_owned())
    };
    while let Some(line) = lines.next() {
        if line.contains("Workspace Directories:") {
            return lines.next().and_then(folder);
        }
        if let Some((_, place)) = line.split_once("working in the directory: ") {
            return folder(place);
        }
    }
    None
}

fn is_over(call: Value<'_>) -> bool {
    let status = call.get("status").and_then(Value::raw_str).unwrap_or_default();
    !matches!(status, b"" | b"executing" | b"scheduled" | b"validating" | b"awaiting_approval")
}

/// Writes the end of a call into it. What is shown to a person is told as the stream tells it; what
/// the model was given has the exit code, which the stream has not.
fn end(tool: &mut crate::event::Tool, call: Value<'_>) {
    let status = call.get("status").and_then(Value::raw_str).unwrap_or_default();
    let shown = call.get("resultDisplay");
    let answer = call.get("result").and_then(|result| result.elements().next());
    let answer = answer.and_then(|part| part.get("functionResponse")?.get("response"));
    let given = said(answer.and_then(|answer| answer.get("output")));
    let error = said(answer.and_then(|answer| answer.get("error")));
    let raw = shown.map(Value::raw).unwrap_or_default();
    tool.digest = mix(mix(tool.digest, digest_of(status)), digest_of(raw));
    tool.output = said(shown).or_else(|| given.clone()).or_else(|| error.clone());
    let diff = shown.filter(|shown| shown.is_object()).and_then(|shown| shown.get("fileDiff"));
    tool.diff = said(diff);
    tool.outcome = Some(match status {
        b"success" => match exit_code(tool.tool_kind, given.as_deref().unwrap_or_default()) {
            Some(code) => Outcome::Failure { exit_code: Some(code), message: None },
            None => outcome::success(tool, raw),
        },
        b"cancelled" | b"canceled" => {
            Outcome::Rejected { reason: error.map_or_else(|| "cancelled".to_owned(), cut) }
        }
        b"error" => {
            let kind = call.get("errorType").and_then(Value::raw_str).unwrap_or_default();
            outcome::of_error(kind, error.or_else(|| said(shown)))
        }
        _ => Outcome::Unknown,
    });
}

/// `Exit Code: 3` behind the output of a command, where it is not 0. What the command wrote comes
/// before it, so the last line of that name counts.
fn exit_code(kind: ToolKind, given: &str) -> Option<i32> {
    if kind != ToolKind::Execute {
        return None;
    }
    let code = given.lines().rev().find_map(|line| line.strip_prefix("Exit Code: "))?;
    code.trim().parse().ok().filter(|code| *code != 0)
}

#[cfg(test)]
mod tests;
