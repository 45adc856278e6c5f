//! How calls end: a `tool_result` block, and what the line says beside it.
//!
//! The block has the words for the model and whether it is an error; `tool_use_result` has the
//! tool's own answer, an object, or a string for an error; `tool_result_meta` says who decided
//! about a call that was not run. Older versions have only the words.

use super::super::kit::diff;
use super::block::Block;
use super::tools::{DIGEST_BUDGET, cut, first, mix};
use crate::event::{Outcome, ToolKind};
use crate::id::digest64;
use crate::json::Value;

/// So much of a result is looked at for what it means.
const LOOK: usize = 4096;

/// What is known of a call when it ends.
#[derive(Debug)]
pub(super) struct Known<'k> {
    pub(super) kind: ToolKind,
    /// Whether somebody was asked about it.
    pub(super) was_asked: bool,
    /// The agent said before that it may not.
    pub(super) denied: Option<&'k str>,
    /// Finds the exit code of a command in its words, which are an error or not.
    pub(super) exit_code: fn(&str, bool) -> Option<i32>,
}

/// What a result says.
#[derive(Debug)]
pub(super) struct Ending<'a> {
    pub(super) outcome: Outcome,
    pub(super) background: bool,
    pub(super) duration_ms: Option<u64>,
    /// Of the words.
    pub(super) digest: u64,
    /// Who decided about it and how, where that is told.
    pub(super) decision: Option<Decision>,
    content: Option<Value<'a>>,
    detail: Detail<'a>,
}

/// A decision about a call.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) accepted: bool,
    /// `config`, `hook`, `user_temporary`, `user_reject` and so on.
    pub(super) source: String,
}

/// The tool's own answer.
#[derive(Debug, Default)]
struct Detail<'a> {
    interrupted: bool,
    background: bool,
    duration_ms: Option<u64>,
    stdout: Option<Value<'a>>,
    stderr: Option<Value<'a>>,
    persisted: bool,
    path: Option<Value<'a>>,
    patch: Option<Value<'a>>,
    /// A file was made, with this content; there is no patch of it.
    is_create: bool,
    content: Option<Value<'a>>,
}

