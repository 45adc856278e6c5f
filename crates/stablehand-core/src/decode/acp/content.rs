//! What a call shows: texts, differences, names of what cannot be shown.

use super::super::kit::{diff as diffs, first};
use crate::json::Value;
use crate::text::excerpt;

/// So much of an address is shown.
const ADDRESS: usize = 200;

/// Members of a raw output that have the text, the best first.
const TEXTS: &[&str] =
    &["aggregated_output", "formatted_output", "output", "stdout", "content", "text", "result"];

/// The texts of a list of contents, one after the other.
pub(super) fn text(content: Value<'_>) -> String {
    let mut text = String::new();
    for entry in content.elements() {
        let Some(inner) = entry.get("content") else { continue };
        match inner.get("text").and_then(Value::cut_str) {
            Some(part) => text.push_str(&part),
            None => text.push_str(&named(inner)),
        }
    }
    text
}

/// The differences of a list of contents.
pub(super) fn diff(content: Value<'_>) -> Option<String> {
    let mut all = String::new();
    for entry in content.elements() {
        if !entry.get("type").is_some_and(|it| it.is_str("diff")) {
            continue;
        }
        let path = first(entry, &["path"]).unwrap_or_default();
        let edit: Option<serde_json::Value> = serde_json::from_slice(entry.raw()).ok();
        let list = edit.map(|edit| serde_json::Value::Array(vec![edit]));
        all.push_str(&diffs::done(&path, list.as_ref()).unwrap_or_default());
    }
    (!all.is_empty()).then_some(all)
}

/// A block that is no text, in a few words.
pub(super) fn named(block: Value<'_>) -> String {
    let kind = first(block, &["type"]).unwrap_or_else(|| "content".to_owned());
    let resource = block.get("resource").unwrap_or(block);
    if let Some(text) = resource.get("text").and_then(Value::cut_str) {
        return text;
    }
    match first(resource, &["uri", "name", "mimeType"]) {
        Some(name) => format!("[{kind}: {}]", excerpt(name.as_bytes(), ADDRESS)),
        None => format!("[{kind}]"),
    }
}

/// The text of a raw output, where it has one.
pub(super) fn output(raw: Value<'_>) -> Option<String> {
    raw.cut_str().or_else(|| first(raw, TEXTS))
}

/// The exit code that a raw output tells.
pub(super) fn exit_code(raw: Value<'_>) -> Option<i32> {
    let of = |holder: Value<'_>| {
        let code = ["exit_code", "exitCode", "exit"].iter().find_map(|key| holder.get(key)?.i64());
        code.and_then(|code| i32::try_from(code).ok())
    };
    let of_list = |list: Value<'_>| list.elements().find_map(of);
    of(raw)
        .or_else(|| raw.get("metadata").and_then(of))
        .or_else(|| raw.get("contents").and_then(of_list))
}
