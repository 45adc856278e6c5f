//! Cursor's hooks: which are run for what, what they are handed, and what their answers change.
//!
//! Owns the payloads and the way a hook is started (its payload is a document within the shell's
//! command, as Cursor does it). Files are in `cursor/file.rs`, answers in `cursor/answer.rs`, the
//! events in `cursor/event.rs`. Hooks that ask a model are noted and let everything pass.

mod answer;
mod event;
mod file;

use super::claude::changed;
use super::run::{Job, Late, Ran, together};
use super::{Asked, Moment, Refusal, Reply, Rules, Surroundings, Tool, Who, content_of};
use crate::act::{Ending, Work};
use crate::json::{Json, list, object};
use answer::{Answer, Permission, judge, merge};
use event::Event;
use file::{Entry, Found, What};
use serde_json::{Value, json};
use stablehand_core::Dialect;
use stablehand_core::time::millis;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the model reads after the reason of a refusal.
const AGENT_NOTE: &str = "\n\nAgent note: Do not suggest workarounds to the blocked tool.";

/// Who is logged in.
const EMAIL: &str = "pony@example.invalid";

/// The kind of every sub-agent of a script.
const SUBAGENT: &str = "explore";

/// Even a hook that may go on for ever keeps nobody longer than this.
const LONGEST_LOOP: u64 = 100;

#[derive(Debug)]
struct Cursor {
    found: Found,
    workspace: PathBuf,
    /// How often the conversation was made shorter.
    compactions: u32,
}

/// The rules, where there is any file.
pub(super) fn load(around: &Surroundings) -> Option<Box<dyn Rules>> {
    let found = file::read(around);
    if found.files.is_empty() {
        return None;
    }
    Some(Box::new(Cursor { found, workspace: around.workspace.clone(), compactions: 0 }))
}

impl Rules for Cursor {
    fn fire(&mut self, moment: &Moment<'_>, who: &Who<'_>) -> Reply {
        let mut on = Firing { rules: self, who, reply: Reply::default() };
        match *moment {
            Moment::SessionBegins => {
                let body = object! { "is_background_agent": false, "composer_mode": "agent" };
                let answer = on.run(Event::SessionStart, None, &body, 0);
                on.reply.env = answer.env.clone();
                on.stop_if_told(answer);
            }
            Moment::Prompt(prompt) => {
                let body = object! {
                    "prompt": prompt, "attachments": list![], "composer_mode": "agent",
                };
                let subject = Some("UserPromptSubmit");
                let answer = on.run(Event::BeforeSubmitPrompt, subject, &body, 0);
                on.stop_if_told(answer);
            }
            Moment::Before(asked) => on.before(asked),
            Moment::After(asked, ending) => on.after(asked, ending),
            Moment::Thought(text) => {
                let body = object! { "text": text, "duration_ms": 0 };
                on.run(Event::AfterAgentThought, Some("AgentThought"), &body, 0);
            }
            Moment::Message(text) => {
                let body = tokens(object! { "text": text });
                on.run(Event::AfterAgentResponse, Some("AgentResponse"), &body, 0);
            }
            Moment::Compacts => {
                on.rules.compactions += 1;
                let body = object! {
                    "trigger": "auto", "context_usage_percent": 0, "context_tokens": 0,
                    "context_window_size": 0, "message_count": 26, "messages_to_compact": 23,
                    "is_first_compaction": on.rules.compactions == 1,
                };
                on.run(Event::PreCompact, None, &body, 0);
            }
            Moment::TurnEnds { failed, round, .. } => {
                let status = if failed { "error" } else { "completed" };
                let body = tokens(object! { "status": status, "loop_count": round });
                let answer = on.run(Event::Stop, Some("Stop"), &body, u64::from(round));
                on.reply.next = answer.followup.filter(|_| !failed);
            }
            Moment::SessionEnds { failed } => {
                let status = if failed { "error" } else { "completed" };
                let body = object! {
                    "reason": status, "final_status": status,
                    "duration_ms": millis(who.lasted), "is_background_agent": false,
                };
                on.run(Event::SessionEnd, None, &body, 0);
            }
        }
        on.reply
    }

    fn found(&self) -> Vec<Value> {
        self.found.files.clone()
    }
}

