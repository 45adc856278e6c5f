//! What tools are given, read by the usual names of fields.
//!
//! Which tool is read how is a table of each dialect; the names of the fields are much the same
//! everywhere. A tool that no table has is still a tool, of kind *other*.

use crate::event::{Todo, TodoStatus, Tool, ToolInput, ToolKind};
use crate::id::digest64;
use crate::json::Value;
use crate::text::excerpt;

/// Names of members, in lower case and without `_` and `-`: agents write the same name in many ways.
const COMMANDS: &[&str] = &["command", "cmd", "commandline", "script"];
const FOLDERS: &[&str] = &["workdir", "workingdirectory", "cwd", "dirpath", "directory"];
const PATHS: &[&str] = &[
    "filepath",
    "path",
    "absolutepath",
    "targetfile",
    "notebookpath",
    "targetnotebook",
    "filename",
    "file",
    "dirpath",
    "directorypath",
    "targetdirectory",
    "directory",
    "canvaspath",
    "relativeworkspacepath",
    "paths",
    "files",
];
/// Names of places beside the one that a tool is mostly about.
const MORE_PATHS: &[&str] = &[
    "oldpath",
    "newpath",
    "movepath",
    "source",
    "destination",
    "src",
    "dst",
    "from",
    "to",
    "targetdirectories",
    "searchpath",
    "searchdirectory",
];
/// Names of patterns of file names.
const GLOBS: &[&str] = &["glob", "globs", "globpattern", "include", "includes", "includepattern"];
const QUERIES: &[&str] =
    &["pattern", "globpattern", "query", "searchterm", "regex", "search", "prompt"];
const PLACES: &[&str] = &[
    "path",
    "dirpath",
    "targetdirectory",
    "targetdirectories",
    "searchpath",
    "searchdirectory",
    "directory",
    "paths",
];
const URLS: &[&str] = &["url", "urls", "uri"];
const TASKS: &[&str] = &[
    "description",
    "name",
    "taskname",
    "objective",
    "task",
    "query",
    "request",
    "question",
    "prompt",
];

/// Deeper arguments are not looked at; tools do not nest paths.
const MAX_DEPTH: usize = 6;

/// So many patterns of names are told each in each folder; beyond that everything counts as searched.
const MOST_PATTERNS: usize = 256;

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
    /// A search for a text or in the web.
    Query,
    /// A search for names of files.
    Files,
    Url,
    /// A tool of an MCP server, named among the arguments.
    Mcp,
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
    pub(in super::super) name: &'static str,
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

/// The row of a tool of an agent that has no table of its own. A name that says nothing is `other`.
pub(in super::super) fn usual_row(name: &str) -> Row {
    let lower: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let lower = lower.to_lowercase();
    let word =
        lower.strip_suffix("toolcall").or_else(|| lower.strip_suffix("tool")).unwrap_or(&lower);
    match word {
        "shell" | "bash" | "runterminalcmd" | "runshellcommand" | "execcommand" | "localshell"
        | "powershell" | "terminal" | "execute" | "exec" | "shellcommand" | "commandexecution" => {
            row("", ToolKind::Execute, Reads::Command)
        }
        "writeshellstdin" => row("", ToolKind::Execute, Reads::Words(&["chars", "input"])),
        "read" | "readfile" | "view" | "ls" | "list" | "listdir" | "listdirectory"
        | "readmanyfiles" | "notebookread" | "tabread" => row("", ToolKind::Read, Reads::Path),
        "applypatch" | "patch" | "filechange" => {
            row("", ToolKind::Edit, Reads::Words(&["patch", "input"]))
        }
        "write" | "edit" | "multiedit" | "writefile" | "editfile" | "searchreplace" | "replace"
        | "strreplace" | "strreplaceeditor" | "notebookedit" | "create" | "tabwrite" => {
            row("", ToolKind::Edit, Reads::Path)
        }
        "delete" | "deletefile" | "remove" => row("", ToolKind::Delete, Reads::Path),
        "move" | "rename" => row("", ToolKind::Move, Reads::Path),
        "glob" | "filesearch" => row("", ToolKind::Search, Reads::Files),
        "grep" | "search" | "rg" | "grepsearch" | "codebasesearch" | "semsearch"
        | "searchfilecontent" => row("", ToolKind::Search, Reads::Query),
        "fetch" | "webfetch" => row("", ToolKind::Fetch, Reads::Url),
        "websearch" | "googlewebsearch" => row("", ToolKind::Fetch, Reads::Query),
        "task" | "agent" => row("", ToolKind::Think, Reads::Agent),
        "todowrite" | "updatetodos" => row("", ToolKind::Think, Reads::Todos),
        "think" => row("", ToolKind::Think, Reads::Anything),
        "switchmode" | "exitplanmode" | "enterplanmode" => {
            row("", ToolKind::SwitchMode, Reads::Anything)
        }
        _ => Row::UNKNOWN,
    }
}

