//! What a person sees of a question.

use super::*;
use stablehand_core::Event;
use stablehand_core::event::{EventKind, Origin, ToolKind};
use stablehand_core::id::{CallId, RunId, Seq};
use stablehand_core::time::UnixMillis;

const PLAIN: Style = Style { colour: false };

fn asked(tool: Option<Tool>, options: &[&str]) -> Question {
    let kind = EventKind::TurnStarted { prompt: None, by: None };
    let run = RunId("r".into());
    Question {
        id: "1".into(),
        what: "which one?".into(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        tool: tool.map(Box::new),
        why: Some("no rule is about it".into()),
        event: Event::stamp(Seq(1), UnixMillis(0), None, run, Origin::Supervisor, kind),
    }
}

fn tool(name: &str, tool_kind: ToolKind, input: ToolInput) -> Tool {
    Tool {
        call: CallId("c".into()),
        name: name.into(),
        tool_kind,
        input,
        timeout_ms: None,
        background: false,
        pid: None,
        step: None,
        outcome: None,
        output: None,
        output_bytes: None,
        also: Vec::new(),
        diff: None,
        duration_ms: None,
        digest: 0,
    }
}

fn command(text: &str) -> Tool {
    tool("Bash", ToolKind::Execute, ToolInput::Command { command: text.into(), cwd: None })
}

#[test]
fn commands_are_whole_and_long_ones_counted() {
    let shown = question(&asked(Some(command("cat <<E\nhay\nE")), &[]), PLAIN, false);
    assert_eq!(
        shown,
        "? execute: Bash\n    cat <<E\n    hay\n    E\n  asked because no rule is about it\n"
    );
    let long = asked(Some(command(&format!("{}\n{}", "x".repeat(450), "y\n".repeat(29)))), &[]);
    let shown = question(&long, PLAIN, false);
    assert!(shown.contains(" … 50 more characters\n"), "{shown}");
    assert!(shown.contains("… 10 more lines; v shows all"), "{shown}");
    let whole = question(&long, PLAIN, true);
    assert_eq!(whole.matches('y').count(), 29 + "why".matches('y').count() - 1, "{whole}");
    assert!(!whole.contains('…'), "{whole}");
}

#[test]
fn what_an_agent_supplies_drives_no_terminal_and_hides_nothing() {
    let hostile = asked(Some(command("rm\u{1b}[2K\r -r \u{202e}x")), &[]);
    let shown = question(&hostile, PLAIN, false);
    assert!(!shown.contains(['\u{1b}', '\r', '\u{202e}']), "{shown:?}");
    assert!(shown.contains("characters in it that cannot be shown"), "{shown}");
    let name = tool("a\nb\u{7}", ToolKind::Other, ToolInput::Other { summary: String::new() });
    let shown = question(&asked(Some(name), &[]), PLAIN, false);
    assert!(shown.starts_with("? other: a b\n"), "{shown:?}");
}

#[test]
fn a_diff_is_coloured_where_colours_are() {
    let path = ToolInput::Path { path: "/w/a".into() };
    let mut edit = tool("Edit", ToolKind::Edit, path);
    edit.diff = Some("--- a\n+++ a\n@@\n-old\n+new\n".into());
    let question_of = asked(Some(edit), &[]);
    let plain = question(&question_of, PLAIN, false);
    assert!(plain.contains("  file /w/a\n") && plain.contains("    -old\n    +new\n"), "{plain}");
    assert!(!plain.contains('\u{1b}'));
    let dressed = question(&question_of, Style { colour: true }, false);
    assert!(
        dressed.contains("\u{1b}[31m-old\u{1b}[0m\n    \u{1b}[32m+new\u{1b}[0m"),
        "{dressed:?}"
    );
}

#[test]
fn keys_are_offered_where_they_mean_something() {
    let usual = asked(Some(command("ls")), &["accept", "decline"]);
    let no = Always::No("it is odd".into());
    assert!(!keys(&usual, &no, PLAIN).contains("a always"));
    assert!(help(&no).contains("it is odd"));
    let rule = Always::Rule { text: String::new(), file: "f.toml".into() };
    assert!(keys(&usual, &rule, PLAIN).contains("a always") && help(&rule).contains("f.toml"));
    assert!(choices(&usual).is_empty());
    let which = asked(None, &["oats", "hay"]);
    let shown = question(&which, PLAIN, false);
    assert!(shown.contains("which one?") && shown.contains("  2  hay\n"), "{shown}");
    assert!(keys(&which, &no, PLAIN).contains("1-9 choose"));
}
