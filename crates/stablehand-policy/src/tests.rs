//! What must hold for any command, and how mistakes in a policy are told.

use super::*;
use proptest::prelude::*;
use stablehand_core::event::{ToolInput, ToolKind};

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
        Some(path::clean(path))
    }

    fn schema_error(&self, _: &Value, _: &Value) -> Option<String> {
        None
    }
}

fn decide(policy: &Policy, command: &str) -> Decision {
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
    policy.decide(&call, &Flat)
}

fn only_git_status() -> Policy {
    let text = "[[policy.rule]]\ncommand = 'git status'\naction = 'allow'";
    Policy::parse(text, "test").unwrap()
}

fn everything_but_evil() -> Policy {
    let text = "[policy]\nprofile = 'yolo'\n[[policy.rule]]\ncommand = 'evil *'\naction = 'deny'";
    Policy::parse(text, "test").unwrap()
}

/// Pieces of shell, put together at random.
fn soup(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), 0..12).prop_map(|pieces| pieces.concat())
}

const SHELL: &[&str] = &[
    "git",
    "status",
    " ",
    " ",
    "\t",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "'",
    "\"",
    "\\",
    "$",
    "(",
    ")",
    "$(",
    "`",
    "{",
    "}",
    "evil",
    "x",
    "=",
    "!",
    "*",
    "~",
    "[",
    "]",
    "-c",
    "bash",
    "eval",
    "if ",
    "then ",
    "fi",
    "for ",
    "in ",
    "do ",
    "done",
    "case ",
    "esac",
    "\u{a0}",
    "\u{2028}",
    "git status",
    "\\\n",
    "$'",
    "env ",
    "sudo ",
];

const MORE_SHELL: &[&str] = &[
    "#",
    "<<EOF\n",
    "EOF\n",
    "<<<",
    ">",
    "<",
    ">&",
    "2>&1",
    "<(",
    "((",
    "))",
    "[[",
    "]]",
    "${",
    "\u{0}",
    "\r",
    "function ",
    "()",
    "\u{7f}",
    "é",
    "git status",
    " ",
    "\n",
    "'",
    "\"",
    "x",
    "evil",
    "$((",
    "#\n",
    "<<-'E'\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Any text at all is decided.
    #[test]
    fn nothing_makes_it_panic(text in any::<String>(), more in soup(MORE_SHELL)) {
        for command in [&text, &more, &format!("{more}{text}")] {
            decide(&only_git_status(), command);
            decide(&everything_but_evil(), command);
        }
    }

    /// Whoever allows `git status` allows nothing but `git status`, as often as it comes.
    #[test]
    fn only_the_plain_command_is_allowed(command in soup(SHELL)) {
        if decide(&only_git_status(), &command).action == Action::Allow {
            let plain: String = command.replace("\\\n", "").replace(['\'', '"', '\\'], "");
            let words = plain.split(|c: char| " \t\n;&|(){}!".contains(c)).filter(|word| !word.is_empty());
            let keywords = ["if", "then", "fi", "do", "done"];
            let words: Vec<&str> = words.filter(|word| !keywords.contains(word)).collect();
            prop_assert!(!words.is_empty());
            for pair in words.chunks(2) {
                prop_assert_eq!(pair, &["git", "status"], "{:?}", command);
            }
        }
    }

    /// Nothing before a forbidden command makes it pass.
    #[test]
    fn what_is_denied_stays_denied(before in soup(SHELL)) {
        let command = format!("{before}; true\nevil x");
        prop_assert_eq!(decide(&everything_but_evil(), &command).action, Action::Deny, "{:?}", command);
    }

    /// What stands between quotes is one word, and never runs.
    #[test]
    fn quoted_text_is_data(text in "[ -&(-~]*") {
        let policy = Policy::parse("[[policy.rule]]\ncommand = 'echo *'\naction = 'allow'", "t").unwrap();
        prop_assert_eq!(decide(&policy, &format!("echo '{text}'")).action, Action::Allow, "{:?}", text);
    }

    /// A decision can be written and read back.
    #[test]
    fn decisions_survive_json(command in soup(SHELL)) {
        let decision = decide(&everything_but_evil(), &command);
        let json = serde_json::to_string(&decision).unwrap();
        prop_assert_eq!(serde_json::from_str::<Decision>(&json).unwrap(), decision);
    }
}

