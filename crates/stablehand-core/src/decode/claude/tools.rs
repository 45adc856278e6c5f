//! What tools are given: the `input` of a `tool_use` block.
//!
//! Which tool is of which kind is in `table`; how calls end in `outcome`.

pub(super) use super::super::kit::{cut, first, mix, todo_status};
use super::table::{Reads, Row, row_of};
use crate::event::{Todo, ToolInput, ToolKind};
use crate::id::digest64;
use crate::json::Value;
use crate::text::excerpt;

const COMMANDS: &[&str] = &["command", "cmd"];
const FOLDERS: &[&str] = &["directory", "dir_path", "cwd"];
const PATHS: &[&str] =
    &["file_path", "absolute_path", "path", "notebook_path", "filePath", "dir_path", "paths"];
const QUERIES: &[&str] = &["pattern", "query", "regex"];
const PLACES: &[&str] = &["path", "dir_path", "glob"];

/// The most that a summary in words is long.
const SUMMARY: usize = 200;

/// How much of an input or a result goes into a digest.
pub(super) const DIGEST_BUDGET: usize = 64 << 10;

/// What a tool was given.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) kind: ToolKind,
    pub(super) input: ToolInput,
    pub(super) timeout_ms: Option<u64>,
    pub(super) background: bool,
    /// Of the name and the whole input.
    pub(super) digest: u64,
}

/// Reads the input of the tool of that name; its end may be cut off.
pub(super) fn given(table: &[Row], name: &str, input: Option<Value<'_>>) -> Given {
    let row = row_of(table, name);
    let args = input.unwrap_or(Value::new(b"{}"));
    let mut given = Given {
        kind: row.kind,
        input: ToolInput::Other { summary: String::new() },
        timeout_ms: None,
        background: false,
        digest: digest64(name.as_bytes()),
    };
    let mut budget = DIGEST_BUDGET;
    for (key, value) in args.members() {
        match key {
            // Of the unit of other tools' `timeout` nothing is known.
            b"timeout" if row.kind == ToolKind::Execute => given.timeout_ms = value.u64(),
            b"timeout_ms" => given.timeout_ms = value.u64(),
            b"run_in_background" | b"is_background" => {
                given.background = value.bool() == Some(true);
            }
            _ => {}
        }
        let raw = value.raw();
        let raw = raw.get(..raw.len().min(budget)).unwrap_or_default();
        budget -= raw.len();
        given.digest = mix(mix(given.digest, digest64(key)), digest64(raw));
    }
    given.timeout_ms = given.timeout_ms.filter(|ms| *ms > 0);
    given.input = match server_and_tool(name) {
        Some((server, tool)) => ToolInput::Mcp { server: server.to_owned(), tool: tool.to_owned() },
        None => input_of(row.reads, args),
    };
    given
}

/// `mcp__<server>__<tool>`
fn server_and_tool(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

fn input_of(reads: Reads, args: Value<'_>) -> ToolInput {
    let say = |keys| first(args, keys).unwrap_or_default();
    match reads {
        Reads::Command => ToolInput::Command { command: say(COMMANDS), cwd: first(args, FOLDERS) },
        Reads::Path => ToolInput::Path { path: say(PATHS) },
        Reads::Query => ToolInput::Query { query: say(QUERIES), path: first(args, PLACES) },
        Reads::Url => ToolInput::Url { url: say(&["url", "prompt"]) },
        Reads::Agent => {
            ToolInput::SubAgent { description: short(&say(&["description", "name", "prompt"])) }
        }
        Reads::Todos => {
            ToolInput::Todos { todos: args.get("todos").map(todos).unwrap_or_default() }
        }
        Reads::Words(keys) => ToolInput::Other { summary: short(&say(keys)) },
        Reads::Anything => anything(args),
    }
}

/// A tool that is not in the table, or whose fields are not published.
fn anything(args: Value<'_>) -> ToolInput {
    if let Some(command) = first(args, COMMANDS) {
        return ToolInput::Command { command, cwd: first(args, FOLDERS) };
    }
    if let Some(url) = first(args, &["url"]) {
        return ToolInput::Url { url };
    }
    if let Some(path) = first(args, PATHS) {
        return ToolInput::Path { path };
    }
    if let Some(query) = first(args, QUERIES) {
        return ToolInput::Query { query, path: None };
    }
    let words = args
        .members()
        .find_map(|(_, value)| value.string().filter(|text| !text.is_empty()))
        .unwrap_or_default();
    ToolInput::Other { summary: short(&words) }
}

fn short(words: &str) -> String {
    excerpt(words.as_bytes(), SUMMARY)
}

/// The entries of a list of things to do.
fn todos(list: Value<'_>) -> Vec<Todo> {
    list.elements()
        .map(|todo| Todo {
            text: first(todo, &["content", "text", "activeForm"]).unwrap_or_default(),
            status: todo_status(todo),
        })
        .collect()
}
