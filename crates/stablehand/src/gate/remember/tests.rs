//! What "always" writes, and what it leaves as it was.

use super::*;
use crate::policy_world::FileWorld;
use stablehand_core::event::{ToolInput, ToolKind};
use stablehand_core::id::CallId;
use stablehand_policy::Action;
use std::os::unix::fs::symlink;

const NOW: UnixMillis = UnixMillis(1_790_994_297_441);

fn shell(command: &str) -> Tool {
    Tool {
        call: CallId("c".into()),
        name: "Bash".into(),
        tool_kind: ToolKind::Execute,
        input: ToolInput::Command { command: command.into(), cwd: None },
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

fn gate(file: &Path) -> Gate {
    let text = fs::read_to_string(file).unwrap_or_default();
    let policy = Policy::parse(&text, "test").unwrap();
    let world = FileWorld::new(Path::new("/nowhere"), None, &[]);
    Gate::new(policy, world, "claude").with_rules_file(Some(file.to_owned()))
}

#[test]
fn a_rule_is_put_behind_what_was_there_and_holds_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.toml");
    // Odd spacing, no last newline: all of it stays.
    let old = "# mine\r\n[policy]\n  default='ask'   # so\n\n\n[[policy.rule]]\ncommand='ls'\naction='allow'";
    fs::write(&file, old).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let gate = gate(&file);
    assert_eq!(gate.judge(Some(&shell("echo hi"))).action, Action::Ask);
    let done = gate.remember(&shell("echo hi"), NOW, "no rule\nis about it \u{1b}[31m").unwrap();
    let Remembered::Written { rule, text } = done else { panic!("{done:?}") };
    let new = fs::read_to_string(&file).unwrap();
    assert_eq!(
        new.strip_prefix(old).unwrap(),
        format!(
            "\n\n# 2026-10-03T02:24:57.441Z: allowed for always. It was asked because no rule is about it \n{text}"
        )
    );
    assert_eq!(new.lines().nth(rule.line - 1), Some("[[policy.rule]]"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o640);
    let decided = gate.judge(Some(&shell("echo hi")));
    assert_eq!((decided.action, decided.rule), (Action::Allow, Some(rule)));
    assert_eq!(gate.judge(Some(&shell("echo ho"))).action, Action::Ask);
    assert_eq!(gate.remember(&shell("echo hi"), NOW, "").unwrap(), Remembered::Known);
    assert_eq!(fs::read_to_string(&file).unwrap(), new, "nothing is written twice");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    // Whoever reads the file next comes to the same.
    assert_eq!(self::gate(&file).judge(Some(&shell("echo hi"))).action, Action::Allow);
}

#[test]
fn a_file_that_is_not_there_is_made_and_a_link_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config/stablehand/config.toml");
    gate(&file).remember(&shell("echo hi"), NOW, "").unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    let link = folder.path().join("link.toml");
    symlink(&file, &link).unwrap();
    gate(&link).remember(&shell("echo ho"), NOW, "").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap().matches("[[policy.rule]]").count(), 2);
}

#[test]
fn what_cannot_be_written_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.toml");
    let gate = gate(&file);
    let refused = gate.remember(&shell("echo $X"), NOW, "").unwrap_err();
    assert!(matches!(refused, RememberError::NoRule(_)), "{refused}");
    // A list in one piece cannot be made longer by a table behind it.
    let old = "policy.rule = []\n";
    fs::write(&file, old).unwrap();
    let refused = gate.remember(&shell("echo hi"), NOW, "").unwrap_err();
    assert!(matches!(refused, RememberError::Unfit(_)), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), old);
    assert_eq!(gate.judge(Some(&shell("echo hi"))).action, Action::Ask);
}

#[test]
fn two_at_the_same_file_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.toml");
    std::thread::scope(|scope| {
        for who in 0..4 {
            let file = &file;
            scope.spawn(move || {
                let gate = gate(file);
                for turn in 0..5 {
                    gate.remember(&shell(&format!("echo {who} {turn}")), NOW, "").unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(&file).unwrap().matches("action = \"allow\"").count(), 20);
}
