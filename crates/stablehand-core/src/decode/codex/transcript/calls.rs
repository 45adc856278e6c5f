//! Calls in a rollout: the model's wish, what was shown of the end, what the model was told.
//!
//! They get the names that the stream of `codex exec` has for them, so that the same call is the same
//! whichever way it came to us.

use super::super::super::kit::{self, Reads, Row, cut, digest_of, mix, row};
use super::super::super::transcript::{Timed, said};
use super::super::shell::unwrapped;
use super::super::wire::Wire;
use super::super::{thread, tools, wire};
use super::{CodexTranscript, MOST_OVER};
use crate::event::{EventKind, Item, ItemBody, Outcome, Tool, ToolInput, ToolKind};
use crate::id::digest64;
use crate::json::{self, Scan, Value};
use crate::time::UnixMillis;

/// Tools that are not in here are read by the usual names of fields.
const TABLE: &[Row] = &[
    row("view_image", ToolKind::Read, Reads::Path),
    row("write_stdin", ToolKind::Execute, Reads::Words(&["chars", "session_id"])),
    row("spawn_agent", ToolKind::Think, Reads::Agent),
    row("send_input", ToolKind::Think, Reads::Words(&["message"])),
    row("wait", ToolKind::Think, Reads::Anything),
    row("wait_agent", ToolKind::Think, Reads::Anything),
    row("close_agent", ToolKind::Think, Reads::Anything),
    row("tool_search", ToolKind::Search, Reads::Query),
    row("request_user_input", ToolKind::Other, Reads::Anything),
];

/// Whether that is the type of an item of the model.
pub(super) fn is_item(kind: &[u8]) -> bool {
    kind == b"message"
        || kind == b"reasoning"
        || kind.ends_with(b"_call")
        || kind.ends_with(b"_call_output")
}

impl CodexTranscript {
    /// The model wants a call to be made.
    pub(super) fn wish(&mut self, at: UnixMillis, item: Value<'_>, out: &mut Vec<Timed>) {
        self.prompt_at_last(out);
        self.rest = None;
        self.compacted = false;
        let name = said(item.get("name")).unwrap_or_default();
        let text = said(item.get("arguments").or_else(|| item.get("input"))).unwrap_or_default();
        let args = match json::scan(text.as_bytes()) {
            Scan::Object(_) => Value::new(text.as_bytes().trim_ascii()),
            _ => Value::new(b"{}"),
        };
        if name == "update_plan" {
            self.over(&call_of(item));
            return self.plan(at, thread::todos(args.get("plan")), out);
        }
        let tool = tool_of(call_of(item), &name, args, &text, item);
        let mut kinds = Vec::new();
        self.stream.call(tool, &mut kinds);
        self.front.tell(at, kinds, out);
    }

    /// The end of a call, as it was shown. `key` has its id.
    pub(super) fn shown_end(
        &mut self,
        at: UnixMillis,
        item: Value<'_>,
        key: &str,
        out: &mut Vec<Timed>,
    ) {
        let id = said(item.get(key)).unwrap_or_default();
        if self.is_over(&id) {
            return;
        }
        let mut read = Wire::default();
        read.read_stored(item);
        let changes = tools::stored_changes(item.get("changes"));
        let exit_code = item.get("exit_code").and_then(Value::i64);
        let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
        self.end(at, &id, out, |tool, others| {
            if let Some(command) = item.get("command").filter(|_| tool.name.is_empty()) {
                tool.tool_kind = ToolKind::Execute;
                "command_execution".clone_into(&mut tool.name);
                tool.input = ToolInput::Command { command: command_in(command), cwd: cwd(item) };
            }
            if tool.name.is_empty() {
                let given = tools::given(&read);
                (tool.name, tool.tool_kind, tool.input) = (given.name, given.kind, given.input);
            }
            let mut files = changes.into_iter();
            if let Some(first) = files.next() {
                tool.diff = first.unified();
                tool.input = ToolInput::Path { path: first.path };
            }
            tool.duration_ms = item.get("duration").and_then(duration);
            let said_out = ["aggregated_output", "formatted_output", "stdout"];
            tool.output = said_out.iter().find_map(|key| said(item.get(key)));
            tool.output = tool.output.take().or_else(|| tools::output(&read));
            tool.outcome = Some(match (tools::outcome(&read), exit_code) {
                // Older events have no status.
                (Outcome::Unknown, Some(0)) => Outcome::Success,
                (Outcome::Unknown, None) if read.status.is_none() => Outcome::Success,
                (Outcome::Unknown, Some(_)) => Outcome::Failure { exit_code, message: None },
                (outcome, _) => outcome,
            });
            if tool.outcome == Some(Outcome::Success) {
                others.extend(files.map(|change| {
                    let diff = change.unified();
                    ItemBody::FileChange { path: change.path, diff }
                }));
            }
        });
    }

