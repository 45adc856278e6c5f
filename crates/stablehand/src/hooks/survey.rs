//! What is in a settings file: which entries are ours, and what is wrong with the others.
//!
//! Cursor drops a whole file because of one event that it does not know, and says nothing. So what
//! it would refuse is looked for here, with the line, before anybody relies on the file. Nothing is
//! changed, and what other agents only ignore is told as less.

use super::command::program_of;
use super::doc::{Doc, get, members};
use super::form::{HookForm, Nesting};
use super::merge::{check, is_blank};
use super::{FileError, command};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use serde::Serialize;
use stablehand_core::text::excerpt;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Cursor warns beyond this.
const LONGEST_TIMEOUT_S: f64 = 3600.0;

/// What is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Entries of ours, in the order of the file.
    pub ours: Vec<OurEntry>,
    /// How many entries are somebody else's.
    pub theirs: usize,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// An entry of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OurEntry {
    /// Under which event.
    pub event: String,
    /// The whole command.
    pub command: String,
    /// The program that it starts.
    pub program: PathBuf,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where.
    pub line: usize,
    /// What, for a person.
    pub text: String,
    /// Whether no hook of the file is run because of it.
    pub voids: bool,
}

/// Looks at a file; no text is a file that is not there. `known` are the agent's own events.
pub fn survey(
    text: Option<&str>,
    form: &HookForm,
    known: &[&str],
    name: &OsStr,
) -> Result<Survey, FileError> {
    let Some(text) = text.filter(|text| !is_blank(text)) else { return Ok(Survey::default()) };
    let doc = Doc::parse(text)?;
    check(&doc, form)?;
    let mut look = Look { doc: &doc, form, known, name, survey: Survey::default() };
    look.file();
    Ok(look.survey)
}

/// What a file does to hold an agent. Two of them are equal where it does the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guard {
    /// The entries and groups of entries that have a command of ours, each with its event.
    entries: Vec<(String, serde_json::Value)>,
    /// Why the agent runs none of them.
    voided: Vec<String>,
}

/// Looks at what a file does to hold the agent.
pub(super) fn guard(
    text: Option<&str>,
    form: &HookForm,
    known: &[&str],
    name: &OsStr,
) -> Result<Guard, FileError> {
    let findings = survey(text, form, known, name)?.findings.into_iter();
    let voided = findings.filter(|finding| finding.voids).map(|finding| finding.text).collect();
    let Some(text) = text.filter(|text| !is_blank(text)) else { return Ok(Guard::default()) };
    let value = serde_json::Value::from(Value::Object(Doc::parse(text)?.root));
    let mut entries = Vec::new();
    for (event, list) in value["hooks"].as_object().into_iter().flatten() {
        let ours = list.as_array().into_iter().flatten().filter(|entry| has_ours(entry, name));
        entries.extend(ours.map(|entry| (event.clone(), entry.clone())));
    }
    Ok(Guard { entries, voided })
}

fn has_ours(entry: &serde_json::Value, name: &OsStr) -> bool {
    let command = entry["command"].as_str();
    let group = entry["hooks"].as_array().into_iter().flatten();
    command.is_some_and(|command| command::is_ours(command, name))
        || group.into_iter().any(|entry| has_ours(entry, name))
}

struct Look<'a> {
    doc: &'a Doc<'a>,
    form: &'a HookForm,
    known: &'a [&'a str],
    name: &'a OsStr,
    survey: Survey,
}

