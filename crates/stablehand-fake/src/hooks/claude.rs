//! Claude Code's hooks: the settings that have them, what they are handed, what they may say.
//!
//! Owns the sources (the command line's settings, the project's two files, the person's), the events
//! of a turn and the meaning of exit codes and answers. All of them are run in print mode too. What
//! needs a terminal (`Notification`, `PermissionRequest`) never happens here, and hooks that are no
//! commands are left out.

use super::matcher::Matcher;
use super::run::{Job, Late, Ran, together};
use super::settings::{self, Entry};
use super::{Asked, Consent, Moment, Refusal, Reply, Rules, Surroundings, Tool, Who};
use crate::act::{Call, Ending, Work};
use crate::dialect::{claude_given, output_of};
use crate::json::{Json, NULL, object};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a hook may take where its entry says nothing.
const USUAL_TIMEOUT: Duration = Duration::from_mins(10);

/// The exit code that says no.
const BLOCKS: i32 = 2;

#[derive(Debug)]
struct Claude {
    entries: Vec<(Entry, Matcher)>,
    files: Vec<Value>,
    workspace: PathBuf,
}

/// The rules, where any settings have hooks.
pub(super) fn load(around: &Surroundings) -> Option<Box<dyn Rules>> {
    let mut all: Vec<(PathBuf, Map<String, Value>)> = Vec::new();
    for given in &around.settings {
        let inline = given.trim_start().starts_with('{');
        let read = if inline { settings::parse(given) } else { settings::read(Path::new(given)) };
        let source = if inline { PathBuf::from("--settings") } else { PathBuf::from(given) };
        all.extend(read.map(|read| (source, read)));
    }
    let folder = around.workspace.join(".claude");
    let mut paths = vec![folder.join("settings.local.json"), folder.join("settings.json")];
    let home = around.home.as_ref().filter(|home| **home != around.workspace);
    paths.extend(home.map(|home| home.join(".claude/settings.json")));
    for path in paths {
        all.extend(settings::read(&path).map(|read| (path, read)));
    }
    if all.iter().any(|(_, read)| read.get("disableAllHooks") == Some(&Value::Bool(true))) {
        return None;
    }
    let mut rules =
        Claude { entries: Vec::new(), files: Vec::new(), workspace: around.workspace.clone() };
    for (source, read) in all {
        let entries = settings::entries(&read, &source);
        if !entries.is_empty() {
            let file = source.display().to_string();
            rules.files.push(json!({ "file": file, "hooks": entries.len() }));
        }
        for entry in entries {
            if let Some(matcher) = matcher(&entry.matcher) {
                rules.entries.push((entry, matcher));
            }
        }
    }
    (!rules.entries.is_empty()).then(|| Box::new(rules) as Box<dyn Rules>)
}

/// A matcher of plain words means these tools; anything else is an expression.
fn matcher(text: &str) -> Option<Matcher> {
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '|' | '-');
    if !text.is_empty() && text.chars().all(is_plain) {
        return Some(Matcher::Words(text.split('|').map(str::to_owned).collect()));
    }
    Matcher::form(text)
}

/// What one hook, or all together, have said.
#[derive(Debug, Default)]
struct Answer {
    /// No, in these words.
    block: Option<String>,
    consent: Consent,
    updated: Option<Map<String, Value>>,
    context: Vec<String>,
    /// Everything ends.
    halt: Option<String>,
}

impl Rules for Claude {
    fn fire(&mut self, moment: &Moment<'_>, who: &Who<'_>) -> Reply {
        let mut reply = Reply::default();
        match *moment {
            Moment::SessionBegins => {
                let source = if who.resumed { "resume" } else { "startup" };
                let body = object! { "source": source, "model": who.model };
                self.run("SessionStart", Some(source), &body, who, &mut reply);
            }
            Moment::Prompt(prompt) => {
                let body = object! { "prompt": prompt };
                let answer = self.run("UserPromptSubmit", None, &body, who, &mut reply);
                if let Some(reason) = answer.block {
                    let reason = format!("UserPromptSubmit operation blocked by hook:\n{reason}");
                    reply.refused = Some(Refusal { reason, is_permission: false });
                }
            }
            Moment::Before(asked) => self.before(asked, who, &mut reply),
            Moment::After(asked, ending) => self.after(asked, ending, who, &mut reply),
            Moment::Compacts => {
                let body = object! { "trigger": "auto", "custom_instructions": "" };
                self.run("PreCompact", Some("auto"), &body, who, &mut reply);
            }
            Moment::TurnEnds { text, failed: false, round } => {
                let body =
                    object! { "stop_hook_active": round > 0, "last_assistant_message": text };
                let answer = self.run("Stop", None, &body, who, &mut reply);
                let feedback = |reason| format!("Stop hook feedback:\n- {reason}");
                reply.next = answer.block.map(feedback);
            }
            Moment::SessionEnds { .. } => {
                let body = object! { "reason": "other" };
                self.run("SessionEnd", Some("other"), &body, who, &mut reply);
            }
            Moment::TurnEnds { failed: true, .. } | Moment::Thought(_) | Moment::Message(_) => {}
        }
        reply
    }

