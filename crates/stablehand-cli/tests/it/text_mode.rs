//! `--output-format text`: what a person sees, and that hostile content shows nothing else.

use crate::support::{PROMPT, env, secs};

/// What `cursor-wrap -p --output-format text` prints for a script.
fn rendered(script: &str) -> String {
    let env = env(script);
    let run = env.cursor_wrap().args(["-p", "--output-format", "text", PROMPT]).finish();
    run.assert_code(0).assert_within(secs(10));
    run.stdout_text()
}

/// The line that begins so.
#[track_caller]
fn line<'t>(text: &'t str, start: &str) -> &'t str {
    let found = text.lines().find(|line| line.starts_with(start));
    found.unwrap_or_else(|| panic!("no line `{start}…` in {text:?}"))
}

#[test]
fn shells_are_shown_with_their_command_time_and_code() {
    let text = rendered(
        "
        init
        shell a 30s make all
        shell-done a 0 5400ms make all
        shell b 30s make test
        shell-done b 2 300ms make test
        result done
    ",
    );
    line(&text, "⏳ `make all`");
    let good = line(&text, "✓ `make all` (");
    assert!(good.ends_with("s, exit 0)"), "{good}");
    let bad = line(&text, "✗ `make test`");
    assert!(bad.contains("exit 2"), "{bad}");
}

#[test]
fn other_tools_are_shown_by_their_kind() {
    let text = rendered(
        "
        init
        read r1 /srv/barn/feed.md
        read-done r1 /srv/barn/feed.md
        edit e1 /srv/barn/feed.md
        edit-done e1 /srv/barn/feed.md
        result done
    ",
    );
    assert_eq!(line(&text, "⏳ readToolCall"), "⏳ readToolCall: /srv/barn/feed.md");
    assert_eq!(line(&text, "✓ readToolCall"), "✓ readToolCall");
    assert_eq!(line(&text, "⏳ editToolCall"), "⏳ editToolCall: /srv/barn/feed.md");
    assert_eq!(line(&text, "✓ editToolCall"), "✓ editToolCall");
}

#[test]
fn only_the_assistant_speaks() {
    let text = rendered(
        "init\nuser my prompt\nthinking secret thoughts\nassistant Hello, barn.\nresult again",
    );
    assert_eq!(text.trim(), "Hello, barn.");
}

#[test]
fn partial_output_is_shown_once() {
    let text = rendered(
        "
        init
        delta Fed the
        delta  ponies
        delta  twice.
        assistant Fed the ponies twice.
        result Fed the ponies twice.
    ",
    );
    assert_eq!(text.trim(), "Fed the ponies twice.");
}

#[test]
fn control_sequences_do_not_reach_the_terminal() {
    let text = rendered(
        r#"
        init
        assistant safe \x1b]52;c;aGF5\x07 and \x1b[2J\x1b[31m sound\x00 \xc2\x9b31m end
        shell a 30s printf '\x1b]0;title\x07'
        tool t lsToolCall {"path":"/srv/\u001b[5m\u009d8;;x"}
        result done
    "#,
    );
    assert!(text.contains("safe") && text.contains("end"), "{text:?}");
    let allowed = |c: char| !c.is_control() || c == '\n' || c == '\t';
    assert!(text.chars().all(allowed), "{text:?}");
}

#[test]
fn content_that_cannot_be_read_is_no_crash() {
    rendered(
        r#"
        init
        say {"type":"assistant"}
        say {"type":"assistant","message":7}
        say {"type":"assistant","message":{"content":"text, not a list"}}
        say {"type":"assistant","message":{"content":[{"type":"image"},null,3]}}
        say {"type":"tool_call"}
        say {"type":"tool_call","subtype":"started","tool_call":[]}
        say {"type":"tool_call","subtype":"completed","call_id":"never started","tool_call":{}}
        say {"type":"tool_call","subtype":"completed","call_id":9,"tool_call":{"shellToolCall":null}}
        say {"type":"tool_call","subtype":"started","call_id":"x","tool_call":{"shellToolCall":{"args":{"command":5,"timeout":"soon"}}}}
        raw plain text \xff\xfe\n
        result done
    "#,
    );
}

#[test]
fn the_log_has_the_raw_lines_in_text_mode_too() {
    let env = env("init\nassistant Hi.\nraw noise \\xff\\n\nresult Hi.");
    env.cursor_wrap().args(["-p", "--output-format", "text", PROMPT]).finish().assert_code(0);
    let raw = env.log().raw_bytes();
    assert!(raw.ends_with(b"}\n") && raw.windows(7).any(|bytes| bytes == b"noise \xff"));
}