fn tokens(body: Json) -> Json {
    body.with("input_tokens", 1200)
        .with("output_tokens", 34)
        .with("cache_read_tokens", 560)
        .with("cache_write_tokens", 0)
}

/// The hooks of one moment: they are asked one event after the other, until one says no.
#[derive(Debug)]
struct Firing<'a> {
    rules: &'a mut Cursor,
    who: &'a Who<'a>,
    reply: Reply,
}

impl Firing<'_> {
    fn stop_if_told(&mut self, answer: Answer) {
        if answer.stops {
            let said = answer.user_message.or(answer.agent_message);
            let reason = said.unwrap_or_else(|| "Stopped by a hook.".to_owned());
            self.reply.refused = Some(Refusal { reason, is_permission: false });
        }
    }

    fn before(&mut self, asked: Asked<'_>) {
        let mut work = match asked.tool {
            Tool::Work(work) => Some(work.clone()),
            Tool::Plan(_) | Tool::Own { .. } => None,
        };
        if let Some(Work::Write { path, .. }) = &work {
            // An edit begins with a look at the file, under its own id.
            let read = Work::Read { path: path.clone() };
            let look = Asked { tool: Tool::Work(&read), ..asked };
            if self.refuses(Event::PreToolUse, Some("Read"), &call(look), false).is_none() {
                return;
            }
        }
        let (name, _) = tool_of(asked.tool);
        let Some(answer) = self.refuses(Event::PreToolUse, Some(&name), &call(asked), false) else {
            return;
        };
        if let (Some(work), Some(input)) = (&mut work, &answer.updated_input) {
            *work = changed(work, input);
            self.reply.instead = Some(work.clone());
        }
        match &work {
            Some(Work::Shell { command, .. }) => {
                let body = object! { "command": command, "cwd": "", "sandbox": false };
                self.refuses(Event::BeforeShellExecution, Some(command), &body, false);
            }
            Some(Work::Read { path }) => {
                let content = content_of(&self.rules.workspace, path);
                let body = object! {
                    "file_path": path, "content": content, "attachments": list![],
                };
                self.refuses(Event::BeforeReadFile, Some("Read"), &body, false);
            }
            Some(Work::Mcp { server, tool }) => {
                let body = mcp(server, tool);
                let subject = format!("MCP:{tool}");
                self.refuses(Event::BeforeMcpExecution, Some(&subject), &body, true);
            }
            Some(Work::Task { description }) => {
                let body = object! {
                    "subagent_id": "a-2", "subagent_type": SUBAGENT, "task": description,
                    "parent_conversation_id": self.who.session, "tool_call_id": asked.id,
                    "subagent_model": self.who.model.unwrap_or("default"),
                    "is_parallel_worker": false, "git_branch": "main",
                };
                let answer = self.refuses(Event::SubagentStart, Some(SUBAGENT), &body, false);
                // Nobody can be asked about a sub-agent.
                if answer.is_some_and(|answer| answer.permission == Some(Permission::Ask)) {
                    self.refuse("A hook wants somebody to be asked.".to_owned(), false);
                }
            }
            _ => {}
        }
    }

    /// Asks the hooks of an event; nothing when they say no. To ask is to let pass, without a
    /// person.
    fn refuses(
        &mut self,
        event: Event,
        subject: Option<&str>,
        body: &Json,
        is_permission: bool,
    ) -> Option<Answer> {
        let answer = self.run(event, subject, body, 0);
        if answer.permission != Some(Permission::Deny) {
            return Some(answer);
        }
        let said = answer.agent_message.or(answer.user_message);
        self.refuse(said.unwrap_or_else(|| "Blocked by a hook.".to_owned()), is_permission);
        None
    }

    fn refuse(&mut self, reason: String, is_permission: bool) {
        self.reply.refused = Some(Refusal { reason: reason + AGENT_NOTE, is_permission });
    }

    fn after(&mut self, asked: Asked<'_>, ending: &Ending) {
        let took = millis(asked.took);
        let failure = match ending {
            Ending::Refused { reason } => Some(("permission_denied", reason.clone())),
            Ending::Exited { code: 0, .. } | Ending::Well => None,
            Ending::Exited { code: 124, .. } => Some(("timeout", "it took too long".to_owned())),
            Ending::Exited { code, .. } => {
                Some(("error", format!("Command failed with exit code {code}")))
            }
        };
        if let Ending::Refused { .. } = ending {
            // What did not happen has no events of its own.
        } else if let Tool::Work(work) = asked.tool {
            match work {
                Work::Shell { command, .. } => {
                    let body = object! {
                        "command": command, "output": crate::dialect::output_of(ending),
                        "duration": took, "sandbox": false,
                    };
                    self.run(Event::AfterShellExecution, Some(command), &body, 0);
                }
                Work::Write { path, content } => {
                    let edit = object! { "old_string": asked.old, "new_string": content };
                    let full = self.rules.workspace.join(path).display().to_string();
                    let body = object! { "file_path": full, "edits": list![edit] };
                    self.run(Event::AfterFileEdit, Some("Write"), &body, 0);
                }
                Work::Mcp { server, tool } => {
                    let result = json!({ "content": [{ "type": "text", "text": "hay" }] });
                    let body = mcp(server, tool)
                        .with("result_json", result.to_string())
                        .with("duration", took);
                    self.run(Event::AfterMcpExecution, Some(&format!("MCP:{tool}")), &body, 0);
                }
                Work::Task { description } => self.subagent_stops(description, took),
                Work::Read { .. } => {}
            }
        }
        let (name, _) = tool_of(asked.tool);
        let body = call(asked);
        match failure {
            None => {
                let body = body.with("tool_output", output(ending)).with("duration", took);
                self.run(Event::PostToolUse, Some(&name), &body, 0);
            }
            Some((kind, message)) => {
                let body = body
                    .with("error_message", message)
                    .with("failure_type", kind)
                    .with("duration", took)
                    .with("is_interrupt", false);
                self.run(Event::PostToolUseFailure, Some(&name), &body, 0);
            }
        }
    }

    /// The end of a sub-agent, as often as hooks keep it going; what they tell it is noted.
    fn subagent_stops(&mut self, task: &str, took: u64) {
        for round in 0..LONGEST_LOOP {
            let body = object! {
                "status": "completed", "duration_ms": took, "summary": "done",
                "message_count": 2, "tool_call_count": 1, "error_message": "",
                "modified_files": list![], "loop_count": round, "task": task,
                "description": task, "agent_transcript_path": crate::json::NULL,
                "subagent_type": SUBAGENT,
            };
            let answer = self.run(Event::SubagentStop, Some(SUBAGENT), &body, round);
            let Some(followup) = answer.followup else {
                return;
            };
            self.reply.context.push(followup);
        }
    }

    /// Runs every hook of an event at once and gives back their common answer.
    fn run(&mut self, event: Event, subject: Option<&str>, body: &Json, round: u64) -> Answer {
        if !event.fires(self.who.mode) {
            return Answer::default();
        }
        let entries = self.rules.found.entries.iter();
        let wanted = entries.filter(|entry| entry.event == event && entry.matcher.takes(subject));
        let mut commands: Vec<(&Entry, &str)> = Vec::new();
        for entry in wanted {
            match &entry.what {
                What::Command(command) => commands.push((entry, command)),
                What::Prompt(prompt) => self.reply.log.push(json!({
                    "event": event.name(), "prompt": prompt, "outcome": "ignored: no model",
                })),
            }
        }
        if commands.is_empty() {
            return Answer::default();
        }
        let payload = payload(event, body, self.who, &self.rules.workspace);
        let env = environment(self.who, &self.rules.workspace);
        let job = |(entry, command): &(&Entry, &str)| Job {
            shell: "/bin/sh",
            script: format!("{command} <<'CURSOR_HOOK_EOF'\n{payload}\nCURSOR_HOOK_EOF\n"),
            stdin: None,
            cwd: entry.cwd.clone(),
            env: env.clone(),
            hidden: Vec::new(),
            timeout: entry.timeout,
            late: Late::KillGroup,
        };
        let jobs: Vec<Job> = commands.iter().map(job).collect();
        let mut answers = Vec::new();
        for ((entry, command), ran) in commands.iter().zip(together(&jobs)) {
            let (mut answer, mut outcome) = judge(entry, &ran);
            if entry.loop_limit.is_some_and(|limit| round >= limit) && answer.followup.is_some() {
                answer.followup = None;
                outcome.push_str(", its message dropped: its limit is reached");
            }
            self.reply.log.push(json!({
                "event": event.name(), "file": entry.source.display().to_string(),
                "command": command, "code": code_of(&ran), "outcome": outcome,
            }));
            answers.push(answer);
        }
        let mut answer = merge(answers);
        self.reply.context.extend(answer.context.take());
        answer
    }
}

