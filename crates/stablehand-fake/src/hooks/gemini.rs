//! Gemini CLI's hooks: the settings that have them, what they are handed, what they may say.
//!
//! Owns the layers of settings (the person's, the project's, the machine's above them), the events
//! around the agent and its tools, and the meaning of exit codes and answers, as the program has
//! them: its manual calls every code but 0 and 2 a warning, but words with a code above 2 deny too.
//! The events around requests to the model (`BeforeModel`, `AfterModel`, `BeforeToolSelection`) and
//! `Notification` never happen here: there is no model and nobody to notify.

use super::claude::changed;
use super::matcher::Matcher;
use super::run::{Job, Late, Ran, together};
use super::settings::{self, Entry};
use super::{Asked, Moment, Refusal, Reply, Rules, Surroundings, Tool, Who};
use crate::act::{Call, Ending};
use crate::dialect::{gemini_given, output_of};
use crate::json::{Json, object};
use serde_json::{Map, Value, json};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// How long a hook may take where its entry says nothing.
const USUAL_TIMEOUT: Duration = Duration::from_mins(1);

/// Names that are hidden from hooks, where the settings or the place ask for that.
const HIDDEN_PARTS: [&str; 10] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "KEY",
    "AUTH",
    "CREDENTIAL",
    "CREDS",
    "PRIVATE",
    "CERT",
];

/// Names that every hook sees.
const SEEN: [&str; 12] = [
    "PATH",
    "HOME",
    "LANG",
    "SHELL",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "TERM",
    "COLORTERM",
    "TEMP",
    "TMP",
    "GITHUB_ENV",
];

#[derive(Debug)]
struct Gemini {
    entries: Vec<(Entry, Option<Matcher>)>,
    files: Vec<Value>,
    workspace: PathBuf,
    hidden: Vec<OsString>,
}

