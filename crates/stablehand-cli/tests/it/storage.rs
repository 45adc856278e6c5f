//! Logs that cannot be written, and what becomes of the run: each case ends by itself, in bounded time.

use crate::log::SmallDisk;
use crate::support::{agent_output, env, run, secs, skip};

const NO_MOUNT: &str = "a full disk needs the right to mount; run the tests as root for this one";

/// The reader stays, and never reads.
#[test]
fn a_full_disk_and_a_reader_that_takes_nothing_end_in_bounded_time() {
    let env = env("init\nevents thinking 100000 block\nresult Done.");
    let Some(disk) = SmallDisk::mount(&env) else { return skip(NO_MOUNT) };
    let run = run(&env).flag("--log-dir", disk.0.join("logs")).flag("--max-wall", "2s");
    let mut run = run.flag("--stop-grace", "1s").stdout_unread().deadline(secs(40)).start();
    let _unread = run.take_stdout();
    let run = run.finish();
    run.assert_code(2);
    assert!(run.stderr.contains("cannot be written"), "{}", run.stderr);
    assert!(run.stderr.contains("output is incomplete"), "{}", run.stderr);
}

#[test]
fn a_required_log_on_a_full_disk_ends_the_run_at_once() {
    let env = env("init\nevents thinking 3000 block\nhang");
    let Some(disk) = SmallDisk::mount(&env) else { return skip(NO_MOUNT) };
    let run = run(&env).flag("--log-dir", disk.0.join("logs")).args(["--log-required"]);
    let run = run.flag("--stop-grace", "1s").deadline(secs(30)).finish();
    run.assert_code(1).assert_within(secs(15));
    assert!(run.stderr.contains("cannot be written"), "{}", run.stderr);
}

/// The kernel sends SIGXFSZ, which kills by default.
#[test]
fn a_limit_on_the_size_of_files_is_like_a_full_disk() {
    const SCRIPT: &str = "init\nevents thinking 3000 block\nresult Done.";
    let env = env(SCRIPT);
    let run = run(&env).through(["sh", "-c", "ulimit -f 256 && exec \"$@\"", "sh"]);
    let run = run.deadline(secs(30)).finish();
    run.assert_code(0);
    assert!(run.stdout == agent_output(SCRIPT));
    assert!(run.stderr.contains("cannot be written"), "{}", run.stderr);
    let log = env.log();
    assert!(log.torn_tail.is_empty() && log.has("raw_event"));
}
