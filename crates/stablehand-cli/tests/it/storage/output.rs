//! Standard output that cannot be written: an error with its reason, and an exit status that says so.

use crate::support::{env, run, secs};
use stablehand_testkit::Run;
use std::fs::OpenOptions;

fn to_full(run: Run<'_>) -> Run<'_> {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    run.stdout_terminal(full)
}

#[test]
fn a_full_standard_output_stops_the_agent_and_says_why() {
    for format in ["stream-json", "text", "events"] {
        let env = env("init\nassistant Hello.\nhang");
        let run = to_full(run(&env)).flag("--output-format", format).flag("--stop-grace", "1s");
        let run = run.deadline(secs(20)).finish();
        run.assert_code(141).assert_within(secs(15));
        assert!(run.stderr.contains("cannot write to standard output: No space"), "{}", run.stderr);
        let log = env.log();
        assert_eq!(log.one("run_ended")["outcome"], "reader_gone");
        assert!(log.has("output_failed"), "{format}");
    }
}

/// The last of it: the agent is gone when the write fails.
#[test]
fn a_result_that_could_not_be_written_is_no_success() {
    for format in ["stream-json", "text", "events"] {
        for script in ["init\nassistant Hello.\nresult Hello.", "result Hello."] {
            let env = env(script);
            let run = to_full(run(&env)).flag("--output-format", format).finish();
            assert_ne!(run.code, Some(0), "{format}: {}", run.stderr);
            assert!(
                run.stderr.contains("cannot write to standard output"),
                "{format}: {}",
                run.stderr
            );
        }
    }
}

#[test]
fn help_that_could_not_be_written_is_an_error() {
    let env = env("");
    for args in [&["--help"][..], &["--version"]] {
        let run = to_full(env.stablehand("sessions")).instead_of("sessions", args[0]).finish();
        run.assert_code(1);
        assert!(run.stderr.contains("failed to print: No space"), "{}", run.stderr);
    }
}