fn code_of(ran: &Ran) -> Option<i32> {
    if let Ran::Exited { code, .. } = ran { *code } else { None }
}

/// What a hook is handed, its members in the order of recordings.
fn payload(event: Event, body: &Json, who: &Who<'_>, workspace: &std::path::Path) -> String {
    let mut all = object! {
        "conversation_id": who.session, "generation_id": who.request,
        "model": who.model.unwrap_or("default"),
    };
    all = all.joined(body);
    all.with("session_id", who.session)
        .with("hook_event_name", event.name())
        .with("cursor_version", crate::dialect::version_line(Dialect::Cursor))
        .with("workspace_roots", list![workspace.display().to_string()])
        .with("user_email", EMAIL)
        .with("transcript_path", crate::json::NULL)
        .into_line()
}

fn environment(who: &Who<'_>, workspace: &std::path::Path) -> BTreeMap<String, String> {
    let project = workspace.display().to_string();
    let mut env = who.env.clone();
    for (name, value) in [
        ("CURSOR_PROJECT_DIR", project.as_str()),
        ("CLAUDE_PROJECT_DIR", project.as_str()),
        ("CURSOR_VERSION", crate::dialect::version_line(Dialect::Cursor)),
        ("CURSOR_USER_EMAIL", EMAIL),
    ] {
        env.insert(name.to_owned(), value.to_owned());
    }
    env
}