    /// The end of a call, as the model was told it.
    pub(super) fn told(&mut self, at: UnixMillis, item: Value<'_>, out: &mut Vec<Timed>) {
        self.rest = None;
        let id = call_of(item);
        if self.is_over(&id) {
            return;
        }
        let words = output_of(item.get("output"));
        if words.text.contains("Process running with session ID ") {
            // It goes on in the background, and its end is shown when it comes.
            if let Some((item, mut tool)) = self.stream.calls.take(&id) {
                tool.background = true;
                self.running.push((item, tool));
            }
            return;
        }
        self.end(at, &id, out, |tool, _| {
            tool.outcome = Some(words.outcome(tool.tool_kind));
            tool.output = Some(words.output().to_owned()).filter(|text| !text.is_empty());
        });
    }

    fn end(
        &mut self,
        at: UnixMillis,
        id: &str,
        out: &mut Vec<Timed>,
        write: impl FnOnce(&mut Tool, &mut Vec<ItemBody>),
    ) {
        self.over(id);
        let mut kinds = Vec::new();
        let stream = &mut self.stream;
        let running = self.running.iter().position(|(_, tool)| tool.call.0 == id);
        let (item, mut tool) = if let Some(known) = running {
            self.running.swap_remove(known)
        } else {
            stream.model_acts(&mut kinds);
            let begin =
                || kit::tool(id.to_owned(), "", Row::UNKNOWN, kit::given("", Row::UNKNOWN, None));
            stream.calls.take_or_begin(id, &mut stream.ids, &mut kinds, begin)
        };
        let mut others = Vec::new();
        write(&mut tool, &mut others);
        let output = tool.output.as_deref().unwrap_or_default();
        tool.digest = mix(tool.digest, digest_of(output.as_bytes()));
        stream.call_ended(item, tool, &mut kinds);
        for body in others {
            let item = Item { id: stream.ids.next(), body };
            kinds.push(EventKind::ItemCompleted { item });
        }
        self.front.tell(at, kinds, out);
    }

    fn over(&mut self, id: &str) {
        if self.over.len() >= MOST_OVER {
            self.over.pop_front();
        }
        self.over.push_back(digest64(id.as_bytes()));
    }

    fn is_over(&self, id: &str) -> bool {
        self.over.contains(&digest64(id.as_bytes()))
    }
}

fn call_of(item: Value<'_>) -> String {
    said(item.get("call_id")).or_else(|| said(item.get("id"))).unwrap_or_default()
}

/// The call that the model wants.
fn tool_of(id: String, name: &str, args: Value<'_>, text: &str, item: Value<'_>) -> Tool {
    let kind = item.get("type").and_then(Value::raw_str).unwrap_or_default();
    let action = item.get("action");
    let (name, kind, input) = match (kind, name) {
        (b"local_shell_call", _) => {
            let command = action.and_then(|action| action.get("command")).map(command_in);
            let cwd = said(action.and_then(|action| action.get("working_directory")));
            let command = command.unwrap_or_default();
            ("command_execution", ToolKind::Execute, ToolInput::Command { command, cwd })
        }
        (b"web_search_call", _) => {
            let say = |key| said(action.and_then(|action| action.get(key)));
            let input = match say("url") {
                Some(url) => ToolInput::Url { url },
                None => ToolInput::Query { query: say("query").unwrap_or_default(), path: None },
            };
            ("web_search", ToolKind::Fetch, input)
        }
        (b"image_generation_call", _) => {
            let summary = said(item.get("revised_prompt")).unwrap_or_default();
            ("image_generation", ToolKind::Other, ToolInput::Other { summary: cut(summary) })
        }
        (_, "shell" | "shell_command" | "exec_command" | "container.exec" | "local_shell") => {
            let command = args.get("cmd").or_else(|| args.get("command")).map(command_in);
            let cwd = said(args.get("workdir"));
            let command = command.unwrap_or_default();
            ("command_execution", ToolKind::Execute, ToolInput::Command { command, cwd })
        }
        (_, "apply_patch") => {
            let words = said(args.get("input")).unwrap_or_else(|| text.to_owned());
            let (kind, path) = patched(&words);
            ("file_change", kind, ToolInput::Path { path })
        }
        (_, name) if name.starts_with("mcp__") => {
            let rest = name.trim_start_matches("mcp__");
            let (server, tool) = rest.split_once("__").unwrap_or((rest, ""));
            let (server, tool) = (server.to_owned(), tool.to_owned());
            ("mcp_tool_call", ToolKind::Other, ToolInput::Mcp { server, tool })
        }
        (_, name) => {
            let row = kit::row_of(TABLE, name).unwrap_or(Row::UNKNOWN);
            return kit::tool(id, name, row, kit::given(name, row, Some(args)));
        }
    };
    let mut given = kit::given(name, Row::UNKNOWN, Some(args));
    given.input = input;
    if !matches!(given.input, ToolInput::Path { .. }) {
        given.also.clear();
    }
    let mut tool = kit::tool(id, name, Row::UNKNOWN, given);
    tool.tool_kind = kind;
    tool
}