#[test]
fn deep_and_long_commands_end_in_a_doubt() {
    let policy = only_git_status();
    let nested = |open: &str, close: &str, times: usize| {
        format!("{}git status{}", open.repeat(times), close.repeat(times))
    };
    for command in [
        nested("(", ")", 5_000),
        nested("$(", ")", 5_000),
        nested("{ ", "; }", 3_000),
        format!("git log {}", "x".repeat(200_000)),
        "git status; ".repeat(1_000),
        format!("echo {}", "\"$(".repeat(2_000)),
        "`".repeat(9_999),
        format!("git status {}", "a=b ".repeat(10_000)),
    ] {
        assert_ne!(decide(&policy, &command).action, Action::Allow);
    }
    assert_eq!(decide(&policy, &"git status; ".repeat(100)).action, Action::Allow);
}

#[test]
fn rules_have_their_lines() {
    let text = "# one\n[policy]\ndefault = 'deny'\n\n[[policy.rule]]\nname = 'a'\ncommand = 'x'\naction = 'allow'\n\n[[policy.rule]]\ncommand = 'y'\naction = 'ask'\n";
    let policy = Policy::parse(text, "p.toml").unwrap();
    let place = |command| decide(&policy, command).rule.unwrap().to_string();
    assert_eq!(place("x"), "rule `a` (p.toml:5)");
    assert_eq!(place("y"), "the rule at p.toml:10");
    assert_eq!(decide(&policy, "z").action, Action::Deny);
}

#[test]
fn mistakes_are_told_with_their_place() {
    let table = [
        ("[policy]\ndefualt = 'deny'", "p:2:1: unknown field `defualt`"),
        ("[polcy]", "p:1:2: unknown field `polcy`"),
        ("[[policy.rule]]\naction = 'alow'", "p:2:10: unknown variant `alow`"),
        ("[[policy.rule]]\ncommand = 'x'", "p:1:1: missing field `action`"),
        ("[[policy.rule]]\naction='deny'\ncomand = 'x'", "p:3:1: unknown field `comand`"),
        (
            "[[policy.rule]]\naction='deny'\ncommand = 'a; b'",
            "p:3:11: the pattern `a; b` is wrong: `;`",
        ),
        (
            "[[policy.rule]]\naction='deny'\ncommand = 'a ** b'",
            "p:3:11: the pattern `a ** b` is wrong: `**`",
        ),
        ("[[policy.rule]]\naction='deny'\ncommand = '*'", "p:3:11: the pattern `*` is wrong"),
        ("[[policy.rule]]\naction='deny'\ncommand = []", "p:3:11: `command` is empty"),
        ("[[policy.rule]]\naction='deny'\npath = '../x'", "p:3:8: `../x` has `..` in it"),
        ("[[policy.rule]]\naction='deny'\npath = 'a[b'", "p:3:8: `a[b` is no glob"),
        ("[[policy.rule]]\naction='deny'\nhost = 'https://x'", "p:3:8: `https://x` is an address"),
        ("[[policy.rule]]\naction='deny'\nhost = 'a.*.b'", "p:3:8: `a.*.b` is no host"),
        ("[[policy.rule]]\naction='deny'\npath='a'\ncommand='b'", "p:1:1: a rule is about one of"),
        ("[[policy.rule]]\naction='deny'\nunattended='allow'", "p:3:12: `unattended` belongs"),
        ("[[policy.rule]]\naction='ask'\nunattended='ask'", "p:3:12: `unattended` says"),
        ("[[policy.rule]]\naction='deny'\nprotected=true", "p:3:11: `protected` belongs"),
        ("[policy]\nprofile = 'wild'", "p:2:11: no profile is called `wild`"),
        ("[policy]\nunattended = 'ask'", "p:2:14: `unattended` says"),
        ("[[policy.rule]]\naction='deny'\ncommand = 5", "p:3:11: a string or a list of strings"),
        ("[policy", "p:1:8:"),
    ];
    for (text, expected) in table {
        let error = Policy::parse(text, "p").unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}\n{error}\n{expected}");
    }
}

#[test]
fn profiles_can_be_read() {
    for (name, text) in PROFILES {
        Policy::parse(text, name).unwrap();
    }
    assert!(profile("nothing").is_none());
}
