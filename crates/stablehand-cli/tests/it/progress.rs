//! What an agent says again, and what it says after its result: neither makes work look alive or
//! undone.

use crate::support::{env, run, secs};
use stablehand_testkit::Finished;

/// Plays the same steps again and again, 200 ms apart, after a first message.
fn again_and_again(steps: &str) -> (Finished, String) {
    let script = format!("init\nassistant Once.\n{}", format!("{steps}\nsleep 200ms\n").repeat(60));
    let env = env(&script);
    let run = run(&env).flag("--no-progress-timeout", "2s").flag("--stop-grace", "200ms");
    let run = run.flag("--class-timeout", "execute=1s").flag("--max-extensions", "0");
    let run = run.deadline(secs(25)).finish();
    let verdict = env.log().one("run_ended")["verdict"].as_str().unwrap_or_default().to_owned();
    (run, verdict)
}

#[test]
fn the_same_again_and_again_is_no_progress() {
    for steps in [
        "user feed the ponies",
        "shell c1 none make\nshell-done c1 0 1s make",
        "shell c1 none make",
        r"delta \n",
        r"user feed the ponies\ndelta \x20\t",
    ] {
        let (run, verdict) = again_and_again(steps);
        run.assert_code(2).assert_within(secs(10));
        assert_eq!(verdict, "no_progress", "{steps}: {}", run.stderr);
    }
}

#[test]
fn the_same_call_again_and_again_is_seen_as_a_livelock() {
    let steps = "shell c1 30s make\nshell-done c1 0 1s make\n".repeat(8);
    let env = env(&format!("init\n{steps}hang"));
    let run = run(&env).flag("--livelock", "4").flag("--stop-grace", "200ms").finish();
    run.assert_code(2);
    assert_eq!(env.log().one("run_ended")["verdict"], "livelock", "{}", run.stderr);
}

#[test]
fn repeated_results_do_not_keep_a_process_that_should_exit() {
    let env = env(&format!("init\nassistant Done.\n{}", "result Done.\nsleep 200ms\n".repeat(60)));
    let run = run(&env).flag("--stop-grace", "200ms").finish();
    run.assert_code(0).assert_within(secs(6));
    assert!(env.log().has("exit_overdue"));
}

/// A finished job was done again.
#[test]
fn what_comes_after_a_good_result_does_not_undo_it() {
    for after in [
        "assistant One more thing.",
        "thinking Hm.",
        "shell c9 30s make",
        "user feed the ponies",
        "cut Half of a",
        "user feed the ponies\nassistant Again.\nhang",
    ] {
        for exit in ["exit 1", "die SEGV", ""] {
            let script = format!("init\nassistant Fed.\nresult Fed.\n{after}\n{exit}");
            let env = env(&format!("{script}\n---\n{script}\n---\n{script}"));
            let run = run(&env).flag("--retries", "2").flag("--stop-grace", "200ms").finish();
            run.assert_code(0);
            assert_eq!(env.starts(), 1, "{after}, {exit}: {}", run.stderr);
        }
    }
}

#[test]
fn bytes_without_a_newline_are_a_sign_of_life() {
    let pieces = "raw x\nsleep 300ms\n".repeat(10);
    let env = env(&format!("init\nassistant Fed.\n{pieces}raw \\n\nresult Fed."));
    run(&env).finish().assert_code(0).assert_at_least(secs(3));
}