    fn found(&self) -> Vec<Value> {
        self.files.clone()
    }
}

impl Claude {
    fn before(&self, asked: Asked<'_>, who: &Who<'_>, reply: &mut Reply) {
        let (name, input) = tool_of(asked);
        let body = object! { "tool_name": &name, "tool_input": input, "tool_use_id": asked.id };
        let answer = self.run("PreToolUse", Some(&name), &body, who, reply);
        reply.consent = answer.consent;
        if let Some(reason) = answer.block {
            reply.refused = Some(Refusal { reason, is_permission: false });
            return;
        }
        if let (Tool::Work(work), Some(input)) = (asked.tool, &answer.updated) {
            reply.instead = Some(changed(work, input));
        }
        if let Tool::Work(Work::Task { .. }) = asked.tool {
            let body = object! { "agent_id": "a-2", "agent_type": "general-purpose" };
            self.run("SubagentStart", Some("general-purpose"), &body, who, reply);
        }
    }

    fn after(&self, asked: Asked<'_>, ending: &Ending, who: &Who<'_>, reply: &mut Reply) {
        if let Ending::Refused { .. } = ending {
            return;
        }
        if let Tool::Work(Work::Task { .. }) = asked.tool {
            let body = object! {
                "stop_hook_active": false, "agent_id": "a-2", "agent_type": "general-purpose",
                "agent_transcript_path": NULL, "last_assistant_message": "done",
            };
            let answer = self.run("SubagentStop", Some("general-purpose"), &body, who, reply);
            reply.context.extend(answer.block);
        }
        let (name, input) = tool_of(asked);
        let body = object! { "tool_name": &name, "tool_input": input };
        let output = output_of(ending);
        let answer = if let Ending::Exited { code: 1.., .. } = ending {
            let body = body
                .with("tool_use_id", asked.id)
                .with("error", output)
                .with("is_interrupt", false);
            self.run("PostToolUseFailure", Some(&name), &body, who, reply)
        } else {
            let response = object! { "stdout": output, "stderr": "", "interrupted": false };
            let body = body.with("tool_response", response).with("tool_use_id", asked.id);
            self.run("PostToolUse", Some(&name), &body, who, reply)
        };
        // It has happened; the model is told.
        reply.context.extend(answer.block);
    }

    fn run(
        &self,
        event: &str,
        subject: Option<&str>,
        body: &Json,
        who: &Who<'_>,
        reply: &mut Reply,
    ) -> Answer {
        let mut entries: Vec<&Entry> = Vec::new();
        for (entry, matcher) in &self.entries {
            let is_new = entries.iter().all(|known| known.command != entry.command);
            if entry.event == event && matcher.takes(subject) && is_new {
                entries.push(entry);
            }
        }
        if entries.is_empty() {
            return Answer::default();
        }
        let project = self.workspace.display().to_string();
        let payload = object! {
            "session_id": who.session, "transcript_path": "", "cwd": &project,
            "permission_mode": "default", "hook_event_name": event,
        };
        let payload = payload.joined(body).into_line();
        let mut env: BTreeMap<String, String> = who.env.clone();
        env.insert("CLAUDE_PROJECT_DIR".to_owned(), project);
        let job = |entry: &&Entry| Job {
            shell: "/bin/sh",
            script: entry.command.clone(),
            stdin: Some(payload.clone()),
            cwd: self.workspace.clone(),
            env: env.clone(),
            hidden: Vec::new(),
            timeout: entry.timeout.map_or(USUAL_TIMEOUT, Duration::from_secs_f64),
            late: Late::KillGroup,
        };
        let jobs: Vec<Job> = entries.iter().map(job).collect();
        let mut all = Answer::default();
        for (entry, ran) in entries.iter().zip(together(&jobs)) {
            let (answer, outcome) = judge(event, subject, entry, &ran);
            reply.log.push(json!({
                "event": event, "file": entry.source.display().to_string(),
                "command": entry.command, "outcome": outcome,
            }));
            all.block = all.block.or(answer.block);
            all.consent = stronger(all.consent, answer.consent);
            all.updated = answer.updated.or(all.updated);
            all.halt = all.halt.or(answer.halt);
            reply.context.extend(answer.context);
        }
        reply.halt = reply.halt.take().or(all.halt.take());
        all
    }
}

/// Who wants somebody to be asked wins over who does not.
fn stronger(one: Consent, other: Consent) -> Consent {
    match (one, other) {
        (Consent::Needed, _) | (_, Consent::Needed) => Consent::Needed,
        (Consent::Given, _) | (_, Consent::Given) => Consent::Given,
        _ => Consent::Open,
    }
}

