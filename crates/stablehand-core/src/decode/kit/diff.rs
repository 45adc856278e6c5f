//! Unified diffs of what an edit is to do or has done, made from the texts that hooks tell.
//!
//! Only the replaced piece is known, so the lines are counted from its beginning and not from that
//! of the file. There is no clock here to stop a comparison by: what is too long to be compared in
//! a moment is summed up in a line, and what is too long to be shown is cut at the end of a line.

use crate::event::{Tool, ToolInput, ToolKind};
use crate::text::excerpt;
use serde_json::Value;
use similar::TextDiff;

/// So many lines are compared for one file, both sides together: in the worst case, where hardly
/// anything is alike, it takes the square of it, 0.15 s without optimisation.
const MOST_LINES: usize = 4000;

/// So much text is compared or shown for one file. More than that nobody reads before saying yes.
const MOST_BYTES: usize = 256 << 10;

/// So much of a path is shown.
const PATH: usize = 400;

const OLD: &[&str] = &["old_string", "oldString", "old_str", "old_text", "oldText"];
const NEW: &[&str] = &["new_string", "newString", "new_str", "new_text", "newText"];
const WHOLE: &[&str] = &["content", "contents", "file_text", "new_source", "code_edit"];

/// What an edit that was not made yet would do.
pub(in super::super) fn proposed(tool: &Tool, arguments: &Value) -> Option<String> {
    let ToolInput::Path { path } = &tool.input else {
        return None;
    };
    if tool.tool_kind != ToolKind::Edit {
        return None;
    }
    let list = arguments.get("edits").and_then(Value::as_array);
    let mut edits: Vec<_> = list.into_iter().flatten().filter_map(pair).collect();
    edits.extend(pair(arguments));
    if edits.is_empty() {
        // What stands in the file now is not told.
        edits.push(("", one_of(arguments, WHOLE)?));
    }
    unified(path, &edits)
}

/// What a list of edits has done.
pub(in super::super) fn done(path: &str, edits: Option<&Value>) -> Option<String> {
    let list = edits.and_then(Value::as_array)?;
    unified(path, &list.iter().filter_map(pair).collect::<Vec<_>>())
}

/// What making a file with this content has done.
pub(in super::super) fn new_file(path: &str, content: &str) -> Option<String> {
    unified(path, &[("", content)])
}

/// The replaced text and what replaces it.
fn pair(edit: &Value) -> Option<(&str, &str)> {
    match (one_of(edit, OLD), one_of(edit, NEW)) {
        (None, None) => None,
        (old, new) => Some((old.unwrap_or_default(), new.unwrap_or_default())),
    }
}

fn one_of<'v>(holder: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| holder.get(key).and_then(Value::as_str))
}

/// The diff of these edits of one file; `None` where they change nothing.
fn unified(path: &str, edits: &[(&str, &str)]) -> Option<String> {
    let name = excerpt(path.as_bytes(), PATH);
    let mut room = Room { lines: MOST_LINES, bytes: MOST_BYTES };
    let mut hunks = Vec::new();
    for (old, new) in edits {
        match (old.is_empty(), new.is_empty()) {
            _ if old == new => {}
            (true, _) => one_sided('+', new, &mut room, &mut hunks),
            (_, true) => one_sided('-', old, &mut room, &mut hunks),
            _ => two_sided(old, new, &mut room, &mut hunks),
        }
    }
    (!hunks.is_empty()).then(|| format!("--- {name}\n+++ {name}\n{}", hunks.concat()))
}

/// What may still be compared and shown.
struct Room {
    lines: usize,
    bytes: usize,
}

impl Room {
    fn take(&mut self, lines: usize, bytes: usize) -> bool {
        let fits = lines <= self.lines && bytes <= self.bytes;
        if fits {
            self.lines -= lines;
            self.bytes -= bytes;
        }
        fits
    }
}

/// Text that only comes, or only goes: nothing to compare.
fn one_sided(sign: char, text: &str, room: &mut Room, out: &mut Vec<String>) {
    let count = text.lines().count();
    out.push(match sign {
        '+' => format!("@@ -0,0 +1,{count} @@\n"),
        _ => format!("@@ -1,{count} +0,0 @@\n"),
    });
    for (shown, line) in text.lines().enumerate() {
        if !room.take(0, line.len() + 2) {
            let rest = count - shown;
            out.push(format!("@@ {rest} more lines ({} bytes in all) @@\n", text.len()));
            return;
        }
        out.push(format!("{sign}{line}\n"));
    }
}

