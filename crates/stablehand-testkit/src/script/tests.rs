//! The grammar: what a line becomes, and that nonsense is refused with its place.

use super::*;

fn steps(text: &str) -> Vec<Step> {
    parse(text).unwrap().remove(0)
}

#[test]
fn sections_are_the_runs() {
    let sections = parse("say a\n---\n# nothing\n\n  exit 3\n").unwrap();
    assert_eq!(sections, [vec![say("a".into())], vec![Step::Exit(3)]]);
}

#[test]
fn raw_bytes_keep_their_escapes() {
    let expected = Step::Write(b"\x00\xff\r\n\\ \t".to_vec());
    assert_eq!(steps(r"raw \0\xff\r\n\\ \t"), [expected]);
}

#[test]
fn a_tool_line_has_its_kind_beside_sibling_keys() {
    let Step::Write(bytes) = &steps("init\nshell c1 3s make all")[1] else {
        panic!("a shell is a line")
    };
    let line: Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!(line["tool_call"]["shellToolCall"]["args"]["timeout"], 3000);
    assert_eq!(line["tool_call"]["shellToolCall"]["args"]["command"], "make all");
    assert_eq!(line["tool_call"]["toolCallId"], "c1");
    assert_eq!(line["session_id"], cursor::DEFAULT_SESSION);
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
fn a_background_pid_is_one_that_nobody_has() {
    let Step::Write(bytes) = &steps("shell-background c1 pump")[0] else {
        panic!("a shell is a line")
    };
    let line: Value = serde_json::from_slice(bytes).unwrap();
    let pid = &line["tool_call"]["shellToolCall"]["result"]["success"]["pid"];
    assert!(pid.as_u64().unwrap() > 1 << 22, "above the greatest `pid_max`");
}

#[test]
fn nonsense_is_refused_with_its_place() {
    let error = parse("say fine\nfly away").unwrap_err();
    assert_eq!(error.to_string(), "line 2 of the script: unknown step: `fly away`");
    for line in ["sleep 3", "spawn ghost", "die SIGTERM", r"raw \q", "events thinking x line"] {
        assert!(parse(line).is_err(), "`{line}` should be refused");
    }
}
