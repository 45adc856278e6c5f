//! From a wish of the model to a call of a tool that the agent has.
//!
//! Owns the names that agents give to the same tool, and the filling of arguments by their schema: an
//! agent checks them, so that what it requires must be there. Knows no protocol.

use super::conversation::{Arguments, Call, Conversation, Declared};
use super::scene::Wish;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// What agents call their shell.
const SHELLS: &[&str] =
    &["Bash", "bash", "shell_command", "exec_command", "shell", "run_shell_command"];

/// What agents call the tool that writes a file.
const WRITERS: &[&str] = &["Write", "write", "write_file", "create", "apply_patch"];

/// What agents call the tool that starts another agent.
const DELEGATES: &[&str] = &["Agent", "Task", "task", "invoke_agent", "spawn_agent"];

/// As long as agents allow for a command, so that `long-tool` is not ended by its own agent.
const COMMAND_MS: u64 = 600_000;

/// Codex gives back the output so far after this time and asks the model again; 30 s is the most.
const YIELD_MS: u64 = 30_000;

/// The call for a wish. An agent without such a tool is asked for it by the first name that we know:
/// it will say that it has none, as it would to a real model.
pub(super) fn call(wish: &Wish, conversation: &Conversation) -> Call {
    match wish {
        Wish::Shell(command) => shell(command, conversation),
        Wish::WriteFile(content) => write_file(last_word(conversation), content, conversation),
        Wish::WriteInFolder { name, content } => {
            let path = format!("{}/{name}", last_word(conversation).trim_end_matches('/'));
            write_file(&path, content, conversation)
        }
        Wish::Delegate { task, command, .. } if conversation.prompt.contains(task) => {
            shell(command, conversation)
        }
        Wish::Delegate { task, background, .. } => delegate(task, *background, conversation),
        Wish::Unknown(name) => {
            Call { name: (*name).to_owned(), arguments: Arguments::Json(json!({"mane": 1})) }
        }
    }
}

fn shell(command: &str, conversation: &Conversation) -> Call {
    let tool = pick(SHELLS, conversation);
    let wants_list = tool.schema.as_ref().is_some_and(|schema| {
        schema.pointer("/properties/command/type").and_then(Value::as_str) == Some("array")
    });
    let command_or_list = if wants_list { json!(["bash", "-lc", command]) } else { json!(command) };
    let known = json!({
        "command": command_or_list,
        "cmd": command,
        "description": "A command of the fake model",
        "timeout": COMMAND_MS,
        "timeout_ms": COMMAND_MS,
        "yield_time_ms": YIELD_MS,
    });
    Call { arguments: Arguments::Json(filled(tool.schema.as_ref(), &known)), name: tool.name }
}

fn delegate(task: &str, background: bool, conversation: &Conversation) -> Call {
    let tool = pick(DELEGATES, conversation);
    let kind = if tool.name == "task" { "general" } else { "general-purpose" };
    let known = json!({
        "description": "Feeding time",
        "prompt": task,
        "message": task,
        "subagent_type": kind,
        "agent_name": "generalist",
        "run_in_background": background,
    });
    Call { arguments: Arguments::Json(filled(tool.schema.as_ref(), &known)), name: tool.name }
}

/// The last word of the prompt, without quotes.
fn last_word(conversation: &Conversation) -> &str {
    let quotes: &[char] = &['"', '\'', '`'];
    let last_word = conversation.prompt.split_whitespace().last().unwrap_or_default();
    last_word.trim_matches(quotes)
}

fn write_file(path: &str, content: &str, conversation: &Conversation) -> Call {
    let tool = pick(WRITERS, conversation);
    let mut added = format!("*** Begin Patch\n*** Add File: {path}\n");
    for line in content.lines() {
        let _infallible = writeln!(added, "+{line}");
    }
    added.push_str("*** End Patch\n");
    let arguments = match &tool.schema {
        None => Arguments::Plain(added),
        schema => Arguments::Json(filled(
            schema.as_ref(),
            &json!({
                "file_path": path,
                "filePath": path,
                "path": path,
                "content": content,
                "file_text": content,
                "input": added,
                "patch": added,
                "patchText": added,
            }),
        )),
    };
    Call { name: tool.name, arguments }
}