/// A call of a tool of that table.
pub(in super::super) fn call(table: &[Row], name: &str, args: Value<'_>) -> Tool {
    let row = row_of(table, name).unwrap_or_default();
    super::tool(String::new(), name, row, given(name, row, Some(args)))
}

impl Default for Row {
    fn default() -> Self {
        Row::UNKNOWN
    }
}

impl Row {
    /// A tool that is in no table.
    pub(in super::super) const UNKNOWN: Row = row("", ToolKind::Other, Reads::Anything);
}

/// What a tool was given.
#[derive(Debug)]
pub(in super::super) struct Given {
    pub(in super::super) input: ToolInput,
    /// What else it was given that a policy judges.
    pub(in super::super) also: Vec<ToolInput>,
    pub(in super::super) timeout_ms: Option<u64>,
    pub(in super::super) background: bool,
    /// Of the name and of everything that stays the same when the call is made again.
    pub(in super::super) digest: u64,
}

impl Given {
    /// Says that it is a call of an MCP server's tool, whose arguments mean what the server makes of them.
    pub(in super::super) fn is_mcp(&mut self, server: String, tool: String) {
        self.input = ToolInput::Mcp { server, tool };
        self.also.clear();
    }
}

/// Reads the arguments of a call; they may be cut off.
pub(in super::super) fn given(name: &str, row: Row, args: Option<Value<'_>>) -> Given {
    let args = args.unwrap_or(Value::new(b"{}"));
    let mut given = Given {
        input: ToolInput::Other { summary: String::new() },
        also: Vec::new(),
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
    (given.input, given.also) = input_of(row, args);
    given
}

/// Reads what a tool is given: the one reading for streams, requests, hooks and `policy check`. The
/// first value is what the tool is mostly about; a `Query` among the others is a pattern of file names.
pub(in super::super) fn input_of(row: Row, args: Value<'_>) -> (ToolInput, Vec<ToolInput>) {
    let say = |names| all(args, names).into_iter().next().unwrap_or_default();
    let other = |summary: &str| ToolInput::Other { summary: excerpt(summary.as_bytes(), SUMMARY) };
    match row.reads {
        Reads::Command => {
            split(commands(args), || ToolInput::Command { command: String::new(), cwd: None })
        }
        Reads::Path => {
            let mut found: Vec<_> = paths(args).into_iter().map(path_of).collect();
            let patterns = all(args, GLOBS);
            found.extend(found_in(&patterns, &[]));
            // A place that cannot be read is no place: empty, it would be the folder of the tool.
            match split(found, || other("")) {
                (ToolInput::Query { query, path: None }, also) => {
                    (ToolInput::Path { path: query.clone() }, with_first(query, also))
                }
                split => split,
            }
        }
        Reads::Query | Reads::Files if row.kind == ToolKind::Fetch => {
            (ToolInput::Query { query: say(QUERIES), path: None }, Vec::new())
        }
        Reads::Query | Reads::Files => search(row.reads, args),
        Reads::Url => split(urls(args), || ToolInput::Url { url: String::new() }),
        Reads::Mcp => (mcp(args), Vec::new()),
        Reads::Agent => {
            let description = excerpt(say(TASKS).as_bytes(), SUMMARY);
            (ToolInput::SubAgent { description }, Vec::new())
        }
        Reads::Todos => (ToolInput::Todos { todos: todos(args) }, Vec::new()),
        Reads::Words(keys) => {
            let words = first(args, keys).unwrap_or_default();
            let mut found: Vec<_> = paths(args).into_iter().map(path_of).collect();
            patched(args, 0, &mut found);
            (other(&words), found)
        }
        Reads::Anything => anything(args),
    }
}

/// The first of what was found apart from the others; without any, what stands for nothing.
fn split(
    found: Vec<ToolInput>,
    nothing: impl FnOnce() -> ToolInput,
) -> (ToolInput, Vec<ToolInput>) {
    let mut found = found.into_iter();
    let first = found.next().unwrap_or_else(nothing);
    let mut also: Vec<ToolInput> = Vec::new();
    for one in found {
        if one != first && !also.contains(&one) {
            also.push(one);
        }
    }
    (first, also)
}

fn with_first(query: String, mut also: Vec<ToolInput>) -> Vec<ToolInput> {
    also.insert(0, ToolInput::Query { query, path: None });
    also
}

fn path_of(path: String) -> ToolInput {
    ToolInput::Path { path }
}

/// Every command among the arguments, in every folder that it may run in.
fn commands(args: Value<'_>) -> Vec<ToolInput> {
    let mut commands = Vec::new();
    for (key, value) in args.members() {
        if !is_one_of(key, COMMANDS) {
            continue;
        }
        match value.raw() {
            // A list of words is run without a shell; quoted, it means the same to one.
            [b'[', ..] => {
                let words: Option<Vec<String>> = value.elements().map(Value::string).collect();
                commands.push(words.map(|words| line_of(&words)).unwrap_or_default());
            }
            _ => commands.extend(value.string().filter(|command| !command.is_empty())),
        }
    }
    let mut folders: Vec<Option<String>> = all(args, FOLDERS).into_iter().map(Some).collect();
    if folders.is_empty() {
        folders.push(None);
    }
    let at = |command: &String| {
        let command = command.clone();
        folders
            .iter()
            .map(move |cwd| ToolInput::Command { command: command.clone(), cwd: cwd.clone() })
            .collect::<Vec<_>>()
    };
    commands.iter().flat_map(at).collect()
}

/// A list of words as a line; of a shell with a script, the script.
fn line_of(words: &[String]) -> String {
    let is_shell =
        |program: &str| matches!(program.rsplit('/').next(), Some("sh" | "bash" | "dash" | "zsh"));
    match words {
        [shell, flag, script] if is_shell(shell) && matches!(flag.as_str(), "-c" | "-lc") => {
            script.clone()
        }
        words => crate::words::join(words),
    }
}

/// Every path among the arguments, the most telling name first.
fn paths(args: Value<'_>) -> Vec<String> {
    let mut found = all(args, PATHS);
    nested(args, 0, &mut found);
    found
}

fn nested(args: Value<'_>, depth: usize, found: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    match args.raw() {
        [b'{', ..] => {
            for (key, value) in args.members() {
                if is_one_of(key, MORE_PATHS) || (depth > 0 && is_one_of(key, PATHS)) {
                    texts(value, found);
                }
                nested(value, depth + 1, found);
            }
        }
        [b'[', ..] => args.elements().for_each(|value| nested(value, depth + 1, found)),
        _ => {}
    }
}

