//! An agent is known in its own files and in the two tables, and nowhere else.
//!
//! Walks the sources of the workspace. It fails where a string names an agent (`"claude"`,
//! `".claude/hooks"`), where code names its variant (`Agent::Claude`, `Dialect::Claude`), and where a
//! line that a person reads lists several agents: each of these is a place that the next agent would
//! have to touch. A sentence may name one agent as an example. Comments are free, but for those of
//! which the command line makes its help.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stopped")]

use stablehand::Agent;
use stablehand_core::Dialect;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What may stay: the end of the file's path, what stands there, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "stablehand/src/agent.rs",
        "Agent::Cursor",
        "the table itself says which agent is the default",
    ),
    ("core/src/decode.rs", "Dialect::Cursor", "the table itself says which dialect is the default"),
    ("cli/src/wrap.rs", "Agent::Cursor", "cursor-wrap runs Cursor: that is its contract"),
    ("cli/src/demo.rs", "Dialect::Cursor", "the demo agent is ours, and speaks as Cursor does"),
    ("cli/src/main_stablehand.rs", "__demo-agent", "the demo agent is a subcommand of ours"),
    ("cli/src/choice.rs", "claude, codex, demo", "examples in the help of --agent"),
    ("redact/rules.rs", "cursor-key", "a form of keys is called after who gives them out"),
];

/// Test tools: the fake agent has tables of its own, with a row for each dialect that it speaks.
const TEST_CRATES: &[&str] = &["stablehand-fake", "stablehand-testkit"];

/// Protocols that any agent may speak.
const PROTOCOLS: &[Dialect] = &[Dialect::Acp, Dialect::Terminal];

/// A program of ours, and no agent.
const WRAPPER: &str = "cursor-wrap";

