//! Every line that we write is in the shape of one that a real program wrote.
//!
//! For each line of a script there must be a recorded line of that agent (`fixtures/`) that holds all
//! its members, in the same order and of the same kinds, with the same words where a word says what
//! the line is. A recorded line may hold more: we write what readers look at.

use super::told;
use crate::voice::Identity;
use stablehand_core::Dialect;
use stablehand_core::json::{Scan, Value, scan};
use std::path::Path;

/// Members whose text says what an object is.
const TELLING: &[&[u8]] = &[b"type", b"subtype", b"method", b"reason", b"role", b"terminal_reason"];

/// Members whose names are not a matter of shape: models, or whatever a tool is given.
const FREE: &[&[u8]] = &[
    b"modelUsage",
    b"models",
    b"model_usage_since_last_result",
    b"input",
    b"parameters",
    b"args",
    b"rawInput",
    b"rawOutput",
];

/// Objects whose members come in any order: Cursor writes the key of a tool first or last.
const UNORDERED: &[&[u8]] = &[b"tool_call"];

fn recorded(dialect: Dialect) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(dialect.name());
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "ndjson"));
    let texts = files.map(|path| std::fs::read(path).unwrap());
    texts
        .flat_map(|bytes| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

type Members<'a> = Vec<(&'a [u8], Value<'a>)>;

fn members_of(line: &str) -> Members<'_> {
    match scan(line.as_bytes()) {
        Scan::Object(object) => object.members().collect(),
        _ => Vec::new(),
    }
}

/// Whether all members of `ours` are in `theirs`, in that order.
fn is_within(ours: &Members<'_>, theirs: &Members<'_>) -> bool {
    let mut theirs = theirs.iter();
    ours.iter().all(|(name, value)| {
        theirs.any(|(their_name, their_value)| {
            their_name == name && is_alike(name, *value, *their_value)
        })
    })
}

fn is_alike(name: &[u8], ours: Value<'_>, theirs: Value<'_>) -> bool {
    let kind = |value: Value<'_>| match value.raw().first() {
        Some(b'-' | b'0'..=b'9') => b'0',
        Some(b't' | b'f') => b't',
        Some(first) => *first,
        None => 0,
    };
    if ours.is_null() || theirs.is_null() {
        return true;
    }
    // The id of an answer is of the kind that whoever asked has chosen.
    if kind(ours) != kind(theirs) {
        return name == b"id" && [kind(ours), kind(theirs)].iter().all(|it| b"\"0".contains(it));
    }
    if TELLING.contains(&name) {
        return ours.raw() == theirs.raw();
    }
    match kind(ours) {
        b'{' if FREE.contains(&name) => true,
        b'{' if UNORDERED.contains(&name) => {
            let theirs: Members<'_> = theirs.members().collect();
            ours.members().all(|member| is_within(&vec![member], &theirs))
        }
        b'{' => is_within(&ours.members().collect(), &theirs.members().collect()),
        b'[' => match (ours.elements().next(), theirs.elements().next()) {
            (Some(ours), Some(theirs)) => is_alike(b"", ours, theirs),
            _ => true,
        },
        _ => true,
    }
}

/// The lines that no recording has the shape of.
fn strange(dialect: Dialect, script: &str, id: Identity) -> Vec<String> {
    let recorded = recorded(dialect);
    let recorded: Vec<Members<'_>> = recorded.iter().map(|line| members_of(line)).collect();
    let is_known = |line: &String| {
        let ours = members_of(line);
        recorded.iter().any(|theirs| is_within(&ours, theirs))
    };
    told(dialect, script, id).0.into_iter().filter(|line| !is_known(line)).collect()
}

/// What the recordings show in every agent.
const COMMON: &str = "init\nuser feed\nassistant-before-tool I begin.\nshell c1 3s make\n\
    shell-done c1 0 1s make\nassistant Done.\nresult Done.";

#[test]
fn lines_have_the_shape_of_recorded_ones() {
    let strange: Vec<(&str, Vec<String>)> = super::SPOKEN
        .iter()
        .map(|dialect| (dialect.name(), strange(*dialect, COMMON, Identity::invented())))
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    assert!(strange.is_empty(), "{strange:#?}");
}

