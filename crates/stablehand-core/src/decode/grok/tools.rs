//! Grok's tools: what they are given, how far they are, how they end.

use super::super::Depth;
use super::super::kit::{self, Reads, Row, cut, diff, digest_of, mix, row, row_of};
use crate::event::{Outcome, Tool, ToolKind};
use crate::json::{Object, Value};
use crate::line::Line;

/// The frequent ones first. Plans have a line of their own (`plan`).
pub(super) const TABLE: &[Row] = &[
    row("run_terminal_command", ToolKind::Execute, Reads::Command),
    row("read_file", ToolKind::Read, Reads::Path),
    row("search_replace", ToolKind::Edit, Reads::Path),
    row("write", ToolKind::Edit, Reads::Path),
    row("list_dir", ToolKind::Read, Reads::Path),
    row("grep", ToolKind::Search, Reads::Query),
    row("todo_write", ToolKind::Think, Reads::Anything),
    row("spawn_subagent", ToolKind::Think, Reads::Agent),
    row("get_command_or_subagent_output", ToolKind::Read, Reads::Words(&["task_id", "task_ids"])),
    row("kill_command_or_subagent", ToolKind::Execute, Reads::Words(&["task_id", "task_ids"])),
    row("monitor", ToolKind::Execute, Reads::Command),
    row("scheduler_create", ToolKind::Execute, Reads::Anything),
    row("scheduler_delete", ToolKind::Execute, Reads::Anything),
    row("scheduler_list", ToolKind::Read, Reads::Anything),
    row("search_tool", ToolKind::Search, Reads::Query),
    row("web_search", ToolKind::Fetch, Reads::Query),
    row("web_fetch", ToolKind::Fetch, Reads::Url),
    row("enter_plan_mode", ToolKind::SwitchMode, Reads::Anything),
    row("exit_plan_mode", ToolKind::SwitchMode, Reads::Anything),
    row("ask_user_question", ToolKind::Other, Reads::Words(&["question"])),
];

/// Grok's own word for a kind of tool. Ours is told by the name of the tool; a new word is told as one.
const KINDS: &[&str] = &[
    "execute",
    "read",
    "write",
    "edit",
    "list",
    "search",
    "plan",
    "task",
    "other",
    "delete",
    "move",
    "think",
    "fetch",
    "switch_mode",
    "enter_plan",
    "exit_plan",
    "ask_user",
    "monitor",
    "search_tool",
    "use_tool",
    "background_task_action",
    "kill_task_action",
    "wait_tasks_action",
    "active_agent_message",
];

/// What its tools return.
const OUTPUTS: &[&str] = &[
    "Bash",
    "BackgroundTaskStarted",
    "ReadFile",
    "SearchReplace",
    "ListDir",
    "GrepSearch",
    "Todo",
    "Text",
    "TaskOutput",
    "KillTask",
    "SearchTool",
    "MCP",
    "Skill",
    "SubagentCompleted",
    "SchedulerList",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
];

/// A call that begins; `None` where there is neither an id nor a name.
pub(super) fn begin(object: &Object<'_>, arguments: Option<Value<'_>>) -> Option<Tool> {
    let call = object.get("toolCallId").and_then(Value::string).unwrap_or_default();
    let name = object.get("toolName").or_else(|| object.get("title"));
    let name = name.and_then(Value::str).unwrap_or_default();
    if call.is_empty() && name.is_empty() {
        return None;
    }
    let row = row_of(TABLE, &name).unwrap_or(Row::UNKNOWN);
    let mut given = kit::given(&name, row, arguments);
    let said = |key: &str| arguments.and_then(|it| it.get(key)?.string());
    match &*name {
        "run_terminal_command" => {
            // After that time the command goes on in the background.
            given.timeout_ms = None;
        }
        "use_tool" => {
            if let Some((server, tool)) = said("tool_name").as_deref().and_then(mcp) {
                given.is_mcp(server, tool);
            }
        }
        name => {
            if let Some((server, tool)) = mcp(name) {
                given.is_mcp(server, tool);
            }
        }
    }
    Some(kit::tool(call, &name, row, given))
}

/// `server__tool`.
fn mcp(name: &str) -> Option<(String, String)> {
    let (server, tool) = name.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then(|| (server.to_owned(), tool.to_owned()))
}

/// Whether the words of the line that say what kind it is are known.
pub(super) fn is_known_call(object: &Object<'_>) -> bool {
    is_one_of(object.get("kind"), KINDS)
        && is_one_of(object.get("status"), &["pending", "in_progress"])
        && object.get("content").is_none_or(are_known)
}

/// A call of which only the end was seen.
pub(super) fn unseen(call: String) -> Tool {
    kit::tool(call, "", Row::UNKNOWN, kit::given("", Row::UNKNOWN, None))
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It may wait for a permission.
    Announced,
    Running,
    Over,
    /// A word that we do not know.
    Unknown,
}

/// A line about a call.
#[derive(Debug)]
pub(super) struct Update<'a> {
    call: Option<Value<'a>>,
    status: Option<Value<'a>>,
    content: Option<Value<'a>>,
    raw: Option<Value<'a>>,
}

impl<'a> Update<'a> {
    pub(super) fn read(object: &Object<'a>, line: &Line<'a>) -> Self {
        Update {
            call: object.get("toolCallId"),
            status: object.get("status"),
            content: kit::member(object, line, "content"),
            raw: kit::member(object, line, "rawOutput").filter(|raw| !raw.is_null()),
        }
    }

    pub(super) fn call(&self) -> Option<String> {
        self.call.and_then(Value::string).filter(|call| !call.is_empty())
    }

