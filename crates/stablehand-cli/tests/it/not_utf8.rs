//! Folders whose names are not UTF-8: everything works there, or says why it cannot.

use crate::support::{GOOD, PROMPT, env};
use stablehand_testkit::{LogFile, TestEnv};
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

/// Home, log folder, program, settings and the agent's arguments, all at once.
#[test]
fn every_path_may_be_of_that_kind() {
    let env = env(&[GOOD; 4].join("---\n"));
    let Some(folder) = folder(&env) else { return };
    let [home, logs, bin] = [&b"home\xfe"[..], b"logs\xfd", b"bin\xfc"]
        .map(|name| folder.join(OsStr::from_bytes(name)));
    std::fs::create_dir(&home).unwrap();
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join(OsStr::from_bytes(b"agent\xfb"));
    std::os::unix::fs::symlink(&env.bins().fake_agent, &program).unwrap();
    let context = folder.join(OsStr::from_bytes(b"context\xfa.md"));
    std::fs::write(&context, "Be kind.").unwrap();
    for format in ["text", "events", "stream-json"] {
        let run = env.stablehand_run().flag("--agent-bin", &program).flag("--log-dir", &logs);
        let run = run.flag("--output-format", format).flag("--context", &context);
        let run = run.variable("HOME", &home).variable("TMPDIR", &folder);
        let run = run.args([PROMPT, "--"]).raw_arg(OsStr::from_bytes(b"--odd=\xf9"));
        let run = run.directory(&folder).finish();
        run.assert_code(0);
        assert!(run.stdout_text().contains("Fed."), "{format}: {}", run.stdout_text());
    }
    // Without a log folder it is in the home.
    let run = env.stablehand_run().flag("--agent-bin", &program).without("--log-dir");
    run.variable("HOME", &home).args([PROMPT]).finish().assert_code(0);
    assert!(home.join(".local/state/stablehand/logs").is_dir());
    let paths = LogFile::paths_in(&logs);
    assert_eq!(paths.len(), 3);
    for (command, sub) in [("sessions", "show"), ("sessions", "tail"), ("doctor", "")] {
        let run = env.stablehand(command).args((!sub.is_empty()).then_some(sub));
        let run = run.raw_arg(paths[0].as_os_str()).finish();
        run.assert_code(0);
        assert!(!run.stdout.is_empty(), "{command} {sub}");
    }
}