fn two_sided(old: &str, new: &str, room: &mut Room, out: &mut Vec<String>) {
    let (gone, come) = (old.lines().count(), new.lines().count());
    let (from, to) = (old.len(), new.len());
    if !room.take(gone + come, from + to) {
        out.push(format!(
            "@@ {gone} lines ({from} bytes) become {come} lines ({to} bytes): too long to compare @@\n"
        ));
        return;
    }
    let diff = TextDiff::from_lines(old, new);
    // The piece may well end in the middle of a line.
    out.push(diff.unified_diff().missing_newline_hint(false).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(edits: &[(&str, &str)]) -> String {
        unified("src/lib.rs", edits).unwrap_or_default()
    }

    #[test]
    fn pieces_are_compared_line_by_line() {
        assert_eq!(
            of(&[("a\nb\nc", "a\nB\nc"), ("x\n", "x\n"), ("", "new\nlines"), ("old", "")]),
            "--- src/lib.rs\n+++ src/lib.rs\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n\
             @@ -0,0 +1,2 @@\n+new\n+lines\n@@ -1,1 +0,0 @@\n-old\n"
        );
        assert_eq!(unified("x", &[("same", "same")]), None);
        assert_eq!(unified("x", &[]), None);
    }

    #[test]
    fn a_path_cannot_write_lines_of_its_own() {
        let diff = unified("a\n+++ b\u{1b}[2J", &[("", "x")]).unwrap();
        assert_eq!(diff, "--- a +++ b\n+++ a +++ b\n@@ -0,0 +1,1 @@\n+x\n");
    }

    #[test]
    fn long_texts_are_summed_up_and_cut() {
        let line = "oats\n";
        let (old, new) = (line.repeat(MOST_LINES), "hay\n".repeat(MOST_LINES));
        assert_eq!(
            of(&[(&old, &new)]),
            "--- src/lib.rs\n+++ src/lib.rs\n@@ 4000 lines (20000 bytes) become 4000 lines \
             (16000 bytes): too long to compare @@\n"
        );
        let whole = line.repeat(MOST_BYTES);
        let diff = of(&[("", &whole)]);
        assert!(diff.len() < MOST_BYTES + 1000, "{}", diff.len());
        assert!(diff.ends_with("more lines (1310720 bytes in all) @@\n"), "{diff}");
        // One line that alone is too long.
        let diff = of(&[("", &"x".repeat(MOST_BYTES))]);
        assert!(diff.ends_with("@@ 1 more lines (262144 bytes in all) @@\n"), "{diff}");
        // The longest that are compared, with nothing alike.
        let half = MOST_LINES / 2;
        let old = (0..half).map(|n| format!("old {n}\n")).collect::<Vec<_>>().concat();
        let new = (0..half).map(|n| format!("new {n}\n")).collect::<Vec<_>>().concat();
        assert_eq!(of(&[(&old, &new)]).lines().count(), 3 + MOST_LINES);
    }

    #[test]
    fn every_way_to_tell_an_edit_is_read() {
        let path = || ToolInput::Path { path: "f".to_owned() };
        let tool = |kind| Tool::new(crate::id::CallId(String::new()), "Write", kind, path());
        let edit = tool(ToolKind::Edit);
        let added = "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+b\n";
        for arguments in [
            json!({"content": "b"}),
            json!({"contents": "b\n"}),
            json!({"old_string": "", "new_string": "b"}),
            json!({"edits": [{"new_string": "b"}]}),
        ] {
            assert_eq!(proposed(&edit, &arguments).as_deref(), Some(added), "{arguments}");
        }
        for arguments in [json!({}), json!(null), json!({"edits": 3}), json!({"content": 1})] {
            assert_eq!(proposed(&edit, &arguments), None, "{arguments}");
        }
        assert_eq!(proposed(&tool(ToolKind::Read), &json!({"content": "b"})), None);
        assert_eq!(
            done("f", Some(&json!([{"old_string": "", "new_string": "b"}, 7]))).unwrap(),
            added
        );
        assert_eq!(done("f", None), None);
    }
}
