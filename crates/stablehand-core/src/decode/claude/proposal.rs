//! What a tool that changes files is about to do, as a diff for whoever is asked.
//!
//! Made of what the tool is given alone: nobody has looked at the file, so there are no line numbers
//! and nothing around the change. What it really changed is told when it is over.

use super::tools::first;
use crate::json::Value;

/// The change that an edit or a new file would make; none where the input is of another kind.
pub(super) fn diff(path: &str, input: Value<'_>) -> Option<String> {
    let mut hunks = String::new();
    match input.get("edits") {
        Some(edits) => edits.elements().for_each(|edit| replacement(edit, &mut hunks)),
        None => replacement(input, &mut hunks),
    }
    if hunks.is_empty() {
        let content = first(input, &["content", "new_source"])?;
        hunk("", &content, &mut hunks);
    }
    (!hunks.is_empty()).then(|| format!("--- {path}\n+++ {path}\n{hunks}"))
}

fn replacement(edit: Value<'_>, out: &mut String) {
    let old = edit.get("old_string").and_then(Value::string);
    let new = edit.get("new_string").and_then(Value::string);
    if old.is_some() || new.is_some() {
        hunk(&old.unwrap_or_default(), &new.unwrap_or_default(), out);
    }
}

fn hunk(old: &str, new: &str, out: &mut String) {
    let lines = |text: &str, sign: &'static str| -> String {
        text.lines().flat_map(|line| [sign, line, "\n"]).collect()
    };
    let (old, new) = (lines(old, "-"), lines(new, "+"));
    if !(old.is_empty() && new.is_empty()) {
        out.push_str("@@\n");
        out.push_str(&old);
        out.push_str(&new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_before_they_are_made() {
        let table = [
            (r#"{"old_string":"a\nb","new_string":"c"}"#, Some("@@\n-a\n-b\n+c\n")),
            (r#"{"content":"x\ny\n"}"#, Some("@@\n+x\n+y\n")),
            (
                r#"{"edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":""}]}"#,
                Some("@@\n-a\n+b\n@@\n-c\n"),
            ),
            (r#"{"command":"ls"}"#, None),
            (r#"{"old_string":"","new_string":""}"#, None),
        ];
        for (input, expected) in table {
            let expected = expected.map(|hunks| format!("--- f\n+++ f\n{hunks}"));
            assert_eq!(diff("f", Value::new(input.as_bytes())), expected, "{input}");
        }
    }
}
