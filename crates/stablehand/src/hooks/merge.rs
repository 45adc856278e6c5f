//! Our entries into a settings file, and out of it again: text in, text out.
//!
//! Everything of the user's stays as it is, to the byte: order, formatting, comments. Ours come
//! behind theirs. What was put in can be taken out without a trace, because new lists and objects
//! are written with white space behind their bracket, and what goes into empty ones that were there
//! is written without. Nothing here touches a file.

use super::doc::{Doc, Edit, WHITE, get, members};
use super::form::{Commands, EventCommand, HookForm};
use super::{FileError, command};
use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use std::collections::BTreeMap;
use std::ffi::OsStr;

/// A file with our entries in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The text.
    pub text: String,
    /// The events that got an entry.
    pub added: Vec<&'static str>,
}

/// A file without our entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmerged {
    /// The text; nothing where the whole file was ours.
    pub text: Option<String>,
    /// How many entries were taken out.
    pub removed: usize,
}

/// Whether nothing is said in a file.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| WHITE.contains(&c))
}

/// Puts an entry for each of `commands` into a file; no text is a file that is not there. `name` is
/// the file name of our program: entries of ours that say something else are taken out.
pub fn merge(
    text: Option<&str>,
    form: &HookForm,
    commands: &Commands,
    name: &OsStr,
) -> Result<Merged, FileError> {
    let added = || commands.iter().map(|command| command.event).collect();
    let Some(text) = text.filter(|text| !is_blank(text)) else {
        return Ok(Merged { text: whole(form, commands), added: added() });
    };
    check(&Doc::parse(text)?, form)?;
    // Each wanted entry stays where it is, once, and only where it counts.
    let mut wanted: Vec<_> = commands.iter().map(|command| (command, false)).collect();
    let stripped = strip(text, &mut |entry| {
        let same = |command: &EventCommand| {
            entry.counts && command.event == entry.event && command.command == entry.command
        };
        let known = wanted.iter_mut().find(|(command, _)| same(command));
        let first = known.is_some_and(|(_, seen)| !std::mem::replace(seen, true));
        command::is_ours(entry.command, name) && !first
    })?;
    let text = stripped.text.unwrap_or_default();
    let missing: Vec<&EventCommand> =
        wanted.into_iter().filter(|(_, seen)| !seen).map(|(command, _)| command).collect();
    if is_blank(&text) {
        return Ok(Merged { text: whole(form, commands), added: added() });
    }
    let doc = Doc::parse(&text)?;
    let unit = doc.indent_unit();
    let mut edits = Vec::new();
    let mut new_events: Vec<(&'static str, Vec<String>)> = Vec::new();
    let hooks = get(&doc.root, "hooks").and_then(Value::as_object);
    let mut lists: BTreeMap<usize, (&Array, Vec<String>)> = BTreeMap::new();
    for command in &missing {
        let entry = form.entry(command);
        let list = hooks.and_then(|hooks| get(hooks, command.event)?.as_array());
        if let Some(list) = list {
            lists.entry(list.start()).or_insert((list, Vec::new())).1.push(entry);
        } else if let Some(known) = new_events.iter_mut().find(|(name, _)| *name == command.event) {
            known.1.push(entry);
        } else {
            new_events.push((command.event, vec![entry]));
        }
    }
    for (list, entries) in lists.values() {
        edits.extend(doc.append(&doc.array(list), entries));
    }
    if !new_events.is_empty() {
        let object = hooks.unwrap_or(&doc.root);
        let container = doc.object(object);
        // Where a container has no lines of its own, what is put in has none either, unless it is
        // the first that is put in.
        let indent = match (doc.indent_of(&container), object.properties.is_empty()) {
            (Some(indent), _) => Some(indent),
            (None, true) if doc.has_lines() => Some(doc.indent_at(object.start()) + &unit),
            (None, _) => None,
        };
        let layout = Layout { newline: doc.newline(), unit: &unit };
        let items = match hooks {
            Some(_) => events_text(&new_events, layout, indent.as_deref()),
            None => vec![hooks_text(&new_events, layout, indent.as_deref())],
        };
        edits.extend(doc.append(&container, &items));
    }
    let added = missing.iter().map(|command| command.event).collect();
    Ok(Merged { text: doc.edited(edits), added })
}

/// Takes out every entry of a program of that name.
pub fn unmerge(text: &str, name: &OsStr) -> Result<Unmerged, FileError> {
    unmerge_where(text, |entry| command::is_ours(entry.command, name))
}

/// Takes out the entries that `ours` says are ours.
pub(super) fn unmerge_where(
    text: &str,
    mut ours: impl FnMut(Entry) -> bool,
) -> Result<Unmerged, FileError> {
    if is_blank(text) {
        return Ok(Unmerged { text: Some(text.to_owned()), removed: 0 });
    }
    strip(text, &mut ours)
}

/// Refuses a file whose shape is not understood.
pub(super) fn check(doc: &Doc, form: &HookForm) -> Result<(), FileError> {
    let wrong = |at: usize, what: String| Err(FileError::Shape { line: doc.line(at), what });
    if let (Some(version), Some(found)) = (form.version, get(&doc.root, "version")) {
        let number = found.as_number_lit().map(|number| number.value.parse::<f64>());
        if number != Some(Ok(version as f64)) {
            let found = found.text(doc.text).chars().take(40).collect();
            return Err(FileError::Version { line: doc.line(version_line(doc)), found });
        }
    }
    for hooks in members(&doc.root, "hooks") {
        let Value::Object(events) = &hooks.value else {
            return wrong(hooks.start(), "`hooks` is no object".into());
        };
        for event in &events.properties {
            if !matches!(event.value, Value::Array(_)) {
                let name = stablehand_core::text::excerpt(event.name.as_str().as_bytes(), 40);
                return wrong(event.start(), format!("`{name}` under `hooks` is no list"));
            }
        }
    }
    Ok(())
}

fn version_line(doc: &Doc) -> usize {
    members(&doc.root, "version").next_back().map_or(0, Ranged::start)
}

/// An entry that may be ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'e> {
    pub(super) event: &'e str,
    pub(super) command: &'e str,
    /// Whether it is under the names that count: of several that are the same, the last.
    pub(super) counts: bool,
}

