//! `cursor-wrap` without `-p`: one line, one turn, one session, one log.

use crate::support::{env, ms, secs, skip};
use nix::pty::openpty;
use nix::sys::signal::Signal;
use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// So many good turns of one session.
fn turns(count: usize) -> String {
    (1..=count)
        .map(|turn| {
            format!("read-stdin\ninit s-1\nassistant Answer {turn}.\nresult Answer {turn}.\n")
        })
        .collect::<Vec<_>>()
        .join("---\n")
}

#[test]
fn one_line_is_one_turn_and_blank_lines_are_skipped() {
    let env = env(&turns(3));
    let run = env.cursor_wrap().stdin("one\n\n   \ntwo\nthree").finish();
    run.assert_code(0);
    assert_eq!(env.starts(), 3);
    let prompts = [1, 2, 3].map(|turn| env.record(&format!("{turn}.stdin")).trim().to_owned());
    assert_eq!(prompts, ["one", "two", "three"]);
    assert!(!run.stderr.contains("> "), "no prompt sign without a terminal: {}", run.stderr);
}

#[test]
fn the_first_prompt_may_be_an_argument() {
    let env = env(&turns(2));
    env.cursor_wrap().args(["one", "and", "a", "half"]).stdin("two\n").finish().assert_code(0);
    assert_eq!(env.record("1.stdin").trim(), "one and a half");
    assert_eq!(env.record("2.stdin").trim(), "two");
}

#[test]
fn nothing_to_read_exits_0() {
    let env = env(&turns(1));
    env.cursor_wrap().stdin("").finish().assert_code(0);
    assert_eq!(env.starts(), 0);
}

#[test]
fn all_turns_are_in_one_log() {
    let env = env(&turns(3));
    env.cursor_wrap().stdin("one\ntwo\nthree\n").finish().assert_code(0);
    let log = env.log();
    assert_eq!(log.all("agent_spawned").len(), 3);
    assert_eq!(log.all("agent_exited").len(), 3);
    assert_eq!(log.all("run_ended").len(), 3);
    assert_eq!(log.all("turn_ended").len(), 3);
    assert_eq!(log.last()["msg"], "session_ended");
}

#[test]
fn a_given_session_is_resumed_from_the_first_turn_on() {
    let env = env(&turns(2));
    env.cursor_wrap().flag("--resume", "s-0").stdin("one\ntwo\n").finish().assert_code(0);
    assert_eq!(env.argv(1)[3..5], ["--resume", "s-0"]);
    assert_eq!(env.argv(2)[3..5], ["--resume", "s-1"], "the newest id counts");
}

#[test]
fn a_turn_is_answered_before_the_next_line_is_there() {
    let env = env(&turns(2));
    let mut run = env.cursor_wrap().stdin_open().start();
    run.type_line("one");
    run.wait_for_stdout("Answer 1.");
    run.type_line("two");
    run.wait_for_stdout("Answer 2.");
    run.close_stdin();
    run.finish().assert_code(0);
}

#[test]
fn the_default_format_is_text() {
    let env = env(&turns(2));
    let run = env.cursor_wrap().stdin("one\ntwo\n").finish();
    let text = run.stdout_text();
    assert_eq!(text.trim(), "Answer 1.\n\nAnswer 2.", "a blank line between turns: {text:?}");
}

#[test]
fn waiting_for_a_person_is_no_hang() {
    let env = env(&turns(1));
    let mut run = env.cursor_wrap().stdin_open().start();
    std::thread::sleep(ms(1800));
    assert!(run.is_running());
    run.type_line("one");
    run.wait_for_stdout("Answer 1.");
    run.close_stdin();
    run.finish().assert_code(0);
}

#[test]
fn a_hang_in_text_is_one_warning_and_the_next_prompt_follows() {
    let env =
        env("read-stdin\ninit s-1\nhang\n---\nread-stdin\ninit s-1\nassistant Two.\nresult Two.");
    let run = env.cursor_wrap().stdin("one\ntwo\n").finish();
    run.assert_code(0);
    let shown = format!("{}{}", run.stdout_text(), run.stderr);
    assert!(shown.contains("⚠ Hang detected — killed cursor-agent ("), "{shown}");
    assert!(run.stdout_text().contains("Two."));
    assert_eq!(env.argv(2)[3..5], ["--resume", "s-1"]);
}