/// A command: a line, or the words of one with a shell around it.
fn command_in(command: Value<'_>) -> String {
    if let Some(line) = command.string() {
        return unwrapped(&line);
    }
    let words: Vec<String> = command.elements().filter_map(Value::string).collect();
    match words.as_slice() {
        [shell, flag, line] if flag.starts_with('-') && flag.ends_with('c') && is_shell(shell) => {
            line.clone()
        }
        _ => words.join(" "),
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "bash" | "sh" | "zsh" | "dash" | "fish")
}

fn cwd(item: Value<'_>) -> Option<String> {
    let cwd = said(item.get("cwd"))?;
    Some(cwd.strip_prefix("file://").map(str::to_owned).unwrap_or(cwd))
}

/// The first file of a patch, and what becomes of all.
fn patched(words: &str) -> (ToolKind, String) {
    let file = |line: &str| {
        let rest = line.strip_prefix("*** ")?;
        let (word, path) = rest.split_once(" File: ")?;
        Some((word.to_owned(), path.trim().to_owned()))
    };
    let files: Vec<_> = words.lines().filter_map(file).collect();
    let all_go = !files.is_empty() && files.iter().all(|(word, _)| word == "Delete");
    let kind = if all_go { ToolKind::Delete } else { ToolKind::Edit };
    (kind, files.into_iter().next().map(|(_, path)| path).unwrap_or_default())
}

/// `{"secs":0,"nanos":6820}`.
fn duration(value: Value<'_>) -> Option<u64> {
    let secs = value.get("secs")?.u64()?;
    let nanos = value.get("nanos").and_then(Value::u64).unwrap_or(0);
    Some(secs.saturating_mul(1000).saturating_add(nanos / 1_000_000))
}

/// What the model was told of an end.
#[derive(Debug, Default)]
struct Words {
    text: String,
    exit_code: Option<i32>,
    success: Option<bool>,
}

/// A string, in older versions with JSON in it; or an object, or a list of parts.
fn output_of(output: Option<Value<'_>>) -> Words {
    let Some(output) = output else { return Words::default() };
    let mut words = Words {
        text: output.cut_str().or_else(|| wire::parts(output, "\n")).unwrap_or_default(),
        exit_code: None,
        success: output.get("success").and_then(Value::bool),
    };
    if let Some(content) = said(output.get("content")) {
        words.text = content;
    }
    if words.text.starts_with('{')
        && let Scan::Object(object) = json::scan(words.text.as_bytes())
        && let Some(text) = said(object.get("output"))
    {
        let code = object.get("metadata").and_then(|meta| meta.get("exit_code")?.i64());
        words.exit_code = code.and_then(|code| i32::try_from(code).ok());
        words.text = text;
    }
    if words.exit_code.is_none() {
        let head = words.text.split("Output:\n").next().unwrap_or_default();
        let code = head.lines().find_map(|line| {
            let code = line.strip_prefix("Exit code: ");
            code.or_else(|| line.strip_prefix("Process exited with code "))
        });
        words.exit_code = code.and_then(|code| code.trim().parse().ok());
    }
    words
}

impl Words {
    /// What the tool itself wrote.
    fn output(&self) -> &str {
        let is_framed = self.text.starts_with("Chunk ID: ") || self.text.starts_with("Exit code: ");
        match self.text.split_once("Output:\n") {
            Some((_, output)) if is_framed => output,
            _ => &self.text,
        }
    }

    fn outcome(&self, kind: ToolKind) -> Outcome {
        let message = || Some(cut(self.text.clone())).filter(|text| !text.is_empty());
        let says = |beginning: &str| self.text.starts_with(beginning);
        if says("command timed out") || self.output().starts_with("command timed out") {
            return Outcome::TimedOut;
        }
        if says("exec command rejected") || says("patch rejected") {
            return Outcome::Rejected { reason: message().unwrap_or_default() };
        }
        if says("aborted by user") || says("aborted") {
            return Outcome::Failure { exit_code: None, message: Some("interrupted".to_owned()) };
        }
        let wrong = ["unsupported call", "failed to parse", "execution error", "err: "];
        if wrong.iter().any(|beginning| says(beginning)) || self.success == Some(false) {
            return Outcome::Failure { exit_code: self.exit_code, message: message() };
        }
        match self.exit_code {
            Some(code) if code != 0 => Outcome::Failure { exit_code: Some(code), message: None },
            None if kind == ToolKind::Execute && self.text.is_empty() => Outcome::Unknown,
            _ => Outcome::Success,
        }
    }
}
