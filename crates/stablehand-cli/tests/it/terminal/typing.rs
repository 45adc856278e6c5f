//! What is typed at an agent's terminal: prompts that cannot be an argument, and answers to what the
//! agent asks its terminal.

use super::{place, raw, run};
use crate::support::{bins, secs};
use stablehand_testkit::TestEnv;
use std::fs;

#[test]
fn a_large_prompt_is_typed_while_the_agent_writes_and_nobody_blocks() {
    // A megabyte goes in while a megabyte comes out: whoever stops reading here stops for ever.
    let prompt = "feed the ponies, all of them.\n".repeat(35_000);
    let prompt = prompt.trim_end();
    let env = place(&format!(
        r#"stty raw -echo; printf ready
           head -c {} | tee "$FAKE_AGENT_RECORD/got"; printf all"#,
        prompt.len() + 1
    ));
    let run = env
        .stablehand_run()
        .flag("--agent-bin", env.path("agent.sh"))
        .flag("--transport", "pty")
        .args(["-p"])
        .stdin(prompt)
        .deadline(secs(60))
        .finish();
    run.assert_code(0);
    let typed = prompt.replace('\n', "\r") + "\r";
    assert!(
        fs::read(env.record_dir().join("got")).unwrap() == typed.as_bytes(),
        "not what was sent"
    );
    assert!(run.stdout == format!("ready{typed}all").as_bytes(), "not what was written");
    let log = env.log();
    assert_eq!(log.one("prompt_typed")["bytes"], prompt.len());
    assert!(log.one("agent_spawned")["argv"].as_array().unwrap().len() == 1, "not an argument");
}

#[test]
fn an_agent_that_does_not_read_its_prompt_hangs_nobody() {
    let env = place("stty raw -echo; echo 'I do not listen'; sleep 1000");
    let run = env
        .stablehand_run()
        .flag("--agent-bin", env.path("agent.sh"))
        .flag("--transport", "pty")
        .flag("--idle-timeout", "2s")
        .stdin("x".repeat(1 << 20))
        .finish();
    run.assert_code(2).assert_within(secs(15));
}

#[test]
fn an_agent_that_takes_its_time_to_start_gets_all_of_its_prompt() {
    let prompt = "x".repeat(70_000);
    let env = place(
        r#"echo 'starting, in no hurry'; sleep 4; stty raw -echo; printf 'ready'
           head -c 70001 > "$FAKE_AGENT_RECORD/got""#,
    );
    let run = env
        .stablehand_run()
        .flag("--agent-bin", env.path("agent.sh"))
        .flag("--transport", "pty")
        .flag("--idle-timeout", "10s")
        .stdin(prompt.as_str())
        .finish();
    run.assert_code(0);
    assert!(env.record("got") == prompt + "\r", "a part of it was lost");
}

#[test]
fn a_paste_is_marked_where_the_agent_wants_it_marked() {
    let prompt = format!("one\ntwo\x1b[201~{}", "x".repeat(70_000));
    let wanted = format!("\x1b[200~one\rtwo[201~{}\x1b[201~\r", "x".repeat(70_000));
    let env = place(&format!(
        r#"stty raw -echo; printf '\033[?2004hready'; head -c {} > "$FAKE_AGENT_RECORD/got""#,
        wanted.len()
    ));
    let run = env
        .stablehand_run()
        .flag("--agent-bin", env.path("agent.sh"))
        .flag("--transport", "pty")
        .stdin(prompt)
        .finish();
    run.assert_code(0);
    assert!(env.record("got") == wanted, "not what was sent, or not marked");
}

#[test]
fn questions_to_the_terminal_are_answered() {
    let env = place(
        r#"stty raw -echo
           printf 'ab\033[6n\033[c\033]11;?\007\033[5n'
           head -c 44 > "$FAKE_AGENT_RECORD/answers""#,
    );
    raw(&env).finish().assert_code(0).assert_within(secs(5));
    let expected = "\x1b[1;3R\x1b[?62;22c\x1b]11;rgb:1212/1212/1212\x1b\\\x1b[0n";
    assert_eq!(env.record("answers"), expected);
}

#[test]
fn a_prompt_with_a_dash_is_no_option() {
    let env = place(r#"printf '%s|' "$@""#);
    let run = env.stablehand_run().flag("--agent-bin", env.path("agent.sh"));
    let run = run.flag("--transport", "pty").stdin("--help me").finish();
    run.assert_code(0);
    assert_eq!(run.stdout_text(), "--|--help me|\n");
}

#[test]
fn the_demo_agent_has_its_prompt_typed() {
    let env = TestEnv::new(bins());
    let run = env.stablehand("run").args(["--agent", "demo", "--transport", "pty", "hello"]);
    let run = run.variable("STABLEHAND_HOME", env.path("state").to_str().unwrap()).finish();
    run.assert_code(0);
    assert!(run.stdout_text().contains(r#""type":"result""#), "{}", run.stdout_text());
}

#[test]
fn nothing_is_tried_again_behind_a_screen() {
    let env = place("echo 'something was done'; read answer");
    let run = run(&env).flag("--retries", "2").finish();
    run.assert_code(2);
    assert!(run.stderr.contains("something may have been changed"), "{}", run.stderr);
    assert!(!env.log().has("retry_scheduled"));
}
