//! Standard input behind a prompt: `git diff | stablehand run "review this"`.

use crate::support::{GOOD, PROMPT, env, secs};
use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixStream;

const DIFF: &str = "diff --git a/barn b/barn\n-hay\n+oats\n\n";

#[test]
fn it_follows_the_prompt_after_an_empty_line_unchanged() {
    for stdin in [DIFF.as_bytes(), b"bytes \xff\xfe, no newline", b"  indented\n"] {
        let env = env(GOOD);
        env.stablehand_run().args(["review", "this"]).stdin(stdin).finish().assert_code(0);
        let got = std::fs::read(env.record_dir().join("1.stdin")).unwrap();
        assert_eq!(got, [b"review this\n\n", stdin].concat());
    }
}

#[test]
fn nothing_is_added_where_there_is_nothing() {
    for stdin in ["", "\n \n"] {
        let env = env(GOOD);
        let run = env.stablehand_run().args([PROMPT]).stdin(stdin).finish();
        run.assert_code(0).assert_within(secs(4));
        assert_eq!(env.record("1.stdin"), PROMPT);
    }
}

#[test]
fn files_and_sockets_are_read_and_devices_are_not() {
    let env = env(&[GOOD; 3].join("---\n"));
    std::fs::write(env.path("input"), DIFF).unwrap();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(DIFF.as_bytes()).unwrap();
    drop(theirs);
    let run = |stdin: std::process::Stdio| {
        env.stablehand_run().args([PROMPT]).stdin_terminal(stdin).finish().assert_code(0);
    };
    run(File::open(env.path("input")).unwrap().into());
    run(std::os::fd::OwnedFd::from(ours).into());
    run(File::open("/dev/zero").unwrap().into());
    let both = format!("{PROMPT}\n\n{DIFF}");
    assert_eq!([1, 2, 3].map(|n| env.record(&format!("{n}.stdin"))), [&*both, &both, PROMPT]);
}

#[test]
fn an_open_pipe_without_data_does_not_hang_and_is_named() {
    let env = env("read-stdin\ninit\nsleep 800ms\nassistant Fed.\nresult Fed.\n");
    let mut run = env.stablehand_run().args([PROMPT]).stdin_open().start();
    env.record("1.stdin");
    run.type_line("too late");
    let run = run.finish();
    run.assert_code(0).assert_at_least(secs(5)).assert_within(secs(12));
    assert_eq!(env.record("1.stdin"), PROMPT);
    assert!(run.stderr.contains("standard input is open, but nothing came"), "{}", run.stderr);
    assert!(run.stderr.contains("</dev/null"), "{}", run.stderr);
    assert!(
        run.stderr.contains("after the run had begun"),
        "nothing is lost silently: {}",
        run.stderr
    );
}

#[test]
fn a_dash_waits_for_it_and_alone_is_the_whole_prompt() {
    let env = env(&[GOOD; 2].join("---\n"));
    let mut run = env.stablehand_run().args([PROMPT, "-"]).stdin_open().start();
    std::thread::sleep(secs(6));
    run.type_line("slowly");
    run.close_stdin();
    let run = run.finish();
    run.assert_code(0);
    assert_eq!(env.record("1.stdin"), format!("{PROMPT}\n\nslowly\n"));
    assert!(run.stderr.contains("waiting for the end of standard input"), "{}", run.stderr);
    env.stablehand_run().args(["-"]).stdin("\n all of it \n").finish().assert_code(0);
    assert_eq!(env.record("2.stdin"), "all of it");
}

#[test]
fn too_much_is_refused_before_the_agent_starts() {
    let env = env(GOOD);
    let run = env.stablehand_run().args([PROMPT]).stdin(vec![b'x'; 11 << 20]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("standard input is longer than 10 MiB"), "{}", run.stderr);
    assert_eq!(env.starts(), 0);
}

#[test]
fn a_dry_run_counts_it() {
    let env = env(GOOD);
    let run = env.stablehand_run().args(["--dry-run", "abc"]).stdin("12345").finish();
    run.assert_code(0);
    let plan: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(plan["stdin"], "the prompt, 10 bytes, then closed");
}
