//! What OpenCode stores of a session: the session itself, its messages, and the parts of each.
//!
//! Where they stand, in a database or in a tree of small files, is the business of whoever reads them:
//! here each comes as one line, `{"stored":"session"|"message"|"part","id":…,"message":…,"at":…,
//! "data":{…}}`, a message before its parts. Parts are what the stream is made of, and are read by the
//! same code.

use super::super::transcript::{
    Beside, DEPTH, Entries, Entry, Front, Timed, TranscriptFiles, TranscriptForm, said, time,
};
use super::OpenCodeDecoder;
use crate::event::{EventKind, NoticeLevel, TextRole};
use crate::json::Value;
use crate::line::{Line, Part};
use crate::time::UnixMillis;

/// `opencode.db`, or another name for another channel; before that `storage/session/<project>/<id>.json`.
pub(in crate::decode) const FILES: TranscriptFiles = TranscriptFiles {
    form: |name| {
        if !name.contains('/') && name.starts_with("opencode") && name.strip_suffix(".db").is_some()
        {
            return Some(TranscriptForm::Database);
        }
        let is_session =
            name.starts_with("storage/session/") && name.strip_suffix(".json").is_some();
        is_session.then_some(TranscriptForm::Tree)
    },
    workspace: None,
};

/// Reads a stored session of OpenCode.
#[derive(Debug)]
pub(in crate::decode) struct OpenCodeTranscript {
    front: Front,
    decoder: OpenCodeDecoder,
    message: Open,
}

/// The message whose parts are being read.
#[derive(Debug, Default)]
struct Open {
    id: Vec<u8>,
    is_users: bool,
    at: UnixMillis,
    /// The words of a prompt.
    words: String,
    /// What ended the answer, as it stands there, and when.
    error: Option<(UnixMillis, Vec<u8>)>,
}

impl Entries for OpenCodeTranscript {
    fn front(&self) -> &Front {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.front
    }

    fn entry(&mut self, entry: &Entry<'_, '_>, out: &mut Vec<Timed>) {
        let data = entry.get("data").unwrap_or(Value::new(b"{}"));
        let at = self.front.at(time(entry.get("at")));
        match entry.word("stored") {
            b"session" => self.session(entry, data),
            b"message" => {
                self.close_message(out);
                self.open_message(at, entry, data);
                let role = data.get("role").and_then(Value::raw_str).unwrap_or_default();
                if !matches!(role, b"user" | b"assistant") {
                    self.front.unknown(entry.line, out);
                }
            }
            b"part" => {
                // An agent that writes at this moment may have stored a part before its message.
                if entry.word("message") != self.message.id {
                    self.close_message(out);
                    self.message = Open { id: entry.word("message").to_vec(), ..Open::default() };
                }
                self.part(at, entry, data, out);
            }
            _ => self.front.unknown(entry.line, out),
        }
    }

    fn close(&mut self, out: &mut Vec<Timed>) {
        self.close_message(out);
    }
}

impl OpenCodeTranscript {
    pub(in crate::decode) fn new(beside: &Beside) -> Self {
        OpenCodeTranscript {
            front: Front::new("opencode", beside),
            decoder: OpenCodeDecoder::default(),
            message: Open::default(),
        }
    }

    fn session(&mut self, entry: &Entry<'_, '_>, data: Value<'_>) {
        // What a sub-agent does belongs to the session that it works for.
        self.front.session = said(data.get("parentID"))
            .or_else(|| said(entry.get("id")))
            .or_else(|| said(data.get("id")));
        self.front.version = said(data.get("version"));
        self.front.cwd = said(data.get("directory"));
        // Until it has thought of one, the title is the time.
        let title = said(data.get("title"));
        self.front.title = title.filter(|title| !title.starts_with("New session - "));
    }