/// The rules, where any settings have hooks.
pub(super) fn load(around: &Surroundings) -> Option<Box<dyn Rules>> {
    let project = around.workspace.join(".gemini/settings.json");
    let mut paths: Vec<PathBuf> = Vec::new();
    paths.extend(around.home.as_ref().map(|home| home.join(".gemini/settings.json")));
    if !paths.contains(&project) {
        paths.push(project);
    }
    paths.extend(around.system_settings.clone());
    let mut rules = Gemini {
        entries: Vec::new(),
        files: Vec::new(),
        workspace: around.workspace.clone(),
        hidden: Vec::new(),
    };
    let (mut is_enabled, mut hides, mut disabled) = (true, false, Vec::new());
    for path in paths {
        let Some(read) = settings::read(&path) else {
            continue;
        };
        let config = read.get("hooksConfig");
        let switch = config.and_then(|config| config.get("enabled")).and_then(Value::as_bool);
        is_enabled = switch.unwrap_or(is_enabled);
        let names = config.and_then(|config| config.get("disabled")).and_then(Value::as_array);
        disabled.extend(names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
        let redaction = read.get("security").and_then(|s| s.get("environmentVariableRedaction"));
        let switch = redaction.and_then(|r| r.get("enabled")).and_then(Value::as_bool);
        hides = switch.unwrap_or(hides);
        let entries = settings::entries(&read, &path);
        if !entries.is_empty() {
            let file = path.display().to_string();
            rules.files.push(json!({ "file": file, "hooks": entries.len() }));
        }
        for entry in entries {
            let matcher = Matcher::form(&entry.matcher);
            rules.entries.push((entry, matcher));
        }
    }
    let is_on = |entry: &Entry| {
        let name = if entry.name.is_empty() { &entry.command } else { &entry.name };
        !disabled.contains(name)
    };
    rules.entries.retain(|(entry, _)| is_on(entry));
    rules.hidden = hidden(&around.environment, hides);
    (is_enabled && !rules.entries.is_empty()).then(|| Box::new(rules) as Box<dyn Rules>)
}

/// The variables that hooks must not see: none, unless the settings ask for that or it runs in a
/// workflow of GitHub, where only what is known to be harmless is left.
fn hidden(environment: &[(OsString, OsString)], hides: bool) -> Vec<OsString> {
    let in_workflow = environment.iter().any(|(name, value)| {
        (name == "GITHUB_SHA" && !value.is_empty()) || (name == "SURFACE" && value == "Github")
    });
    if !hides && !in_workflow {
        return Vec::new();
    }
    let is_hidden = |name: &OsStr| {
        let name = name.to_string_lossy().to_uppercase();
        let is_seen = name.starts_with("GEMINI_CLI_")
            || name.starts_with("GIT_CONFIG_")
            || SEEN.contains(&name.as_str());
        !is_seen && (in_workflow || HIDDEN_PARTS.iter().any(|part| name.contains(part)))
    };
    let names = environment.iter().map(|(name, _)| name.clone());
    names.filter(|name| is_hidden(name)).collect()
}

/// What one hook, or all together, have said.
#[derive(Debug, Default)]
struct Answer {
    denies: bool,
    reasons: Vec<String>,
    halts: bool,
    stop_reasons: Vec<String>,
    system: Vec<String>,
    input: Option<Map<String, Value>>,
}

impl Answer {
    /// The words for whatever it keeps from happening.
    fn reason(&self) -> String {
        let texts = if self.stop_reasons.is_empty() { &self.reasons } else { &self.stop_reasons };
        if texts.is_empty() { "No reason provided".to_owned() } else { texts.join("\n") }
    }
}

impl Rules for Gemini {
    fn fire(&mut self, moment: &Moment<'_>, who: &Who<'_>) -> Reply {
        let mut reply = Reply::default();
        match *moment {
            Moment::SessionBegins => {
                let source = if who.resumed { "resume" } else { "startup" };
                let body = object! { "source": source };
                let answer = self.run("SessionStart", source, &body, who, &mut reply);
                reply.stderr = answer.system;
            }
            Moment::Prompt(prompt) => {
                let body = object! { "prompt": prompt };
                let answer = self.run("BeforeAgent", "", &body, who, &mut reply);
                if answer.halts {
                    reply.halt = Some(answer.reason());
                } else if answer.denies {
                    let reason = answer.reason();
                    reply.refused = Some(Refusal { reason, is_permission: false });
                }
            }
            Moment::Before(asked) => {
                let (name, input) = tool_of(asked);
                let body = object! { "tool_name": &name, "tool_input": input };
                let answer = self.run("BeforeTool", &name, &body, who, &mut reply);
                if answer.halts {
                    reply.halt = Some(answer.reason());
                    let reason = format!("Agent execution stopped by hook: {}", answer.reason());
                    reply.refused = Some(Refusal { reason, is_permission: false });
                } else if answer.denies {
                    let reason = format!("Tool execution blocked: {}", answer.reason());
                    reply.refused = Some(Refusal { reason, is_permission: false });
                } else if let (Tool::Work(work), Some(input)) = (asked.tool, &answer.input) {
                    reply.instead = Some(changed(work, input));
                }
            }
            Moment::After(asked, ending) => {
                if let Ending::Refused { .. } = ending {
                    return reply;
                }
                let (name, input) = tool_of(asked);
                let output = output_of(ending);
                let response = object! { "llmContent": &output, "returnDisplay": &output };
                let body = object! {
                    "tool_name": &name, "tool_input": input, "tool_response": response,
                };
                let answer = self.run("AfterTool", &name, &body, who, &mut reply);
                if answer.halts {
                    reply.halt = Some(answer.reason());
                    let reason = format!("Agent execution stopped by hook: {}", answer.reason());
                    reply.refused = Some(Refusal { reason, is_permission: false });
                } else if answer.denies {
                    let reason = format!("Tool result blocked: {}", answer.reason());
                    reply.refused = Some(Refusal { reason, is_permission: false });
                }
            }
            Moment::Compacts => {
                self.run("PreCompress", "auto", &object! { "trigger": "auto" }, who, &mut reply);
            }
            Moment::TurnEnds { text, failed: false, round } => {
                let body = object! {
                    "prompt": who.prompt, "prompt_response": text, "stop_hook_active": round > 0,
                };
                let answer = self.run("AfterAgent", "", &body, who, &mut reply);
                if answer.halts {
                    reply.halt = Some(answer.reason());
                } else if answer.denies {
                    reply.next = Some(answer.reason());
                }
            }
            Moment::SessionEnds { .. } => {
                self.run("SessionEnd", "exit", &object! { "reason": "exit" }, who, &mut reply);
            }
            Moment::TurnEnds { failed: true, .. } | Moment::Thought(_) | Moment::Message(_) => {}
        }
        reply
    }

    fn found(&self) -> Vec<Value> {
        self.files.clone()
    }
}

impl Gemini {
    fn run(
        &self,
        event: &str,
        subject: &str,
        body: &Json,
        who: &Who<'_>,
        reply: &mut Reply,
    ) -> Answer {
        let is_tool = matches!(event, "BeforeTool" | "AfterTool");
        let takes = |entry: &Entry, matcher: Option<&Matcher>| {
            let text = entry.matcher.trim();
            let is_all = matches!(text, "" | "*") || subject.is_empty();
            match matcher {
                _ if is_all => true,
                Some(matcher) if is_tool => matcher.takes(Some(subject)),
                // What is no expression is a name, and so is everything about no tool.
                _ => text == subject,
            }
        };
        let mut entries: Vec<&Entry> = Vec::new();
        for (entry, matcher) in &self.entries {
            let is_known =
                |known: &&Entry| known.name == entry.name && known.command == entry.command;
            if entry.event == event
                && takes(entry, matcher.as_ref())
                && !entries.iter().any(is_known)
            {
                entries.push(entry);
            }
        }
        let cwd = self.workspace.display().to_string();
        let payload = object! {
            "session_id": who.session, "transcript_path": "", "cwd": &cwd,
            "hook_event_name": event, "timestamp": who.now,
        };
        let payload = payload.joined(body).into_line();
        let mut env = who.env.clone();
        for (name, value) in [
            ("GEMINI_PROJECT_DIR", cwd.as_str()),
            ("GEMINI_CWD", cwd.as_str()),
            ("CLAUDE_PROJECT_DIR", cwd.as_str()),
            ("GEMINI_SESSION_ID", who.session),
        ] {
            env.insert(name.to_owned(), value.to_owned());
        }
        let job = |entry: &&Entry| Job {
            shell: "bash",
            script: expanded(&entry.command, &cwd, who.session),
            stdin: Some(payload.clone()),
            cwd: self.workspace.clone(),
            env: env.clone(),
            hidden: self.hidden.clone(),
            timeout: entry
                .timeout
                .map_or(USUAL_TIMEOUT, |time| Duration::from_secs_f64(time / 1000.0)),
            late: Late::Terminate,
        };
        let jobs: Vec<Job> = entries.iter().map(job).collect();
        let ran = if entries.iter().any(|entry| entry.sequential) {
            jobs.iter().flat_map(|job| together(std::slice::from_ref(job))).collect()
        } else {
            together(&jobs)
        };
        let mut all = Answer::default();
        for (entry, ran) in entries.iter().zip(ran) {
            let answer = judge(&ran);
            reply.log.push(json!({
                "event": event, "file": entry.source.display().to_string(),
                "command": entry.command,
                "outcome": if answer.is_some() { "answered" } else { "ignored" },
            }));
            if let Some(answer) = answer {
                merge(&mut all, &answer, &mut reply.context);
            }
        }
        all
    }
}

/// The command with the places that the program puts in itself, each as one word.
fn expanded(command: &str, cwd: &str, session: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@,+".contains(letter);
    let quoted = |text: &str| {
        if !text.is_empty() && text.chars().all(is_plain) {
            return text.to_owned();
        }
        format!("'{}'", text.replace('\'', r"'\''"))
    };
    let (cwd, session) = (quoted(cwd), quoted(session));
    command
        .replace("$GEMINI_PROJECT_DIR", &cwd)
        .replace("$GEMINI_CWD", &cwd)
        .replace("$GEMINI_SESSION_ID", &session)
        .replace("$CLAUDE_PROJECT_DIR", &cwd)
}

/// What a hook has said: JSON on either stream, whatever the exit code, or plain words, which are a
/// message for the person with 0 and 1 and a refusal with anything else.
fn judge(ran: &Ran) -> Option<Map<String, Value>> {
    let Ran::Exited { code, stdout, stderr } = ran else {
        return None;
    };
    let text = [stdout.trim(), stderr.trim()].into_iter().find(|text| !text.is_empty())?;
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return value.as_object().cloned();
    }
    let answer = match code {
        None | Some(0) => json!({ "decision": "allow", "systemMessage": text }),
        Some(1) => json!({ "decision": "allow", "systemMessage": format!("Warning: {text}") }),
        Some(_) => json!({ "decision": "deny", "reason": text }),
    };
    answer.as_object().cloned()
}