#[test]
fn the_prompt_after_a_hang_is_sent_in_its_session() {
    let env = env("read-stdin\ninit s-1\nhang\n---\nread-stdin\ninit s-1\nresult ok");
    let run = env.cursor_wrap().flag("--prompt-after-hang", "please go on").stdin("one\n").finish();
    run.assert_code(0);
    assert_eq!(env.record("2.stdin").trim(), "please go on");
    assert_eq!(env.argv(2)[3..5], ["--resume", "s-1"]);
    let log = env.log();
    assert!(log.has("prompt_after_hang") && log.mentions("using prompt-after-hang"));
}

#[test]
fn the_prompt_after_a_hang_is_sent_so_often_and_no_more() {
    let hang = "read-stdin\ninit s-1\nhang\n---\n";
    let env = env(&format!("{}read-stdin\ninit s-1\nresult ok", hang.repeat(3)));
    let run = env
        .cursor_wrap()
        .flag("--idle-timeout", "500ms")
        .flag("--prompt-after-hang", "go on")
        .flag("--max-hang-retries", "2")
        .deadline(secs(30))
        .stdin("one\ntwo\n")
        .finish();
    run.assert_code(0);
    let prompts = [1, 2, 3, 4].map(|turn| env.record(&format!("{turn}.stdin")).trim().to_owned());
    assert_eq!(prompts, ["one", "go on", "go on", "two"]);
}

#[test]
fn a_failed_turn_exits_1() {
    let env = env("init\nstderr no hay\nexit 3\n---\ninit\nresult ok");
    env.cursor_wrap().stdin("one\n").finish().assert_code(1);
}

#[test]
fn a_signal_between_turns_ends_us() {
    let env = env(&turns(1));
    let mut run = env.cursor_wrap().stdin_open().start();
    run.type_line("one");
    run.wait_for_stdout("Answer 1.");
    run.signal(Signal::SIGTERM);
    run.finish().assert_code(143).assert_within(secs(8));
}

#[test]
fn children_of_one_turn_are_gone_before_the_next() {
    let env = env(
        "init s-1\nspawn setsid\nresult 1\n---\ninit s-1\ntouch second\nwait-file go\nresult 2",
    );
    let run = env.cursor_wrap().stdin("one\ntwo\n").start();
    env.record("second");
    let child = std::fs::read_to_string(env.record_dir().join("1.child-1.pid")).unwrap();
    let pid: i32 = child.split(' ').next().unwrap().parse().unwrap();
    assert!(!env.living().contains_key(&pid), "the first tree is gone when the second starts");
    std::fs::write(env.record_dir().join("go"), "").unwrap();
    run.finish().assert_code(0);
}

#[test]
fn a_terminal_shows_the_prompt_sign_and_takes_lines() {
    if Command::new("setsid").arg("--version").output().is_err() {
        return skip("a controlling terminal needs `setsid` of util-linux");
    }
    converse_at_a_terminal(&["setsid", "--ctty"]);
}

#[test]
fn a_terminal_that_does_not_control_us_is_a_terminal_too() {
    converse_at_a_terminal(&[]);
}

/// One turn as a person has it: the sign, a line, the answer, the sign again, end of input.
fn converse_at_a_terminal(through: &[&str]) {
    let env = env(&turns(2));
    let terminal = openpty(None, None).unwrap();
    let slave = File::from(terminal.slave);
    let run = env
        .cursor_wrap()
        .through(through.iter().copied())
        .variable("TERM", "xterm")
        .stdin_terminal(slave.try_clone().unwrap())
        .stderr_terminal(slave)
        .start();
    let mut master = File::from(terminal.master);
    let shown = Arc::new(Mutex::new(Vec::new()));
    let (mut reader, into) = (master.try_clone().unwrap(), Arc::clone(&shown));
    // The thread ends with the terminal, and the process with the test.
    std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut block) {
            into.lock().unwrap().extend_from_slice(&block[..count]);
        }
    });
    let text = || String::from_utf8_lossy(&shown.lock().unwrap()).into_owned();
    env.wait_for("the prompt sign", || text().contains("> "));
    master.write_all(b"one\r").unwrap();
    run.wait_for_stdout("Answer 1.");
    assert_eq!(env.record("1.stdin").trim(), "one");
    env.wait_for("the next prompt sign", || {
        text().rsplit_once("one").is_some_and(|(_, after)| after.contains("> "))
    });
    // End of input, as a person types it.
    master.write_all(b"\x04").unwrap();
    run.finish().assert_code(0);
}

#[test]
fn a_terminal_without_a_prompt_is_refused_with_print() {
    let env = env(&turns(1));
    let terminal = openpty(None, None).unwrap();
    let run = env.cursor_wrap().args(["-p"]).stdin_terminal(File::from(terminal.slave)).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("no prompt provided"), "{}", run.stderr);
}
