//! Codex: `codex exec --json`, and in `app` the two-way protocol of `codex app-server`.
//!
//! Owned here: which line of `exec` is which. What both protocols share, the thread with its turns
//! and items, is in `thread`; texts in `text`, tools in `calls` and `tools`, errors in `trouble`.
//! The format has no version: what is there is read, and what is not is left out. `exec` tells
//! neither the model nor times nor pieces of text; its counts of tokens are those of the whole
//! thread, over all its runs.

mod app;
mod asides;
mod calls;
mod dialect;
mod question;
mod shell;
mod speak;
mod text;
mod thread;
mod tools;
mod transcript;
mod trouble;
mod wire;

use super::failure::failure_of;
use super::kit::member;
use super::{Decode, Depth};
use crate::event::{EventKind, NoticeLevel, TurnEnd, Unrecognized};
use crate::json::{self, Object, Scan, Value};
use crate::line::{Line, Part};
use crate::text::{excerpt, plain};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use thread::{Phase, Thread, usage};
use transcript::CodexTranscript;
use wire::{Kind, Wire, said};

pub use app::CodexAppDecoder;
pub use speak::CodexAppSpeaker;

pub(super) use dialect::{CodexAppDialect, CodexDialect};

/// How many characters of a line that was not understood are shown.
const EXCERPT: usize = 200;

/// Reads the stream of `codex exec --json`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CodexDecoder {
    thread: Thread,
    /// The type of the last line, and that of its item: UTF-8, which is shown where somebody asks.
    #[serde(skip)]
    last_type: Vec<u8>,
}

impl Decode for CodexDecoder {
    fn line(&mut self, line: &Line<'_>, scan: &Scan<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        if matches!(line.part, Part::Middle | Part::Last) {
            return;
        }
        self.last_type.clear();
        match (line.part, scan) {
            (Part::Whole, Scan::Object(object)) => self.object(object, line, depth, out),
            (Part::Whole, _) => not_an_object(&mut self.thread, line, scan, out),
            _ => match json::scan_prefix(line.bytes) {
                Some(object) => self.object(&object, line, depth, out),
                None => oversized(line.bytes, out),
            },
        }
    }

    fn finish(&mut self, depth: Depth, out: &mut Vec<EventKind>) {
        self.thread.texts.close_all(depth, out);
    }

    fn last_type(&self) -> &str {
        words(&self.last_type)
    }

    fn save(&self) -> Option<Box<RawValue>> {
        to_raw_value(self).ok()
    }
}

impl CodexDecoder {
    fn object(
        &mut self,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let kind = object.get("type").and_then(Value::raw_str).unwrap_or_default();
        self.last_type.extend_from_slice(kind);
        match kind {
            b"item.completed" => self.item(Phase::Completed, object, line, depth, out),
            b"item.started" => self.item(Phase::Started, object, line, depth, out),
            b"item.updated" => self.item(Phase::Updated, object, line, depth, out),
            b"thread.started" => {
                let said = |key| said(object.get(key));
                let (version, model, cwd) = (said("cli_version"), said("model"), said("cwd"));
                self.thread.named(object.get("thread_id"), version, model, cwd, out);
            }
            b"turn.started" => self.thread.turn_started(out),
            b"turn.completed" => {
                let used = object.get("usage").and_then(usage);
                self.thread.turn_ended(TurnEnd::Done, None, used, None, depth, out);
            }
            b"turn.failed" => {
                let end = trouble::end(object.get("error"));
                let used = object.get("usage").and_then(usage);
                self.thread.turn_ended(end, None, used, None, depth, out);
            }
            b"error" => {
                let message = said(member(object, line, "message"))
                    .unwrap_or_else(|| excerpt(line.bytes, EXCERPT));
                self.thread.trouble(NoticeLevel::Error, message, /* will_retry */ false, out);
            }
            b"request_user_input" => {
                let params = Value::new(line.bytes.trim_ascii());
                out.push(question::asked("call", object.get("call_id"), params, None));
            }
            _ => {
                self.last_type.truncate(words(kind).len());
                unknown(line, out);
            }
        }
    }

    fn item(
        &mut self,
        phase: Phase,
        object: &Object<'_>,
        line: &Line<'_>,
        depth: Depth,
        out: &mut Vec<EventKind>,
    ) {
        let Some(item) = member(object, line, "item").filter(|item| item.is_object()) else {
            return unrecognized(Unrecognized::BadShape, line.bytes, out);
        };
        let mut wire = Wire::default();
        wire.read(item);
        self.last_type.push(b'/');
        let word = if wire.kind == Kind::Unknown { words(wire.word).as_bytes() } else { wire.word };
        self.last_type.extend_from_slice(word);
        wire.tell_unknown(line, out);
        self.thread.item(phase, &wire, /* is_foreign */ false, depth, out);
    }
}

/// The name of a type as text; a line is UTF-8 unless it was cut.
fn words(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// A line that is not a JSON object; an error in plain words has a meaning all the same.
fn not_an_object(thread: &mut Thread, line: &Line<'_>, scan: &Scan<'_>, out: &mut Vec<EventKind>) {
    let bytes = line.bytes.trim_ascii();
    if bytes.is_empty() {
        return;
    }
    if matches!(scan, Scan::Scalar) {
        return unrecognized(Unrecognized::NotAnObject, line.bytes, out);
    }
    if !line.newline && bytes.first() == Some(&b'{') {
        return unrecognized(Unrecognized::Torn, line.bytes, out);
    }
    unrecognized(Unrecognized::Noise, line.bytes, out);
    let text = String::from_utf8_lossy(bytes.get(..4096).unwrap_or(bytes));
    if failure_of(&text).is_some() {
        thread.notice(NoticeLevel::Error, plain(&text), out);
    }
}

fn oversized(bytes: &[u8], out: &mut Vec<EventKind>) {
    let why = match bytes.trim_ascii_start().first() {
        Some(b'{') => Unrecognized::Oversized,
        _ => Unrecognized::Noise,
    };
    unrecognized(why, bytes, out);
}

fn unknown(line: &Line<'_>, out: &mut Vec<EventKind>) {
    let why = match line.part {
        Part::Whole => Unrecognized::UnknownType,
        Part::First | Part::Middle | Part::Last => Unrecognized::Oversized,
    };
    unrecognized(why, line.bytes, out);
}

fn unrecognized(why: Unrecognized, bytes: &[u8], out: &mut Vec<EventKind>) {
    let excerpt = excerpt(bytes, EXCERPT);
    out.push(EventKind::Unrecognized { why, excerpt });
}

#[cfg(test)]
mod tests;