    pub(super) fn status(&self) -> Status {
        match self.status.filter(|status| !status.is_null()).map(Value::raw_str) {
            None | Some(Some(b"pending")) => Status::Announced,
            Some(Some(b"in_progress")) => Status::Running,
            Some(Some(b"completed" | b"failed")) => Status::Over,
            Some(_) => Status::Unknown,
        }
    }

    /// Whether all words in it that say what something is are known.
    pub(super) fn is_known(&self) -> bool {
        self.content.is_none_or(are_known)
            && is_one_of(self.raw.and_then(|raw| raw.get("type")), OUTPUTS)
    }

    /// How much a command has printed so far.
    pub(super) fn total_bytes(&self) -> Option<u64> {
        self.raw?.get("total_bytes")?.u64()
    }

    /// The last so many bytes that a command has printed, as far as they are shown.
    pub(super) fn last_bytes(&self, bytes: u64) -> String {
        let text = self.text();
        let from = text.len().saturating_sub(usize::try_from(bytes).unwrap_or(usize::MAX));
        text.get(text.ceil_char_boundary(from)..).unwrap_or_default().to_owned()
    }

    /// Writes the end of the call into it.
    pub(super) fn end(&self, tool: &mut Tool, depth: Depth) {
        tool.outcome = Some(self.outcome());
        if self.raw_type() == b"BackgroundTaskStarted" {
            tool.background = true;
            let pid = self.raw.and_then(|raw| raw.get("pid")?.u64());
            tool.pid = pid.and_then(|pid| u32::try_from(pid).ok());
        }
        let status = self.status.map(Value::raw).unwrap_or_default();
        let content = self.content.map(Value::raw).unwrap_or_default();
        let code = self.exit_code().unwrap_or(0);
        tool.digest = mix(mix(tool.digest, digest_of(status)), digest_of(content));
        tool.digest =
            mix(mix(tool.digest, digest_of(self.raw_type())), u64::from(code.unsigned_abs()));
        // Of a command the raw output names a file that is new each time.
        if !matches!(self.raw_type(), b"Bash" | b"BackgroundTaskStarted") {
            tool.digest = mix(tool.digest, digest_of(self.raw.map(Value::raw).unwrap_or_default()));
        }
        if depth == Depth::Full {
            tool.output = Some(self.text()).filter(|text| !text.is_empty());
            tool.diff = self.diff();
        }
    }

    fn outcome(&self) -> Outcome {
        let raw = self.raw.unwrap_or(Value::new(b"{}"));
        let failed = self.status.is_some_and(|status| status.is_str("failed"));
        if failed {
            return refusal(self.text());
        }
        if raw.get("timed_out").and_then(Value::bool) == Some(true) {
            return Outcome::TimedOut;
        }
        // A command is completed whatever it exits with.
        match (self.exit_code(), raw.get("signal").filter(|signal| !signal.is_null())) {
            (_, Some(signal)) => {
                let signal = signal
                    .string()
                    .unwrap_or_else(|| String::from_utf8_lossy(signal.raw()).into_owned());
                let message = Some(format!("signal {signal}"));
                Outcome::Failure { exit_code: None, message: message.map(cut) }
            }
            (Some(code), _) if code != 0 => {
                Outcome::Failure { exit_code: Some(code), message: None }
            }
            _ => Outcome::Success,
        }
    }

    /// The exit code of a command that is over; while it runs the line says 0.
    fn exit_code(&self) -> Option<i32> {
        let code = self.raw?.get("exit_code")?.i64()?;
        i32::try_from(code).ok()
    }

    fn raw_type(&self) -> &'a [u8] {
        self.raw.and_then(|raw| raw.get("type")?.raw_str()).unwrap_or_default()
    }

    /// What the call shows.
    fn text(&self) -> String {
        let mut text = String::new();
        for entry in self.content.into_iter().flat_map(Value::elements) {
            let shown = entry.get("content").and_then(|content| content.get("text")?.cut_str());
            text.push_str(&shown.unwrap_or_default());
        }
        text
    }

    fn diff(&self) -> Option<String> {
        let mut all = String::new();
        for entry in self.content.into_iter().flat_map(Value::elements) {
            if entry.get("type").is_some_and(|it| it.is_str("diff")) {
                let path = kit::first(entry, &["path"]).unwrap_or_default();
                let edit: Option<serde_json::Value> = serde_json::from_slice(entry.raw()).ok();
                let list = edit.map(|edit| serde_json::Value::Array(vec![edit]));
                all.push_str(&diff::done(&path, list.as_ref()).unwrap_or_default());
            }
        }
        (!all.is_empty()).then_some(all)
    }
}

/// How a call failed, by Grok's words.
fn refusal(words: String) -> Outcome {
    let is_denied =
        words.starts_with("Hook denied") || words.contains("Denied by permission policy");
    let is_rejected = words.starts_with("User cancelled the execution")
        || words.starts_with("User rejected the execution");
    let words = cut(words);
    match (is_denied, is_rejected) {
        (true, _) => Outcome::Denied { reason: words },
        (_, true) => Outcome::Rejected { reason: words },
        _ => Outcome::Failure { exit_code: None, message: Some(words).filter(|it| !it.is_empty()) },
    }
}

/// Whether the blocks of a content are of kinds that we know.
fn are_known(content: Value<'_>) -> bool {
    const INNER: &[&str] = &["text", "image", "audio", "resource", "resource_link"];
    content.elements().all(|entry| {
        let inner = entry.get("content").and_then(|content| content.get("type"));
        is_one_of(entry.get("type"), &["content", "diff", "terminal"]) && is_one_of(inner, INNER)
    })
}

/// Whether a word is one of these; one that is missing is.
fn is_one_of(word: Option<Value<'_>>, known: &[&str]) -> bool {
    word.is_none_or(|word| word.is_null() || known.iter().any(|known| word.is_str(known)))
}