impl<'a> Ending<'a> {
    /// Reads a result; `detail` and `meta` are what the line has for this call.
    pub(super) fn read(
        block: &Block<'a>,
        detail: Option<Value<'a>>,
        meta: Option<Value<'a>>,
        known: &Known<'_>,
    ) -> Ending<'a> {
        let detail = Detail::read(detail);
        let decision =
            told(meta, "permission_decision", "permissionDecision").map(|decision| Decision {
                accepted: decision.get("decision").is_some_and(|word| word.is_str("accept")),
                source: first(decision, &["source"]).unwrap_or_default(),
            });
        let raw = block.content.map(Value::raw).unwrap_or_default();
        let raw = raw.get(..raw.len().min(DIGEST_BUDGET)).unwrap_or_default();
        let code = return_code(block.content);
        let failed = block.is_error == Some(true)
            || is_error_object(block.content)
            || code.is_some_and(|code| code != 0);
        let mut ending = Ending {
            outcome: Outcome::Success,
            background: detail.background,
            duration_ms: detail.duration_ms,
            digest: mix(digest64(raw), u64::from(failed)),
            decision,
            content: block.content,
            detail,
        };
        let may_have_code = known.kind == ToolKind::Execute;
        if failed || may_have_code {
            let words = words_of(block.content, LOOK);
            let not_run = told(meta, "non_execution_kind", "toolDenialKind").is_some();
            ending.outcome = if let Some(code) = code.filter(|code| *code != 0) {
                Outcome::Failure { exit_code: Some(code), message: Some(cut(words)) }
            } else if failed {
                ending.failure(&words, not_run, known)
            } else {
                ending.of_command(&words, known)
            };
        } else if ending.detail.interrupted {
            ending.outcome = interrupted();
        }
        ending
    }

    /// A command that is not called an error may still be one.
    fn of_command(&self, words: &str, known: &Known<'_>) -> Outcome {
        if words.starts_with("Command timed out after") {
            return Outcome::TimedOut;
        }
        if self.detail.interrupted || words.starts_with("Command was cancelled") {
            return interrupted();
        }
        match (known.exit_code)(words, /* is_error */ false) {
            Some(code) if code != 0 => {
                Outcome::Failure { exit_code: Some(code), message: Some(cut(words.to_owned())) }
            }
            _ => Outcome::Success,
        }
    }

    fn failure(&self, words: &str, not_run: bool, known: &Known<'_>) -> Outcome {
        let reason = || cut(plain_words(words).to_owned());
        if let Some(Decision { accepted: false, source }) = &self.decision {
            // A person or a hook rejects; settings deny.
            let by_somebody = source.contains("user") || source.contains("hook");
            return if by_somebody {
                Outcome::Rejected { reason: reason() }
            } else {
                Outcome::Denied { reason: reason() }
            };
        }
        if let Some(why) = known.denied {
            return Outcome::Denied { reason: cut(why.to_owned()) };
        }
        if not_run || words.starts_with("The user doesn't want to ") {
            // The same words are used for a call that was cut short while it ran.
            return if known.was_asked {
                Outcome::Rejected { reason: reason() }
            } else {
                interrupted()
            };
        }
        if known.kind == ToolKind::Execute && words.contains("ommand timed out after") {
            return Outcome::TimedOut;
        }
        let exit_code = match known.kind {
            ToolKind::Execute => (known.exit_code)(words, /* is_error */ true),
            _ => None,
        };
        if exit_code.is_none() && speaks_of_denial(words) {
            return Outcome::Denied { reason: reason() };
        }
        Outcome::Failure { exit_code, message: Some(reason()).filter(|words| !words.is_empty()) }
    }

    /// What the tool gave back, as text.
    pub(super) fn output(&self) -> Option<String> {
        let own = || {
            let (stdout, stderr) = (self.detail.stdout?, self.detail.stderr);
            let stderr = stderr.and_then(Value::string).unwrap_or_default();
            Some(stdout.string()? + &stderr)
        };
        // Long output is replaced by a hint for the model; the tool's own answer has more of it.
        let text = if self.detail.persisted { own() } else { None };
        let text = text.unwrap_or_else(|| words_of(self.content, usize::MAX));
        Some(text).filter(|text| !text.is_empty())
    }

    /// What it changed, as a unified diff.
    pub(super) fn diff(&self) -> Option<String> {
        let path = self.detail.path.and_then(Value::string).unwrap_or_default();
        if let Some(text) = self.detail.content.filter(|_| self.detail.is_create) {
            return diff::new_file(&path, &text.string()?);
        }
        let hunks = self.detail.patch?;
        let mut lines = Vec::new();
        for hunk in hunks.elements() {
            let number = |key| hunk.get(key).and_then(Value::u64).unwrap_or(0);
            let (from, count) = (number("oldStart"), number("oldLines"));
            let (new_from, new_count) = (number("newStart"), number("newLines"));
            lines.push(format!("@@ -{from},{count} +{new_from},{new_count} @@\n"));
            let changed = hunk.get("lines").into_iter().flat_map(Value::elements);
            lines.extend(changed.filter_map(Value::string).map(|line| line + "\n"));
        }
        (!lines.is_empty()).then(|| format!("--- {path}\n+++ {path}\n{}", lines.concat()))
    }
}

