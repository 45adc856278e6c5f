//! Secrets in JSON: looked for in what strings mean, not in how they are escaped.
//!
//! A value under a secret's name needs no form to be one; it is guessed like an assignment in a text.
//! A word behind `--password` in an array is one: arrays of words are command lines.

use super::Redactor;
use super::check::{self, SHORTEST_VALUE};
use serde_json::Value;
use std::borrow::Cow;

const ASSIGNED: &str = "assigned";

const PASSWORD: &str = "password";

/// Redacts a value in place.
pub(super) fn value(redactor: &Redactor, name: Option<&str>, value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(safe) = string(redactor, name, text) {
                *text = safe;
            }
        }
        Value::Array(items) => {
            let mut is_behind_option = false;
            for item in items {
                let is_option = item.as_str().is_some_and(check::is_secret_option);
                match item {
                    Value::String(text) if is_behind_option && check::is_given("", text) => {
                        *text = redactor.marker(PASSWORD, text);
                    }
                    _ => self::value(redactor, name, item),
                }
                is_behind_option = is_option;
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                self::value(redactor, Some(name), member);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A string that stands under a name.
fn string<'t>(redactor: &Redactor, name: Option<&str>, text: &'t str) -> Cow<'t, str> {
    if text.len() < SHORTEST_VALUE {
        return Cow::Borrowed(text);
    }
    let safe = redactor.redact(text);
    match (&safe, name) {
        (Cow::Borrowed(_), Some(name)) if is_assigned(name, text) => {
            Cow::Owned(redactor.marker(ASSIGNED, text))
        }
        _ => safe,
    }
}

/// Whether a string is a secret because of its name. Most names are none of a secret's.
fn is_assigned(name: &str, text: &str) -> bool {
    super::FORMS.names_secret(name)
        && !text.bytes().any(|b| b.is_ascii_whitespace())
        && check::is_assigned_secret(&unescaped(name), text)
}

/// Redacts JSON that is text, string by string.
pub(super) fn text<'t>(redactor: &Redactor, json: &'t str) -> Cow<'t, str> {
    let bytes = json.as_bytes();
    // Most JSON holds no word of any form. One look at all of it says so, unless escapes hide some.
    if !hides_letters(bytes) && redactor.is_free_of_hints(json) {
        return Cow::Borrowed(json);
    }
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    // In an array the name holds for all; the next member brings its own.
    let mut name: Option<&str> = None;
    // Where an option such as `--password` ended.
    let mut option: Option<usize> = None;
    while let Some(open) = memchr::memchr(b'"', bytes.get(at..).unwrap_or_default()) {
        let start = at + open + 1;
        let Some(length) = string_length(bytes.get(start..).unwrap_or_default()) else { break };
        let end = start + length;
        at = end + 1;
        let Some(inside) = json.get(start..end) else { break };
        if is_name(bytes.get(at..).unwrap_or_default()) {
            name = Some(inside);
            continue;
        }
        let is_behind_option = option.take().is_some_and(|from| {
            let between = bytes.get(from..start - 1).unwrap_or_default();
            between.iter().all(|b| *b == b',' || b.is_ascii_whitespace())
        });
        if inside.contains('-') && check::is_secret_option(&unescaped(inside)) {
            option = Some(at);
        }
        if is_behind_option && check::is_given("", &unescaped(inside)) {
            out.push_str(json.get(copied..start).unwrap_or_default());
            out.push_str(&redactor.marker(PASSWORD, &unescaped(inside)));
            copied = end;
            continue;
        }
        // Escapes only make it longer.
        if inside.len() < SHORTEST_VALUE {
            continue;
        }
        if let Cow::Owned(safe) = string(redactor, name, &unescaped(inside)) {
            let quoted = serde_json::to_string(&safe).unwrap_or_else(|_| "\"\"".to_owned());
            out.push_str(json.get(copied..start - 1).unwrap_or_default());
            out.push_str(&quoted);
            copied = at;
        }
    }
    // A string without an end: this is no JSON, so what is left is a text like any other.
    let rest = json.get(at..).unwrap_or_default();
    let safe_rest = if rest.contains('"') { redactor.redact(rest) } else { Cow::Borrowed(rest) };
    if copied == 0 && matches!(safe_rest, Cow::Borrowed(_)) {
        return Cow::Borrowed(json);
    }
    out.push_str(json.get(copied..at).unwrap_or_default());
    out.push_str(&safe_rest);
    Cow::Owned(out)
}

/// Whether an escape stands for a letter or a slash; the others stand for what no form has.
fn hides_letters(json: &[u8]) -> bool {
    let mut escapes = memchr::memchr_iter(b'\\', json);
    escapes.any(|at| matches!(json.get(at + 1), Some(b'u' | b'/')))
}

/// How long a string is whose quote was opened before.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes.get(at) {
            Some(b'"') => return Some(at),
            _ => at += 2,
        }
    }
}

fn is_name(after: &[u8]) -> bool {
    after.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':')
}

/// What a string means; as it is written where it means nothing.
fn unescaped(inside: &str) -> Cow<'_, str> {
    if !inside.contains('\\') {
        return Cow::Borrowed(inside);
    }
    match serde_json::from_str::<String>(&format!("\"{inside}\"")) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(inside),
    }
}
