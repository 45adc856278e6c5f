//! What tools are given, read by the usual names of fields.
//!
//! Which tool is read how is a table of each dialect; the names of the fields are much the same
//! everywhere. A tool that no table has is still a tool, of kind *other*.

use crate::event::{Todo, TodoStatus, ToolInput, ToolKind};
use crate::id::digest64;
use crate::json::Value;
use crate::text::excerpt;

const COMMANDS: &[&str] = &["command", "cmd", "script"];
const FOLDERS: &[&str] = &["dir_path", "workdir", "directory", "cwd", "workingDirectory"];
const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "dir_path",
    "filename",
    "paths",
    "include",
    "directory",
];
const QUERIES: &[&str] = &["pattern", "query", "regex", "search", "prompt"];
const PLACES: &[&str] = &["dir_path", "path", "paths", "directory", "include"];
const URLS: &[&str] = &["url", "urls", "uri"];
const TASKS: &[&str] =
    &["description", "name", "objective", "task", "query", "request", "question", "prompt"];

/// The most that a summary in words is long.
const SUMMARY: usize = 200;

/// Messages longer than this are cut: they are for one line in a list.
const MESSAGE: usize = 2048;

/// How much of the beginning and of the end of a value goes into a digest.
const DIGEST_PART: usize = 4 << 10;

/// How the input of a tool is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Reads {
    Command,
    Path,
    Query,
    Url,
    Agent,
    Todos,
    /// The first of these that is there, as a few words.
    Words(&'static [&'static str]),
    /// Whatever is there.
    Anything,
}

/// One kind of tool.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Row {
    name: &'static str,
    pub(in super::super) kind: ToolKind,
    pub(in super::super) reads: Reads,
}

/// For the tables.
pub(in super::super) const fn row(name: &'static str, kind: ToolKind, reads: Reads) -> Row {
    Row { name, kind, reads }
}

/// The row of a tool; `None` where the table does not have it.
pub(in super::super) fn row_of(table: &[Row], name: &str) -> Option<Row> {
    table.iter().find(|row| row.name == name).copied()
}

impl Row {
    /// A tool that is in no table.
    pub(in super::super) const UNKNOWN: Row = row("", ToolKind::Other, Reads::Anything);
}

/// What a tool was given.
#[derive(Debug)]
pub(in super::super) struct Given {
    pub(in super::super) input: ToolInput,
    pub(in super::super) timeout_ms: Option<u64>,
    pub(in super::super) background: bool,
    /// Of the name and of everything that stays the same when the call is made again.
    pub(in super::super) digest: u64,
}

/// Reads the arguments of a call; they may be cut off.
pub(in super::super) fn given(name: &str, row: Row, args: Option<Value<'_>>) -> Given {
    let args = args.unwrap_or(Value::new(b"{}"));
    let mut given = Given {
        input: ToolInput::Other { summary: String::new() },
        timeout_ms: None,
        background: false,
        digest: digest64(name.as_bytes()),
    };
    for (key, value) in args.members() {
        match key {
            // In milliseconds wherever a shell has it.
            b"timeout" if row.reads == Reads::Command => given.timeout_ms = value.u64(),
            b"timeoutMs" | b"timeout_ms" => given.timeout_ms = value.u64(),
            b"is_background" | b"background" | b"run_in_background" | b"detach" => {
                given.background |= value.bool() == Some(true);
            }
            b"mode" if row.reads == Reads::Command => given.background |= value.is_str("async"),
            // What the model calls its command may change while the command stays.
            b"description" if row.reads == Reads::Command => continue,
            _ => {}
        }
        given.digest = mix(mix(given.digest, digest64(key)), digest_of(value.raw()));
    }
    given.timeout_ms = given.timeout_ms.filter(|ms| *ms > 0);
    given.input = input_of(row.reads, args);
    given
}

fn input_of(reads: Reads, args: Value<'_>) -> ToolInput {
    match reads {
        Reads::Command => ToolInput::Command {
            command: first(args, COMMANDS).unwrap_or_default(),
            cwd: first(args, FOLDERS),
        },
        Reads::Path => ToolInput::Path { path: first(args, PATHS).unwrap_or_default() },
        Reads::Query => ToolInput::Query {
            query: first(args, QUERIES).unwrap_or_default(),
            path: first(args, PLACES),
        },
        Reads::Url => {
            ToolInput::Url { url: first(args, URLS).or_else(|| url_in(args)).unwrap_or_default() }
        }
        Reads::Agent => ToolInput::SubAgent { description: short(first(args, TASKS)) },
        Reads::Todos => ToolInput::Todos { todos: todos(args) },
        Reads::Words(keys) => ToolInput::Other { summary: short(first(args, keys)) },
        Reads::Anything => anything(args),
    }
}

