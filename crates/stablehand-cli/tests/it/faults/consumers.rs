//! Whoever reads our output: slow, stopped, or gone. None of it may reach the agent.

use crate::support::{agent_output, env, ms, print, secs};
use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader};

/// More than any pipe holds.
const FLOOD: &str = "init\nevents thinking 60000 block\ntouch written\nresult done\nexit 0";

#[test]
fn a_reader_that_stops_for_seconds_is_no_hang_and_does_not_stop_the_agent() {
    let env = env(FLOOD);
    let mut run = print(&env).stdout_unread().start();
    // The agent gets rid of all it has to say while nobody reads us.
    env.record("written");
    std::thread::sleep(ms(2500));
    assert!(run.is_running(), "what was not read yet must still come");
    run.read_stdout_now();
    let run = run.finish();
    run.assert_code(0);
    assert!(run.stdout == agent_output(FLOOD), "nothing is lost");
    assert!(!env.log().has("hang_detected"));
    run.assert_memory();
}

#[test]
fn a_reader_that_goes_away_causes_no_panic_and_leaves_no_process() {
    let env = env("init\nspawn setsid\nevents thinking 20000 line\nhang");
    let mut run = print(&env).flag("--idle-timeout", "3s").stdout_unread().start();
    let mut first = String::new();
    BufReader::new(run.take_stdout()).read_line(&mut first).unwrap();
    assert!(first.contains("init"));
    let run = run.finish();
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

#[test]
fn no_reader_at_all_causes_no_panic() {
    let env = env("init\nevents thinking 20000 block\nresult done\nexit 0");
    let mut run = print(&env).stdout_unread().start();
    drop(run.take_stdout());
    let run = run.finish();
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert_ne!(run.signal, Some(Signal::SIGSEGV as i32));
}

#[test]
fn a_stopped_reader_does_not_keep_a_signal_from_ending_us() {
    let env = env("init\nevents thinking 60000 block\ntouch written\nhang");
    let run = print(&env).flag("--idle-timeout", "30s").stdout_unread().start();
    env.record("written");
    run.signal(Signal::SIGTERM);
    run.finish().assert_code(143).assert_within(secs(15));
}

#[test]
fn a_hang_is_found_while_the_reader_is_stopped_and_everything_was_read_from_the_agent() {
    let env = env("init\nevents thinking 60000 block\ntouch written\nhang");
    let mut run = print(&env).deadline(secs(25)).stdout_unread().start();
    env.record("written");
    // Our reader is slow, the agent is not: whether this is judged now or when the reader is back,
    // it must be judged in the end.
    std::thread::sleep(secs(2));
    run.read_stdout_now();
    run.finish().assert_code(2);
}

#[test]
fn our_own_words_never_wait_for_a_stopped_reader() {
    // Both streams in one pipe that nobody reads, and a word of ours for each of many calls.
    for format in ["stream-json", "text"] {
        let env = env("init\nevents tool 12000 block\ntouch written\nresult done\nexit 0");
        let mut run = print(&env)
            .args(["--log-level", "debug", "--output-format", format])
            .through(["sh", "-c", r#"exec "$0" "$@" 2>&1"#])
            .stdout_unread()
            .start();
        env.record("written");
        std::thread::sleep(ms(1500));
        assert!(run.is_running());
        assert!(!env.log().has("hang_detected"));
        run.read_stdout_now();
        run.finish().assert_code(0);
    }
}