type Ours<'o> = dyn FnMut(Entry) -> bool + 'o;

/// What became of a container.
struct Stripped {
    edits: Vec<Edit>,
    removed: usize,
    /// Nothing is left in it, and there was something.
    emptied: bool,
}

fn strip(text: &str, ours: &mut Ours) -> Result<Unmerged, FileError> {
    let doc = Doc::parse(text)?;
    let root = doc.object(&doc.root);
    let mut edits = Vec::new();
    let mut removed = 0;
    let mut gone = Vec::new();
    for member in &doc.root.properties {
        let mut whole = false;
        if let ("hooks", Value::Object(events)) = (member.name.as_str(), &member.value) {
            let counts = is_last(&doc.root, member);
            let stripped = strip_events(&doc, events, counts, ours);
            removed += stripped.removed;
            // An object that was there before us was filled right behind its bracket.
            whole = stripped.emptied && !doc.object(events).is_tight();
            if !whole {
                edits.extend(stripped.edits);
            }
        }
        gone.push(whole);
    }
    edits.extend(doc.remove(&root, &gone));
    let rest = doc.edited(edits);
    let nothing = !root.is_tight() && removed > 0 && says_nothing(&doc, &gone, &rest);
    Ok(Unmerged { text: (!nothing).then_some(rest), removed })
}

/// Whether what is left is what we write around our hooks in a file of our own.
fn says_nothing(doc: &Doc, gone: &[bool], rest: &str) -> bool {
    let bare: String = rest.chars().filter(|c| !WHITE.contains(c)).collect();
    let names: Vec<&str> = doc.root.properties.iter().map(|member| member.name.as_str()).collect();
    let first_is_gone = gone.first() == Some(&true);
    match names.as_slice() {
        ["hooks"] => first_is_gone && bare == "{}",
        // We write it behind the hooks, people before.
        ["hooks", "version"] => first_is_gone && bare == r#"{"version":1}"#,
        _ => false,
    }
}

/// Whether no member of the same name comes after it.
fn is_last(object: &Object, member: &ObjectProp) -> bool {
    let last = members(object, member.name.as_str()).next_back();
    last.is_some_and(|last| last.start() == member.start())
}

fn strip_events(doc: &Doc, events: &Object, counts: bool, ours: &mut Ours) -> Stripped {
    let strip_event = |event: &ObjectProp| {
        let Value::Array(list) = &event.value else { return (false, Vec::new(), 0) };
        let counts = counts && is_last(events, event);
        let is_ours =
            &mut |command: &str| ours(Entry { event: event.name.as_str(), command, counts });
        let stripped = strip_list(doc, list, is_ours);
        let whole = stripped.emptied && !doc.array(list).is_tight();
        let edits = if whole { Vec::new() } else { stripped.edits };
        (whole, edits, stripped.removed)
    };
    let results: Vec<_> = events.properties.iter().map(strip_event).collect();
    gather(doc, &doc.object(events), results)
}