#[test]
fn no_other_file_names_an_agent() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        if !TEST_CRATES.iter().any(|name| folder.ends_with(name)) {
            walk(&folder.join("src"), &mut files);
        }
    }
    assert!(files.len() > 100, "{} files", files.len());
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for file in files.iter().filter(|file| !is_of_agent(file)) {
        for (line, found) in findings(file, &fs::read_to_string(file).unwrap()) {
            let allows = |(end, what, _): &(&str, &str, &str)| {
                file.to_string_lossy().ends_with(end) && found == *what
            };
            match ALLOWED.iter().position(allows) {
                Some(place) => _ = used.insert(place),
                None => wrong.push(format!("{}:{line}: {found}", file.display())),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "what depends on an agent belongs into its row (see CONTRIBUTING.md):\n{}",
        wrong.join("\n")
    );
    let unused = ALLOWED.iter().enumerate().filter(|(place, _)| !used.contains(place));
    assert_eq!(unused.collect::<Vec<_>>(), [], "no longer needed");
}

#[test]
fn names_are_found_where_they_decide_something() {
    let source = r##"
// "claude" and Agent::Claude in a comment
/// For claude and codex.
fn f<'a>(x: &'a str) { if x == "gemini" || x == '"'.to_string() {} }
const A: &[&str] = &[".qwen/settings.json", r#"a "codex" b"#, b"OPENCODE_X", "cursors"];
const B: &str = "such as claude\n\
    or gemini, qwen";
fn g() -> Agent { match x { Dialect::CodexApp => Agent::Demo, Dialect::Acp => DEMO } }
const C: &str = "cursor-wrap";
#[cfg(test)]
mod tests {
    const D: &str = "claude";
}
"##;
    let expected = [
        (3, "claude, codex"),
        (4, "gemini"),
        (5, ".qwen/settings.json"),
        (5, "OPENCODE_X"),
        (7, "gemini, qwen"),
        (8, "Agent::Demo"),
        (8, "Dialect::CodexApp"),
    ];
    let found = findings(Path::new("stablehand-cli/src/x.rs"), source);
    let found: Vec<_> = found.iter().map(|(line, found)| (*line, found.as_str())).collect();
    assert_eq!(found, expected);
    let found = findings(Path::new("stablehand/src/x.rs"), source);
    assert_eq!(found.len(), expected.len() - 1, "only the command line makes help of comments");
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap_or_default();
        if stem == "tests" || stem == "testing" {
            continue;
        }
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// Returns true for `agent/<agent>.rs` and `decode/<agent>.rs`, and for what is in those folders.
fn is_of_agent(file: &Path) -> bool {
    let below = ["stablehand/src/agent/", "stablehand-core/src/decode/"];
    let path = file.to_string_lossy();
    let rest = below.iter().find_map(|folder| path.split_once(folder)).map(|(_, rest)| rest);
    let first = rest.and_then(|rest| rest.split(['/', '.']).next());
    first.is_some_and(|first| names().any(|name| name == first))
}

fn names() -> impl Iterator<Item = &'static str> {
    Agent::ALL.iter().map(|agent| agent.name())
}

fn variants() -> Vec<String> {
    let agents = Agent::ALL.iter().map(|agent| format!("Agent::{agent:?}"));
    let dialects = Dialect::ALL.iter().filter(|dialect| !PROTOCOLS.contains(dialect));
    agents.chain(dialects.map(|dialect| format!("Dialect::{dialect:?}"))).collect()
}

/// Returns what a file says about agents, by line.
fn findings(file: &Path, source: &str) -> Vec<(usize, String)> {
    let is_face = file.components().any(|part| part.as_os_str() == "stablehand-cli");
    let variants = variants();
    let mut found = Vec::new();
    for Piece { line, kind, text } in pieces(source) {
        let text = text.replace(WRAPPER, "");
        match kind {
            Kind::Code if !text.contains("Agent::") && !text.contains("Dialect::") => {}
            Kind::Code => {
                let words = text.split(|c: char| !c.is_alphanumeric() && c != ':');
                let names = |variant: &&String| {
                    words.clone().any(|word| {
                        let path = word.strip_suffix(variant.as_str());
                        path.is_some_and(|path| path.is_empty() || path.ends_with("::"))
                    })
                };
                found.extend(variants.iter().filter(names).map(|name| (line, name.clone())));
            }
            Kind::Comment if !is_face => {}
            Kind::Literal if !text.contains(char::is_whitespace) => {
                if !named_in(&text).is_empty() {
                    found.push((line, text));
                }
            }
            Kind::Comment | Kind::Literal => {
                for (number, row) in text.split('\n').enumerate() {
                    let named = named_in(row);
                    if named.len() > 1 {
                        found.push((line + number, named.join(", ")));
                    }
                }
            }
        }
    }
    found.sort();
    found
}

/// Returns the agents that are named in a text, each once.
fn named_in(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    names().filter(|name| words.contains(name)).collect()
}

#[derive(Clone, Copy)]
enum Kind {
    Code,
    /// What is between quotes.
    Literal,
    /// `///` and `//!`.
    Comment,
}

struct Piece {
    /// Where it begins.
    line: usize,
    kind: Kind,
    text: String,
}

/// Takes Rust apart as far as needed here, up to the unit tests: clippy allows nothing behind them. Code
/// comes by lines.
fn pieces(source: &str) -> Vec<Piece> {
    let mut rest = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut pieces = Vec::new();
    let mut line = 1;
    let mut code = String::new();
    while let Some((before, behind)) = split_before(rest, &['/', '"', '\'', '\n']) {
        code.push_str(before);
        let (kind, text, after) = token(behind, &code);
        if let Some(kind) = kind {
            pieces.push(Piece { line, kind, text: text.to_owned() });
        }
        // Whatever it is, it parts words.
        code.push(' ');
        if text.contains('\n') {
            pieces.push(Piece { line, kind: Kind::Code, text: std::mem::take(&mut code) });
            line += text.matches('\n').count();
        }
        rest = after;
    }
    pieces.push(Piece { line, kind: Kind::Code, text: code + rest });
    pieces
}

/// Returns what the source begins with behind `code`, its text, and the rest.
fn token<'s>(source: &'s str, code: &str) -> (Option<Kind>, &'s str, &'s str) {
    let until = |start: &str, end: &str| {
        let text = source.strip_prefix(start)?;
        Some(text.split_once(end).unwrap_or((text, "")))
    };
    if let Some(text) = source.strip_prefix("//") {
        let kind = text.starts_with(['/', '!']).then_some(Kind::Comment);
        let (text, rest) = split_before(text, &['\n']).unwrap_or((text, ""));
        return (kind, text, rest);
    }
    if let Some((text, rest)) = until("/*", "*/") {
        return (None, text, rest);
    }
    let bare = code.trim_end_matches('#');
    let is_raw = bare
        .strip_suffix('r')
        .is_some_and(|it| !it.ends_with(char::is_alphanumeric) || it.ends_with('b'));
    if is_raw
        && let Some((text, rest)) =
            until("\"", &format!("\"{}", "#".repeat(code.len() - bare.len())))
    {
        return (Some(Kind::Literal), text, rest);
    }
    if let Some(text) = source.strip_prefix('"') {
        let mut is_escaped = false;
        let end = text.find(|c| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        let (text, rest) = text.split_at(end.unwrap_or(text.len()));
        return (Some(Kind::Literal), text, rest.strip_prefix('"').unwrap_or(rest));
    }
    // A quotation mark as a character would open a string; a lifetime opens nothing.
    for quoted in ["'\"'", "'\\\"'", "'\\''"] {
        if let Some(rest) = source.strip_prefix(quoted) {
            return (None, "", rest);
        }
    }
    let (text, rest) = source.split_at(1);
    (None, text, rest)
}

/// Splits a text before the first of these characters.
fn split_before<'s>(text: &'s str, at: &[char]) -> Option<(&'s str, &'s str)> {
    text.find(at).map(|place| text.split_at(place))
}