impl<'a> Detail<'a> {
    fn read(detail: Option<Value<'a>>) -> Detail<'a> {
        let mut read = Detail::default();
        for (key, value) in detail.into_iter().flat_map(Value::members) {
            let is_true = || value.bool() == Some(true);
            match key {
                b"interrupted" => read.interrupted = is_true(),
                b"backgroundTaskId" => read.background |= value.raw_str().is_some(),
                b"isAsync" => read.background |= is_true(),
                b"status" => read.background |= value.is_str("async_launched"),
                b"durationMs" | b"totalDurationMs" | b"duration_ms" => {
                    read.duration_ms = value.u64();
                }
                b"stdout" => read.stdout = Some(value),
                b"stderr" => read.stderr = Some(value),
                b"persistedOutputPath" => read.persisted = true,
                b"filePath" => read.path = Some(value),
                b"structuredPatch" => read.patch = Some(value),
                b"originalFile" => read.is_create = value.is_null(),
                b"content" => read.content = Some(value),
                _ => {}
            }
        }
        read
    }
}

/// A member of what is told beside a result; the stream and the transcripts name it in two ways.
fn told<'a>(meta: Option<Value<'a>>, key: &str, other: &str) -> Option<Value<'a>> {
    let meta = meta?;
    meta.get(key).or_else(|| meta.get(other))
}

fn interrupted() -> Outcome {
    Outcome::Failure { exit_code: None, message: Some("interrupted by the user".to_owned()) }
}

/// Tools of the model's service say so by the type of their content: `…_tool_result_error`.
fn is_error_object(content: Option<Value<'_>>) -> bool {
    let Some(content) = content.filter(|content| content.is_object()) else {
        return false;
    };
    let kind = content.get("type").and_then(Value::raw_str);
    kind.is_some_and(|kind| kind.ends_with(b"_error"))
}

/// The words of a result, as far as wanted: a string, or the texts of a list of parts.
fn words_of(content: Option<Value<'_>>, most: usize) -> String {
    let Some(content) = content else {
        return String::new();
    };
    if content.raw().first() == Some(&b'"') {
        if most < content.raw().len() && content.raw_str().is_some() {
            // A cut within an escape costs one character at the end.
            let head = content.raw().get(..most).unwrap_or_default();
            let end = (0..=head.len()).rev().find(|at| is_boundary(content.raw(), *at));
            let head = head.get(..end.unwrap_or(0)).unwrap_or_default();
            return Value::new(head).cut_str().unwrap_or_default();
        }
        return content.cut_str().unwrap_or_default();
    }
    let mut words = String::new();
    for part in content.elements() {
        let text = part.get("text").or_else(|| part.get("title")).unwrap_or(part);
        let Some(text) = text.str() else { continue };
        if !words.is_empty() {
            words.push('\n');
        }
        words.push_str(&text);
        if words.len() >= most {
            break;
        }
    }
    if words.is_empty() && content.is_object() {
        let say = |key| content.get(key).and_then(Value::cut_str).unwrap_or_default();
        words = say("stdout") + &say("stderr");
    }
    if words.is_empty() {
        words = first(content, &["error_code", "message", "text"]).unwrap_or_default();
    }
    words
}

/// The exit code of a command that the model's service ran.
fn return_code(content: Option<Value<'_>>) -> Option<i32> {
    let code = content.filter(|content| content.is_object())?.get("return_code")?.i64()?;
    i32::try_from(code).ok()
}

/// Whether a character begins at that byte.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
}

/// Words for the model are wrapped in a tag.
fn plain_words(words: &str) -> &str {
    let inner = words.trim();
    let inner = inner.strip_prefix("<tool_use_error>").unwrap_or(inner);
    inner.strip_suffix("</tool_use_error>").unwrap_or(inner).trim()
}

/// The wordings of versions that do not say who decided.
fn speaks_of_denial(words: &str) -> bool {
    const WORDINGS: &[&str] = &[
        "haven't granted it",
        "permission to use",
        "permissions to use",
        "requires permission",
        "requires approval",
        "has been denied",
        "was denied by",
        "denied by your permission",
    ];
    WORDINGS.iter().any(|wording| words.contains(wording))
}