    fn open_message(&mut self, at: UnixMillis, entry: &Entry<'_, '_>, data: Value<'_>) {
        let is_users = data.get("role").is_some_and(|role| role.is_str("user"));
        if self.front.model.is_none() {
            self.front.model = said(data.get("modelID"))
                .or_else(|| said(data.get("model").and_then(|model| model.get("modelID"))));
        }
        if self.front.cwd.is_none() {
            self.front.cwd = said(data.get("path").and_then(|path| path.get("cwd")));
        }
        let ended = time(data.get("time").and_then(|time| time.get("completed"))).unwrap_or(at);
        let error = data.get("error").filter(|error| error.is_object());
        let error = error.map(|error| (ended, error.raw().to_vec()));
        // A step that was broken off with its message was not begun again with the next one.
        self.decoder.in_step = false;
        let id = entry.word("id").to_vec();
        self.message = Open { id, is_users, at, words: String::new(), error };
    }

    /// All of a message was there.
    fn close_message(&mut self, out: &mut Vec<Timed>) {
        let message = std::mem::take(&mut self.message);
        let mut kinds = Vec::new();
        if message.is_users && !message.words.is_empty() {
            let stream = &mut self.decoder.stream;
            stream.close_texts(&mut kinds);
            stream.calls.abandon(&mut kinds);
            stream.in_turn = true;
            self.decoder.failed = None;
            kinds.push(EventKind::TurnStarted { prompt: Some(message.words), by: None });
            self.front.tell(message.at, kinds, out);
        } else if let Some((at, error)) = message.error {
            let line = Line { bytes: &error, offset: 0, part: Part::Whole, newline: true };
            self.decoder.error(Some(Value::new(&error)), &line, &mut kinds);
            self.front.tell(at, kinds, out);
        }
    }

    fn part(
        &mut self,
        at: UnixMillis,
        entry: &Entry<'_, '_>,
        data: Value<'_>,
        out: &mut Vec<Timed>,
    ) {
        let mut kinds = Vec::new();
        let of = |times: Option<Value<'_>>, key| time(times.and_then(|times| times.get(key)));
        let mut began = of(data.get("time"), "start").unwrap_or(at);
        let mut ended = of(data.get("time"), "end").unwrap_or(began);
        match data.get("type").and_then(Value::raw_str).unwrap_or_default() {
            b"text" if self.message.is_users => {
                // What the agent adds to a prompt is not the user's word.
                let added = ["synthetic", "ignored"];
                let added =
                    added.iter().any(|key| data.get(key).and_then(Value::bool) == Some(true));
                if let Some(text) = data.get("text").and_then(Value::cut_str).filter(|_| !added) {
                    if !self.message.words.is_empty() {
                        self.message.words.push('\n');
                    }
                    self.message.words.push_str(&text);
                }
            }
            b"text" => self.decoder.text(TextRole::Message, data, DEPTH, &mut kinds),
            b"reasoning" => self.decoder.text(TextRole::Reasoning, data, DEPTH, &mut kinds),
            b"tool" => {
                let times = data.get("state").and_then(|state| state.get("time"));
                began = of(times, "start").unwrap_or(at);
                ended = of(times, "end").unwrap_or(began);
                self.decoder.tool_use(data, entry.line, DEPTH, &mut kinds);
            }
            b"step-start" => self.decoder.step_start(&mut kinds),
            b"step-finish" => self.decoder.step_finish(data, &mut kinds),
            b"retry" => {
                let error = data.get("error");
                let words = said(error.and_then(|error| error.get("data")?.get("message")))
                    .or_else(|| said(error.and_then(|error| error.get("message"))));
                let attempt = data.get("attempt").and_then(Value::u64).unwrap_or(1);
                kinds.push(EventKind::RetryScheduled { attempt, detail: words });
            }
            b"compaction" => {
                let text = "the conversation was compacted".to_owned();
                self.decoder.stream.notice(NoticeLevel::Info, text, &mut kinds);
            }
            b"subtask" => {
                if let Some(task) = said(data.get("description")).or(said(data.get("prompt"))) {
                    let text = format!("a task for another agent: {task}");
                    self.decoder.stream.notice(NoticeLevel::Info, text, &mut kinds);
                }
            }
            // What was attached, and the states of the folder before and after a step.
            b"file" | b"agent" | b"snapshot" | b"patch" => {}
            _ => return self.front.unknown(entry.line, out),
        }
        for kind in kinds {
            let begins = matches!(kind, EventKind::ItemStarted { .. });
            let at = if begins { began } else { ended };
            self.front.at(Some(at));
            self.front.tell(at, [kind], out);
        }
    }
}

#[cfg(test)]
mod tests;