fn merge(all: &mut Answer, answer: &Map<String, Value>, context: &mut Vec<String>) {
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
    if answer.get("continue") == Some(&Value::Bool(false)) {
        all.halts = true;
        all.stop_reasons.extend(text("stopReason"));
    }
    all.denies |= matches!(text("decision").as_deref(), Some("deny" | "block"));
    all.reasons.extend(text("reason"));
    all.system.extend(text("systemMessage"));
    let own = |name: &str| answer.get("hookSpecificOutput").and_then(|own| own.get(name));
    if let Some(input) = own("tool_input").and_then(Value::as_object) {
        all.input.get_or_insert_default().extend(input.clone());
    }
    context.extend(own("additionalContext").and_then(Value::as_str).map(str::to_owned));
}

fn tool_of(asked: Asked<'_>) -> (String, Json) {
    match asked.tool {
        Tool::Work(work) => gemini_given(&Call { id: String::new(), work: work.clone() }),
        Tool::Plan(_) | Tool::Own { .. } => ("write_todos".to_owned(), object! {}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(code: i32, stdout: &str, stderr: &str) -> Ran {
        Ran::Exited { code: Some(code), stdout: stdout.into(), stderr: stderr.into() }
    }

    fn judged(ran: &Ran) -> Answer {
        let mut all = Answer::default();
        if let Some(answer) = judge(ran) {
            merge(&mut all, &answer, &mut Vec::new());
        }
        all
    }

    #[test]
    fn json_counts_whatever_the_code_and_words_by_the_code() {
        assert!(judged(&exited(0, r#"{"decision":"deny","reason":"no"}"#, "")).denies);
        assert!(judged(&exited(1, r#"{"decision":"block"}"#, "")).denies);
        let two = judged(&exited(2, "", "not here\n"));
        assert!(two.denies && two.reason() == "not here");
        let pollution = judged(&exited(0, r#"hello {"decision":"deny"}"#, ""));
        assert!(!pollution.denies && !pollution.system.is_empty());
        assert!(!judged(&exited(1, "", "oops")).denies);
        assert!(judged(&exited(3, "", "oops")).denies);
        assert!(judge(&exited(2, "", "")).is_none());
        assert!(judge(&Ran::TimedOut).is_none());
        let halt = judged(&exited(0, r#"{"continue":false,"stopReason":"enough"}"#, ""));
        assert!(halt.halts && halt.reason() == "enough");
    }

    #[test]
    fn secrets_are_hidden_where_that_is_asked_for() {
        let environment: Vec<(OsString, OsString)> =
            ["PATH", "MY_TOKEN", "OATS", "GEMINI_CLI_AUTH"]
                .map(|name| (name.into(), "x".into()))
                .to_vec();
        assert!(hidden(&environment, false).is_empty());
        assert_eq!(hidden(&environment, true), ["MY_TOKEN"]);
        let mut workflow = environment;
        workflow.push(("GITHUB_SHA".into(), "1".into()));
        assert_eq!(hidden(&workflow, false), ["MY_TOKEN", "OATS", "GITHUB_SHA"]);
    }

    #[test]
    fn places_are_put_in_as_one_word() {
        let text = expanded("$GEMINI_PROJECT_DIR/h.sh $GEMINI_SESSION_ID", "/a b/it's", "s");
        assert_eq!(text, r"'/a b/it'\''s'/h.sh s");
    }
}
