//! What a tool is by its name, and what its arguments say, where no decoder has read them.
//!
//! For hooks and for `policy check`, which know a tool by name and JSON alone.

use serde_json::Value;
use stablehand_core::event::{ToolInput, ToolKind};

/// The kind of a tool by its name. A name that says nothing is `other`.
pub fn kind_of(name: &str) -> ToolKind {
    let lower: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let lower = lower.to_lowercase();
    let word =
        lower.strip_suffix("toolcall").or_else(|| lower.strip_suffix("tool")).unwrap_or(&lower);
    match word {
        "shell" | "bash" | "runterminalcmd" | "runshellcommand" | "execcommand" | "localshell"
        | "powershell" | "terminal" | "execute" | "exec" | "writeshellstdin" => ToolKind::Execute,
        "read" | "readfile" | "view" | "ls" | "list" | "listdir" | "listdirectory"
        | "readmanyfiles" | "notebookread" | "tabread" => ToolKind::Read,
        "write" | "edit" | "multiedit" | "writefile" | "editfile" | "searchreplace" | "replace"
        | "strreplace" | "strreplaceeditor" | "applypatch" | "notebookedit" | "create"
        | "patch" | "tabwrite" => ToolKind::Edit,
        "delete" | "deletefile" | "remove" => ToolKind::Delete,
        "move" | "rename" => ToolKind::Move,
        "grep" | "glob" | "search" | "rg" | "grepsearch" | "filesearch" | "codebasesearch"
        | "semsearch" | "searchfilecontent" => ToolKind::Search,
        "fetch" | "webfetch" | "websearch" | "googlewebsearch" => ToolKind::Fetch,
        "task" | "agent" | "todowrite" | "updatetodos" | "think" => ToolKind::Think,
        "switchmode" | "exitplanmode" | "enterplanmode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// What a tool is given, by the usual names of arguments.
pub fn input_of(kind: ToolKind, arguments: &Value) -> ToolInput {
    let text = |names: &[&str]| {
        names.iter().find_map(|name| arguments.get(name).and_then(Value::as_str)).map(str::to_owned)
    };
    let command = || match arguments.get("command").or_else(|| arguments.get("cmd"))? {
        Value::String(command) => Some(command.clone()),
        // A list of words is run without a shell; quoted, it means the same to one.
        Value::Array(words) => words
            .iter()
            .map(|word| word.as_str().map(quote))
            .collect::<Option<Vec<_>>>()
            .map(|words| words.join(" ")),
        _ => None,
    };
    let path = || {
        text(&[
            "path",
            "file_path",
            "filePath",
            "target_file",
            "targetFile",
            "absolute_path",
            "notebook_path",
            "filename",
            "dir_path",
            "target_directory",
            "relative_workspace_path",
        ])
    };
    if let (Some(server), Some(tool)) = (
        text(&["server", "server_name", "serverName", "providerIdentifier"]),
        text(&["tool", "tool_name", "toolName"]),
    ) {
        return ToolInput::Mcp { server, tool };
    }
    let other = || ToolInput::Other {
        summary: text(&["patch", "input", "description"]).unwrap_or_default(),
    };
    match kind {
        ToolKind::Execute => match command() {
            Some(command) => ToolInput::Command {
                command,
                cwd: text(&["cwd", "workdir", "working_directory", "workingDirectory"]),
            },
            None => other(),
        },
        ToolKind::Search => {
            match text(&["query", "pattern", "glob_pattern", "globPattern", "regex"]) {
                Some(query) => ToolInput::Query { query, path: path() },
                None => path().map_or_else(other, |path| ToolInput::Path { path }),
            }
        }
        ToolKind::Fetch => match text(&["url", "uri"]) {
            Some(url) => ToolInput::Url { url },
            None => {
                text(&["query"]).map_or_else(other, |query| ToolInput::Query { query, path: None })
            }
        },
        ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
            path().map_or_else(other, |path| ToolInput::Path { path })
        }
        _ => match command() {
            Some(command) => ToolInput::Command { command, cwd: None },
            None => other(),
        },
    }
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