#[test]
fn what_only_some_recordings_show_has_their_shape_too() {
    let plain = Identity::invented;
    let mut all = Vec::new();
    let mut check = |dialect: Dialect, script: &str, id: Identity| {
        all.extend(strange(dialect, script, id).into_iter().map(|line| (dialect.name(), line)));
    };
    let partial = || Identity { partial: true, ..plain() };
    let failing = "init\nuser feed\nshell c1 3s make\nshell-done c1 3 1s make\nresult Done.";
    let troubles = "init\nuser feed\nretry 1 server\nerror auth";
    check(Dialect::Claude, "init\nthinking Oats?\nassistant Hay.\nresult Hay.", partial());
    check(Dialect::Claude, COMMON, partial());
    for dialect in [
        Dialect::Claude,
        Dialect::Codex,
        Dialect::Gemini,
        Dialect::OpenCode,
        Dialect::Qwen,
        Dialect::Grok,
        Dialect::Agy,
    ] {
        check(dialect, failing, plain());
        check(dialect, troubles, plain());
    }
    let edit = "init\nuser feed\nedit e1 /a\nedit-done e1 /a";
    for dialect in [
        Dialect::Cursor,
        Dialect::Claude,
        Dialect::Codex,
        Dialect::Gemini,
        Dialect::Grok,
        Dialect::Agy,
    ] {
        check(dialect, edit, plain());
    }
    check(
        Dialect::Cursor,
        "init\nuser feed\nthinking Oats?\ndelta Ha\nretry 1 server\nread r1 /a\nread-done r1 /a\nmcp m1 a b\nmcp-done m1 a b\ntask t1 x\ntask-done t1 x\nplan [x] a",
        plain(),
    );
    check(Dialect::Grok, "init\nthinking Oats?\nplan [x] a\nassistant Hay.\nresult Hay.", plain());
    check(Dialect::Agy, "init\nmcp m1 a b\nmcp-done m1 a b\ntask t1 x\ntask-done t1 x", plain());
    check(Dialect::OpenCode, "init\nthinking Oats?\nassistant Hay.\nresult Hay.", plain());
    let asks = Identity { asks: true, ..plain() };
    let ask = "init\nuser feed\nassistant May I?\nask c1 3s make\nresult Done.";
    check(Dialect::CodexApp, ask, asks.clone());
    check(Dialect::Claude, ask, asks);
    assert!(all.is_empty(), "{all:#?}");
}

/// The kinds of lines of a stream, one after the other.
fn kinds(lines: &[String]) -> Vec<String> {
    let kind = |line: &String| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let word = |at: &str| value.pointer(at).and_then(|word| word.as_str()).unwrap_or_default();
        let words = [
            word("/type"),
            word("/subtype"),
            word("/method"),
            word("/event/type"),
            word("/item/type"),
            word("/params/item/type"),
            word("/message/content/0/type"),
            word("/part/reason"),
            word("/role"),
            word("/step_update/step_type"),
            word("/step_update/state"),
        ];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let mut kinds: Vec<String> = lines.iter().map(kind).collect();
    // How a text is cut into pieces is the model's business.
    kinds.dedup();
    kinds
}

#[test]
fn a_turn_has_the_lines_of_a_recorded_one_in_the_same_order() {
    let turns = [
        (Dialect::Claude, "shell", Identity::invented()),
        (Dialect::Claude, "partial", Identity { partial: true, ..Identity::invented() }),
        (Dialect::Codex, "shell", Identity::invented()),
        (Dialect::Gemini, "shell", Identity::invented()),
        (Dialect::OpenCode, "shell", Identity::invented()),
        (Dialect::Qwen, "shell", Identity::invented()),
        (Dialect::Agy, "shell", Identity::invented()),
    ];
    for (dialect, name, id) in turns {
        let file = format!("../../fixtures/{}/{name}.ndjson", dialect.name());
        let text =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let theirs: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(kinds(&told(dialect, COMMON, id).0), kinds(&theirs), "{}", dialect.name());
    }
}

#[test]
fn the_app_server_tells_a_turn_as_recorded() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/codex-app/shell.ndjson");
    let text = std::fs::read_to_string(file).unwrap();
    // What answers the client comes from the protocol, not from the script.
    let theirs: Vec<String> = text
        .lines()
        .skip(3)
        .filter(|line| !line.starts_with("{\"id\""))
        .map(str::to_owned)
        .collect();
    assert_eq!(kinds(&told(Dialect::CodexApp, COMMON, Identity::invented()).0), kinds(&theirs));
}
