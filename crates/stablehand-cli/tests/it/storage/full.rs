//! Full disks: readers that take nothing, limits, and logs that are required.

use super::{NO_MOUNT, cpu_ms};
use crate::log::SmallDisk;
use crate::support::{agent_output, env, ms, run, secs, skip};

/// The reader stays, and never reads.
#[test]
fn a_full_disk_and_a_reader_that_takes_nothing_end_in_bounded_time() {
    for format in ["stream-json", "text", "events"] {
        let env = env("init\nevents assistant 100000 block\nresult Done.");
        let Some(disk) = SmallDisk::mount(&env) else { return skip(NO_MOUNT) };
        let run = run(&env).flag("--log-dir", disk.0.join("logs")).flag("--max-wall", "2s");
        let run = run.flag("--output-format", format).flag("--stop-grace", "1s");
        let mut run = run.stdout_unread().deadline(secs(40)).start();
        let _unread = run.take_stdout();
        env.wait_for("a verdict", || run.stderr_so_far().contains("wall clock"));
        let before = cpu_ms(run.pid());
        std::thread::sleep(ms(1000));
        let used = cpu_ms(run.pid()).saturating_sub(before);
        assert!(used < 500, "{format}: {used} ms of processor time in a second of waiting");
        let run = run.finish();
        run.assert_code(2);
        assert!(run.stderr.contains("cannot be written"), "{format}: {}", run.stderr);
        assert!(run.stderr.contains("output is incomplete"), "{format}: {}", run.stderr);
    }
}

/// No limit is passed: the agent ends by itself, with less than memory holds.
#[test]
fn a_result_on_a_full_disk_does_not_wait_for_ever_for_a_reader_that_takes_nothing() {
    for format in ["stream-json", "text", "events"] {
        let env = env("init\nevents assistant 15000 block\nresult Done.");
        let Some(disk) = SmallDisk::mount(&env) else { return skip(NO_MOUNT) };
        let run = run(&env).flag("--log-dir", disk.0.join("logs"));
        let run = run.flag("--output-format", format).stdout_unread().deadline(secs(40));
        let mut run = run.start();
        let _unread = run.take_stdout();
        let run = run.finish();
        run.assert_code(1);
        assert!(run.stderr.contains("output is incomplete"), "{format}: {}", run.stderr);
    }
}

/// A reader that takes a little now and then gets everything.
#[test]
fn a_slow_reader_on_a_full_disk_gets_everything() {
    for format in ["stream-json", "events"] {
        const SCRIPT: &str = "init\nevents assistant 15000 block\nresult Done.";
        let env = env(SCRIPT);
        let Some(disk) = SmallDisk::mount(&env) else { return skip(NO_MOUNT) };
        let run = run(&env).flag("--log-dir", disk.0.join("logs"));
        let run = run.flag("--output-format", format).stdout_unread().deadline(secs(60));
        let mut run = run.start();
        env.wait_for("the trouble", || run.stderr_so_far().contains("cannot be written"));
        std::thread::sleep(ms(2000));
        run.read_stdout_now();
        let run = run.finish();
        run.assert_code(0);
        if format == "stream-json" {
            assert!(run.stdout == agent_output(SCRIPT));
        } else {
            let last = run.stdout_json().pop().unwrap();
            assert_eq!(last["event"]["type"], "session.ended", "{last}");
        }
    }
}

/// Standard error fills the memory as fast as standard output does.
#[test]
fn a_flood_of_standard_error_on_a_full_disk_stays_within_memory() {
    let line = format!("stderr {}\n", "x".repeat(4000));
    let env = env(&format!("init\n{}result Done.", line.repeat(15_000)));
    let Some(disk) = SmallDisk::mount(&env) else { return skip(NO_MOUNT) };
    let run = run(&env).flag("--log-dir", disk.0.join("logs")).flag("--max-wall", "3s");
    let run = run.flag("--output-format", "events").flag("--stop-grace", "1s");
    let mut run = run.stdout_unread().deadline(secs(40)).start();
    let _unread = run.take_stdout();
    run.finish().assert_code(2).assert_memory();
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