/// A search: the places that it begins in, and the names that it looks for there.
fn search(reads: Reads, args: Value<'_>) -> (ToolInput, Vec<ToolInput>) {
    let query = all(args, QUERIES).into_iter().next().unwrap_or_default();
    let places = all(args, PLACES);
    let mut patterns = all(args, GLOBS);
    if reads == Reads::Files {
        patterns.extend(all(args, QUERIES));
    }
    let mut others = paths(args);
    others.retain(|path| !places.contains(path));
    let mut also: Vec<ToolInput> =
        places.iter().skip(1).cloned().chain(others).map(path_of).collect();
    also.extend(found_in(&patterns, &places));
    (ToolInput::Query { query, path: places.into_iter().next() }, also)
}

/// Patterns of names in every folder that they are looked for in.
fn found_in(patterns: &[String], places: &[String]) -> Vec<ToolInput> {
    if patterns.len() * places.len().max(1) > MOST_PATTERNS {
        return vec![ToolInput::Query { query: "**".to_owned(), path: Some("/".to_owned()) }];
    }
    let mut found: Vec<ToolInput> = Vec::new();
    for pattern in patterns {
        let mut add = |path: Option<String>| {
            let one = ToolInput::Query { query: pattern.clone(), path };
            if !found.contains(&one) {
                found.push(one);
            }
        };
        if places.is_empty() {
            add(None);
        }
        for place in places {
            add(Some(place.clone()));
        }
    }
    found
}

