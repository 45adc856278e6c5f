//! Any text as a command is decided without a panic, and nothing passes that the rules do not allow.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stablehand_core::event::{ToolInput, ToolKind};
use stablehand_policy::{Action, Call, Policy, World};
use std::sync::OnceLock;

/// A world without links.
struct Flat;

impl World for Flat {
    fn workspace(&self) -> &'static str {
        "/w"
    }

    fn home(&self) -> Option<&str> {
        Some("/home/u")
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }

    fn schema_error(&self, _: &Value, _: &Value) -> Option<String> {
        None
    }
}

fn decide(policy: &Policy, command: &str) -> Action {
    let input = ToolInput::Command { command: command.to_owned(), cwd: None };
    let call = Call {
        agent: "any",
        tool: "Shell",
        kind: ToolKind::Execute,
        input: &input,
        also: &[],
        arguments: &Value::Null,
        cwd: None,
    };
    policy.decide(&call, &Flat).action
}

fn policies() -> &'static (Policy, Policy) {
    static POLICIES: OnceLock<(Policy, Policy)> = OnceLock::new();
    POLICIES.get_or_init(|| {
        let allow = "[[policy.rule]]\ncommand = 'git status'\naction = 'allow'";
        let deny = "policy.profile = 'yolo'\n[[policy.rule]]\ncommand = 'evil *'\naction = 'deny'\n[[policy.rule]]\npath = '~/.ssh/**'\naction = 'deny'";
        let read = |text| Policy::parse(text, "fuzz").expect("a policy");
        (read(allow), read(deny))
    })
}

fuzz_target!(|bytes: &[u8]| {
    // A policy file may be anything too.
    let text = String::from_utf8_lossy(bytes);
    let _ = Policy::parse(&text, "fuzz");
    let (allow, deny) = policies();
    if decide(allow, &text) == Action::Allow {
        // Whatever else it is, it can only be made of these words.
        let plain = text.replace("\\\n", "");
        let comment = plain.contains('#');
        let text = plain.replace(['\'', '"', '\\'], "");
        assert!(text.contains("git") && text.contains("status"), "{plain:?}");
        if !comment && !plain.contains(['<', '>']) {
            let words = text.split(|c: char| " \t\n;&|(){}!".contains(c));
            let known = [
                "", "git", "status", "if", "then", "elif", "else", "fi", "while", "until", "do",
                "done",
            ];
            for word in words {
                assert!(known.contains(&word), "{word:?} in {plain:?}");
            }
        }
    }
    let _ = decide(deny, &text);
    // A here-document or a quote may swallow what follows; a command of its own may not.
    if !text.contains('<') {
        assert_eq!(decide(deny, &format!("{text}; true\nevil x")), Action::Deny, "{text:?}");
    }
});
