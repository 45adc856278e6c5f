//! How Cursor's tools end: the variants of `result`, and what they give back.
//!
//! A result is an object with one key that names the variant; flags such as `isBackground` may
//! stand beside it. The names are shared by all tools (`success`, `error`, `rejected`, …).

pub(super) use super::super::kit::cut;
use super::tools::{self, DIGEST_BUDGET, is_volatile, mix, with_member};
use crate::event::Outcome;
use crate::id::digest64;
use crate::json::{self, Members, Value};

/// Where the words of a failure are found, best first.
const WORDS: &[&str] = &[
    "error",
    "errorMessage",
    "modelVisibleError",
    "reason",
    "clientVisibleError",
    "message",
    "stderr",
];

/// What a result says.
#[derive(Debug)]
pub(super) struct Ending<'a> {
    pub(super) outcome: Outcome,
    pub(super) background: bool,
    pub(super) pid: Option<u32>,
    pub(super) duration_ms: Option<u64>,
    /// Of all that stays the same when the same happens again.
    pub(super) digest: u64,
    variant: Option<Value<'a>>,
}

impl<'a> Ending<'a> {
    /// Nothing was said, or it could not be read.
    pub(super) fn unknown() -> Self {
        Ending {
            outcome: Outcome::Unknown,
            background: false,
            pid: None,
            duration_ms: None,
            digest: 0,
            variant: None,
        }
    }

    /// Reads the value of `result`, whose key was just read.
    pub(super) fn read(members: &mut Members<'a>) -> Self {
        let mut ending = Ending::unknown();
        if !members.enter() {
            // Old versions gave a bare string.
            if let Some(result) = members.value() {
                ending.outcome = Outcome::Success;
                ending.variant = Some(result);
                ending.digest = digest64(result.raw());
            }
            return ending;
        }
        let mark = members.mark() - 1;
        let mut flat = Flat::default();
        while let Some(key) = members.key() {
            match key {
                b"exitCode" => flat.exit_code(members.value()),
                b"stdout" | b"stderr" => flat.output(members.value()),
                b"isBackground" => ending.background |= is_true(members.value()),
                b"pid" => ending.pid = pid(members.value()).or(ending.pid),
                b"planUri" | b"sandboxPolicy" | b"terminalsFolder" => {
                    members.value();
                }
                _ if ending.variant.is_none() => {
                    ending.variant(key, members);
                    if key == b"success"
                        && let Some(went_well) = ending.variant.and_then(Value::bool)
                    {
                        flat.went_well = Some(went_well);
                        ending.variant = None;
                    }
                }
                _ => {
                    members.value();
                }
            }
        }
        if members.leave() && flat.is_there() {
            let all = members.since(mark);
            ending.digest = mix(ending.digest, flat.digest);
            if let Outcome::Unknown | Outcome::Success = ending.outcome {
                ending.outcome = flat.outcome(all);
            }
            if ending.variant.is_none() || flat.has_output {
                ending.variant = Some(all);
            }
        }
        ending
    }

