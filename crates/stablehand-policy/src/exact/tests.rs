//! A rule for one call allows that call, is read back as it was meant, and allows nothing else.

use super::super::{Call, Decision, Policy, World};
use super::*;
use proptest::prelude::*;
use serde_json::Value;
use stablehand_core::event::ToolInput;
use stablehand_core::event::ToolKind::{Delete, Edit, Execute, Fetch, Other, Think};

/// A world with one link.
struct Linked;

impl World for Linked {
    fn workspace(&self) -> &'static str {
        "/w"
    }

    fn home(&self) -> Option<&str> {
        Some("/home/u")
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(super::super::path::clean(path).replace("/w/link", "/elsewhere"))
    }

    fn schema_error(&self, _: &Value, _: &Value) -> Option<String> {
        None
    }
}

fn call<'a>(tool: &'a str, kind: ToolKind, input: &'a ToolInput) -> Call<'a> {
    Call { agent: "any", tool, kind, input, also: &[], arguments: &Value::Null, cwd: None }
}

fn shell(command: &str) -> ToolInput {
    ToolInput::Command { command: command.to_owned(), cwd: None }
}

fn rule(policy: &Policy, tool: &str, kind: ToolKind, input: &ToolInput) -> Result<String, String> {
    policy.exact_rule(&call(tool, kind, input), &Linked).map_err(|error| error.to_string())
}

fn decide(text: &str, command: &str) -> Decision {
    let policy = Policy::parse(text, "test").unwrap();
    policy.decide(&call("Bash", ToolKind::Execute, &shell(command)), &Linked)
}

