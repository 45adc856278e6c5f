//! A unified diff as the protocol has it: what stood there and what stands there, hunk by hunk.
//!
//! The protocol wants whole texts; of a diff only what it shows is known, which is what an editor
//! shows, too. Never fails: what is no diff has no hunks.

use std::path::{Path, PathBuf};

/// One hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The file.
    pub(super) path: PathBuf,
    /// The first line of it in the new text, where stated.
    pub(super) line: Option<u32>,
    /// What stood there; nothing where the file is new.
    pub(super) old: Option<String>,
    /// What stands there.
    pub(super) new: String,
}

/// So many hunks are shown of one diff.
const MOST: usize = 64;

/// Reads a diff; `path` is meant where it names no file itself.
pub(super) fn hunks(diff: &str, path: Option<&Path>) -> Vec<Hunk> {
    let mut found: Vec<Hunk> = Vec::new();
    let mut file: Option<PathBuf> = path.map(Path::to_owned);
    let mut is_new = false;
    // How many lines of each side the hunk still has; a line that begins with dashes may be part of it.
    let (mut olds, mut news) = (0, 0);
    for line in diff.lines() {
        if olds == 0 && news == 0 {
            if let Some(name) = line.strip_prefix("--- ") {
                is_new = name.trim() == "/dev/null";
                if path.is_none() && !is_new {
                    file = Some(plain(name));
                }
            } else if let Some(name) = line.strip_prefix("+++ ") {
                if path.is_none() && name.trim() != "/dev/null" {
                    file = Some(plain(name));
                }
            } else if let Some((old, line, new)) = line.strip_prefix("@@ -").and_then(ranges) {
                let Some(path) = file.clone() else { continue };
                if found.len() == MOST {
                    break;
                }
                (olds, news) = (old, new);
                let old = (!is_new).then(String::new);
                found.push(Hunk { path, line: Some(line), old, new: String::new() });
            }
            continue;
        }
        let Some(hunk) = found.last_mut() else { break };
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        if matches!(sign, " " | "-") {
            olds = olds.saturating_sub(1);
            if let Some(old) = &mut hunk.old {
                old.push_str(text);
                old.push('\n');
            }
        }
        if matches!(sign, " " | "+") {
            news = news.saturating_sub(1);
            hunk.new.push_str(text);
            hunk.new.push('\n');
        }
    }
    found
}

/// `12,3 +14,5 @@`: how many old lines, the first new one, how many new ones.
fn ranges(text: &str) -> Option<(u32, u32, u32)> {
    let (old, rest) = text.split_once(" +")?;
    let (new, _) = rest.split_once(" @@").unwrap_or((rest, ""));
    let range = |text: &str| -> Option<(u32, u32)> {
        let (first, many) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.trim().parse().ok()?, many.trim().parse().ok()?))
    };
    let ((_, olds), (first, news)) = (range(old)?, range(new)?);
    Some((olds, first, news))
}

/// The name in a header, without what tools put around it.
fn plain(name: &str) -> PathBuf {
    let name = name.split('\t').next().unwrap_or_default().trim();
    let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    PathBuf::from(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hunk_has_both_sides() {
        let diff = "--- a/fence.rs\n+++ b/fence.rs\n@@ -3,3 +3,3 @@ fn mend()\n a\n-b\n+c\n d\n@@ -20 +20,2 @@\n x\n+--- y\n";
        let [one, two] = hunks(diff, None).try_into().unwrap();
        assert_eq!((one.path, one.line), (PathBuf::from("fence.rs"), Some(3)));
        assert_eq!((one.old.as_deref(), one.new.as_str()), (Some("a\nb\nd\n"), "a\nc\nd\n"));
        assert_eq!((two.old.as_deref(), two.new.as_str()), (Some("x\n"), "x\n--- y\n"));
    }

    #[test]
    fn a_new_file_has_no_old_text_and_a_given_path_counts() {
        let diff = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+one\n+two\n";
        let [hunk] = hunks(diff, Some(Path::new("/w/x"))).try_into().unwrap();
        assert_eq!((hunk.path, hunk.old), (PathBuf::from("/w/x"), None));
        assert_eq!(hunk.new, "one\ntwo\n");
    }

    #[test]
    fn what_is_no_diff_has_no_hunks() {
        for text in ["", "hello\nworld", "@@ -1 +1 @@\n-a\n+b", "--- a\n+++ b\n@@ nonsense @@\n+x"]
        {
            assert_eq!(hunks(text, None), []);
        }
    }
}
