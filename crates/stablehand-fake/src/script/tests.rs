//! The grammar: what a line becomes, and that nonsense is refused with its place.

use super::*;
use crate::act::{Ending, Todo, TodoState, Work};

fn steps(text: &str) -> Vec<Step> {
    parse(text, Dialect::Cursor).unwrap().remove(0)
}

#[test]
fn sections_are_the_runs() {
    let sections = parse("say a\n---\n# nothing\n\n  exit 3\n", Dialect::Codex).unwrap();
    assert_eq!(sections, [vec![say("a".into())], vec![Step::Exit(3)]]);
}

#[test]
fn raw_bytes_keep_their_escapes() {
    let expected = Step::Write(b"\x00\xff\r\n\\ \t".to_vec());
    assert_eq!(steps(r"raw \0\xff\r\n\\ \t"), [expected]);
}

#[test]
fn a_command_is_told_or_really_run() {
    let work = Work::Shell { command: "make all".into(), timeout: Some(Duration::from_secs(3)) };
    let call = Call { id: "c1".into(), work };
    assert_eq!(steps("shell c1 3s make all"), [Step::Tell(Act::ToolBegins(call.clone()))]);
    assert_eq!(steps("run c1 3s make all"), [Step::Start(call), Step::Finish("c1".into())]);
    let [Step::Tell(Act::ToolEnds(_, Ending::Exited { code: 2, took, .. }))] =
        &steps("shell-done c1 2 150ms make all")[..]
    else {
        panic!("a shell ends by exiting")
    };
    assert_eq!(*took, Duration::from_millis(150));
}

#[test]
fn a_plan_has_marks() {
    let todo = |text: &str, state| Todo { text: text.into(), state };
    let todos = vec![
        todo("fetch", TodoState::Done),
        todo("feed", TodoState::Current),
        todo("ride", TodoState::Open),
    ];
    assert_eq!(steps("plan [x] fetch | [>] feed | [ ] ride"), [Step::Tell(Act::Plan(todos))]);
    assert!(parse("plan fetch", Dialect::Cursor).is_err());
}

#[test]
fn a_child_may_hold_our_outputs() {
    let expected = ChildPlan {
        kind: ChildKind::Setsid,
        holds_stdout: true,
        holds_stderr: false,
        lives: Duration::from_secs(5),
    };
    assert_eq!(steps("spawn setsid stdout for 5s"), [Step::Spawn(expected)]);
}

#[test]
fn nonsense_is_refused_with_its_place() {
    let error = parse("say fine\nfly away", Dialect::Cursor).unwrap_err();
    assert_eq!(error.to_string(), "line 2 of the script: unknown step: `fly away`");
    for line in [
        "sleep 3",
        "spawn ghost",
        "finish c1",
        "run c1 1s ls\nfinish c1",
        "die SIGTERM",
        r"raw \q",
        "events thinking x line",
    ] {
        assert!(parse(line, Dialect::Cursor).is_err(), "`{line}` should be refused");
    }
}

#[test]
fn what_a_dialect_cannot_say_is_refused_by_name() {
    for line in ["tool t lsToolCall {}", "shell-background c1 pump", "giant 9", "ask c1 3s ls"] {
        let error = parse(line, Dialect::Gemini).unwrap_err().to_string();
        assert!(error.contains("not possible in the `gemini` dialect"), "{error}");
    }
    assert!(parse("ask c1 3s ls", Dialect::Claude).is_ok());
    assert!(parse("ask c1 3s ls", Dialect::Cursor).is_err());
}
