//! The tables of `fixtures/redact`: what is taken out, and what is left alone.

use stablehand_core::redact::Redactor;
use std::borrow::Cow;
use std::path::Path;

#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests read tables")]
fn cases(name: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/redact");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.enumerate().map(|(n, line)| expand(line, n as u64 + 1)).collect()
}

/// Fills in what the table only describes, so that it holds nothing that looks like a secret.
fn expand(line: &str, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let class = match (c, chars.peek()) {
            ('\\', Some('n' | 't' | 'e' | '\\')) => {
                out.push(match chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('e') => '\u{1b}',
                    _ => '\\',
                });
                continue;
            }
            ('%', Some('%')) => {
                chars.next();
                out.push('%');
                continue;
            }
            ('%', Some('a')) => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            ('%', Some('b')) => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            ('%', Some('w')) => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
            ('%', Some('x')) => "0123456789abcdef",
            ('%', Some('X')) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            ('%', Some('d')) => "0123456789",
            _ => {
                out.push(c);
                continue;
            }
        };
        chars.next();
        let mut count = String::new();
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            count.push(digit);
        }
        for _ in 0..count.parse().unwrap() {
            out.push(class.as_bytes()[next(class.len())].into());
        }
    }
    out
}

#[test]
fn every_secret_of_the_table_is_taken_out_and_nothing_else() {
    let redactor = Redactor::new();
    let cases = cases("secrets.txt");
    assert!(cases.len() >= 80, "the table has shrunk to {}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let (kind, text) = case.split_once(' ').unwrap();
        let (before, rest) = text.split_once('«').unwrap();
        let (secret, after) = rest.split_once('»').unwrap();
        let text = format!("{before}{secret}{after}");
        let safe = redactor.redact(&text);
        let begins = format!("{before}[redacted:{kind}:");
        let hash = safe.strip_prefix(&begins).and_then(|rest| rest.get(..4)).unwrap_or_default();
        if safe != format!("{begins}{hash}]{after}") {
            wrong.push(format!("{kind}: {text:?}\n    gives {safe:?}"));
        }
        assert_eq!(redactor.redact(&safe), safe, "twice is once");
        // And in JSON, whose escapes hide nothing.
        let line = serde_json::json!({ "a": [{ "text": text }] }).to_string();
        let line = line.replace('/', "\\/").replace('-', "\\u002d");
        let safe_line = redactor.redact_json_text(&line);
        let value: serde_json::Value = serde_json::from_str(&safe_line).unwrap();
        assert_eq!(value["a"][0]["text"], serde_json::json!(safe));
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn whatever_is_harmless_is_left_alone_and_not_even_copied() {
    let redactor = Redactor::new();
    let cases = cases("harmless.txt");
    assert!(cases.len() >= 80, "the table has shrunk to {}", cases.len());
    let changed: Vec<_> = cases
        .iter()
        .filter_map(|text| match redactor.redact(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(safe) => Some(format!("{text:?}\n    gives {safe:?}")),
        })
        .collect();
    assert!(changed.is_empty(), "{} of {}:\n{}", changed.len(), cases.len(), changed.join("\n"));
}

/// Recordings of all agents hold ids of every sort, and no secret.
#[test]
#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests read recordings")]
fn recordings_stay_as_they_are() {
    let redactor = Redactor::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut seen = 0;
    let mut changed = Vec::new();
    for agent in std::fs::read_dir(folder).unwrap() {
        let agent = agent.unwrap().path();
        let Ok(entries) = std::fs::read_dir(&agent) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "ndjson") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            for line in String::from_utf8_lossy(&bytes).lines() {
                seen += 1;
                if let Cow::Owned(safe) = redactor.redact_json_text(line) {
                    let at = safe.find("[redacted:").unwrap_or(0);
                    let from = safe.floor_char_boundary(at.saturating_sub(60));
                    let until = safe.floor_char_boundary(at + 40);
                    changed.push(format!("{}: {}", path.display(), safe.get(from..until).unwrap()));
                }
            }
        }
    }
    assert!(seen > 500, "only {seen} lines");
    assert!(changed.is_empty(), "{} of {seen}:\n{}", changed.len(), changed.join("\n"));
}
