//! A call is read alike in the stream, in a hook and by name and arguments alone, for every agent with hooks.

use crate::recordings::replay;
use serde_json::{Value, json};
use stablehand_core::Dialect;
use stablehand_core::decode::Depth;
use stablehand_core::event::{EventKind, ItemBody, Tool, ToolInput, ToolKind};

/// What tools of all kinds are given, by all the names that we know.
fn inputs() -> Vec<Value> {
    vec![
        json!({"command": "cd x && ls", "cwd": "/a", "workdir": "/b", "directory": "c"}),
        json!({"command": ["ls", "-l", "a b"]}),
        json!({"command": ["evil", "-c", "ls"]}),
        json!({"file_path": "/a", "path": "b", "notebook_path": "c", "target_notebook": "d"}),
        json!({"target_file": "/a", "target_directory": "b", "dir_path": "c"}),
        json!({"paths": ["a", "b"], "include": ["c/**", "d"], "files": [{"path": "e"}]}),
        json!({"pattern": "KEY", "path": "/home", "glob": ".ssh/**"}),
        json!({"glob_pattern": "../*", "target_directory": "/x"}),
        json!({"query": "q", "prompt": "see https://a.com and (https://b.com/x)"}),
        json!({"url": "https://a.com", "urls": ["https://b.com"]}),
        json!({"patch": "*** Add File: a\n*** Move to: /b\n"}),
        json!({"edits": [{"old_path": "a", "new_path": "b"}], "path": "c"}),
        json!({"description": "d", "todos": [{"content": "x"}]}),
        json!({}),
    ]
}

/// The agents' names of a tool: in the stream and in hooks.
fn tools(dialect: Dialect) -> &'static [(&'static str, &'static str)] {
    match dialect {
        Dialect::Cursor => &[
            ("shellToolCall", "Shell"),
            ("readToolCall", "Read"),
            ("editToolCall", "EditNotebook"),
            ("editToolCall", "StrReplace"),
            ("writeToolCall", "Write"),
            ("grepToolCall", "Grep"),
            ("globToolCall", "Glob"),
            ("deleteToolCall", "Delete"),
            ("lsToolCall", "LS"),
            ("semSearchToolCall", "SemanticSearch"),
            ("webFetchToolCall", "WebFetch"),
            ("webSearchToolCall", "WebSearch"),
            ("taskToolCall", "Task"),
            ("readLintsToolCall", "ReadLints"),
            ("unheardOfToolCall", "UnheardOf"),
        ],
        Dialect::Claude => &[
            ("Bash", "Bash"),
            ("Read", "Read"),
            ("Edit", "Edit"),
            ("Write", "Write"),
            ("MultiEdit", "MultiEdit"),
            ("NotebookEdit", "NotebookEdit"),
            ("Grep", "Grep"),
            ("Glob", "Glob"),
            ("LS", "LS"),
            ("LSP", "LSP"),
            ("WebFetch", "WebFetch"),
            ("WebSearch", "WebSearch"),
            ("Task", "Task"),
            ("Skill", "Skill"),
            ("mcp__a__b", "mcp__a__b"),
            ("UnheardOf", "UnheardOf"),
        ],
        Dialect::Gemini => &[
            ("run_shell_command", "run_shell_command"),
            ("read_file", "read_file"),
            ("replace", "replace"),
            ("write_file", "write_file"),
            ("grep_search", "grep_search"),
            ("search_file_content", "search_file_content"),
            ("glob", "glob"),
            ("list_directory", "list_directory"),
            ("read_many_files", "read_many_files"),
            ("web_fetch", "web_fetch"),
            ("google_web_search", "google_web_search"),
            ("get_internal_docs", "get_internal_docs"),
            ("mcp_a_b", "mcp_a_b"),
            ("unheard", "unheard"),
        ],
        other => panic!("{} has hooks: list its tools here", other.name()),
    }
}

fn line(dialect: Dialect, name: &str, input: &Value) -> Value {
    match dialect {
        Dialect::Cursor => json!({"type": "tool_call", "subtype": "started", "call_id": "c",
            "tool_call": { name: { "args": input } }}),
        Dialect::Claude => json!({"type": "assistant", "message": {"id": "m", "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": name, "input": input}]}}),
        _ => json!({"type": "tool_use", "tool_name": name, "tool_id": "c", "parameters": input}),
    }
}

fn judged(tool: &Tool) -> (ToolKind, ToolInput, Vec<ToolInput>) {
    (tool.tool_kind, tool.input.clone(), tool.also.clone())
}

fn streamed(dialect: Dialect, line: &Value) -> Tool {
    let text = format!("{line}\n");
    let events = replay(dialect, text.as_bytes(), 1 << 20, Depth::Skim).events;
    let tool = events.into_iter().find_map(|event| match event {
        EventKind::ItemStarted { item } => match item.body {
            ItemBody::Tool(tool) => Some(*tool),
            _ => None,
        },
        _ => None,
    });
    tool.unwrap_or_else(|| panic!("no tool in {line}"))
}

#[test]
fn stream_hook_and_check_read_the_same_call() {
    for (dialect, event) in [
        (Dialect::Cursor, "preToolUse"),
        (Dialect::Claude, "PreToolUse"),
        (Dialect::Gemini, "BeforeTool"),
    ] {
        for (in_stream, in_hook) in tools(dialect) {
            for input in inputs() {
                let what = format!("{} {in_hook} {input}", dialect.name());
                let payload = json!({"tool_name": in_hook, "tool_input": input});
                let heard = dialect.hooks().unwrap().read(event, &payload).tool.unwrap();
                let checked = dialect.read_call(in_hook, &input);
                assert_eq!(judged(&heard), judged(&checked), "hook: {what}");
                let streamed = streamed(dialect, &line(dialect, in_stream, &input));
                assert_eq!(judged(&streamed), judged(&checked), "stream: {what}");
            }
        }
    }
    let with_hooks = Dialect::ALL.iter().filter(|dialect| dialect.hooks().is_some());
    with_hooks.for_each(|dialect| assert!(!tools(*dialect).is_empty()));
}

#[test]
fn nothing_that_a_tool_is_given_hides_behind_the_first() {
    let also = |dialect: Dialect, tool, input| dialect.read_call(tool, &input).also;
    let path = |path: &str| ToolInput::Path { path: path.to_owned() };
    let url = |url: &str| ToolInput::Url { url: url.to_owned() };
    let found = also(Dialect::Claude, "Read", json!({"file_path": "a", "path": "b"}));
    assert_eq!(found, [path("b")]);
    let found = also(Dialect::Gemini, "web_fetch", json!({"prompt": "http://a.com http://b.com"}));
    assert_eq!(found, [url("http://b.com")]);
    let found = also(Dialect::Cursor, "ApplyPatch", json!({"patch": "*** Add File: a"}));
    assert_eq!(found, [path("a")]);
}