/// A tool whose fields are not known.
fn anything(args: Value<'_>) -> ToolInput {
    if let Some(command) = first(args, COMMANDS) {
        return ToolInput::Command { command, cwd: first(args, FOLDERS) };
    }
    if let Some(url) = first(args, URLS) {
        return ToolInput::Url { url };
    }
    if let Some(path) = first(args, &["file_path", "filePath", "path"]) {
        return ToolInput::Path { path };
    }
    if let Some(query) = first(args, &["pattern", "query", "regex"]) {
        return ToolInput::Query { query, path: None };
    }
    let words = args.members().find_map(|(_, value)| value.string().filter(|s| !s.is_empty()));
    ToolInput::Other { summary: short(words) }
}

fn short(words: Option<String>) -> String {
    words.map(|words| excerpt(words.as_bytes(), SUMMARY)).unwrap_or_default()
}

/// The first address in the words that a fetch was asked with, or else the words.
fn url_in(args: Value<'_>) -> Option<String> {
    let words = first(args, &["prompt", "query"])?;
    let url = words.split_whitespace().find(|word| word.contains("://")).map(str::to_owned);
    Some(url.unwrap_or_else(|| excerpt(words.as_bytes(), SUMMARY)))
}

/// The first of these members that says something; of an array, its first element. The object is
/// walked once, however many keys are tried.
pub(in super::super) fn first(args: Value<'_>, keys: &[&str]) -> Option<String> {
    let mut best: Option<(usize, Value<'_>)> = None;
    for (key, value) in args.members() {
        let before = best.map_or(keys.len(), |(rank, _)| rank);
        let Some(rank) = keys.iter().take(before).position(|k| k.as_bytes() == key) else {
            continue;
        };
        let value = match value.raw() {
            [b'[', ..] => value.elements().next(),
            _ => Some(value),
        };
        let Some(value) = value.filter(|value| value.raw_str().is_some_and(|s| !s.is_empty()))
        else {
            continue;
        };
        best = Some((rank, value));
        if rank == 0 {
            break;
        }
    }
    best.and_then(|(_, value)| value.string())
}

/// The entries of a list of things to do: objects, or a list in Markdown.
fn todos(args: Value<'_>) -> Vec<Todo> {
    let Some(list) = args.get("todos") else {
        return Vec::new();
    };
    if let Some(text) = list.str() {
        return text.lines().filter_map(markdown_todo).collect();
    }
    list.elements()
        .map(|todo| Todo {
            text: first(todo, &["content", "description", "text", "title"]).unwrap_or_default(),
            status: todo_status(todo),
        })
        .collect()
}

/// How far an entry of a list of things to do is, by its `status`; without one it is pending.
pub(in super::super) fn todo_status(todo: Value<'_>) -> TodoStatus {
    let word = todo.get("status").and_then(Value::str).unwrap_or_default();
    let word = word.trim_start_matches("TODO_STATUS_").replace(['-', '_'], "");
    match word.to_ascii_lowercase().as_str() {
        "" | "pending" | "notstarted" | "todo" | "unspecified" => TodoStatus::Pending,
        "inprogress" => TodoStatus::InProgress,
        "completed" | "done" => TodoStatus::Completed,
        "cancelled" | "canceled" | "blocked" => TodoStatus::Cancelled,
        _ => TodoStatus::Unknown,
    }
}

/// `- [x] text`
fn markdown_todo(line: &str) -> Option<Todo> {
    let rest = line.trim().trim_start_matches(['-', '*', ' ']).strip_prefix('[')?;
    let (mark, text) = rest.split_once(']')?;
    let status = match mark.trim() {
        "x" | "X" => TodoStatus::Completed,
        "" => TodoStatus::Pending,
        _ => TodoStatus::InProgress,
    };
    Some(Todo { text: text.trim().to_owned(), status })
}

/// Whether there is nothing in it to show or to judge by.
pub(in super::super) fn says_nothing(input: &ToolInput) -> bool {
    match input {
        ToolInput::Command { command: text, .. }
        | ToolInput::Path { path: text }
        | ToolInput::Query { query: text, .. }
        | ToolInput::Url { url: text }
        | ToolInput::Mcp { tool: text, .. }
        | ToolInput::SubAgent { description: text }
        | ToolInput::Other { summary: text } => text.is_empty(),
        ToolInput::Todos { todos } => todos.is_empty(),
    }
}

/// Folds one more digest in.
pub(in super::super) fn mix(digest: u64, more: u64) -> u64 {
    (digest.rotate_left(25) ^ more).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The digest of some bytes; of many, that of their number, their beginning and their end, which
/// is where outputs differ if they do.
pub(in super::super) fn digest_of(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<DIGEST_PART>(), bytes.last_chunk::<DIGEST_PART>()) {
        (Some(first), Some(last)) => mix(mix(digest64(first), digest64(last)), bytes.len() as u64),
        _ => digest64(bytes),
    }
}

/// The beginning of a message, cut at a character.
pub(in super::super) fn cut(mut text: String) -> String {
    if text.len() > MESSAGE {
        let end = (0..=MESSAGE).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}
