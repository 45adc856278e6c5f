//! Folders whose names are not UTF-8: everything works there, or says why it cannot.

use crate::support::{GOOD, PROMPT, env};
use stablehand_testkit::TestEnv;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A folder of that kind; none on file systems that refuse such names.
fn folder(env: &TestEnv) -> Option<PathBuf> {
    let folder = env.path(OsStr::from_bytes(b"barn \xff"));
    match std::fs::create_dir(&folder) {
        Ok(()) => Some(folder),
        Err(error) => {
            crate::support::skip(&format!("no such names here: {error}"));
            None
        }
    }
}

#[test]
fn agents_run_in_such_a_folder_and_their_logs_can_be_read() {
    let env = env(&[GOOD; 3].join("---\n"));
    let Some(folder) = folder(&env) else { return };
    let run = env.stablehand_run().args([PROMPT]).directory(&folder).finish();
    run.assert_code(0);
    assert_eq!(run.stdout_text(), "Fed.\n");
    // The agent is started there: it asked for the folder itself.
    assert!(env.record("1.cwd").contains("barn "), "{}", env.record("1.cwd"));
    let log = env.log();
    assert!(log.one("agent_spawned")["cwd"].as_str().unwrap().ends_with("barn \u{fffd}"));
    env.stablehand_run().flag("--workspace", &folder).args([PROMPT]).finish().assert_code(0);
    env.cursor_wrap().args(["-p", PROMPT]).directory(&folder).finish().assert_code(0);
    for args in [
        &["ls"][..],
        &["ls", "--json"],
        &["show", "latest"],
        &["export", "latest", "--format", "md"],
    ] {
        let run = env.stablehand("sessions").args(args.iter().copied());
        run.args(["--log-dir", env.log_dir().to_str().unwrap()]).finish().assert_code(0);
    }
    let run = env.stablehand_run().flag("--workspace", &folder).args(["--dry-run", PROMPT]);
    run.finish().assert_code(0);
}

#[test]
fn what_cannot_be_done_there_is_an_error_and_no_panic() {
    let env = TestEnv::new(crate::support::bins());
    let Some(folder) = folder(&env) else { return };
    let demo = |subcommand: &str| {
        let run = env.stablehand(subcommand).flag("--agent", "demo").directory(&folder);
        run.flag("--log-dir", env.log_dir())
    };
    for run in [
        demo("talk").stdin("hi\n"),
        demo("run").flag("--policy", "read-only").args(["hi"]),
        demo("run").flag("--transport", "two-way").args(["hi"]),
    ] {
        let run = run.finish();
        run.assert_code(64);
        assert!(run.stderr.contains("is not UTF-8"), "{}", run.stderr);
    }
}