/// What `preToolUse` and its kin say of a call.
fn call(asked: Asked<'_>) -> Json {
    let (name, input) = tool_of(asked.tool);
    object! { "tool_name": name, "tool_input": input, "tool_use_id": asked.id, "cwd": "" }
}

/// A tool's name for hooks, and its arguments.
fn tool_of(tool: Tool<'_>) -> (String, Json) {
    let work = match tool {
        Tool::Work(work) => work,
        Tool::Plan(todos) => {
            let todo = |todo: &crate::act::Todo| {
                object! { "content": &todo.text, "status": todo.state.word() }
            };
            let todos: Vec<Json> = todos.iter().map(todo).collect();
            return ("TodoWrite".to_owned(), object! { "todos": todos });
        }
        Tool::Own { kind, value } => {
            let mut letters = kind.strip_suffix("ToolCall").unwrap_or(kind).chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            return (first.into_iter().chain(letters).collect(), Json::from(value));
        }
    };
    match work {
        Work::Shell { command, timeout } => {
            let timeout = timeout.map_or(30_000, millis);
            ("Shell".to_owned(), object! { "command": command, "cwd": "", "timeout": timeout })
        }
        Work::Read { path } => ("Read".to_owned(), object! { "file_path": path }),
        Work::Write { path, content } => {
            ("Write".to_owned(), object! { "file_path": path, "content": content })
        }
        Work::Mcp { tool, .. } => (format!("MCP:{tool}"), object! {}),
        Work::Task { description } => {
            let input = object! {
                "description": description, "prompt": description, "subagent_type": SUBAGENT,
            };
            ("Task".to_owned(), input)
        }
    }
}

/// A call of a server's tool; its arguments are JSON in a text.
fn mcp(server: &str, tool: &str) -> Json {
    object! {
        "tool_name": tool, "tool_input": "{}", "mcp_server_name": server, "command": server,
    }
}

/// The result of a tool, as JSON in a text.
fn output(ending: &Ending) -> String {
    match ending {
        Ending::Exited { code, stdout, stderr, .. } => {
            object! { "exitCode": *code, "stdout": stdout, "stderr": stderr }.into_line()
        }
        Ending::Well => object! { "success": true }.into_line(),
        Ending::Refused { .. } => String::new(),
    }
}