fn judge(event: &str, subject: Option<&str>, entry: &Entry, ran: &Ran) -> (Answer, &'static str) {
    let Ran::Exited { code: Some(code), stdout, stderr } = ran else {
        return (Answer::default(), "ignored: no exit code");
    };
    if *code == BLOCKS {
        let stderr = stderr.trim();
        let reason = if event == "PreToolUse" {
            let tool = subject.unwrap_or_default();
            format!("PreToolUse:{tool} hook error: [{}]: {stderr}", entry.command)
        } else {
            stderr.to_owned()
        };
        return (Answer { block: Some(reason), ..Answer::default() }, "blocked");
    }
    if *code != 0 {
        return (Answer::default(), "ignored: its exit code");
    }
    let stdout = stdout.trim();
    let object = if stdout.starts_with('{') { settings::parse(stdout) } else { None };
    let Some(object) = object else {
        // Two events take plain words for the model.
        let is_context = matches!(event, "SessionStart" | "UserPromptSubmit");
        let context = Some(stdout.to_owned()).filter(|text| is_context && !text.is_empty());
        return (Answer { context: context.into_iter().collect(), ..Answer::default() }, "plain");
    };
    (read(event, &object), "answered")
}

fn read(event: &str, object: &Map<String, Value>) -> Answer {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let specific = object.get("hookSpecificOutput");
    let own = |name: &str| specific.and_then(|specific| specific.get(name));
    let mut answer = Answer::default();
    if object.get("continue") == Some(&Value::Bool(false)) {
        let reason = text(object.get("stopReason"));
        answer.halt = Some(reason.unwrap_or_else(|| "Execution stopped by hook".to_owned()));
    }
    let reason = text(object.get("reason"));
    match object.get("decision").and_then(Value::as_str) {
        Some("block") => {
            answer.block = Some(reason.unwrap_or_else(|| "Blocked by hook".to_owned()));
        }
        Some("approve") => answer.consent = Consent::Given,
        _ => {}
    }
    if event == "PreToolUse" {
        let reason = text(own("permissionDecisionReason"));
        match own("permissionDecision").and_then(Value::as_str) {
            Some("deny") => {
                answer.block = Some(reason.unwrap_or_else(|| "Blocked by hook".to_owned()));
            }
            Some("ask") => answer.consent = Consent::Needed,
            Some("allow") => answer.consent = Consent::Given,
            _ => {}
        }
        answer.updated = own("updatedInput").and_then(Value::as_object).cloned();
    }
    answer.context.extend(text(own("additionalContext")));
    answer
}

fn tool_of(asked: Asked<'_>) -> (String, Json) {
    match asked.tool {
        Tool::Work(work) => claude_given(&Call { id: String::new(), work: work.clone() }),
        Tool::Plan(_) | Tool::Own { .. } => ("TodoWrite".to_owned(), object! {}),
    }
}

/// The work with a hook's arguments; what it does not name stays.
pub(super) fn changed(work: &Work, input: &Map<String, Value>) -> Work {
    let mut work = work.clone();
    let put = |name: &str, place: &mut String| {
        if let Some(other) = input.get(name).and_then(Value::as_str) {
            other.clone_into(place);
        }
    };
    match &mut work {
        Work::Shell { command, .. } => put("command", command),
        Work::Read { path } => put("file_path", path),
        Work::Write { path, content } => {
            put("file_path", path);
            put("content", content);
        }
        Work::Task { description } => put("prompt", description),
        Work::Mcp { .. } => {}
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn plain_words_are_whole_names_and_the_rest_is_an_expression() {
        for (text, subject, takes) in [
            ("Edit", "Edit", true),
            ("Edit", "NotebookEdit", false),
            ("Edit|Write", "Write", true),
            (".*Edit", "NotebookEdit", true),
            ("mcp__barn__.*", "mcp__barn__open", true),
            ("*", "Bash", true),
            ("", "Bash", true),
        ] {
            assert_eq!(matcher(text).unwrap().takes(Some(subject)), takes, "{text}");
        }
    }

    #[test]
    fn an_answer_says_yes_no_or_ask() {
        let specific = |event: &str, members: &str| {
            read(event, &object(&format!(r#"{{"hookSpecificOutput":{{{members}}}}}"#)))
        };
        let deny = specific(
            "PreToolUse",
            r#""permissionDecision":"deny","permissionDecisionReason":"no""#,
        );
        assert_eq!(deny.block.as_deref(), Some("no"));
        let ask = specific("PreToolUse", r#""permissionDecision":"ask""#);
        assert_eq!((ask.block, ask.consent), (None, Consent::Needed));
        let allow = specific(
            "PreToolUse",
            r#""permissionDecision":"allow","updatedInput":{"command":"x"},"additionalContext":"c""#,
        );
        assert_eq!((allow.consent, allow.context), (Consent::Given, vec!["c".to_owned()]));
        let work = Work::Shell { command: "y".into(), timeout: None };
        let other = Work::Shell { command: "x".into(), timeout: None };
        assert_eq!(changed(&work, &allow.updated.unwrap()), other);
        let elsewhere = specific("PostToolUse", r#""permissionDecision":"deny""#);
        assert_eq!(elsewhere.block, None);
        let block = read("Stop", &object(r#"{"decision":"block","reason":"go on"}"#));
        assert_eq!(block.block.as_deref(), Some("go on"));
        let halt = read("Stop", &object(r#"{"continue":false,"stopReason":"enough"}"#));
        assert_eq!(halt.halt.as_deref(), Some("enough"));
        assert_eq!(stronger(Consent::Given, Consent::Needed), Consent::Needed);
    }
}
