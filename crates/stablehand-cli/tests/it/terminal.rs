//! Agents at a terminal: what they find there, and what comes out of it. The agents are shell
//! scripts, which know a terminal when they see one.

mod ends;
mod typing;

use crate::support::{bins, secs, skip};
use nix::pty::{Winsize, openpty};
use serde_json::{Value, json};
use stablehand_core::record::Record;
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect};
use stablehand_testkit::{Run, TestEnv, census};
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A place whose agent is a shell script.
fn place(script: &str) -> TestEnv {
    let env = TestEnv::new(bins());
    let agent = env.path("agent.sh");
    fs::write(&agent, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    env
}

/// `stablehand run` with that agent at a terminal, and a prompt.
fn run(env: &TestEnv) -> Run<'_> {
    env.stablehand_run()
        .flag("--agent-bin", env.path("agent.sh"))
        .flag("--transport", "pty")
        .args(["feed the ponies"])
}

/// The same, with the agent's bytes on standard output.
fn raw(env: &TestEnv) -> Run<'_> {
    run(env).args(["-p"])
}

#[test]
fn the_agent_finds_a_terminal_of_the_right_size() {
    let env = place(
        r#"test -t 0 -a -t 1 -a -t 2 && echo "all are terminals"
           stty size
           case $(tty) in /dev/*) echo "it has a name";; esac
           echo "$1 [$TERM] [${CI-none}] [${COLUMNS-none}] [$PAGER] [${TMUX-none}]"
           ps -o pid=,pgid=,sid=,tpgid= -p $$ | awk '$1 == $2 && $2 == $3 && $3 == $4 { print "it leads" }'"#,
    );
    let run = run(&env).flag("--size", "91x33").variable("COLUMNS", "7").variable("CI", "true");
    let run = run.variable("TMUX", "/tmp/x").finish();
    run.assert_code(0);
    let expected = "all are terminals\n33 91\nit has a name\n\
                    feed the ponies [xterm-256color] [none] [none] [cat] [none]\nit leads\n";
    assert_eq!(run.stdout_text(), expected);
    let log = env.log();
    let spawned = log.one("agent_spawned");
    assert_eq!(
        (&spawned["transport"], &spawned["cols"], &spawned["rows"]),
        (&json!("pty"), &json!(91), &json!(33))
    );
}

#[test]
fn bytes_pass_unchanged_and_are_in_the_log() {
    let env = place(
        r#"stty -opost
           printf '\033[31mr\303\251d\033[0m\r\n\377\376\000 {"a": 1}\r\n{"a": 1}\n\n'
           printf '\033]0;title\007half \303'; sleep 0.6; printf '\251 whole \342'"#,
    );
    let run = raw(&env).args(["--verify"]).finish();
    run.assert_code(0);
    let expected = b"\x1b[31mr\xc3\xa9d\x1b[0m\r\n\xff\xfe\x00 {\"a\": 1}\r\n{\"a\": 1}\n\n\
                     \x1b]0;title\x07half \xc3\xa9 whole \xe2";
    assert_eq!(String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(expected));
    assert_eq!(run.stdout, expected);
    let log = env.log();
    assert_eq!(log.raw_bytes(), expected);
    assert_eq!(log.one("verified")["identical"], true);
}

#[test]
fn much_output_arrives_whole_up_to_the_last_byte_before_the_exit() {
    let env = place("i=0; while [ $i -lt 400 ]; do seq 1 250; i=$((i+1)); done; printf the-end");
    let run = raw(&env).args(["--verify"]).finish();
    run.assert_code(0);
    let block = (1..=250).map(|number| format!("{number}\r\n")).collect::<Vec<_>>().concat();
    assert!(run.stdout == (block.repeat(400) + "the-end").as_bytes(), "bytes were lost");
    assert_eq!(env.log().one("verified")["identical"], true);
}

#[test]
fn what_has_no_newline_passes_at_once() {
    let env = place("printf 'password: '; sleep 5; echo");
    let began = Instant::now();
    let run = raw(&env).flag("--idle-timeout", "20s").start();
    run.wait_for_stdout("password: ");
    assert!(began.elapsed() < secs(3), "after {:?}", began.elapsed());
    let logged = env.log().raw_bytes();
    assert_eq!(String::from_utf8_lossy(&logged), "password: ", "the log has it first");
    run.finish().assert_code(0);
}

#[test]
fn text_is_told_without_its_dress_and_while_it_grows() {
    let env = place(
        r"printf '\033[1mHay\033[0m'; sleep 1; printf ' and oats\r\n'
          for i in 1 2 3 4 5 6 7 8 9; do printf '\r\033[K| Working (%ss)' $i; sleep 0.1; done
          printf '\r\033[KDone.\n'",
    );
    let run = run(&env).start();
    run.wait_for_stdout("Hay");
    let run = run.finish();
    run.assert_code(0);
    let text = run.stdout_text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.first(), lines.last()), (Some(&"Hay and oats"), Some(&"Done.")), "{text}");
    assert!(text.matches("Working").count() <= 1, "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_replay_of_the_log_tells_the_same_events() {
    let env = place(
        r"printf 'one\r\n'; sleep 0.5; printf '\033[2J\033[Htwo'; sleep 0.5; printf ' three'
          seq 1 100; sleep 0.5; printf '\033[?1049hother screen'; sleep 0.5; printf '\033[?1049l'",
    );
    // Redaction holds back words that may be the beginning of a secret.
    let run =
        run(&env).args(["--no-redact"]).flag("--output-format", "events").flag("--size", "40x10");
    let run = run.finish();
    run.assert_code(0);
    let path = &env.log().path;
    let mut reader = EventReader::new(Dialect::Terminal, Depth::Full);
    let mut events = Vec::new();
    for line in fs::read(path).unwrap().split(|byte| *byte == b'\n').filter(|l| !l.is_empty()) {
        reader.record(&Record::read(line), &mut events);
    }
    let again: Vec<Value> =
        events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    assert_eq!(again, run.stdout_json());
    let text: String = again
        .iter()
        .filter(|event| event["event"]["type"] == "item.delta")
        .map(|event| event["event"]["text"].as_str().unwrap())
        .collect();
    for told in ["one", "two three", "\n57\n58\n", "100", "other screen"] {
        assert!(text.contains(told), "`{told}` is not in {text:?}");
    }
}

#[test]
fn our_own_terminal_gives_its_size_and_its_changes() {
    let env = place(
        r#"trap 'stty size >> "$FAKE_AGENT_RECORD/sizes"' WINCH
           stty size > "$FAKE_AGENT_RECORD/sizes"; touch "$FAKE_AGENT_RECORD/ready"
           while [ ! -e "$FAKE_AGENT_RECORD/enough" ]; do sleep 0.1; done"#,
    );
    let size = |rows, cols| Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
    let ours = openpty(&size(30, 100), None).unwrap();
    let mut child = Command::new(&env.bins().stablehand)
        .args(["run", "--agent", "cursor", "--transport", "pty", "-p", "hello", "--agent-bin"])
        .arg(env.path("agent.sh"))
        .arg("--log-dir")
        .arg(env.log_dir())
        .env("HOME", env.home())
        .env(census::MARKER, env.marker())
        .env("FAKE_AGENT_RECORD", env.record_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::from(ours.slave.try_clone().unwrap()))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    env.record("ready");
    let now = size(25, 90);
    // SAFETY: the request reads one `winsize`, which lives as long as the call.
    #[expect(unsafe_code, reason = "there is no safe wrapper for this request")]
    let status =
        unsafe { nix::libc::ioctl(ours.slave.as_raw_fd(), nix::libc::TIOCSWINSZ, &raw const now) };
    assert_eq!(status, 0);
    // It is not in the foreground of that terminal, so the kernel does not tell it.
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGWINCH).unwrap();
    env.wait_for("the new size", || env.record("sizes").lines().count() >= 2);
    fs::write(env.record_dir().join("enough"), "").unwrap();
    env.wait_for("its end", || child.try_wait().unwrap().is_some());
    assert_eq!(env.record("sizes"), "30 100\n25 90\n");
    assert_eq!(env.log().one("terminal_resized")["cols"], 90);
    env.assert_nobody_left();
}

#[test]
fn a_real_program_that_draws_can_be_used() {
    if Command::new("vim").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skip("vim is not installed");
    }
    let env = place(
        r#"exec vim -u NONE -i NONE -c 'call setline(1, [$TERM, &columns . " columns"])' \
           -c redraw -c 'sleep 700m' -c 'qa!'"#,
    );
    let run = run(&env).flag("--size", "80x24").deadline(secs(30)).finish();
    run.assert_code(0);
    let text = run.stdout_text();
    assert!(text.contains("xterm-256color") && text.contains("80 columns"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn the_plan_says_which_terminal() {
    let env = place("exit 9");
    let plan =
        run(&env).args(["--dry-run", "--size", "100x30", "--exit-when-quiet", "5s"]).finish();
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert_eq!((&plan["transport"], &plan["size"]), (&json!("pty"), &json!("100x30")));
    assert_eq!(
        (&plan["dialect"], &plan["args"]),
        (&json!("terminal"), &json!(["feed the ponies"]))
    );
    assert_eq!(plan["exit_when_quiet"], "5.0s");
    let pipe = env.stablehand_run().args(["--dry-run", "x"]).finish();
    let pipe: Value = serde_json::from_slice(&pipe.stdout).unwrap();
    assert_eq!((&pipe["transport"], &pipe["size"]), (&json!("pipe"), &Value::Null));
}

#[test]
fn flags_about_a_terminal_need_one() {
    let env = place("exit 0");
    for (flag, value) in [("--size", "80x24"), ("--exit-when-quiet", "1s")] {
        let run = env.stablehand_run().args([flag, value, "x"]).finish();
        run.assert_code(64);
        assert!(run.stderr.contains(flag) && run.stderr.contains("--transport pty"));
    }
    run(&env).flag("--size", "1x1").finish().assert_code(64);
}