    fn variant(&mut self, name: &[u8], members: &mut Members<'a>) {
        self.digest = digest64(name);
        let mut budget = DIGEST_BUDGET;
        let mut exit_code = None;
        let mut failed = false;
        let mut aborted = false;
        let mut timed_out = false;
        let variant = if members.enter() {
            let mark = members.mark() - 1;
            while let Some(key) = members.key() {
                let Some(value) = members.value() else {
                    break;
                };
                match key {
                    b"exitCode" => {
                        exit_code = value.i64().and_then(|code| i32::try_from(code).ok());
                    }
                    b"isError" => failed = is_true(Some(value)),
                    b"aborted" => aborted = is_true(Some(value)),
                    b"abortReason" => timed_out = value.is_str("SHELL_ABORT_REASON_TIMEOUT"),
                    b"isBackground" => self.background |= is_true(Some(value)),
                    b"pid" => self.pid = pid(Some(value)).or(self.pid),
                    b"executionTime" | b"durationMs" | b"runtimeMs" => {
                        self.duration_ms = value.u64();
                    }
                    _ => {}
                }
                self.digest = with_member(self.digest, key, value, &mut budget);
            }
            // Of a variant that is cut off the outcome is known, but not what it gave back.
            members.leave().then(|| members.since(mark))
        } else if let Some(value) = members.value() {
            self.digest = mix(self.digest, digest64(value.raw()));
            Some(value)
        } else {
            None
        };
        self.variant = variant;
        let variant = variant.unwrap_or(Value::new(b"{}"));
        self.outcome = match name {
            b"success" if failed => {
                Outcome::Failure { exit_code: None, message: text_of(variant).map(cut) }
            }
            // The awaited command's exit code is not that of the call.
            b"success" | b"failure" if exit_code.is_some_and(|code| code != 0) && !aborted => {
                Outcome::Failure { exit_code, message: words(variant) }
            }
            b"success" | b"complete" => Outcome::Success,
            b"timeout" => Outcome::TimedOut,
            b"failure" if timed_out => Outcome::TimedOut,
            b"failure" if aborted => Outcome::Failure {
                exit_code,
                message: words(variant).or_else(|| Some("aborted by the user".to_owned())),
            },
            b"failure" => Outcome::Failure { exit_code, message: words(variant) },
            b"rejected" => Outcome::Rejected { reason: words(variant).unwrap_or_default() },
            b"permissionDenied" | b"readPermissionDenied" | b"writePermissionDenied" => {
                Outcome::Denied { reason: words(variant).unwrap_or_default() }
            }
            b"spawnError" => Outcome::SpawnError { message: words(variant).unwrap_or_default() },
            b"error" => failure(variant, "error"),
            b"fileNotFound" | b"notFound" => failure(variant, "not found"),
            b"notFile" | b"invalidFile" => failure(variant, "not a file"),
            b"fileBusy" => failure(variant, "the file is busy"),
            b"toolNotFound" => failure(variant, "no such tool"),
            b"serverNotFound" => failure(variant, "no such server"),
            // `async`, `stillRunning` and `approved` say neither; nor does what is new.
            _ => Outcome::Unknown,
        };
    }

    /// What the tool gave back, as text.
    pub(super) fn output(&self) -> Option<String> {
        text_of(self.variant?).filter(|text| !text.is_empty())
    }

    /// What it changed.
    pub(super) fn diff(&self) -> Option<String> {
        tools::first(self.variant?, &["diffString", "diff"])
    }

    /// The list of things to do, as it is now.
    pub(super) fn todos(&self) -> Option<Value<'a>> {
        self.variant?.get("todos")
    }
}

/// A result without variants, as it is documented: `{exitCode,stdout,stderr}`, `{success}`.
#[derive(Debug, Default)]
struct Flat {
    exit_code: Option<i32>,
    went_well: Option<bool>,
    has_output: bool,
    digest: u64,
}

impl Flat {
    fn exit_code(&mut self, value: Option<Value<'_>>) {
        self.exit_code = value.and_then(Value::i64).and_then(|code| i32::try_from(code).ok());
        self.note(value);
    }

    fn output(&mut self, value: Option<Value<'_>>) {
        self.has_output |= value.is_some();
        self.note(value);
    }

    fn note(&mut self, value: Option<Value<'_>>) {
        let raw = value.map_or(&b""[..], Value::raw);
        let head = raw.get(..raw.len().min(DIGEST_BUDGET)).unwrap_or_default();
        self.digest = mix(self.digest, digest64(head) ^ raw.len() as u64);
    }

    fn is_there(&self) -> bool {
        self.exit_code.is_some() || self.went_well.is_some() || self.has_output
    }

    fn outcome(&self, all: Value<'_>) -> Outcome {
        match (self.exit_code, self.went_well) {
            (Some(0), None | Some(true)) | (None, Some(true)) => Outcome::Success,
            (None, None) => Outcome::Unknown,
            (exit_code, _) => Outcome::Failure { exit_code, message: words(all) },
        }
    }
}

fn is_true(value: Option<Value<'_>>) -> bool {
    value.and_then(Value::bool) == Some(true)
}

fn pid(value: Option<Value<'_>>) -> Option<u32> {
    u32::try_from(value?.u64()?).ok()
}

fn failure(variant: Value<'_>, otherwise: &str) -> Outcome {
    Outcome::Failure {
        exit_code: None,
        message: words(variant).or_else(|| Some(otherwise.to_owned())),
    }
}