/// Every address among the arguments, or in the words that a fetch is asked with.
fn urls(args: Value<'_>) -> Vec<ToolInput> {
    let mut found = all(args, URLS);
    if found.is_empty() {
        let words = all(args, &["prompt", "query"]);
        for text in &words {
            found.extend(urls_in(text));
        }
        if found.is_empty() {
            found.extend(words.first().map(|words| excerpt(words.as_bytes(), SUMMARY)));
        }
    }
    found.into_iter().map(|url| ToolInput::Url { url }).collect()
}

/// The addresses in some words.
fn urls_in(text: &str) -> impl Iterator<Item = String> {
    text.match_indices("://").map(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let start = before.trim_end_matches(of_scheme).len();
        let rest = text.get(start..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '`');
        rest.split(ends).next().unwrap_or_default().to_owned()
    })
}

/// A tool whose fields are not known.
fn anything(args: Value<'_>) -> (ToolInput, Vec<ToolInput>) {
    if let Some(words) = args.string() {
        return (ToolInput::Other { summary: short(Some(words)) }, Vec::new());
    }
    let mut found = commands(args);
    found.extend(all(args, URLS).into_iter().map(|url| ToolInput::Url { url }));
    found.extend(paths(args).into_iter().map(path_of));
    if found.is_empty()
        && let Some(query) = all(args, &["pattern", "globpattern", "query", "searchterm", "regex"])
            .into_iter()
            .next()
    {
        found.push(ToolInput::Query { query, path: None });
    }
    found.extend(found_in(&all(args, GLOBS), &[]));
    let mut patches = Vec::new();
    patched(args, 0, &mut patches);
    found.extend(patches);
    split(found, || {
        // Ids of the agent's own say nothing.
        let words = args.members().filter(|(key, _)| !key.ends_with(b"Id"));
        let words = words.into_iter().find_map(|(_, it)| it.string().filter(|s| !s.is_empty()));
        ToolInput::Other { summary: short(words) }
    })
}

/// The files that patches among the arguments name.
fn patched(args: Value<'_>, depth: usize, found: &mut Vec<ToolInput>) {
    const MARKS: &[&str] =
        &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    match args.raw() {
        _ if depth > MAX_DEPTH => {}
        [b'{', ..] => args.members().for_each(|(_, value)| patched(value, depth + 1, found)),
        [b'[', ..] => args.elements().for_each(|value| patched(value, depth + 1, found)),
        _ => {
            let text = args.str().unwrap_or_default();
            for line in text.lines() {
                let line = line.trim_start();
                let path = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
                found.extend(path.map(|path| path_of(path.to_owned())));
            }
        }
    }
}

fn mcp(args: Value<'_>) -> ToolInput {
    let server = first(args, &["serverIdentifier", "providerIdentifier", "server", "ServerName"]);
    let server = server.unwrap_or_default();
    let tool = first(args, &["toolName", "ToolName", "uri"]).or_else(|| {
        // `<server>-<tool>`
        let name = first(args, &["name"])?;
        let rest = name.strip_prefix(server.as_str());
        let rest = rest.and_then(|rest| rest.strip_prefix('-'));
        Some(rest.unwrap_or(&name).to_owned())
    });
    ToolInput::Mcp { server, tool: tool.unwrap_or_default() }
}

fn short(words: Option<String>) -> String {
    words.map(|words| excerpt(words.as_bytes(), SUMMARY)).unwrap_or_default()
}

/// Every text below these names, those of the first name first. Names are compared as in [`COMMANDS`].
fn all(args: Value<'_>, names: &[&str]) -> Vec<String> {
    let mut ranked: Vec<(usize, Vec<String>)> = Vec::new();
    for (key, value) in args.members() {
        if let Some(rank) = names.iter().position(|name| is_called(key, name)) {
            let mut found = Vec::new();
            texts(value, &mut found);
            ranked.push((rank, found));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().flat_map(|(_, found)| found).collect()
}

/// A text, or the texts of a list.
fn texts(value: Value<'_>, found: &mut Vec<String>) {
    let mut add = |value: Value<'_>| found.extend(value.string().filter(|text| !text.is_empty()));
    match value.raw() {
        [b'[', ..] => value.elements().for_each(add),
        _ => add(value),
    }
}

fn is_one_of(key: &[u8], names: &[&str]) -> bool {
    names.iter().any(|name| is_called(key, name))
}

fn is_called(key: &[u8], name: &str) -> bool {
    let letters = key.iter().filter(|byte| !matches!(byte, b'_' | b'-'));
    letters.map(u8::to_ascii_lowercase).eq(name.bytes())
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