impl Look<'_> {
    fn file(&mut self) {
        let root = &self.doc.root;
        if self.form.version.is_some() && get(root, "version").is_none() {
            self.note(root.start(), "`version` is missing; \"version\": 1 is expected".into());
        }
        let value = serde_json::Value::from(Value::Object(root.clone()));
        if let Some(switch) = (self.form.switched_off)(&value) {
            let at = switch.split('.').next().and_then(|name| members(root, name).next_back());
            let at = at.map_or(0, Ranged::start);
            self.found(at, format!("`{switch}` switches all hooks off"), true);
        }
        let mut hooks_seen = 0;
        for hooks in members(root, "hooks") {
            hooks_seen += 1;
            if hooks_seen > 1 {
                self.note(hooks.start(), "`hooks` is there twice; the last one counts".into());
            }
            let Value::Object(events) = &hooks.value else { continue };
            let mut names = BTreeSet::new();
            for event in &events.properties {
                let event_name = event.name.as_str();
                let shown = excerpt(event_name.as_bytes(), 60);
                if !names.insert(event_name) {
                    let text = format!("`{shown}` is there twice; the last one counts");
                    self.note(event.start(), text);
                }
                if !self.known.contains(&event_name) {
                    let text = format!("`{shown}` is no event that we know of");
                    self.found(event.start(), text, self.form.strict);
                }
                let Value::Array(list) = &event.value else { continue };
                let mut lines = BTreeSet::new();
                for element in &list.elements {
                    self.element(element, event_name, &mut lines);
                }
            }
        }
    }

    fn element<'v>(
        &mut self,
        element: &'v Value<'_>,
        event: &str,
        lines: &mut BTreeSet<(&'v str, &'v str)>,
    ) {
        let Some(entry) = element.as_object() else {
            return self.invalid(element.start(), event, "an entry is no object");
        };
        let matcher = match get(entry, "matcher") {
            None => "",
            Some(Value::StringLit(matcher)) => matcher.value.as_ref(),
            Some(other) => {
                self.invalid(other.start(), event, "`matcher` is no text");
                ""
            }
        };
        match self.form.nesting {
            Nesting::Flat => self.hook(entry, event, matcher, lines),
            Nesting::Grouped => match get(entry, "hooks") {
                Some(Value::Array(inner)) => {
                    for hook in &inner.elements {
                        match hook.as_object() {
                            Some(hook) => self.hook(hook, event, matcher, lines),
                            None => self.invalid(hook.start(), event, "a hook is no object"),
                        }
                    }
                }
                _ => self.invalid(entry.start(), event, "a group has no list of `hooks`"),
            },
        }
    }

    fn hook<'v>(
        &mut self,
        hook: &'v Object<'_>,
        event: &str,
        matcher: &'v str,
        lines: &mut BTreeSet<(&'v str, &'v str)>,
    ) {
        let kind = match get(hook, "type") {
            None if self.form.nesting == Nesting::Flat => "command",
            Some(Value::StringLit(kind)) => kind.value.as_ref(),
            None | Some(_) => {
                self.invalid(hook.start(), event, "`type` is no text");
                "command"
            }
        };
        if self.form.strict && !matches!(kind, "command" | "prompt") {
            self.invalid(hook.start(), event, "`type` is neither command nor prompt");
        }
        let needed = if kind == "prompt" { "prompt" } else { "command" };
        let text = match get(hook, needed) {
            Some(Value::StringLit(text)) => Some(text.value.as_ref()),
            _ => None,
        };
        if text.is_none_or(str::is_empty) && matches!(kind, "command" | "prompt") {
            self.invalid(hook.start(), event, &format!("`{needed}` is missing or no text"));
        }
        self.numbers(hook, event);
        let Some(line) = text.filter(|_| kind == "command") else {
            self.survey.theirs += 1;
            return;
        };
        if !lines.insert((matcher, line)) {
            let shown = excerpt(line.as_bytes(), 60);
            let text = format!("`{shown}` is there twice under `{event}`");
            self.note(hook.start(), text);
        }
        if command::is_ours(line, self.name) {
            let program = program_of(line).unwrap_or_default();
            let ours = OurEntry { event: event.to_owned(), command: line.to_owned(), program };
            self.survey.ours.push(ours);
        } else {
            self.survey.theirs += 1;
        }
    }

    fn numbers(&mut self, hook: &Object, event: &str) {
        let number = |value: &Value| value.as_number_lit()?.value.parse::<f64>().ok();
        if let Some(timeout) = get(hook, "timeout") {
            match number(timeout) {
                Some(seconds) if seconds > 0.0 => {
                    if self.form.strict && seconds > LONGEST_TIMEOUT_S {
                        let text = format!("a `timeout` under `{event}` is beyond an hour");
                        self.note(timeout.start(), text);
                    }
                }
                _ => self.invalid(timeout.start(), event, "`timeout` is no number above 0"),
            }
        }
        if !self.form.strict {
            return;
        }
        match get(hook, "loop_limit") {
            None | Some(Value::NullKeyword(_)) => {}
            Some(limit) => {
                let good = number(limit).is_some_and(|n| n >= 1.0 && n.fract() == 0.0);
                if !good {
                    self.invalid(limit.start(), event, "`loop_limit` is no whole number above 0");
                }
            }
        }
        if let Some((word, _)) = self.form.fail_closed
            && let Some(closed) = get(hook, word)
            && closed.as_boolean_lit().is_none()
        {
            self.invalid(closed.start(), event, &format!("`{word}` is neither true nor false"));
        }
    }

    fn invalid(&mut self, at: usize, event: &str, what: &str) {
        let event = excerpt(event.as_bytes(), 60);
        self.found(at, format!("{what}, under `{event}`"), self.form.strict);
    }

    fn note(&mut self, at: usize, text: String) {
        self.found(at, text, false);
    }

    fn found(&mut self, at: usize, text: String, voids: bool) {
        let line = self.doc.line(at);
        self.survey.findings.push(Finding { line, text, voids });
    }
}