fn words(variant: Value<'_>) -> Option<String> {
    variant
        .string()
        .filter(|text| !text.is_empty())
        .or_else(|| tools::first(variant, WORDS))
        .map(cut)
}

/// The readable part of a variant, whatever the tool: most of them have exactly one.
fn text_of(variant: Value<'_>) -> Option<String> {
    if !variant.is_object() {
        return variant.string();
    }
    let mut stdout = None;
    let mut stderr = None;
    let mut head = None;
    for (key, value) in variant.members() {
        match key {
            b"interleavedOutput" => {
                if let Some(text) = value.string().filter(|text| !text.is_empty()) {
                    return Some(text);
                }
            }
            b"stdout" => stdout = value.string(),
            b"stderr" => stderr = value.string(),
            b"outputHead" => head = value.string(),
            b"outputTail" => {
                let tail = value.string().unwrap_or_default();
                head = head.map(|head| format!("{head}\n…\n{tail}"));
            }
            b"content" if value.raw_str().is_none() => return Some(mcp_text(value)),
            b"content" | b"markdown" | b"results" | b"text" | b"output" => return value.string(),
            b"files" => return Some(lines(value.elements().filter_map(Value::string))),
            b"references" => return Some(references(value)),
            b"workspaceResults" => return Some(grep(value)),
            b"conversationSteps" => return Some(steps(value)),
            _ => {}
        }
    }
    match (head, stdout, stderr) {
        (Some(head), ..) if !head.is_empty() => Some(head),
        (_, Some(stdout), Some(stderr)) => Some(stdout + &stderr),
        (_, Some(text), None) | (_, None, Some(text)) => Some(text),
        (_, None, None) => words(variant).or_else(|| whole(variant)),
    }
}

/// The variant as it stands, where nobody knows better; nothing for what only repeats the input.
fn whole(variant: Value<'_>) -> Option<String> {
    let known = |key: &[u8]| {
        is_volatile(key)
            || matches!(
                key,
                b"path"
                    | b"command"
                    | b"workingDirectory"
                    | b"diffString"
                    | b"beforeFullFileContent"
                    | b"afterFullFileContent"
                    | b"linesAdded"
                    | b"linesRemoved"
                    | b"prevContent"
                    | b"isReadonly"
                    | b"timeoutMs"
            )
    };
    variant.members().any(|(key, _)| !known(key)).then(|| json::text(variant.raw()))
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

/// `[{text:{text}}|{image}]`
fn mcp_text(content: Value<'_>) -> String {
    lines(content.elements().filter_map(|part| {
        let text = part.get("text")?;
        text.string().or_else(|| text.get("text").and_then(Value::string))
    }))
}

/// `[{title,url,chunk}]`
fn references(list: Value<'_>) -> String {
    lines(list.elements().map(|reference| {
        let part = |key| tools::first(reference, &[key]);
        let parts = [part("title"), part("url"), part("chunk")];
        lines(parts.into_iter().flatten())
    }))
}

/// `[{assistantMessage:{text}}]`
fn steps(list: Value<'_>) -> String {
    lines(list.elements().filter_map(|step| step.get("assistantMessage")?.get("text")?.string()))
}

/// `{<folder>:{content|files|count}}`
fn grep(folders: Value<'_>) -> String {
    let mut out = Vec::new();
    for (_, found) in folders.members() {
        for file in found
            .get("content")
            .and_then(|content| content.get("matches"))
            .into_iter()
            .flat_map(Value::elements)
        {
            let name = tools::first(file, &["file"]).unwrap_or_default();
            for line in file.get("matches").into_iter().flat_map(Value::elements) {
                let number = line.get("lineNumber").and_then(Value::u64).unwrap_or(0);
                let text = tools::first(line, &["content"]).unwrap_or_default();
                out.push(format!("{name}:{number}:{text}"));
            }
        }
        if let Some(files) = found.get("files").and_then(|files| files.get("files")) {
            out.extend(files.elements().filter_map(Value::string));
        }
        for count in found
            .get("count")
            .and_then(|count| count.get("counts"))
            .into_iter()
            .flat_map(Value::elements)
        {
            let name = tools::first(count, &["file"]).unwrap_or_default();
            let n = count.get("count").and_then(Value::u64).unwrap_or(0);
            out.push(format!("{name}:{n}"));
        }
    }
    out.join("\n")
}