fn pick(names: &[&str], conversation: &Conversation) -> Declared {
    let known = |name: &&str| conversation.tools.iter().find(|tool| tool.name == **name);
    names.iter().find_map(known).cloned().unwrap_or_else(|| Declared {
        name: names.first().copied().unwrap_or_default().to_owned(),
        schema: Some(json!({})),
    })
}

/// What we know of the properties in a schema, and something for all others that are required.
fn filled(schema: Option<&Value>, known: &Value) -> Value {
    let nothing = Map::new();
    let properties = schema
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object)
        .unwrap_or(&nothing);
    if properties.is_empty() {
        return known.clone();
    }
    let mut arguments = Map::new();
    for name in properties.keys() {
        if let Some(value) = known.get(name) {
            arguments.insert(name.clone(), value.clone());
        }
    }
    let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !arguments.contains_key(name) {
            let property = properties.get(name).unwrap_or(&Value::Null);
            arguments.insert(name.to_owned(), sample(property));
        }
    }
    Value::Object(arguments)
}

/// A value that fits a JSON Schema; for the answer to a side request, too.
pub(super) fn sample(schema: &Value) -> Value {
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(first) = schema.get("enum").and_then(|list| list.get(0)) {
        return first.clone();
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(first) = schema.get(choice).and_then(|list| list.get(0)) {
            return sample(first);
        }
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match kind.unwrap_or("string").to_ascii_lowercase().as_str() {
        "object" => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let fields = properties.into_iter().flatten();
            Value::Object(fields.map(|(name, field)| (name.clone(), sample(field))).collect())
        }
        "array" => json!([]),
        "number" | "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "boolean" => json!(false),
        "null" => Value::Null,
        _ => json!("oats"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_tools(tools: &[(&str, Option<Value>)]) -> Conversation {
        let declared = |(name, schema): &(&str, Option<Value>)| Declared {
            name: (*name).to_owned(),
            schema: schema.clone(),
        };
        Conversation { tools: tools.iter().map(declared).collect(), ..Conversation::default() }
    }

    #[test]
    fn a_command_is_given_in_the_words_of_the_agent() {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "array"},
                "workdir": {"type": "string"},
                "login": {"type": "boolean"},
            },
            "required": ["command", "login"],
        });
        let call = call(&Wish::Shell("ls"), &with_tools(&[("shell", Some(schema))]));
        assert_eq!(call.name, "shell");
        let expected = json!({"command": ["bash", "-lc", "ls"], "login": false});
        assert_eq!(call.arguments, Arguments::Json(expected));
    }

    #[test]
    fn a_file_is_written_where_the_prompt_ends() {
        let schema = json!({"properties": {"filePath": {}, "content": {}}});
        let mut conversation = with_tools(&[("write", Some(schema))]);
        conversation.prompt = "\"Write to /srv/barn\"".to_owned();
        let expected = json!({"filePath": "/srv/barn", "content": "hay\n"});
        let written = call(&Wish::WriteFile("hay\n"), &conversation).arguments;
        assert_eq!(written, Arguments::Json(expected));
    }

    #[test]
    fn a_tool_of_plain_text_gets_a_patch() {
        let mut conversation = with_tools(&[("apply_patch", None)]);
        conversation.prompt = "Write to /srv/barn".to_owned();
        let expected = "*** Begin Patch\n*** Add File: /srv/barn\n+hay\n*** End Patch\n";
        let written = call(&Wish::WriteFile("hay\n"), &conversation).arguments;
        assert_eq!(written, Arguments::Plain(expected.to_owned()));
    }

    #[test]
    fn a_sample_fits_its_schema() {
        let schema = json!({
            "type": "object",
            "properties": {
                "reasoning": {"type": "string"},
                "choice": {"enum": ["flash", "pro"]},
                "score": {"type": "integer", "minimum": 4},
                "tags": {"type": "ARRAY"},
            },
        });
        let expected = json!({"reasoning": "oats", "choice": "flash", "score": 4, "tags": []});
        assert_eq!(sample(&schema), expected);
    }
}
