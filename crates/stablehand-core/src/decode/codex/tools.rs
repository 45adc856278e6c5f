//! What Codex's tools are given, and how they end.

pub(super) use super::super::kit::says_nothing;
use super::super::kit::unknown_value;
use super::shell;
use super::trouble::cut;
use super::wire::{self, Kind, Wire, said};
use crate::event::{EventKind, Outcome, ToolInput, ToolKind};
use crate::id::digest64;
use crate::json::{self, Value};
use crate::line::Line;
use crate::text::excerpt;

/// How much of one member goes into a digest.
const DIGEST_BUDGET: usize = 64 << 10;

/// The most that a summary in words is long.
const SUMMARY: usize = 200;

/// What a tool was given.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) name: String,
    pub(super) kind: ToolKind,
    pub(super) input: ToolInput,
    pub(super) also: Vec<ToolInput>,
    pub(super) timeout_ms: Option<u64>,
    /// Of the name and of everything that stays the same when the call is made again.
    pub(super) digest: u64,
}

/// Reads what a tool was given.
pub(super) fn given(wire: &Wire<'_>) -> Given {
    let word = || json::text(wire.word);
    let tool = || said(wire.tool);
    let (name, kind, input) = match wire.kind {
        Kind::Command => (word(), ToolKind::Execute, command(wire)),
        Kind::Patch => {
            let changes = changes(wire);
            let path = changes.first().map(|change| change.path.clone()).unwrap_or_default();
            (word(), patch_kind(&changes), ToolInput::Path { path })
        }
        Kind::Mcp => {
            let server = said(wire.server).unwrap_or_default();
            let tool = tool().unwrap_or_default();
            (word(), ToolKind::Other, ToolInput::Mcp { server, tool })
        }
        Kind::Collab => {
            let name = tool().unwrap_or_else(word);
            let description = said(wire.prompt).unwrap_or_else(|| name.clone());
            let description = excerpt(description.as_bytes(), SUMMARY);
            (name, ToolKind::Think, ToolInput::SubAgent { description })
        }
        Kind::Search => (word(), ToolKind::Fetch, search(wire)),
        Kind::ViewImage => {
            let path = said(wire.path).unwrap_or_default();
            (word(), ToolKind::Read, ToolInput::Path { path })
        }
        _ if wire.command.is_some() => (word(), ToolKind::Execute, command(wire)),
        _ => {
            let words = said(wire.prompt)
                .or_else(|| wire.arguments.map(|args| json::text(args.raw())))
                .unwrap_or_default();
            let summary = excerpt(words.as_bytes(), SUMMARY);
            (tool().unwrap_or_else(word), ToolKind::Other, ToolInput::Other { summary })
        }
    };
    let mut also = Vec::new();
    if wire.kind == Kind::Patch {
        let others = changes(wire).into_iter().skip(1);
        also.extend(others.map(|change| ToolInput::Path { path: change.path }));
    }
    let lasts = wire.duration.filter(|_| wire.kind == Kind::Sleep);
    let given = [
        wire.command,
        wire.cwd,
        wire.changes,
        wire.server,
        wire.arguments,
        wire.prompt,
        wire.receivers,
        wire.query,
        wire.action,
        lasts,
    ];
    let digest = with(digest64(name.as_bytes()), &given);
    Given { name, kind, input, also, timeout_ms: lasts.and_then(Value::u64), digest }
}

fn command(wire: &Wire<'_>) -> ToolInput {
    ToolInput::Command {
        command: match wire.command.and_then(Value::str) {
            Some(command) => shell::unwrapped(&command),
            // Cut off, perhaps.
            None => said(wire.command).unwrap_or_default(),
        },
        cwd: said(wire.cwd),
    }
}

/// A search, or a page that was opened in the course of one.
fn search(wire: &Wire<'_>) -> ToolInput {
    let action = |key| said(wire.action.and_then(|action| action.get(key)));
    if let Some(url) = action("url") {
        return ToolInput::Url { url };
    }
    let query = said(wire.query).or_else(|| action("query")).unwrap_or_default();
    ToolInput::Query { query, path: None }
}

/// One file of a patch.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: String,
    /// `add`, `delete` or `update`.
    kind: String,
    moves: bool,
    diff: Option<String>,
}

impl Change {
    /// The same with the names of the file, to stand among others.
    pub(super) fn with_name(&self) -> Option<String> {
        let mut diff = self.unified()?;
        if !diff.ends_with('\n') {
            diff.push('\n');
        }
        Some(format!("--- {0}\n+++ {0}\n{diff}", self.path))
    }

    /// What it changes, as a unified diff: of a file that comes or goes Codex gives the content.
    pub(super) fn unified(&self) -> Option<String> {
        let text = self.diff.as_deref().filter(|text| !text.is_empty())?;
        let sign = match self.kind.as_str() {
            "add" => '+',
            "delete" => '-',
            _ => return Some(text.to_owned()),
        };
        let n = text.lines().count();
        let mut diff = match sign {
            '+' => format!("@@ -0,0 +1,{n} @@\n"),
            _ => format!("@@ -1,{n} +0,0 @@\n"),
        };
        for line in text.lines() {
            diff.push(sign);
            diff.push_str(line);
            diff.push('\n');
        }
        Some(diff)
    }
}

/// The files of a patch: a list, or in old versions an object by path.
pub(super) fn changes(wire: &Wire<'_>) -> Vec<Change> {
    let Some(list) = wire.changes else {
        return Vec::new();
    };
    list.elements()
        .map(|change| {
            let kind = change.get("kind");
            let inner = |key| kind.and_then(|kind| kind.get(key));
            Change {
                path: said(change.get("path")).unwrap_or_default(),
                kind: said(kind).or_else(|| said(inner("type"))).unwrap_or_default(),
                moves: said(inner("move_path").or_else(|| inner("movePath"))).is_some(),
                diff: said(change.get("diff")),
            }
        })
        .collect()
}

