//! The user's own file: what it was when the run began, it is again afterwards, whatever happens.

use super::{RULES, THEIRS, held, hooks_file, made, with_file};
use crate::support::{env, ms, secs};
use nix::sys::signal::Signal;
use stablehand_testkit::TestEnv;
use std::fs;
use std::time::Duration;

fn text(env: &TestEnv) -> String {
    fs::read_to_string(hooks_file(env)).unwrap_or_default()
}

/// How often we are killed.
const KILLS: usize = 100;

#[test]
fn the_file_comes_back_to_the_byte_after_a_hundred_kills() {
    // The n-th start of the agent takes the n-th section.
    let section = "read-stdin\ninit\nrun c1 10s touch fine\nassistant Done.\ndone\n";
    let env = env(&vec![section; KILLS + 1].join("---\n"));
    with_file(&env, THEIRS);
    // A cheap generator is random enough for moments.
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut installed, mut killed) = (0, 0);
    for _ in 0..KILLS {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let run = held(&env, RULES).start();
        std::thread::sleep(Duration::from_millis(seed % 160));
        installed += usize::from(text(&env) != THEIRS);
        run.signal(Signal::SIGKILL);
        killed += usize::from(run.finish_alone().code.is_none());
    }
    // Most were hit in the middle, or this proves nothing.
    assert!(killed > KILLS / 3 && installed > KILLS / 10, "{killed} killed, {installed} installed");
    // The keeper gives it back, or, where we were killed before there was one, the next start.
    held(&env, RULES).finish().assert_code(0);
    assert_eq!(text(&env), THEIRS);
}

#[test]
fn a_file_that_was_not_there_is_not_there_afterwards() {
    let env = env(
        "read-stdin\ninit\nsleep 25s\ndone\n---\nread-stdin\ninit\nrun c1 10s touch made\ndone\n",
    );
    let run = held(&env, RULES).start();
    env.wait_for_log("hook_received");
    assert!(hooks_file(&env).exists());
    run.signal(Signal::SIGKILL);
    run.finish_alone();
    env.wait_for("no file and no folder", || !env.work().join(".cursor").exists());
    held(&env, RULES).finish().assert_code(0);
    assert!(!made(&env, "made") && !env.work().join(".cursor").exists());
}

#[test]
fn two_runs_in_one_folder_share_it_and_the_last_one_gives_it_back() {
    let env = env("
        read-stdin
        init first
        run c0 30s while [ ! -e second-is-over ]; do sleep 0.1; done
        run c1 10s touch made
        run c2 10s touch first
        done
        ---
        read-stdin
        init second
        run c1 10s touch made
        run c2 10s touch second
        done
    ");
    with_file(&env, THEIRS);
    let first = held(&env, RULES).flag("--log-dir", env.path("first")).start();
    env.wait_for("the first agent", || env.has_record("1.argv.json"));
    let second = held(&env, RULES).start().finish_alone();
    second.assert_code(0);
    assert!(made(&env, "second"));
    assert_ne!(text(&env), THEIRS, "the first run needs it still");
    fs::write(env.work().join("second-is-over"), "").unwrap();
    first.finish().assert_code(0).assert_within(secs(60));
    assert!(made(&env, "first") && !made(&env, "made"));
    assert_eq!(text(&env), THEIRS);
}

#[test]
fn what_somebody_changes_meanwhile_stays() {
    let env = env("read-stdin\ninit\nsleep 1s\nrun c1 10s touch made\ndone\n");
    with_file(&env, THEIRS);
    let run = held(&env, RULES).start();
    env.wait_for_log("hook_received");
    let changed = text(&env).replace("theirs.txt", "changed.txt");
    // In one step: a file that is empty for a moment has lost our entries.
    let new = hooks_file(&env).with_extension("new");
    fs::write(&new, &changed).unwrap();
    fs::rename(&new, hooks_file(&env)).unwrap();
    run.finish().assert_code(0).assert_at_least(ms(500));
    assert_eq!(text(&env), THEIRS.replace("theirs.txt", "changed.txt"));
    assert!(!made(&env, "made"));
}