#[test]
fn calls_are_spelled_as_rules() {
    let nothing = Policy::default();
    let path = |path: &str| ToolInput::Path { path: path.to_owned() };
    let url = ToolInput::Url { url: "https://Example.com:8443/a?b".into() };
    let mcp = ToolInput::Mcp { server: "notes".into(), tool: "write".into() };
    let task = ToolInput::SubAgent { description: "look".into() };
    let table: &[(&str, ToolKind, ToolInput, &[&str])] = &[
        ("Bash", Execute, shell("echo hi"), &[r#"command = "echo hi""#]),
        ("Bash", Execute, shell("echo '*' \"it's\""), &[r#"command = "echo '*' \"it's\"""#]),
        (
            "Bash",
            Execute,
            shell("git add . && git commit -m 'a b'"),
            &[r#"command = ["git add .", "git commit -m 'a b'"]"#],
        ),
        (
            "Bash",
            Execute,
            shell("make > out.txt"),
            &[r#"command = "make""#, "tool = \"edit\"\npath = \"/w/out.txt\""],
        ),
        (
            "Bash",
            Execute,
            shell("curl https://example.com/x"),
            &[
                "command = \"curl https://example.com/x\"",
                "tool = \"fetch\"\nhost = \"example.com\"",
            ],
        ),
        (
            "Write",
            Edit,
            path("a[1]*.txt"),
            &["tool = \"edit\"\npath = \"/w/a\\\\[1\\\\]\\\\*.txt\""],
        ),
        ("Write", Edit, path("link/x"), &["path = [\"/w/link/x\", \"/elsewhere/x\"]"]),
        ("Rm", Delete, path(".git/config"), &["tool = \"delete\"\npath = \"/w/.git/config\""]),
        ("WebFetch", Fetch, url, &["tool = \"fetch\"\nhost = \"example.com:8443\""]),
        ("mcp__notes__write", Other, mcp, &["mcp = \"notes:write\""]),
        ("Task", Think, task, &["tool = \"Task\""]),
    ];
    for (tool, kind, input, expected) in table {
        let text = rule(&nothing, tool, *kind, input).unwrap();
        let tables: Vec<&str> = text.split("[[policy.rule]]\n").skip(1).collect();
        assert_eq!(tables.len(), expected.len(), "{text}");
        for (table, expected) in tables.iter().zip(*expected) {
            assert!(table.contains(expected), "`{expected}` is not in\n{text}");
        }
        let policy = Policy::parse(&text, "test").unwrap();
        let call = call(tool, *kind, input);
        assert_eq!(policy.decide(&call, &Linked).action, Action::Allow, "{text}");
    }
}

#[test]
fn what_no_rule_can_say_is_refused_with_the_reason() {
    let nothing = Policy::default();
    let table = [
        ("echo $X", "only the shell knows"),
        ("ls *.txt", "only the shell knows"),
        ("eval \"$X\"", "nobody can tell"),
        ("X=1 make", "sets variables"),
        ("cd $X && make > out", "where it will lead"),
        ("echo 'unclosed", "nobody can tell"),
        ("curl https://good.com@evil.com/", "which host"),
    ];
    for (command, why) in table {
        let refused = rule(&nothing, "Bash", ToolKind::Execute, &shell(command)).unwrap_err();
        assert!(refused.contains(why), "{command}: {refused}");
    }
    let input = ToolInput::Todos { todos: Vec::new() };
    assert!(rule(&nothing, "read", ToolKind::Other, &input).unwrap_err().contains("whole kind"));
    let asks = "[[policy.rule]]\ncommand = 'git push *'\naction = 'ask'";
    let asks = Policy::parse(asks, "mine.toml").unwrap();
    let refused = rule(&asks, "Bash", ToolKind::Execute, &shell("git push")).unwrap_err();
    assert!(refused.contains("mine.toml:1") && refused.contains("beats"), "{refused}");
}

#[test]
fn what_is_allowed_already_needs_no_rule() {
    let policy = "[[policy.rule]]\ncommand = 'git status'\naction = 'allow'";
    let policy = Policy::parse(policy, "test").unwrap();
    let text = rule(&policy, "Bash", ToolKind::Execute, &shell("git status && make")).unwrap();
    assert!(text.contains("command = \"make\"") && !text.contains("git status"), "{text}");
}

const PIECES: &[&str] = &[
    "echo",
    "make",
    " ",
    " ",
    " ",
    "'",
    "\"",
    "\\",
    "*",
    "?",
    "a",
    "é",
    "~",
    "-x",
    "{a,b}",
    "[",
    "]",
    "$X",
    "&&",
    "|",
    ";",
    "\n",
    "#",
    "=",
    ">",
    "out",
    "'*'",
    "\"?\"",
    "\\*",
    "!",
    "^",
    "https://h/",
    "**",
];

proptest! {
    #[test]
    fn a_rule_allows_its_call_and_no_longer_one(pieces in prop::collection::vec(prop::sample::select(PIECES), 1..9)) {
        let command = pieces.concat();
        if let Ok(text) = rule(&Policy::default(), "Bash", ToolKind::Execute, &shell(&command)) {
            prop_assert_eq!(decide(&text, &command).action, Action::Allow);
            for other in ["evil", "make --evil", "echo evil", "echo a a a a a a a evil"] {
                prop_assert_ne!(decide(&text, other).action, Action::Allow, "{}", text);
                let longer = format!("{command}\n{other}");
                prop_assert_ne!(decide(&text, &longer).action, Action::Allow, "{}", text);
            }
        }
    }

    #[test]
    fn any_word_is_read_back_as_itself(word in "[^\\x00]{0,12}") {
        let pattern = Pattern::parse(&format!("echo {}", quoted(&word)));
        let simple = |word: &str| Simple {
            words: vec![super::super::shell::Word::literal("echo"), super::super::shell::Word::literal(word)],
            env: Vec::new(),
        };
        if let Ok(pattern) = pattern {
            prop_assert!(pattern.is_exact());
            prop_assert!(pattern.covers(&simple(&word), false));
            let longer = simple(&(word + "x"));
            prop_assert!(!pattern.covers(&longer, false));
        } else {
            prop_assert!(false, "{:?}", word);
        }
    }

    #[test]
    fn any_text_is_a_toml_string(text in "\\PC{0,20}|[\\x00-\\x7f]{0,20}") {
        let table: toml::Table = toml::from_str(&format!("x = {}", string(&text))).unwrap();
        prop_assert_eq!(table.get("x").and_then(toml::Value::as_str), Some(text.as_str()));
    }
}