/// The files of a patch as a rollout has them: an object by path.
pub(super) fn stored_changes(changes: Option<Value<'_>>) -> Vec<Change> {
    let change = |(path, change): (&[u8], Value<'_>)| Change {
        path: Value::new(&[b"\"", path, b"\""].concat()).string().unwrap_or_default(),
        kind: said(change.get("type")).unwrap_or_default(),
        moves: said(change.get("move_path")).is_some(),
        diff: said(change.get("unified_diff").or_else(|| change.get("content"))),
    };
    changes.into_iter().flat_map(Value::members).map(change).collect()
}

/// Tells of changes to files of a kind that is not known, in an item of a rollout.
pub(super) fn tell_unknown_changes(
    changes: Option<Value<'_>>,
    line: &Line<'_>,
    out: &mut Vec<EventKind>,
) {
    for change in stored_changes(changes) {
        if !matches!(change.kind.as_str(), "" | "add" | "delete" | "update") {
            unknown_value("change of type", change.kind.as_bytes(), line, out);
        }
    }
}

fn patch_kind(changes: &[Change]) -> ToolKind {
    let all = |test: fn(&Change) -> bool| !changes.is_empty() && changes.iter().all(test);
    if all(|change| change.kind == "delete") {
        ToolKind::Delete
    } else if all(|change| change.moves) {
        ToolKind::Move
    } else {
        ToolKind::Edit
    }
}

/// How a call ended.
pub(super) fn outcome(wire: &Wire<'_>) -> Outcome {
    let exit_code = wire.exit_code.and_then(Value::i64).and_then(|code| i32::try_from(code).ok());
    let status = wire.status.and_then(Value::raw_str).unwrap_or_default();
    let failed = || {
        if timed_out(wire) {
            return Outcome::TimedOut;
        }
        // What a command printed is its output; where it has no exit code, it is the reason.
        let words = error_words(wire).or_else(|| said(wire.output).filter(|_| exit_code.is_none()));
        Outcome::Failure { exit_code, message: words.map(cut) }
    };
    match status {
        b"declined" | b"rejected" => {
            Outcome::Rejected { reason: error_words(wire).map(cut).unwrap_or_default() }
        }
        b"failed" | b"error" | b"errored" => failed(),
        b"interrupted" | b"cancelled" | b"canceled" | b"aborted" => {
            let message = error_words(wire).unwrap_or_else(|| "interrupted".to_owned());
            Outcome::Failure { exit_code, message: Some(cut(message)) }
        }
        _ if exit_code.is_some_and(|code| code != 0) || is_error(wire) => failed(),
        b"completed" => Outcome::Success,
        b"" if !wire.kind.has_status() || exit_code == Some(0) => Outcome::Success,
        // An image's status is whatever the model's service called it.
        _ if wire.kind == Kind::MakeImage => Outcome::Success,
        _ => Outcome::Unknown,
    }
}

fn is_error(wire: &Wire<'_>) -> bool {
    let flag = |key| wire.result.and_then(|result| result.get(key)).and_then(Value::bool);
    wire.success.and_then(Value::bool) == Some(false)
        || flag("isError") == Some(true)
        || flag("is_error") == Some(true)
        || wire.error.is_some_and(Value::is_object)
}

fn error_words(wire: &Wire<'_>) -> Option<String> {
    let error = wire.error?;
    said(error.get("message")).or_else(|| said(Some(error)))
}

/// A command that took too long ends with 124 and says so first.
fn timed_out(wire: &Wire<'_>) -> bool {
    let is_124 = wire.exit_code.is_some_and(|code| code.raw() == b"124");
    let says_so = |output: &[u8]| output.starts_with(b"command timed out");
    is_124 && wire.output.and_then(Value::raw_str).is_some_and(says_so)
}

/// What a call gave back, as text.
pub(super) fn output(wire: &Wire<'_>) -> Option<String> {
    said(wire.output)
        .or_else(|| wire.result.and_then(|result| result.get("content")).and_then(lines))
        .or_else(|| wire.content.and_then(lines))
        .or_else(|| said(wire.path).filter(|_| wire.kind == Kind::MakeImage))
        .or_else(|| wire.states.and_then(answers))
        .or_else(|| error_words(wire))
}

fn lines(list: Value<'_>) -> Option<String> {
    wire::parts(list, "\n")
}

/// What other agents answered: `{<thread>:{status,message}}`.
fn answers(states: Value<'_>) -> Option<String> {
    let answers: Vec<String> =
        states.members().filter_map(|(_, state)| said(state.get("message"))).collect();
    (!answers.is_empty()).then(|| answers.join("\n"))
}

/// A digest with how the call ended in it.
pub(super) fn digest_of_end(digest: u64, wire: &Wire<'_>) -> u64 {
    let ends = [
        wire.status,
        wire.exit_code,
        wire.output,
        wire.result,
        wire.error,
        wire.success,
        wire.content,
        wire.states,
    ];
    with(digest, &ends)
}

/// Folds members in, each with its place, so that one is not mistaken for another.
fn with(mut digest: u64, members: &[Option<Value<'_>>]) -> u64 {
    for (place, member) in (1u64..).zip(members) {
        if let Some(member) = member {
            let raw = member.raw();
            let raw = raw.get(..DIGEST_BUDGET).unwrap_or(raw);
            digest = (digest.rotate_left(25) ^ digest64(raw) ^ place)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
    digest
}