fn strip_list(doc: &Doc, list: &Array, ours: &mut dyn FnMut(&str) -> bool) -> Stripped {
    let strip_element = |element: &Value| {
        let Value::Object(entry) = element else { return (false, Vec::new(), 0) };
        let line = get(entry, "command").and_then(Value::as_string_lit);
        if line.is_some_and(|line| ours(&line.value)) {
            return (true, Vec::new(), 1);
        }
        // A group is ours when nothing but ours was in it.
        let Some(Value::Array(inner)) = get(entry, "hooks") else { return (false, Vec::new(), 0) };
        let is_ours = |hook: &Value| {
            let hook = hook.as_object()?;
            let line = get(hook, "command")?.as_string_lit()?;
            Some(ours(&line.value))
        };
        let gone: Vec<bool> =
            inner.elements.iter().map(is_ours).map(|ours| ours.unwrap_or(false)).collect();
        let removed = gone.iter().filter(|gone| **gone).count();
        let whole = removed > 0 && removed == gone.len();
        let edits = if whole { Vec::new() } else { doc.remove(&doc.array(inner), &gone) };
        (whole, edits, removed)
    };
    let results: Vec<_> = list.elements.iter().map(strip_element).collect();
    gather(doc, &doc.array(list), results)
}

fn gather(
    doc: &Doc,
    container: &super::doc::Container,
    results: Vec<(bool, Vec<Edit>, usize)>,
) -> Stripped {
    let gone: Vec<bool> = results.iter().map(|(whole, ..)| *whole).collect();
    let removed = results.iter().map(|(.., removed)| removed).sum();
    let mut edits: Vec<Edit> = results.into_iter().flat_map(|(_, edits, _)| edits).collect();
    edits.extend(doc.remove(container, &gone));
    Stripped { edits, removed, emptied: !gone.is_empty() && gone.iter().all(|gone| *gone) }
}

/// How new text is laid out.
#[derive(Clone, Copy)]
struct Layout<'a> {
    newline: &'a str,
    unit: &'a str,
}

impl Layout<'_> {
    /// Something in brackets, on lines of its own where there is an indent. There is always white
    /// space behind the bracket: it is how we know later that the brackets are ours too.
    fn block(self, open: char, items: &[String], close: char, indent: Option<&str>) -> String {
        match indent {
            None => format!("{open} {} {close}", items.join(", ")),
            Some(indent) => {
                let newline = self.newline;
                let inner = format!("{newline}{indent}{}", self.unit);
                let items = items.join(&format!(",{inner}"));
                format!("{open}{inner}{items}{newline}{indent}{close}")
            }
        }
    }
}

/// Members of the object of events.
fn events_text(
    events: &[(&'static str, Vec<String>)],
    layout: Layout,
    indent: Option<&str>,
) -> Vec<String> {
    let event = |(name, entries): &(&str, Vec<String>)| {
        format!("\"{name}\": {}", layout.block('[', entries, ']', indent))
    };
    events.iter().map(event).collect()
}

/// The member `hooks`.
fn hooks_text(
    events: &[(&'static str, Vec<String>)],
    layout: Layout,
    indent: Option<&str>,
) -> String {
    let deeper = indent.map(|indent| format!("{indent}{}", layout.unit));
    let events = events_text(events, layout, deeper.as_deref());
    format!("\"hooks\": {}", layout.block('{', &events, '}', indent))
}

/// A file of our own.
fn whole(form: &HookForm, commands: &Commands) -> String {
    let mut events: Vec<(&'static str, Vec<String>)> = Vec::new();
    for command in commands.iter() {
        match events.iter_mut().find(|(name, _)| *name == command.event) {
            Some((_, entries)) => entries.push(form.entry(command)),
            None => events.push((command.event, vec![form.entry(command)])),
        }
    }
    let layout = Layout { newline: "\n", unit: "  " };
    let mut members = vec![hooks_text(&events, layout, Some("  "))];
    // Behind the hooks, so that it is not taken for somebody's `{"version": 1}`.
    members.extend(form.version.map(|version| format!("\"version\": {version}")));
    layout.block('{', &members, '}', Some("")) + "\n"
}
